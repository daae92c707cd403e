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
	step    func(*eval) (Value, bool, error)
}

// iterate is Python's iter(v). Undefined gives nothing; a number is a TypeError.
func iterate(e *eval, v Value) (iterator, error) {
	switch v.kind {
	case List, Tuple, String, Markup, Range, Generator:
		return iterator{over: v}, nil
	case Dict:
		v.dict().all()
		return iterator{over: v, version: v.dict().version}, nil
	case View:
		v.view().d.all()
		return iterator{over: v, version: v.view().d.version}, nil
	case Undefined:
		return iterator{over: noneValue()}, nil
	case Object:
		if o, ok := v.object().(iterable); ok {
			return o.iterate(e)
		}
	}
	return iterator{}, errf(TypeError, "'%s' object is not iterable", typeName(v))
}

// iterateFunc returns an iterator that calls next until it returns false.
func iterateFunc(next func(*eval) (Value, bool, error)) iterator { return iterator{step: next} }

// next returns the next item, or false at the end. Each costs a step.
func (it *iterator) next(e *eval) (Value, bool, error) {
	if err := e.step(1); err != nil {
		return Value{}, false, err
	}
	switch v := it.over; v.kind {
	case List, Tuple:
		if items := v.items(); it.pos < len(items) {
			it.pos++
			e.traceRead(items[it.pos-1])
			return items[it.pos-1], true, nil
		}
	case Dict:
		entry, err := it.entry(v.dict())
		if entry != nil {
			return entry.key, true, nil
		}
		return Value{}, false, err
	case View:
		entry, err := it.entry(v.view().d)
		if entry != nil {
			e.traceRead(entry.value)
			return v.view().item(e.memory, entry), true, nil
		}
		return Value{}, false, err
	case String, Markup:
		if s := v.text(); it.pos < len(s) {
			i := it.pos
			it.pos += runeSize(s[i:])
			c := v.substr(i, it.pos)
			c.kind = String // the characters of markup are plain
			return c, true, nil
		}
	case Range:
		if r := v.rng(); int64(it.pos) < r.len() {
			it.pos++
			return e.computed(r.at(int64(it.pos - 1))), true, nil
		}
	case Generator:
		return v.generator().advance(e)
	default:
		if it.step != nil {
			return it.step(e)
		}
	}
	return Value{}, false, nil
}

// nextPair is next for a loop with two targets. Where the items are a dict's, pair is true and a
// and b are key and value, without a tuple being built; else a is the item, still to be unpacked.
func (it *iterator) nextPair(e *eval) (a, b Value, ok, pair bool, err error) {
	if it.over.kind == View && it.over.view().kind == viewItems {
		if err := e.step(1); err != nil {
			return a, b, false, false, err
		}
		entry, err := it.entry(it.over.view().d)
		if entry == nil {
			return a, b, false, false, err
		}
		e.traceRead(entry.value)
		return entry.key, entry.value, true, true, nil
	}
	a, ok, err = it.next(e)
	return a, b, ok, false, err
}

func (it *iterator) entry(d *dict) (*entry, error) {
	if d.version != it.version {
		return nil, errf(RuntimeError, "dictionary changed size during iteration")
	}
	if it.pos == len(d.entries) {
		return nil, nil
	}
	it.pos++
	return &d.entries[it.pos-1], nil
}

func (g *generator) advance(e *eval) (Value, bool, error) {
	if g.done {
		return Value{}, false, nil
	}
	if err := e.enter(); err != nil { // generators of generators nest
		return Value{}, false, err
	}
	v, ok, err := g.pull(e)
	e.leave()
	g.done = !ok
	return v, ok, err
}

// pull returns the next item, and what raises instead.
func (g *generator) pull(e *eval) (v Value, ok bool, err error) {
	defer caught(&err)
	v, ok = g.next(e)
	return v, ok, nil
}

// each iterates over a value in a built-in; errors are raised.
func (e *eval) each(v Value) iter.Seq[Value] {
	it := must(iterate(e, v))
	return func(yield func(Value) bool) {
		for {
			if item, ok := must2(it.next(e)); !ok || !yield(item) {
				return
			}
		}
	}
}

// collect returns the items of an iterable, for reading only.
func collect(e *eval, v Value) ([]Value, error) {
	if v.isSeq() {
		items := v.items()
		return items, e.step(len(items))
	}
	it, err := iterate(e, v)
	if err != nil {
		return nil, err
	}
	out := make([]Value, 0, sizeHint(v))
	for {
		item, ok, err := it.next(e)
		if !ok {
			return out, err
		}
		out = append(out, item)
	}
}

// collectOwn is collect with items that the caller may keep and change.
func collectOwn(e *eval, v Value) ([]Value, error) {
	items, err := collect(e, v)
	if v.isSeq() && err == nil {
		items = append(make([]Value, 0, len(items)), items...)
	}
	return items, err
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
func length(e *eval, v Value) (int, error) {
	switch v.kind {
	case Undefined:
		return 0, nil
	case String, Markup:
		return runeCount(v.text()), e.step(scanSteps(v))
	case List, Tuple:
		return v.seq().len(), nil
	case Dict:
		return v.dict().len(), nil
	case View:
		return v.view().d.len(), nil
	case Range:
		return int(v.rng().len()), nil
	case Object:
		if o, ok := v.object().(sized); ok {
			return o.length(e)
		}
	}
	return 0, errf(TypeError, "object of type '%s' has no len()", typeName(v))
}

// truth is Python's bool(v).
func truth(e *eval, v Value) (bool, error) {
	switch v.kind {
	case None, Undefined, Missing:
		return false, nil
	case Bool, Int, String, Markup:
		return v.num != 0, nil
	case Float:
		return v.float() != 0, nil
	case List, Tuple:
		return v.seq().len() != 0, nil
	case Dict:
		return v.dict().len() != 0, nil
	case View, Range:
		n, err := length(e, v)
		return n != 0, err
	case Object:
		if o, ok := v.object().(sized); ok {
			n, err := o.length(e)
			return n != 0, err
		}
	}
	return true, nil
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
