package jinja

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// eval is the state that one render carries through every operation: its options, its limits and
// its trace. Built-ins get it in their call; nothing else is shared between them.
type eval struct {
	*memory
	mutable    bool             // lists and dicts may be changed (E1)
	forbids    uint8            // the newest prohibition of methods that holds, see Mode.forbids
	dialect    *Dialect         // nil: Jinja2's (E33)
	autoescape bool             // an {% autoescape true %} block is being rendered
	origins    bool             // values carry their provenance (E3); needed for trace
	trace      *recorder        // nil: off (E4)
	now        func() time.Time // the clock of strftime_now; nil: there is none
	rand       *rand.Rand       // of random and lipsum; seeded by the options
	steps      int64            // steps left: loop iterations, items handled, big-number work
	scarce     bool             // a budget allows less than the limits do
	bytes      int64            // bytes left that values may be built of
	depth      int              // nesting of calls and of recursions over values
	maxDepth   int              // its limit
	calls      []*call          // free calls, for reuse
	args       []Value          // a stack of call arguments
	kwargs     []kwarg          // the same for keyword arguments
	pos        syntax.Pos       // where the operation stands that runs
}

// step charges n steps, and fails when none are left.
func (e *eval) step(n int) {
	if e.steps -= int64(n); e.steps < 0 || n < 0 {
		e.steps = -1
		e.spent("needs more steps than allowed; it may be looping", "need more steps than allowed")
	}
}

// spent raises the error of a template that did more than allowed; all is of the budget that its
// renders share.
func (e *eval) spent(one, all string) {
	if e.scarce {
		panic(errf(LimitError, "the renders of the template %s for all of them together", all))
	}
	panic(errf(LimitError, "the template %s", one))
}

// scanSteps is the cost of looking at all of a string; short ones are free.
func scanSteps(v Value) int { return int(v.num >> 8) }

// sizeSteps is the cost of looking at all of a text or a large integer.
func sizeSteps(v Value) int {
	switch v.kind {
	case String, Markup:
		return scanSteps(v)
	case BigInt:
		return 1 + bigSteps(v.big())
	}
	return 0
}

// stepKey charges looking a key up. One that cannot be a key is a TypeError.
func (e *eval) stepKey(key Value) {
	if key.isString() {
		if steps := scanSteps(key); steps > 0 {
			e.step(steps)
		}
		return
	}
	e.step(keySteps(key))
}

// bigSteps is the cost of looking at all of a large integer.
func bigSteps(x *big.Int) int { return x.BitLen() / (8 * 256) }

// charge charges the building of n bytes, before they are built, and fails when more than allowed
// would be made.
func (e *eval) charge(n int) {
	if e.bytes -= int64(n); e.bytes < 0 || n < 0 {
		e.bytes = -1
		e.spent("builds more text than allowed", "build more text than allowed")
	}
}

// chargeProduct is charge for n copies of size bytes, without overflow.
func (e *eval) chargeProduct(n, size int) {
	if n <= 0 || size <= 0 {
		return
	}
	if int64(n) > e.bytes/int64(size) {
		e.bytes = 0
		e.charge(1)
		return
	}
	e.charge(n * size)
}

// enter and leave bracket a recursion: a call, or one level of a nested value.
func (e *eval) enter() {
	if e.depth++; e.depth > e.maxDepth {
		e.depth--
		panic(errf(RecursionError, "maximum recursion depth exceeded"))
	}
}

func (e *eval) leave() { e.depth-- }

// class names a Python exception. LimitError has no counterpart in Python.
type class string

// The classes that templates can raise.
const (
	AssertionError       class = "AssertionError"
	AttributeError       class = "AttributeError"
	IndexError           class = "IndexError"
	KeyError             class = "KeyError"
	LookupError          class = "LookupError"
	OverflowError        class = "OverflowError"
	RecursionError       class = "RecursionError"
	RuntimeError         class = "RuntimeError"
	StopIteration        class = "StopIteration"
	TypeError            class = "TypeError"
	ValueError           class = "ValueError"
	ZeroDivisionError    class = "ZeroDivisionError"
	UnicodeEncodeError   class = "UnicodeEncodeError"
	FilterArgumentError  class = "FilterArgumentError"
	SecurityError        class = "SecurityError"
	TemplateError        class = "TemplateError"
	TemplateRuntimeError class = "TemplateRuntimeError"
	UndefinedError       class = "UndefinedError"
	LimitError           class = "LimitError"
)

// raised is a Python exception on its way out of the render, which adds the position.
type raised struct {
	class class
	msg   string
}

func (r *raised) Error() string { return string(r.class) + ": " + r.msg }

// errf returns an exception.
func errf(c class, format string, args ...any) error {
	return &raised{c, fmt.Sprintf(format, args...)}
}

// brokenOff is the reason for which the caller has broken the render off, on its way out.
type brokenOff struct{ err error }

// caught returns the error that a panic raises. Operations raise by panic, as those of Python do;
// what they raise leaves the render ([Template.run]) or an [attempt]. Other panics go on.
func caught(panicked any) error {
	switch r := panicked.(type) {
	case nil:
		return nil
	case *raised:
		return r
	case brokenOff:
		return r.err
	}
	panic(panicked)
}

