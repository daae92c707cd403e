// Package reach proves of outcomes of a template's decisions that no request reaches them.
//
// # Model
//
// [Unreachable] goes through a template's tree as a render would, with sets of values in place of
// values: of each variable, and of each expression that a condition was about, it knows of which
// kinds its value may be, of texts which ones, of lists that the template makes the items. A
// condition makes the sets smaller in the branch that it guards, also those of the expression that
// a variable was set to; where branches meet again they are joined. A condition of several parts,
// any of which may be why it holds, stays open until all but one are excluded. A call of a method
// says of which type the value is. Loops and macros are gone through until nothing new comes, the
// first round of a loop on its own; facts about all items of a list hold in the next loop over it.
// A request may hold anything: every variable that the template does not set itself may have every
// value, but that messages is a list, and that add_generation_prompt and the functions that engines
// give a template are always there.
//
// An outcome is out of reach where no value in the sets leads to it, where nothing leads to its
// place, or where no statement calls the macro that it is in; a text also where the operator or the
// filter that it is an operand of never takes it. One that depends on the clock and on nothing else
// is none that a request reaches, either: another day does.
//
// # Limits
//
// The proof errs on one side: each outcome that it names is out of reach, and it misses many that
// are. Templates that extend, include or import others, and those that take more than a bound of
// steps, have no proofs.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package reach

