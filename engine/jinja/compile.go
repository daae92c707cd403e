package jinja

import (
	"math/big"
	"strconv"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// routine is a body of code with a frame of its own: the template, a macro, a block, a recursive
// loop. jinja2 compiles each to one Python function.
type routine struct {
	id    int
	up    *routine // the routine around it, whose frames it can see
	slots map[slotKey]int
	size  int  // slots in a frame
	inner bool // another routine is defined inside, so frames may outlive their activation
}

// slotKey names a variable of a routine. As in jinja2 scopes of one level share their variables.
type slotKey struct {
	space, level int
	name         string
}

// escaping is the knowledge about escaping of output before the program runs.
type escaping uint8

const (
	escapeOff escaping = iota
	escapeOn
	escapeDynamic // depends on an {% autoescape %} expression
)

// place is where code is compiled: jinja2's Frame.
type place struct {
	*flow.Scope
	fn     *routine // the function whose frame holds the variables
	top    bool     // the template itself, ifs included
	soft   bool     // directly inside an if
	loop   bool     // break and continue are allowed
	escape escaping
}

// in opens a scope inside a place.
func (p place) in(s *flow.Scope, fn *routine) place {
	return place{Scope: s, fn: fn, loop: p.loop && fn == p.fn, escape: p.escape}
}

// compiler turns a tree into code.
type compiler struct {
	t        *Template
	frames   []*routine // by their numbers
	spaces   int
	blocks   map[string]*blockProto
	order    []*syntax.Block
	hasStore bool                   // some statement assigns to a variable called loop
	scoped   bool                   // some block is scoped
	late     func()                 // reports the faults that are only found at the end
	texts    map[*syntax.Const]bool // those that are sites
	reads    map[string]bool        // names that are read somewhere
	attrs    map[string]*attr
	nodes    int // of the code that is being compiled; see counted
}

// TemplateAssertionError is the class of faults that only compiling finds.
const TemplateAssertionError class = "TemplateAssertionError"

// fail leaves the compiler by panic, to [Compile].
func (c *compiler) fail(cl class, pos syntax.Pos, format string, args ...any) {
	err := source.Errorf(c.t.src, pos.Offset(), format, args...)
	err.Err = &raised{cl, err.Msg}
	panic(err)
}

// codeOf compiles a tree, in which some texts are sites. It leaves by panic where there is a fault.
func codeOf(src *source.Source, tree *syntax.Template, texts map[*syntax.Const]bool) *Template {
	c := &compiler{t: &Template{src: src, index: map[string]int{}}, texts: texts,
		reads: map[string]bool{}, attrs: map[string]*attr{}}
	c.template(tree)
	return c.t
}

func (c *compiler) template(tree *syntax.Template) {
	w := flow.Visitor{
		Read: func(n *syntax.Name) { c.reads[n.Name] = true },
		Block: func(b *syntax.Block) bool {
			if c.blocks[b.Name] != nil {
				c.fail(TemplateAssertionError, b.Pos, "block %s defined twice", pyQuote(b.Name))
			}
			if c.blocks == nil {
				c.blocks = map[string]*blockProto{}
			}
			c.blocks[b.Name] = &blockProto{name: b.Name}
			c.order = append(c.order, b)
			c.scoped = c.scoped || b.Scoped
			return true
		},
		Store: func(n *syntax.Name, param bool) {
			c.hasStore = c.hasStore || n.Name == "loop" && !param
		},
	}
	w.Stmts(tree.Body)

	root := c.newRoutine(nil)
	p := place{Scope: flow.NewScope(nil, root.id), fn: root, top: true}
	self := c.self(p.Scope, tree.Body)
	p.Stmts(tree.Body)
	enter := c.enter(p)
	code := c.body(tree.Body, p)
	c.t.root, c.t.enter, c.t.code, c.t.self = root, enter, code, self
	for _, b := range c.order {
		c.block(b)
	}
	c.t.routines, c.t.blocks = len(c.frames), c.blocks
	if c.late != nil {
		c.late()
	}
}

// self declares the variable self where a body reads it, and returns its slot or -1.
func (c *compiler) self(s *flow.Scope, body []syntax.Stmt) int {
	if !flow.Undeclared(body, c.reads, "self")["self"] {
		return -1
	}
	return c.slot(s.Param("self"))
}

// block compiles the body of a block. Its scope has no parent: it sees input and the variables that
// the template has set so far.
func (c *compiler) block(b *syntax.Block) {
	proto := c.blocks[b.Name]
	proto.routine = c.newRoutine(nil)
	p := place{Scope: flow.NewScope(nil, proto.routine.id), fn: proto.routine}
	proto.self, proto.super = c.self(p.Scope, b.Body), -1
	if flow.Undeclared(b.Body, c.reads, "super")["super"] {
		proto.super = c.slot(p.Param("super"))
	}
	p.Stmts(b.Body)
	proto.enter = c.enter(p)
	proto.code = c.body(b.Body, p)
}

func (c *compiler) newRoutine(up *routine) *routine {
	r := &routine{id: len(c.frames), up: up, slots: map[slotKey]int{}}
	c.frames = append(c.frames, r)
	for ; up != nil; up = up.up {
		up.inner = true
	}
	return r
}

// input returns the index of a name that the template reads from its input.
func (c *compiler) input(name string) int {
	i := c.index(name)
	c.t.free[i] = true
	return i
}

// index returns the index of a name among those that blocks and readers share.
func (c *compiler) index(name string) int {
	i, ok := c.t.index[name]
	if !ok {
		i = len(c.t.names)
		c.t.index[name] = i
		c.t.names = append(c.t.names, name)
		global, _ := lookupGlobal(name)
		c.t.globals = append(c.t.globals, global)
		c.t.free = append(c.t.free, false)
	}
	return i
}

// slot gives a variable its place in the frame.
func (c *compiler) slot(v *flow.Variable) int {
	if v.Slot < 0 {
		r := c.frames[v.Scope.Frame]
		key := slotKey{v.Scope.Space, v.Scope.Level, v.Name}
		slot, ok := r.slots[key]
		if !ok {
			slot = c.temp(r)
			r.slots[key] = slot
		}
		v.Slot = slot
	}
	return v.Slot
}

// temp reserves a slot that no variable has.
func (c *compiler) temp(r *routine) int {
	r.size++
	return r.size - 1
}

// hops is the number of frames between a routine and one around it.
func hops(from, to *routine) int {
	n := 0
	for ; from != to; from = from.up {
		n++
	}
	return n
}

// ref returns the code that reads a variable as it is, Missing included.
func (c *compiler) ref(v *flow.Variable, p place) slotRef {
	return slotRef{up: hops(p.fn, c.frames[v.Scope.Frame]), slot: c.slot(v)}
}

// direct reports whether a variable is never anything but the input of that name, so that it needs
// no slot.
func direct(v *flow.Variable) bool { return v.Load == flow.Input && !v.Stored }

// enter returns the steps that entering a scope takes.
func (c *compiler) enter(p place) []entryOp {
	var ops []entryOp
	for _, v := range p.Order {
		switch v.Load {
		case flow.Input:
			if !direct(v) {
				ops = append(ops, entryOp{slot: c.slot(v), input: c.input(v.Name)})
			}
		case flow.Outer:
			op := entryOp{slot: c.slot(v), input: -1}
			if direct(v.Alias) {
				op.input = c.input(v.Name)
			} else {
				op.from = c.ref(v.Alias, p)
				op.copies = true
			}
			ops = append(ops, op)
		case flow.Nothing:
			ops = append(ops, entryOp{slot: c.slot(v), input: -1})
		case flow.Parameter:
			c.slot(v)
		}
	}
	return ops
}

// leave returns the slots to be cleared when a scope is left. Only a routine that was defined
// inside can notice.
func (c *compiler) leave(p place, routinesBefore int) []int {
	if len(c.frames) == routinesBefore {
		return nil
	}
	var slots []int
	for _, v := range p.Order {
		if !direct(v) {
			slots = append(slots, c.slot(v))
		}
	}
	return slots
}

// nodesPerStep is how many statements and expressions are run in a step.
const nodesPerStep = 32

// counted compiles code and returns how many steps a run of it takes beside those of its
// operations. Code that is too small for a step counts as a part of the code around it, and so does
// not slow a loop down.
func (c *compiler) counted(compile func()) (steps int) {
	around := c.nodes
	c.nodes = 0
	compile()
	if steps = c.nodes / nodesPerStep; steps == 0 {
		around += c.nodes
	}
	c.nodes = around
	return steps
}

func (c *compiler) body(stmts []syntax.Stmt, p place) body {
	out := body{nil}
	steps := c.counted(func() {
		for _, n := range stmts {
			out = c.stmt(out, n, p)
		}
	})
	if steps == 0 {
		return out[1:]
	}
	out[0] = &stepsStmt{steps, syntax.Pos(stmts[0].Offset())}
	return out
}

// stmt appends the code of a statement.
func (c *compiler) stmt(out body, n syntax.Stmt, p place) body {
	c.nodes++
	switch n := n.(type) {
	case *syntax.Output:
		return c.output(out, n, p)
	case *syntax.If:
		return append(out, c.ifStmt(n, p))
	case *syntax.For:
		return append(out, c.forStmt(n, p))
	case *syntax.Assign:
		return append(out, c.assign(n, p))
	case *syntax.AssignBlock:
		return append(out, c.assignBlock(n, p))
	case *syntax.Macro:
		proto := c.macro(&n.Params, n.Body, n.Pos, p)
		proto.name, proto.named = n.Name, true
		return append(out, &macroStmt{proto, c.store(n.Name, p)})
	case *syntax.CallBlock:
		proto := c.macro(&n.Params, n.Body, n.Pos, p)
		for _, k := range n.Call.Keywords {
			if k.Name == "caller" {
				c.fail("SyntaxError", k.Pos, "keyword argument repeated: caller")
			}
		}
		return append(out, &callBlockStmt{proto, c.call(n.Call, p).(*callExpr), n.Pos})
	case *syntax.Generation:
		return append(out, &generationStmt{c.macro(&syntax.Params{}, n.Body, n.Pos, p), n.Pos})
	case *syntax.FilterBlock:
		inner := p.in(flow.NewScope(p.Scope, p.fn.id), p.fn)
		inner.Stmts(n.Body)
		inner.Expr(n.Filter)
		s := &filterStmt{enter: c.enter(inner), slot: c.temp(p.fn), pos: n.Pos}
		before := len(c.frames)
		s.code = c.body(n.Body, inner)
		s.filter = c.filter(n.Filter, inner, &slotExpr{s.slot})
		s.leave = c.leave(inner, before)
		return append(out, s)
	case *syntax.With:
		return append(out, c.with(n, p))
	case *syntax.Autoescape:
		inner := p.in(flow.NewScope(p.Scope, p.fn.id), p.fn)
		inner.Expr(n.On)
		inner.Stmts(n.Body)
		s := &autoescapeStmt{enter: c.enter(inner)}
		s.on = c.expr(n.On, inner)
		inner.escape = escapeDynamic
		if k, ok := s.on.(*constExpr); ok {
			inner.escape = escapeOff
			if truth(nil, k.value) {
				inner.escape = escapeOn
			}
		}
		before := len(c.frames)
		s.code = c.body(n.Body, inner)
		s.leave = c.leave(inner, before)
		return append(out, s)
	case *syntax.Block:
		return append(out, c.blockCall(n, p))
	case *syntax.Break:
		c.inLoop(p, n.Pos, "'break' outside loop")
		return append(out, jumpStmt{breakJump})
	case *syntax.Continue:
		c.inLoop(p, n.Pos, "'continue' not properly in loop")
		return append(out, jumpStmt{continueJump})
	case *syntax.Extends:
		if !p.top {
			c.fail(TemplateAssertionError, n.Pos, "cannot use extend from a non top-level scope")
		}
		return append(out, &loadStmt{name: c.expr(n.Template, p), pos: n.Pos})
	case *syntax.Include:
		return append(out, &loadStmt{name: c.expr(n.Template, p), pos: n.Pos, several: true,
			ignore: n.IgnoreMissing})
	case *syntax.Import:
		return append(out, &loadStmt{name: c.expr(n.Template, p), pos: n.Pos})
	case *syntax.FromImport:
		return append(out, &loadStmt{name: c.expr(n.Template, p), pos: n.Pos})
	}
	panic("unknown statement")
}

// inLoop checks that break and continue have a loop. Python finds it out when jinja2 has found
// everything else.
func (c *compiler) inLoop(p place, pos syntax.Pos, msg string) {
	if !p.loop && c.late == nil {
		c.late = func() { c.fail("SyntaxError", pos, "%s", msg) }
	}
}

func (c *compiler) output(out body, n *syntax.Output, p place) body {
	for _, part := range n.Parts {
		c.nodes++
		if k, ok := part.(*syntax.Const); ok &&
			(k.Kind == syntax.Data || k.Kind == syntax.String && p.escape != escapeOn) {
			if len(out) > 0 {
				if last, ok := out[len(out)-1].(*textStmt); ok {
					last.text += k.Text
					if last.site == nil && c.texts[k] {
						last.site = c.textSite(k)
					}
					continue
				}
			}
			if k.Text != "" {
				s := &textStmt{text: k.Text, pos: k.Pos}
				if c.texts[k] {
					s.site = c.textSite(k)
				}
				out = append(out, s)
			}
			continue
		}
		out = append(out, c.print(c.expr(part, p), p.escape, syntax.Pos(part.Offset())))
	}
	return out
}

// print picks the fastest statement for the printed expression.
func (c *compiler) print(x expr, esc escaping, pos syntax.Pos) stmt {
	if esc == escapeOff {
		switch x := x.(type) {
		case *sumExpr:
			return &printSum{x, pos}
		case *concatExpr:
			return &printConcat{x, pos}
		case *callExpr:
			return &printCall{x, pos}
		case *condExpr:
			s := &printCond{test: x.test, site: x.site, then: c.print(x.then, esc, pos)}
			if x.otherwise != nil {
				s.otherwise = c.print(x.otherwise, esc, pos)
			}
			return s
		case *constExpr:
			if x.value.kind == String {
				return &textStmt{text: x.value.text(), pos: pos}
			}
		case *textConst:
			return &textStmt{x.value.text(), pos, x}
		}
	}
	return &printStmt{x, esc, pos}
}

func (c *compiler) ifStmt(n *syntax.If, p place) stmt {
	p.soft = true
	s := &ifStmt{branches: make([]ifBranch, 1, 1+len(n.Elif))}
	branch := func(kind flow.SiteKind, n *syntax.If) ifBranch {
		site := c.site(kind, n.Pos, syntax.Pos(n.Test.Offset()))
		return ifBranch{c.expr(n.Test, p), c.body(n.Body, p), site}
	}
	s.branches[0] = branch(flow.SiteIf, n)
	for _, e := range n.Elif {
		s.branches = append(s.branches, branch(flow.SiteElif, e))
	}
	s.otherwise = c.body(n.Else, p)
	return s
}

func (c *compiler) forStmt(n *syntax.For, p place) stmt {
	s := &forStmt{pos: syntax.Pos(n.Iter.Offset()), loop: -1}
	s.site = c.site(flow.SiteFor, n.Pos, s.pos)
	s.iter = c.expr(n.Iter, p)
	fn := p.fn
	if n.Recursive {
		fn = c.newRoutine(p.fn)
		s.recursive = &recursion{routine: fn, stmt: s}
	}
	loopScope := flow.NewScope(p.Scope, fn.id)
	if n.Recursive || flow.Undeclared(n.Body, c.reads, "loop")["loop"] ||
		c.scoped && c.hasScoped(n) {
		v := loopScope.Param("loop")
		v.IsLoop = true
		s.loop = c.slot(v)
	}
	loopScope.Target(n.Target, true)
	loopScope.Stmts(n.Body)
	if c.hasStore {
		w := flow.Visitor{Store: func(name *syntax.Name, param bool) {
			if name.Name == "loop" && !param {
				c.fail(TemplateAssertionError, name.Pos, "Can't assign to special loop variable "+
					"in for-loop target")
			}
		}}
		w.Stmt(n)
	}
	if n.Test != nil {
		// jinja2 makes the condition a function of its own, with its own copy of the target.
		test := p.in(flow.NewScope(p.Scope, fn.id), fn)
		c.spaces++
		test.Space = c.spaces
		test.Target(n.Target, true)
		test.Scope.Expr(n.Test)
		s.testEnter = c.enter(test)
		s.testTarget = c.target(n.Target, test)
		s.testSteps = c.counted(func() { s.test = c.expr(n.Test, test) })
	}
	inner := p.in(loopScope, fn)
	inner.loop = true
	s.enter = c.enter(inner)
	s.target = c.target(n.Target, inner)
	s.single = -1
	switch t := s.target.(type) {
	case slotTarget:
		s.single = t.slot
	case tupleTarget:
		if len(t.parts) == 2 {
			k, ok := t.parts[0].(slotTarget)
			v, ok2 := t.parts[1].(slotTarget)
			s.pair = ok && ok2
			s.pairSlots = [2]int{k.slot, v.slot}
		}
	}
	before := len(c.frames)
	s.code = c.body(n.Body, inner)
	s.leave = c.leave(inner, before)
	s.keepsLoop = n.Recursive || c.scoped || s.loop >= 0 && loopScope.Vars["loop"].Kept
	if n.Else != nil {
		other := p.in(flow.NewScope(p.Scope, fn.id), fn)
		other.Stmts(n.Else)
		s.elseEnter = c.enter(other)
		before = len(c.frames)
		s.otherwise = c.body(n.Else, other)
		s.elseLeave = c.leave(other, before)
	}
	return s
}

func (c *compiler) hasScoped(n *syntax.For) bool {
	found := false
	w := flow.Visitor{Block: func(b *syntax.Block) bool {
		found = found || b.Scoped
		return true
	}}
	w.Stmt(n)
	return found
}

// store returns the target for a name.
func (c *compiler) store(name string, p place) target {
	v := p.Find(name)
	t := slotTarget{slot: c.slot(v)}
	if p.top && c.blocks != nil {
		return inputTarget{t.slot, c.index(name)}
	}
	return t
}

func (c *compiler) target(x syntax.Expr, p place) target {
	switch x := x.(type) {
	case *syntax.Name:
		return c.store(x.Name, p)
	case *syntax.AttrTarget:
		return &attrTarget{c.name(&syntax.Name{Pos: x.Pos, Name: x.Name}, p), x.Attr, x.Pos}
	case *syntax.Tuple:
		t := tupleTarget{pos: x.Pos}
		for _, item := range x.Items {
			t.parts = append(t.parts, c.target(item, p))
		}
		return t
	}
	panic("unknown target")
}

func (c *compiler) assign(n *syntax.Assign, p place) stmt {
	t := c.target(n.Target, p)
	x := c.expr(n.Value, p)
	if s, ok := t.(slotTarget); ok {
		return &setStmt{s.slot, x}
	}
	return &assignStmt{t, x}
}

func (c *compiler) assignBlock(n *syntax.AssignBlock, p place) stmt {
	inner := p.in(flow.NewScope(p.Scope, p.fn.id), p.fn)
	inner.Stmts(n.Body)
	s := &assignBlockStmt{target: c.target(n.Target, p), enter: c.enter(inner), pos: n.Pos}
	before := len(c.frames)
	s.code = c.body(n.Body, inner)
	if n.Filter != nil {
		s.slot = c.temp(p.fn)
		s.filter = c.filter(n.Filter, inner, &slotExpr{s.slot})
	}
	s.leave = c.leave(inner, before)
	return s
}

func (c *compiler) with(n *syntax.With, p place) stmt {
	inner := p.in(flow.NewScope(p.Scope, p.fn.id), p.fn)
	for _, t := range n.Targets {
		inner.Target(t, true)
	}
	inner.Stmts(n.Body)
	s := &withStmt{enter: c.enter(inner)}
	for i, t := range n.Targets {
		s.sets = append(s.sets, assignStmt{c.target(t, inner), c.expr(n.Values[i], p)})
	}
	before := len(c.frames)
	s.code = c.body(n.Body, inner)
	s.leave = c.leave(inner, before)
	return s
}

// macro compiles the body of a macro or call block (jinja2's macro_body).
func (c *compiler) macro(ps *syntax.Params, stmts []syntax.Stmt, pos syntax.Pos,
	p place) *macroProto {
	r := c.newRoutine(p.fn)
	s := flow.NewScope(p.Scope, r.id)
	analyse := func() {
		for _, param := range ps.Params {
			s.Param(param.Name)
		}
		s.Exprs(ps.Defaults)
		s.Stmts(stmts)
	}
	analyse()
	m := &macroProto{routine: r, caller: -1, kwargs: -1, varargs: -1}
	special := flow.Undeclared(stmts, c.reads, "caller", "kwargs", "varargs")
	for i, param := range ps.Params {
		mp := macroParam{name: param.Name, slot: c.slot(s.Vars[param.Name])}
		if d := i - len(ps.Params) + len(ps.Defaults); d >= 0 {
			mp.pos = param.Pos
			mp.def = &constExpr{} // its code follows, when the scope is complete
		} else if param.Name == "caller" && special["caller"] {
			c.fail(TemplateAssertionError, pos, `When defining macros or call blocks the special "caller" argument must be omitted or be given a default.`)
		}
		m.explicitCaller = m.explicitCaller || param.Name == "caller"
		if param.Name == "kwargs" || param.Name == "varargs" {
			special[param.Name] = false
		}
		m.params = append(m.params, mp)
	}
	if special["caller"] {
		m.takesCaller = true
		if !m.explicitCaller {
			m.caller = c.slot(s.Param("caller"))
		}
	}
	if special["kwargs"] {
		m.kwargs = c.slot(s.Param("kwargs"))
	}
	if special["varargs"] {
		m.varargs = c.slot(s.Param("varargs"))
	}
	analyse()
	inner := p.in(s, r)
	m.enter = c.enter(inner)
	m.steps = c.counted(func() {
		c.nodes += len(m.params)
		for i := range ps.Defaults {
			m.params[len(m.params)-len(ps.Defaults)+i].def = c.expr(ps.Defaults[i], inner)
		}
	})
	m.code = c.body(stmts, inner)
	return m
}

func (c *compiler) blockCall(n *syntax.Block, p place) stmt {
	s := &blockStmt{proto: c.blocks[n.Name], required: n.Required, pos: n.Pos}
	if n.Scoped {
		seen := map[string]bool{}
		for sc := p.Scope; sc != nil; sc = sc.Parent {
			for _, v := range sc.Order {
				if v.Stored && !seen[v.Name] {
					seen[v.Name] = true
					s.locals = append(s.locals, blockLocal{c.index(v.Name), c.ref(v, p)})
				}
			}
		}
	}
	return s
}

// Expressions.

func (c *compiler) exprs(list []syntax.Expr, p place) []expr {
	out := make([]expr, len(list))
	for i, x := range list {
		out[i] = c.expr(x, p)
	}
	return out
}

// maybe compiles an expression that may be absent.
func (c *compiler) maybe(x syntax.Expr, p place) expr {
	if x == nil {
		return nil
	}
	return c.expr(x, p)
}

func (c *compiler) expr(x syntax.Expr, p place) expr {
	c.nodes++
	switch x := x.(type) {
	case *syntax.Name:
		return c.name(x, p)
	case *syntax.Const:
		if c.texts[x] {
			return c.textSite(x)
		}
		return &constExpr{c.constant(x)}
	case *syntax.Tuple:
		return &tupleExpr{c.exprs(x.Items, p)}
	case *syntax.List:
		return &listExpr{c.exprs(x.Items, p)}
	case *syntax.Dict:
		d := &dictExpr{pos: x.Pos}
		for _, pair := range x.Items {
			d.keys = append(d.keys, c.expr(pair.Key, p))
			d.values = append(d.values, c.expr(pair.Value, p))
		}
		return d
	case *syntax.Unary:
		return c.unary(x, p)
	case *syntax.Binary:
		if x.Op == "+" {
			return c.sum(x, p)
		}
		if u, ok := x.X.(*syntax.Unary); ok && x.Op == "**" && u.Op == "-" && !isConstant(x.Y) {
			if k, ok := u.X.(*syntax.Const); ok {
				// jinja2 writes the folded constant in front of Python's **, which binds tighter
				// than the sign it begins with
				return &unaryExpr{"-", &binaryExpr{pow, c.expr(k, p), c.expr(x.Y, p), x.Pos}, u.Pos}
			}
		}
		return &binaryExpr{binaryOps[x.Op], c.expr(x.X, p), c.expr(x.Y, p), x.Pos}
	case *syntax.Logic:
		left := c.expr(x.X, p)
		var k Value // as jinja2's optimizer does, skip operands that a constant short-circuits
		switch left := left.(type) {
		case *constExpr:
			k = left.value
		case *textConst:
			k = left.value
		}
		if k.kind != Missing {
			if truth(nil, k) != (x.Op == "and") {
				return left
			}
			return c.expr(x.Y, p)
		}
		if x.Op == "and" {
			return &andExpr{left, c.expr(x.Y, p)}
		}
		return &orExpr{left, c.expr(x.Y, p)}
	case *syntax.Concat:
		return &concatExpr{c.exprs(x.Items, p), p.escape, x.Pos}
	case *syntax.Compare:
		if len(x.Ops) == 1 {
			return c.comparison(x.Ops[0].Op, c.expr(x.X, p), c.expr(x.Ops[0].X, p), x.Pos)
		}
		chain := &chainExpr{first: c.expr(x.X, p), pos: x.Pos}
		for _, op := range x.Ops {
			chain.ops = append(chain.ops, op.Op)
			chain.rest = append(chain.rest, c.expr(op.X, p))
		}
		return chain
	case *syntax.Cond:
		p.soft = true
		line := c.t.src.Position(x.Offset()).Line
		site := c.site(flow.SiteCond, x.Pos, syntax.Pos(x.Test.Offset()))
		return &condExpr{c.expr(x.Test, p), c.expr(x.Then, p), c.maybe(x.Else, p), line, site}
	case *syntax.Attr:
		if name, ok := x.X.(*syntax.Name); ok {
			if v := p.Find(name.Name); v != nil && v.IsLoop && v.Scope.Vars["loop"] == v {
				if field, ok := loopFields[x.Name]; ok {
					ref := c.ref(v, p)
					return &loopExpr{ref, field, x.Pos}
				}
			}
		}
		if c.attrs[x.Name] == nil {
			c.attrs[x.Name] = newAttr(x.Name)
		}
		return &attrExpr{c.expr(x.X, p), c.attrs[x.Name], x.Pos}
	case *syntax.Item:
		object := c.expr(x.X, p)
		if s, ok := x.Index.(*syntax.Slice); ok {
			return &sliceExpr{object, c.maybe(s.Start, p), c.maybe(s.Stop, p), c.maybe(s.Step, p),
				x.Pos}
		}
		key := c.expr(x.Index, p)
		if k, ok := key.(*constExpr); ok && k.value.kind == String {
			return &keyExpr{object, k.value, k.value.text(), x.Pos}
		}
		return &itemExpr{object, key, x.Pos}
	case *syntax.Slice:
		c.fail("SyntaxError", x.Pos, "a slice cannot be one of several indexes")
	case *syntax.Call:
		return c.call(x, p)
	case *syntax.Filter:
		return c.filter(x, p, nil)
	case *syntax.Test:
		return c.test(x, p)
	}
	panic("unknown expression")
}

// isConstant reports whether an expression is made of number literals only.
func isConstant(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Const:
		return x.Kind == syntax.Int || x.Kind == syntax.Float
	case *syntax.Unary:
		return isConstant(x.X)
	case *syntax.Binary:
		return isConstant(x.X) && isConstant(x.Y)
	}
	return false
}

