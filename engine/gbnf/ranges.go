package gbnf

import (
	"unicode"

	"github.com/goassay/assay/engine/schema"
)

// complement returns the characters outside normal ranges; surrogates, which no text contains, are
// in neither.
func complement(ranges []Range) []Range {
	var out []Range
	next := rune(0)
	add := func(lo, hi rune) {
		if lo < 0xd800 && hi >= 0xd800 {
			out = append(out, Range{Lo: lo, Hi: 0xd7ff})
			lo = 0xe000
		} else if lo >= 0xd800 && lo < 0xe000 {
			lo = 0xe000
		}
		if hi >= 0xd800 && hi < 0xe000 {
			hi = 0xd7ff
		}
		if lo <= hi {
			out = append(out, Range{Lo: lo, Hi: hi})
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
			out = append(out, Range{Lo: lo, Hi: hi})
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

// runes makes ranges of single characters.
func runes(text string) []Range {
	var out []Range
	for _, r := range text {
		out = append(out, Range{Lo: r, Hi: r})
	}
	return schema.NormalRanges(out)
}
