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

// Common returns the longest common subsequence of two lists, as the indexes in both.
func Common[T any](a, b []T, same func(a, b T) bool) (pairs [][2]int) {
	from := 0
	for from < min(len(a), len(b)) && same(a[from], b[from]) {
		pairs = append(pairs, [2]int{from, from})
		from++
	}
	longest := make([][]int, len(a)+1) // from an index of each on
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= from; i-- {
		for j := len(b) - 1; j >= from; j-- {
			if same(a[i], b[j]) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	for i, j := from, from; i < len(a) && j < len(b); {
		switch {
		case same(a[i], b[j]):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
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