func (c *compiler) name(x *syntax.Name, p place) expr {
	v := p.Find(x.Name)
	if v == nil {
		c.fail("AssertionError", x.Pos, "Tried to resolve a name to a reference that was "+
			"unknown to the frame (%s)", pyQuote(x.Name))
	}
	if direct(v) {
		return &inputExpr{c.input(x.Name), x.Name, x.Pos}
	}
	ref := c.ref(v, p)
	input := v
	for input.Load == flow.Outer {
		input = input.Alias
	}
	input.Kept = true
	asked := input.Load == flow.Input // missing means missing in the input
	if ref.up == 0 {
		return &localExpr{ref.slot, x.Name, asked, x.Pos}
	}
	return &outerExpr{ref, x.Name, asked, x.Pos}
}

func (c *compiler) constant(x *syntax.Const) Value {
	switch x.Kind {
	case syntax.True:
		return boolValue(true)
	case syntax.False:
		return boolValue(false)
	case syntax.Int:
		if i, err := strconv.ParseInt(x.Text, 0, 64); err == nil {
			return int64Value(i)
		}
		b, ok := new(big.Int).SetString(x.Text, 0)
		if !ok {
			b = new(big.Int)
		}
		return bigValue(b)
	case syntax.Float:
		return parseNumber(x.Text)
	case syntax.String, syntax.Data:
		return stringValue(x.Text)
	}
	return noneValue()
}

