package jinja

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

// equal is Python's a == b. Text from the input that is compared with text is recorded (E4).
func equal(e *eval, a, b Value) bool {
	if e.trace != nil {
		e.traceCompare("==", a, b)
	}
	return equalValues(e, a, b)
}

func equalValues(e *eval, a, b Value) bool {
	switch {
	case a.isString():
		if !b.isString() || a.num != b.num {
			return false
		}
		e.step(scanSteps(a))
		return a.rawText() == b.rawText()
	case a.isNumber():
		return b.isNumber() && equalNumbers(a, b)
	case a.kind == View && b.kind == View && a.view().kind != viewValues &&
		b.view().kind != viewValues:
		n, m := a.view().d.len(), b.view().d.len()
		if n != m {
			return false
		}
		return subset(e, a, b)
	case a.kind != b.kind:
		return false
	}
	switch a.kind {
	case None, Undefined:
		return true
	case List, Tuple:
		x, y := a.seq(), b.seq()
		if x == y {
			return true
		}
		if x.len() != y.len() {
			return false
		}
		return firstDifference(e, x.all(), y.all()) < 0
	case Dict:
		x, y := a.dict(), b.dict()
		if x == y {
			return true
		}
		if x.len() != y.len() {
			return false
		}
		e.enter()
		defer e.leave()
		for _, entry := range x.all() {
			e.step(1)
			other, ok := y.get(e, entry.key)
			if !ok || !same(entry.value, other) && !equalValues(e, entry.value, other) {
				return false
			}
		}
		return true
	case Range:
		return hashKey(a) == hashKey(b)
	case Function:
		f, g := a.function(), b.function()
		return f.builtin == g.builtin &&
			(f == g || f.recv.kind != Missing && f.recv.kind == g.recv.kind &&
				same(f.recv, g.recv))
	}
	return same(a, b)
}

// firstDifference is the first place where two sequences differ, or -1; one that is a prefix of the
// other differs at its end.
func firstDifference(e *eval, x, y []Value) int {
	e.enter()
	defer e.leave()
	for i := range min(len(x), len(y)) {
		e.step(1)
		if !same(x[i], y[i]) && !equalValues(e, x[i], y[i]) {
			return i
		}
	}
	if len(x) != len(y) {
		return min(len(x), len(y))
	}
	return -1
}

func equalNumbers(a, b Value) bool {
	if a.kind != Float && b.kind != Float {
		if a.kind == BigInt || b.kind == BigInt {
			return a.kind == b.kind && a.big().Cmp(b.big()) == 0
		}
		return a.num == b.num
	}
	c, ok := compareNumbers(a, b)
	return ok && c == 0
}

// compareNumbers compares exactly, whatever the kinds; false: one is NaN.
func compareNumbers(a, b Value) (int, bool) {
	switch {
	case a.kind == Float && b.kind == Float:
		x, y := a.float(), b.float()
		return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
	case a.kind == Float:
		c, ok := compareNumbers(b, a)
		return -c, ok
	case b.kind == Float:
		f := b.float()
		switch {
		case math.IsNaN(f):
			return 0, false
		case math.IsInf(f, 1):
			return -1, true
		case math.IsInf(f, -1):
			return 1, true
		}
		return new(big.Float).SetInt(bigInt(a)).Cmp(big.NewFloat(f)), true
	case a.kind == BigInt || b.kind == BigInt:
		return bigInt(a).Cmp(bigInt(b)), true
	}
	return cmp.Compare(a.int(), b.int()), true
}

// compare is a Python comparison: "==", "!=", "<", "<=", ">" or ">=".
func compare(e *eval, op string, a, b Value) bool {
	switch op {
	case "==":
		return equal(e, a, b)
	case "!=":
		return !equal(e, a, b)
	}
	if e.trace != nil {
		e.traceCompare(op, a, b)
	}
	return order(e, op, a, b)
}

func holds(op string, c int) bool {
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func order(e *eval, op string, a, b Value) bool {
	switch {
	case a.isNumber() && b.isNumber():
		c, ok := compareNumbers(a, b)
		return ok && holds(op, c)
	case a.isString() && b.isString():
		// UTF-8 sorts as code points do
		e.step(min(scanSteps(a), scanSteps(b)))
		return holds(op, strings.Compare(a.text(), b.text()))
	case a.isSeq() && a.kind == b.kind:
		x, y := a.items(), b.items()
		switch i := firstDifference(e, x, y); {
		case i < 0:
			return holds(op, 0)
		case i < len(x) && i < len(y):
			return order(e, op, x[i], y[i])
		}
		return holds(op, len(x)-len(y))
	case a.kind == View && b.kind == View && a.view().kind != viewValues &&
		b.view().kind != viewValues:
		n, m := a.view().d.len(), b.view().d.len()
		switch op {
		case "<", "<=":
			if n > m || op == "<" && n == m {
				return false
			}
			return subset(e, a, b)
		}
		if m > n || op == ">" && n == m {
			return false
		}
		return subset(e, b, a)
	}
	defined(a, b)
	panic(errf(TypeError, "'%s' not supported between instances "+
		"of '%s' and '%s'", op, typeName(a), typeName(b)))
}

// subset reports whether every item of a view is in another.
func subset(e *eval, a, b Value) bool {
	for item := range e.each(a) {
		if !contains(e, b, item) {
			return false
		}
	}
	return true
}

// contains is Python's item in container.
func contains(e *eval, container, item Value) bool {
	if e.dialect != nil && (container.kind == Undefined || item.kind == Undefined) {
		if container.kind != Undefined {
			panic(errf(UndefinedError, "%s, and the engine's Jinja looks for it in nothing",
				undefinedMessage(item)))
		}
		return false
	}
	switch container.kind {
	case String, Markup:
		if !item.isString() {
			panic(errf(TypeError, "'in <string>' requires string as left operand, not %s", typeName(item)))
		}
		if e.trace != nil {
			e.traceText("in", container, item)
		}
		e.step(scanSteps(container))
		return strings.Contains(container.text(), item.text())
	case Dict:
		if e.trace != nil {
			e.traceText("in", container, item)
		}
		_, ok := container.dict().get(e, item)
		return ok
	case View:
		v := container.view()
		switch v.kind {
		case viewKeys:
			_, ok := v.d.get(e, item)
			return ok
		case viewItems:
			if item.kind != Tuple || len(item.items()) != 2 {
				return false
			}
			got, ok := v.d.get(e, item.items()[0])
			return ok && equalValues(e, got, item.items()[1])
		}
	case List, Tuple:
		for _, v := range container.items() {
			if e.trace != nil {
				e.traceCompare("in", item, v)
			}
			e.step(1)
			if same(v, item) || equalValues(e, v, item) {
				return true
			}
		}
		return false
	case Range:
		if item.kind == Int || item.kind == Bool {
			return container.rng().indexOf(item.int()) >= 0
		}
	}
	if !isIterable(e, container) {
		panic(errf(TypeError, "argument of type '%s' is not iterable", typeName(container)))
	}
	for v := range e.each(container) {
		if equalValues(e, v, item) {
			return true
		}
	}
	return false
}

// indexOf is the place of a number in a range, or -1.
func (r *rangeObject) indexOf(i int64) int64 {
	if r.len() == 0 || (i-r.start)%r.step != 0 {
		return -1
	}
	if at := (i - r.start) / r.step; at >= 0 && at < r.len() {
		return at
	}
	return -1
}
