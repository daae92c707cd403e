package jinja

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// methodTables holds the methods and attributes of every kind by name. It is filled once and never
// changed.
var methodTables [Object + 1]map[string]*builtin

func init() {
	strMethods := table(stringMethods)
	methodTables[String] = strMethods
	methodTables[Markup] = markupMethods(strMethods)
	methodTables[List] = table(listMethods)
	methodTables[Tuple] = table(tupleMethods)
	methodTables[Dict] = table(dictMethods)
	methodTables[View] = table(viewMethods)
	methodTables[Range] = table(rangeMethods)
	methodTables[Float] = table(floatMethods)
	for _, kind := range []Kind{Bool, Int, BigInt} {
		methodTables[kind] = table(intMethods)
	}
	initGlobals()
}

// entryOf is one line of a table of built-ins. The signature names the parameters: "/" in front
// makes them positional-only, "?" after one makes it optional, "*" and "**" take further ones; "!"
// stands for a method that changes its object, "!!" for one that the sandbox refuses since jinja2
// 3.1.5 alone, "." for an attribute.
type entryOf struct {
	name, signature string
	run             func(c *call) Value
}

func table(entries []entryOf) map[string]*builtin {
	m := make(map[string]*builtin, len(entries))
	for _, t := range entries {
		m[t.name] = t.builtin()
	}
	return m
}

func (t entryOf) builtin() *builtin {
	b := &builtin{name: t.name, run: t.run}
	for _, word := range strings.Fields(t.signature) {
		switch word {
		case "*":
			b.varargs = true
		case "**":
			b.kwargs = true
		case "!":
			b.mutates = 1
		case "!!":
			b.mutates = 2
		case ".":
			b.property = true
		case "/":
			b.positional = true
		default:
			name, optional := strings.CutSuffix(word, "?")
			b.params = append(b.params, name)
			if !optional {
				b.required = len(b.params)
			}
		}
	}
	return b
}

// moveItems is how many items of a list are moved for one step.
const moveItems = 64

var listMethods = []entryOf{
	{"count", "/ value", func(c *call) Value { return countItems(c, c.recv.items()) }},
	{"index", "/ value start? stop?", func(c *call) Value { return indexOfItem(c, c.recv.items()) }},
	{"copy", "", func(c *call) Value {
		return c.list(collectOwn(c.eval, c.recv))
	}},
	{"pop", "!! / index?", listPop},
	{"clear", "!!", func(c *call) Value {
		l := c.recv.seq()
		l.src, l.items = nil, nil
		return noneValue()
	}},
	{"append", "! / object", func(c *call) Value {
		l := c.recv.seq()
		l.items = append(l.all(), c.args[0])
		return noneValue()
	}},
	{"extend", "! / iterable", func(c *call) Value {
		items := collectOwn(c.eval, c.args[0])
		l := c.recv.seq()
		l.items = append(l.all(), items...)
		return noneValue()
	}},
	{"insert", "! / index object", func(c *call) Value {
		i := toInt(c.args[0])
		l := c.recv.seq()
		n := len(l.all())
		if i < 0 {
			i = max(i+n, 0)
		}
		l.items = slices.Insert(l.items, min(i, n), c.args[1])
		c.step(n / moveItems)
		return noneValue()
	}},
	{"remove", "! / value", func(c *call) Value {
		l := c.recv.seq()
		i := find(c.eval, l.all(), c.args[0])
		if i < 0 {
			panic(errf(ValueError, "list.remove(x): x not in list"))
		}
		l.items = slices.Delete(l.items, i, i+1)
		return noneValue()
	}},
	{"reverse", "!", func(c *call) Value {
		slices.Reverse(c.recv.items())
		c.step(len(c.recv.items()))
		return noneValue()
	}},
	{"sort", "! key? reverse?", func(c *call) Value {
		items := slices.Clone(c.recv.items())
		key := func(v Value) Value { return v }
		if f := c.arg(0, noneValue()); !f.isNone() {
			key = func(v Value) Value { return callValue(c.eval, f, []Value{v}, nil) }
		}
		sortValues(c.eval, items, key, toInt(c.arg(1, intValue(0))) != 0)
		c.recv.seq().items = items
		return noneValue()
	}},
}

var tupleMethods = []entryOf{
	{"count", "/ value", func(c *call) Value { return countItems(c, c.recv.items()) }},
	{"index", "/ value start? stop?", func(c *call) Value { return indexOfItem(c, c.recv.items()) }},
}

// find is the place of a value in items, or -1.
func find(e *eval, items []Value, v Value) int {
	for i, item := range items {
		e.step(1)
		if same(item, v) || equal(e, item, v) {
			return i
		}
	}
	return -1
}

