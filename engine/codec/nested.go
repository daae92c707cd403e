package codec

import (
	"bytes"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// Tags spell objects and arrays as tags: an entry is Open key Mid value Close key CloseMid, an
// array's item ItemOpen value ItemClose.
type Tags struct {
	Open, Mid           string
	Close, CloseMid     string
	ItemOpen, ItemClose string
}

// NestedType makes scanners for the inside of one tag: the text between an entry's Mid and its
// Close. A pointer to it is a [peg.ScannerType].
type NestedType struct {
	Tags   Tags
	Schema *schema.Schema
	Marked bool // as in [Syntax]
}

// Name, First and New implement [peg.ScannerType].
func (t *NestedType) Name() string { return "nested " + t.Schema.Types().String() }

func (t *NestedType) First() (peg.ByteSet, bool) { return peg.ByteSet{}.Not(), true }

func (t *NestedType) New() peg.Scanner { return &Nested{t: t, w: writer{marked: t.Marked}} }

// Nested scans a value whose objects and arrays are spelled as tags. It stops before the closing
// tag of the entry around it.
//
// A value that may be a string by its schema is not read as tags: all up to its closing tag is its
// text. A value that may be anything is read as tags where it begins with one.
type Nested struct {
	t     *NestedType
	stack []level
	state nestedState
	seen  int // bytes of a held run that were searched already
	w     writer
	route route
}

// level is an object or array that is open, or the place of the value around all.
type level struct {
	array  bool
	schema *schema.Schema // of the object or array
	key    string         // of the entry that is open in an object
	value  *schema.Schema // of that entry, or of an item
	free   bool           // the entry is not declared: any key may stand in its closing tag
	count  int            // entries or items begun

	// A value that may be an array is held until another key comes: entries that repeat a key are
	// the items of one.
	holding bool
	held    Repeated
}

// route hands on the bytes that are read: to the innermost value that is held, else out.
type route struct {
	n   *Nested
	out peg.Out
	buf []byte
}

func (r *route) Number(int) {} // all its text is [Mixed]

func (r *route) Copy(from, to int) { r.Text(r.buf[from:to], from, to) }

func (r *route) Text(text []byte, from, to int) {
	for i := len(r.n.stack) - 1; i >= 0; i-- {
		if l := &r.n.stack[i]; l.holding {
			l.held.Add(text)
			r.out.String("", from, to)
			return
		}
	}
	r.out.Text(text, from, to)
}

func (r *route) String(text string, from, to int) { r.Text([]byte(text), from, to) }

// release writes the entry that a level holds, if it does. A value that breaks off is written as it
// came.
func (n *Nested) release(l *level, i int, whole bool, w *writer) {
	if !l.holding {
		return
	}
	l.holding = false
	w.flush(i)
	text := append(AppendText([]byte{'"'}, w.text([]byte(l.key))), `": `...)
	w.out.Text(l.held.Append(text, l.value, whole), i, i)
}

type nestedState uint8

const (
	nestValue nestedState = iota // a value begins
	nestText                     // inside a string that streams
	nestNext                     // after an entry or item, or before the first
	nestEnd                      // after a value: its closing tag must come
)

// Reset implements [peg.Scanner].
func (n *Nested) Reset() { n.stack, n.state, n.seen = n.stack[:0], nestValue, 0 }

// Step implements [peg.Scanner].
func (n *Nested) Step(buf []byte, closed bool, out peg.Out) (int, peg.Status) {
	w := &n.w
	out.Number(Mixed)
	n.route = route{n, out, buf}
	w.begin(&n.route, buf)
	i, v := 0, goOn
	for v == goOn {
		w.from = i
		i, v = n.read(buf, i, closed, w)
	}
	if v == broken || closed && v != done {
		for at := len(n.stack) - 1; at >= 0; at-- {
			n.release(&n.stack[at], i, false, w)
		}
	}
	if v == held && closed && i < len(buf) { // a tag that breaks off
		w.from = i
		w.put("", i, len(buf))
		i = len(buf)
	}
	switch {
	case v == done:
		return i, peg.Match
	case v == broken || closed:
		return i, peg.Fail
	}
	return i, peg.NeedMore
}

// schema is the schema of the value at hand, as far as it is known.
func (n *Nested) schema() *schema.Schema {
	if len(n.stack) == 0 {
		return n.t.Schema
	}
	return n.stack[len(n.stack)-1].value
}

// ends reports whether the closing tag of the value at hand stands at the start of rest.
func (n *Nested) ends(rest []byte, closed bool) (length int, v verdict) {
	if len(n.stack) > 0 {
		switch top := &n.stack[len(n.stack)-1]; {
		case top.array:
			return match(rest, closed, n.t.Tags.ItemClose)
		case top.free:
			return n.anyClose(rest, closed)
		default:
			return match(rest, closed, n.t.Tags.Close+top.key+n.t.Tags.CloseMid)
		}
	}
	return match(rest, closed, n.t.Tags.Close) // the key is the surrounding entry's business
}

// anyClose is match for a closing tag with any key.
func (n *Nested) anyClose(rest []byte, closed bool) (int, verdict) {
	length, v := match(rest, closed, n.t.Tags.Close)
	if v != done {
		return 0, v
	}
	key := rest[length:]
	end := bytes.Index(key[:min(len(key), MaxHeld)], []byte(n.t.Tags.CloseMid))
	switch {
	case end >= 0:
		return length + end + len(n.t.Tags.CloseMid), done
	case len(key) < MaxHeld:
		return 0, held
	}
	return 0, broken
}

// match reports whether rest begins with text: done, broken, or held where rest is a beginning of
// it.
func match(rest []byte, closed bool, text string) (int, verdict) {
	switch {
	case text == "":
		return 0, broken
	case strings.HasPrefix(string(rest[:min(len(rest), len(text))]), text):
		return len(text), done
	case len(rest) < len(text) && (len(rest) > 0 || !closed) && text[:len(rest)] == string(rest):
		return 0, held
	}
	return 0, broken
}

func (n *Nested) read(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	switch n.state {
	case nestValue:
		return n.readValue(buf, i, closed, w)
	case nestText:
		return n.readText(buf, i, closed, w)
	case nestNext:
		return n.readNext(buf, i, closed, w)
	}
	if len(n.stack) == 0 {
		return i, done
	}
	length, v := n.ends(buf[i:], closed)
	if v != done {
		return i, v
	}
	w.put("", i, i+length)
	n.state = nestNext
	return i + length, goOn
}

// readValue decides which kind of value begins at i.
func (n *Nested) readValue(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	s := n.schema()
	types := s.Types()
	if types == schema.String {
		w.put(`"`, i, i)
		n.state = nestText
		return i, goOn
	}
	if types == schema.AnyType || types&schema.String == 0 {
		j := i
		for j < len(buf) && isSpace(buf[j]) {
			j++
		}
		if j-i < MaxHeld {
			t := &n.t.Tags
			_, item := match(buf[j:], closed, t.ItemOpen)
			_, entry := match(buf[j:], closed, t.Open)
			_, end := n.ends(buf[j:], closed)
			_, close := match(buf[j:], closed, t.Close)
			if item == held || entry == held || end == held || close == held {
				return i, held
			}
			array := item == done && types&schema.Array != 0 ||
				types&(schema.Array|schema.Object) == schema.Array
			empty := end == done && (types == schema.Array || types == schema.Object)
			if array && item == done ||
				!array && entry == done && close != done && types&schema.Object != 0 || empty {
				if len(n.stack) == ordered.MaxDepth {
					return i, broken
				}
				open, inner := "{", level{schema: s}
				if array {
					open, inner = "[", level{array: true, schema: s, value: s.Item()}
				}
				w.put(open, i, j)
				n.stack = append(n.stack, inner)
				n.state = nestNext
				return j, goOn
			}
		}
	}
	return n.readHeld(buf, i, closed, types, w)
}

// readHeld reads a value that is understood only when its end is there.
func (n *Nested) readHeld(buf []byte, i int, closed bool, types schema.TypeSet,
	w *writer) (int, verdict) {
	end := n.endText(buf, i, closed)
	if end < 0 {
		return i, held
	}
	n.seen = 0
	w.flush(i)
	w.esc = Decode(w.esc[:0], w.text(buf[i:end]), Values(types), false)
	w.out.Text(w.esc, i, end)
	n.state = nestEnd
	return end, goOn
}

// endText finds the closing tag of the value at hand from i on; -1 if it has not come.
func (n *Nested) endText(buf []byte, i int, closed bool) int {
	for j := i + n.seen; j < len(buf); j++ {
		k := bytes.IndexByte(buf[j:], n.t.Tags.Close[0])
		if len(n.stack) > 0 && n.stack[len(n.stack)-1].array {
			k = bytes.IndexByte(buf[j:], n.t.Tags.ItemClose[0])
		}
		if k < 0 {
			break
		}
		j += k
		switch _, v := n.ends(buf[j:], closed); v {
		case done:
			return j
		case held:
			if closed {
				return j
			}
			n.seen = j - i
			return -1
		}
	}
	if closed {
		return len(buf)
	}
	n.seen = len(buf) - i
	return -1
}

// readText streams a string.
func (n *Nested) readText(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	n.seen = 0
	end := n.endText(buf, i, closed)
	if end < 0 {
		stop := i + n.seen
		n.seen = 0
		if stop == len(buf) {
			stop -= incomplete(buf[i:])
		}
		if stop > i {
			w.escape(i, stop)
		}
		return stop, held
	}
	if end > i {
		w.escape(i, end)
	}
	w.put(`"`, end, end)
	n.state = nestEnd
	return end, goOn
}

// readNext reads the tag that opens an entry or item, or the end of the object or array.
func (n *Nested) readNext(buf []byte, i int, closed bool, w *writer) (int, verdict) {
	top := &n.stack[len(n.stack)-1]
	j := i
	for j < len(buf) && isSpace(buf[j]) {
		j++
	}
	if j > i {
		w.put("", i, j)
		return j, goOn
	}
	comma := ""
	if top.count > 0 {
		comma = ", "
	}
	t := &n.t.Tags
	if top.array {
		length, v := match(buf[i:], closed, t.ItemOpen)
		if v == held {
			return i, held
		}
		if v == done {
			w.put(comma, i, i+length)
			top.count++
			n.state = nestValue
			return i + length, goOn
		}
	} else {
		length, v := match(buf[i:], closed, t.Open)
		if v == held {
			return i, held
		}
		_, end := match(buf[i:], closed, t.Close)
		if v == done && end != done {
			key := buf[i+length:]
			m := bytes.Index(key[:min(len(key), MaxHeld)], []byte(t.Mid))
			if m < 0 {
				if len(key) < MaxHeld {
					return i, held
				}
				return i, broken
			}
			end := i + length + m + len(t.Mid)
			n.state = nestValue
			if top.holding && top.key == string(key[:m]) { // once more
				w.flush(i)
				top.held.Begin()
				w.put("", i, end)
				return end, goOn
			}
			n.release(top, i, true, w)
			top.key = string(key[:m])
			top.value, top.free = top.schema.Field(top.key)
			top.free = !top.free
			top.count++
			w.put(comma, i, i)
			if top.value.Types()&schema.Array != 0 {
				w.flush(i)
				top.holding = true
				top.held.Begin()
				w.put("", i, end)
				return end, goOn
			}
			w.flush(i)
			w.esc = append(AppendText(append(w.esc[:0], '"'), w.text([]byte(top.key))), `": `...)
			w.out.Text(w.esc, i, end)
			w.from = end
			return end, goOn
		}
		if end == held {
			return i, held
		}
	}
	// The value at hand is now the object or array itself.
	open := *top
	n.stack = n.stack[:len(n.stack)-1]
	if _, v := n.ends(buf[i:], closed); v != done {
		n.stack = append(n.stack, open)
		return i, v
	}
	n.release(&open, i, true, w)
	bracket := "}"
	if open.array {
		bracket = "]"
	}
	w.put(bracket, i, i)
	n.state = nestEnd
	return i, goOn
}
