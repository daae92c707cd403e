// Package repair replaces the expression of a template in which its renders end, so that what
// stands behind it can be judged as well.
//
// # Model
//
// A template that ends in an error on every request of a kind hides all that it would have written
// after that. [Past] makes templates of it that go on there: with the name that the language has
// for the thing ([NamesIn]), else with the operands of the expression as text. What the author
// meant is not known, so it gives two of them which differ in what stands in its place: only what
// both show is a fault of its own.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package repair

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
)

// Site is where a template ends in an error, with templates that go on there.
type Site struct {
	Off int // of the error, in the template
	// Text is what was replaced, as the template has it.
	Text string
	// Past are templates that go on. A fault shows in all of them, or is due to the replacement.
	Past []subject.Source
	// Spans are the expressions in which something was replaced: whole, as they are printed.
	Spans []syntax.Span
}

// Past returns templates that go on where one ends in an error; false where the error has no place
// in it, or the template is no valid Jinja.
func Past(src subject.Source, err error) (Site, bool) {
	var at *source.Error
	if !errors.As(err, &at) || at.Src == nil || at.Src.Name != src.Name {
		return Site{}, false
	}
	tree, spans, err := syntax.ParseSpans(src.Places())
	if err != nil {
		return Site{}, false
	}
	site := Site{Off: at.Off}
	if names, err := NamesIn(src.Places()); err == nil && len(names.Edits) > 0 {
		known := src.Edited(names.Edits...)
		_, was := src.Compile()
		if _, is := known.Compile(); was != nil && is == nil {
			for _, e := range names.Edits {
				site.Spans = append(site.Spans, syntax.Span{From: e.From, To: e.To})
			}
			site.Text = strings.Join(names.Mended, ", ")
			site.Past = []subject.Source{known}
			return site, true
		}
	}
	s := &search{text: src.Text, spans: spans}
	broken := s.at(tree, at.Off)
	if broken == nil {
		return Site{}, false
	}
	site.Text = s.of(broken)
	var kept, other []syntax.Edit
	for _, like := range s.alike(tree, broken) {
		span := spans.Expr(like)
		a, b := s.forms(like)
		site.Spans = append(site.Spans, s.whole(like))
		kept, other = append(kept, span.Replaced(a)), append(other, span.Replaced(b))
	}
	site.Past = []subject.Source{src.Edited(kept...), src.Edited(other...)}
	return site, true
}

// search looks at a tree with the text that it was read from.
type search struct {
	text    string
	spans   *syntax.Spans
	wholes  []syntax.Expr        // the expressions that are in no other
	loops   map[syntax.Expr]bool // the expressions that loops go through
	numbers map[syntax.Expr]bool // those that are compared or computed as numbers
}

// of is the text of an expression.
func (s *search) of(x syntax.Expr) string {
	span := s.spans.Expr(x)
	return s.text[span.From:span.To]
}

// at is the expression that stands at an offset, the outermost one; a loop's, where the error is
// about what it goes through.
func (s *search) at(tree *syntax.Template, off int) (found syntax.Expr) {
	s.loops, s.numbers = map[syntax.Expr]bool{}, map[syntax.Expr]bool{}
	for node := range tree.All() {
		switch x := node.(type) {
		case *syntax.For:
			s.loops[x.Iter] = true
			if found == nil && (x.Target.Offset() == off || x.Iter.Offset() == off) {
				found = x.Iter
			}
		case *syntax.Compare:
			if strings.ContainsAny(x.Ops[0].Op, "<>") {
				s.numbers[x.X], s.numbers[x.Ops[0].X] = true, true
			}
		case *syntax.Binary:
			if x.Op != "+" {
				s.numbers[x.X], s.numbers[x.Y] = true, true
			}
		}
		x, ok := node.(syntax.Expr)
		if !ok {
			continue
		}
		span := s.spans.Expr(x)
		if n := len(s.wholes); n == 0 || s.spans.Expr(s.wholes[n-1]).To <= span.From {
			s.wholes = append(s.wholes, x)
		}
		if found == nil && x.Offset() == off && span.To > span.From {
			found = x
		}
	}
	return found
}

// alike are the expressions that are broken as one is: with the same unknown name, or the same
// text.
func (s *search) alike(tree *syntax.Template, broken syntax.Expr) (all []syntax.Expr) {
	for node := range tree.All() {
		x, ok := node.(syntax.Expr)
		if !ok || s.loops[x] != s.loops[broken] {
			continue
		}
		if name := unknown(broken); name != "" && unknown(x) == name ||
			name == "" && s.of(x) == s.of(broken) {
			all = append(all, x)
		}
	}
	return all
}

// unknown is the name of a filter or a test that the language does not have.
func unknown(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Filter:
		if !jinja.HasFilter(x.Name) && x.X != nil {
			return "|" + x.Name
		}
	case *syntax.Test:
		if !jinja.HasTest(x.Name) {
			return "is " + x.Name
		}
	case *syntax.Unary:
		return unknown(x.X)
	}
	return ""
}

// forms are two expressions to stand in the place of one.
func (s *search) forms(x syntax.Expr) (kept, other string) {
	if s.loops[x] {
		safe := fmt.Sprintf("(%[1]s if %[1]s is sequence and %[1]s is not string else [])", s.of(x))
		if Simple(x) {
			return safe, "[]"
		}
		return "[]", "[]"
	}
	if s.numbers[x] {
		return "1", "2"
	}
	switch x := x.(type) {
	case *syntax.Binary:
		if x.Op != "+" {
			return "1", "2"
		}
		return "(" + s.written(x.X) + " ~ " + s.written(x.Y) + ")",
			"(" + padded(s.written(x.X)) + " ~ " + padded(s.written(x.Y)) + ")"
	case *syntax.Compare, *syntax.Test:
		return "false", "true"
	case *syntax.Unary:
		if x.Op == "not" {
			return "true", "false"
		}
	case *syntax.Filter:
		return s.operand(x.X)
	case *syntax.Call:
		if method, ok := x.Func.(*syntax.Attr); ok {
			return s.operand(method.X)
		}
		if len(x.Args.Args) > 0 {
			return s.operand(x.Args.Args[0])
		}
	case *syntax.Attr:
		return "''", s.written(root(x))
	case *syntax.Item:
		return "''", s.written(root(x))
	}
	return "''", "' '"
}

// root is the value in which a field is looked up, by way of others.
func root(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.Attr:
		return root(x.X)
	case *syntax.Item:
		return root(x.X)
	}
	return x
}

// whole is where the expression stands that an expression is a part of, and that is in no other.
func (s *search) whole(x syntax.Expr) syntax.Span {
	at := s.spans.Expr(x)
	for _, outer := range s.wholes {
		if span := s.spans.Expr(outer); span.From <= at.From && at.To <= span.To {
			return span
		}
	}
	return at
}

// operand are two expressions for a function of a value of which nothing is known.
func (s *search) operand(x syntax.Expr) (kept, other string) {
	return s.written(x), padded(s.written(x))
}

// padded is a text with blanks around it, and an opaque one where it is empty.
func padded(text string) string { return "(' ' ~ (" + text + " or 'text') ~ ' ')" }

// written is an expression that writes a value as text: that of None and of what is not defined is
// empty, and what can be gone through once only is a list.
func (s *search) written(x syntax.Expr) string {
	return fmt.Sprintf("('' if (%[1]s) is not defined or (%[1]s) is none else (%[1]s) if (%[1]s) is "+
		"string else (%[1]s) | list | tojson if (%[1]s) is iterable and (%[1]s) is not mapping "+
		"else (%[1]s) | tojson)", s.of(x))
}