func countItems(c *call, items []Value) Value {
	n := 0
	for len(items) > 0 {
		i := find(c.eval, items, c.args[0])
		if i < 0 {
			break
		}
		n++
		items = items[i+1:]
	}
	return c.computed(intValue(n))
}

func indexOfItem(c *call, items []Value) Value {
	for _, v := range c.args[1:3] {
		if v.isNone() {
			panic(errf(TypeError, "slice indices must be integers or have an __index__ method"))
		}
	}
	from, to, _ := sliceBounds(c.args[1], c.args[2], Value{}, len(items))
	if from < to {
		if i := find(c.eval, items[from:to], c.args[0]); i >= 0 {
			return c.computed(intValue(from + i))
		}
	}
	if c.recv.kind == Tuple {
		panic(errf(ValueError, "tuple.index(x): x not in tuple"))
	}
	panic(errf(ValueError, "%s is not in list", reprText(c.eval, c.args[0])))
}

func listPop(c *call) Value {
	i := toInt(c.arg(0, intValue(-1)))
	l := c.recv.seq()
	n := len(l.all())
	if n == 0 {
		panic(errf(IndexError, "pop from empty list"))
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		panic(errf(IndexError, "pop index out of range"))
	}
	v := l.items[i]
	if i == 0 {
		n = 0
		// a queue is taken from the front; moving the rest would make that quadratic
		l.items = l.items[1:]
	} else {
		l.items = slices.Delete(l.items, i, i+1)
	}
	c.traceRead(v)
	c.step((n - i) / moveItems)
	return v
}

var dictMethods = []entryOf{
	{"get", "/ key default?", func(c *call) Value {
		v, ok := c.recv.dict().get(c.eval, c.args[0])
		if ok {
			if c.dialect == nil { // in a dialect it is no look at the value
				c.traceRead(v)
			}
			return v
		}
		if c.args[0].isString() {
			c.traceMissing(c.recv, c.args[0].text())
		}
		return c.arg(1, noneValue())
	}},
	{"items", "", func(c *call) Value { return viewValue(c.eval, c.recv, viewItems) }},
	{"keys", "", func(c *call) Value { return viewValue(c.eval, c.recv, viewKeys) }},
	{"values", "", func(c *call) Value { return viewValue(c.eval, c.recv, viewValues) }},
	{"copy", "", func(c *call) Value {
		c.step(c.recv.dict().len())
		return dictValue(c.recv.dict().clone()).withProv(c.recv.prov)
	}},
	{"fromkeys", "/ iterable value?", dictFromKeys},
	{"clear", "!", func(c *call) Value {
		*c.recv.dict() = dict{version: c.recv.dict().version + 1}
		return noneValue()
	}},
	{"pop", "! / key default?", func(c *call) Value {
		d := c.recv.dict()
		v, ok := d.get(c.eval, c.args[0])
		if !ok {
			if c.given(1) {
				return c.args[1]
			}
			panic(errf(KeyError, "%s", reprText(c.eval, c.args[0])))
		}
		d.removeAt(d.find(c.args[0]))
		c.traceRead(v)
		c.step(d.len())
		return v
	}},
	{"popitem", "!", func(c *call) Value {
		d := c.recv.dict()
		n := len(d.all())
		if n == 0 {
			panic(errf(KeyError, "popitem(): dictionary is empty"))
		}
		last := d.entries[n-1]
		d.removeAt(n - 1)
		c.step(n)
		return c.pair(last.key, last.value)
	}},
	{"setdefault", "! / key default?", func(c *call) Value {
		d := c.recv.dict()
		if v, ok := d.get(c.eval, c.args[0]); ok {
			return v
		}
		v := c.arg(1, noneValue())
		d.set(c.eval, c.args[0], v)
		return v
	}},
	{"update", "! / other? **", func(c *call) Value {
		updateDict(c, c.recv.dict())
		return noneValue()
	}},
}

func viewValue(e *eval, d Value, kind viewKind) Value {
	v := e.views.One()
	v.d, v.kind = d.dict(), kind
	return Value{kind: View, ref: ptr(v), prov: d.prov}
}

func dictFromKeys(c *call) Value {
	items := collect(c.eval, c.args[0])
	d := c.dict(len(items))
	for _, key := range items {
		d.set(c.eval, key, c.arg(1, noneValue()))
	}
	return dictValue(d)
}

