package edit

import (
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
	return t.first(func(x *Node) bool { return x.Is(Filter, names...) && x.Holds(places) })
}

// Narrowing returns the first expression that takes an item or a part of a list by its position,
// x[0], x[1:] or x | last, and has one of the places in it.
func (t *Template) Narrowing(places map[int]bool) (off int, ok bool) {
	return t.first(func(x *Node) bool { return narrows(x) && x.Holds(places) })
}

// Chooses reports whether the condition at a place chooses by the role of a message in hand, such
// as m.role == 'user': it asks for nothing else, or for another role than the given one as well.
func (t *Template) Chooses(off int, role string) bool {
	_, found := t.first(func(x *Node) bool {
		return x.Off == off && x.IsExpr() && (asksRole(x) || asksOther(x, role))
	})
	return found
}

// Condition returns where the condition begins that a place is in, of a tag or of a choice.
func (t *Template) Condition(off int) (at int, ok bool) {
	for n := range t.All() {
		if n.Test != nil && n.Test.Covers(off) {
			return n.Test.From, true
		}
	}
	return 0, false
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

// Holds reports whether an expression has one of some places in it.
func (n *Node) Holds(places map[int]bool) bool {
	for at := range places {
		if n.Covers(at) {
			return true
		}
	}
	return false
}

// Unmatched returns the last condition that asks for the role of the message in hand and has one of
// the places in it, where none of those names the role, and none has an else: no branch is for it.
func (t *Template) Unmatched(places map[int]bool, role string) (off int, ok bool) {
	for n := range t.All() {
		if !n.Is(If) || !n.Test.Holds(places) {
			continue
		}
		if n.Test.Has(Text, role) || n.Bodies[1] != nil {
			return 0, false
		}
		for x := range n.Test.All() {
			if x.Is(Compare) && isRole(x.X) && x.Holds(places) {
				off, ok = x.Off, true
			}
		}
	}
	return off, ok
}

// Operand returns the first part of a sum or a concatenation at a place that a condition holds for;
// the place itself where there is none.
func (t *Template) Operand(off int, is func(*Node) bool) int {
	for n := range t.All() {
		if n.Off != off || !n.Is(Math, "+") && !n.Is(Concat) {
			continue
		}
		for _, x := range n.operands() {
			if is(x) {
				return x.Off
			}
		}
	}
	return off
}

func (n *Node) operands() (all []*Node) {
	if !n.Is(Math, "+") && !n.Is(Concat) {
		return []*Node{n}
	}
	for _, x := range n.Parts {
		all = append(all, x.operands()...)
	}
	return all
}

// Blamed returns the part of a sum at a place for which it fails with a message: the second
// operand, or the first one where the second is a literal, or cannot follow it.
func (t *Template) Blamed(off int, msg string) int {
	for n := range t.All() {
		if n.Off == off && n.Is(Math, "+") {
			sum := n.operands()
			last := len(sum) - 1
			if sum[last].IsLiteral() || strings.HasPrefix(msg, "can only concatenate list") {
				last--
			}
			return sum[last].Off
		}
	}
	return off
}

// Made returns where the value of a variable that is printed at a place was made: the one
// expression that it is set to with one of some places in it, if it is more than a look-up.
func (t *Template) Made(off int, places map[int]bool) (made int, ok bool) {
	for n := range t.All() {
		if n.Off != off || !n.Is(Name) {
			continue
		}
		for set := range t.All() {
			if set.Is(Set) && set.Target.Is(Name, n.Word) && set.X.Holds(places) {
				if ok {
					return 0, false
				}
				made, ok = set.X.Off, !set.X.Is(Name) && !set.X.Is(Member)
			}
		}
	}
	return made, ok
}

// asksOther reports whether a condition holds for no message of a role.
func asksOther(x *Node, role string) bool {
	switch {
	case x.Is(Logic, "and"):
		return asksOther(x.X, role) || asksOther(x.Y, role)
	case x.Is(Logic, "or"):
		return asksOther(x.X, role) && asksOther(x.Y, role)
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
