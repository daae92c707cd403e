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