// updateDict sets the items of the first argument, a mapping or an iterable of pairs, and of the
// keyword arguments.
func updateDict(c *call, d *dict) {
	switch src := c.args[0]; src.kind {
	case Missing:
	case Dict:
		for _, e := range src.dict().all() {
			d.set(c.eval, e.key, e.value)
		}
		c.step(src.dict().len())
	default:
		i := 0
		for item := range c.each(src) {
			pair, err := attempt(c.eval, func() []Value { return collect(c.eval, item) }, TypeError)
			if err != nil {
				panic(errf(TypeError, "cannot convert dictionary update sequence element "+
					"#%d to a sequence", i))
			}
			if len(pair) != 2 {
				panic(errf(ValueError, "dictionary update sequence element #%d has length "+
					"%d; 2 is required", i, len(pair)))
			}
			d.set(c.eval, pair[0], pair[1])
			i++
		}
	}
	for _, k := range c.kwargs {
		d.setString(k.name, k.value)
	}
}

var viewMethods = []entryOf{
	{"isdisjoint", "/ other", func(c *call) Value {
		if c.recv.view().kind == viewValues {
			panic(errf(UndefinedError, "'dict_values' object has no attribute 'isdisjoint'"))
		}
		for _, item := range collect(c.eval, c.args[0]) {
			if contains(c.eval, c.recv, item) {
				return boolValue(false)
			}
		}
		return boolValue(true)
	}},
	{"mapping", ".", func(c *call) Value { return dictValue(c.recv.view().d) }},
}

// isSetView reports whether v is keys() or items(), which have a set's operators.
func isSetView(v Value) bool { return v.kind == View && v.view().kind != viewValues }

// viewDifference is a - b, one of them a dict's keys() or items(), the other any iterable: a set.
func viewDifference(e *eval, a, b Value) Value {
	defined(a, b)
	left, right := collect(e, a), collect(e, b)
	gone := e.dict(len(right))
	for _, v := range right {
		gone.set(e, v, noneValue())
	}
	out := e.dict(len(left))
	for _, v := range left {
		if _, ok := gone.get(e, v); !ok {
			out.set(e, v, noneValue())
		}
	}
	return objectValue(&set{out, e})
}

// set is the difference of dict views. Its order is that of the view.
type set struct {
	d *dict
	e *eval // for repr
}

func (s *set) typeName() string { return "set" }

func (s *set) repr() string {
	if s.d.len() == 0 {
		return "set()"
	}
	text := reprText(s.e, viewValue(s.e, dictValue(s.d), viewKeys))
	return "{" + strings.TrimSuffix(strings.TrimPrefix(text, "dict_keys(["), "])") + "}"
}

func (s *set) attr(*eval, string) (Value, bool) { return Value{}, false }
func (s *set) length(*eval) int                 { return s.d.len() }
func (s *set) iterate(e *eval) iterator {
	return iterate(e, viewValue(e, dictValue(s.d), viewKeys))
}

var rangeMethods = []entryOf{
	{"start", ".", func(c *call) Value { return int64Value(c.recv.rng().start) }},
	{"stop", ".", func(c *call) Value { return int64Value(c.recv.rng().stop) }},
	{"step", ".", func(c *call) Value { return int64Value(c.recv.rng().step) }},
	{"count", "/ value", func(c *call) Value {
		if contains(c.eval, c.recv, c.args[0]) {
			return intValue(1)
		}
		return intValue(0)
	}},
	{"index", "/ value", func(c *call) Value {
		if v := c.args[0]; v.isNumber() && v.kind != BigInt {
			f := toFloat(v)
			if v.kind != Float {
				if i := c.recv.rng().indexOf(v.int()); i >= 0 {
					return int64Value(i)
				}
			} else if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				if i := c.recv.rng().indexOf(int64(f)); i >= 0 {
					return int64Value(i)
				}
			}
		}
		panic(errf(ValueError, "%s is not in range", reprText(c.eval, c.args[0])))
	}},
}

func asInt(v Value) Value {
	if v.kind == Bool {
		return int64Value(v.int())
	}
	return v
}

var intMethods = []entryOf{
	{"real", ".", func(c *call) Value { return asInt(c.recv) }},
	{"imag", ".", func(c *call) Value { return intValue(0) }},
	{"numerator", ".", func(c *call) Value { return asInt(c.recv) }},
	{"denominator", ".", func(c *call) Value { return intValue(1) }},
	{"conjugate", "", func(c *call) Value { return asInt(c.recv) }},
	{"bit_length", "", func(c *call) Value { return c.computed(intValue(bigInt(c.recv).BitLen())) }},
	{"bit_count", "", func(c *call) Value {
		n := 0
		for _, w := range bigInt(c.recv).Bits() {
			n += bits.OnesCount(uint(w))
		}
		return c.computed(intValue(n))
	}},
	{"as_integer_ratio", "", func(c *call) Value { return c.pair(asInt(c.recv), intValue(1)) }},
	{"to_bytes", "length? byteorder? signed?", intToBytes},
}

