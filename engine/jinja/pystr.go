package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unsafe"

	"github.com/goassay/assay/engine/source"
)

// str is Python's str(v). Markup stays markup.
func str(e *eval, v Value) Value {
	if v.isString() {
		return v
	}
	b := e.builder(16)
	b.print(e, v)
	return b.value()
}

// plain is Python's str(v) of anything, markup included, which loses its mark.
func plain(e *eval, v Value) Value {
	v = str(e, v)
	v.kind = String
	return v
}

// repr is Python's repr(v).
func repr(e *eval, v Value) Value {
	b := e.builder(16)
	b.repr(e, v, nil)
	return b.value()
}

// reprText is repr for messages, where a failure does not matter.
func reprText(e *eval, v Value) string {
	out, err := attempt(e, func() Value { return repr(e, v) })
	if err != nil {
		return "..."
	}
	return out.text()
}

// print appends str(v).
func (b *builder) print(e *eval, v Value) {
	switch v.kind {
	case String, Markup:
		b.str(v)
		return
	case Int:
		start := len(b.buf)
		b.buf = strconv.AppendInt(b.buf, v.int(), 10)
		if v.prov == nil {
			// A number that a template writes counts something: the literal that a counter starts
			// from is one of its values.
			v.prov = computedProv
		}
		b.mark(start, leaf(v, Plain))
		return
	case Undefined:
		return
	}
	b.repr(e, v, nil)
}

// repr appends repr(v). active holds the lists and dicts around v, which print as [...] inside
// themselves.
func (b *builder) repr(e *eval, v Value, active []unsafe.Pointer) {
	start := len(b.buf)
	switch v.kind {
	case None:
		b.buf = append(b.buf, "None"...)
	case Bool:
		if v.bool() {
			b.buf = append(b.buf, "True"...)
		} else {
			b.buf = append(b.buf, "False"...)
		}
	case Int:
		b.buf = strconv.AppendInt(b.buf, v.int(), 10)
	case BigInt:
		b.buf = append(b.buf, bigText(v)...)
	case Float:
		b.buf = appendFloat(b.buf, v.float())
	case Undefined:
		b.buf = append(b.buf, "Undefined"...)
	case String:
		b.reprString(e, v)
		return
	case Markup:
		b.lit("Markup(")
		b.reprString(e, v)
		b.lit(")")
		return
	case List, Tuple, Dict:
		b.reprContainer(e, v, active)
		return
	case Namespace:
		b.lit("<Namespace ")
		b.reprContainer(e, dictValue(&v.namespace().attrs), active)
		b.lit(">")
		return
	case View:
		b.lit(typeName(v) + "([")
		start := len(b.buf)
		for item := range e.each(v) {
			if len(b.buf) > start {
				b.lit(", ")
			}
			b.repr(e, item, active)
		}
		b.lit("])")
		return
	case Range:
		r := v.rng()
		b.buf = append(b.buf, "range("...)
		b.buf = strconv.AppendInt(b.buf, r.start, 10)
		b.buf = append(b.buf, ", "...)
		b.buf = strconv.AppendInt(b.buf, r.stop, 10)
		if r.step != 1 {
			b.buf = append(b.buf, ", "...)
			b.buf = strconv.AppendInt(b.buf, r.step, 10)
		}
		b.buf = append(b.buf, ')')
	case Generator:
		b.buf = append(b.buf, "<generator object "+v.generator().name+address...)
	case Function:
		b.buf = append(b.buf, v.function().describe(e)...)
	case Object:
		b.buf = append(b.buf, v.object().repr()...)
	}
	b.mark(start, leaf(v, Python))
	e.charge(len(b.buf) - start)
}

// address ends Python's text of an object that has no better one. Here it is the same for all, so
// that a render depends on nothing but its input.
const address = " at 0x7f0000000000>"

// describe is the text of a function.
func (f *function) describe(e *eval) string {
	switch {
	case f.attrs != nil && !f.recv.isMissing():
		return f.name + "[" + reprText(e, f.recv) + "]"
	case f.attrs != nil:
		return "<class '" + f.name + "'>"
	case f.recv.isMissing():
		return "<function " + f.name + address
	}
	return "<built-in method " + f.name + " of " + typeName(f.recv) + " object" + address
}

func bigText(v Value) string {
	b := v.big()
	if b.BitLen() < 14_000 {
		return b.String()
	}
	text := ""
	if b.BitLen() < 14_300 {
		text = b.String()
	}
	if text == "" || len(strings.TrimPrefix(text, "-")) > maxDigits {
		panic(errf(ValueError, "Exceeds the limit (%d digits) for integer string "+
			"conversion; use sys.set_int_max_str_digits() to increase the limit", maxDigits))
	}
	return text
}

