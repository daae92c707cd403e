package flow

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// Extents tells which stretch of a template a place is about.
type Extents struct {
	text  string
	tree  *syntax.Template // nil: the text is no template
	spans *syntax.Spans
}

// NewExtents reads a template. Of a text that is none, every place is about itself.
func NewExtents(src *source.Source) *Extents {
	e := &Extents{text: src.Text}
	if tree, spans, err := syntax.ParseSpans(src); err == nil {
		e.tree, e.spans = tree, spans
	}
	return e
}

// OnLine returns the stretch of a line that a place there is about: the smallest expression around
// it, the rest of a tag, or text up to the next tag. It is a byte long where nothing is known of
// the place.
func (e *Extents) OnLine(off int) (from, to int) {
	from, to = e.around(off)
	line := strings.LastIndexByte(e.text[:off], '\n') + 1
	end := len(e.text)
	if i := strings.IndexByte(e.text[off:], '\n'); i >= 0 {
		end = off + i
	}
	from, to = max(from, line), min(to, end)
	to = from + len(strings.TrimRight(e.text[from:max(from, to)], " \t"))
	return from, max(to, min(from+1, len(e.text)))
}

// Narrowing returns the first expression that takes an item or a part of a list by its position,
// x[0], x[1:] or x | last, and has one of the places in it.
func (e *Extents) Narrowing(places map[int]bool) (off int, ok bool) {
	if e.tree == nil {
		return 0, false
	}
	for n := range e.tree.All() {
		x, _ := n.(syntax.Expr)
		if !narrows(x) {
			continue
		}
		span := e.spans.Expr(x)
		for at := range places {
			if span.From <= at && at < span.To {
				return x.Offset(), true
			}
		}
	}
	return 0, false
}

// AsksRole reports whether the condition at a place asks for the role of a message in hand and
// nothing else: m.role == 'user'. It chooses who speaks, and not how.
func (e *Extents) AsksRole(off int) bool {
	found := false
	if e.tree != nil {
		for n := range e.tree.All() {
			x, ok := n.(syntax.Expr)
			found = found || ok && x.Offset() == off && asksRole(x)
		}
	}
	return found
}

func asksRole(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Logic:
		return asksRole(x.X) && asksRole(x.Y)
	case *syntax.Unary:
		return asksRole(x.X)
	case *syntax.Compare:
		return isRole(x.X)
	}
	return false
}

// isRole reports whether an expression is the role of a message that a variable holds.
func isRole(x syntax.Expr) bool {
	key, of := "", syntax.Expr(nil)
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name == "role"
	case *syntax.Attr:
		key, of = x.Name, x.X
	case *syntax.Item:
		key, of = KeyOf(x.Index), x.X
	}
	_, held := of.(*syntax.Name)
	return held && key == "role"
}

// narrows reports whether an expression takes a part of a list by its position.
func narrows(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Filter:
		return x.Name == "first" || x.Name == "last"
	case *syntax.Item:
		index := x.Index
		if u, ok := index.(*syntax.Unary); ok {
			index = u.X
		}
		c, fixed := index.(*syntax.Const)
		_, slice := index.(*syntax.Slice)
		return slice || fixed && c.Kind == syntax.Int
	}
	return false
}

// around is the extent of a place, which may go over several lines.
func (e *Extents) around(off int) (from, to int) {
	if e.tree == nil {
		return off, off
	}
	var tag syntax.Span
	best := syntax.Span{From: 0, To: len(e.text) + 1}
	for n := range e.tree.All() {
		switch n := n.(type) {
		case syntax.Expr:
			span := e.spans.Expr(n)
			if span.From <= off && off < span.To && span.To-span.From < best.To-best.From {
				best = span
				if c, ok := n.(*syntax.Const); ok && c.Kind == syntax.Data {
					best.From = off
				}
			}
		case syntax.Stmt:
			for _, span := range e.spans.Tags(n) {
				if span.From <= off && off < span.To {
					tag = span
				}
			}
		}
	}
	switch {
	case best.To <= len(e.text):
		return best.From, best.To
	case tag.To > off:
		inner := strings.TrimSuffix(e.text[off:tag.To], "%}")
		return off, off + len(strings.TrimRight(inner, "-+ \t\n"))
	}
	return off, off
}
