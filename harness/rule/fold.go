package rule

import (
	"strings"
	"unicode/utf8"
)

// columns is how wide the lines of a page are.
const columns = 100

// fold breaks the lines of a page that are too wide at their blanks. Rows of tables stay as they are, and
// so does code between backquotes, which means something else with a line feed in it.
func fold(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if utf8.RuneCountInString(line) <= columns || strings.HasPrefix(line, "|") {
			b.WriteString(line)
			continue
		}
		b.WriteString(foldLine(strings.TrimSuffix(line, "\n")))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func foldLine(line string) string {
	indent := ""
	if strings.HasPrefix(line, "* ") {
		indent = "  "
	}
	var b strings.Builder
	width := 0
	for _, word := range unbroken(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case width == 0:
		case width+1+n > columns:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// unbroken returns the words of a line; code between backquotes is one of them, with the blanks in it.
func unbroken(line string) []string {
	var words []string
	inCode := false
	for word := range strings.SplitSeq(line, " ") {
		if inCode {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		if strings.Count(word, "`")%2 == 1 {
			inCode = !inCode
		}
	}
	return words
}
