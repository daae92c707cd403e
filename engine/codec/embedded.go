package codec

import (
	"bytes"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
)

// Embedded scans a string in double or single quotes that holds an object, as JSON or as a Python
// literal, and produces the object as JSON: arguments that a model writes as a string. It is a
// [peg.ScannerType]. It fails where the object breaks off.
type Embedded struct {
	Marked bool // as in [Syntax]
}

// Name, First and New implement [peg.ScannerType].
func (Embedded) Name() string { return "embedded" }

func (Embedded) First() (peg.ByteSet, bool) { return peg.Bytes(`"'`), false }

func (e Embedded) New() peg.Scanner {
	return &embedded{object: NewLiteral(Syntax{Object: true, Marked: e.Marked})}
}

type embedded struct {
	quote  byte // 0 before the string
	object *Literal
	held   []byte // the part of the string's text that the object's scanner has not taken
	done   bool   // the object is complete
	text   []byte // of an escape sequence
	json   collector
}

func (e *embedded) Reset() {
	e.quote, e.done, e.held = 0, false, e.held[:0]
	e.object.Reset()
}

// take gives text of the string to the object's scanner, byte by byte, so that where it fails does
// not depend on pieces. It returns how many bytes are fine.
func (e *embedded) take(text []byte) int {
	e.json.text = e.json.text[:0]
	for i, c := range text {
		if e.done {
			if !isSpace(c) {
				return i
			}
			continue
		}
		e.held = append(e.held, c)
		e.json.in = e.held
		n, status := e.object.Step(e.held, false, &e.json)
		e.held = e.held[:copy(e.held, e.held[n:])]
		if status == peg.Fail {
			return i
		}
		e.done = status == peg.Match
	}
	return len(text)
}

func (e *embedded) Step(buf []byte, closed bool, out peg.Out) (int, peg.Status) {
	out.Number(Mixed)
	i := 0
	if e.quote == 0 {
		if len(buf) == 0 && !closed {
			return 0, peg.NeedMore
		}
		if len(buf) == 0 || buf[0] != '"' && buf[0] != '\'' {
			return 0, peg.Fail
		}
		e.quote = buf[0]
		out.String("", 0, 1)
		i = 1
	}
	for i < len(buf) {
		switch c := buf[i]; {
		case c == e.quote && !e.done:
			return i, peg.Fail
		case c == e.quote:
			out.String("", i, i+1)
			return i + 1, peg.Match
		case c == '\\':
			rest := buf[i:min(len(buf), i+12)] // as long as a pair of escaped surrogates
			if len(rest) < 12 && (len(rest) < 2 || rest[1] == 'u') &&
				bytes.IndexByte(rest, e.quote) < 0 {
				if closed { // the beginning of something: as much of it as came
					return len(buf), peg.Fail
				}
				return i, peg.NeedMore
			}
			var n int
			if e.text, n = ordered.AppendUnescaped(e.text[:0], string(rest)); n == 0 {
				n = min(2, len(rest))
				e.text = append(e.text, rest[:n]...)
				if n == 2 && !isDigit(rest[1]) { // the object's scanner reads octal numbers
					e.text = append(e.text[:0], unescapePython(string(rest[:n]))...)
				}
			}
			// half of a pair has no bytes of its own; the object's JSON has it as the same escape
			if !utf8.Valid(e.text) {
				e.text = append(e.text[:0], rest[:n]...)
			}
			fine := e.take(e.text)
			if fine < len(e.text) {
				out.Text(e.json.text, i, i)
				return i, peg.Fail
			}
			out.Text(e.json.text, i, i+n)
			i += n
		default:
			j := i
			for j < len(buf) && buf[j] != e.quote && buf[j] != '\\' {
				j++
			}
			if j == len(buf) && !closed {
				if j -= incomplete(buf[i:j]); j == i {
					return i, peg.NeedMore
				}
			}
			fine := i + e.take(buf[i:j])
			out.Text(e.json.text, i, fine)
			if i = fine; fine < j {
				return i, peg.Fail
			}
		}
	}
	if closed {
		return i, peg.Fail
	}
	return i, peg.NeedMore
}
