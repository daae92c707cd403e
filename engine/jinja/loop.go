package jinja

import (
	"strconv"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// forStmt is a loop. Where a slot is -1 there is none.
type forStmt struct {
	iter       expr
	target     target
	single     int // the target's slot where it is one name
	pair       bool
	pairSlots  [2]int // the targets' slots where they are two names
	test       expr   // nil: every item
	testEnter  []entryOp
	testTarget target
	testSteps  int // see compiler.counted
	loop       int // slot of the variable loop, where the body reads it
	// the body uses it other than for its fields, so that it may outlive the iteration
	keepsLoop bool
	recursive *recursion
	enter     []entryOp
	code      body
	leave     []int
	otherwise body
	site      int
	elseEnter []entryOp
	elseLeave []int
	pos       syntax.Pos
}

// recursion is the routine of a recursive loop.
type recursion struct {
	routine *routine
	stmt    *forStmt
}

func (s *forStmt) exec(f *frame) jump {
	v := s.iter.eval(f)
	if s.recursive == nil {
		return s.run(f, v, nil, 0)
	}
	// The loop's text goes through a string in jinja2; only autoescape could show the difference.
	return f.recurse(s, v, 0)
}

// recurse runs one level of a recursive loop; f is a frame of the routine around it.
func (f *frame) recurse(s *forStmt, v Value, depth int) jump {
	rt := f.rt
	f.at(s.pos)
	rt.enter()
	inner := rt.frame(s.recursive.routine, f)
	j := s.run(inner, v, f, depth)
	rt.release(s.recursive.routine, inner)
	rt.eval.leave()
	return j
}

// run iterates. outer is set in a recursive loop: the frame around the loop's routine.
func (s *forStmt) run(f *frame, v Value, outer *frame, depth int) jump {
	rt := f.rt
	e := &rt.eval
	e.used(AsList, v)
	f.at(s.pos)
	it := iterate(e, v)
	if rt.dialect != nil && v.isString() {
		panic(errf(TypeError, "the engine's Jinja does not go through the characters of a text"))
	}
	var loop *loopContext
	if s.loop >= 0 {
		loop = rt.loop(s.keepsLoop)
		*loop = loopContext{stmt: s, frame: f, iterable: v, it: it, index0: -1, size: -1,
			outer: outer, depth0: depth}
		loop.self = loop
		f.slots[s.loop] = Value{kind: Object, ref: ptr(&loop.self)}
	}
	complete := false // some iteration reached the end of the body
	for outcome := flow.Entered; ; outcome = flow.Repeated {
		f.at(s.pos)
		rt.tick()
		rt.traceAt(s.pos)
		var item Value
		var ok bool
		switch {
		case loop != nil:
			item, ok = loop.next(e)
		case s.test != nil:
			item, ok = s.filtered(f, &it)
		case s.pair:
			var second Value
			var pair bool
			if item, second, ok, pair = it.nextPair(e); pair {
				f.slots[s.pairSlots[0]], f.slots[s.pairSlots[1]] = item, second
				item = Value{}
			}
		default:
			item, ok = it.next(e)
		}
		if !ok {
			if rt.coverage != nil && outcome == flow.Entered {
				rt.coverage.reached[s.site] |= 1 << flow.Empty
			}
			break
		}
		if rt.coverage != nil {
			rt.coverage.reached[s.site] |= 1 << outcome
		}
		if s.single >= 0 {
			f.slots[s.single] = item
		} else if item.kind != Missing {
			s.target.assign(f, item)
		}
		if rt.dialect == nil || outcome == flow.Entered {
			f.enter(s.enter)
		}
		if j := f.round(s.code); j == breakJump {
			break
		} else if j == noJump {
			complete = true
		}
	}
	f.leave(s.leave)
	if loop != nil && !s.keepsLoop {
		f.slots[s.loop] = Value{}
		*loop = loopContext{}
		rt.loops = append(rt.loops, loop)
	}
	if !complete && s.otherwise != nil {
		f.enter(s.elseEnter)
		if j := s.otherwise.run(f); j != noJump {
			return j
		}
		f.leave(s.elseLeave)
	}
	return noJump
}

// loop returns a new or, where nothing can refer to it later, a used loop variable.
func (rt *interp) loop(fresh bool) *loopContext {
	if n := len(rt.loops); n > 0 && !fresh {
		l := rt.loops[n-1]
		rt.loops = rt.loops[:n-1]
		return l
	}
	return new(loopContext)
}

// filtered returns the next item for which the condition holds. As jinja2's generator it looks no
// further than asked.
func (s *forStmt) filtered(f *frame, it *iterator) (Value, bool) {
	for {
		item, ok := it.next(&f.rt.eval)
		if !ok {
			return item, false
		}
		s.testTarget.assign(f, item)
		f.enter(s.testEnter)
		f.rt.step(s.testSteps)
		if f.test(s.test) {
			return item, true
		}
	}
}

// loopContext is the variable loop.
type loopContext struct {
	// the loop itself, so that a Value can refer to it without an allocation of its own
	self     object
	stmt     *forStmt
	frame    *frame
	iterable Value
	it       iterator
	index0   int // -1 before the first item
	size     int // -1: not yet known
	after    Value
	peeked   bool // after is the next item, or Missing at the end
	current  Value
	before   Value
	changed  Value  // the tuple of the last call of changed; Missing before
	outer    *frame // the frame around the routine of a recursive loop, else nil
	depth0   int
}

func (l *loopContext) pull(e *eval) (Value, bool) {
	if l.stmt.test != nil && l.size < 0 {
		return l.stmt.filtered(l.frame, &l.it)
	}
	return l.it.next(e)
}

func (l *loopContext) next(e *eval) (Value, bool) {
	item := l.after
	if l.peeked && item.kind != Missing {
		l.peeked, l.after = false, Value{}
	} else {
		var ok bool
		if item, ok = l.pull(e); !ok {
			return item, false
		}
		l.peeked = false
	}
	l.index0++
	l.before, l.current = l.current, item
	return item, true
}

func (l *loopContext) peek(e *eval) Value {
	if !l.peeked {
		item, ok := l.pull(e)
		if !ok {
			item = Value{}
		}
		l.after, l.peeked = item, true
	}
	return l.after
}

// len is the number of items; of an iterator it is found by reading it to its end.
func (l *loopContext) len(e *eval) int {
	if l.size >= 0 {
		return l.size
	}
	if l.stmt.test == nil {
		n, err := attempt(e, func() int { return length(e, l.iterable) }, TypeError)
		if err == nil {
			l.size = n
			return n
		}
	}
	var rest []Value
	for {
		item, ok := l.pull(e)
		if !ok {
			break
		}
		rest = append(rest, item)
	}
	l.it = iterate(e, e.list(rest))
	l.size = len(rest) + l.index0 + 1
	if l.peeked && l.after.kind != Missing {
		l.size++
	}
	return l.size
}

func (l *loopContext) typeName() string { return "LoopContext" }

func (l *loopContext) repr() string {
	e := &l.frame.rt.eval
	n, err := attempt(e, func() int { return l.len(e) })
	if err != nil {
		return "<LoopContext>"
	}
	return "<LoopContext " + strconv.Itoa(l.index0+1) + "/" + strconv.Itoa(n) + ">"
}

func (l *loopContext) length(e *eval) int { return l.len(e) }

// iterate gives the items that are left, each with the loop, and uses them up.
func (l *loopContext) iterate(*eval) iterator {
	return iterateFunc(func(e *eval) (Value, bool) {
		item, ok := l.next(e)
		if !ok {
			return Value{}, false
		}
		return e.pair(item, Value{kind: Object, ref: ptr(&l.self)}), true
	})
}

// loopField is a field of loop.
type loopField uint8

const (
	loopIndex loopField = iota
	loopIndex0
	loopRevindex
	loopRevindex0
	loopFirst
	loopLast
	loopLength
	loopDepth
	loopDepth0
	loopPrevitem
	loopNextitem
)

var loopFields = map[string]loopField{
	"index": loopIndex, "index0": loopIndex0, "revindex": loopRevindex, "revindex0": loopRevindex0,
	"first": loopFirst,
	"last":  loopLast, "length": loopLength, "depth": loopDepth, "depth0": loopDepth0,
	"previtem": loopPrevitem,
	"nextitem": loopNextitem,
}

func (l *loopContext) field(e *eval, field loopField) Value {
	switch field {
	case loopIndex:
		return e.computed(intValue(l.index0 + 1))
	case loopIndex0:
		return e.computed(intValue(l.index0))
	case loopFirst:
		return e.computed(boolValue(l.index0 == 0))
	case loopDepth:
		return e.computed(intValue(l.depth0 + 1))
	case loopDepth0:
		return e.computed(intValue(l.depth0))
	case loopPrevitem:
		if l.index0 == 0 {
			return undefinedHint("there is no previous item")
		}
		e.traceRead(l.before)
		return l.before
	case loopLast, loopNextitem:
		next := l.peek(e)
		switch {
		case field == loopLast:
			return e.computed(boolValue(next.kind == Missing))
		case next.kind == Missing:
			return undefinedHint("there is no next item")
		}
		e.traceRead(next)
		return next
	}
	n := l.len(e)
	switch field {
	case loopRevindex:
		n -= l.index0
	case loopRevindex0:
		n -= l.index0 + 1
	}
	return e.computed(intValue(n))
}

func (l *loopContext) attr(e *eval, name string) (Value, bool) {
	self := Value{kind: Object, ref: ptr(&l.self)}
	switch name {
	case "cycle":
		return functionValue(&function{builtin: loopCycle, recv: self}), true
	case "changed":
		return functionValue(&function{builtin: loopChanged, recv: self}), true
	}
	field, ok := loopFields[name]
	if !ok {
		return Value{}, false
	}
	v, err := attempt(e, func() Value { return l.field(e, field) })
	if err != nil {
		return undefinedHint(err.Error()), true
	}
	return v, true
}

// loopExpr is loop.field, looked up when compiled.
type loopExpr struct {
	ref   slotRef
	field loopField
	pos   syntax.Pos
}

func (x *loopExpr) eval(f *frame) Value {
	f.at(x.pos)
	if v := x.ref.get(f); v.kind == Object {
		if l, ok := v.object().(*loopContext); ok {
			return l.field(&f.rt.eval, x.field)
		}
	}
	panic(undefinedError(undefinedName("loop")))
}

var loopCycle = &builtin{name: "cycle", varargs: true, run: func(c *call) Value {
	if len(c.args) == 0 {
		panic(errf(TypeError, "no items for cycling given"))
	}
	return c.args[c.recv.object().(*loopContext).index0%len(c.args)]
}}

var loopChanged = &builtin{name: "changed", varargs: true, run: func(c *call) Value {
	l := c.recv.object().(*loopContext)
	now := c.tuple(append([]Value(nil), c.args...)...)
	if l.changed.kind != Missing && equal(c.eval, l.changed, now) {
		return boolValue(false)
	}
	l.changed = now
	return boolValue(true)
}}

// call implements callable: loop(items) runs a recursive loop over items.
func (l *loopContext) call(c *call) Value {
	var items Value
	switch {
	case len(c.args) == 1 && len(c.kwargs) == 0:
		items = c.args[0]
	case len(c.args) == 0 && len(c.kwargs) == 1 && c.kwargs[0].name == "iterable":
		items = c.kwargs[0].value
	default:
		panic(errf(TypeError, "LoopContext.__call__() takes one argument: 'iterable'"))
	}
	if l.outer == nil {
		panic(errf(TypeError, "The loop must have the 'recursive' marker to be "+
			"called recursively."))
	}
	rt := l.frame.rt
	v, _ := l.outer.capture(body{recurseStmt{l, items}})
	return rt.markup(v)
}

// recurseStmt is one more level of a recursive loop, as a statement.
type recurseStmt struct {
	loop  *loopContext
	items Value
}

func (s recurseStmt) exec(f *frame) jump {
	return f.recurse(s.loop.stmt, s.items, s.loop.depth0+1)
}
