package gbnf

import (
	"cmp"
	"slices"
	"unicode"
)

// normalRanges sorts ranges and joins those that touch.
func normalRanges(ranges []Range) []Range {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// complement returns the characters outside normal ranges; surrogates, which no text contains, are
// in neither.
func complement(ranges []Range) []Range {
	var out []Range
	next := rune(0)
	add := func(lo, hi rune) {
		if lo < 0xd800 && hi >= 0xd800 {
			out = append(out, Range{lo, 0xd7ff})
			lo = 0xe000
		} else if lo >= 0xd800 && lo < 0xe000 {
			lo = 0xe000
		}
		if hi >= 0xd800 && hi < 0xe000 {
			hi = 0xd7ff
		}
		if lo <= hi {
			out = append(out, Range{lo, hi})
		}
	}
	for _, r := range ranges {
		if r.Lo > next {
			add(next, r.Lo-1)
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		add(next, unicode.MaxRune)
	}
	return out
}

// intersect returns the characters in both of two normal lists of ranges.
func intersect(a, b []Range) []Range {
	var out []Range
	for len(a) > 0 && len(b) > 0 {
		if lo, hi := max(a[0].Lo, b[0].Lo), min(a[0].Hi, b[0].Hi); lo <= hi {
			out = append(out, Range{lo, hi})
		}
		if a[0].Hi < b[0].Hi {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// subtract returns the characters in a and not in b, both normal.
func subtract(a, b []Range) []Range { return intersect(a, complement(b)) }

// contains reports whether normal ranges hold a character.
func contains(ranges []Range, r rune) bool {
	_, ok := slices.BinarySearchFunc(ranges, r, func(x Range, r rune) int {
		switch {
		case x.Hi < r:
			return -1
		case x.Lo > r:
			return 1
		}
		return 0
	})
	return ok
}

// runes makes ranges of single characters.
func runes(text string) []Range {
	var out []Range
	for _, r := range text {
		out = append(out, Range{r, r})
	}
	return normalRanges(out)
}
