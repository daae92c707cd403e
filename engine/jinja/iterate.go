package jinja

import (
	"iter"
	"math/bits"
	"unicode/utf8"
)

// iterator walks over a value. It is a plain struct so that a loop over a list or a string costs no
// allocation.
type iterator struct {
	over    Value // List, Tuple, Dict, View, String, Markup, Range or Generator; None: nothing
	pos     int   // the next item; in strings a byte offset
	version int   // the dict's, when the iteration began
	step    func(*eval) (Value, bool)
}

// iterate is Python's iter(v). Undefined gives nothing; a number is a TypeError.
func iterate(e *eval, v Value) iterator {
	switch v.kind {
	case List, Tuple, String, Markup, Range, Generator:
		return iterator{over: v}
	case Dict:
		v.dict().all()
		return iterator{over: v, version: v.dict().version}
	case View:
		v.view().d.all()
		return iterator{over: v, version: v.view().d.version}
	case Undefined:
		return iterator{over: noneValue()}
	case Object:
		if o, ok := v.object().(iterable); ok {
			return o.iterate(e)
		}
	}
	panic(errf(TypeError, "'%s' object is not iterable", typeName(v)))
}

// iterateFunc returns an iterator that calls next until it returns false.
func iterateFunc(next func(*eval) (Value, bool)) iterator { return iterator{step: next} }

// next returns the next item, or false at the end. Each costs a step.
func (it *iterator) next(e *eval) (Value, bool) {
	e.step(1)
	switch v := it.over; v.kind {
	case List, Tuple:
		if items := v.items(); it.pos < len(items) {
			it.pos++
			e.traceRead(items[it.pos-1])
			return items[it.pos-1], true
		}
	case Dict:
		if entry := it.entry(v.dict()); entry != nil {
			return entry.key, true
		}
	case View:
		if entry := it.entry(v.view().d); entry != nil {
			e.traceRead(entry.value)
			return v.view().item(e.memory, entry), true
		}
	case String, Markup:
		if s := v.text(); it.pos < len(s) {
			i := it.pos
			it.pos += runeSize(s[i:])
			c := v.substr(i, it.pos)
			c.kind = String // the characters of markup are plain
			return c, true
		}
	case Range:
		if r := v.rng(); int64(it.pos) < r.len() {
			it.pos++
			return e.computed(r.at(int64(it.pos - 1))), true
		}
	case Generator:
		return v.generator().advance(e)
	default:
		if it.step != nil {
			return it.step(e)
		}
	}
	return Value{}, false
}

// nextPair is next for a loop with two targets. Where the items are a dict's, pair is true and a
// and b are key and value, without a tuple being built; else a is the item, still to be unpacked.
func (it *iterator) nextPair(e *eval) (a, b Value, ok, pair bool) {
	if it.over.kind == View && it.over.view().kind == viewItems {
		e.step(1)
		entry := it.entry(it.over.view().d)
		if entry == nil {
			return a, b, false, false
		}
		e.traceRead(entry.value)
		return entry.key, entry.value, true, true
	}
	a, ok = it.next(e)
	return a, b, ok, false
}

func (it *iterator) entry(d *dict) *entry {
	if d.version != it.version {
		panic(errf(RuntimeError, "dictionary changed size during iteration"))
	}
	if it.pos == len(d.entries) {
		return nil
	}
	it.pos++
	return &d.entries[it.pos-1]
}

func (g *generator) advance(e *eval) (Value, bool) {
	if g.done {
		return Value{}, false
	}
	e.enter()
	v, ok := g.next(e)
	e.leave()
	g.done = !ok
	return v, ok
}

// each iterates over a value.
func (e *eval) each(v Value) iter.Seq[Value] {
	it := iterate(e, v)
	return func(yield func(Value) bool) {
		for {
			if item, ok := it.next(e); !ok || !yield(item) {
				return
			}
		}
	}
}

// collect returns the items of an iterable, for reading only.
func collect(e *eval, v Value) []Value {
	if v.isSeq() {
		items := v.items()
		e.step(len(items))
		return items
	}
	it := iterate(e, v)
	out := make([]Value, 0, sizeHint(v))
	for {
		item, ok := it.next(e)
		if !ok {
			return out
		}
		out = append(out, item)
	}
}

// collectOwn is collect with items that the caller may keep and change.
func collectOwn(e *eval, v Value) []Value {
	items := collect(e, v)
	if v.isSeq() {
		items = append(make([]Value, 0, len(items)), items...)
	}
	return items
}

func sizeHint(v Value) int {
	switch v.kind {
	case Dict:
		return v.dict().len()
	case View:
		return v.view().d.len()
	case Range:
		return int(min(v.rng().len(), 1024))
	case String, Markup:
		return min(len(v.text()), 1024)
	}
	return 0
}

// length is Python's len(v).
func length(e *eval, v Value) int {
	switch v.kind {
	case Undefined:
		return 0
	case String, Markup:
		e.step(scanSteps(v))
		return runeCount(v.text())
	case List, Tuple:
		return v.seq().len()
	case Dict:
		return v.dict().len()
	case View:
		return v.view().d.len()
	case Range:
		return int(v.rng().len())
	case Object:
		if o, ok := v.object().(sized); ok {
			return o.length(e)
		}
	}
	panic(errf(TypeError, "object of type '%s' has no len()", typeName(v)))
}

// truth is Python's bool(v).
func truth(e *eval, v Value) bool {
	switch v.kind {
	case None, Undefined, Missing:
		return false
	case Bool, Int, String, Markup:
		return v.num != 0
	case Float:
		return v.float() != 0
	case List, Tuple:
		return v.seq().len() != 0
	case Dict:
		return v.dict().len() != 0
	case View, Range:
		return length(e, v) != 0
	case Object:
		if o, ok := v.object().(sized); ok {
			return o.length(e) != 0
		}
	}
	return true
}

// Strings are sequences of code points. They are UTF-8, except that a lone surrogate, which Python
// strings can hold, is its three-byte form.

// runeCount is the number of code points: of bytes that do not continue one.
func runeCount(s string) int {
	n := len(s)
	for ; len(s) >= 8; s = s[8:] {
		x := load8(s)
		n -= bits.OnesCount64(x >> 7 & ^(x >> 6) & 0x0101010101010101) // bytes 10xxxxxx
	}
	for i := range len(s) {
		if s[i]&0xC0 == 0x80 {
			n--
		}
	}
	return n
}

// load8 is the first eight bytes of s as one word.
func load8(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// decodeRune returns the first code point of a non-empty string, and its size in bytes.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xC0 == 0x80 &&
		s[2]&0xC0 == 0x80 {
		return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, size
}

func runeSize(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	_, n := decodeRune(s)
	return n
}

// decodeLastRune is decodeRune for the last code point.
func decodeLastRune(s string) (rune, int) {
	i := len(s) - 1
	for i > 0 && i > len(s)-4 && s[i]&0xC0 == 0x80 {
		i--
	}
	r, n := decodeRune(s[i:])
	if i+n != len(s) {
		return utf8.RuneError, 1
	}
	return r, n
}

// appendRune appends a code point, surrogates included.
func appendRune(dst []byte, r rune) []byte {
	if r >= 0xD800 && r <= 0xDFFF {
		return append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

func isASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if load8(s)&0x8080808080808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// byteOffset is the byte offset of the i-th code point, 0 ≤ i ≤ runeCount(s).
func byteOffset(s string, i int) int {
	for at := range len(s) {
		if s[at]&0xC0 != 0x80 {
			if i == 0 {
				return at
			}
			i--
		}
	}
	return len(s)
}
