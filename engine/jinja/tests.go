package jinja

func is(ok func(v Value) bool) func(c *call) (Value, error) {
	return func(c *call) (Value, error) { return boolValue(ok(c.recv)), nil }
}

func relation(op string) func(c *call) (Value, error) {
	return func(c *call) (Value, error) {
		ok, err := compare(c.eval, op, c.recv, c.args[0])
		return boolValue(ok), err
	}
}

var testTable = []entryOf{
	{"boolean", "", is(func(v Value) bool { return v.kind == Bool })},
	{"callable", "/", is(isCallable)},
	{"defined", "", is(func(v Value) bool { return v.kind != Undefined })},
	{"divisibleby", "num", func(c *call) (Value, error) { return remainderIs(c, c.args[0], 0) }},
	{"escaped", "", is(func(v Value) bool { return v.kind == Markup })},
	{"even", "", func(c *call) (Value, error) { return remainderIs(c, intValue(2), 0) }},
	{"odd", "", func(c *call) (Value, error) { return remainderIs(c, intValue(2), 1) }},
	{"false", "", is(func(v Value) bool { return v.kind == Bool && !v.bool() })},
	{"true", "", is(func(v Value) bool { return v.kind == Bool && v.bool() })},
	{"filter", "", func(c *call) (Value, error) { return isNamed(c, filters) }},
	{"test", "", func(c *call) (Value, error) { return isNamed(c, tests) }},
	{"float", "", is(func(v Value) bool { return v.kind == Float })},
	{"integer", "", is(func(v Value) bool { return v.kind == Int || v.kind == BigInt })},
	{"number", "", is(Value.isNumber)},
	{"in", "seq", func(c *call) (Value, error) {
		ok, err := contains(c.eval, c.args[0], c.recv)
		return boolValue(ok), err
	}},
	{"iterable", "", func(c *call) (Value, error) {
		_, err := iterate(c.eval, c.recv)
		return boolValue(err == nil), nil
	}},
	{"lower", "", func(c *call) (Value, error) { return isCase(c, isLower) }},
	{"upper", "", func(c *call) (Value, error) { return isCase(c, isUpper) }},
	{"mapping", "", is(func(v Value) bool { return v.kind == Dict })},
	{"none", "", is(Value.isNone)},
	{"sameas", "other", func(c *call) (Value, error) { return boolValue(same(c.recv, c.args[0])), nil }},
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
func remainderIs(c *call, num Value, want int) (Value, error) {
	r, err := mod(c.eval, c.recv, num)
	if err != nil {
		return Value{}, err
	}
	ok, err := equalValues(c.eval, r, intValue(want))
	return boolValue(ok), err
}

func isNamed(c *call, table map[string]*builtin) (Value, error) {
	if c.recv.isString() {
		return boolValue(table[c.recv.text()] != nil), nil
	}
	return boolValue(false), checkHashable(c.recv)
}

func isCase(c *call, ok func(rune) bool) (Value, error) {
	s, err := str(c.eval, c.recv)
	return boolValue(err == nil && hasCase(s.text(), ok)), err
}
