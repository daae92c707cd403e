package stream

import (
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// quoter makes a string of a number, true or false in JSON that is written as it comes, where its
// schema allows nothing but strings (E21 T11). Null stays: it is no text. How the JSON is cut does
// not matter. The JSON before a scalar is read only once the scalar comes.
type quoter struct {
	read  int            // bytes of the written JSON that were read
	stack []container    // what is open, the innermost last; the first stands for none
	value *schema.Schema // of the value that comes next; nil where nothing is known of it
	keyed bool           // a key comes next
	key   []byte         // of the member at hand, as JSON without its quotes
	state quoterState
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

// write appends more JSON.
func (q *quoter) write(to *strings.Builder, text string) {
	q.advance(to.String()[q.read:])
	to.Grow(len(text)) // a builder that knows the size in advance doubles
	for len(text) > 0 {
		n, quote := q.advance(text)
		if to.WriteString(text[:n]); quote {
			to.WriteByte('"')
		}
		text = text[n:]
	}
	q.read = to.Len()
}

// end ends the scalar that is written as a string, since text without scalars follows.
func (q *quoter) end(to *strings.Builder) {
	to.WriteByte('"')
	q.read, q.state = to.Len(), betweenValues
}

// advance reads JSON up to the place of a quote that is missing, or all of it. It returns how much
// it has read.
func (q *quoter) advance(text string) (n int, quote bool) {
	i := 0
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
			quoted := q.state == inQuoted
			if q.state = betweenValues; quoted {
				return i, true
			}
		default:
			if q.between(text[i]); q.state == inQuoted {
				return i, true
			}
			i++
		}
	}
	return i, false
}

// endsScalar reports whether a byte of JSON ends a number or a word before it.
func endsScalar(c byte) bool { return c == ',' || c == ']' || c == '}' || isSpace(c) }

// skip returns how much of a text belongs to the string at hand, with the quote that ends it. No
// text ends inside an escape sequence, unless nothing follows.
func (q *quoter) skip(text string) int {
	for at := 0; ; {
		end, found := len(text), false
		if n := strings.IndexByte(text[at:], '"'); n >= 0 {
			end, found = at+n, true
		}
		slashes := end
		for slashes > at && text[slashes-1] == '\\' {
			slashes--
		}
		switch {
		case found && (end-slashes)%2 == 1:
			at = end + 1
			continue
		case q.state == inKey:
			q.key = append(q.key, text[:end]...)
		}
		if found {
			q.state = betweenValues
			return end + 1
		}
		return end
	}
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
		q.stack = q.stack[:max(1, len(q.stack)-1)]
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
	top := q.stack[len(q.stack)-1]
	q.value, q.keyed = nil, !top.array
	if top.array {
		q.value = top.schema
	}
}

// member returns the schema of the member whose key was read.
func (q *quoter) member() *schema.Schema {
	of := q.stack[len(q.stack)-1].schema
	if of == nil {
		return nil
	}
	key, _ := ordered.ParseString(`"` + string(q.key) + `"`) // as a scanner has written it
	value, _ := of.Field(key.Text())
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
	if c.nested {
		name, _ := ordered.ParseString(strings.TrimSuffix(key, ": ")) // this package wrote it
		value, _ := c.schema.Field(name.Text())
		if value.Types()&schema.Array != 0 {
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
	c.putJSON(c.held.Append(nil, c.items, whole))
}

// put adds to the arguments: to the value that is held, or to those that may be sent. The text has
// no number and no word that a string could take the place of.
func (c *call) put(text string) {
	if c.repeating {
		c.held.Add([]byte(text))
		return
	}
	if c.quoter.state == inQuoted {
		c.quoter.end(&c.args)
	}
	c.args.WriteString(text)
}

// putBytes is put for a text that may be long and never follows a scalar.
func (c *call) putBytes(text []byte) {
	if c.repeating {
		c.held.Add(text)
		return
	}
	extend(&c.args, text)
}

// putJSON adds JSON to the arguments that may have any values.
func (c *call) putJSON(text []byte) {
	switch {
	case c.repeating:
		c.held.Add(text)
	case c.quotes:
		c.quoter.write(&c.args, string(text))
	default:
		extend(&c.args, text)
	}
}

// know tells the schema of the arguments, once the name of the function is read. Arguments that
// have come before it have gone into no delta.
func (c *call) know(f *codegen.Function) {
	c.schema = f.Schema
	if c.quotes = f.Quotes; !c.quotes {
		return
	}
	early := c.args.String()
	c.args.Reset()
	c.quoter = quoter{value: f.Schema, stack: make([]container, 1, 8)}
	c.putJSON([]byte(early))
}
