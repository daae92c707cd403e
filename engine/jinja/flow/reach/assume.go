package reach

import (
	"slices"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// maxClauses bounds how many conditions are kept that are open.
const maxClauses = 16

// given narrows the facts to the renders in which a condition holds, or does not, and looks again
// at those that are open.
func (p *prover) given(x syntax.Expr, holds bool, e *env) {
	e.open = nil
	p.assume(x, holds, e)
	open := e.open
	if p.settle(e); !e.dead {
		e.clauses = slices.Concat(e.clauses, open)
		e.clauses = e.clauses[max(0, len(e.clauses)-maxClauses):]
	}
}

// settle looks again at the conditions that are open.
func (p *prover) settle(e *env) {
	now := e.clauses
	e.clauses = nil
	for _, c := range now {
		p.assume(c.x, c.holds, e)
	}
	e.clauses = now
}

// assume narrows the facts to the renders in which a condition holds, or does not.
func (p *prover) assume(x syntax.Expr, holds bool, e *env) {
	if e.dead {
		return
	}
	switch x := x.(type) {
	case *syntax.Unary:
		if x.Op == "not" {
			p.assume(x.X, !holds, e)
			return
		}
	case *syntax.Logic:
		if (x.Op == "and") == holds {
			p.assume(x.X, holds, e)
			p.assume(x.Y, holds, e)
			return
		}
		// one of the two is why: the first, or the second where the first is not
		first := e.clone()
		if p.may(x.X, holds, first) {
			p.assume(x.X, holds, first)
		} else {
			first.dead = true
		}
		second := e.clone()
		p.assume(x.X, !holds, second)
		if !second.dead && p.may(x.Y, holds, second) {
			p.assume(x.Y, holds, second)
		} else {
			second.dead = true
		}
		open := !first.dead && !second.dead
		e.become(p.join(first, second, true))
		if k := p.keys.of(x); k != nil && open {
			e.open = append(e.open, clause{x, holds, k.of})
		}
	case *syntax.Test:
		is := p.quietly(x.X, e).test(x.Name)
		if holds {
			p.narrow(x.X, val{kinds: is.Surely | is.Maybe}, e)
		} else {
			p.narrow(x.X, val{kinds: flow.Everything &^ is.Surely}, e)
		}
	case *syntax.Compare:
		p.assumeCompared(x, holds, e)
	case *syntax.Call:
		if f, ok := x.Func.(*syntax.Attr); ok && holds && len(x.Args.Args) == 1 &&
			(f.Name == "startswith" || f.Name == "endswith") {
			if c, ok := x.Args.Args[0].(*syntax.Const); ok && c.Text != "" {
				p.narrow(f.X, val{kinds: flow.Text | flow.Object, inside: []string{c.Text}}, e)
			}
		}
	}
	want := flow.Truthy
	if !holds {
		want = flow.Falsy
	}
	p.narrow(x, val{kinds: want}, e)
}

// may reports whether a condition may hold, or not.
func (p *prover) may(x syntax.Expr, holds bool, e *env) bool {
	v := p.quietly(x, e)
	if holds {
		return v.kinds&flow.Truthy != 0
	}
	return v.kinds&flow.Falsy != 0
}

// quietly evaluates an expression and leaves the environment alone.
func (p *prover) quietly(x syntax.Expr, e *env) val { return p.eval(x, e.clone()) }

// narrow notes that an expression's value is in a set.
func (p *prover) narrow(x syntax.Expr, to val, e *env) {
	k := p.keys.of(x)
	if k == nil || e.dead {
		return
	}
	before := p.quietly(x, e)
	v := before.and(to)
	if v.kinds == 0 {
		e.dead = true
		return
	}
	if !v.same(before) { // nothing new would cost a copy of a piece
		e.note(k, v)
	}
	switch x := x.(type) {
	case *syntax.Name:
		if a, ok := e.aliases.get(x.Name); ok {
			p.narrow(a.x, to, e)
		}
	case *syntax.Attr:
		p.holds(x.X, x.Name, v, e)
	case *syntax.Item:
		if c, ok := x.Index.(*syntax.Const); ok && c.Kind == syntax.String {
			p.holds(x.X, c.Text, v, e)
		}
	case *syntax.Filter:
		switch x.Name {
		case "upper", "lower", "trim", "string":
			if v.kinds&flow.Blank == 0 && x.X != nil {
				p.narrow(x.X, val{kinds: flow.Everything &^ flow.Undef &^ flow.Blank}, e)
			}
		}
	}
}

// holds notes that a value has a member: no text, list or number has.
func (p *prover) holds(x syntax.Expr, member string, v val, e *env) {
	if v.kinds&flow.Undef == 0 && !flow.IsAttribute(member) {
		p.narrow(x, val{kinds: flow.Dicts | flow.Object}, e)
	}
}

func (p *prover) assumeCompared(x *syntax.Compare, holds bool, e *env) {
	if len(x.Ops) != 1 {
		return
	}
	op, other := x.Ops[0].Op, x.Ops[0].X
	if op == "!=" || op == "not in" {
		holds = !holds
	}
	switch op {
	case "==", "!=":
		a, b := p.quietly(x.X, e), p.quietly(other, e)
		if holds {
			p.narrow(x.X, sameAs(b), e)
			p.narrow(other, sameAs(a), e)
			return
		}
		if b.single() {
			p.narrow(x.X, without(a, b), e)
		}
		if a.single() {
			p.narrow(other, without(b, a), e)
		}
	case "in", "not in":
		if choices, ok := p.choices(other, e); ok {
			a := p.quietly(x.X, e)
			if holds {
				p.narrow(x.X, sameAs(choices), e)
			} else {
				p.narrow(x.X, without(a, choices), e)
			}
		} else if a := p.quietly(x.X, e); holds && a.kinds == flow.Text && len(a.texts) == 1 {
			p.narrow(other, val{kinds: flow.Many, inside: a.texts}, e)
		}
	case ">", "<", ">=", "<=":
		p.assumeLength(x.X, op, other, holds, e)
	}
}

// sameAs returns the values that equal those of a set.
func sameAs(v val) val {
	if v.kinds&(flow.Yes|flow.Number) != 0 {
		v.kinds |= flow.Yes | flow.Number
	}
	if v.kinds&(flow.No|flow.Zero) != 0 {
		v.kinds |= flow.No | flow.Zero
	}
	return v
}

// without returns a set without the constants of another.
func without(a, b val) val {
	out := a
	out.kinds &^= b.kinds & (flow.Null | flow.Blank | flow.Undef)
	if a.texts != nil && b.kinds&flow.Text != 0 {
		out.texts = nil
		for _, t := range a.texts {
			if !b.and(val{kinds: flow.Text, texts: []string{t}}).any() {
				out.texts = append(out.texts, t)
			}
		}
		if out.texts == nil {
			out.kinds &^= flow.Text
		}
	}
	return out
}

// any reports whether anything is in the set.
func (v val) any() bool { return v.kinds != 0 }

// assumeLength notes of x that "x|length > 0" holds, or does not.
func (p *prover) assumeLength(x syntax.Expr, op string, other syntax.Expr, holds bool, e *env) {
	f, ok := x.(*syntax.Filter)
	c, isConst := other.(*syntax.Const)
	if !ok || !isConst || f.X == nil || f.Name != "length" && f.Name != "count" {
		return
	}
	switch {
	case op == ">" && holds, op == ">=" && holds && c.Text != "0":
		p.narrow(f.X, val{kinds: flow.Truthy}, e)
	case op == ">" && c.Text == "0":
		p.narrow(f.X, val{kinds: flow.Falsy | flow.Object}, e)
	}
}
