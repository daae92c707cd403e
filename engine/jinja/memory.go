package jinja

import (
	"sync"

	"github.com/goassay/assay/engine/internal/slab"
	"github.com/goassay/assay/engine/ordered"
)

// memory is the memory in which a render builds its values. Another render uses it again, so that
// the collector has little to do. No value may therefore outlive its render: outputs, errors and
// traces hold copies.
type memory struct {
	values     slab.Slab[Value]
	entries    slab.Slab[entry]
	lists      slab.Slab[list]
	dicts      slab.Slab[dict]
	namespaces slab.Slab[namespace]
	macros     slab.Slab[macro]
	views      slab.Slab[view]
	nodes      slab.Slab[node]
	texts      slab.Slab[byte]
	provs      slab.Slab[prov]
	runs       slab.Slab[run]
	recorder   recorder

	// buffers for texts whose length is not known ahead, and for their runs: the output, and the
	// JSON of one value
	out, scratch         []byte
	outRuns, scratchRuns []run
	outSpans             []fieldSpan
	outFields            []Field
	spanGauge            slab.Gauge

	// blocks of spans and fields that outlive their renders, as kepts does
	keptSpans  []fieldSpan
	keptFields []Field

	// kepts are texts that outlive their renders: written bytes are never written again, and only
	// the free rest of the block goes to the next render
	kepts []byte

	fields bool // places end at fields ([Options].Fields)
}

// memories are those that no render has. A pool changes no result, so it may belong to the package:
// a template that is compiled, looked at and dropped would have to fill one of its own.
var memories = sync.Pool{New: func() any { return new(memory) }}

// maxBlock bounds how much is kept of each type, in bytes: more than a render within the limits of
// untrusted input needs when many others follow it.
const maxBlock = 1 << 24

// reset takes back all that was handed out.
func (m *memory) reset() {
	m.values.Reset(maxBlock)
	m.entries.Reset(maxBlock)
	m.lists.Reset(maxBlock)
	m.dicts.Reset(maxBlock)
	m.namespaces.Reset(maxBlock)
	m.macros.Reset(maxBlock)
	m.views.Reset(maxBlock)
	m.nodes.Reset(maxBlock)
	m.texts.Reset(maxBlock)
	m.provs.Reset(maxBlock)
	m.runs.Reset(maxBlock)
	m.recorder.reset()
	clear(m.outFields)
	if !m.spanGauge.Keep(len(m.outSpans), cap(m.outSpans)) || cap(m.outSpans) > maxNoted {
		m.outSpans, m.outFields = nil, nil
	}
	m.outSpans, m.outFields = m.outSpans[:0], m.outFields[:0]
}

// keptBlock is of how many bytes a block of kept texts is, and minText how many a path is given at
// least.
const keptBlock, minText = 1 << 10, 64

// roomFor makes room for a kept text, so that it does not take those before it along to another
// block.
func (m *memory) roomFor(n int) {
	if n > cap(m.kepts)-len(m.kepts) {
		m.kepts = make([]byte, 0, max(n, keptBlock))
	}
}

// text is a string of its own with the text of b.
func (m *memory) text(b []byte) string {
	s := m.texts.Take(len(b))
	copy(s, b)
	return bytesToString(s)
}

// list returns a list that keeps items.
func (m *memory) list(items []Value) Value { return m.seq(items).value(List) }

// tuple returns a tuple that keeps items.
func (m *memory) tuple(items ...Value) Value { return m.seq(items).value(Tuple) }

func (m *memory) seq(items []Value) *list {
	l := m.lists.One()
	l.items = items
	return l
}

// pair returns a tuple of two.
func (m *memory) pair(a, b Value) Value {
	items := m.values.Take(2)
	items[0], items[1] = a, b
	return m.tuple(items...)
}

// dict returns an empty dict with room for so many entries.
func (m *memory) dict(size int) *dict {
	d := m.dicts.One()
	d.entries = m.entries.Take(size)[:0]
	return d
}

// input converts an input variable. Containers convert their items when they are first needed. With
// origins on, it and all that is read from it know their path (E3).
func (m *memory) input(name string, v *ordered.Value, origins bool) Value {
	if !origins {
		return m.convert(v, nil)
	}
	return m.convert(v, m.place(m.nodes.One(), nil, name, -1))
}

// place makes n a place, as fine as the render wants it.
func (m *memory) place(n, parent *node, key string, index int) *node {
	if m.fields {
		return n.field(parent, key, index)
	}
	return n.init(parent, key, index)
}

// convert converts a value that is at a place, or nowhere in particular where origins are off.
func (m *memory) convert(v *ordered.Value, n *node) Value {
	var out Value
	switch v.Kind() {
	case ordered.Array:
		l := m.lists.One()
		l.src, l.node, l.mem = v.Items(), n, m
		out = l.value(List)
	case ordered.Object:
		d := m.dicts.One()
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
	items := m.values.Take(len(src))
	if parent == nil {
		for i := range src {
			items[i] = m.convert(&src[i], nil)
		}
		return items
	}
	if parent.whole {
		for i := range src {
			items[i] = m.convert(&src[i], parent)
		}
		return items
	}
	nodes := m.nodes.Take(len(src))
	for i := range src {
		items[i] = m.convert(&src[i], m.place(&nodes[i], parent, "", i))
	}
	return items
}

func (m *memory) convertMembers(src []ordered.Member, parent *node) []entry {
	entries := m.entries.Take(len(src))
	if parent == nil {
		for i := range src {
			entries[i] = entry{stringValue(src[i].Key), m.convert(&src[i].Value, nil)}
		}
		return entries
	}
	if parent.whole {
		for i := range src {
			key := stringValue(src[i].Key).withProv(&parent.val)
			entries[i] = entry{key, m.convert(&src[i].Value, parent)}
		}
		return entries
	}
	nodes := m.nodes.Take(len(src))
	for i := range src {
		n := m.place(&nodes[i], parent, src[i].Key, -1)
		entries[i] = entry{stringValue(src[i].Key).withProv(n.named()), m.convert(&src[i].Value, n)}
	}
	return entries
}
