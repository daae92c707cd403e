package jinja

import (
	"math/big"
	"strings"
)

// attr is an attribute's name, resolved once: which kinds have a method of that name.
type attr struct {
	name    string
	methods [Object + 1]*builtin
}

func newAttr(name string) *attr {
	a := &attr{name: name}
	for kind, table := range methodTables {
		a.methods[kind] = table[name]
	}
	return a
}

// getattr is the sandbox's environment.getattr: the attribute, else the item of that name, else
// undefined.
func getattr(e *eval, v Value, a *attr) Value {
	if out, ok := attribute(e, v, a.name, e.method(v, a.name, a.methods[v.kind])); ok {
		return out
	}
	switch v.kind {
	case Dict:
		if item, ok := v.dict().getString(a.name); ok {
			e.traceRead(item)
			return item
		}
		e.traceMissing(v, a.name)
	case Function:
		if a.methods[Dict] == nil {
			if item, ok := subscript(e, v, stringValue(a.name)); ok {
				return item
			}
		}
	case Undefined:
		if e.dialect == nil {
			panic(undefinedError(v))
		}
	}
	return undefinedAttr(v, a.name)
}

// getitem is the sandbox's environment.getitem: the item, else, for a string key, the attribute,
// else undefined.
func getitem(e *eval, v, key Value) Value {
	if e.dialect != nil && v.kind == Undefined {
		return v
	}
	if key.kind == Int {
		e.used(AsList, v)
	}
	if item, ok := subscript(e, v, key); ok {
		e.traceRead(item)
		return item
	}
	if key.isString() {
		name := key.text()
		m := e.method(v, name, methodTables[v.kind][name])
		if out, ok := attribute(e, v, name, m); ok {
			return out
		}
		if v.kind == Dict {
			e.traceMissing(v, name)
		}
	}
	return undefinedItem(e, v, key)
}

// attribute is Python's getattr under the sandbox's rules; false: there is no such attribute. m is
// the method of that name, if v's kind has one.
func attribute(e *eval, v Value, name string, m *builtin) (Value, bool) {
	if m != nil {
		if m.mutates != 0 && m.mutates <= e.forbids {
			return unsafeUndefined(v, name), true
		}
		if m.property {
			return e.invoke(m, v, nil, nil), true
		}
		return functionValue(&function{builtin: m, recv: v}), true
	}
	switch v.kind {
	case Namespace:
		if out, ok := v.namespace().get(name); ok {
			if strings.HasPrefix(name, "_") {
				return unsafeUndefined(v, name), true
			}
			return out, true
		}
		if name == "__class__" || name == "_Namespace__attrs" {
			return unsafeUndefined(v, name), true
		}
		return Value{}, false
	case Object:
		if out, ok := v.object().attr(e, name); ok {
			if strings.HasPrefix(name, "_") {
				return unsafeUndefined(v, name), true
			}
			return out, true
		}
	case Tuple:
		if v.seq().group && name == "grouper" {
			return v.items()[0], true
		}
		if v.seq().group && name == "list" {
			return v.items()[1], true
		}
	case Function:
		if attrs := v.function().attrs; attrs != nil {
			if m := attrs[name]; m != nil {
				return functionValue(&function{builtin: m}), true
			}
		}
	}
	if strings.HasPrefix(name, "__") {
		if strings.HasSuffix(name, "__") && hasDunder(v.kind, name[2:len(name)-2]) {
			return unsafeUndefined(v, name), true
		}
		return Value{}, false
	}
	if v.kind == Undefined && e.dialect == nil {
		panic(undefinedError(v))
	}
	return Value{}, false
}

// unsafeUndefined is the value of an attribute that the sandbox forbids; its use is a
// SecurityError.
func unsafeUndefined(v Value, name string) Value {
	return undefText(undefSecurity,
		"access to attribute "+pyQuote(name)+" of "+pyQuote(typeName(v))+" object is unsafe.")
}

// Special names that Python's types have, without their underscores: those of object, and the
// types' own.
const objectDunders = " class delattr dir doc eq format ge getattribute getstate gt hash init " +
	"init_subclass le lt ne new" +
	" reduce reduce_ex repr setattr sizeof str subclasshook "

