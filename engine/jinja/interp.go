package jinja

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// interp is the state of one render.
type interp struct {
	eval
	t      *Template
	out    builder
	maxOut int
	// by index of input name: the variable, the global, or the value that the template set at its
	// top
	ctx      []Value
	free     [][]*frame // frames for reuse, by routine
	retired  []retired
	loops    []*loopContext // for reuse
	pcg      rand.PCG
	coverage *Coverage
	follows  bool // texts that are sites are followed, and nothing else
	clock    func() time.Time
	deadline time.Time       // where there is a clock
	context  context.Context // nil: nobody breaks the render off
	ticks    int
}

// frame holds the variables of one activation of a routine.
type frame struct {
	rt    *interp
	up    *frame // of the routine around it
	slots []Value
}

// stmt is the code of a statement, expr that of an expression. Either may raise, see [caught].
type (
	stmt interface{ exec(f *frame) jump }
	expr interface {
		eval(f *frame) Value
	}
	body []stmt
)

// jump is how a body is left before its end: break and continue go to their loop.
type jump uint8

const (
	noJump jump = iota
	breakJump
	continueJump
)

func (b body) run(f *frame) jump {
	for _, s := range b {
		if j := s.exec(f); j != noJump {
			return j
		}
	}
	return noJump
}

// stepsStmt charges the steps of the code that follows it.
type stepsStmt struct {
	steps int
	pos   syntax.Pos
}

func (s *stepsStmt) exec(f *frame) jump {
	f.at(s.pos)
	f.rt.step(s.steps)
	return noJump
}

// at notes where the operation stands that follows, for the error that it may raise. Its operands
// have been evaluated by then.
func (f *frame) at(pos syntax.Pos) { f.rt.pos = pos }

// grown checks the size of the output after a write.
func (f *frame) grown(pos syntax.Pos) {
	if len(f.rt.out.buf) > f.rt.maxOut {
		f.at(pos)
		panic(errf(LimitError, "the template writes more than %d bytes", f.rt.maxOut))
	}
	if f.rt.trace != nil {
		f.rt.trace.wrote(len(f.rt.out.buf), pos)
	}
}

// tick looks now and then at the clock, and whether the render has been broken off.
func (rt *interp) tick() {
	if rt.ticks++; rt.ticks&63 != 0 {
		return
	}
	if rt.clock != nil && rt.clock().After(rt.deadline) {
		panic(errf(LimitError, "the template takes longer than allowed"))
	}
	if err := context.Cause(rt.context); err != nil {
		panic(brokenOff{err})
	}
}

// frame returns a frame for an activation of r; release gives it back.
func (rt *interp) frame(r *routine, up *frame) *frame {
	if free := rt.free[r.id]; len(free) > 0 {
		f := free[len(free)-1]
		rt.free[r.id] = free[:len(free)-1]
		f.up = up
		return f
	}
	return &frame{rt, up, make([]Value, r.size)}
}

// release gives a frame back when its activation is over. One that a macro may still refer to has
// to wait for the end of the render.
func (rt *interp) release(r *routine, f *frame) {
	if r.inner {
		rt.retired = append(rt.retired, retired{r, f})
		return
	}
	clear(f.slots)
	f.up = nil
	rt.free[r.id] = append(rt.free[r.id], f)
}

// retired is a frame whose activation is over and that may still be referred to.
type retired struct {
	r *routine
	f *frame
}

// maxKept bounds the output buffer that is kept for the next render, in bytes.
const maxKept = 2 << 20