func (b *builder) reprContainer(e *eval, v Value, active []unsafe.Pointer) {
	e.enter()
	defer e.leave()
	around := structure(v, Python)
	put := func(s string) {
		start := len(b.buf)
		b.buf = append(b.buf, s...)
		b.mark(start, around)
	}
	first, last := "[", "]"
	switch v.kind {
	case Tuple:
		first, last = "(", ")"
	case Dict:
		first, last = "{", "}"
	}
	if e.mutable {
		if slices.Contains(active, v.ref) {
			put(first + "..." + last)
			return
		}
		active = append(active, v.ref)
	}
	put(first)
	if v.kind == Dict {
		for i, entry := range v.dict().all() {
			if i > 0 {
				put(", ")
			}
			b.repr(e, entry.key, active)
			put(": ")
			b.repr(e, entry.value, active)
		}
	} else {
		items := v.items()
		for i, item := range items {
			if i > 0 {
				put(", ")
			}
			b.repr(e, item, active)
		}
		if v.kind == Tuple && len(items) == 1 {
			put(",")
		}
	}
	put(last)
	e.step(1)
}

// reprString appends the repr of a string's text. The quotes are structure, the text between them
// keeps its runs.
func (b *builder) reprString(e *eval, v Value) {
	s := v.text()
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	if !b.on {
		b.buf = append(b.buf, quote)
		b.buf = append(appendRepr(b.buf, s, quote), quote)
		e.charge(len(s) + 2)
		return
	}
	around := run{}
	if n := v.origin(); n != nil {
		around = structure(Value{prov: &n.val}, Python)
	}
	put := func() {
		b.buf = append(b.buf, quote)
		b.mark(len(b.buf)-1, around)
	}
	put()
	b.encode(v, Python, func(dst []byte, s string) []byte { return appendRepr(dst, s, quote) })
	put()
	e.charge(len(s) + 2)
}

// pyQuote is Python's repr of a string.
func pyQuote(s string) string {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	return string(append(appendRepr([]byte{quote}, s, quote), quote))
}

// quoteExcerpt is pyQuote of a text in an error, of whose length nothing is known.
func quoteExcerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return pyQuote(s)
	}
	return pyQuote(source.Head(s, most)) + "..."
}

const hexDigits = "0123456789abcdef"

// appendRepr appends s, escaped as repr does it.
func appendRepr(dst []byte, s string, quote byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 {
			i++
			switch {
			case c == quote || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, `\n`...)
			case c == '\r':
				dst = append(dst, `\r`...)
			case c == '\t':
				dst = append(dst, `\t`...)
			case c < 0x20 || c == 0x7F:
				dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, n := decodeRune(s[i:])
		if isPrintable(r) {
			dst = append(dst, s[i:i+n]...)
		} else {
			dst = appendEscape(dst, r)
		}
		i += n
	}
	return dst
}

// appendEscape appends the shortest of \xNN, \uNNNN and \UNNNNNNNN.
func appendEscape(dst []byte, r rune) []byte {
	kind, digits := byte('x'), 2
	switch {
	case r > 0xFFFF:
		kind, digits = 'U', 8
	case r > 0xFF:
		kind, digits = 'u', 4
	}
	dst = append(dst, '\\', kind)
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[r>>shift&15])
	}
	return dst
}

// isPrintable is Python's str.isprintable of one code point.
func isPrintable(r rune) bool {
	return r == ' ' || unicode.IsPrint(r) && !newerThanPython(r)
}

// appendFloat appends Python's repr of a float: the shortest digits that give it back, with an
// exponent below 1e-4 and from 1e16 on.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[start:], '.') {
		dst = append(dst, ".0"...)
	}
	return dst
}

// escape is markupsafe.escape: the text of v as markup, with &, <, >, " and ' escaped unless v is
// markup already.
func escape(e *eval, v Value) Value {
	if v.kind == Markup {
		return v
	}
	v = str(e, v)
	if !strings.ContainsAny(v.text(), `&<>"'`) {
		v.kind = Markup
		return v
	}
	b := e.builder(int(v.num) + 16)
	b.encode(v, HTML, appendEscaped)
	e.charge(len(b.buf))
	v = b.value()
	v.kind = Markup
	return v
}

func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		switch s[i] {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '"':
			dst = append(dst, "&#34;"...)
		case '\'':
			dst = append(dst, "&#39;"...)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}
