// Package codec knows how output formats write values.
//
// Arguments reach a client as JSON text. A model writes them as JSON, as Python literals, as raw
// text between tags, as entries nested in tags, or with tokens for quotes. The scanners of this
// package find where such a value ends, in any chunking, and produce its JSON text.
//
// # Scanners
//
// A scanner is a [peg.Scanner]: it accepts bytes for good, and holds back only a part that it
// cannot read alone: an escape sequence, a character cut in two, a comma that may be a trailing
// one, a scalar whose end has not come. Scanning n bytes costs O(n) in any chunking; held runs are
// bounded by [MaxHeld].
//
// # Leniency
//
// Unless Strict is set, a scanner reads JSON and Python literals alike (E21 T6): single quotes,
// True, False and None, tuples, a trailing comma, raw control characters and unknown escapes in
// strings. It always hands on JSON. Numbers keep their text, keys their order, and JSON its white
// space.
//
// # Tokens
//
// A text that comes in tokens has a [Mark] before each added token. A scanner whose Marked is set
// takes marks out of text that it rewrites; in text that it copies they stay, for the caller.
//
// # Numbered text
//
// A scanner tells the text in which a number, true, false or null may stand, [Mixed], from text
// that has none of them outside strings, [Strings]: who looks for them need not read the latter. A
// [Literal]'s text is Mixed from a number or a word up to the next string or open bracket.
//
// # Limits
//
// Values nest at most [ordered.MaxDepth] levels deep; deeper ones fail.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package codec

import (
	"strconv"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
)

// MaxHeld bounds, in bytes, the runs that a scanner holds back: a top-level number, the white space
// after a comma.
const MaxHeld = 256

// The numbers that text of this package's scanners has ([peg.Out]).
const (
	Strings = iota // strings, brackets and what stands between: no number and no word
	Mixed          // any JSON
)

// unescapePython returns the meaning of one escape sequence of a Python string; one that Python
// does not know stands for itself, backslash included.
func unescapePython(s string) string {
	if len(s) < 2 {
		return s
	}
	switch c := s[1]; c {
	case '\n':
		return ""
	case '\'', '"', '\\':
		return s[1:]
	case 'a':
		return "\a"
	case 'v':
		return "\v"
	case 'x', 'U':
		if n, err := strconv.ParseUint(s[2:], 16, 32); err == nil && n <= utf8.MaxRune {
			return string(rune(n))
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n, _ := strconv.ParseUint(s[1:], 8, 32) // one to three octal digits
		return string(rune(n))
	}
	return s
}

// incomplete returns how many bytes at the end of b begin a UTF-8 sequence that is not complete.
func incomplete(b []byte) int {
	for n := 1; n <= min(len(b), utf8.UTFMax-1); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Mark stands before a token in a text that comes in tokens. Where the text has that byte itself,
// which is in no text in UTF-8, it is followed by Unmarked, which begins no token.
const Mark, Unmarked = 0xff, 0xfe

// AppendText appends text as it came from a model, inside a JSON string. Each byte that is not
// UTF-8 becomes U+FFFD, those of surrogates in their three-byte form too: a pair of them cannot be
// told from two halves before both have come.
func AppendText(dst []byte, text string) []byte {
	for text != "" {
		n := validPrefix(text)
		dst = ordered.AppendEscaped(dst, text[:n], false)
		if text = text[n:]; text != "" {
			dst = append(dst, "\uFFFD"...)
			text = text[1:]
		}
	}
	return dst
}

// validPrefix returns the length of the longest prefix of a text that is UTF-8.
func validPrefix(text string) int {
	if utf8.ValidString(text) {
		return len(text)
	}
	for i, r := range text {
		if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 {
			return i
		}
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