// reset lets go of everything that the last render still holds.
func (rt *interp) reset() {
	clear(rt.out.runs)
	if rt.memory.out, rt.outRuns = rt.out.buf, rt.out.runs; cap(rt.out.buf) > maxKept {
		rt.memory.out, rt.outRuns = nil, nil
	}
	rt.out = builder{}
	for _, old := range rt.retired {
		clear(old.f.slots)
		old.f.up = nil
		rt.free[old.r.id] = append(rt.free[old.r.id], old.f)
	}
	clear(rt.retired)
	clear(rt.args[:cap(rt.args)])
	clear(rt.kwargs[:cap(rt.kwargs)])
	clear(rt.ctx)
	rt.memory.reset()
	memories.Put(rt.memory)
	rt.retired, rt.args, rt.kwargs = rt.retired[:0], rt.args[:0], rt.kwargs[:0]
	rt.memory, rt.trace, rt.now, rt.clock, rt.context, rt.coverage = nil, nil, nil, nil, nil, nil
}

// entryOp sets one variable when a scope is entered.
type entryOp struct {
	slot   int
	input  int // index of an input name, or -1
	copies bool
	from   slotRef // where copies is set
}

func (f *frame) enter(ops []entryOp) {
	for i := range ops {
		op := &ops[i]
		switch {
		case op.copies:
			f.slots[op.slot] = op.from.get(f)
		case op.input >= 0:
			f.slots[op.slot] = f.rt.ctx[op.input]
		default:
			f.slots[op.slot] = Value{}
		}
	}
}

func (f *frame) leave(slots []int) {
	for _, slot := range slots {
		f.slots[slot] = Value{}
	}
}

// slotRef is a slot of this frame or of one around it.
type slotRef struct{ up, slot int }

func (r slotRef) get(f *frame) Value {
	for range r.up {
		f = f.up
	}
	return f.slots[r.slot]
}

// capture runs a body and returns its text, cut out of the output. A body that is left by an error,
// break or continue adds nothing to the output.
func (f *frame) capture(code body) (Value, jump) {
	out := &f.rt.out
	start, runs := len(out.buf), len(out.runs)
	last := 0 // length of the last run so far, which may grow
	if runs > 0 {
		last = out.runs[runs-1].n
	}
	defer func() { // also where an error leaves the body
		out.buf, out.runs = out.buf[:start], out.runs[:runs]
		if runs > 0 {
			out.runs[runs-1].n = last
		}
		if f.rt.trace != nil {
			f.rt.trace.unwrite(start)
		}
	}()
	at := f.rt.pos
	j := code.run(f)
	f.at(at)
	f.rt.charge(len(out.buf) - start)
	v := Value{}
	if j == noJump {
		v = stringValue(f.rt.text(out.buf[start:]))
	}
	if out.on && len(out.buf) > start {
		own := f.rt.runs.Take(len(out.runs) - runs + 1)[:0]
		if runs > 0 && out.runs[runs-1].n > last {
			r := out.runs[runs-1]
			r.n -= last
			own = append(own, r)
		}
		v.prov = f.rt.prov(append(own, out.runs[runs:]...))
	}
	return v, j
}

// write prints a value.
func (f *frame) write(v Value, esc escaping, pos syntax.Pos) {
	rt := f.rt
	if v.kind == String && esc == escapeOff {
		rt.out.str(v)
		f.grown(pos)
		return
	}
	f.at(pos)
	if esc == escapeOn || esc == escapeDynamic && rt.autoescape {
		v = escape(&rt.eval, v)
	}
	if rt.dialect != nil && f.writeItems(v, pos) {
		return
	}
	rt.out.print(&rt.eval, v)
	f.grown(pos)
}

// writeText prints a value that jinja2 joins without converting it: it must be text.
func (f *frame) writeText(v Value, pos syntax.Pos) {
	if !v.isString() {
		f.at(pos)
		panic(errf(TypeError, "sequence item 0: expected str instance, %s found", typeName(v)))
	}
	f.write(v, escapeOff, pos)
}

// markup marks captured text where autoescape is on.
func (rt *interp) markup(v Value) Value {
	if rt.autoescape && v.kind == String {
		v.kind = Markup
	}
	return v
}

// textStmt writes the template's own text.
type textStmt struct {
	text string
	pos  syntax.Pos
	site *textConst // nil: it is none
}

