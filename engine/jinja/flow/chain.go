package flow

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Chain is a variable, or a field of a namespace, from the places that set it to those that read
// it.
type Chain struct {
	Name       string
	Sets, Gets []*Ref // in order
	whole      int    // where the namespace of a field is last handed on as a whole, to a macro say
}

// maxPairs bounds the places of a variable that are compared; people's templates have a few hundred
// pairs.
const maxPairs = 1 << 14

// Chains returns the variables that the template sets, in the order in which it first does so;
// those with more places than can be compared are left out.
func (m *Model) Chains() []*Chain {
	var all []*Chain
	seen := map[string]bool{}
	for _, r := range m.Refs {
		if !r.Kind.Local() || seen[r.Name] {
			continue
		}
		seen[r.Name] = true
		c := &Chain{Name: r.Name, Gets: slices.Collect(m.Reads(r.Name))}
		for def := range m.Definitions(r.Name) {
			if def.Kind.Local() {
				c.Sets = append(c.Sets, def)
			}
		}
		if len(c.Sets)*len(c.Gets) > maxPairs {
			continue
		}
		fields := map[int]bool{} // the reads of the namespace for the field
		for _, read := range c.Gets {
			fields[read.Order-1] = true
		}
		for read := range m.Reads(base(r.Name)) {
			if !fields[read.Order] {
				c.whole = max(c.whole, read.Order)
			}
		}
		all = append(all, c)
	}
	return all
}

// base is the namespace of a field; "" for a variable.
func base(name string) string {
	if i := strings.IndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

func (c *Chain) field() bool { return base(c.Name) != "" }

// called reports whether a reference runs when a macro is called.
func (r *Ref) called() bool { return r.At.Region.Caller() != nil }

// sees reports whether a place may read the value that another one sets.
func (c *Chain) sees(read, set *Ref) bool {
	after := read.Order > set.Order && !read.At.Apart(set.At)
	switch {
	case c.field():
		return read.called() || after || read.At.Region.SharesLoop(set.At.Region)
	case !read.At.Region.Within(set.At.Region):
		return false
	}
	return read.called() && !set.called() || after
}

// TooLate returns the last place that reads the variable before it is set, where none reads it
// afterwards; nil: there is none.
func (c *Chain) TooLate(set *Ref) *Ref {
	if set.Kind != Set || c.field() && set.called() {
		return nil
	}
	var early *Ref
	for _, read := range c.Gets {
		switch {
		case c.sees(read, set) && read.At.Test != nil && c.adds(set) &&
			!read.At.Region.SharesLoop(set.At.Region):
		case c.sees(read, set) || read.At.Guards(set.At):
			return nil
		case read.At.Stmt == set.At.Stmt || read.At.Apart(set.At) || read.Order > set.Order ||
			!c.field() && !read.At.Region.Within(set.At.Region):
		default:
			early = read
		}
	}
	if c.whole > set.Order {
		return nil
	}
	return early
}

// adds reports whether a place adds to the variable after a statement has written it: a condition
// may still ask for it, and its text is never written.
func (c *Chain) adds(set *Ref) bool {
	itself, written := false, false
	for _, read := range c.Gets {
		_, output := read.At.Stmt.(*syntax.Output)
		itself = itself || read.At.Stmt == set.At.Stmt
		written = written || output && read.Order < set.Order && !read.At.Apart(set.At)
	}
	return itself && written
}

// Lost returns a place that reads the variable after a loop in which it is set, where nothing in
// the loop reads that value; nil: there is none.
func (c *Chain) Lost(set *Ref) *Ref {
	in := set.At.Region
	if set.Kind != Set || c.field() || !in.Loop {
		return nil
	}
	outside := slices.ContainsFunc(c.Sets, func(other *Ref) bool {
		return other.At.Region != in && in.Within(other.At.Region) && other.Order < set.Order
	})
	var late *Ref
	for _, read := range c.Gets {
		if c.sees(read, set) {
			return nil
		}
		if outside && read.Order > set.Order && in.Up.Within(read.At.Region) &&
			!read.At.Apart(set.At) && late == nil {
			late = read
		}
	}
	return late
}

// Early returns a place that reads the variable before any place has set it, and the first one that
// sets it wherever the other one reads; nil: there are none. A request's variable may get another
// value under conditions.
func (c *Chain) Early() (read, set *Ref) {
	if c.field() {
		return nil, nil
	}
	for _, r := range c.Gets {
		in := r.At.Region
		before := slices.ContainsFunc(c.Sets, func(s *Ref) bool {
			return in.Within(s.At.Region) && (s.Order < r.Order && !s.At.Apart(r.At) ||
				s.At.Region.Caller() != in.Caller()) // or before the call
		})
		if before {
			continue
		}
		for _, s := range c.Sets {
			if s.Kind == Set && s.Order > r.Order && r.At.Stmt != s.At.Stmt &&
				in.Within(s.At.Region) && s.At.Dominates(r.At) {
				return r, s
			}
		}
	}
	return nil, nil
}

// Overwritten are the places that ask whether the request gives a variable, and set it where it
// does, in whichever branch, before they read it; nothing sets it before.
func (m *Model) Overwritten() []*Ref {
	var all []*Ref
	set := map[string]bool{}
	for n := range m.Tree.All() {
		if n, ok := n.(*syntax.If); ok && n.Elif == nil {
			name, is := definedness(n.Test)
			body := n.Body
			if !is {
				body = n.Else
			}
			if name != "" && !set[name] && overwrites(body, name) {
				all = append(all, &Ref{Kind: Set, Name: name, Node: n})
			}
		}
		for _, name := range syntax.Assigned(n) {
			set[name] = true
		}
		if macro, ok := n.(*syntax.Macro); ok {
			for _, p := range macro.Params.Params {
				set[p.Name] = true
			}
		}
	}
	return all
}

// Fixed returns the places at which the template sets a variable to a constant whatever the request
// gives for it: those of the given names, outside of all branches, loops and macros.
func (m *Model) Fixed(names ...string) []*Ref {
	var all []*Ref
	for _, st := range m.Tree.Body {
		n, ok := st.(*syntax.Assign)
		if !ok {
			continue
		}
		if _, constant := n.Value.(*syntax.Const); !constant {
			continue
		}
		for _, name := range syntax.Assigned(n) {
			if slices.Contains(names, name) {
				all = append(all, &Ref{Kind: Set, Name: name, Node: n})
			}
		}
	}
	return all
}

// definedness reads a condition that asks whether a variable is defined, and whether the branch
// runs where it is; "": it is another one. An `or` with other conditions can also run where it is.
func definedness(x syntax.Expr) (name string, is bool) {
	switch x := x.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			name, is = definedness(x.X)
			return name, !is
		}
	case *syntax.Logic:
		sides := alternatives(x)
		for i := 0; len(sides) > 1 && i < len(sides); i++ {
			if name, is := definedness(sides[i]); name != "" && !is &&
				!slices.ContainsFunc(sides, func(other syntax.Expr) bool {
					return other != sides[i] && mentions(other, name)
				}) {
				return name, true // by another side
			}
		}
	case *syntax.Test:
		if n, ok := x.X.(*syntax.Name); ok && (x.Name == "defined" || x.Name == "undefined") {
			return n.Name, x.Name == "defined"
		}
	}
	return "", false
}

