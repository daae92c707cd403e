package jinja

import (
	"cmp"
	"strconv"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// constExpr is a literal.
type constExpr struct{ value Value }

func (x *constExpr) eval(*frame) Value { return x.value }

// localExpr reads a variable of this frame; outerExpr one of a frame around it; inputExpr one that
// is never assigned.
type (
	localExpr struct {
		slot  int
		name  string
		asked bool // where it is missing, the input was asked for it
		pos   syntax.Pos
	}
	outerExpr struct {
		slotRef
		name  string
		asked bool
		pos   syntax.Pos
	}
	inputExpr struct {
		index int
		name  string
		pos   syntax.Pos
	}
	slotExpr struct{ slot int } // a slot that is known to be set
)

func (x *localExpr) eval(f *frame) Value {
	v := f.slots[x.slot]
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, x.asked, x.pos)
	}
	return v
}

func (x *outerExpr) eval(f *frame) Value {
	v := x.get(f)
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, x.asked, x.pos)
	}
	return v
}

func (x *inputExpr) eval(f *frame) Value {
	v := f.rt.ctx[x.index]
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, true, x.pos)
	}
	return v
}

func (x *slotExpr) eval(f *frame) Value { return f.slots[x.slot] }

// named turns a missing variable into an undefined value, and records the look-up.
func (f *frame) named(v Value, name string, asked bool, pos syntax.Pos) Value {
	f.rt.traceAt(pos)
	if v.kind != Missing {
		f.rt.traceRead(v)
		return v
	}
	if asked && f.rt.trace != nil {
		f.rt.trace.missing(nil, name)
	}
	return undefinedName(name)
}

type tupleExpr struct{ items []expr }

func (x *tupleExpr) eval(f *frame) Value {
	return f.rt.tuple(f.all(x.items)...)
}

type listExpr struct{ items []expr }

func (x *listExpr) eval(f *frame) Value {
	return f.rt.list(f.all(x.items))
}

// entriesPerStep is how many entries of a literal are kept in a step, beside those that their code
// takes.
const entriesPerStep = 8

func (f *frame) all(list []expr) []Value {
	f.rt.step(len(list) / entriesPerStep)
	items := f.rt.values.Take(len(list))
	for i, x := range list {
		items[i] = x.eval(f)
	}
	return items
}

type dictExpr struct {
	keys, values []expr
	pos          syntax.Pos
}

func (x *dictExpr) eval(f *frame) Value {
	f.rt.step(len(x.keys) / entriesPerStep)
	d := f.rt.dict(len(x.keys))
	for i := range x.keys {
		k := x.keys[i].eval(f)
		v := x.values[i].eval(f)
		f.at(x.pos)
		d.set(&f.rt.eval, k, v)
	}
	return dictValue(d)
}

type unaryExpr struct {
	op  string
	x   expr
	pos syntax.Pos
}

func (x *unaryExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	f.at(x.pos)
	if x.op == "-" {
		return neg(&f.rt.eval, v)
	}
	return pos(&f.rt.eval, v)
}

type notExpr struct{ x expr }

func (x *notExpr) eval(f *frame) Value {
	return boolValue(!f.test(x.x))
}

type binaryExpr struct {
	op   func(e *eval, a, b Value) Value
	x, y expr
	pos  syntax.Pos
}

var binaryOps = map[string]func(e *eval, a, b Value) Value{
	"-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod, "**": pow,
}

func (x *binaryExpr) eval(f *frame) Value {
	a := x.x.eval(f)
	b := x.y.eval(f)
	f.at(x.pos)
	return x.op(&f.rt.eval, a, b)
}

// sumExpr is a + b + c. As long as all terms are plain strings they are joined once, at the end.
type sumExpr struct {
	terms []expr
	pos   []syntax.Pos // of each plus
}

// collect evaluates the terms. Where all are plain strings they are left on the argument stack and
// the value is Missing; else the value is the sum and the stack as it was.
func (x *sumExpr) collect(f *frame) Value {
	rt := f.rt
	base := len(rt.args)
	for i, term := range x.terms {
		v := term.eval(f)
		if v.kind == String {
			rt.args = append(rt.args, v)
			continue
		}
		if i > 0 {
			left := f.join(rt.args[base:], x.pos[i-1])
			f.at(x.pos[i-1])
			v = add(&rt.eval, left, v)
		}
		rt.args = rt.args[:base]
		for i++; i < len(x.terms); i++ {
			right := x.terms[i].eval(f)
			f.at(x.pos[i-1])
			v = add(&rt.eval, v, right)
		}
		return v
	}
	return Value{}
}

