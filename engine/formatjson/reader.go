package formatjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// maxDepth bounds how deep parts may nest.
const maxDepth = 32

// reader sets the members that an object has, and refuses those that it was not asked for.
type reader struct {
	version int // of the document
	path    string
	depth   int
	in      ordered.Value
	known   map[string]bool
	fault   *error // the first one, of the whole document
	left    *int   // bytes of text that the document may still have
}

// member returns a member of the object, if it is there and of the kind.
func (r *reader) member(key string, kind ordered.Kind) (ordered.Value, bool) {
	r.known[key] = true
	v, ok := r.in.Get(key)
	if ok && v.Kind() != kind {
		r.fail(key, "expected %s, found %s", kind, v.Kind())
		return v, false
	}
	return v, ok && *r.fault == nil
}

func (r *reader) fail(key, format string, args ...any) {
	if *r.fault == nil {
		*r.fault = &Error{Path: r.at(key), Msg: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) at(key string) string {
	if r.path == "" || strings.HasPrefix(key, "[") {
		return r.path + key
	}
	return r.path + "." + key
}

// take returns a text and counts its bytes.
func (r *reader) take(key, text string) string {
	if *r.left -= len(text) + 1; *r.left < 0 {
		r.fail(key, "the texts of the document are longer than %d bytes", MaxText)
	}
	return text
}

// end refuses the members that nobody has asked for.
func (r *reader) end() {
	for _, m := range r.in.Members() {
		if !r.known[m.Key] {
			r.fail(m.Key, "version %d has no such member", r.version)
		}
	}
}

func (r *reader) since(version int, _ bool) bool { return r.version >= version }

func (r *reader) check(wrong func() error) {
	if err := wrong(); err != nil && *r.fault == nil {
		*r.fault = &Error{Path: r.path, Msg: err.Error()}
	}
}

func (r *reader) text(key string, s *string) {
	if v, ok := r.member(key, ordered.String); ok {
		*s = r.take(key, v.Text())
	}
}

func (r *reader) flag(key string, on *bool) {
	if v, ok := r.member(key, ordered.Bool); ok {
		*on = v.Bool()
	}
}

func (r *reader) number(key string, n *int) {
	v, ok := r.member(key, ordered.Number)
	if !ok {
		return
	}
	var err error
	if *n, err = strconv.Atoi(v.String()); err != nil {
		r.fail(key, "expected a whole number, found %s", v)
	}
}

func (r *reader) words(key string, n *uint8, words []string) {
	v, ok := r.member(key, ordered.String)
	if !ok {
		return
	}
	i := slices.Index(words, v.Text())
	if i < 0 {
		r.fail(key, "expected one of %s, found %q", strings.Join(words, ", "), v.Text())
		return
	}
	*n = uint8(i)
}

// items returns the member that is a list, within MaxItems.
func (r *reader) items(key string) (ordered.Value, bool) {
	v, ok := r.member(key, ordered.Array)
	if n := len(v.Items()); n > MaxItems {
		r.fail(key, "%d items are more than %d", n, MaxItems)
		return ordered.Value{}, false
	}
	return v, ok
}

func (r *reader) texts(key string, s *[]string) {
	v, ok := r.items(key)
	for i, item := range v.Items() {
		if ok && item.Kind() != ordered.String {
			r.fail(fmt.Sprintf("%s[%d]", key, i), "expected string, found %s", item.Kind())
		}
		if *r.fault != nil {
			return
		}
		*s = append(*s, r.take(key, item.Text()))
	}
}

func (r *reader) marker(key string, m *format.Marker) {
	r.known[key] = true
	if v, ok := r.in.Get(key); ok {
		*m = r.readMarker(key, v)
	}
}

func (r *reader) markers(key string, m *[]format.Marker) {
	v, _ := r.items(key)
	for i, item := range v.Items() {
		if *r.fault != nil {
			return
		}
		*m = append(*m, r.readMarker(fmt.Sprintf("%s[%d]", key, i), item))
	}
}

func (r *reader) readMarker(key string, v ordered.Value) (m format.Marker) {
	switch v.Kind() {
	case ordered.String:
		return format.Mark(r.take(key, v.Text()))
	case ordered.Object:
		inner := r.inner(key, v)
		inner.text("before", &m.Before)
		inner.text("text", &m.Text)
		inner.text("after", &m.After)
		inner.end()
		return m
	}
	r.fail(key, "expected the text of a marker, or before, text and after, found %s", v.Kind())
	return m
}

func (r *reader) quote(key string, q *byte) {
	v, ok := r.member(key, ordered.String)
	if !ok {
		return
	}
	if v.Text() != "'" && v.Text() != `"` {
		r.fail(key, "expected a quote, found %q", v.Text())
		return
	}
	*q = v.Text()[0]
}

func (r *reader) json(key string, text *string) {
	r.known[key] = true
	if v, ok := r.in.Get(key); ok {
		*text = r.take(key, v.String())
	}
}

func (r *reader) inner(key string, v ordered.Value) *reader {
	return &reader{version: r.version, path: r.at(key), depth: r.depth + 1, in: v,
		known: map[string]bool{}, fault: r.fault, left: r.left}
}

func (r *reader) object(key string, _ bool, each func(visitor)) bool {
	v, ok := r.member(key, ordered.Object)
	if ok {
		inner := r.inner(key, v)
		each(inner)
		inner.end()
	}
	return ok
}

func (r *reader) list(key string, _ int, grow func(int), each func(int, visitor)) {
	v, ok := r.items(key)
	if !ok {
		return
	}
	if r.depth > maxDepth {
		r.fail(key, "more than %d levels", maxDepth)
		return
	}
	grow(len(v.Items()))
	for i, item := range v.Items() {
		at := fmt.Sprintf("%s[%d]", key, i)
		if item.Kind() != ordered.Object {
			r.fail(at, "expected object, found %s", item.Kind())
			return
		}
		r.take(at, "")
		if *r.fault != nil {
			return
		}
		inner := r.inner(at, item)
		each(i, inner)
		inner.end()
	}
}