// alternatives are the conditions one of which an `or` asks for.
func alternatives(x syntax.Expr) []syntax.Expr {
	if or, ok := x.(*syntax.Logic); ok && or.Op == "or" {
		return append(alternatives(or.X), alternatives(or.Y)...)
	}
	return []syntax.Expr{x}
}

// overwrites reports whether statements set a variable, in whichever branch, before they read it.
func overwrites(body []syntax.Stmt, name string) bool {
	for _, st := range body {
		if n, ok := st.(*syntax.If); ok && n.Else != nil && !mentions(n.Test, name) {
			all := overwrites(n.Body, name) && overwrites(n.Else, name)
			for _, e := range n.Elif {
				all = all && !mentions(e.Test, name) && overwrites(e.Body, name)
			}
			if all {
				return true
			}
		}
		if n, ok := st.(*syntax.Assign); ok && !mentions(n.Value, name) &&
			slices.Contains(syntax.Assigned(n), name) {
			return true
		}
		if mentions(st, name) {
			return false
		}
	}
	return false
}

// mentions reports whether a variable's name is anywhere in a part of a template.
func mentions(n syntax.Node, name string) bool {
	for n := range syntax.All(n) {
		if n, ok := n.(*syntax.Name); ok && n.Name == name {
			return true
		}
	}
	return false
}

// Unset returns a place that reads a field of a namespace which nothing sets after the namespace is
// made, and one that sets a variable of the field's name, or the namespace itself, in its place;
// nil: there are none.
func (m *Model) Unset() (read, set *Ref) {
	sets, reads := map[string]*Ref{}, map[string]*Ref{}
	made := map[string]bool{} // fields with which a namespace is made
	for _, r := range m.Refs {
		value, _ := r.Value.(syntax.Expr)
		_, namespace := NewNamespace(value)
		switch {
		case r.Kind == Field:
			made[r.Name] = true
		case r.Kind == Read && reads[r.Name] == nil:
			reads[r.Name] = r
		case r.Kind.Local() && sets[r.Name] == nil && (r.Kind != Set || !namespace):
			sets[r.Name] = r
		}
	}
	for _, r := range m.Refs {
		if r.Kind != Read || !made[r.Name] || reads[r.Name] != r || sets[r.Name] != nil {
			continue
		}
		ns := base(r.Name)
		for _, name := range []string{strings.TrimPrefix(r.Name, ns+"."), ns} {
			if set := sets[name]; set != nil && (name == ns && set.At.Stmt == r.At.Stmt ||
				name != ns && reads[name] == nil) {
				return r, set
			}
		}
	}
	return nil, nil
}
