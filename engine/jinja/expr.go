package jinja

import (
	"strconv"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// constExpr is a literal.
type constExpr struct{ value Value }

func (x *constExpr) eval(*frame) (Value, error) { return x.value, nil }

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

func (x *localExpr) eval(f *frame) (Value, error) {
	v := f.slots[x.slot]
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, x.asked, x.pos), nil
	}
	return v, nil
}

func (x *outerExpr) eval(f *frame) (Value, error) {
	v := x.get(f)
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, x.asked, x.pos), nil
	}
	return v, nil
}

func (x *inputExpr) eval(f *frame) (Value, error) {
	v := f.rt.ctx[x.index]
	if v.kind == Missing || f.rt.trace != nil {
		return f.named(v, x.name, true, x.pos), nil
	}
	return v, nil
}

func (x *slotExpr) eval(f *frame) (Value, error) { return f.slots[x.slot], nil }

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

func (x *tupleExpr) eval(f *frame) (Value, error) {
	items, err := f.all(x.items)
	return f.rt.tuple(items...), err
}

type listExpr struct{ items []expr }

func (x *listExpr) eval(f *frame) (Value, error) {
	items, err := f.all(x.items)
	return f.rt.list(items), err
}

// entriesPerStep is how many entries of a literal are kept in a step, beside those that their code
// takes.
const entriesPerStep = 8

