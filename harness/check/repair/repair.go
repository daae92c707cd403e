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
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
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
	// Spans are the expressions in which something was replaced, whole, as they are printed, and
	// where the variables in them are set: what these hold gets no further.
	Spans []edit.Span
}

// Past returns templates that go on where one ends in an error; false where the error has no place
// in it, or the template is no valid Jinja.
func Past(src subject.Source, err error) (Site, bool) {
	var at *source.Error
	if !errors.As(err, &at) || at.Src == nil || at.Src.Name != src.Name {
		return Site{}, false
	}
	t, err := edit.Parse(src.Places())
	if err != nil {
		return Site{}, false
	}
	site := Site{Off: at.Off}
	if names := namesIn(t); len(names.Edits) > 0 {
		known := src.Edited(names.Edits...)
		_, was := src.Compile()
		if _, is := known.Compile(); was != nil && is == nil {
			for _, e := range names.Edits {
				site.Spans = append(site.Spans, edit.Span{From: e.From, To: e.To})
			}
			site.Text = strings.Join(names.Mended, ", ")
			site.Past = []subject.Source{known}
			return site, true
		}
	}
	broken := brokenAt(t, at.Off)
	if broken == nil {
		return Site{}, false
	}
	site.Text = broken.Source
	var kept, other []edit.Edit
	var replaced []*edit.Node
	for like := range t.All() {
		if !alike(like, broken) {
			continue
		}
		replaced = append(replaced, like)
		a, b := forms(like)
		site.Spans = append(site.Spans, whole(like))
		kept, other = append(kept, like.Replaced(a)), append(other, like.Replaced(b))
	}
	for set := range t.All() {
		if set.Is(edit.Set) && set.Target.Is(edit.Name) && slices.ContainsFunc(replaced,
			func(n *edit.Node) bool { return n.Has(edit.Name, set.Target.Word) }) {
			site.Spans = append(site.Spans, set.Span)
		}
	}
	site.Past = []subject.Source{src.Edited(kept...), src.Edited(other...)}
	return site, true
}

// brokenAt is the expression that stands at an offset, the outermost one; a loop's, where the error
// is about what it goes through.
func brokenAt(t *edit.Template, off int) *edit.Node {
	for x := range t.All() {
		switch {
		case x.Is(edit.For) && (x.Target.Off == off || x.X.Off == off):
			return x.X
		case x.IsExpr() && x.Off == off && x.From < x.To:
			return x
		}
	}
	return nil
}

// looped reports whether a loop goes through an expression.
func looped(x *edit.Node) bool { return x.Up.Is(edit.For) && x == x.Up.X }

// number reports whether an expression is compared or computed as a number.
func number(x *edit.Node) bool {
	up := x.Up
	return up.Is(edit.Compare) && strings.ContainsAny(up.Word, "<>") && (x == up.X || x == up.Y) ||
		up.Is(edit.Math) && up.Word != "+"
}

// alike reports whether an expression is broken as another one is: with the same unknown name, or
// the same text.
func alike(x, broken *edit.Node) bool {
	if !x.IsExpr() || looped(x) != looped(broken) {
		return false
	}
	if name := unknown(broken); name != "" {
		return unknown(x) == name
	}
	return x.Source == broken.Source
}

// unknown is the name of a filter or a test that the language does not have.
func unknown(x *edit.Node) string {
	switch {
	case x.Is(edit.Filter) && x.X != nil && !jinja.HasFilter(x.Word):
		return "|" + x.Word
	case x.Is(edit.Test) && !jinja.HasTest(x.Word):
		return "is " + x.Word
	case x.Is(edit.Unary):
		return unknown(x.X)
	}
	return ""
}

// forms are two expressions to stand in the place of one. The other one writes all values that the
// expression reads, so that none seems to be lost which the expression would have written.
func forms(x *edit.Node) (kept, other string) {
	if looped(x) {
		item := spoken(x)
		if n := len(x.Up.Target.Parts); n > 0 {
			item = "[" + strings.Repeat(item+", ", n) + "]"
		}
		if kept = "[]"; x.Simple() {
			kept = fmt.Sprintf("(%[1]s if %[1]s is sequence and %[1]s is not string else [])",
				x.Source)
		}
		return kept, "[" + item + "]"
	}
	if number(x) || x.Is(edit.Math) && x.Word != "+" {
		return "1", "2"
	}
	switch {
	case x.Is(edit.Math):
		return "(" + written(x.X) + " ~ " + written(x.Y) + ")", spoken(x)
	case x.Is(edit.Compare), x.Is(edit.Test):
		return "false", "true"
	case x.Is(edit.Unary, "not"):
		return "true", "false"
	case x.Is(edit.Filter):
		return written(x.X), spoken(x)
	case x.Is(edit.Call) && x.X.IsAttribute():
		return written(x.X.X), spoken(x)
	case x.Is(edit.Call) && len(x.Args) > 0:
		return written(x.Args[0]), spoken(x)
	case x.Is(edit.Name):
		return "''", "' '"
	}
	return "''", spoken(x)
}

// whole is where the expression stands that an expression is a part of, and that is in no other.
func whole(x *edit.Node) edit.Span {
	for x.Up.IsExpr() {
		x = x.Up
	}
	return x.Span
}

// spoken is an expression that writes the literals of a sum, and beside them the values that it
// reads, with blanks around them.
func spoken(x *edit.Node) string {
	switch {
	case x.Is(edit.Math, "+"):
		return "(" + spoken(x.X) + " ~ " + spoken(x.Y) + ")"
	case x.IsLiteral():
		return x.Source
	}
	text := "' '"
	for n := range x.All() {
		up := n.Up
		if !n.Is(edit.Name) || up.Is(edit.Item) && n == up.X {
			continue // a list with all its items is no value
		}
		if up.Is(edit.Member) && n == up.X && !(up.Up.Is(edit.Call) && up == up.Up.X) {
			n = up
		}
		text += " ~ (" + written(n) + " or 'text') ~ ' '"
	}
	return "(" + text + ")"
}

// written is an expression that writes a value as text: that of None and of what is not defined is
// empty, and what can be gone through once only is a list.
func written(x *edit.Node) string {
	return fmt.Sprintf("('' if (%[1]s) is not defined or (%[1]s) is none else (%[1]s) if (%[1]s) is "+
		"string else (%[1]s) | list | tojson if (%[1]s) is iterable and (%[1]s) is not mapping "+
		"else (%[1]s) | tojson)", x.Source)
}
