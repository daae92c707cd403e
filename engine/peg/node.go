package peg

import (
	"fmt"
	"slices"
	"strings"
)

// node is a pattern with its parts and facts. Tolerances are resolved, an Opt is the Choice of its
// P and nothing.
type node struct {
	p     Pattern
	up    *node // nil for the root of the tree and of a rule
	owner *rule // of the root of a rule
	rule  *rule // Ref
	kids  []*node
	facts facts
	place int32 // among up's kids
	final bool  // the facts will not change any more
	whole bool  // nor will those of any node below
}

func (n *node) fail(hint, format string, args ...any) {
	var parts []string
	for ; n != nil; n = n.up {
		if name := n.name(); name != "" {
			parts = append(parts, name)
		}
	}
	slices.Reverse(parts)
	panic(&Error{Path: strings.Join(parts, ": "), Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// name describes the node by its place in its parent, for errors.
func (n *node) name() string {
	if n.up == nil {
		if n.owner == nil {
			return "root"
		}
		return "rule " + n.owner.name
	}
	switch p := n.up.p.(type) {
	case Seq:
		return fmt.Sprintf("seq %d", n.place+1)
	case Choice:
		return fmt.Sprintf("choice %d", n.place+1)
	case Opt:
		return "opt"
	case Rep:
		return "rep"
	case Hold:
		return "hold"
	case And:
		return "and"
	case Not:
		return "not"
	case Capture:
		return "capture"
	case Try:
		return [...]string{"try", "else"}[n.place]
	case Dispatch:
		if n.place > 0 {
			return fmt.Sprintf("dispatch %d", n.place)
		}
		return "after"
	case Until:
		at := 0
		for _, s := range p.Stops {
			if s.After == nil {
				continue
			}
			if at == int(n.place) {
				return "after " + s.Text
			}
			at++
		}
	case Switch:
		return "after"
	case Label:
		return p.Name
	}
	return ""
}

// node returns a new node.
func (c *compiler) node(up *node, place int) *node {
	n := c.space.nodes.One()
	n.up, n.place = up, int32(place)
	return n
}

// kid returns the node of a pattern that is a part of n's. No error is ever about a Lit or Space,
// so it needs no parent.
func (c *compiler) kid(n *node, place int, p Pattern) *node {
	switch p.(type) {
	case Lit, Space:
		k := c.leaves[p]
		if k == nil {
			k = c.node(nil, 0)
			c.leaves[p] = k
			c.read(k, p)
		}
		return k
	}
	k := c.node(n, place)
	c.read(k, p)
	return k
}

// read makes n the node of a pattern, and builds those of its parts.
func (c *compiler) read(n *node, p Pattern) {
	n.p = p
	kids := func(list ...Pattern) {
		n.kids = c.space.kids.Take(len(list))
		for i, q := range list {
			n.kids[i] = c.kid(n, i, q)
		}
	}
	switch p := p.(type) {
	case nil:
		n.fail("use the empty Seq for a pattern that matches nothing", "nil is no pattern")
	case Lit, Set, Any, Space, End, Before, Stub, Cut, Rejected, Emit:
		if b, ok := p.(Before); ok && (b.Off < 0 || b.Off != int(int32(b.Off))) {
			n.fail("", "Before needs an offset of 0 to 2³¹-1, not %d", b.Off)
		}
		if s, ok := p.(Stub); ok && s.Text == "" {
			n.fail("", "a Stub needs a text")
		}
		if e, ok := p.(Emit); ok && e.Arg != int(int32(e.Arg)) || ok && e.Arg < 0 {
			n.fail("", "Emit needs a number of 0 to 2³¹-1, not %d", e.Arg)
		}
	case Seq:
		kids(p...)
	case Choice:
		if len(p) == 0 {
			n.fail("", "a Choice needs alternatives")
		}
		kids(p...)
	case Opt:
		kids(p.P, Seq(nil))
	case Rep:
		if p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Max < p.Min || p.Max != int(int32(p.Max)) ||
			p.Min != int(int32(p.Min)) {
			n.fail("", "no number of repetitions is at least %d and at most %d", p.Min, p.Max)
		}
		kids(p.P)
	case Hold:
		kids(p.P)
	case And:
		kids(p.P)
	case Not:
		kids(p.P)
	case Capture:
		kids(p.P)
	case Try:
		kids(p.P, p.Else)
	case Dispatch:
		if len(p.Words) == 0 || len(p.Bodies) != 0 && len(p.Bodies) != len(p.Words) {
			n.fail("", "a Dispatch needs words, and no bodies or one for each: %d "+
				"words, %d bodies", len(p.Words), len(p.Bodies))
		}
		if p.After == nil {
			p.After = Seq(nil)
		}
		kids(append([]Pattern{p.After}, p.Bodies...)...)
	case Until:
		var after []Pattern
		for _, s := range p.Stops {
			if s.Text == "" || s.Space && SpaceSet.Has(s.Text[0]) {
				n.fail("", "stop %q must be a text, and must not begin with white space "+
					"where it has Space", s.Text)
			}
			if s.After != nil {
				after = append(after, s.After)
			}
		}
		kids(after...)
	case Scan:
		if p.Scanner == nil {
			n.fail("", "a Scan needs a Scanner")
		}
	case Ref:
		if n.rule = c.rule(p.Name); n.rule == nil {
			n.fail("", "there is no rule %q", p.Name)
		}
	case Switch:
		if p.After == nil {
			p.After = Seq(nil)
		}
		kids(p.After)
	case Label:
		kids(p.P)
	default:
		n.fail("", "%T is no pattern of this package", p)
	}
}
