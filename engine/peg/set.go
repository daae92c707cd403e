package peg

import (
	"fmt"
	"math/bits"
	"strings"
)

// ByteSet is a set of bytes: bit b%64 of word b/64.
type ByteSet [4]uint64

// SpaceSet is the white space of [Space].
var SpaceSet = Bytes(" \t\r\n")

// Bytes returns the set of the bytes of a string.
func Bytes(s string) (set ByteSet) {
	for i := range len(s) {
		set.Add(s[i])
	}
	return set
}

// Range returns the set of the bytes lo to hi, both included.
func Range(lo, hi byte) (set ByteSet) {
	for b := int(lo); b <= int(hi); b++ {
		set.Add(byte(b))
	}
	return set
}

// Add adds a byte.
func (s *ByteSet) Add(b byte) { s[b>>6] |= 1 << (b & 63) }

// Has reports whether b is in the set.
func (s *ByteSet) Has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// Or returns the union.
func (s ByteSet) Or(t ByteSet) ByteSet {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// Not returns the complement.
func (s ByteSet) Not() ByteSet {
	for i := range s {
		s[i] = ^s[i]
	}
	return s
}

// Meets reports whether the sets have a byte in common.
func (s ByteSet) Meets(t ByteSet) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// Len returns the number of bytes in the set.
func (s ByteSet) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// String prints the set as in a regular expression: [a-z_], [^<].
func (s ByteSet) String() string {
	not := s.Len() > 128
	if not {
		s = s.Not()
	}
	var b strings.Builder
	b.WriteByte('[')
	if not {
		b.WriteByte('^')
	}
	for lo := 0; lo < 256; lo++ {
		if !s.Has(byte(lo)) {
			continue
		}
		hi := lo
		for hi < 255 && s.Has(byte(hi+1)) {
			hi++
		}
		b.WriteString(setByte(byte(lo)))
		if hi > lo+1 {
			b.WriteByte('-')
		}
		if hi > lo {
			b.WriteString(setByte(byte(hi)))
		}
		lo = hi
	}
	b.WriteByte(']')
	return b.String()
}

func setByte(b byte) string {
	switch {
	case strings.IndexByte(`\]^-`, b) >= 0:
		return `\` + string(rune(b))
	case b >= 0x7f || b < 0x20:
		return fmt.Sprintf(`\x%02x`, b)
	}
	return string(rune(b))
}
