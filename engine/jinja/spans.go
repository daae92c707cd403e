package jinja

import (
	"slices"
	"strconv"
)

// Spans tell which fields of the input a text is from, in a few bytes each: nothing of them is
// spelled before it is asked for. Those that adjoin differ in origin. The zero value has none.
type Spans struct {
	list   []fieldSpan
	fields []Field
}

// fieldSpan is a stretch of a text up to an offset.
type fieldSpan struct {
	end  uint32
	from uint32 // literal, made, or the number of a field after these
}

// The origins that are no fields: the template's own text, and text made of the input as a whole,
// such as a count.
const (
	literal = iota
	made
	firstField
)

// FieldTaker decides about the fields of a text.
type FieldTaker interface {
	// Origin returns the field as which a field counts; or that text from it counts as literal, or
	// as made of the input as a whole. It is called at most a few times for each field.
	Origin(Field) (Field, Role)
}

// Field is a part of the input: a member of a message, an item of another list, or any other
// variable.
type Field struct {
	key    string
	item   int32 // -1: key is the path
	member bool  // key is a member of that message, else the list is named key
}

// MessageField returns a member of a message.
func MessageField(n int, key string) Field { return Field{key: key, item: int32(n), member: true} }

// Path returns the field's place, as [Origin] has it.
func (f Field) Path() string {
	if f.item < 0 {
		return f.key
	}
	list := f.key
	if f.member {
		list = messages
	}
	path := append(strconv.AppendInt(append([]byte(list), '['), int64(f.item), 10), ']')
	if f.member {
		path = appendMember(path, f.key)
	}
	return string(path)
}

// Variable returns the name of the variable that the field is, where it is one as a whole.
func (f Field) Variable() (name string, ok bool) { return f.key, f.item < 0 }

// Message returns the number of the message that the field is in, and its key there, "" of the
// message as a whole. ok is false of a field of no message.
func (f Field) Message() (n int, key string, ok bool) {
	if f.member {
		return int(f.item), f.key, true
	}
	return int(f.item), "", f.item >= 0 && f.key == messages
}

// OfMessage returns the same field of another message.
func (f Field) OfMessage(n int) Field {
	f.item = int32(n)
	return f
}

// Len returns the number of spans.
func (s *Spans) Len() int { return len(s.list) }

// End returns where a span ends; it begins where the one before it does.
func (s *Spans) End(i int) int { return int(s.list[i].end) }

// Origin returns where a span is from: a field, as FromValue, or none, as Literal or Computed.
func (s *Spans) Origin(i int) (Field, Role) {
	switch from := s.list[i].from; from {
	case literal:
		return Field{}, Literal
	case made:
		return Field{}, Computed
	default:
		return s.fields[from-firstField], FromValue
	}
}

// IsLiteral reports whether a span is the template's own text.
func (s *Spans) IsLiteral(i int) bool { return s.list[i].from == literal }

// Until returns the spans of the text up to an offset.
func (s *Spans) Until(end int) (out Spans) {
	out.fields = slices.Clone(s.fields)
	begin := 0
	for _, p := range s.list {
		if begin >= end {
			break
		}
		begin = int(p.end)
		out.list = append(out.list, fieldSpan{min(p.end, uint32(end)), p.from})
	}
	return out
}

// Add adds a span up to an offset.
func (s *Spans) Add(end int, f Field, role Role) {
	if n := len(s.list); end > 0 && (n == 0 || s.End(n-1) < end) {
		s.list = joined(s.list, s.fields, end, s.from(f, role))
	}
}

// from returns the number of an origin, which it notes.
func (s *Spans) from(f Field, role Role) uint32 {
	switch role {
	case Literal:
		return literal
	case Computed:
		return made
	}
	s.fields = append(s.fields, f)
	return firstField + uint32(len(s.fields)) - 1
}

// joined adds a span to a list, or to its last one where the origin is the same.
func joined(list []fieldSpan, fields []Field, end int, from uint32) []fieldSpan {
	if n := len(list); n > 0 {
		if last := list[n-1].from; last == from || last >= firstField && from >= firstField &&
			fields[last-firstField] == fields[from-firstField] {
			list[n-1].end = uint32(end)
			return list
		}
	}
	return append(list, fieldSpan{uint32(end), from})
}

// spans returns the spans of runs whose places are fields. No trace notes the same places.
func (m *memory) spans(runs []run, taker FieldTaker) Spans {
	out, at := Spans{m.outSpans[:0], m.outFields[:0]}, 0
	for i := range runs {
		r := &runs[i]
		at += r.n
		from := uint32(literal)
		switch {
		case r.role == Literal:
		case r.node == nil:
			from = made
		default:
			if r.node.noted == 0 {
				r.node.noted = int(out.from(taker.Origin(m.fieldOf(r.node)))) + 1
			}
			from = uint32(r.node.noted) - 1
		}
		out.list = joined(out.list, out.fields, at, from)
	}
	m.outSpans, m.outFields = out.list, out.fields
	return Spans{keep(&m.keptSpans, out.list), keep(&m.keptFields, out.fields)}
}

// keep returns a copy of a list that outlives the render, in a block whose written part is never
// written again.
func keep[T any](block *[]T, list []T) []T {
	if len(list) > cap(*block)-len(*block) {
		*block = make([]T, 0, max(len(list), keptItems))
	}
	from := len(*block)
	*block = append(*block, list...)
	return (*block)[from:len(*block):len(*block)]
}

// keptItems is of how many items a block is that outlives renders.
const keptItems = 128

// fieldOf returns a place as a field. Its key is a text of the input.
func (m *memory) fieldOf(n *node) Field {
	switch list := n.parent; {
	case list == nil:
		return Field{key: n.key, item: -1}
	case list.parent == nil && n.index >= 0:
		return Field{key: list.key, item: int32(n.index)}
	case n.index < 0 && list.index >= 0 && list.parent.parent == nil && list.parent.key == messages:
		return Field{key: n.key, item: int32(list.index), member: true}
	}
	return Field{key: m.path(n), item: -1}
}