// join joins plain strings.
func (f *frame) join(parts []Value, pos syntax.Pos) Value {
	switch len(parts) {
	case 1:
		return parts[0]
	case 2:
		f.at(pos)
		return add(&f.rt.eval, parts[0], parts[1])
	}
	size := 0
	for i := range parts {
		size += int(parts[i].num)
	}
	f.at(pos)
	f.rt.charge(size)
	b := f.rt.builder(size)
	for _, v := range parts {
		b.str(v)
	}
	return b.value()
}

func (x *sumExpr) eval(f *frame) Value {
	rt := f.rt
	base := len(rt.args)
	v := x.collect(f)
	if v.kind == Missing {
		v = f.join(rt.args[base:], x.pos[len(x.pos)-1])
	}
	rt.args = rt.args[:base]
	return v
}

type andExpr struct{ x, y expr }

func (x *andExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	if !f.truth(v) {
		return v
	}
	return x.y.eval(f)
}

type orExpr struct{ x, y expr }

func (x *orExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	if f.truth(v) {
		return v
	}
	return x.y.eval(f)
}

// concatExpr is a ~ b ~ c.
type concatExpr struct {
	items  []expr
	escape escaping
	pos    syntax.Pos
}

func (x *concatExpr) eval(f *frame) Value {
	rt := f.rt
	base := len(rt.args)
	for _, item := range x.items {
		rt.args = append(rt.args, item.eval(f))
	}
	// Whether markup counts is decided where the operator stands, not where it runs.
	outer := rt.autoescape
	rt.autoescape = x.escape == escapeOn
	f.at(x.pos)
	v := concat(&rt.eval, rt.args[base:])
	rt.autoescape = outer
	rt.args = rt.args[:base]
	return v
}

type equalExpr struct {
	x, y    expr
	negated bool
	pos     syntax.Pos
}

func (x *equalExpr) eval(f *frame) Value {
	a := x.x.eval(f)
	b := x.y.eval(f)
	f.at(x.pos)
	return boolValue(equal(&f.rt.eval, a, b) != x.negated)
}

// freeComparison is the length of text, in bytes, below which a comparison is not worth a step.
const freeComparison = 1024

// equalText compares with a string literal.
type equalText struct {
	x       expr
	text    Value
	negated bool
	pos     syntax.Pos
}

func (x *equalText) eval(f *frame) Value {
	a := x.x.eval(f)
	if a.kind == String && f.rt.trace == nil {
		if a.num != x.text.num {
			return boolValue(x.negated)
		}
		if a.num < freeComparison {
			return boolValue((a.text() == x.text.text()) != x.negated)
		}
	}
	f.at(x.pos)
	return boolValue(equal(&f.rt.eval, a, x.text) != x.negated)
}

type inExpr struct {
	x, y    expr
	negated bool
	pos     syntax.Pos
}

func (x *inExpr) eval(f *frame) Value {
	a := x.x.eval(f)
	b := x.y.eval(f)
	f.at(x.pos)
	yes := contains(&f.rt.eval, b, a)
	if f.rt.trace != nil && b.kind == Dict && b.prov != nil && b.prov.node != nil && a.isString() {
		f.rt.trace.asked(f.rt.nodes.One().init(b.prov.node, a.text(), -1), !yes)
	}
	return boolValue(yes != x.negated)
}

type compareExpr struct {
	op   string
	x, y expr
	pos  syntax.Pos
}

func (x *compareExpr) eval(f *frame) Value {
	a := x.x.eval(f)
	b := x.y.eval(f)
	if a.kind == Int && b.kind == Int && f.rt.trace == nil {
		return boolValue(holds(x.op, cmp.Compare(a.int(), b.int())))
	}
	f.at(x.pos)
	return boolValue(compare(&f.rt.eval, x.op, a, b))
}

// chainExpr is a < b < c.
type chainExpr struct {
	first expr
	ops   []string
	rest  []expr
	pos   syntax.Pos
}

func (x *chainExpr) eval(f *frame) Value {
	a := x.first.eval(f)
	for i, op := range x.ops {
		b := x.rest[i].eval(f)
		var yes bool
		f.at(x.pos)
		switch op {
		case "in", "not in":
			yes = contains(&f.rt.eval, b, a) != (op == "not in")
		default:
			yes = compare(&f.rt.eval, op, a, b)
		}
		if !yes {
			return boolValue(false)
		}
		a = b
	}
	return boolValue(true)
}

