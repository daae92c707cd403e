package formatjson

import (
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// writer adds the members that have not their zero values.
type writer struct {
	out     ordered.Value
	version *int // of the document: the least that has all its members
}

func (w *writer) since(version int, present bool) bool {
	if present {
		*w.version = max(*w.version, version)
	}
	return true
}

func (w *writer) check(func() error) {}

func (w *writer) add(key string, v ordered.Value) { w.out = w.out.With(key, v) }

func (w *writer) text(key string, s *string) {
	if *s != "" {
		w.add(key, ordered.Str(*s))
	}
}

func (w *writer) flag(key string, on *bool) {
	if *on {
		w.add(key, ordered.Boolean(true))
	}
}

func (w *writer) number(key string, n *int) {
	if *n != 0 {
		w.add(key, ordered.Int(*n))
	}
}

func (w *writer) words(key string, n *uint8, words []string) {
	if *n != 0 {
		w.add(key, ordered.Str(words[*n]))
	}
}

func (w *writer) texts(key string, s *[]string) {
	if len(*s) > 0 {
		w.add(key, ordered.ListOf(*s, ordered.Str))
	}
}

func (w *writer) marker(key string, m *format.Marker) {
	if !m.IsZero() {
		w.add(key, markerValue(*m))
	}
}

func (w *writer) markers(key string, m *[]format.Marker) {
	if len(*m) > 0 {
		w.add(key, ordered.ListOf(*m, markerValue))
	}
}

func (w *writer) quote(key string, q *byte) {
	if *q != 0 {
		w.add(key, ordered.Str(string(rune(*q))))
	}
}

func (w *writer) json(key string, text *string) {
	if *text == "" {
		return
	}
	v, err := ordered.ParseString(*text)
	if err != nil { // which no analysis writes
		v = ordered.Str(*text)
	}
	w.add(key, v)
}

func (w *writer) object(key string, present bool, each func(visitor)) bool {
	if present {
		inner := &writer{ordered.ObjectOf(), w.version}
		each(inner)
		w.add(key, inner.out)
	}
	return present
}

func (w *writer) list(key string, n int, _ func(int), each func(int, visitor)) {
	if n == 0 {
		return
	}
	items := make([]ordered.Value, n)
	for i := range items {
		inner := &writer{ordered.ObjectOf(), w.version}
		each(i, inner)
		items[i] = inner.out
	}
	w.add(key, ordered.ArrayOf(items...))
}

// markerValue writes a marker: as its text, where that says enough.
func markerValue(m format.Marker) ordered.Value {
	if full := m.Full(); format.Mark(full) == m {
		return ordered.Str(full)
	}
	return ordered.Pairs("before", m.Before, "text", m.Text, "after", m.After)
}