func (s *textStmt) exec(f *frame) jump {
	if s.site != nil && f.rt.follows {
		v := stringValue(s.text)
		v.prov = s.site.mark
		f.rt.out.str(v)
		f.grown(s.pos)
		return noJump
	}
	f.rt.out.lit(s.text)
	f.grown(s.pos)
	return noJump
}

// printStmt writes a value.
type printStmt struct {
	x      expr
	escape escaping
	pos    syntax.Pos
}

func (s *printStmt) exec(f *frame) jump {
	f.write(s.x.eval(f), s.escape, s.pos)
	return noJump
}

// printSum writes a + b + c without joining strings first.
type printSum struct {
	x   *sumExpr
	pos syntax.Pos
}

func (s *printSum) exec(f *frame) jump {
	rt := f.rt
	base := len(rt.args)
	joined := s.x.collect(f)
	if joined.kind != Missing {
		f.write(joined, escapeOff, s.pos)
		return noJump
	}
	for _, v := range rt.args[base:] {
		rt.out.str(v)
	}
	rt.args = rt.args[:base]
	f.grown(s.pos)
	return noJump
}

// printConcat writes a ~ b ~ c part by part.
type printConcat struct {
	x   *concatExpr
	pos syntax.Pos
}

func (s *printConcat) exec(f *frame) jump {
	rt := f.rt
	if rt.dialect != nil {
		f.write(s.x.eval(f), escapeOff, s.pos)
		return noJump
	}
	base := len(rt.args)
	for _, x := range s.x.items {
		rt.args = append(rt.args, x.eval(f))
	}
	for _, v := range rt.args[base:] {
		f.write(v, escapeOff, s.pos)
	}
	rt.args = rt.args[:base]
	return noJump
}

// printCall writes the result of a call; a macro writes into the output directly.
type printCall struct {
	x   *callExpr
	pos syntax.Pos
}

func (s *printCall) exec(f *frame) jump {
	var v Value
	if start := len(f.rt.out.buf); f.rt.trace != nil {
		defer func() { // also where an error leaves the macro
			if v.kind == Missing {
				f.rt.trace.called(start, len(f.rt.out.buf), s.pos)
			}
		}()
	}
	if v = s.x.run(f, true, nil); v.kind != Missing {
		f.write(v, escapeOff, s.pos)
	}
	return noJump
}

// printCond writes one of two values.
type printCond struct {
	test      expr
	then      stmt
	otherwise stmt // may be nil
	site      int
}

func (s *printCond) exec(f *frame) jump {
	switch yes := f.rt.decided(s.site, f.test(s.test)); {
	case yes:
		return s.then.exec(f)
	case s.otherwise != nil:
		return s.otherwise.exec(f)
	}
	return noJump
}

// test evaluates a condition.
func (f *frame) test(x expr) bool { return f.truth(x.eval(f)) }

func (f *frame) truth(v Value) bool {
	switch v.kind {
	case Bool, Int, String:
		return v.num != 0
	case None, Undefined:
		return false
	}
	return truth(&f.rt.eval, v)
}

type ifStmt struct {
	branches  []ifBranch
	otherwise body
}

type ifBranch struct {
	test expr
	code body
	site int
}

func (s *ifStmt) exec(f *frame) jump {
	for i := range s.branches {
		b := &s.branches[i]
		if f.rt.decided(b.site, f.test(b.test)) {
			return b.code.run(f)
		}
	}
	return s.otherwise.run(f)
}

// jump is break or continue.
type jumpStmt struct{ jump jump }

func (s jumpStmt) exec(*frame) jump { return s.jump }

// setStmt assigns a variable of the routine.
type setStmt struct {
	slot int
	x    expr
}

func (s *setStmt) exec(f *frame) jump {
	f.slots[s.slot] = s.x.eval(f)
	return noJump
}

// target is the place to which a value is assigned. check runs before the value is evaluated.
type target interface {
	check(f *frame)
	assign(f *frame, v Value)
}

type slotTarget struct{ slot int }