type condExpr struct {
	test, then, otherwise expr // otherwise may be nil
	line                  int
	site                  int
}

func (x *condExpr) eval(f *frame) Value {
	switch yes := f.rt.decided(x.site, f.test(x.test)); {
	case yes:
		return x.then.eval(f)
	case x.otherwise != nil:
		return x.otherwise.eval(f)
	}
	return undefinedHint("the inline if-expression on line " + strconv.Itoa(x.line) +
		" evaluated to false and no else section was defined.")
}

// attrExpr is x.name.
type attrExpr struct {
	x    expr
	attr *attr
	pos  syntax.Pos
}

func (x *attrExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	f.rt.traceAt(x.pos)
	f.at(x.pos)
	return getattr(&f.rt.eval, v, x.attr)
}

// keyExpr is x['name'].
type keyExpr struct {
	x    expr
	key  Value
	name string
	pos  syntax.Pos
}

func (x *keyExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	if v.kind == Dict && f.rt.trace == nil {
		if item, ok := v.dict().getString(x.name); ok {
			return item
		}
	}
	f.rt.traceAt(x.pos)
	f.at(x.pos)
	return getitem(&f.rt.eval, v, x.key)
}

type itemExpr struct {
	x, key expr
	pos    syntax.Pos
}

func (x *itemExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	key := x.key.eval(f)
	f.rt.traceAt(x.pos)
	f.at(x.pos)
	return getitem(&f.rt.eval, v, key)
}

type sliceExpr struct {
	x                 expr
	start, stop, step expr // nil where absent
	pos               syntax.Pos
}

func (x *sliceExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	var bounds [3]Value
	for i, b := range [3]expr{x.start, x.stop, x.step} {
		if b != nil {
			bounds[i] = b.eval(f)
		}
	}
	f.at(x.pos)
	return getslice(&f.rt.eval, v, bounds[0], bounds[1], bounds[2])
}

// args are the arguments of a call.
type args struct {
	pos            []expr
	names          []string
	values         []expr
	star, starStar expr // nil where absent
}

// push evaluates the arguments onto the stacks of the interpreter.
func (a *args) push(f *frame, pos syntax.Pos) {
	rt := f.rt
	for _, x := range a.pos {
		rt.args = append(rt.args, x.eval(f))
	}
	if a.star != nil || a.starStar != nil || len(a.names) > 0 {
		a.pushNamed(f, pos)
	}
}

func (a *args) pushNamed(f *frame, pos syntax.Pos) {
	rt := f.rt
	e := &rt.eval
	base := len(rt.kwargs)
	for i, x := range a.values {
		rt.kwargs = append(rt.kwargs, kwarg{a.names[i], x.eval(f)})
	}
	if a.star != nil {
		v := a.star.eval(f)
		if f.at(pos); !isIterable(e, v) {
			panic(errf(TypeError, "Value after * must be an iterable, not %s", typeName(v)))
		}
		for item := range e.each(v) {
			rt.args = append(rt.args, item)
		}
	}
	if a.starStar != nil {
		v := a.starStar.eval(f)
		f.at(pos)
		switch v.kind {
		case Dict:
		case Undefined:
			panic(undefinedError(v))
		default:
			panic(errf(TypeError, "argument after ** must be a mapping, not %s", typeName(v)))
		}
		for _, entry := range v.dict().all() {
			if !entry.key.isString() {
				panic(errf(TypeError, "keywords must be strings"))
			}
			name := entry.key.text()
			for _, k := range rt.kwargs[base:] {
				if k.name == name {
					panic(errf(TypeError, "got multiple values for "+
						"keyword argument %s", pyQuote(name)))
				}
			}
			rt.kwargs = append(rt.kwargs, kwarg{name, entry.value})
		}
	}
}

// callExpr is f(args), or object.method(args).
type callExpr struct {
	fn        expr // nil: a method call
	object    expr
	method    *attr
	methodPos syntax.Pos
	args      args
	pos       syntax.Pos
}

func (x *callExpr) eval(f *frame) Value { return x.run(f, false, nil) }