var kindDunders = [Object + 1]string{
	None: " bool ",
	Undefined: " add bool call complex contains dict div float floordiv getattr getitem int iter " +
		"len mod module mul neg pos pow radd rdiv rfloordiv rmod rmul rpow rsub rtruediv slots " +
		"sub truediv weakref ",
	Bool:   intDunders,
	Int:    intDunders,
	BigInt: intDunders,
	Float: " abs add bool divmod float floor floordiv getformat getnewargs int ceil mod mul " +
		"neg pos pow radd rdivmod rfloordiv rmod rmul round rpow rsub rtruediv sub truediv trunc ",
	String: " add contains getitem getnewargs iter len mod mul rmod rmul ",
	Markup: " add contains getitem getnewargs html html_format iter len mod module mul radd " +
		"rmod rmul slots ",
	List: " add class_getitem contains delitem getitem iadd imul iter len mul " +
		"reversed rmul setitem ",
	Tuple:     " add class_getitem contains getitem getnewargs iter len mul rmul ",
	Dict:      " class_getitem contains delitem getitem ior iter len or reversed ror setitem ",
	Range:     " bool contains getitem iter len reversed ",
	Generator: " del iter name next qualname ",
	Function:  " call module name qualname self text_signature ",
	View:      " and contains iter len or rand reversed ror rsub rxor sub xor ",
	Object:    " dict module weakref ",
}

const intDunders = " abs add and bool ceil divmod float floor floordiv getnewargs index int " +
	"invert lshift mod mul neg or" +
	" pos pow radd rand rdivmod rfloordiv rlshift rmod rmul ror round rpow rrshift rshift rsub " +
	"rtruediv rxor sub truediv trunc xor "

func hasDunder(kind Kind, name string) bool {
	name = " " + name + " "
	return strings.Contains(objectDunders, name) || strings.Contains(kindDunders[kind], name)
}

// subscript is Python's v[key]; false stands for its TypeError and LookupError, which templates do
// not see.
func subscript(e *eval, v, key Value) (Value, bool) {
	switch v.kind {
	case Undefined:
		panic(undefinedError(v))
	case Dict:
		if !key.isString() {
			_, err := attempt(e, func() int { return keySteps(key) }, TypeError)
			if err != nil {
				return Value{}, false
			}
		}
		return v.dict().get(e, key)
	case List, Tuple:
		if i, ok := index(key, v.seq().len()); ok {
			return v.seq().at(i), true
		}
	case String, Markup:
		if key.kind != Int && key.kind != Bool {
			break
		}
		s := v.text()
		e.step(scanSteps(v))
		if i := key.int(); i >= 0 && i < int64(len(s)) && isASCII(s[:i+1]) {
			return v.substr(int(i), int(i)+1), true
		}
		if i, ok := index(key, runeCount(s)); ok {
			at := byteOffset(s, i)
			return v.substr(at, at+runeSize(s[at:])), true
		}
	case Range:
		if i, ok := index(key, int(v.rng().len())); ok {
			return v.rng().at(int64(i)), true
		}
	case Function:
		// Python's dict takes any item for the type of its keys (PEP 585), so that the sandbox
		// reads dict.from_keys(pairs) as dict['from_keys'](pairs), which is dict(pairs).
		if f := v.function(); e.dialect == nil && f == globals["dict"].function() {
			return functionValue(&function{builtin: f.builtin, recv: key}), true
		}
	}
	return Value{}, false
}

// index resolves a sequence index, negative ones from the end.
func index(key Value, n int) (int, bool) {
	if key.kind != Int && key.kind != Bool {
		return 0, false
	}
	i := key.int()
	if i < 0 {
		i += int64(n)
	}
	return int(i), 0 <= i && i < int64(n)
}

