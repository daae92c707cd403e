package codec

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// Decode appends the JSON of a value that was held until its end (E18): where text, less the white
// space around it, is a value of one of the types, that value as it is written; else text as a
// string. Unless strict, Python literals count as values.
func Decode(dst []byte, text string, types schema.TypeSet, strict bool) []byte {
	if value, ok := Read(text, strict); ok {
		if v, err := ordered.ParseString(value); err == nil && schema.TypeOf(v)&types != 0 {
			return append(dst, value...)
		}
	}
	return append(AppendText(append(dst, '"'), text), '"')
}

// Values returns the types of which a value that may be of the given types is read, for [Decode]:
// beside strings, which stand for themselves, all others; where no string is allowed, any JSON,
// since the model meant JSON.
func Values(types schema.TypeSet) schema.TypeSet {
	if types&schema.String != 0 {
		return types &^ schema.String
	}
	return schema.AnyType
}

// Read returns the JSON text of a value that stands alone in text, white space around it taken off,
// and whether there is one.
func Read(text string, strict bool) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", false
	}
	s := NewLiteral(Syntax{Strict: strict, Hold: true})
	out := collector{in: []byte(text)}
	n, status := s.Step(out.in, true, &out)
	return string(out.text), status == peg.Match && n == len(text)
}

// Prefix returns the JSON text of the value with which a text begins, the length of the value's own
// text in bytes, and whether there is one.
func Prefix(text string, s Syntax) (json string, n int, ok bool) {
	out := collector{in: []byte(text)}
	n, status := NewLiteral(s).Step(out.in, true, &out)
	return string(out.text), n, status == peg.Match
}

// collector puts together a scanner's text of one step.
type collector struct {
	in   []byte
	text []byte
}

func (c *collector) Number(int)                   {}
func (c *collector) Copy(from, to int)            { c.text = append(c.text, c.in[from:to]...) }
func (c *collector) Text(text []byte, _, _ int)   { c.text = append(c.text, text...) }
func (c *collector) String(text string, _, _ int) { c.text = append(c.text, text...) }

// Balance returns the missing end of JSON text that breaks off: the end of a string, then the
// brackets (E21 T9). A key that has no value, a comma or a word that breaks off cannot be mended;
// then ok is false.
func Balance(text string) (missing string, ok bool) {
	var b strings.Builder
	var stack []byte
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			switch c {
			case '\\':
				i++
				if i == len(text) {
					b.WriteByte('\\')
				}
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{':
			stack = append(stack, '}')
		case c == '[':
			stack = append(stack, ']')
		case c == '}' || c == ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		}
	}
	if inString {
		b.WriteByte('"')
	}
	for len(stack) > 0 {
		b.WriteByte(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
	}
	return b.String(), ordered.Valid(text + b.String())
}
