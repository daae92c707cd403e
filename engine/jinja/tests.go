package jinja

func is(ok func(v Value) bool) func(c *call) Value {
	return func(c *call) Value { return boolValue(ok(c.recv)) }
}

func relation(op string) func(c *call) Value {
	return func(c *call) Value {
		return boolValue(compare(c.eval, op, c.recv, c.args[0]))
	}
}

var testTable = []entryOf{
	{"boolean", "", is(func(v Value) bool { return v.kind == Bool })},
	{"callable", "/", is(isCallable)},
	{"defined", "", is(func(v Value) bool { return v.kind != Undefined })},
	{"divisibleby", "num", func(c *call) Value { return remainderIs(c, c.args[0], 0) }},
	{"escaped", "", is(func(v Value) bool { return v.kind == Markup })},
	{"even", "", func(c *call) Value { return remainderIs(c, intValue(2), 0) }},
	{"odd", "", func(c *call) Value { return remainderIs(c, intValue(2), 1) }},
	{"false", "", is(func(v Value) bool { return v.kind == Bool && !v.bool() })},
	{"true", "", is(func(v Value) bool { return v.kind == Bool && v.bool() })},
	{"filter", "", func(c *call) Value { return isNamed(c, filters) }},
	{"test", "", func(c *call) Value { return isNamed(c, tests) }},
	{"float", "", is(func(v Value) bool { return v.kind == Float })},
	{"integer", "", is(func(v Value) bool { return v.kind == Int || v.kind == BigInt })},
	{"number", "", is(Value.isNumber)},
	{"in", "seq", func(c *call) Value {
		return boolValue(contains(c.eval, c.args[0], c.recv))
	}},
	{"iterable", "", func(c *call) Value {
		return boolValue(isIterable(c.eval, c.recv))
	}},
	{"lower", "", func(c *call) Value { return isCase(c, isLower) }},
	{"upper", "", func(c *call) Value { return isCase(c, isUpper) }},
	{"mapping", "", is(func(v Value) bool { return v.kind == Dict })},
	{"none", "", is(Value.isNone)},
	{"sameas", "other", func(c *call) Value { return boolValue(same(c.recv, c.args[0])) }},
	{"sequence", "", is(func(v Value) bool {
		switch v.kind {
		case String, Markup, List, Tuple, Dict, Range, Undefined:
			return true
		}
		return false
	})},
	{"string", "", is(Value.isString)},
	{"undefined", "", is(Value.isUndefined)},
	{"==", "/ other", relation("==")},
	{"!=", "/ other", relation("!=")},
	{"<", "/ other", relation("<")},
	{"<=", "/ other", relation("<=")},
	{">", "/ other", relation(">")},
	{">=", "/ other", relation(">=")},
}

func isCallable(v Value) bool {
	switch v.kind {
	case Function, Undefined:
		return true
	case Object:
		_, ok := v.object().(callable)
		return ok
	}
	return false
}

// remainderIs is value % num == want, which for strings is formatting.
func remainderIs(c *call, num Value, want int) Value {
	r := mod(c.eval, c.recv, num)
	return boolValue(equalValues(c.eval, r, intValue(want)))
}

func isNamed(c *call, table map[string]*builtin) Value {
	if c.recv.isString() {
		return boolValue(table[c.recv.text()] != nil)
	}
	checkHashable(c.recv)
	return boolValue(false)
}

func isCase(c *call, ok func(rune) bool) Value {
	return boolValue(hasCase(str(c.eval, c.recv).text(), ok))
}
