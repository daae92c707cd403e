package edit

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
)

// Read is [Parse], but that a text which is no template has no parts.
func Read(src *source.Source) *Template {
	t, err := Parse(src)
	if err != nil {
		return &Template{Text: src.Text}
	}
	return t
}

// OnLine returns the stretch of a line that a place there is about: the smallest expression around
// it, the rest of a tag, or text up to the next tag. It is a byte long where nothing is known of
// the place.
func (t *Template) OnLine(off int) (from, to int) {
	from, to = t.around(off)
	line := strings.LastIndexByte(t.Text[:off], '\n') + 1
	end := len(t.Text)
	if i := strings.IndexByte(t.Text[off:], '\n'); i >= 0 {
		end = off + i
	}
	from, to = max(from, line), min(to, end)
	to = from + len(strings.TrimRight(t.Text[from:max(from, to)], " \t"))
	return from, max(to, min(from+1, len(t.Text)))
}

// around is the extent of a place, which may go over several lines.
func (t *Template) around(off int) (from, to int) {
	best := Span{0, len(t.Text) + 1}
	rest := off
	for n := range t.All() {
		if n.IsExpr() && n.Covers(off) && n.To-n.From < best.To-best.From {
			if best = n.Span; n.Is(Data) {
				best.From = off
			}
		}
		for _, tag := range n.Tags {
			if tag.Covers(off) {
				inner := strings.TrimSuffix(t.Text[off:tag.To], "%}")
				rest = off + len(strings.TrimRight(inner, "-+ \t\n"))
			}
		}
	}
	if best.To <= len(t.Text) {
		return best.From, best.To
	}
	return off, rest
}

// Filtering returns the first expression that puts a value through one of some filters, and has one
// of the places in it.
func (t *Template) Filtering(places map[int]bool, names ...string) (off int, ok bool) {
	return t.first(func(x *Node) bool { return x.Is(Filter, names...) && x.holds(places) })
}

// Narrowing returns the first expression that takes an item or a part of a list by its position,
// x[0], x[1:] or x | last, and has one of the places in it.
func (t *Template) Narrowing(places map[int]bool) (off int, ok bool) {
	return t.first(func(x *Node) bool { return narrows(x) && x.holds(places) })
}

// Chooses reports whether the condition at a place chooses by the role of a message in hand, such
// as m.role == 'user': it asks for nothing else, or for another role than the given one as well.
func (t *Template) Chooses(off int, role string) bool {
	_, found := t.first(func(x *Node) bool {
		return x.Off == off && x.IsExpr() && (asksRole(x) || asksOther(x, role))
	})
	return found
}

// first returns where the first part of a sort stands.
func (t *Template) first(is func(*Node) bool) (off int, ok bool) {
	for n := range t.All() {
		if is(n) {
			return n.Off, true
		}
	}
	return 0, false
}

// holds reports whether an expression has one of some places in it.
func (n *Node) holds(places map[int]bool) bool {
	for at := range places {
		if n.Covers(at) {
			return true
		}
	}
	return false
}

// Chain returns the condition with which an if begins that chooses by the role, where a place
// stands in a later one: none of its branches is for the message in hand.
func (t *Template) Chain(off int) (first int, ok bool) {
	for n := range t.All() {
		if n.Is(If) && asksRole(n.Test) && slices.ContainsFunc(n.Elif,
			func(o *Node) bool { return o.Test.Covers(off) }) {
			return n.Test.Off, true
		}
	}
	return 0, false
}

// asksOther reports whether a condition holds for no message of a role.
func asksOther(x *Node, role string) bool {
	if x.Is(Logic, "and") {
		return asksOther(x.X, role) || asksOther(x.Y, role)
	}
	return x.Is(Compare, "==") && isRole(x.X) && len(x.Parts) == 2 && x.Y.Content() != role
}

func asksRole(x *Node) bool {
	switch x.Kind {
	case Logic:
		return asksRole(x.X) && asksRole(x.Y)
	case Unary:
		return asksRole(x.X)
	}
	return x.Is(Compare) && isRole(x.X)
}

// isRole reports whether an expression is the role of a message that a variable holds.
func isRole(x *Node) bool { return x.Is(Name, "role") || x.Is(Member, "role") && x.X.Is(Name) }

// narrows reports whether an expression takes a part of a list by its position.
func narrows(x *Node) bool {
	if !x.Is(Item) {
		return x.Is(Filter, "first", "last")
	}
	index := x.Y
	if index.Is(Unary) {
		index = index.X
	}
	return index.Is(Cut) || index.Is(Int)
}

// Hollow is a body of an if or a loop without a statement, a text or a comment in it.
type Hollow struct {
	Off  int    // of the tag before it
	Next string // the tag after it
}

// Hollows returns the bodies of a template that have nothing in them. A chain of several conditions
// may well skip one of its cases; the bodies of such a chain are left out.
func (t *Template) Hollows() (all []Hollow) {
	for n := range t.All() {
		if !n.Is(For) && (!n.Is(If) || n.Elif != nil) {
			continue
		}
		for i := range len(n.Tags) - 1 {
			tag, next := n.Tags[i], n.Tags[i+1]
			if len(n.Bodies[i]) == 0 && strings.TrimSpace(t.Text[tag.To:next.From]) == "" {
				all = append(all, Hollow{tag.From, t.Text[next.From:next.To]})
			}
		}
	}
	return all
}