func (c *compiler) unary(x *syntax.Unary, p place) expr {
	inner := c.expr(x.X, p)
	if x.Op == "not" {
		if t, ok := inner.(*isExpr); ok {
			return &isExpr{t.x, t.kinds, !t.negated}
		}
		return &notExpr{inner}
	}
	if k, ok := inner.(*constExpr); ok && x.Op == "-" && k.value.kind == Int && k.value.int() > 0 {
		return &constExpr{int64Value(-k.value.int())}
	}
	return &unaryExpr{x.Op, inner, x.Pos}
}

// sum flattens a + b + c, which is how templates build text.
func (c *compiler) sum(x *syntax.Binary, p place) expr {
	left := c.expr(x.X, p)
	s, ok := left.(*sumExpr)
	if !ok {
		s = &sumExpr{terms: []expr{left}}
	}
	s.terms = append(s.terms, c.expr(x.Y, p))
	s.pos = append(s.pos, x.Pos)
	return s
}

func (c *compiler) comparison(op string, a, b expr, pos syntax.Pos) expr {
	switch op {
	case "==", "!=":
		if k, ok := b.(*constExpr); ok && k.value.kind == String {
			return &equalText{a, k.value, op == "!=", pos}
		}
		return &equalExpr{a, b, op == "!=", pos}
	case "in", "not in":
		return &inExpr{a, b, op == "not in", pos}
	}
	return &compareExpr{op, a, b, pos}
}