import (
	"maps"
	"slices"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// Outcome is an outcome of a decision.
type Outcome struct {
	Kind    flow.SiteKind
	Off     int // as [flow.Site] has it
	Outcome flow.Outcome
}

// Unreachable returns the outcomes that no request reaches, each with the reason in words; nil
// where the source is no template.
func Unreachable(src *source.Source) map[Outcome]string {
	tree, err := syntax.Parse(src)
	if err != nil {
		return nil
	}
	p := newProver(tree)
	if !p.run(tree) {
		return nil
	}
	return p.proofs(tree)
}

// Clock is the reason of outcomes that hang on the clock alone.
const Clock = "the day decides it, which no request sets"

// Uncalled begins the reason of outcomes in a macro that nothing calls; its name ends it.
const Uncalled = "no statement that is reached calls the macro "

// nowhere is the reason of outcomes of places that are out of reach.
const nowhere = "nothing leads to this place"

// maxSteps bounds how many statements, expressions and facts are gone through: some hundred times
// those of a long template.
const maxSteps = 4_000_000

// maxRounds bounds how often the template is gone through until its macros have all their values.
const maxRounds = 12

// macro is a macro with the arguments of its calls.
type macro struct {
	*syntax.Macro
	called bool
	params []val
	rooted *table[bool] // the variables of the template that are set wherever it is called
}

type prover struct {
	model      *flow.Model
	macros     map[string][]*macro
	order      []*macro
	assigned   map[string]bool // names that some statement sets
	inMacros   map[string]bool // attributes that macros and call blocks set
	mutates    bool            // some statement changes a list or an object
	taints     bool            // it may be a part of the request
	inside     bool            // such a statement is in a macro or a call block
	changed    bool
	unprovable bool
	reached    map[Outcome]bool
	clocked    map[Outcome]bool     // those of conditions that depend on the clock alone
	came       map[syntax.Stmt]bool // the statements that something leads to
	chosen     map[syntax.Expr]way  // the values of and, or and default
	loops      []*loopEnds
	depth      int            // how many scopes there are around
	values     map[string]val // all that statements assign, by name
	keys       *keys
}

// loopEnds are the environments with which a loop's body was left.
type loopEnds struct{ next, out *env }

func newProver(tree *syntax.Template) *prover {
	p := &prover{macros: map[string][]*macro{}, assigned: map[string]bool{},
		inMacros: map[string]bool{}, reached: map[Outcome]bool{}, clocked: map[Outcome]bool{},
		came: map[syntax.Stmt]bool{}, chosen: map[syntax.Expr]way{},
		keys: newKeys(), values: map[string]val{}}
	p.model = flow.New(tree)
	own := map[owner]bool{}
	for _, r := range p.model.Refs {
		if r.Kind.Local() && r.Kind != flow.Param {
			p.assigned[r.Name] = true
		}
		target, ok := r.Node.(*syntax.AttrTarget)
		if caller := r.At.Region.Caller(); ok && caller != nil {
			key := owner{target.Name, caller}
			if _, known := own[key]; !known {
				own[key] = p.owns(key)
			}
			if !own[key] {
				p.inMacros[target.Attr] = true
			}
		}
	}
	var visit func(n syntax.Node, inside bool)
	visit = func(n syntax.Node, inside bool) {
		switch n := n.(type) {
		case *syntax.Macro:
			p.unprovable = p.unprovable || inside
			m := &macro{Macro: n, params: make([]val, len(n.Params.Params))}
			p.macros[n.Name] = append(p.macros[n.Name], m)
			p.order = append(p.order, m)
			inside = true
		case *syntax.CallBlock:
			inside = true
		case *syntax.For:
			p.unprovable = p.unprovable || n.Recursive
		case *syntax.Call:
			if a, ok := n.Func.(*syntax.Attr); ok && flow.Methods[a.Name].Changes {
				p.mutates = true
				p.inside = p.inside || inside
			}
		case *syntax.Block, *syntax.Extends, *syntax.Include, *syntax.Import, *syntax.FromImport:
			p.unprovable = true
		}
		syntax.Each(n, func(c syntax.Node) { visit(c, inside) })
	}
	for _, n := range tree.Body {
		visit(n, false)
	}
	return p
}

// owner is a variable of a macro or a call block.
type owner struct {
	name string
	in   *flow.Region
}

// owns reports whether a macro sets a variable to new namespaces and to nothing else: no other
// macro has them but by an argument.
func (p *prover) owns(o owner) bool {
	owned := false
	for r := range p.model.Definitions(o.name) {
		if !r.Kind.Local() || r.At.Region.Caller() != o.in {
			continue
		}
		value, _ := r.Value.(syntax.Expr)
		if _, namespace := flow.NewNamespace(value); !namespace || r.Kind != flow.Set {
			return false
		}
		owned = true
	}
	return owned
}

// way is which values an operator or filter was seen to take: any at all, and its second one.
type way struct{ some, second bool }

// choose notes that an expression takes one of two values, or may take the second.
func (p *prover) choose(x syntax.Expr, second bool) {
	w := p.chosen[x]
	p.chosen[x] = way{true, w.second || second}
}

// run goes through the template until nothing changes, and reports whether that came to an end.
func (p *prover) run(tree *syntax.Template) bool {
	for round := 0; ; round++ {
		p.changed = false
		p.body(tree.Body, p.newEnv())
		for _, m := range p.order {
			if m.called {
				p.macro(m, round >= maxRounds)
			}
		}
		if p.unprovable || p.exhausted() {
			return false
		}
		if !p.changed {
			return true
		}
	}
}

// macro goes through the body of a macro.
func (p *prover) macro(m *macro, anything bool) {
	e := p.newEnv()
	e.macro, e.rooted = true, m.rooted
	p.depth++
	defer func() { p.depth-- }()
	for i, name := range m.Params.Params {
		if anything && m.params[i].kinds != flow.Everything {
			m.params[i] = top
			p.changed = true
		}
		v := m.params[i]
		if d := i - (len(m.Params.Params) - len(m.Defaults)); d >= 0 {
			v = v.or(p.eval(m.Defaults[d], e))
		} else if v.kinds == 0 {
			v = val{kinds: flow.Undef} // a call gave fewer arguments
		}
		e.set(name.Name, v)
	}
	p.body(m.Body, e)
}

// proofs names the outcomes that were never reached.
func (p *prover) proofs(tree *syntax.Template) map[Outcome]string {
	proofs := map[Outcome]string{}
	site := func(kind flow.SiteKind, off int, in *macro) {
		outcomes := kind.Outcomes()
		reached := slices.ContainsFunc(outcomes, func(o flow.Outcome) bool {
			return p.reached[Outcome{kind, off, o}]
		})
		for _, o := range outcomes {
			key := Outcome{kind, off, o}
			switch {
			case p.clocked[key]:
				proofs[key] = Clock
			case p.reached[key]:
			case in != nil && !in.called:
				proofs[key] = Uncalled + in.Name
			case !reached:
				proofs[key] = nowhere
			case kind == flow.SiteFor && !p.reached[Outcome{kind, off, flow.Entered}]:
				proofs[key] = "there is never anything to go through"
			case kind == flow.SiteFor:
				proofs[key] = "the loop has one round"
			case o == flow.True:
				proofs[key] = "the condition never holds"
			case o == flow.False:
				proofs[key] = "the condition always holds"
			}
		}
	}
	macros := map[*syntax.Macro]*macro{}
	for _, m := range p.order {
		macros[m.Macro] = m
	}
	// why is the reason why nothing leads to a node; "": something may
	var visit func(n syntax.Node, in *macro, why string)
	body := func(body []syntax.Stmt, in *macro, why string) {
		for _, c := range body {
			visit(c, in, why)
		}
	}
	visit = func(n syntax.Node, in *macro, why string) {
		if s, ok := n.(syntax.Stmt); ok && why == "" && !p.came[s] {
			why = nowhere
		}
		switch n := n.(type) {
		case *syntax.Const:
			if why != "" && n.Kind >= syntax.String {
				proofs[Outcome{flow.SiteText, n.Offset(), flow.Written}] = why
			}
			return
		case *syntax.Macro:
			if in, why = macros[n], ""; in != nil && !in.called {
				why = Uncalled + in.Name
			}
		case *syntax.If:
			site(flow.SiteIf, n.Offset(), in)
			for _, branch := range n.Elif {
				site(flow.SiteElif, branch.Offset(), in)
				visit(branch.Test, in, why)
				body(branch.Body, in, why)
			}
			visit(n.Test, in, why)
			body(n.Body, in, why)
			body(n.Else, in, why)
			return
		case *syntax.For:
			site(flow.SiteFor, n.Offset(), in)
		case *syntax.Cond:
			site(flow.SiteCond, n.Offset(), in)
			visit(n.Test, in, why)
			arm := func(o flow.Outcome) string {
				if w := proofs[Outcome{flow.SiteCond, n.Offset(), o}]; why == "" && w != Clock {
					return w
				}
				return why
			}
			visit(n.Then, in, arm(flow.True))
			if n.Else != nil {
				visit(n.Else, in, arm(flow.False))
			}
			return
		case *syntax.Logic:
			visit(n.X, in, why)
			if w := p.chosen[n]; why == "" && w.some && !w.second {
				why = map[string]string{"and": "the value before it is always empty",
					"or": "the value before it is never empty"}[n.Op]
			}
			visit(n.Y, in, why)
			return
		case *syntax.Filter:
			if w := p.chosen[n]; why == "" && w.some && !w.second {
				visit(n.X, in, why)
				visit(n.Args.Args[0], in, "the value before it is always there")
				return
			}
		}
		for _, c := range syntax.Children(n) {
			visit(c, in, why)
		}
	}
	for _, n := range tree.Body {
		visit(n, nil, "")
	}
	maps.DeleteFunc(proofs, func(o Outcome, _ string) bool {
		return o.Outcome == flow.Empty // it is listed, and does not count
	})
	return proofs
}

// decide notes the outcomes that a condition may have.
func (p *prover) decide(kind flow.SiteKind, off int, v val) {
	clock := v.from == fromClock
	note := func(o flow.Outcome) {
		key := Outcome{kind, off, o}
		if !p.reached[key] {
			p.reached[key], p.changed = true, true
			p.clocked[key] = clock
		} else if p.clocked[key] && !clock {
			p.clocked[key] = false
		}
	}
	if v.kinds&flow.Truthy != 0 {
		note(flow.True)
	}
	if v.kinds&flow.Falsy != 0 {
		note(flow.False)
	}
}

// exhausted reports whether a proof takes more steps than it may.
func (p *prover) exhausted() bool { return p.keys.steps > maxSteps }

// body goes through statements.
func (p *prover) body(body []syntax.Stmt, e *env) {
	for _, n := range body {
		if e.dead || p.exhausted() {
			return
		}
		p.stmt(n, e)
	}
}

// branches goes on with the two ways that a condition may go, and joins them.
func (p *prover) branches(kind flow.SiteKind, off int, test syntax.Expr, e *env,
	then, other func(e *env)) {
	v := p.eval(test, e)
	if e.dead {
		return
	}
	p.decide(kind, off, v)
	yes, no := e.clone(), e.clone()
	yes.dead = v.kinds&flow.Truthy == 0
	no.dead = v.kinds&flow.Falsy == 0
	if !yes.dead {
		p.given(test, true, yes)
	}
	if !no.dead {
		p.given(test, false, no)
	}
	if !yes.dead {
		then(yes)
	}
	if !no.dead {
		other(no)
	}
	e.become(p.join(yes, no, v.from != fromClock && v.from != 0))
}

func (p *prover) stmt(n syntax.Stmt, e *env) {
	p.keys.steps++
	p.came[n] = true
	switch n := n.(type) {
	case *syntax.Output:
		for _, part := range n.Parts {
			if p.eval(part, e); e.dead {
				return
			}
		}
	case *syntax.If:
		p.chain(flow.SiteIf, n, n.Elif, n.Else, e)
	case *syntax.For:
		p.loop(n, e)
	case *syntax.Macro:
	case *syntax.CallBlock:
		p.eval(n.Call, e)
		p.forgetMacros(e)
		inner := e.clone()
		inner.macro = true
		for _, name := range n.Params.Params {
			inner.set(name.Name, top)
		}
		p.depth++
		p.body(n.Body, inner)
		p.depth--
		p.forgetMacros(e)
	case *syntax.FilterBlock:
		p.scoped(n.Body, e)
	case *syntax.With:
		inner := e.clone()
		p.depth++
		for i, t := range n.Targets {
			p.assign(t, p.eval(n.Values[i], inner), inner)
		}
		p.body(n.Body, inner)
		p.depth--
		p.leave(n.Body, e, inner)
	case *syntax.Assign:
		v := p.eval(n.Value, e)
		if e.dead {
			return
		}
		all, known := e.each.get(listName(n.Value))
		p.assign(n.Target, v, e)
		if name, ok := n.Target.(*syntax.Name); ok {
			p.alias(name.Name, n.Value, e)
		}
		if name, ok := n.Target.(*syntax.Name); ok && known {
			e.each = e.each.with(name.Name, all)
		}
		target, isName := n.Target.(*syntax.Name)
		call, isCall := n.Value.(*syntax.Call)
		if isName && isCall && syntax.IsName(call.Func, "namespace") && len(call.Args.Args) == 0 &&
			call.StarStar == nil {
			for _, k := range call.Keywords {
				e.note(p.keys.attribute(target.Name, k.Name), p.eval(k.Value, e))
			}
		}
	case *syntax.AssignBlock:
		p.scoped(n.Body, e)
		v := val{kinds: flow.Strings, from: fromOther}
		if n.Filter == nil && slices.ContainsFunc(n.Body, writes) {
			v.kinds = flow.Text
		}
		p.assign(n.Target, v, e)
	case *syntax.Autoescape:
		p.scoped(n.Body, e)
	case *syntax.Generation:
		p.scoped(n.Body, e)
	case *syntax.Break:
		if len(p.loops) > 0 {
			l := p.loops[len(p.loops)-1]
			l.out = p.join(l.out, e.clone(), true)
		}
		e.dead = true
	case *syntax.Continue:
		if len(p.loops) > 0 {
			l := p.loops[len(p.loops)-1]
			l.next = p.join(l.next, e.clone(), true)
		}
		e.dead = true
	default:
		p.unprovable = true
	}
}

// writes reports whether a statement writes text of the template, whatever else it does.
func writes(n syntax.Stmt) bool {
	out, ok := n.(*syntax.Output)
	return ok && slices.ContainsFunc(out.Parts, func(x syntax.Expr) bool {
		c, ok := x.(*syntax.Const)
		return ok && c.Kind == syntax.Data && c.Text != ""
	})
}

// chain goes through an if with its other branches.
func (p *prover) chain(kind flow.SiteKind, n *syntax.If, rest []*syntax.If, last []syntax.Stmt,
	e *env) {
	p.branches(kind, n.Offset(), n.Test, e,
		func(e *env) { p.body(n.Body, e) },
		func(e *env) {
			if len(rest) > 0 {
				p.chain(flow.SiteElif, rest[0], rest[1:], last, e)
			} else {
				p.body(last, e)
			}
		})
}

// scoped goes through a body with a scope of its own.
func (p *prover) scoped(body []syntax.Stmt, e *env) {
	inner := e.clone()
	p.depth++
	p.body(body, inner)
	p.depth--
	p.leave(body, e, inner)
}

// leave takes a body with a scope of its own out of an environment again.
func (p *prover) leave(body []syntax.Stmt, e, inner *env) {
	if inner.dead {
		e.dead = true
		return
	}
	names := map[string]bool{}
	for _, n := range body {
		namesIn(n, names)
	}
	e.become(restored(e, inner, names))
}

// restored returns an inner environment without the facts about names of its own; for these the
// facts of the outer one hold.
func restored(outer, inner *env, names map[string]bool) *env {
	all := inner.clone()
	all.dead, all.macro, all.rooted = false, outer.macro, outer.rooted
	all.keep(func(of []string) bool {
		return !slices.ContainsFunc(of, func(name string) bool { return names[name] })
	})
	for name := range names {
		for _, k := range all.keys.byName[name] {
			var f *fact
			if len(k.of) == 1 {
				f = outer.facts.at(k)
			}
			if all.facts.at(k) != f {
				all.facts.put(all.keys, k, f)
			}
		}
	}
	return all
}

// namesIn notes the names that a statement sets in its own scope.
func namesIn(n syntax.Node, names map[string]bool) {
	for _, name := range syntax.Assigned(n) {
		names[name] = true
	}
	if _, macro := n.(*syntax.Macro); macro {
		return
	}
	for _, c := range syntax.Children(n) {
		namesIn(c, names)
	}
}

// maxLoops bounds how often a loop's body is gone through until its environment is stable.
const maxLoops = 8

// loop goes through a loop.
func (p *prover) loop(n *syntax.For, e *env) {
	over := p.eval(n.Iter, e)
	if e.dead {
		return
	}
	note := func(o flow.Outcome) {
		key := Outcome{flow.SiteFor, n.Offset(), o}
		if !p.reached[key] {
			p.reached[key], p.changed = true, true
		}
	}
	note(flow.Empty)
	names := map[string]bool{"loop": true}
	namesIn(n, names)
	none := e.clone()
	p.scoped(n.Else, none)
	if over.kinds&flow.Many == 0 {
		e.become(none)
		return
	}
	target, _ := n.Target.(*syntax.Name)
	known, _ := e.each.get(listName(n.Iter))
	if target == nil || known.item != target.Name {
		known = allItems{}
	}
	start := e.clone()
	var left, ended *env // where the loop is left, and where its rounds end
	broken := false
	for i := 0; ; i++ {
		in := start.clone()
		for name := range names { // of an earlier round, or from outside
			if f := e.facts.at(p.keys.variable(name)); f != nil {
				in.set(name, f.val)
			} else {
				in.forget(name)
			}
		}
		p.round(i == 0, in)
		p.assign(n.Target, p.element(n.Iter, over, e), in)
		known.apply(in)
		if list, ok := n.Iter.(*syntax.Name); i == 0 || ok && !names[list.Name] {
			p.narrow(n.Iter, val{kinds: flow.Many}, in) // there is something to go through
			p.settle(in)
		}
		if i == 0 && target != nil && n.Test == nil {
			in.first(n.Iter, target.Name)
		}
		if n.Test != nil {
			v := p.eval(n.Test, in)
			if v.kinds&flow.Truthy == 0 || in.dead {
				in.dead = true
			} else {
				p.given(n.Test, true, in)
			}
		}
		if in.dead && i > 0 {
			break
		}
		var next *env
		if in.dead { // no item passes the test in the first round; the next one is the first
			next = e.clone()
		} else {
			note(flow.Entered)
			ends := &loopEnds{}
			p.loops = append(p.loops, ends)
			p.depth++
			p.body(n.Body, in)
			p.depth--
			p.loops = p.loops[:len(p.loops)-1]
			left = p.join(left, ends.out, true)
			broken = broken || ends.out != nil && !ends.out.dead
			next = p.join(in, ends.next, true)
			if next.dead {
				break
			}
			left, ended = p.join(left, next, true), p.join(ended, next, true)
		}
		if over.kinds == flow.Items && len(over.whole) == 1 {
			break
		}
		next = restored(e, next, names)
		if i == 0 {
			start = next // the first round is gone through on its own
			continue
		}
		note(flow.Repeated)
		again := p.join(start, next, true)
		if again.same(start) {
			break
		}
		if start = again; i > maxLoops {
			p.unprovable = true
			return
		}
	}
	if left == nil || left.dead {
		e.become(none)
		return
	}
	e.become(p.join(none, restored(e, left, names), true))
	if list, ok := n.Iter.(*syntax.Name); ok && target != nil && !broken && n.Test == nil &&
		(over.json && !p.taints || !p.mutates) && !assigns(n.Body, target.Name) &&
		!names[list.Name] {
		e.each = e.each.with(list.Name, itemsOf(target.Name, ended))
	}
}

// round notes the facts about the variable loop in the first round, or in a later one.
func (p *prover) round(first bool, e *env) {
	e.set("loop", val{kinds: flow.Object})
	at, yesNo := flow.Zero, flow.Yes
	if !first {
		at, yesNo = flow.Number, flow.No
	}
	for name, k := range map[string]flow.Kinds{"first": yesNo, "index0": at} {
		e.note(p.keys.attribute("loop", name), val{kinds: k, from: fromOther})
	}
}

// listName is the name of the list that an expression has the items of, or some of them; "" where
// it has none.
func listName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name
	case *syntax.Item:
		if _, ok := x.Index.(*syntax.Slice); ok {
			return listName(x.X)
		}
	case *syntax.Filter:
		if x.X != nil && (x.Name == "list" || x.Name == "reverse") {
			return listName(x.X)
		}
	}
	return ""
}

