package jinja

import (
	"hash/fnv"
	"testing"
)

// TestUnicode compares the predicates and case mappings of all code points with Python 3.11's, by
// the number of code points and the FNV-1a hash of their text.
func TestUnicode(t *testing.T) {
	each := func(f func(r rune)) {
		for r := rune(0); r <= 0x10FFFF; r++ {
			if r < 0xD800 || r > 0xDFFF {
				f(r)
			}
		}
	}
	for _, c := range []struct {
		name  string
		has   func(rune) bool
		count int
		hash  uint64
	}{
		{"isAlpha", isAlpha, 131756, 0x3a1cfcd5b551ca57},
		{"isDecimal", isDecimal, 660, 0xb16c8d5fc0e071bb},
		{"isDigitRune", isDigitRune, 788, 0xe35e733fe5ce8080},
		{"isNumeric", isNumeric, 1872, 0x36c7d8fcd42d5d49},
		{"isSpace", isSpace, 29, 0xb86ae67af98ec53a},
		{"isUpper", isUpper, 1951, 0xd4daa05494dd8ca4},
		{"isLower", isLower, 2471, 0xbc10b88fa5f0c3de},
		{"isPrintable", isPrintable, 144516, 0x5598a5b0991a957f},
		{"isIdentifierStart", isIdentifierStart, 131975, 0xf60f79823a3ef053},
	} {
		h, n := fnv.New64a(), 0
		each(func(r rune) {
			if c.has(r) {
				n++
				h.Write([]byte(string(r)))
			}
		})
		if n != c.count || h.Sum64() != c.hash {
			t.Errorf("%s: %d code points, hash %#x; "+
				"Python has %d, %#x", c.name, n, h.Sum64(), c.count, c.hash)
		}
	}
	for _, c := range []struct {
		name string
		to   func(string) string
		hash uint64
	}{
		{"upperCase", upperCase, 0xf1a6102c65729830},
		{"lowerCase", lowerCase, 0xc319d02e8283b91e},
		{"titleCase", titleCase, 0x5553b8be0b3cbf35},
		{"foldCase", foldCase, 0x5fd6a1292f7b8d6c},
		{"swapCase", swapCase, 0x416a990af7c79515},
	} {
		h := fnv.New64a()
		each(func(r rune) { h.Write([]byte(c.to(string(r)))) })
		if h.Sum64() != c.hash {
			t.Errorf("%s: hash %#x, Python's is %#x", c.name, h.Sum64(), c.hash)
		}
	}
}
