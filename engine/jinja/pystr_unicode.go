package jinja

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

func inSpans(spans []span, r rune) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].to >= r })
	return i < len(spans) && spans[i].from <= r
}

// specialUpper returns the upper case of a character where it is more than one. The special title
// case and case folding follow from it.
func specialUpper(r rune) (string, bool) {
	if 0x1F80 <= r && r <= 0x1FAF { // alpha, eta and omega with an iota below, which goes beside
		capital := [...]rune{0x1F08, 0x1F28, 0x1F68}[(r-0x1F80)>>4] + r&7
		return string(capital) + "\u0399", true
	}
	i, ok := slices.BinarySearchFunc(upperSpecial, r,
		func(s special, r rune) int { return int(s.r - r) })
	if !ok {
		return "", false
	}
	return upperSpecial[i].to, true
}

func newerThanPython(r rune) bool { return r >= 0x80 && inSpans(addedLater, r) }

// The predicates of Python's str methods, for one code point.

func isSpace(r rune) bool {
	if r < 0x80 {
		return r == ' ' || '\t' <= r && r <= '\r' || 0x1C <= r && r <= 0x1F
	}
	// NEL, no-break space and the separators; the same set as Python's beyond ASCII
	return unicode.IsSpace(r)
}

func isAlpha(r rune) bool   { return unicode.IsLetter(r) && !newerThanPython(r) }
func isDecimal(r rune) bool { return unicode.Is(unicode.Nd, r) && !newerThanPython(r) }
func isDigitRune(r rune) bool {
	return isDecimal(r) || inSpans(otherDigits, r)
}
func isNumeric(r rune) bool { return isDigitRune(r) || inSpans(otherNumerics, r) }
func isAlnum(r rune) bool   { return isAlpha(r) || isNumeric(r) }

// isUpper and isLower are the derived properties Uppercase and Lowercase.
func isUpper(r rune) bool {
	return (unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r)) && !newerThanPython(r)
}

func isLower(r rune) bool {
	switch r {
	case 0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69: // lower case since Unicode 15
		return false
	}
	return (unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r)) && !newerThanPython(r)
}

func isTitle(r rune) bool { return unicode.Is(unicode.Lt, r) }
func isCased(r rune) bool { return isUpper(r) || isLower(r) || isTitle(r) }

// isCaseIgnorable is Unicode's property, which decides about a final sigma.
func isCaseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) &&
		!newerThanPython(r) ||
		strings.ContainsRune("'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r)
}

// isWord is \w of Python's regular expressions.
func isWord(r rune) bool { return r == '_' || isAlnum(r) }

func isIdentifierStart(r rune) bool {
	switch r {
	case 0x37A, 0xE33, 0xEB3, 0x2E2F, 0xFDFA, 0xFDFB, 0xFE70, 0xFE72, 0xFE74, 0xFE76, 0xFE78,
		0xFE7A, 0xFE7C, 0xFE7E, 0xFF9E, 0xFF9F:
		return false // excluded by normalisation
	case '_', 0x1885, 0x1886, 0x2118, 0x212E:
		return true
	}
	return isAlpha(r) && !(0xFC5E <= r && r <= 0xFC63) || unicode.Is(unicode.Nl, r)
}

func isIdentifierPart(r rune) bool {
	switch r {
	case 0xB7, 0x387, 0xE33, 0xEB3, 0x19DA, 0xFF9E, 0xFF9F:
		return true
	}
	return isIdentifierStart(r) || 0x1369 <= r && r <= 0x1371 ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) && !newerThanPython(r)
}

// The full case mappings.

func appendUpper(dst []byte, r rune) []byte {
	if 'a' <= r && r <= 'z' {
		return append(dst, byte(r-'a'+'A'))
	}
	if r < 0x80 {
		return append(dst, byte(r))
	}
	if to, ok := specialUpper(r); ok {
		return append(dst, to...)
	}
	return appendRune(dst, toCase(unicode.UpperCase, r))
}

func appendTitle(dst []byte, r rune) []byte {
	if r < 0x80 {
		return appendUpper(dst, r)
	}
	title := toCase(unicode.TitleCase, r)
	to, ok := specialUpper(r)
	if !ok || isTitle(title) {
		return appendRune(dst, title)
	}
	for i, c := range to {
		switch {
		case i == 0:
		case c == 0x399: // iota, which stays below
			c = 0x345
		case r != 0x149: // whose first character is an apostrophe
			c = unicode.ToLower(c)
		}
		dst = appendRune(dst, c)
	}
	return dst
}

func toCase(kind int, r rune) rune {
	if newerThanPython(r) {
		return r
	}
	return unicode.To(kind, r)
}

