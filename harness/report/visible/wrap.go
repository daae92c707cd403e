package visible

import (
	"strings"

	"github.com/goassay/assay/engine/source"
)

// Wrap breaks the lines of paragraphs anew, so that none is longer than width cells where its
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
			n := source.Cells(word)
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

// Fold breaks a line that is longer than width cells of a terminal, at a space where there is one
// in its second half, else anywhere but after a backslash, which begins an escape. The lines after
// the first begin with the indent.
func Fold(line string, width int, indent string) string {
	if width <= len(indent)+1 || source.Cells(line) <= width {
		return line
	}
	var b strings.Builder
	runes := []rune(line)
	for room := width; ; room = width - len(indent) {
		at := fitting(runes, room)
		if at == len(runes) {
			b.WriteString(string(runes))
			return b.String()
		}
		space := at
		for space > at/2 && runes[space] != ' ' {
			space--
		}
		switch {
		case space > at/2:
			at = space
		case at > 1 && runes[at-1] == '\\':
			at--
		}
		b.WriteString(string(runes[:at]) + "\n" + indent)
		if runes = runes[at:]; runes[0] == ' ' {
			runes = runes[1:]
		}
	}
}

// fitting is how many characters fit into a number of cells, one at least.
func fitting(runes []rune, room int) int {
	for i, r := range runes {
		if room -= source.RuneCells(r); room < 0 {
			return max(i, 1)
		}
	}
	return len(runes)
}

// Mark returns a line and carets under it, from one byte of it up to another, both made visible and
// no wider than width cells; 0 is any width. Three dots stand for the text that is left out at
// either side.
func Mark(line string, at, to, width int) (shown, carets string) {
	before, after := []rune(Line(line[:at])), []rune(Line(line[at:]))
	left, right := "", ""
	const dots = "..."
	if all := source.Cells(string(before)) + source.Cells(string(after)); width > 4*len(dots) &&
		all > width {
		// the place stays in the picture with a third of the line after it, where there is as much
		room := max(width-source.Cells(string(after)), width-width/3)
		if from := len(before) - fittingEnd(before, room-len(dots)); from > 0 &&
			source.Cells(string(before)) > room {
			before, left = before[from:], dots
		}
		room = width - len(left) - source.Cells(string(before))
		if source.Cells(string(after)) > room {
			after, right = after[:fitting(after, room-len(dots))], dots
		}
	}
	to = min(max(at, to), len(line))
	marked := min(source.Cells(Line(line[at:to])), source.Cells(string(after)))
	return left + string(before) + string(after) + right,
		strings.Repeat(" ", len(left)+source.Cells(string(before))) +
			strings.Repeat("^", max(marked, 1))
}

// fittingEnd is how many characters of the end of a text fit into a number of cells.
func fittingEnd(runes []rune, room int) int {
	n := 0
	for n < len(runes) {
		if room -= source.RuneCells(runes[len(runes)-1-n]); room < 0 {
			break
		}
		n++
	}
	return n
}