// attempt calls a function and returns the error that it raises if that is of one of the classes,
// or any where none are named; others go on. What the error leaves in the middle is taken back.
func attempt[T any](e *eval, f func() T, classes ...class) (v T, err error) {
	args, kwargs, depth, pos, escaped := len(e.args), len(e.kwargs), e.depth, e.pos, e.autoescape
	defer func() {
		r := recover()
		if err = caught(r); err != nil && len(classes) > 0 && !isClass(err, classes...) {
			panic(r)
		}
		e.args, e.kwargs, e.depth, e.pos = e.args[:args], e.kwargs[:kwargs], depth, pos
		e.autoescape = escaped
	}()
	return f(), nil
}

// isClass reports whether err is an exception of one of the classes.
func isClass(err error, classes ...class) bool {
	r, ok := err.(*raised)
	return ok && slices.Contains(classes, r.class)
}

// builtin describes a filter, test, global function or method.
type builtin struct {
	name       string
	params     []string // names in order, the receiver left out
	positional bool     // parameters cannot be given by name
	required   int      // how many of them must be given
	varargs    bool     // further positional arguments are taken
	kwargs     bool     // further keyword arguments are taken
	// 1 for a method that changes its object, which the immutable sandbox forbids; 2 where only
	// mode Strict forbids it; else 0
	mutates  uint8
	property bool                // an attribute: reading it calls run
	attrs    map[string]*builtin // of a function that is a class: its class methods
	run      func(c *call) Value
}

// kwarg is a keyword argument.
type kwarg struct {
	name  string
	value Value
}

// call is one call of a builtin. args has a place for every parameter, Missing where it was not
// given; more follow where the builtin takes varargs. kwargs are those that are no parameter. A
// builtin must not keep the call or args.
type call struct {
	*eval
	fn     *builtin
	recv   Value // the filtered or tested value, or a method's object
	args   []Value
	kwargs []kwarg
	buf    [6]Value
}

// arg returns the i-th argument, or def where it was not given.
func (c *call) arg(i int, def Value) Value { return c.args[i].or(def) }

// given reports whether the i-th argument was given.
func (c *call) given(i int) bool { return !c.args[i].isMissing() }

// invoke calls a builtin: arguments are bound to its parameters as Python does, and given to its
// function.
func (e *eval) invoke(b *builtin, recv Value, args []Value, kwargs []kwarg) Value {
	steps := 1 + sizeSteps(recv)
	for i := range args {
		steps += sizeSteps(args[i])
	}
	e.step(steps)
	var c *call
	if n := len(e.calls); n > 0 {
		c, e.calls = e.calls[n-1], e.calls[:n-1]
	} else {
		c = &call{eval: e}
	}
	c.fn, c.recv = b, recv
	c.bind(b, args, kwargs)
	v := b.run(c)
	c.args, c.kwargs = nil, nil
	e.calls = append(e.calls, c)
	return v
}

func (c *call) bind(b *builtin, args []Value, kwargs []kwarg) {
	params, positional := b.params, b.positional
	if len(args) > len(params) && !b.varargs {
		panic(errf(TypeError, "%s() takes at most "+
			"%d %s (%d given)", b.name, len(params), plural(len(params), "argument"), len(args)))
	}
	if n := max(len(args), len(params)); n <= len(c.buf) {
		c.args = c.buf[:n]
		clear(c.args[copy(c.args, args):])
	} else {
		c.args = make([]Value, n)
		copy(c.args, args)
	}
	if b.positional && b.kwargs { // none of them can be a parameter
		c.kwargs = kwargs
		c.require(b, params)
		return
	}
	c.kwargs = nil
next:
	for _, k := range kwargs {
		if !positional {
			for i, p := range params {
				if p != k.name {
					continue
				}
				if !c.args[i].isMissing() {
					panic(errf(TypeError, "%s() got multiple values for argument '%s'", b.name, p))
				}
				c.args[i] = k.value
				continue next
			}
		}
		if !b.kwargs {
			if positional || len(params) == 0 {
				panic(errf(TypeError, "%s() takes no keyword arguments", b.name))
			}
			panic(errf(TypeError, "%s() got an unexpected keyword argument '%s'", b.name, k.name))
		}
		c.kwargs = append(c.kwargs, k)
	}
	c.require(b, params)
}

func (c *call) require(b *builtin, params []string) {
	for i := range b.required {
		if c.args[i].isMissing() {
			panic(errf(TypeError, "%s() missing required argument: '%s'", b.name, params[i]))
		}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// callValue calls a value with arguments: a function, method, macro or other callable object.
func callValue(e *eval, f Value, args []Value, kwargs []kwarg) Value {
	switch f.kind {
	case Function:
		fn := f.function()
		return e.invoke(fn.builtin, fn.recv, args, kwargs)
	case Undefined:
		panic(undefinedError(f))
	case Object:
		if o, ok := f.object().(callable); ok {
			at := e.pos
			v := o.call(&call{eval: e, args: args, kwargs: kwargs})
			e.pos = at
			return v
		}
	}
	panic(errf(TypeError, "'%s' object is not callable", typeName(f)))
}

func bytesToString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
