package stream

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// quoter writes JSON as it comes, and makes a string of a number, true or false where its schema
// allows nothing but strings (E21 T11). Null stays: it is no text. How the JSON is cut does not
// matter.
type quoter struct {
	stack  []container
	value  *schema.Schema // of the value that comes next; nil where nothing is known of it
	keyed  bool           // a key comes next
	key    []byte         // of the member at hand, as JSON without its quotes
	state  quoterState
	escape bool // a backslash precedes
}

// container is an object or array that is open.
type container struct {
	array  bool
	schema *schema.Schema // of the object, or of an item; nil where nothing is known of it
}

type quoterState uint8

const (
	betweenValues quoterState = iota
	inKey
	inString
	inScalar
	inQuoted // a scalar that is written as a string
)

func newQuoter(root *schema.Schema) *quoter { return &quoter{value: root} }

// write appends more JSON.
func (q *quoter) write(to *strings.Builder, text []byte) {
	to.Grow(len(text)) // a builder that knows the size in advance doubles
	from, i := 0, 0    // text[from:i] is read and not written
	quote := func() {
		to.Write(text[from:i])
		to.WriteByte('"')
		from = i
	}
	for i < len(text) {
		switch q.state {
		case inKey, inString:
			i += q.skip(text[i:])
		case inScalar, inQuoted:
			for i < len(text) && !endsScalar(text[i]) {
				i++
			}
			if i == len(text) {
				break
			}
			if q.state == inQuoted {
				quote()
			}
			q.state = betweenValues
		default:
			if q.between(text[i]); q.state == inQuoted {
				quote()
			}
			i++
		}
	}
	to.Write(text[from:])
}

// endsScalar reports whether a byte of JSON ends a number or a word before it.
func endsScalar(c byte) bool { return c == ',' || c == ']' || c == '}' || isSpace(c) }

// skip returns how much of a text belongs to the string at hand. It looks for quotes and
// backslashes in eight bytes at a time.
func (q *quoter) skip(text []byte) int {
	next := 0 // the first byte that no backslash escapes
	if q.escape {
		next = 1
	}
	at := 0
	for ; len(text)-at >= 8; at += 8 {
		w := binary.LittleEndian.Uint64(text[at:])
		for found := zeros(w^'"'*ones) | zeros(w^'\\'*ones); found != 0; found &= found - 1 {
			switch n := at + bits.TrailingZeros64(found)/8; {
			case n < next:
			case text[n] == '"':
				return q.ended(text[:n])
			default:
				next = n + 2
			}
		}
	}
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case at < next:
		case c == '"':
			return q.ended(text[:at])
		case c == '\\':
			next = at + 2
		}
	}
	if q.escape = next > len(text); q.state == inKey {
		q.key = append(q.key, text...)
	}
	return len(text)
}

// ended ends the string at hand after more of it, and returns how much that is, with the quote.
func (q *quoter) ended(text []byte) int {
	if q.escape = false; q.state == inKey {
		q.key = append(q.key, text...)
	}
	q.state = betweenValues
	return len(text) + 1
}

// ones has the byte 1 eight times.
const ones = 0x0101010101010101

// zeros returns the top bit of each byte of a word that is zero.
func zeros(w uint64) uint64 {
	const low = 0x7f * ones
	return ^(w&low + low | w | low)
}

// between reads a byte outside strings and scalars.
func (q *quoter) between(c byte) {
	switch c {
	case '{', '[':
		in := container{array: c == '['}
		if q.value != nil && q.value.Types()&(schema.Object|schema.Array) != 0 {
			if in.schema = q.value; in.array {
				in.schema = q.value.Item()
			}
		}
		q.stack = append(q.stack, in)
		q.next()
	case '}', ']':
		if len(q.stack) > 0 {
			q.stack = q.stack[:len(q.stack)-1]
		}
	case ',':
		q.next()
	case ':':
		q.value = q.member()
	case '"':
		q.state = inString
		if q.keyed {
			q.state, q.keyed, q.key = inKey, false, q.key[:0]
		}
	case ' ', '\t', '\r', '\n':
	default:
		q.state = inScalar
		if q.value != nil && q.value.IsString() && c != 'n' {
			q.state = inQuoted
		}
	}
}

// next makes ready for the first or a further item or member of the container at hand.
func (q *quoter) next() {
	q.value, q.keyed = nil, false
	if len(q.stack) == 0 {
		return
	}
	top := q.stack[len(q.stack)-1]
	q.keyed = !top.array
	if top.array {
		q.value = top.schema
	}
}

// member returns the schema of the member whose key was read.
func (q *quoter) member() *schema.Schema {
	if len(q.stack) == 0 || q.stack[len(q.stack)-1].schema == nil {
		return nil
	}
	key := string(q.key)
	if bytes.IndexByte(q.key, '\\') >= 0 {
		v, err := ordered.ParseString(`"` + key + `"`)
		if err != nil {
			return nil
		}
		key = v.Text()
	}
	value, _ := q.stack[len(q.stack)-1].schema.Field(key)
	return value
}

// beginEntry begins an entry of tagged arguments: its key, as JSON with the colon after it. Where
// objects are spelled as tags, entries that repeat a key are the items of an array (E18); a value
// that may be one by its schema waits for the next key.
func (c *call) beginEntry(key string) {
	if c.repeating && c.repeated == key {
		c.held.Begin()
		return
	}
	c.release(true)
	if c.entries > 0 {
		c.put(", ")
	}
	c.entries++
	if c.nested && c.schema != nil {
		name, err := ordered.ParseString(strings.TrimSuffix(key, ": "))
		value, _ := c.schema.Field(name.Text())
		if err == nil && value.Types()&schema.Array != 0 {
			c.repeating, c.repeated, c.items = true, key, value
			c.held.Begin()
			return
		}
	}
	c.put(key)
}

// release writes the entry that is held, if one is: as it came, or as an array. whole: its value is
// complete.
func (c *call) release(whole bool) {
	if !c.repeating {
		return
	}
	c.repeating = false
	c.put(c.repeated)
	c.putBytes(c.held.Append(nil, c.items, whole))
}

// put adds to the arguments: to the value that is held, or to those that may be sent.
func (c *call) put(text string) {
	switch {
	case c.repeating:
		c.held.Add([]byte(text))
	case c.quoter != nil:
		c.quoter.write(&c.args, []byte(text))
	default:
		c.args.WriteString(text)
	}
}

func (c *call) putBytes(text []byte) {
	switch {
	case c.repeating:
		c.held.Add(text)
	case c.quoter != nil:
		c.quoter.write(&c.args, text)
	default:
		extend(&c.args, text)
	}
}

// know tells the schema of the arguments, once the name of the function is read. Arguments that
// have come before it have gone into no delta.
func (c *call) know(f *codegen.Function) {
	c.schema = f.Schema
	if !f.Quotes {
		return
	}
	c.quoter = newQuoter(f.Schema)
	if early := c.args.String(); early != "" {
		c.args.Reset()
		c.put(early)
	}
}
