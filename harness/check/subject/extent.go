package subject

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// extents are the parts of a template with the places where they stand.
type extents struct {
	tree  *syntax.Template
	spans *syntax.Spans
}

// Extent returns the stretch of a line of the template that a place there is about: the smallest
// expression around it, the rest of a tag, or text up to the next tag. It is a byte long where
// nothing is known of the place.
func (s Source) Extent(off int) (from, to int) {
	from, to = s.around(off)
	line := strings.LastIndexByte(s.Text[:off], '\n') + 1
	end := len(s.Text)
	if i := strings.IndexByte(s.Text[off:], '\n'); i >= 0 {
		end = off + i
	}
	from, to = max(from, line), min(to, end)
	to = from + len(strings.TrimRight(s.Text[from:max(from, to)], " \t"))
	return from, max(to, min(from+1, len(s.Text)))
}

// around is the extent of a place, which may go over several lines.
func (s Source) around(off int) (from, to int) {
	e := s.extents()
	if e.tree == nil {
		return off, off
	}
	var tag syntax.Span
	best := syntax.Span{From: 0, To: len(s.Text) + 1}
	for n := range e.tree.All() {
		var all []syntax.Span
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
			all = e.spans.Tags(n)
		}
		for _, span := range all {
			if span.From <= off && off < span.To {
				tag = span
			}
		}
	}
	switch {
	case best.To <= len(s.Text):
		return best.From, best.To
	case tag.To > off:
		inner := strings.TrimSuffix(s.Text[off:tag.To], "%}")
		return off, off + len(strings.TrimRight(inner, "-+ \t\n"))
	}
	return off, off
}
