package ordered

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// plain has a bit for each byte that stands for itself: asIs where escapes need not be ASCII, and
// asciiAsIs where all is.
var plain = func() (t [256]uint8) {
	for b := byte(0x20); b < utf8.RuneSelf; b++ {
		switch b {
		case '"', '\\':
		case 0x7F:
			t[b] = asIs
		default:
			t[b] = asIs | asciiAsIs
		}
	}
	return t
}()

const (
	asIs = 1 << iota
	asciiAsIs
)

// allPlain reports whether eight bytes all stand for themselves, looking at them as one number: it
// says no of some that do.
func allPlain(s string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, backslash, del := w^ones*'"', w^ones*'\\', w^ones*0x7F
	return (w|(w-ones*0x20)|(quote-ones)|(backslash-ones)|(del-ones))&highs == 0
}

// AppendQuoted appends s as a JSON string with its quotes. Control characters, quotes and
// backslashes are escaped; with ascii everything beyond ASCII as well. A lone surrogate in its
// three-byte form is written as its escape, two that make a pair as their character; any other byte
// that is not UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string, ascii bool) []byte {
	return append(AppendEscaped(append(dst, '"'), s, ascii), '"')
}

// AppendEscaped is [AppendQuoted] without the quotes.
func AppendEscaped(dst []byte, s string, ascii bool) []byte {
	start, wanted := 0, uint8(asIs)
	if ascii {
		wanted = asciiAsIs
	}
	for i := 0; i < len(s); {
		b := s[i]
		if plain[b]&wanted != 0 {
			i++
			for i+8 <= len(s) && allPlain(s[i:i+8]) {
				i += 8
			}
			continue
		}
		if b < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			case '\b':
				dst = append(dst, '\\', 'b')
			case '\f':
				dst = append(dst, '\\', 'f')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			if sur, ok := surrogate(s[i:]); ok {
				n = 3
				if low, next := surrogate(s[i+n:]); next && !ascii && sur < 0xDC00 &&
					low >= 0xDC00 {
					dst, n = utf8.AppendRune(dst, joined(sur, low)), 6
				} else {
					dst = appendUnicode(dst, sur)
				}
			} else {
				dst = append(dst, "\uFFFD"...)
			}
			i += n
			start = i
			continue
		}
		if ascii {
			dst = append(dst, s[start:i]...)
			if r >= 0x10000 {
				r -= 0x10000
				dst = appendUnicode(dst, 0xD800+r>>10)
				r = 0xDC00 + r&0x3FF
			}
			dst = appendUnicode(dst, r)
			start = i + n
		}
		i += n
	}
	return append(dst, s[start:]...)
}

func appendUnicode(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15],
		hexDigits[r&15])
}

// surrogate reads the three-byte form (WTF-8) of a lone surrogate.
func surrogate(s string) (rune, bool) {
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
	}
	return 0, false
}

// joined returns the character of a pair of surrogates.
func joined(high, low rune) rune { return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00) }

// appendSurrogate writes the three-byte form (WTF-8) of a lone surrogate.
func appendSurrogate(dst []byte, r rune) []byte {
	return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
}
