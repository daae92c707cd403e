package reach

import (
	"math"
	"strconv"
	stdstrings "strings"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// spelled writes an expression that always has the same value in one way, and notes the names that
// its value hangs on; false: it may have another one the next time.
func spelled(x syntax.Expr, b *stdstrings.Builder, of *[]string) bool {
	all := func(xs ...syntax.Expr) bool {
		for _, x := range xs {
			b.WriteByte('(')
			if x != nil && !spelled(x, b, of) {
				return false
			}
			b.WriteByte(')')
		}
		return true
	}
	args := func(a syntax.Args) bool {
		return len(a.Keywords) == 0 && a.Star == nil && a.StarStar == nil && all(a.Args...)
	}
	switch x := x.(type) {
	case *syntax.Name:
		b.WriteString(x.Name)
		*of = append(*of, x.Name)
		return true
	case *syntax.Const:
		b.WriteString(string(rune('0'+int(x.Kind))) + "\"" + x.Text + "\"")
		return true
	case *syntax.Attr:
		if !spelled(x.X, b, of) {
			return false
		}
		b.WriteString("." + x.Name)
		*of = append(*of, "."+x.Name)
		return true
	case *syntax.Item:
		if !spelled(x.X, b, of) {
			return false
		}
		if c, ok := x.Index.(*syntax.Const); ok && c.Kind == syntax.String &&
			flow.Methods[c.Text].On&flow.Dicts == 0 {
			b.WriteString("." + c.Text)
			*of = append(*of, "."+c.Text)
			return true
		}
		b.WriteString("[")
		return all(x.Index)
	case *syntax.Slice:
		b.WriteString(":")
		return all(x.Start, x.Stop, x.Step)
	case *syntax.Tuple:
		b.WriteString("tuple")
		return all(x.Items...)
	case *syntax.List:
		b.WriteString("list")
		return all(x.Items...)
	case *syntax.Unary:
		b.WriteString(x.Op)
		return all(x.X)
	case *syntax.Binary:
		b.WriteString(x.Op)
		return all(x.X, x.Y)
	case *syntax.Logic:
		b.WriteString(x.Op)
		return all(x.X, x.Y)
	case *syntax.Compare:
		if !all(x.X) {
			return false
		}
		for _, op := range x.Ops {
			b.WriteString(op.Op)
			if !all(op.X) {
				return false
			}
		}
		return true
	case *syntax.Filter:
		if f, ok := flow.Filters[x.Name]; !ok || f.Varies || x.X == nil || !all(x.X) {
			return false
		}
		b.WriteString("|" + x.Name)
		return args(x.Args)
	case *syntax.Test:
		if !all(x.X) {
			return false
		}
		b.WriteString(" is " + x.Name)
		return args(x.Args)
	case *syntax.Call:
		f, ok := x.Func.(*syntax.Attr)
		if !ok || !pure(f.Name) || !all(f.X) {
			return false
		}
		b.WriteString("." + f.Name + "!")
		return args(x.Args)
	}
	return false
}

// pure reports whether a method returns the same of the same value, and changes nothing.
func pure(method string) bool {
	m, ok := flow.Methods[method]
	return ok && !m.Changes && !m.Varies
}

// eval returns the values that an expression may have.
func (p *prover) eval(x syntax.Expr, e *env) val {
	if p.keys.steps++; p.exhausted() || e.dead {
		return top
	}
	v := p.structural(x, e)
	switch x.(type) {
	case *syntax.Const, *syntax.Name:
		return v
	}
	if k := p.keys.of(x); k != nil {
		if f := e.facts.at(k); f != nil {
			if v = v.and(f.val); v.kinds == 0 {
				e.dead = true // no value is left: no render comes here
			}
		}
	}
	return v
}

// all evaluates expressions, and returns where their values are from.
func (p *prover) all(e *env, xs ...syntax.Expr) from {
	var f from
	for _, x := range xs {
		if x != nil && !e.dead {
			f |= p.eval(x, e).from
		}
	}
	return f
}

func (p *prover) args(a syntax.Args, e *env) from {
	f := p.all(e, a.Args...)
	for _, k := range a.Keywords {
		f |= p.all(e, k.Value)
	}
	return f | p.all(e, a.Star, a.StarStar)
}

func constant(c *syntax.Const) val {
	v := val{json: true}
	switch c.Kind {
	case syntax.None:
		v.kinds = flow.Null
	case syntax.True:
		v.kinds = flow.Yes
	case syntax.False:
		v.kinds = flow.No
	case syntax.Int, syntax.Float:
		v.kinds = flow.Numbers
		if c.Kind == syntax.Int {
			v.kinds = flow.Number
			if stdstrings.Trim(c.Text, "0_") == "" {
				v.kinds = flow.Zero
			}
		}
	case syntax.String, syntax.Data:
		if v.kinds = flow.Blank; c.Text != "" {
			v.kinds, v.texts, v.inside = flow.Text, []string{c.Text}, []string{c.Text}
		}
	}
	return v
}

// structural returns the values of an expression by its operands.
func (p *prover) structural(x syntax.Expr, e *env) val {
	switch x := x.(type) {
	case *syntax.Name:
		for _, m := range p.macros[x.Name] { // as a value it may be called anywhere
			p.call(m, e, nil)
		}
		if f := e.facts.at(p.keys.of(x)); f != nil {
			return f.val
		}
		return p.free(x.Name, e)
	case *syntax.Const:
		return constant(x)
	case *syntax.Tuple:
		return p.literal(len(x.Items), e, x.Items...)
	case *syntax.List:
		return p.literal(len(x.Items), e, x.Items...)
	case *syntax.Dict:
		v := val{kinds: flow.NoMembers, json: true, own: true}
		if len(x.Items) > 0 {
			v.kinds = flow.Members
		}
		v.has = map[string]val{}
		for _, pair := range x.Items {
			v.from |= p.all(e, pair.Key)
			value := p.eval(pair.Value, e)
			v.from, v.json = v.from|value.from, v.json && value.json
			if c, ok := pair.Key.(*syntax.Const); ok && c.Kind == syntax.String && v.has != nil {
				v.has[c.Text] = value
			} else {
				v.has = nil
			}
		}
		if p.mutates {
			v.has = nil
		}
		return v
	case *syntax.Unary:
		v := p.eval(x.X, e)
		if x.Op != "not" {
			return val{kinds: v.kinds&flow.Numbers | flow.Number | flow.Zero, from: v.from}
		}
		out := val{from: v.from}
		if v.kinds&flow.Truthy != 0 {
			out.kinds |= flow.No
		}
		if v.kinds&flow.Falsy != 0 {
			out.kinds |= flow.Yes
		}
		return out
	case *syntax.Binary:
		a, b := p.eval(x.X, e), p.eval(x.Y, e)
		v := val{from: a.from | b.from}
		switch {
		case x.Op == "+" && (a.kinds&flow.Strings != 0 && b.kinds&flow.Strings != 0):
			if v.kinds = flow.Strings; a.kinds&flow.Blank == 0 || b.kinds&flow.Blank == 0 {
				v.kinds = flow.Text
			}
			if (a.kinds|b.kinds)&^(flow.Strings|flow.Undef) == 0 {
				v = v.joins(a).joins(b)
			}
			if a.kinds&^flow.Strings&^flow.Undef != 0 && b.kinds&^flow.Strings&^flow.Undef != 0 {
				v.kinds |= flow.Numbers | flow.Lists | flow.Object
			}
		case x.Op == "+" && (a.kinds|b.kinds)&^flow.Lists == 0:
			v.kinds, v.own, v.json = flow.Lists, true, a.json && b.json
			if (a.kinds|b.kinds)&flow.NoItems == 0 || a.kinds == flow.Items ||
				b.kinds == flow.Items {
				v.kinds = flow.Items
			}
			if v.elem = joinedItems(a, b); p.mutates {
				v.elem = nil
			}
		case a.kinds&^flow.Numbers == 0 && b.kinds&^flow.Numbers == 0:
			v.kinds = flow.Numbers
		default:
			v.kinds = flow.Everything &^ flow.Undef
		}
		return v
	case *syntax.Logic:
		a := p.eval(x.X, e)
		inner := e.clone()
		want := flow.Truthy
		if x.Op == "or" {
			want = flow.Falsy
		}
		rest := a.limited(flow.Everything &^ want)
		if e.dead {
			return rest
		}
		if p.choose(x, a.kinds&want != 0); a.kinds&want == 0 {
			return rest
		}
		p.given(x.X, x.Op == "and", inner)
		b := p.eval(x.Y, inner)
		if inner.dead {
			return rest
		}
		v := rest.or(b)
		v.from |= a.from
		return v
	case *syntax.Concat:
		v := val{kinds: flow.Strings}
		for _, item := range x.Items {
			part := p.eval(item, e)
			if v.from |= part.from; part.kinds&^(flow.Text|flow.Null|flow.Bools|flow.Numbers) == 0 {
				v.kinds = flow.Text
			}
			v = v.joins(part)
		}
		return v
	case *syntax.Compare:
		return p.compare(x, e)
	case *syntax.Cond:
		var v val
		p.branches(flow.SiteCond, x.Offset(), x.Test, e,
			func(e *env) { v = v.or(p.eval(x.Then, e)) },
			func(e *env) {
				if x.Else == nil {
					v = v.or(val{kinds: flow.Undef})
				} else {
					v = v.or(p.eval(x.Else, e))
				}
			})
		v.from |= fromOther
		return v
	case *syntax.Attr:
		v := p.holder(x.X, e)
		if e.dead {
			return val{}
		}
		if member, ok := v.member(x.Name); ok {
			return member
		}
		return p.inner(v, flow.IsAttribute(x.Name))
	case *syntax.Item:
		v := p.holder(x.X, e)
		if e.dead {
			return val{}
		}
		if s, ok := x.Index.(*syntax.Slice); ok {
			p.all(e, x.Index)
			if s.Start == nil && s.Stop == nil && v.kinds&^flow.Lists == 0 && len(v.whole) == 1 {
				return v // in whatever order
			}
			part := val{kinds: flow.Strings | flow.Lists, from: v.from, json: v.json}
			if of, ok := v.items(); ok && (v.elem != nil || v.whole != nil) {
				part.kinds, part.elem = flow.Lists, &of
			}
			return part
		}
		p.all(e, x.Index)
		c, ok := x.Index.(*syntax.Const)
		if ok && c.Kind == syntax.String {
			if member, ok := v.member(c.Text); ok {
				return member
			}
		}
		if v.has != nil && v.kinds&^flow.Dicts == 0 && (!ok || c.Kind != syntax.String) {
			member := val{kinds: flow.Undef | flow.Object, json: true} // or a method of it
			for _, one := range v.has {
				member = member.or(one)
			}
			return member
		}
		if ok && c.Kind == syntax.Int && c.Text == "0" && len(v.whole) > 0 &&
			v.kinds == flow.Items {
			return v.whole[0]
		}
		if of, known := v.items(); known && v.own && (v.elem != nil || v.whole != nil) &&
			(!ok || c.Kind != syntax.String) {
			of.kinds |= flow.Undef
			if !ok {
				of.kinds |= flow.Object // an index that is the name of a method
			}
			return of
		}
		if ok && c.Kind == syntax.String || v.kinds&(flow.Strings|flow.Lists) == 0 {
			return p.inner(v, !ok || flow.IsAttribute(c.Text))
		}
		v.kinds |= flow.Dicts // a part of a text or a list
		return p.inner(v, !ok)
	case *syntax.Slice:
		return val{kinds: flow.Object, from: p.all(e, x.Start, x.Stop, x.Step)}
	case *syntax.Call:
		return p.called(x, e)
	case *syntax.Filter:
		return p.filter(x, e)
	case *syntax.Test:
		v := p.eval(x.X, e)
		f := v.from | p.args(x.Args, e)
		var out flow.Kinds
		is := v.test(x.Name)
		if v.kinds&(is.Surely|is.Maybe) != 0 {
			out |= flow.Yes
		}
		if v.kinds&^is.Surely != 0 {
			out |= flow.No
		}
		return val{kinds: out, from: f}
	}
	return top
}

// joins notes that a text of another set is a part of the texts of this one.
func (v val) joins(part val) val {
	if part.kinds == flow.Text {
		v = v.withInside(part.inside...)
		v.seen = v.seen || part.seen
	}
	return v
}

// trimmed returns the texts of a set without white space at their ends.
func (v val) trimmed(from from) val {
	out := val{kinds: flow.Strings, from: from}
	if v.kinds == flow.Text {
		for _, s := range v.inside {
			out = out.withInside(stdstrings.TrimSpace(s))
		}
		if v.visible() {
			out.kinds, out.seen = flow.Text, true
		}
	}
	return out
}

func (p *prover) literal(n int, e *env, xs ...syntax.Expr) val {
	v := val{kinds: flow.NoItems, json: true, own: true}
	if n > 0 {
		v.kinds = flow.Items
	}
	for _, x := range xs {
		item := p.eval(x, e)
		v.whole, v.from, v.json = append(v.whole, item), v.from|item.from, v.json && item.json
	}
	if v.elem = joinedItems(v, v); p.mutates {
		v.whole, v.elem = nil, nil
	}
	if n > maxTexts {
		v.whole = nil
	}
	return v
}

// member returns a member of an object that the template spells out.
func (v val) member(name string) (val, bool) {
	if v.has == nil || v.kinds&^flow.Dicts != 0 || flow.IsAttribute(name) {
		return val{}, false
	}
	if member, ok := v.has[name]; ok {
		return member, true
	}
	return val{kinds: flow.Undef}, true
}

// holder returns the values of an expression of which a part is asked for: an undefined value has
// none, and the render fails.
func (p *prover) holder(x syntax.Expr, e *env) val {
	v := p.eval(x, e)
	if e.dead || v.kinds&flow.Undef == 0 {
		return v
	}
	if v.kinds &^= flow.Undef; v.kinds == 0 {
		e.dead = true
		return v
	}
	p.narrow(x, val{kinds: flow.Everything &^ flow.Undef}, e)
	return v
}

// inner returns the values that a value may hold; its name may also be that of a method.
func (p *prover) inner(v val, method bool) val {
	switch {
	case !v.json || p.taints:
		return top
	case method:
		return val{kinds: flow.Everything, from: fromOther, json: true}
	case v.kinds&flow.Dicts == 0:
		return val{kinds: flow.Undef, from: fromOther, json: true}
	}
	return missing
}

// of returns the test for a set: a method of a part of the request is no container.
func (v val) test(name string) flow.Test {
	t, known := flow.Tests[name]
	if !known {
		t.Maybe = flow.Everything
	}
	if v.json {
		t.Maybe &^= flow.Object
	}
	return t
}

// compare returns the values that a comparison may have.
func (p *prover) compare(x *syntax.Compare, e *env) val {
	a := p.eval(x.X, e)
	out := val{kinds: flow.Bools, from: a.from}
	if len(x.Ops) != 1 {
		for _, op := range x.Ops {
			out.from |= p.all(e, op.X)
		}
		return out
	}
	op := x.Ops[0]
	b := p.eval(op.X, e)
	out.from |= b.from
	switch op.Op {
	case "==", "!=":
		if out.kinds = equal(a, b); out.kinds == flow.Bools {
			out.kinds = p.ordered(x.X, "==", op.X, e)
		}
	case "in", "not in":
		out.kinds = p.within(a, op.X, b, e)
	case "<", "<=", ">", ">=":
		out.kinds = p.ordered(x.X, op.Op, op.X, e)
		return out
	default:
		return out
	}
	if op.Op == "!=" || op.Op == "not in" {
		out.kinds = flipped(out.kinds)
	}
	return out
}

// ordered returns the results that a comparison of two numbers may have, by the least and the most
// that they may be.
func (p *prover) ordered(x syntax.Expr, op string, y syntax.Expr, e *env) flow.Kinds {
	a, b := p.bounds(x, e), p.bounds(y, e)
	var out flow.Kinds
	note := func(may, must bool) {
		if may {
			out |= flow.Yes
		}
		if !must {
			out |= flow.No
		}
	}
	switch op {
	case "<":
		note(a.least < b.most, a.most < b.least)
	case "<=":
		note(a.least <= b.most, a.most <= b.least)
	case ">":
		note(a.most > b.least, a.least > b.most)
	case ">=":
		note(a.most >= b.least, a.least >= b.most)
	case "==":
		note(a.least <= b.most && b.least <= a.most,
			a.least == a.most && b.least == b.most && a.least == b.least)
	}
	return out
}

// bounds are the least and the most that a number may be.
type bounds struct{ least, most int }

// bounds returns the bounds of a number: of constants and lengths; of others there are none.
func (p *prover) bounds(x syntax.Expr, e *env) bounds {
	any := bounds{math.MinInt, math.MaxInt}
	switch x := x.(type) {
	case *syntax.Const:
		if n, err := strconv.Atoi(x.Text); err == nil && x.Kind == syntax.Int {
			return bounds{n, n}
		}
	case *syntax.Attr:
		if !syntax.IsName(x.X, "loop") || p.assigned["loop"] {
			return any
		}
		v := p.quietly(x, e)
		switch {
		case x.Name == "index0" && v.kinds == flow.Zero:
			return bounds{0, 0}
		case x.Name == "index0" && v.kinds&flow.Zero != 0, x.Name == "revindex0":
			return bounds{0, math.MaxInt}
		case x.Name == "index0", x.Name == "index", x.Name == "revindex", x.Name == "length":
			return bounds{1, math.MaxInt}
		}
	case *syntax.Filter:
		if x.X == nil || x.Name != "length" && x.Name != "count" {
			return any
		}
		v := p.quietly(x.X, e)
		length := bounds{1, math.MaxInt}
		if v.kinds&^(flow.Text|flow.Items|flow.Members) != 0 {
			length.least = 0
		}
		if v.kinds&flow.Many == 0 {
			length.most = 0
		}
		if v.kinds == flow.Items && v.whole != nil {
			length = bounds{len(v.whole), len(v.whole)}
		}
		return length
	}
	return any
}

func flipped(k flow.Kinds) flow.Kinds {
	var out flow.Kinds
	if k&flow.Yes != 0 {
		out |= flow.No
	}
	if k&flow.No != 0 {
		out |= flow.Yes
	}
	return out
}

// within returns whether a value may be in another one.
func (p *prover) within(a val, in syntax.Expr, b val, e *env) flow.Kinds {
	if choices, ok := p.choices(in, e); ok {
		k := equal(a, choices)
		if k&flow.Yes != 0 && k&flow.No == 0 && len(choices.texts) > 1 {
			k |= flow.No
		}
		if a.kinds&^(flow.Strings|flow.Null|flow.Bools) == 0 && a.some() && covers(choices, a) {
			return flow.Yes
		}
		return k
	}
	if b.kinds&^(flow.Undef|flow.NoItems|flow.NoMembers) == 0 {
		return flow.No
	}
	if a.kinds == flow.Text && len(a.texts) == 1 && b.kinds == flow.Text &&
		contains(b.inside, a.texts[0]) {
		return flow.Yes
	}
	return flow.Bools
}

// covers reports whether each value of b is one that a names.
func covers(a, b val) bool {
	return b.kinds&^a.kinds == 0 && (b.kinds&flow.Text == 0 || a.and(b).same2(b))
}

func (v val) same2(o val) bool {
	return v.kinds == o.kinds && len(v.texts) == len(o.texts)
}

// choices returns the values of a list of constants.
func (p *prover) choices(x syntax.Expr, e *env) (val, bool) {
	var xs []syntax.Expr
	switch x := x.(type) {
	case *syntax.List:
		xs = x.Items
	case *syntax.Tuple:
		xs = x.Items
	default:
		return val{}, false
	}
	var v val
	for _, x := range xs {
		c, ok := x.(*syntax.Const)
		if !ok || c.Kind == syntax.Int || c.Kind == syntax.Float {
			return val{}, false
		}
		v = v.or(constant(c))
	}
	return v, v.kinds != 0 && v.some()
}

// call notes a call of a macro; without arguments it may have any.
func (p *prover) call(m *macro, e *env, args *syntax.Args) {
	if !m.called {
		m.called, p.changed, m.rooted = true, true, e.rooted
	}
	if now := m.rooted.common(e.rooted, always); now != m.rooted {
		m.rooted, p.changed = now, true
	}
	given := make([]val, len(m.params))
	for i := range given {
		given[i] = val{}
	}
	switch {
	case args == nil || args.Star != nil || args.StarStar != nil:
		for i := range given {
			given[i] = top
		}
	default:
		for i, x := range args.Args {
			if v := p.eval(x, e); i < len(given) {
				given[i] = v
			}
		}
		for _, k := range args.Keywords {
			v := p.eval(k.Value, e)
			for i, name := range m.Params.Params {
				if name.Name == k.Name {
					given[i] = v
				}
			}
		}
	}
	if e.dead {
		return
	}
	for i, v := range given {
		if d := i - (len(given) - len(m.Defaults)); v.kinds == 0 && d < 0 {
			v = val{kinds: flow.Undef}
		}
		if now := m.params[i].or(v); !now.same(m.params[i]) {
			m.params[i], p.changed = now, true
		}
	}
}

// called returns the values that a call may have.
func (p *prover) called(x *syntax.Call, e *env) val {
	switch f := x.Func.(type) {
	case *syntax.Name:
		if all := p.macros[f.Name]; all != nil {
			for _, m := range all {
				p.call(m, e, &x.Args)
			}
			p.forgetMacros(e)
			return val{kinds: flow.Strings, from: fromOther}
		}
		from := p.args(x.Args, e)
		if p.assigned[f.Name] {
			p.forgetMacros(e)
			return top
		}
		if fn, ok := flow.Functions[f.Name]; ok {
			if e.dead = fn.Result == 0; e.dead {
				return val{}
			}
			if f.Name == "strftime_now" {
				from |= fromClock
			} else {
				from |= fromOther
			}
			return val{kinds: fn.Result, from: from}
		}
		p.forgetMacros(e)
		if p.free(f.Name, e).kinds&flow.Object == 0 {
			e.dead = true // a request has no functions: the call fails
		}
		return top
	case *syntax.Attr:
		v := p.eval(f.X, e)
		from := v.from | p.args(x.Args, e)
		if syntax.IsName(f.X, "dict") && !p.assigned["dict"] && !flow.IsAttribute(f.Name) {
			return val{kinds: flow.Functions["dict"].Result, from: from | fromOther}
		}
		if flow.Methods[f.Name].Changes {
			if v.kinds&(flow.Lists|flow.Dicts) != 0 && !v.own && !p.taints {
				p.taints, p.changed = true, true
			}
			json := true
			for _, a := range x.Args.Args {
				json = json && p.quietly(a, e).json
			}
			p.mutated(e, json && x.Star == nil && x.StarStar == nil && len(x.Keywords) == 0)
			return top
		}
		if m, ok := flow.Methods[f.Name]; ok && m.On&^flow.Object != 0 {
			of := m.On | flow.Object
			if v.json {
				of &^= flow.Object // a method has no methods
			}
			if p.narrow(f.X, val{kinds: of}, e); v.kinds&of == 0 {
				e.dead = true
			}
			if e.dead {
				return val{}
			}
		}
		switch f.Name {
		case "strip", "lstrip", "rstrip":
			if v.kinds&^flow.Text == 0 && len(x.Args.Args) == 0 {
				return v.trimmed(from)
			}
		}
		k := flow.Methods[f.Name].Result
		if pure(f.Name) && (k == flow.Everything || v.kinds&(flow.Object|flow.Dicts) == 0) {
			if f.Name == "split" && len(x.Args.Args) > 0 {
				k = flow.Items
			}
			return val{kinds: k, from: from, json: v.json && f.Name != "get"}
		}
	default:
		p.all(e, x.Func)
		p.args(x.Args, e)
		p.forgetMacros(e)
		return top
	}
	p.forgetMacros(e)
	return top
}

func isTrue(x syntax.Expr) bool {
	c, ok := x.(*syntax.Const)
	return ok && c.Kind == syntax.True
}

// chooses notes which value a default takes. The other is made all the same, and where it has calls
// in it, these may do anything.
func (p *prover) chooses(x *syntax.Filter, second bool, e *env) {
	for n := range syntax.All(x.Args.Args[0]) {
		_, calls := n.(*syntax.Call)
		second = second || calls
	}
	if x.X != nil && !e.dead {
		p.choose(x, second)
	}
}

// filter returns the values that a filter may have.
func (p *prover) filter(x *syntax.Filter, e *env) val {
	v := val{kinds: flow.Text | flow.Blank, from: fromOther} // the body of a block
	if x.X != nil {
		v = p.eval(x.X, e)
	}
	out := val{kinds: flow.Everything, from: v.from | p.args(x.Args, e),
		json: v.json && flow.Filters[x.Name].Rearranges}
	if f, ok := flow.Filters[x.Name]; ok && !f.Varies {
		out.kinds = f.Result
	} else {
		out.from |= fromOther
	}
	switch x.Name {
	case "default", "d":
		if len(x.Args.Args) == 2 && isTrue(x.Args.Args[1]) && len(x.Keywords) == 0 {
			out = v.limited(flow.Truthy)
			p.chooses(x, v.kinds&flow.Falsy != 0, e)
			if v.kinds&flow.Falsy != 0 {
				out = out.or(p.eval(x.Args.Args[0], e))
			}
			out.from |= v.from
			return out
		}
		if len(x.Args.Args) == 1 && len(x.Keywords) == 0 {
			out = v.limited(flow.Everything &^ flow.Undef)
			p.chooses(x, v.kinds&flow.Undef != 0, e)
			if v.kinds&flow.Undef != 0 {
				out = out.or(p.eval(x.Args.Args[0], e))
			}
			out.from |= v.from
			return out
		}
	case "length", "count":
		out.kinds = 0
		if v.kinds&(flow.Falsy|flow.Object) != 0 {
			out.kinds |= flow.Zero
		}
		if v.kinds&flow.Truthy != 0 {
			out.kinds |= flow.Number
		}
	case "selectattr":
		if of, ok := v.items(); ok && v.own {
			if len(x.Args.Args) == 1 && of.json && of.kinds&^(flow.Undef|flow.Object) == 0 {
				of = val{} // nothing has a member that holds
			}
			out.elem = &of
		}
	case "list":
		if v.kinds == flow.Object && v.elem != nil { // what another filter gives
			if out.elem = v.elem; v.elem.kinds == 0 {
				out.kinds = flow.NoItems
			}
			return out
		}
		if v.kinds&^(flow.Text|flow.Items|flow.Members) == 0 {
			out.kinds = flow.Items
		}
	case "trim":
		if len(x.Args.Args)+len(x.Keywords) == 0 {
			return v.trimmed(out.from)
		}
	case "lower", "upper":
		if v.kinds&^flow.Text == 0 {
			out.kinds = flow.Text
		}
	case "string":
		if v.kinds == flow.Text {
			return v
		}
		if v.kinds&(flow.Blank|flow.Undef) == 0 {
			out.kinds = flow.Text
			out.seen = v.kinds&flow.Text == 0 || v.visible() // all others have some when written
		}
	}
	return out
}
