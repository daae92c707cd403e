// Package markup finds the markers in a text: words in brackets, such as <|end|>, <tool_call> or
// [INST].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package markup

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// side is the side of a part on which a marker stands.
type side uint8

const (
	Alone side = iota
	Opening
	Closing
)

// Marker is a token in brackets in the template's own text.
type Marker struct {
	At, To int // in the prompt
	Key    string
	Side   side
	Slash  bool // it closes by a slash, as XML does
	Spoken bool // it stands in a sentence, which speaks of it and need not open or close anything
}

// Longest bounds a token in brackets, in bytes.
const Longest = 82

// Next returns where the next token in brackets stands, from an offset on: <...> without
// white space after the first bracket, or [CAPITALS]. Its name decides nothing but which other one
// it belongs to.
func Next(own string, from int) (at, to int, ok bool) {
	for {
		i := strings.IndexAny(own[from:], "<[")
		if i < 0 {
			return 0, 0, false
		}
		at = from + i
		if n := Bracketed(own[at:]); n > 0 {
			return at, at + n, true
		}
		from = at + 1
	}
}

// Bracketed returns the length of the token in brackets that a text begins with, 0 where there is
// none.
func Bracketed(text string) int {
	if text[0] == '<' {
		for i := 1; i < len(text) && i < Longest; i++ {
			switch c := text[i]; {
			case c == '>' && i > 1:
				return i + 1
			case c == '<' || c == '>' || c == '\n' ||
				i == 1 && strings.IndexByte(" \t\r\x00[]", c) >= 0:
				return 0
			}
		}
		return 0
	}
	start := 1
	if strings.HasPrefix(text[1:], "/") {
		start = 2
	}
	i := start
	for i < len(text) && ('A' <= text[i] && text[i] <= 'Z' || i > start && text[i] == '_') {
		i++
	}
	if i-start < 2 || i == len(text) || text[i] != ']' {
		return 0
	}
	return i + 1
}

// In returns the markers in a text of the template's own; holes are the texts of others.
func In(own string) []Marker { return slices.Collect(Each(own)) }

func Each(own string) iter.Seq[Marker] {
	return func(yield func(Marker) bool) {
		last := Marker{To: -1}
		for at, to, ok := Next(own, 0); ok; at, to, ok = Next(own, to) {
			m, ok := At(own, at, to)
			if !ok {
				continue
			}
			m.Spoken = m.Spoken || last.Spoken && last.To == m.At
			if last = m; !yield(m) {
				return
			}
		}
	}
}

// At reads the token in brackets at an offset; ok reports whether it is a marker.
func At(own string, at, to int) (m Marker, ok bool) {
	m = Marker{At: at, To: to}
	inner := own[m.At+1 : m.To-1]
	if inner[0] == '!' || inner[0] == '?' || strings.HasSuffix(inner, "/") {
		return m, false
	}
	m.Spoken = Mentioned(own, m)
	if name, ok := strings.CutPrefix(inner, "/"); ok {
		m.Side, m.Slash, inner = Closing, true, name
	}
	if at := strings.IndexAny(inner, " =\x00"); at > 0 {
		inner = inner[:at]
	}
	if inner == "" || inner[0] == 0 {
		return m, false // it is called after a tool or a parameter
	}
	if open, end := inner[0] == '|', inner[len(inner)-1] == '|'; open != end && len(inner) > 1 {
		m.Side = Closing
		if open {
			m.Side = Opening
		}
		m.Key = strings.Trim(inner, "|")
		return m, true
	}
	words := strings.FieldsFunc(inner, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != 0
	})
	kept := words[:0]
	for _, w := range words {
		switch lower := strings.ToLower(w); {
		case m.Side == Alone && (lower == "begin" || lower == "start" || lower == "open"):
			m.Side = Opening
		case m.Side == Alone && (lower == "end" || lower == "close" || lower == "stop"):
			m.Side = Closing
		default:
			kept = append(kept, w)
		}
	}
	if m.Key = inner; m.Side != Alone && !m.Slash {
		m.Key = " " + strings.Join(kept, " ")
	}
	if own[m.At] == '[' {
		m.Key = "[" + m.Key
	}
	return m, true
}

// Mentioned reports whether a marker stands among the words of a sentence, which have one blank
// between them, or in quotes.
func Mentioned(own string, m Marker) bool {
	before, _ := utf8.DecodeLastRuneInString(own[:m.At])
	after, _ := utf8.DecodeRuneInString(own[m.To:])
	if strings.ContainsRune("`'\"(", before) && strings.ContainsRune("`'\").,", after) {
		return true
	}
	words := strings.TrimRight(own[:m.At], " ")
	said, _ := utf8.DecodeLastRuneInString(words)
	return m.At-len(words) == 1 && (unicode.IsLetter(said) || unicode.IsDigit(said) ||
		strings.ContainsRune(",:;.'\"`>", said))
}

// IsLetter reports whether a byte can begin the name of an element.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Last returns the marker that a text ends with.
func Last(text string) (string, bool) {
	text = strings.TrimRight(text, " \t\n")
	found := In(text[max(0, len(text)-Longest):])
	if n := len(found); n > 0 && found[n-1].To == min(Longest, len(text)) {
		m := found[n-1]
		return text[len(text)-(m.To-m.At):], true
	}
	return "", false
}