// appendLower appends the lower case of the code point at s[i:]; a sigma at the end of a word is a
// final one.
func appendLower(dst []byte, s string, i int, r rune) []byte {
	switch {
	case 'A' <= r && r <= 'Z':
		return append(dst, byte(r-'A'+'a'))
	case r < 0x80:
		return append(dst, byte(r))
	case r == 0x130:
		return append(dst, "i\u0307"...)
	case r == 0x3A3 && finalSigma(s, i):
		return append(dst, "\u03c2"...)
	}
	return appendRune(dst, toCase(unicode.LowerCase, r))
}

func finalSigma(s string, i int) bool {
	before := false
	for head := s[:i]; head != ""; {
		r, n := decodeLastRune(head)
		if head = head[:len(head)-n]; !isCaseIgnorable(r) {
			before = isCased(r)
			break
		}
	}
	if !before {
		return false
	}
	for tail := s[i+2:]; tail != ""; {
		r, n := decodeRune(tail)
		if tail = tail[n:]; !isCaseIgnorable(r) {
			return !isCased(r)
		}
	}
	return true
}

func appendFold(dst []byte, _ string, _ int, r rune) []byte {
	switch {
	case r < 0x80:
		return appendLower(dst, "", 0, r)
	case 0x13A0 <= r && r <= 0x13F5: // Cherokee folds to its capitals
		return appendRune(dst, r)
	case 0x13F8 <= r && r <= 0x13FD:
		return appendRune(dst, r-8)
	case 0xAB70 <= r && r <= 0xABBF:
		return appendRune(dst, r-0xAB70+0x13A0)
	case r == 0x131: // dotless
		return appendRune(dst, r)
	case r == 0x1E9E:
		return append(dst, "ss"...)
	}
	to, ok := specialUpper(r)
	if !ok {
		return appendLower(dst, "", 0, toCase(unicode.UpperCase, r))
	}
	for _, c := range to {
		dst = appendLower(dst, "", 0, c)
	}
	return dst
}

// mapCase applies a case mapping that gets the text, a place in it and the code point there.
func mapCase(s string, f func(dst []byte, s string, i int, r rune) []byte) string {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		dst = f(dst, s, i, r)
		i += n
	}
	return bytesToString(dst)
}

func upperCase(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return mapCase(s, func(dst []byte, _ string, _ int, r rune) []byte {
		return appendUpper(dst, r)
	})
}

func lowerCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return mapCase(s, appendLower)
}

func foldCase(s string) string {
	return mapCase(s, appendFold)
}

func swapCase(s string) string {
	return mapCase(s, func(dst []byte, s string, i int, r rune) []byte {
		if isUpper(r) {
			return appendLower(dst, s, i, r)
		}
		if isLower(r) {
			return appendUpper(dst, r)
		}
		return appendRune(dst, r)
	})
}

// titleCase is str.title: every cased character after an uncased one is in title case, the others
// in lower case.
func titleCase(s string) string {
	cased := false
	return mapCase(s, func(dst []byte, s string, i int, r rune) []byte {
		if cased {
			dst = appendLower(dst, s, i, r)
		} else {
			dst = appendTitle(dst, r)
		}
		cased = isCased(r)
		return dst
	})
}

// capitalCase is str.capitalize: the first character in title case, the rest in lower case.
func capitalCase(s string) string {
	return mapCase(s, func(dst []byte, s string, i int, r rune) []byte {
		if i == 0 {
			return appendTitle(dst, r)
		}
		return appendLower(dst, s, i, r)
	})
}

// trimSpace is str.strip().
func trimSpace(s string) string {
	s = s[spaceEnd(s):]
	return s[:spaceStart(s)]
}

// spaceEnd is the byte offset after the white space at the beginning of s.
func spaceEnd(s string) int {
	i := 0
	for i < len(s) {
		r, n := decodeRune(s[i:])
		if !isSpace(r) {
			break
		}
		i += n
	}
	return i
}

// spaceStart is the byte offset of the white space at the end of s.
func spaceStart(s string) int {
	for s != "" {
		r, n := decodeLastRune(s)
		if !isSpace(r) {
			break
		}
		s = s[:len(s)-n]
	}
	return len(s)
}

// asciiDigits turns Unicode decimal digits into ASCII ones, as int() and float() read them; other
// characters stay.
func asciiDigits(s string) string {
	if isASCII(s) {
		return s
	}
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		if d, ok := decimalValue(r); ok {
			dst = append(dst, '0'+byte(d))
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return string(dst)
}

// decimalValue is the digit that a Unicode decimal stands for. Decimals come in runs of ten, except
// that the mathematical ones are five runs in one range.
func decimalValue(r rune) (int, bool) {
	if !isDecimal(r) {
		return 0, false
	}
	for _, table := range unicode.Nd.R16 {
		if rune(table.Lo) <= r && r <= rune(table.Hi) {
			return int(r-rune(table.Lo)) % 10, true
		}
	}
	for _, table := range unicode.Nd.R32 {
		if rune(table.Lo) <= r && r <= rune(table.Hi) {
			return int(r-rune(table.Lo)) % 10, true
		}
	}
	return 0, false
}
