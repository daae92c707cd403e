package report

import (
	"fmt"
	"strings"
)

// Parting returns the first offset, in bytes, at which two texts differ.
func Parting(a, b string) int {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}

// Quote shows a piece of a text around an offset, quoted. It cuts no word in two.
func Quote(text string, at int) string {
	const around, word = 40, 24 // bytes
	from, to := max(0, at-around), min(len(text), at+around)
	for least := max(0, from-word); from > least && inWord(text[from-1]) && inWord(text[from]); {
		from--
	}
	for most := min(len(text), to+word); to < most && inWord(text[to-1]) && inWord(text[to]); {
		to++
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(text[from:to], ""))
}

// inWord reports whether a byte stands inside a word.
func inWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|' ' && b|' ' <= 'z'
}

// Sides shows two texts where they part, as the lines of a diff, each with its name.
func Sides(nameA, a, nameB, b string) string {
	at := Parting(a, b)
	width := max(len(nameA), len(nameB)) + 1
	return fmt.Sprintf("- %-*s %s\n+ %-*s %s", width, nameA+":", Quote(a, at), width, nameB+":",
		Quote(b, at))
}

// ConflictMarker returns the first line, counted from 1, that git left in a text where two versions
// of it conflict; 0 where there is none. A text with one is nobody's, and must be neither compared
// nor overwritten.
func ConflictMarker(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
			return number
		}
	}
	return 0
}
