package jinja

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
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
	args     []Value    // a stack of call arguments
	kwargs   []kwarg    // the same for keyword arguments
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

// stmt is the code of a statement, expr that of an expression. The error of either has its
// position.
type (
	stmt interface{ exec(f *frame) error }
	expr interface {
		eval(f *frame) (Value, error)
	}
	body []stmt
)

// errBreak and errContinue carry break and continue to their loop.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

func (b body) run(f *frame) error {
	for _, s := range b {
		if err := s.exec(f); err != nil {
			return err
		}
	}
	return nil
}

// stepsStmt charges the steps of the code that follows it.
type stepsStmt struct {
	steps int
	pos   syntax.Pos
}

func (s *stepsStmt) exec(f *frame) error { return f.at(f.rt.step(s.steps), s.pos) }

// at gives an error its position, unless it has one.
func (f *frame) at(err error, pos syntax.Pos) error {
	r, ok := err.(*raised)
	if !ok {
		return err
	}
	return &source.Error{Src: f.rt.t.src, Off: pos.Offset(), Msg: r.msg, Err: r}
}

// grown checks the size of the output after a write.
func (f *frame) grown(pos syntax.Pos) error {
	if len(f.rt.out.buf) > f.rt.maxOut {
		return f.at(errf(LimitError, "the template writes more than %d bytes", f.rt.maxOut), pos)
	}
	if f.rt.trace != nil {
		f.rt.trace.wrote(len(f.rt.out.buf), pos)
	}
	return nil
}

