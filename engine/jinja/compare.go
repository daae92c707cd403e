package jinja

import (
	"math"
	"math/big"
	"strings"
)

// equal is Python's a == b. Text from the input that is compared with text is recorded (E4).
func equal(e *eval, a, b Value) (bool, error) {
	if e.trace != nil {
		e.traceCompare("==", a, b)
	}
	return equalValues(e, a, b)
}

func equalValues(e *eval, a, b Value) (bool, error) {
	switch {
	case a.isString():
		if !b.isString() || a.num != b.num {
			return false, nil
		}
		return a.rawText() == b.rawText(), e.step(scanSteps(a))
	case a.isNumber():
		return b.isNumber() && equalNumbers(a, b), nil
	case a.kind == View && b.kind == View && a.view().kind != viewValues &&
		b.view().kind != viewValues:
		n, m := a.view().d.len(), b.view().d.len()
		if n != m {
			return false, nil
		}
		return subset(e, a, b)
	case a.kind != b.kind:
		return false, nil
	}
	switch a.kind {
	case None, Undefined:
		return true, nil
	case List, Tuple:
		x, y := a.seq(), b.seq()
		if x == y {
			return true, nil
		}
		if x.len() != y.len() {
			return false, nil
		}
		i, err := firstDifference(e, x.all(), y.all())
		return i < 0, err
	case Dict:
		x, y := a.dict(), b.dict()
		if x == y {
			return true, nil
		}
		if x.len() != y.len() {
			return false, nil
		}
		if err := e.enter(); err != nil {
			return false, err
		}
		defer e.leave()
		for _, entry := range x.all() {
			if err := e.step(1); err != nil {
				return false, err
			}
			other, ok, err := y.get(e, entry.key)
			if !ok {
				return false, err
			}
			if same(entry.value, other) {
				continue
			}
			if ok, err := equalValues(e, entry.value, other); !ok {
				return false, err
			}
		}
		return true, nil
	case Range:
		return hashKey(a) == hashKey(b), nil
	case Function:
		f, g := a.function(), b.function()
		return f.builtin == g.builtin &&
			(f == g || f.recv.kind != Missing && f.recv.kind == g.recv.kind &&
				same(f.recv, g.recv)), nil
	}
	return same(a, b), nil
}

// firstDifference is the first place where two sequences differ, or -1; one that is a prefix of the
// other differs at its end.
func firstDifference(e *eval, x, y []Value) (int, error) {
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.leave()
	for i := range min(len(x), len(y)) {
		if err := e.step(1); err != nil {
			return 0, err
		}
		if same(x[i], y[i]) {
			continue
		}
		if ok, err := equalValues(e, x[i], y[i]); !ok {
			return i, err
		}
	}
	if len(x) != len(y) {
		return min(len(x), len(y)), nil
	}
	return -1, nil
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
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, x == y
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
	switch x, y := a.int(), b.int(); {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

// compare is a Python comparison: "==", "!=", "<", "<=", ">" or ">=".
func compare(e *eval, op string, a, b Value) (bool, error) {
	switch op {
	case "==":
		return equal(e, a, b)
	case "!=":
		eq, err := equal(e, a, b)
		return !eq && err == nil, err
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

func order(e *eval, op string, a, b Value) (bool, error) {
	switch {
	case a.isNumber() && b.isNumber():
		c, ok := compareNumbers(a, b)
		return ok && holds(op, c), nil
	case a.isString() && b.isString():
		// UTF-8 sorts as code points do
		return holds(op, strings.Compare(a.text(), b.text())),
			e.step(min(scanSteps(a), scanSteps(b)))
	case a.isSeq() && a.kind == b.kind:
		x, y := a.items(), b.items()
		i, err := firstDifference(e, x, y)
		switch {
		case err != nil:
			return false, err
		case i < 0:
			return holds(op, 0), nil
		case i < len(x) && i < len(y):
			return order(e, op, x[i], y[i])
		}
		return holds(op, len(x)-len(y)), nil
	case a.kind == View && b.kind == View && a.view().kind != viewValues &&
		b.view().kind != viewValues:
		n, m := a.view().d.len(), b.view().d.len()
		switch op {
		case "<", "<=":
			if n > m || op == "<" && n == m {
				return false, nil
			}
			return subset(e, a, b)
		}
		if m > n || op == ">" && n == m {
			return false, nil
		}
		return subset(e, b, a)
	}
	if err := undefinedOperand(a, b); err != nil {
		return false, err
	}
	return false, errf(TypeError, "'%s' not supported between instances "+
		"of '%s' and '%s'", op, typeName(a), typeName(b))
}

// subset reports whether every item of a view is in another.
func subset(e *eval, a, b Value) (bool, error) {
	it, err := iterate(e, a)
	for err == nil {
		var item Value
		var ok bool
		if item, ok, err = it.next(e); !ok {
			return err == nil, err
		}
		if ok, err = contains(e, b, item); !ok {
			return false, err
		}
	}
	return false, err
}

// contains is Python's item in container.
func contains(e *eval, container, item Value) (bool, error) {
	if e.dialect != nil && (container.kind == Undefined || item.kind == Undefined) {
		if container.kind != Undefined {
			return false, errf(UndefinedError, "%s, and the engine's Jinja looks for it in nothing",
				undefinedMessage(item))
		}
		return false, nil
	}
	switch container.kind {
	case String, Markup:
		if !item.isString() {
			return false, errf(TypeError, "'in <string>' requires string as left operand, not %s", typeName(item))
		}
		if e.trace != nil {
			e.traceText("in", container, item)
		}
		return strings.Contains(container.text(), item.text()), e.step(scanSteps(container))
	case Dict:
		if e.trace != nil {
			e.traceText("in", container, item)
		}
		_, ok, err := container.dict().get(e, item)
		return ok, err
	case View:
		v := container.view()
		switch v.kind {
		case viewKeys:
			_, ok, err := v.d.get(e, item)
			return ok, err
		case viewItems:
			if item.kind != Tuple || len(item.items()) != 2 {
				return false, nil
			}
			got, ok, err := v.d.get(e, item.items()[0])
			if !ok {
				return false, err
			}
			return equalValues(e, got, item.items()[1])
		}
	case List, Tuple:
		for _, v := range container.items() {
			if e.trace != nil {
				e.traceCompare("in", item, v)
			}
			if err := e.step(1); err != nil {
				return false, err
			}
			if same(v, item) {
				return true, nil
			}
			if ok, err := equalValues(e, v, item); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case Range:
		if item.kind == Int || item.kind == Bool {
			return container.rng().indexOf(item.int()) >= 0, nil
		}
	case None, Bool, Int, BigInt, Float, Namespace, Function:
		return false, errf(TypeError, "argument of type '%s' is not iterable", typeName(container))
	}
	it, err := iterate(e, container)
	if err != nil {
		return false, errf(TypeError, "argument of type '%s' is not iterable", typeName(container))
	}
	for {
		v, ok, err := it.next(e)
		if !ok {
			return false, err
		}
		if ok, err := equalValues(e, v, item); ok || err != nil {
			return ok, err
		}
	}
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
