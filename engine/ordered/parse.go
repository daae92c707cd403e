package ordered

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/source"
)

// ParseString is [Parse] for a string. Strings without escapes share its memory.
func ParseString(text string) (Value, error) {
	v, rest, err := ParsePrefix(text)
	if err != nil {
		return Value{}, err
	}
	if rest < len(text) {
		return Value{}, source.Errorf(source.New("", text), rest, "text after the JSON value, "+
			"expected the end")
	}
	return v, nil
}

// MustParse is ParseString for a text of the program's own: it panics where that is no JSON.
func MustParse(text string) Value {
	v, err := ParseString(text)
	if err != nil {
		panic(err)
	}
	return v
}

// ParsePrefix reads one JSON value at the start of text, with white space around it, and returns
// the offset after it.
func ParsePrefix(text string) (Value, int, error) {
	p := parser{text: text}
	p.space()
	v := p.value(0)
	if p.fault != "" {
		return Value{}, p.pos, source.Errorf(source.New("", text), p.pos, "%s", p.fault)
	}
	p.space()
	return v, p.pos, nil
}

type parser struct {
	text  string
	pos   int
	fault string // the first fault, at pos; then everything returns at once

	values  int      // read so far
	items   []Value  // of the arrays that are being read, the inner ones last
	members []Member // of the objects
}

// MaxValues bounds the values of a text, those in others counted: a byte or two may be one, and
// takes a hundred times that in memory.
const MaxValues = 4 << 20

func (p *parser) fail(msg string) Value {
	if p.fault == "" {
		p.fault = msg
	}
	return Value{}
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) Value {
	if depth > MaxDepth {
		return p.fail("JSON is nested deeper than 1000 levels")
	}
	if p.values++; p.values > MaxValues {
		return p.fail("JSON of more than 4194304 values")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, ok := p.string()
		if !ok {
			return Value{}
		}
		return Str(s)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case p.word("true"):
		return Boolean(true)
	case p.word("false"):
		return Boolean(false)
	case p.word("null"):
		return Value{}
	case p.pos >= len(p.text):
		return p.fail("the JSON text ends, expected a value")
	}
	if why := source.Encoding(p.text); why != "" && p.pos == 0 {
		return p.fail(why)
	}
	return p.fail("expected a JSON value")
}

func (p *parser) word(w string) bool {
	if !strings.HasPrefix(p.text[p.pos:], w) {
		return false
	}
	p.pos += len(w)
	return true
}

func (p *parser) array(depth int) Value {
	p.pos++
	p.space()
	if p.peek() == ']' {
		p.pos++
		return ArrayOf()
	}
	start := len(p.items)
	for {
		p.space()
		item := p.value(depth + 1)
		if p.fault != "" {
			return Value{}
		}
		p.items = append(p.items, item)
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			v := ArrayOf(slices.Clone(p.items[start:])...)
			p.items = p.items[:start]
			return v
		default:
			return p.fail("expected ',' or ']' in a JSON array")
		}
	}
}

// indexFrom is the number of members from which duplicates are found by a map; fewer are compared
// one by one.
const indexFrom = 16

func (p *parser) object(depth int) Value {
	p.pos++
	p.space()
	if p.peek() == '}' {
		p.pos++
		return ObjectOf()
	}
	start := len(p.members)
	var index map[string]int
	for {
		p.space()
		if p.peek() != '"' {
			return p.fail("expected a string as key in a JSON object")
		}
		key, ok := p.string()
		if !ok {
			return Value{}
		}
		p.space()
		if p.peek() != ':' {
			return p.fail("expected ':' after a key in a JSON object")
		}
		p.pos++
		p.space()
		member := p.value(depth + 1)
		if p.fault != "" {
			return Value{}
		}
		if i := find(p.members[start:], index, key); i >= 0 {
			p.members[start+i].Value = member
		} else {
			p.members = append(p.members, Member{key, member})
			switch n := len(p.members) - start; {
			case n == indexFrom:
				index = make(map[string]int, 2*indexFrom)
				for i, m := range p.members[start:] {
					index[m.Key] = i
				}
			case n > indexFrom:
				index[key] = n - 1
			}
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			v := ObjectOf(slices.Clone(p.members[start:])...)
			p.members = p.members[:start]
			return v
		default:
			return p.fail("expected ',' or '}' in a JSON object")
		}
	}
}

func find(members []Member, index map[string]int, key string) int {
	if index != nil {
		if i, ok := index[key]; ok {
			return i
		}
		return -1
	}
	for i := range members {
		if members[i].Key == key {
			return i
		}
	}
	return -1
}

func (p *parser) digits() bool {
	start := p.pos
	for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number() Value {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return p.fail("expected a digit in a JSON number")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return p.fail("expected a digit after the point of a JSON number")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return p.fail("expected a digit in the exponent of a JSON number")
		}
	}
	return Num(p.text[start:p.pos])
}

func (p *parser) string() (string, bool) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return p.text[start : p.pos-1], true
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			p.fail("a control character in a JSON string must be escaped")
			return "", false
		}
		p.pos++
	}
	p.fail("a JSON string has no closing quote")
	return "", false
}

func (p *parser) escaped(start int) (string, bool) {
	buf := append(make([]byte, 0, 2*(p.pos-start)+16), p.text[start:p.pos]...)
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(buf), true
		case c < 0x20:
			p.fail("a control character in a JSON string must be escaped")
			return "", false
		case c != '\\':
			buf = append(buf, c)
			p.pos++
			continue
		}
		var n int
		if buf, n = AppendUnescaped(buf, p.text[p.pos:]); n == 0 {
			p.fail("a bad escape in a JSON string")
			return "", false
		}
		p.pos += n
	}
	p.fail("a JSON string has no closing quote")
	return "", false
}

// AppendUnescaped appends the meaning of one JSON escape at the start of s, surrogate pairs joined,
// and returns the number of bytes read, 0 where s does not start with a complete escape.
func AppendUnescaped(dst []byte, s string) ([]byte, int) {
	if len(s) < 2 || s[0] != '\\' {
		return dst, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return append(dst, "\"\\/\b\f\n\r\t"[i]), 2
	}
	r, ok := unicodeEscape(s)
	if !ok {
		return dst, 0
	}
	if r < 0xD800 || r > 0xDFFF {
		return utf8.AppendRune(dst, r), 6
	}
	if low, ok := unicodeEscape(s[6:]); ok && r < 0xDC00 && 0xDC00 <= low && low <= 0xDFFF {
		return utf8.AppendRune(dst, joined(r, low)), 12
	}
	return appendSurrogate(dst, r), 6
}

func unicodeEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s[2:6]) {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