func (t slotTarget) check(*frame) {}

func (t slotTarget) assign(f *frame, v Value) {
	f.slots[t.slot] = v
}

// inputTarget is a variable of the template's top that blocks can see.
type inputTarget struct{ slot, input int }

func (t inputTarget) check(*frame) {}

func (t inputTarget) assign(f *frame, v Value) {
	f.slots[t.slot], f.rt.ctx[t.input] = v, v
}

// attrTarget is an attribute of a namespace.
type attrTarget struct {
	object expr
	name   string
	pos    syntax.Pos
}

func (t *attrTarget) check(f *frame) {
	if t.object.eval(f).kind != Namespace {
		f.at(t.pos)
		panic(errf(TemplateRuntimeError, "cannot assign attribute on non-namespace object"))
	}
}

func (t *attrTarget) assign(f *frame, v Value) {
	t.object.eval(f).namespace().set(t.name, v)
}

type tupleTarget struct {
	parts []target
	pos   syntax.Pos
}

func (t tupleTarget) check(*frame) {}

func (t tupleTarget) assign(f *frame, v Value) {
	e := &f.rt.eval
	f.at(t.pos)
	if !isIterable(e, v) {
		panic(errf(TypeError, "cannot unpack non-iterable %s object", typeName(v)))
	}
	it := iterate(e, v)
	for i, part := range t.parts {
		f.at(t.pos)
		item, ok := it.next(e)
		if !ok {
			panic(errf(ValueError, "not enough values to unpack "+
				"(expected %d, got %d)", len(t.parts), i))
		}
		part.assign(f, item)
	}
	f.at(t.pos)
	if _, ok := it.next(e); ok {
		panic(errf(ValueError, "too many values to unpack (expected %d)", len(t.parts)))
	}
}

type assignStmt struct {
	target target
	x      expr
}

func (s *assignStmt) exec(f *frame) jump {
	s.target.check(f)
	s.target.assign(f, s.x.eval(f))
	return noJump
}

type assignBlockStmt struct {
	target target
	enter  []entryOp
	code   body
	filter expr // nil: none
	slot   int  // where the filter finds the text
	leave  []int
	pos    syntax.Pos
}

func (s *assignBlockStmt) exec(f *frame) jump {
	f.enter(s.enter)
	f.at(s.pos)
	v, j := f.capture(s.code)
	if j != noJump {
		return j
	}
	s.target.check(f)
	if s.filter != nil {
		f.slots[s.slot] = f.rt.markup(v)
		v = s.filter.eval(f)
		if f.rt.autoescape {
			f.at(s.pos)
			v = str(&f.rt.eval, v)
		}
	}
	f.leave(s.leave)
	s.target.assign(f, f.rt.markup(v))
	return noJump
}

// filterStmt is {% filter %}.
type filterStmt struct {
	enter  []entryOp
	code   body
	filter expr
	slot   int
	leave  []int
	pos    syntax.Pos
}

func (s *filterStmt) exec(f *frame) jump {
	f.enter(s.enter)
	f.at(s.pos)
	v, j := f.capture(s.code)
	if j != noJump {
		return j
	}
	f.slots[s.slot] = f.rt.markup(v)
	v = s.filter.eval(f)
	f.leave(s.leave)
	f.writeText(v, s.pos)
	return noJump
}

type withStmt struct {
	enter []entryOp
	sets  []assignStmt
	code  body
	leave []int
}

func (s *withStmt) exec(f *frame) jump {
	f.enter(s.enter)
	for i := range s.sets {
		s.sets[i].exec(f)
	}
	j := s.code.run(f)
	f.leave(s.leave)
	return j
}

type autoescapeStmt struct {
	enter []entryOp
	on    expr
	code  body
	leave []int
}

func (s *autoescapeStmt) exec(f *frame) jump {
	f.enter(s.enter)
	on := f.test(s.on)
	outer := f.rt.autoescape
	f.rt.autoescape = on
	j := s.code.run(f)
	f.rt.autoescape = outer
	f.leave(s.leave)
	return j
}