var floatMethods = []entryOf{
	{"real", ".", func(c *call) Value { return c.recv }},
	{"imag", ".", func(c *call) Value { return floatValue(0) }},
	{"conjugate", "", func(c *call) Value { return c.recv }},
	{"is_integer", "", func(c *call) Value {
		f := c.recv.float()
		return boolValue(f == math.Trunc(f) && !math.IsInf(f, 0))
	}},
	{"as_integer_ratio", "", func(c *call) Value {
		f := c.recv.float()
		if math.IsInf(f, 0) {
			panic(errf(OverflowError, "cannot convert Infinity to integer ratio"))
		}
		if math.IsNaN(f) {
			panic(errf(ValueError, "cannot convert NaN to integer ratio"))
		}
		r := new(big.Rat)
		r.SetFloat64(f)
		return c.tuple(bigValue(new(big.Int).Set(r.Num())), bigValue(new(big.Int).Set(r.Denom())))
	}},
	{"hex", "", func(c *call) Value { return stringValue(floatHex(c.recv.float())) }},
}

// floatHex is Python's float.hex.
func floatHex(f float64) string {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return string(appendFloat(nil, f))
	case f == 0:
		return strings.TrimSuffix(string(appendFloat(nil, f)), "0.0") + "0x0.0p+0"
	}
	sign := ""
	if f < 0 {
		sign, f = "-", -f
	}
	b := math.Float64bits(f)
	exp, lead := int(b>>52)-1023, byte('1')
	if b>>52 == 0 {
		exp, lead = -1022, '0'
	}
	digits := strconv.FormatUint(b&(1<<52-1), 16)
	out := sign + "0x" + string(lead) + "." + strings.Repeat("0", 13-len(digits)) + digits + "p"
	if exp >= 0 {
		out += "+"
	}
	return out + strconv.Itoa(exp)
}

func intToBytes(c *call) Value {
	n := toInt(c.arg(0, intValue(1)))
	order := c.arg(1, stringValue("big"))
	if !order.isString() || order.text() != "big" && order.text() != "little" {
		panic(errf(ValueError, "byteorder must be either 'little' or 'big'"))
	}
	if n < 0 {
		panic(errf(ValueError, "length argument must be non-negative"))
	}
	c.charge(n)
	signed := truth(c.eval, c.args[2])
	x := new(big.Int).Set(bigInt(c.recv))
	if x.Sign() < 0 && !signed {
		panic(errf(OverflowError, "can't convert negative int to unsigned"))
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*n))
	low, high := new(big.Int), limit
	if signed {
		high = new(big.Int).Rsh(limit, 1)
		low.Neg(high)
	}
	if x.Cmp(low) < 0 || x.Cmp(high) >= 0 {
		panic(errf(OverflowError, "int too big to convert"))
	}
	if x.Sign() < 0 {
		x.Add(x, limit)
	}
	out := x.FillBytes(make([]byte, n))
	if order.text() == "little" {
		slices.Reverse(out)
	}
	return objectValue(&bytesObject{out})
}

// bytesObject is Python's bytes, which templates can make by encode and to_bytes, and print.
type bytesObject struct{ data []byte }

func (b *bytesObject) typeName() string { return "bytes" }
func (b *bytesObject) length(*eval) int { return len(b.data) }

func (b *bytesObject) repr() string {
	quote := byte('\'')
	if slices.Contains(b.data, '\'') && !slices.Contains(b.data, '"') {
		quote = '"'
	}
	out := []byte{'b', quote}
	for _, c := range b.data {
		if c < 0x80 {
			out = appendRepr(out, string(rune(c)), quote)
		} else {
			out = append(out, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(append(out, quote))
}

func (b *bytesObject) attr(_ *eval, name string) (Value, bool) {
	switch name {
	case "decode":
		return functionValue(&function{builtin: &builtin{name: name,
			params: []string{"encoding", "errors"}, run: func(c *call) Value {
				c.charge(len(b.data))
				return stringValue(string(b.data))
			}}}), true
	case "hex":
		return functionValue(&function{builtin: &builtin{name: name,
			run: func(c *call) Value {
				out := make([]byte, 0, 2*len(b.data))
				for _, d := range b.data {
					out = append(out, hexDigits[d>>4], hexDigits[d&15])
				}
				c.charge(len(out))
				return stringValue(string(out))
			}}}), true
	}
	return Value{}, false
}

func (b *bytesObject) iterate(*eval) iterator {
	i := 0
	return iterateFunc(func(*eval) (Value, bool) {
		if i == len(b.data) {
			return Value{}, false
		}
		i++
		return intValue(int(b.data[i-1])), true
	})
}