// getslice is Python's v[start:stop:step]; None and Missing leave a bound out.
func getslice(e *eval, v, start, stop, step Value) Value {
	var n int
	switch v.kind {
	case Undefined:
		panic(undefinedError(v))
	case List, Tuple:
		n = v.seq().len()
	case String, Markup:
		n = length(e, v)
	case Range:
		n = int(v.rng().len())
	case Dict:
		panic(errf(TypeError, "unhashable type: 'slice'"))
	default:
		panic(errf(TypeError, "'%s' object is not subscriptable", typeName(v)))
	}
	from, to, by := sliceBounds(start, stop, step, n)
	count := 0
	switch {
	case by > 0 && from < to:
		count = (to-from-1)/by + 1
	case by < 0 && from > to:
		count = (from-to-1)/-by + 1
	}
	if v.kind == Range {
		r := v.rng()
		if step := r.step * int64(by); by != 0 && step/int64(by) != r.step {
			panic(errf(OverflowError, "the step of a range does not fit"))
		}
		return rangeValue(r.start+int64(from)*r.step, r.start+int64(to)*r.step, r.step*int64(by))
	}
	e.step(count)
	if v.isString() {
		return sliceString(e, v, from, by, count, n)
	}
	src := v.items()
	items := make([]Value, count)
	if by == 1 {
		copy(items, src[from:])
	} else {
		for i := range items {
			items[i] = src[from+i*by]
		}
	}
	out := e.seq(items).value(v.kind)
	out.prov = v.prov
	return out
}

func rangeValue(start, stop, step int64) Value {
	return Value{kind: Range, ref: ptr(&rangeObject{start, stop, step})}
}

// sliceBounds is Python's slice.indices.
func sliceBounds(start, stop, step Value, n int) (from, to, by int) {
	if by = sliceIndex(step, 1); by == 0 {
		panic(errf(ValueError, "slice step cannot be zero"))
	}
	low, high := 0, n
	if by < 0 {
		low, high = -1, n-1
	}
	bound := func(v Value, def int) int {
		i := sliceIndex(v, def)
		if v.kind == None || v.kind == Missing {
			return def
		}
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	first, last := low, high
	if by < 0 {
		first, last = high, low
	}
	return bound(start, first), bound(stop, last), by
}

// maxIndex bounds slice indexes, so that sums of them do not overflow; no sequence is as long.
const maxIndex = 1 << 61

func sliceIndex(v Value, def int) int {
	switch v.kind {
	case None, Missing:
		return def
	case Bool, Int:
		return int(min(max(v.int(), -maxIndex), maxIndex))
	case BigInt:
		return maxIndex * v.big().Sign()
	case Undefined:
		// Python asks for __index__, which Undefined refuses as an attribute of its type does not
		// exist
	}
	panic(errf(TypeError, "slice indices must be integers or None or have an __index__ method"))
}

// sliceString cuts count code points from the code point from on, by apart; n is the length of the
// string.
func sliceString(e *eval, v Value, from, by, count, n int) Value {
	s := v.text()
	if count == 0 {
		return v.substr(0, 0)
	}
	ascii := n == len(s)
	if by == 1 {
		if ascii {
			return v.substr(from, from+count)
		}
		i := byteOffset(s, from)
		return v.substr(i, i+byteOffset(s[i:], count))
	}
	var at []int
	if !ascii {
		at = make([]int, 0, n+1)
		for i := 0; i < len(s); i += runeSize(s[i:]) {
			at = append(at, i)
		}
		at = append(at, len(s))
	}
	b := builder{buf: make([]byte, 0, count)}
	for i := range count {
		k := from + i*by
		if ascii {
			b.sub(v, k, k+1)
		} else if k+1 < len(at) {
			b.sub(v, at[k], at[k+1])
		}
	}
	out := b.value()
	out.kind = v.kind
	if v.prov != nil {
		out.prov = changed(v) // no part of the text is a part of v any more
	}
	return out
}

// callMethod calls v.name(...) without building a bound method.
func callMethod(e *eval, v Value, a *attr, args []Value, kwargs []kwarg) Value {
	if m := a.methods[v.kind]; m != nil && !m.property && e.dialect == nil &&
		(m.mutates == 0 || m.mutates > e.forbids) {
		return e.invoke(m, v, args, kwargs)
	}
	f := getattr(e, v, a)
	return callValue(e, f, args, kwargs)
}

// bigInt returns an integer value as a big.Int, for reading only.
func bigInt(v Value) *big.Int {
	if v.kind == BigInt {
		return v.big()
	}
	return big.NewInt(v.int())
}
