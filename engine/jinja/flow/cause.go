package flow

import (
	"slices"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Filtering returns the first expression that puts a value through one of some filters, and has one
// of the places in it.
func (e *Extents) Filtering(places map[int]bool, names ...string) (off int, ok bool) {
	return e.first(func(x syntax.Expr) bool {
		f, ok := x.(*syntax.Filter)
		return ok && slices.Contains(names, f.Name) && e.holds(x, places)
	})
}

// Narrowing returns the first expression that takes an item or a part of a list by its position,
// x[0], x[1:] or x | last, and has one of the places in it.
func (e *Extents) Narrowing(places map[int]bool) (off int, ok bool) {
	return e.first(func(x syntax.Expr) bool { return narrows(x) && e.holds(x, places) })
}

// Chooses reports whether the condition at a place chooses by the role of a message in hand, such
// as m.role == 'user': it asks for nothing else, or for another role than the given one as well.
func (e *Extents) Chooses(off int, role string) bool {
	_, found := e.first(func(x syntax.Expr) bool {
		return x.Offset() == off && (asksRole(x) || asksOther(x, role))
	})
	return found
}

// first returns the first expression of a sort.
func (e *Extents) first(is func(syntax.Expr) bool) (off int, ok bool) {
	if e.tree != nil {
		for n := range e.tree.All() {
			if x, ok := n.(syntax.Expr); ok && is(x) {
				return x.Offset(), true
			}
		}
	}
	return 0, false
}

// holds reports whether an expression has one of some places in it.
func (e *Extents) holds(x syntax.Expr, places map[int]bool) bool {
	span := e.spans.Expr(x)
	for at := range places {
		if span.From <= at && at < span.To {
			return true
		}
	}
	return false
}

// Chain returns the condition with which an if begins that chooses by the role, where a place
// stands in a later one: none of its branches is for the message in hand.
func (e *Extents) Chain(off int) (first int, ok bool) {
	if e.tree != nil {
		for n := range e.tree.All() {
			if n, ok := n.(*syntax.If); ok && asksRole(n.Test) && slices.ContainsFunc(n.Elif,
				func(o *syntax.If) bool { return e.holds(o.Test, map[int]bool{off: true}) }) {
				return n.Test.Offset(), true
			}
		}
	}
	return 0, false
}

// asksOther reports whether a condition holds for no message of a role.
func asksOther(x syntax.Expr, role string) bool {
	switch x := x.(type) {
	case *syntax.Logic:
		return x.Op == "and" && (asksOther(x.X, role) || asksOther(x.Y, role))
	case *syntax.Compare:
		return isRole(x.X) && len(x.Ops) == 1 && x.Ops[0].Op == "==" && KeyOf(x.Ops[0].X) != role
	}
	return false
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
