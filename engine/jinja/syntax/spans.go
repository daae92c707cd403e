package syntax

import "github.com/goassay/assay/engine/source"

// Span is a stretch of a source: the bytes from From on, up to To.
type Span struct{ From, To int }

// Spans says where in its source each part of a tree stands, for a program that edits a template
// without printing it anew: all that an edit does not touch stays as the author wrote it, white
// space and comments included.
type Spans struct {
	exprs  map[Expr]Span
	prints map[Expr]Span
	tags   map[Stmt][]Span
}

// ParseSpans is [Parse], and says where the parts of the tree stand.
func ParseSpans(src *source.Source) (*Template, *Spans, error) {
	s := &Spans{map[Expr]Span{}, map[Expr]Span{}, map[Stmt][]Span{}}
	t, err := read(src, s)
	return t, s, err
}

// Expr returns where an expression stands, the brackets around it included. Of data it is the text
// that a render writes, without the white space that the tags beside it strip. The test inside "x
// is not y" has no text of its own: it stands where its negation does.
func (s *Spans) Expr(x Expr) Span { return s.exprs[x] }

// Print returns where a part of an [Output] stands: of an expression the whole {{ tag }}, of data
// the text.
func (s *Spans) Print(x Expr) Span {
	if tag, ok := s.prints[x]; ok {
		return tag
	}
	return s.exprs[x]
}

// Tags returns where the tags of a statement stand: its own, those that divide it (elif and else),
// and the one that ends it. An [Output] of data and {{ tags }} has none.
func (s *Spans) Tags(stmt Stmt) []Span { return s.tags[stmt] }

// Stmt returns where a statement stands, from its first tag to its last; an [Output], from its
// first part to its last.
func (s *Spans) Stmt(stmt Stmt) Span {
	if tags := s.tags[stmt]; tags != nil {
		return Span{tags[0].From, tags[len(tags)-1].To}
	}
	if o, ok := stmt.(*Output); ok && len(o.Parts) > 0 {
		return Span{s.Print(o.Parts[0]).From, s.Print(o.Parts[len(o.Parts)-1]).To}
	}
	return Span{}
}

// span notes that an expression stands from an offset to the end of the last token.
func (p *parser) span(from int32, x Expr) Expr {
	if p.spans != nil {
		p.spans.exprs[x] = Span{int(from), int(p.end)}
	}
	return x
}

// after notes that an expression stands from where its first operand does to the end of the last
// token.
func (p *parser) after(first, x Expr) Expr {
	if p.spans == nil {
		return x
	}
	from := int32(x.Offset()) // a filter of a block has no operand
	if s, ok := p.spans.exprs[first]; ok {
		from = int32(s.From)
	}
	return p.span(from, x)
}

// printed notes the tag that prints an expression.
func (p *parser) printed(from int32, x Expr) {
	if p.spans != nil {
		p.spans.prints[x] = Span{int(from), int(p.end)}
	}
}

// endTag reads the end of a statement's tag, and notes the tag.
func (p *parser) endTag() {
	p.expect(tBlockEnd)
	if n := len(p.open); n > 0 {
		p.open[n-1] = append(p.open[n-1], Span{int(p.begin), int(p.end)})
	}
}

// opens and closes keep the tags of the statements that are open.
func (p *parser) opens() {
	if p.spans != nil {
		p.open = append(p.open, nil)
	}
}

func (p *parser) closes(s Stmt) {
	if n := len(p.open); n > 0 {
		p.spans.tags[s], p.open = p.open[n-1], p.open[:n-1]
	}
}