// loadStmt is extends, include, import or from: there is no loader, so that each fails as it does
// in jinja2 without one.
type loadStmt struct {
	name    expr
	pos     syntax.Pos
	several bool // a list of names is allowed
	ignore  bool // ignore missing
}

func (s *loadStmt) exec(f *frame) jump {
	v := s.name.eval(f)
	if s.several && !v.isString() && v.kind != Undefined {
		f.at(s.pos)
		it := iterate(&f.rt.eval, v)
		if _, ok := it.next(&f.rt.eval); !ok {
			if s.ignore {
				return noJump
			}
			panic(errf("TemplatesNotFound", "Tried to select from an empty list of templates"))
		}
	}
	f.at(s.pos)
	panic(errf(TypeError, "no loader for this environment specified"))
}

// blockProto is the body of a block.
type blockProto struct {
	name        string
	routine     *routine
	enter       []entryOp
	code        body
	self, super int // slots, or -1
}

func (b *blockProto) run(rt *interp) jump {
	rt.enter()
	rt.step(1)
	f := rt.frame(b.routine, nil)
	f.enter(b.enter)
	if b.self >= 0 {
		f.slots[b.self] = objectValue(&templateRef{rt})
	}
	if b.super >= 0 {
		f.slots[b.super] = undefinedHint("there is no parent block called " + pyQuote(b.name) + ".")
	}
	j := b.code.run(f)
	rt.release(b.routine, f)
	rt.leave()
	return j
}

// blockStmt renders a block in its place.
type blockStmt struct {
	proto    *blockProto
	required bool
	locals   []blockLocal // the variables that a scoped block sees
	pos      syntax.Pos
}

type blockLocal struct {
	input int
	ref   slotRef
}

func (s *blockStmt) exec(f *frame) jump {
	rt := f.rt
	f.at(s.pos)
	if s.required {
		panic(errf(TemplateRuntimeError, "Required block %s not found", pyQuote(s.proto.name)))
	}
	if outer := rt.ctx; len(s.locals) > 0 {
		defer func() { rt.ctx = outer }() // also where an error leaves the block
		rt.ctx = append([]Value(nil), outer...)
		for _, l := range s.locals {
			if v := l.ref.get(f); !v.isMissing() {
				rt.ctx[l.input] = v
			}
		}
	}
	return s.proto.run(rt)
}

// templateRef is self: the blocks of the template by name.
type templateRef struct{ rt *interp }

func (r *templateRef) typeName() string { return "TemplateReference" }
func (r *templateRef) repr() string     { return "<TemplateReference None>" }

func (r *templateRef) attr(e *eval, name string) (Value, bool) {
	if b := r.rt.t.blocks[name]; b != nil {
		return objectValue(&blockRef{r.rt, b}), true
	}
	return Value{}, false
}

// blockRef is self.name: a block that can be called.
type blockRef struct {
	rt    *interp
	block *blockProto
}

func (r *blockRef) typeName() string { return "BlockReference" }
func (r *blockRef) repr() string     { return "<jinja2.runtime.BlockReference object>" }

func (r *blockRef) attr(e *eval, name string) (Value, bool) {
	switch name {
	case "name":
		return stringValue(r.block.name), true
	case "super":
		return undefinedHint("there is no parent block called " + pyQuote(r.block.name) + "."), true
	}
	return Value{}, false
}

func (r *blockRef) call(c *call) Value {
	if len(c.args)+len(c.kwargs) > 0 {
		panic(errf(TypeError, "BlockReference.__call__() takes 1 positional argument "+
			"but %d were given", 1+len(c.args)))
	}
	v, _ := (&frame{rt: r.rt}).capture(body{blockBody{r.block}})
	return r.rt.markup(v)
}

// blockBody runs a block as a statement.
type blockBody struct{ block *blockProto }

func (s blockBody) exec(f *frame) jump { return s.block.run(f.rt) }