func (c *compiler) args(a *syntax.Args, p place) args {
	out := args{pos: c.exprs(a.Args, p), star: c.maybe(a.Star, p), starStar: c.maybe(a.StarStar, p)}
	for _, k := range a.Keywords {
		out.names = append(out.names, k.Name)
		out.values = append(out.values, c.expr(k.Value, p))
	}
	return out
}

func (c *compiler) call(x *syntax.Call, p place) expr {
	call := &callExpr{pos: x.Pos}
	if a, ok := x.Func.(*syntax.Attr); ok {
		f := c.expr(a, p)
		if attr, ok := f.(*attrExpr); ok {
			call.object, call.method, call.methodPos = attr.x, attr.attr, attr.pos
		} else {
			call.fn = f
		}
	} else {
		call.fn = c.expr(x.Func, p)
	}
	call.args = c.args(&x.Args, p)
	return call
}

// filter compiles a filter. Where the innermost of a chain has no operand, body is it.
func (c *compiler) filter(x *syntax.Filter, p place, body expr) expr {
	f := &filterExpr{name: x.Name, fn: lookupFilter(x.Name), pos: x.Pos}
	if f.fn == nil && !p.soft {
		c.fail(TemplateAssertionError, x.Pos, "No filter named %s.", pyQuote(x.Name))
	}
	if inner, ok := x.X.(*syntax.Filter); ok {
		f.x = c.filter(inner, p, body)
	} else if x.X != nil {
		f.x = c.expr(x.X, p)
	} else {
		f.x = body
	}
	f.args = c.args(&x.Args, p)
	return f
}

func (c *compiler) test(x *syntax.Test, p place) expr {
	fn := lookupTest(x.Name)
	if fn == nil && !p.soft {
		c.fail(TemplateAssertionError, x.Pos, "No test named %s.", pyQuote(x.Name))
	}
	operand := c.expr(x.X, p)
	if len(x.Args.Args) == 0 && len(x.Keywords) == 0 && x.Star == nil && x.StarStar == nil {
		switch x.Name {
		case "defined":
			return &definedExpr{operand, false}
		case "undefined":
			return &definedExpr{operand, true}
		}
		if kinds, ok := kindTests[x.Name]; ok {
			return &isExpr{operand, kinds, false}
		}
	}
	return &testExpr{x.Name, fn, operand, c.args(&x.Args, p), x.Pos}
}