// tick looks now and then at the clock, and whether the render has been broken off.
func (rt *interp) tick() error {
	if rt.ticks++; rt.ticks&63 != 0 {
		return nil
	}
	if rt.clock != nil && rt.clock().After(rt.deadline) {
		return errf(LimitError, "the template takes longer than allowed")
	}
	if rt.context.Err() != nil {
		return context.Cause(rt.context)
	}
	return nil
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
func (f *frame) capture(code body) (Value, error) {
	out := &f.rt.out
	start, runs := len(out.buf), len(out.runs)
	last := 0 // length of the last run so far, which may grow
	if runs > 0 {
		last = out.runs[runs-1].n
	}
	err := code.run(f)
	if limit := f.rt.charge(len(out.buf) - start); limit != nil {
		err = limit
	}
	v := Value{}
	if err == nil {
		v = stringValue(f.rt.text(out.buf[start:]))
	}
	if out.on && len(out.buf) > start {
		own := f.rt.runs.Take(len(out.runs) - runs + 1)[:0]
		if runs > 0 && out.runs[runs-1].n > last {
			r := out.runs[runs-1]
			r.n -= last
			own = append(own, r)
			out.runs[runs-1].n = last
		}
		v.prov = f.rt.prov(append(own, out.runs[runs:]...))
		out.runs = out.runs[:runs]
	}
	out.buf = out.buf[:start]
	if f.rt.trace != nil {
		f.rt.trace.unwrite(start)
	}
	return v, err
}

// write prints a value.
func (f *frame) write(v Value, esc escaping, pos syntax.Pos) error {
	rt := f.rt
	if v.kind == String && esc == escapeOff {
		rt.out.str(v)
		return f.grown(pos)
	}
	if esc == escapeOn || esc == escapeDynamic && rt.autoescape {
		var err error
		if v, err = escape(&rt.eval, v); err != nil {
			return f.at(err, pos)
		}
	}
	if rt.dialect != nil {
		if done, err := f.writeItems(v, pos); done || err != nil {
			return err
		}
	}
	if err := rt.out.print(&rt.eval, v); err != nil {
		return f.at(err, pos)
	}
	return f.grown(pos)
}

// writeText prints a value that jinja2 joins without converting it: it must be text.
func (f *frame) writeText(v Value, pos syntax.Pos) error {
	if !v.isString() {
		return f.at(errf(TypeError, "sequence item 0: expected str "+
			"instance, %s found", typeName(v)), pos)
	}
	return f.write(v, escapeOff, pos)
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

func (s *textStmt) exec(f *frame) error {
	if s.site != nil && f.rt.follows {
		v := stringValue(s.text)
		v.prov = s.site.mark
		f.rt.out.str(v)
		return f.grown(s.pos)
	}
	f.rt.out.lit(s.text)
	return f.grown(s.pos)
}

// printStmt writes a value.
type printStmt struct {
	x      expr
	escape escaping
	pos    syntax.Pos
}

func (s *printStmt) exec(f *frame) error {
	v, err := s.x.eval(f)
	if err != nil {
		return err
	}
	return f.write(v, s.escape, s.pos)
}

// printSum writes a + b + c without joining strings first.
type printSum struct {
	x   *sumExpr
	pos syntax.Pos
}

func (s *printSum) exec(f *frame) error {
	rt := f.rt
	base := len(rt.args)
	joined, err := s.x.collect(f)
	if err != nil {
		rt.args = rt.args[:base]
		return err
	}
	if joined.kind != Missing {
		return f.write(joined, escapeOff, s.pos)
	}
	for _, v := range rt.args[base:] {
		rt.out.str(v)
	}
	rt.args = rt.args[:base]
	return f.grown(s.pos)
}

// printConcat writes a ~ b ~ c part by part.
type printConcat struct {
	x   *concatExpr
	pos syntax.Pos
}

func (s *printConcat) exec(f *frame) error {
	rt := f.rt
	if rt.dialect != nil {
		v, err := s.x.eval(f)
		if err != nil {
			return err
		}
		return f.write(v, escapeOff, s.pos)
	}
	base := len(rt.args)
	for _, x := range s.x.items {
		v, err := x.eval(f)
		if err != nil {
			rt.args = rt.args[:base]
			return err
		}
		rt.args = append(rt.args, v)
	}
	for _, v := range rt.args[base:] {
		if err := f.write(v, escapeOff, s.pos); err != nil {
			return err
		}
	}
	rt.args = rt.args[:base]
	return nil
}

// printCall writes the result of a call; a macro writes into the output directly.
type printCall struct {
	x   *callExpr
	pos syntax.Pos
}

func (s *printCall) exec(f *frame) error {
	start := len(f.rt.out.buf)
	v, err := s.x.run(f, true, nil)
	if err != nil || v.kind == Missing {
		if f.rt.trace != nil {
			f.rt.trace.called(start, len(f.rt.out.buf), s.pos)
		}
		return err
	}
	return f.write(v, escapeOff, s.pos)
}

// printCond writes one of two values.
type printCond struct {
	test      expr
	then      stmt
	otherwise stmt // may be nil
	site      int
}

func (s *printCond) exec(f *frame) error {
	yes, err := f.test(s.test)
	if err != nil {
		return err
	}
	switch yes = f.rt.decided(s.site, yes); {
	case yes:
		return s.then.exec(f)
	case s.otherwise != nil:
		return s.otherwise.exec(f)
	}
	return nil
}

// test evaluates a condition.
func (f *frame) test(x expr) (bool, error) {
	v, err := x.eval(f)
	if err != nil {
		return false, err
	}
	return f.truth(v)
}

func (f *frame) truth(v Value) (bool, error) {
	switch v.kind {
	case Bool, Int, String:
		return v.num != 0, nil
	case None, Undefined:
		return false, nil
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

func (s *ifStmt) exec(f *frame) error {
	for i := range s.branches {
		b := &s.branches[i]
		yes, err := f.test(b.test)
		if err != nil {
			return err
		}
		if f.rt.decided(b.site, yes) {
			return b.code.run(f)
		}
	}
	return s.otherwise.run(f)
}

// jump is break or continue.
type jump struct{ err error }

func (s jump) exec(*frame) error { return s.err }

// setStmt assigns a variable of the routine.
type setStmt struct {
	slot int
	x    expr
}

func (s *setStmt) exec(f *frame) error {
	v, err := s.x.eval(f)
	if err != nil {
		return err
	}
	f.slots[s.slot] = v
	return nil
}

// target is the place to which a value is assigned. check runs before the value is evaluated.
type target interface {
	check(f *frame) error
	assign(f *frame, v Value) error
}

type slotTarget struct{ slot int }

func (t slotTarget) check(*frame) error { return nil }

func (t slotTarget) assign(f *frame, v Value) error {
	f.slots[t.slot] = v
	return nil
}

// inputTarget is a variable of the template's top that blocks can see.
type inputTarget struct{ slot, input int }

func (t inputTarget) check(*frame) error { return nil }

func (t inputTarget) assign(f *frame, v Value) error {
	f.slots[t.slot], f.rt.ctx[t.input] = v, v
	return nil
}

// attrTarget is an attribute of a namespace.
type attrTarget struct {
	object expr
	name   string
	pos    syntax.Pos
}

func (t *attrTarget) check(f *frame) error {
	v, err := t.object.eval(f)
	if err != nil {
		return err
	}
	if v.kind != Namespace {
		return f.at(errf(TemplateRuntimeError, "cannot assign attribute on non-namespace object"), t.pos)
	}
	return nil
}

func (t *attrTarget) assign(f *frame, v Value) error {
	ns, err := t.object.eval(f)
	if err != nil {
		return err
	}
	ns.namespace().set(t.name, v)
	return nil
}

type tupleTarget struct {
	parts []target
	pos   syntax.Pos
}

func (t tupleTarget) check(*frame) error { return nil }

func (t tupleTarget) assign(f *frame, v Value) error {
	e := &f.rt.eval
	it, err := iterate(e, v)
	if err != nil {
		if isClass(err, TypeError) {
			err = errf(TypeError, "cannot unpack non-iterable %s object", typeName(v))
		}
		return f.at(err, t.pos)
	}
	for i, part := range t.parts {
		item, ok, err := it.next(e)
		if err != nil {
			return f.at(err, t.pos)
		}
		if !ok {
			return f.at(errf(ValueError, "not enough values to unpack "+
				"(expected %d, got %d)", len(t.parts), i), t.pos)
		}
		if err := part.assign(f, item); err != nil {
			return err
		}
	}
	if _, ok, err := it.next(e); err != nil {
		return f.at(err, t.pos)
	} else if ok {
		return f.at(errf(ValueError, "too many values to "+
			"unpack (expected %d)", len(t.parts)), t.pos)
	}
	return nil
}

type assignStmt struct {
	target target
	x      expr
}

func (s *assignStmt) exec(f *frame) error {
	if err := s.target.check(f); err != nil {
		return err
	}
	v, err := s.x.eval(f)
	if err != nil {
		return err
	}
	return s.target.assign(f, v)
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

func (s *assignBlockStmt) exec(f *frame) error {
	f.enter(s.enter)
	v, err := f.capture(s.code)
	if err != nil {
		return f.at(err, s.pos)
	}
	if err := s.target.check(f); err != nil {
		return err
	}
	if s.filter != nil {
		f.slots[s.slot] = f.rt.markup(v)
		if v, err = s.filter.eval(f); err != nil {
			return err
		}
		if f.rt.autoescape {
			if v, err = str(&f.rt.eval, v); err != nil {
				return f.at(err, s.pos)
			}
		}
	}
	f.leave(s.leave)
	return s.target.assign(f, f.rt.markup(v))
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

func (s *filterStmt) exec(f *frame) error {
	f.enter(s.enter)
	v, err := f.capture(s.code)
	if err != nil {
		return f.at(err, s.pos)
	}
	f.slots[s.slot] = f.rt.markup(v)
	if v, err = s.filter.eval(f); err != nil {
		return err
	}
	f.leave(s.leave)
	return f.writeText(v, s.pos)
}

type withStmt struct {
	enter []entryOp
	sets  []assignStmt
	code  body
	leave []int
}

func (s *withStmt) exec(f *frame) error {
	f.enter(s.enter)
	for i := range s.sets {
		if err := s.sets[i].exec(f); err != nil {
			return err
		}
	}
	err := s.code.run(f)
	f.leave(s.leave)
	return err
}

type autoescapeStmt struct {
	enter []entryOp
	on    expr
	code  body
	leave []int
}

func (s *autoescapeStmt) exec(f *frame) error {
	f.enter(s.enter)
	on, err := f.test(s.on)
	if err != nil {
		return err
	}
	outer := f.rt.autoescape
	f.rt.autoescape = on
	err = s.code.run(f)
	f.rt.autoescape = outer
	f.leave(s.leave)
	return err
}

// loadStmt is extends, include, import or from: there is no loader, so that each fails as it does
// in jinja2 without one.
type loadStmt struct {
	name    expr
	pos     syntax.Pos
	several bool // a list of names is allowed
	ignore  bool // ignore missing
}

func (s *loadStmt) exec(f *frame) error {
	v, err := s.name.eval(f)
	if err != nil {
		return err
	}
	if s.several && !v.isString() && v.kind != Undefined {
		it, err := iterate(&f.rt.eval, v)
		if err != nil {
			return f.at(err, s.pos)
		}
		if _, ok, err := it.next(&f.rt.eval); err != nil {
			return f.at(err, s.pos)
		} else if !ok {
			if s.ignore {
				return nil
			}
			return f.at(errf("TemplatesNotFound", "Tried to select from an empty "+
				"list of templates"), s.pos)
		}
	}
	return f.at(errf(TypeError, "no loader for this environment specified"), s.pos)
}

// blockProto is the body of a block.
type blockProto struct {
	name        string
	routine     *routine
	enter       []entryOp
	code        body
	self, super int // slots, or -1
}

func (b *blockProto) run(rt *interp) error {
	if err := rt.enter(); err != nil {
		return err
	}
	if err := rt.step(1); err != nil {
		return err
	}
	f := rt.frame(b.routine, nil)
	f.enter(b.enter)
	if b.self >= 0 {
		f.slots[b.self] = objectValue(&templateRef{rt})
	}
	if b.super >= 0 {
		f.slots[b.super] = undefinedHint("there is no parent block called " + pyQuote(b.name) + ".")
	}
	err := b.code.run(f)
	rt.release(b.routine, f)
	rt.leave()
	return err
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

func (s *blockStmt) exec(f *frame) error {
	rt := f.rt
	if s.required {
		return f.at(errf(TemplateRuntimeError, "Required block %s not found",
			pyQuote(s.proto.name)), s.pos)
	}
	outer := rt.ctx
	if len(s.locals) > 0 {
		rt.ctx = append([]Value(nil), outer...)
		for _, l := range s.locals {
			if v := l.ref.get(f); !v.isMissing() {
				rt.ctx[l.input] = v
			}
		}
	}
	err := s.proto.run(rt)
	rt.ctx = outer
	return f.at(err, s.pos)
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

func (r *blockRef) call(c *call) (Value, error) {
	if len(c.args)+len(c.kwargs) > 0 {
		return Value{}, errf(TypeError, "BlockReference.__call__() takes 1 positional argument "+
			"but %d were given", 1+len(c.args))
	}
	v, err := (&frame{rt: r.rt}).capture(body{blockBody{r.block}})
	return r.rt.markup(v), err
}

// blockBody runs a block as a statement.
type blockBody struct{ block *blockProto }

func (s blockBody) exec(f *frame) error { return s.block.run(f.rt) }
