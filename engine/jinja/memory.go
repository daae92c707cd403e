package jinja

import (
	"sync"
	"unsafe"

	"github.com/goassay/assay/engine/ordered"
)

// memory is what a render builds its values of. Another render uses it again, so that the collector has little to do. No value
// may therefore outlive its render: outputs, errors and traces hold copies.
type memory struct {
	values     slab[Value]
	entries    slab[entry]
	lists      slab[list]
	dicts      slab[dict]
	namespaces slab[namespace]
	macros     slab[macro]
	views      slab[view]
	nodes      slab[node]
	texts      slab[byte]
}

// memories are those that no render has.
var memories = sync.Pool{New: func() any { return new(memory) }}

// reset takes back all that was handed out.
func (m *memory) reset() {
	m.values.reset()
	m.entries.reset()
	m.lists.reset()
	m.dicts.reset()
	m.namespaces.reset()
	m.macros.reset()
	m.views.reset()
	m.nodes.reset()
	m.texts.reset()
}

// slab hands out parts of one block, zeroed. What does not fit comes from the heap, and makes the block larger for the next render.
// So a render that builds without end is the collector's business, as it would be without slabs.
type slab[T any] struct {
	block []T
	used  int // of the block
	asked int // all that this render has asked for
}

// maxSlab bounds a block, in bytes.
const maxSlab = 1 << 16

// take returns n zeroed elements, with no room for more.
func (s *slab[T]) take(n int) []T {
	s.asked += n
	if n > len(s.block)-s.used {
		return make([]T, n)
	}
	s.used += n
	return s.block[s.used-n : s.used : s.used]
}

// one returns a zeroed element.
func (s *slab[T]) one() *T {
	s.asked++
	if s.used == len(s.block) {
		return new(T)
	}
	s.used++
	return &s.block[s.used-1]
}

func (s *slab[T]) reset() {
	var t T
	if want := min(s.asked, maxSlab/int(unsafe.Sizeof(t))); want > len(s.block) {
		s.block = make([]T, want)
	} else {
		clear(s.block[:s.used])
	}
	s.used, s.asked = 0, 0
}

// text is a string of its own with the text of b.
func (m *memory) text(b []byte) string {
	s := m.texts.take(len(b))
	copy(s, b)
	return bytesToString(s)
}

// list returns a list that keeps items.
func (m *memory) list(items []Value) Value { return m.seq(items).value(List) }

// tuple returns a tuple that keeps items.
func (m *memory) tuple(items ...Value) Value { return m.seq(items).value(Tuple) }

func (m *memory) seq(items []Value) *list {
	l := m.lists.one()
	l.items = items
	return l
}

// pair returns a tuple of two.
func (m *memory) pair(a, b Value) Value {
	items := m.values.take(2)
	items[0], items[1] = a, b
	return m.tuple(items...)
}

// dict returns an empty dict with room for so many entries.
func (m *memory) dict(size int) *dict {
	d := m.dicts.one()
	d.entries = m.entries.take(size)[:0]
	return d
}

// input converts an input variable. Containers convert their items when they are first needed. With origins on, it and all
// that is read from it know their path (E3).
func (m *memory) input(name string, v *ordered.Value, origins bool) Value {
	if !origins {
		return m.convert(v, nil)
	}
	return m.convert(v, m.nodes.one().init(nil, name, -1))
}

// convert converts a value that is at a place, or nowhere in particular where origins are off.
func (m *memory) convert(v *ordered.Value, n *node) Value {
	var out Value
	switch v.Kind() {
	case ordered.Array:
		l := m.lists.one()
		l.src, l.node, l.mem = v.Items(), n, m
		out = l.value(List)
	case ordered.Object:
		d := m.dicts.one()
		d.src, d.node, d.mem = v.Members(), n, m
		out = dictValue(d)
	default:
		out = scalar(v)
	}
	if n != nil {
		out.prov = &n.val
	}
	return out
}

func (m *memory) convertItems(src []ordered.Value, parent *node) []Value {
	items := m.values.take(len(src))
	if parent == nil {
		for i := range src {
			items[i] = m.convert(&src[i], nil)
		}
		return items
	}
	nodes := m.nodes.take(len(src))
	for i := range src {
		items[i] = m.convert(&src[i], nodes[i].init(parent, "", i))
	}
	return items
}

func (m *memory) convertMembers(src []ordered.Member, parent *node) []entry {
	entries := m.entries.take(len(src))
	if parent == nil {
		for i := range src {
			entries[i] = entry{stringValue(src[i].Key), m.convert(&src[i].Value, nil)}
		}
		return entries
	}
	nodes := m.nodes.take(len(src))
	for i := range src {
		n := nodes[i].init(parent, src[i].Key, -1)
		entries[i] = entry{stringValue(src[i].Key).withProv(&n.name), m.convert(&src[i].Value, n)}
	}
	return entries
}