// assigns reports whether statements give a variable a value.
func assigns(body []syntax.Stmt, name string) bool {
	names := map[string]bool{}
	for _, n := range body {
		namesIn(n, names)
	}
	return names[name]
}

// element returns the values that a loop's variable may have.
func (p *prover) element(iter syntax.Expr, over val, e *env) val {
	var literal []syntax.Expr
	switch x := iter.(type) {
	case *syntax.List:
		literal = x.Items
	case *syntax.Tuple:
		literal = x.Items
	}
	if len(literal) > 0 {
		var v val
		for _, x := range literal {
			v = v.or(p.eval(x, e))
		}
		return v
	}
	if over.own && !over.json || over.elem != nil || over.whole != nil {
		if v, ok := over.items(); ok {
			return v
		}
	}
	if over.json && !p.taints {
		return anyJSON
	}
	return top
}

// assign gives a target a value.
func (p *prover) assign(target syntax.Node, v val, e *env) {
	switch t := target.(type) {
	case *syntax.Name:
		p.setName(t.Name, v, e)
	case *syntax.AttrTarget:
		e.forget("." + t.Attr)
		e.note(p.keys.attribute(t.Name, t.Attr), v)
	case *syntax.Tuple:
		for i, item := range t.Items {
			if v.kinds == flow.Items && len(v.whole) == len(t.Items) {
				p.assign(item, v.whole[i], e)
				continue
			}
			inner := top
			if v.json && !p.taints {
				inner = anyJSON
			}
			p.assign(item, inner, e)
		}
	}
}

// setName gives a variable a value.
func (p *prover) setName(name string, v val, e *env) {
	e.set(name, v)
	if _, rooted := e.rooted.get(name); p.depth == 0 && !rooted {
		e.rooted = e.rooted.with(name, true)
	}
	if p.mutates && v.own {
		if v.kinds&flow.Lists != 0 {
			v.kinds |= flow.Lists
		}
		if v.kinds&flow.Dicts != 0 {
			v.kinds |= flow.Dicts
		}
		v.json, v.whole, v.has, v.elem = false, nil, nil, nil
	}
	if all := p.values[name].or(v); !all.same(p.values[name]) {
		p.values[name], p.changed = all, true
	}
}

// forgetMacros forgets facts that the call of a macro may change.
func (p *prover) forgetMacros(e *env) {
	for attr := range p.inMacros {
		e.forget("." + attr)
	}
	if p.inside {
		p.mutated(e, false)
	}
}
