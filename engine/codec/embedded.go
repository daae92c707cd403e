package codec

import (
	"bytes"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
)

// Embedded scans a string in double or single quotes that holds JSON text, and produces that text: arguments that a model writes
// as a string. It is a [peg.ScannerType].
type Embedded struct{}

// Name, First and New implement [peg.ScannerType].
func (Embedded) Name() string { return "embedded" }

func (Embedded) First() (peg.ByteSet, bool) { return peg.Bytes(`"'`), false }

func (Embedded) New() peg.Scanner { return new(embedded) }

type embedded struct {
	quote byte // 0 before the string
	text  []byte
}

func (e *embedded) Reset() { e.quote = 0 }

func (e *embedded) Step(buf []byte, closed bool, out peg.Out) (int, peg.Status) {
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
		case c == e.quote:
			out.String("", i, i+1)
			return i + 1, peg.Match
		case c == '\\':
			rest := buf[i:min(len(buf), i+12)] // as long as a pair of escaped surrogates
			if !closed && len(rest) < 12 && (len(rest) < 2 || rest[1] == 'u') && bytes.IndexByte(rest, e.quote) < 0 {
				return i, peg.NeedMore
			}
			var n int
			if e.text, n = ordered.AppendUnescaped(e.text[:0], string(rest)); n == 0 {
				n = min(2, len(rest))
				e.text = append(e.text, unescapePython(string(rest[:n]))...)
			}
			out.Text(e.text, i, i+n)
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
			out.Copy(i, j)
			i = j
		}
	}
	if closed {
		return i, peg.Fail
	}
	return i, peg.NeedMore
}