// run calls. With write set, a macro writes its result to the output instead of returning it, and
// the value is Missing. caller is passed as the keyword argument of that name.
func (x *callExpr) run(f *frame, write bool, caller *Value) Value {
	rt := f.rt
	var callee Value
	if x.fn != nil {
		callee = x.fn.eval(f)
	} else if callee = x.object.eval(f); callee.kind == Undefined {
		f.at(x.methodPos)
		getattr(&rt.eval, callee, x.method)
	}
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	v := x.apply(f, callee, write, caller)
	rt.args, rt.kwargs = rt.args[:argBase], rt.kwargs[:kwBase]
	return v
}

func (x *callExpr) apply(f *frame, callee Value, write bool, caller *Value) Value {
	rt := f.rt
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	x.args.push(f, x.pos)
	if caller != nil {
		rt.kwargs = append(rt.kwargs, kwarg{"caller", *caller})
	}
	args, kwargs := rt.args[argBase:len(rt.args):len(rt.args)],
		rt.kwargs[kwBase:len(rt.kwargs):len(rt.kwargs)]
	rt.traceAt(x.pos)
	f.at(x.pos)
	if x.fn == nil {
		return callMethod(&rt.eval, callee, x.method, args, kwargs)
	}
	m := macroOf(callee)
	if m == nil {
		return callValue(&rt.eval, callee, args, kwargs)
	}
	if write && !rt.autoescape {
		m.write(args, kwargs)
		return Value{}
	}
	return m.run(args, kwargs)
}

// filterExpr is x|name(args).
type filterExpr struct {
	name string
	fn   *builtin // nil: unknown, which matters only when it is reached
	x    expr
	args args
	pos  syntax.Pos
}

func (x *filterExpr) eval(f *frame) Value {
	return f.apply(x.x, &x.args, x.fn, "filter", x.name, x.pos)
}

// apply calls a filter or test.
func (f *frame) apply(operand expr, a *args, fn *builtin, what, name string, pos syntax.Pos) Value {
	rt := f.rt
	v := operand.eval(f)
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	a.push(f, pos)
	f.at(pos)
	if rt.dialect != nil && what == "filter" {
		v, fn = rt.filter(v, name, fn, len(rt.args)-argBase)
	}
	if fn == nil {
		panic(errf(TemplateRuntimeError, "No %s named %s found.", what, pyQuote(name)))
	}
	rt.traceAt(pos)
	v = rt.invoke(fn, v, rt.args[argBase:len(rt.args):len(rt.args)],
		rt.kwargs[kwBase:len(rt.kwargs):len(rt.kwargs)])
	if rt.dialect != nil && v.kind == Generator {
		v = rt.list(collect(&rt.eval, v))
	}
	rt.args, rt.kwargs = rt.args[:argBase], rt.kwargs[:kwBase]
	return v
}

// testExpr is "x is name(args)".
type testExpr struct {
	name string
	fn   *builtin
	x    expr
	args args
	pos  syntax.Pos
}

func (x *testExpr) eval(f *frame) Value {
	return f.apply(x.x, &x.args, x.fn, "test", x.name, x.pos)
}

// definedExpr is "x is defined" or "x is undefined". Its look-ups count as tests, not as reads
// (E4).
type definedExpr struct {
	x       expr
	negated bool
}

func (x *definedExpr) eval(f *frame) Value {
	var v Value
	if f.rt.trace != nil {
		v = f.rt.trace.tested(func() Value { return x.x.eval(f) })
	} else {
		v = x.x.eval(f)
	}
	return boolValue((v.kind != Undefined) != x.negated)
}

// kindSet is a set of kinds, as bits.
type kindSet uint32

func kinds(list ...Kind) kindSet {
	var s kindSet
	for _, k := range list {
		s |= 1 << k
	}
	return s
}

// kindTests are the tests that ask for a kind only.
var kindTests = map[string]kindSet{
	"string":  kinds(String, Markup),
	"none":    kinds(None),
	"mapping": kinds(Dict),
	"boolean": kinds(Bool),
	"number":  kinds(Bool, Int, BigInt, Float),
	"float":   kinds(Float),
	"integer": kinds(Int, BigInt),
}

// isExpr is a test of the kind.
type isExpr struct {
	x       expr
	kinds   kindSet
	negated bool
}

func (x *isExpr) eval(f *frame) Value {
	v := x.x.eval(f)
	if x.kinds>>String&1 == 1 {
		f.rt.used(AsText, v)
	}
	return boolValue((x.kinds>>v.kind&1 == 1) != x.negated)
}