func (f *frame) all(list []expr) ([]Value, error) {
	if err := f.rt.step(len(list) / entriesPerStep); err != nil {
		return nil, err
	}
	items := f.rt.values.Take(len(list))
	for i, x := range list {
		v, err := x.eval(f)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

type dictExpr struct {
	keys, values []expr
	pos          syntax.Pos
}

func (x *dictExpr) eval(f *frame) (Value, error) {
	if err := f.rt.step(len(x.keys) / entriesPerStep); err != nil {
		return Value{}, err
	}
	d := f.rt.dict(len(x.keys))
	for i := range x.keys {
		k, err := x.keys[i].eval(f)
		if err != nil {
			return Value{}, err
		}
		v, err := x.values[i].eval(f)
		if err != nil {
			return Value{}, err
		}
		if err = d.set(&f.rt.eval, k, v); err != nil {
			return Value{}, f.at(err, x.pos)
		}
	}
	return dictValue(d), nil
}

type unaryExpr struct {
	op  string
	x   expr
	pos syntax.Pos
}

func (x *unaryExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	if x.op == "-" {
		v, err = neg(&f.rt.eval, v)
	} else {
		v, err = pos(&f.rt.eval, v)
	}
	return v, f.at(err, x.pos)
}

type notExpr struct{ x expr }

func (x *notExpr) eval(f *frame) (Value, error) {
	yes, err := f.test(x.x)
	return boolValue(!yes), err
}

type binaryExpr struct {
	op   func(e *eval, a, b Value) (Value, error)
	x, y expr
	pos  syntax.Pos
}

var binaryOps = map[string]func(e *eval, a, b Value) (Value, error){
	"-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod, "**": pow,
}

func (x *binaryExpr) eval(f *frame) (Value, error) {
	a, err := x.x.eval(f)
	if err != nil {
		return a, err
	}
	b, err := x.y.eval(f)
	if err != nil {
		return b, err
	}
	v, err := x.op(&f.rt.eval, a, b)
	return v, f.at(err, x.pos)
}

// sumExpr is a + b + c. As long as all terms are plain strings they are joined once, at the end.
type sumExpr struct {
	terms []expr
	pos   []syntax.Pos // of each plus
}

// collect evaluates the terms. Where all are plain strings they are left on the argument stack and
// the value is Missing; else the value is the sum and the stack as it was.
func (x *sumExpr) collect(f *frame) (Value, error) {
	rt := f.rt
	base := len(rt.args)
	for i, term := range x.terms {
		v, err := term.eval(f)
		if err != nil {
			return v, err
		}
		if v.kind == String {
			rt.args = append(rt.args, v)
			continue
		}
		if i > 0 {
			left, err := f.join(rt.args[base:], x.pos[i-1])
			if err != nil {
				return left, err
			}
			if v, err = add(&rt.eval, left, v); err != nil {
				return v, f.at(err, x.pos[i-1])
			}
		}
		rt.args = rt.args[:base]
		for i++; i < len(x.terms); i++ {
			right, err := x.terms[i].eval(f)
			if err != nil {
				return right, err
			}
			if v, err = add(&rt.eval, v, right); err != nil {
				return v, f.at(err, x.pos[i-1])
			}
		}
		return v, nil
	}
	return Value{}, nil
}

// join joins plain strings.
func (f *frame) join(parts []Value, pos syntax.Pos) (Value, error) {
	switch len(parts) {
	case 1:
		return parts[0], nil
	case 2:
		v, err := add(&f.rt.eval, parts[0], parts[1])
		return v, f.at(err, pos)
	}
	size := 0
	for i := range parts {
		size += int(parts[i].num)
	}
	if err := f.rt.charge(size); err != nil {
		return Value{}, f.at(err, pos)
	}
	b := f.rt.builder(size)
	for _, v := range parts {
		b.str(v)
	}
	return b.value(), nil
}

func (x *sumExpr) eval(f *frame) (Value, error) {
	rt := f.rt
	base := len(rt.args)
	v, err := x.collect(f)
	if err == nil && v.kind == Missing {
		v, err = f.join(rt.args[base:], x.pos[len(x.pos)-1])
	}
	rt.args = rt.args[:base]
	return v, err
}

type andExpr struct{ x, y expr }

func (x *andExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	if yes, err := f.truth(v); !yes || err != nil {
		return v, err
	}
	return x.y.eval(f)
}

type orExpr struct{ x, y expr }

func (x *orExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	if yes, err := f.truth(v); yes || err != nil {
		return v, err
	}
	return x.y.eval(f)
}

// concatExpr is a ~ b ~ c.
type concatExpr struct {
	items  []expr
	escape escaping
	pos    syntax.Pos
}

func (x *concatExpr) eval(f *frame) (Value, error) {
	rt := f.rt
	base := len(rt.args)
	for _, item := range x.items {
		v, err := item.eval(f)
		if err != nil {
			rt.args = rt.args[:base]
			return v, err
		}
		rt.args = append(rt.args, v)
	}
	// Whether markup counts is decided where the operator stands, not where it runs.
	outer := rt.autoescape
	rt.autoescape = x.escape == escapeOn
	v, err := concat(&rt.eval, rt.args[base:])
	rt.autoescape = outer
	rt.args = rt.args[:base]
	return v, f.at(err, x.pos)
}

type equalExpr struct {
	x, y    expr
	negated bool
	pos     syntax.Pos
}

func (x *equalExpr) eval(f *frame) (Value, error) {
	a, err := x.x.eval(f)
	if err != nil {
		return a, err
	}
	b, err := x.y.eval(f)
	if err != nil {
		return b, err
	}
	yes, err := equal(&f.rt.eval, a, b)
	return boolValue(yes != x.negated), f.at(err, x.pos)
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

func (x *equalText) eval(f *frame) (Value, error) {
	a, err := x.x.eval(f)
	if err != nil {
		return a, err
	}
	if a.kind == String && f.rt.trace == nil {
		if a.num != x.text.num {
			return boolValue(x.negated), nil
		}
		if a.num < freeComparison {
			return boolValue((a.text() == x.text.text()) != x.negated), nil
		}
	}
	yes, err := equal(&f.rt.eval, a, x.text)
	return boolValue(yes != x.negated), f.at(err, x.pos)
}

type inExpr struct {
	x, y    expr
	negated bool
	pos     syntax.Pos
}

func (x *inExpr) eval(f *frame) (Value, error) {
	a, err := x.x.eval(f)
	if err != nil {
		return a, err
	}
	b, err := x.y.eval(f)
	if err != nil {
		return b, err
	}
	yes, err := contains(&f.rt.eval, b, a)
	if f.rt.trace != nil && b.kind == Dict && b.prov != nil && b.prov.node != nil && a.isString() {
		f.rt.trace.asked(f.rt.nodes.One().init(b.prov.node, a.text(), -1), !yes)
	}
	return boolValue(yes != x.negated), f.at(err, x.pos)
}

type compareExpr struct {
	op   string
	x, y expr
	pos  syntax.Pos
}

func (x *compareExpr) eval(f *frame) (Value, error) {
	a, err := x.x.eval(f)
	if err != nil {
		return a, err
	}
	b, err := x.y.eval(f)
	if err != nil {
		return b, err
	}
	if a.kind == Int && b.kind == Int && f.rt.trace == nil {
		return boolValue(compareInts(x.op, a.int(), b.int())), nil
	}
	yes, err := compare(&f.rt.eval, x.op, a, b)
	return boolValue(yes), f.at(err, x.pos)
}

func compareInts(op string, a, b int64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	}
	return a >= b
}

// chainExpr is a < b < c.
type chainExpr struct {
	first expr
	ops   []string
	rest  []expr
	pos   syntax.Pos
}

func (x *chainExpr) eval(f *frame) (Value, error) {
	a, err := x.first.eval(f)
	if err != nil {
		return a, err
	}
	for i, op := range x.ops {
		b, err := x.rest[i].eval(f)
		if err != nil {
			return b, err
		}
		var yes bool
		switch op {
		case "in", "not in":
			yes, err = contains(&f.rt.eval, b, a)
			yes = yes != (op == "not in")
		default:
			yes, err = compare(&f.rt.eval, op, a, b)
		}
		if !yes || err != nil {
			return boolValue(false), f.at(err, x.pos)
		}
		a = b
	}
	return boolValue(true), nil
}

type condExpr struct {
	test, then, otherwise expr // otherwise may be nil
	line                  int
	site                  int
}

func (x *condExpr) eval(f *frame) (Value, error) {
	yes, err := f.test(x.test)
	if err != nil {
		return Value{}, err
	}
	switch yes = f.rt.decided(x.site, yes); {
	case yes:
		return x.then.eval(f)
	case x.otherwise != nil:
		return x.otherwise.eval(f)
	}
	return undefinedHint("the inline if-expression on line " + strconv.Itoa(x.line) +
		" evaluated to false and no else section was defined."), nil
}

// attrExpr is x.name.
type attrExpr struct {
	x    expr
	attr *attr
	pos  syntax.Pos
}

func (x *attrExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	f.rt.traceAt(x.pos)
	v, err = getattr(&f.rt.eval, v, x.attr)
	return v, f.at(err, x.pos)
}

// keyExpr is x['name'].
type keyExpr struct {
	x    expr
	key  Value
	name string
	pos  syntax.Pos
}

func (x *keyExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	if v.kind == Dict && f.rt.trace == nil {
		if item, ok := v.dict().getString(x.name); ok {
			return item, nil
		}
	}
	f.rt.traceAt(x.pos)
	v, err = getitem(&f.rt.eval, v, x.key)
	return v, f.at(err, x.pos)
}

type itemExpr struct {
	x, key expr
	pos    syntax.Pos
}

func (x *itemExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	key, err := x.key.eval(f)
	if err != nil {
		return key, err
	}
	f.rt.traceAt(x.pos)
	v, err = getitem(&f.rt.eval, v, key)
	return v, f.at(err, x.pos)
}

type sliceExpr struct {
	x                 expr
	start, stop, step expr // nil where absent
	pos               syntax.Pos
}

func (x *sliceExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if err != nil {
		return v, err
	}
	var bounds [3]Value
	for i, b := range [3]expr{x.start, x.stop, x.step} {
		if b != nil {
			if bounds[i], err = b.eval(f); err != nil {
				return v, err
			}
		}
	}
	v, err = getslice(&f.rt.eval, v, bounds[0], bounds[1], bounds[2])
	return v, f.at(err, x.pos)
}

// args are the arguments of a call.
type args struct {
	pos            []expr
	names          []string
	values         []expr
	star, starStar expr // nil where absent
}

// push evaluates the arguments onto the stacks of the interpreter.
func (a *args) push(f *frame, pos syntax.Pos) error {
	rt := f.rt
	for _, x := range a.pos {
		v, err := x.eval(f)
		if err != nil {
			return err
		}
		rt.args = append(rt.args, v)
	}
	if a.star != nil || a.starStar != nil || len(a.names) > 0 {
		return a.pushNamed(f, pos)
	}
	return nil
}

func (a *args) pushNamed(f *frame, pos syntax.Pos) error {
	rt := f.rt
	e := &rt.eval
	base := len(rt.kwargs)
	for i, x := range a.values {
		v, err := x.eval(f)
		if err != nil {
			return err
		}
		rt.kwargs = append(rt.kwargs, kwarg{a.names[i], v})
	}
	if a.star != nil {
		v, err := a.star.eval(f)
		if err != nil {
			return err
		}
		it, err := iterate(e, v)
		if err != nil {
			return f.at(errf(TypeError, "Value after * must be "+
				"an iterable, not %s", typeName(v)), pos)
		}
		for {
			item, ok, err := it.next(e)
			if err != nil {
				return f.at(err, pos)
			}
			if !ok {
				break
			}
			rt.args = append(rt.args, item)
		}
	}
	if a.starStar != nil {
		v, err := a.starStar.eval(f)
		if err != nil {
			return err
		}
		switch v.kind {
		case Dict:
		case Undefined:
			return f.at(undefinedError(v), pos)
		default:
			return f.at(errf(TypeError, "argument after ** must be a "+
				"mapping, not %s", typeName(v)), pos)
		}
		for _, entry := range v.dict().all() {
			if !entry.key.isString() {
				return f.at(errf(TypeError, "keywords must be strings"), pos)
			}
			name := entry.key.text()
			for _, k := range rt.kwargs[base:] {
				if k.name == name {
					return f.at(errf(TypeError, "got multiple values for "+
						"keyword argument %s", pyQuote(name)), pos)
				}
			}
			rt.kwargs = append(rt.kwargs, kwarg{name, entry.value})
		}
	}
	return nil
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

func (x *callExpr) eval(f *frame) (Value, error) { return x.run(f, false, nil) }

// run calls. With write set, a macro writes its result to the output instead of returning it, and
// the value is Missing. caller is passed as the keyword argument of that name.
func (x *callExpr) run(f *frame, write bool, caller *Value) (Value, error) {
	rt := f.rt
	var callee Value
	var err error
	if x.fn != nil {
		callee, err = x.fn.eval(f)
	} else if callee, err = x.object.eval(f); err == nil && callee.kind == Undefined {
		_, err = getattr(&rt.eval, callee, x.method)
		err = f.at(err, x.methodPos)
	}
	if err != nil {
		return callee, err
	}
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	v, err := x.apply(f, callee, write, caller)
	rt.args, rt.kwargs = rt.args[:argBase], rt.kwargs[:kwBase]
	return v, err
}

func (x *callExpr) apply(f *frame, callee Value, write bool, caller *Value) (Value, error) {
	rt := f.rt
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	if err := x.args.push(f, x.pos); err != nil {
		return Value{}, err
	}
	if caller != nil {
		rt.kwargs = append(rt.kwargs, kwarg{"caller", *caller})
	}
	args, kwargs := rt.args[argBase:len(rt.args):len(rt.args)],
		rt.kwargs[kwBase:len(rt.kwargs):len(rt.kwargs)]
	rt.traceAt(x.pos)
	var v Value
	var err error
	if x.fn == nil {
		v, err = callMethod(&rt.eval, callee, x.method, args, kwargs)
	} else if m := macroOf(callee); m == nil {
		v, err = callValue(&rt.eval, callee, args, kwargs)
	} else if write && !rt.autoescape {
		err = m.write(args, kwargs)
	} else {
		v, err = m.run(args, kwargs)
	}
	return v, f.at(err, x.pos)
}

// filterExpr is x|name(args).
type filterExpr struct {
	name string
	fn   *builtin // nil: unknown, which matters only when it is reached
	x    expr
	args args
	pos  syntax.Pos
}

func (x *filterExpr) eval(f *frame) (Value, error) {
	return f.apply(x.x, &x.args, x.fn, "filter", x.name, x.pos)
}

// apply calls a filter or test.
func (f *frame) apply(operand expr, a *args, fn *builtin, what, name string,
	pos syntax.Pos) (Value, error) {
	rt := f.rt
	v, err := operand.eval(f)
	if err != nil {
		return v, err
	}
	argBase, kwBase := len(rt.args), len(rt.kwargs)
	if err = a.push(f, pos); err == nil && rt.dialect != nil && what == "filter" {
		v, fn, err = rt.filter(v, name, fn, len(rt.args)-argBase)
		err = f.at(err, pos)
	}
	if err == nil {
		if fn == nil {
			err = f.at(errf(TemplateRuntimeError, "No %s named %s found.", what, pyQuote(name)),
				pos)
		} else {
			rt.traceAt(pos)
			v, err = rt.invoke(fn, v, rt.args[argBase:len(rt.args):len(rt.args)],
				rt.kwargs[kwBase:len(rt.kwargs):len(rt.kwargs)])
			if rt.dialect != nil && err == nil && v.kind == Generator {
				var items []Value
				items, err = collect(&rt.eval, v)
				v = rt.list(items)
			}
			err = f.at(err, pos)
		}
	}
	rt.args, rt.kwargs = rt.args[:argBase], rt.kwargs[:kwBase]
	return v, err
}

// testExpr is "x is name(args)".
type testExpr struct {
	name string
	fn   *builtin
	x    expr
	args args
	pos  syntax.Pos
}

func (x *testExpr) eval(f *frame) (Value, error) {
	return f.apply(x.x, &x.args, x.fn, "test", x.name, x.pos)
}

// definedExpr is "x is defined" or "x is undefined". Its look-ups count as tests, not as reads
// (E4).
type definedExpr struct {
	x       expr
	negated bool
}

func (x *definedExpr) eval(f *frame) (Value, error) {
	var v Value
	var err error
	if f.rt.trace != nil {
		v, err = f.rt.trace.tested(func() (Value, error) { return x.x.eval(f) })
	} else {
		v, err = x.x.eval(f)
	}
	return boolValue((v.kind != Undefined) != x.negated), err
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

func (x *isExpr) eval(f *frame) (Value, error) {
	v, err := x.x.eval(f)
	if x.kinds>>String&1 == 1 {
		f.rt.used(AsText, v)
	}
	return boolValue((x.kinds>>v.kind&1 == 1) != x.negated), err
}
