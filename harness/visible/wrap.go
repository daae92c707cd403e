package visible

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks the lines of paragraphs anew, so that none is longer than width characters where its
// words allow it. Paragraphs stand apart by an empty line; each line begins with the indent, which
// counts.
func Wrap(text string, width int, indent string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n\n")
		}
		column := 0
		for _, word := range strings.Fields(paragraph) {
			n := utf8.RuneCountInString(word)
			switch {
			case column == 0:
				b.WriteString(indent)
			case len(indent)+column+1+n > width:
				b.WriteString("\n" + indent)
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += n
		}
	}
	return b.String()
}

// Fold breaks a line that is longer than width characters, at a space where there is one in its
// second half, else anywhere. The lines after the first begin with the indent.
func Fold(line string, width int, indent string) string {
	runes := []rune(line)
	if width <= len(indent)+1 || len(runes) <= width {
		return line
	}
	var b strings.Builder
	for first := true; ; first = false {
		room := width
		if !first {
			b.WriteString("\n" + indent)
			room -= len(indent)
		}
		if len(runes) <= room {
			b.WriteString(string(runes))
			return b.String()
		}
		at := room
		for i := room; i > room/2; i-- {
			if runes[i] == ' ' {
				at = i
				break
			}
		}
		b.WriteString(string(runes[:at]))
		if runes = runes[at:]; runes[0] == ' ' {
			runes = runes[1:]
		}
	}
}
