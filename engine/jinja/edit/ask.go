package edit

import "slices"

// IsExpr reports whether a part is an expression.
func (n *Node) IsExpr() bool { return n != nil && n.Kind < Output }

// Is reports whether a part is of a kind, and has one of the words where some are given.
func (n *Node) Is(kind Kind, words ...string) bool {
	return n != nil && n.Kind == kind && (len(words) == 0 || slices.Contains(words, n.Word))
}

// Content is the content of a text; "" where an expression is none.
func (n *Node) Content() string {
	if n.Is(Text) {
		return n.Word
	}
	return ""
}

// Field returns the name of the field that an expression reads, and the expression that has it:
// x.key, x['key'], x.get('key').
func (n *Node) Field() (key string, of *Node, ok bool) {
	switch {
	case n.Is(Member):
		return n.Word, n.X, true
	case n.Is(Call) && n.X.Is(Member, "get") && len(n.Args) > 0 && n.Args[0].Kind == Text:
		return n.Args[0].Word, n.X.X, true
	}
	return "", nil, false
}

// IsAttribute reports whether an expression is x.name.
func (n *Node) IsAttribute() bool { return n.Is(Member) && n.Y == nil }

// Simple reports whether an expression may well be written twice.
func (n *Node) Simple() bool {
	switch {
	case n.IsAttribute():
		return n.X.Simple()
	case n.Is(Item), n.Is(Member):
		return (n.Y.Kind == Name || n.Y.IsLiteral()) && n.X.Simple()
	}
	return n.Is(Name)
}

// IsLiteral reports whether a part is a literal.
func (n *Node) IsLiteral() bool { return n != nil && Data <= n.Kind && n.Kind <= Const }

// IsPrimary reports whether a method may be called on an expression without parentheses around it.
func (n *Node) IsPrimary() bool {
	return n.Is(Name) || n.Is(Member) || n.Is(Item) || n.Is(Call)
}

// In returns the parts of a kind that a part is in, the outermost first.
func (n *Node) In(kind Kind) (all []*Node) {
	for up := n.Up; up != nil; up = up.Up {
		if up.Kind == kind {
			all = append(all, up)
		}
	}
	slices.Reverse(all)
	return all
}

// Has reports whether a part, or one below it, is of a kind, with one of the words where some are
// given.
func (n *Node) Has(kind Kind, words ...string) bool {
	for below := range n.All() {
		if below.Is(kind, words...) {
			return true
		}
	}
	return false
}

// Written returns the bodies of a statement whose texts it writes where it stands, in the order of
// the tags before them.
func (n *Node) Written() (all [][]*Node) {
	switch n.Kind {
	case Macro, Capture, Called:
		return nil
	case If:
		all = append(all, n.Bodies[0])
		for _, e := range n.Elif {
			all = append(all, e.Bodies[0])
		}
		return append(all, n.Bodies[1])
	}
	return n.Bodies
}
