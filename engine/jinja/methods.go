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
	run             func(c *call) (Value, error)
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
	{"count", "/ value", func(c *call) (Value, error) { return countItems(c, c.recv.items()) }},
	{"index", "/ value start? stop?", func(c *call) (Value, error) { return indexOfItem(c, c.recv.items()) }},
	{"copy", "", func(c *call) (Value, error) {
		items, err := collectOwn(c.eval, c.recv)
		return c.list(items), err
	}},
	{"pop", "!! / index?", listPop},
	{"clear", "!!", func(c *call) (Value, error) {
		l := c.recv.seq()
		l.src, l.items = nil, nil
		return noneValue(), nil
	}},
	{"append", "! / object", func(c *call) (Value, error) {
		l := c.recv.seq()
		l.items = append(l.all(), c.args[0])
		return noneValue(), nil
	}},
	{"extend", "! / iterable", func(c *call) (Value, error) {
		items, err := collectOwn(c.eval, c.args[0])
		l := c.recv.seq()
		l.items = append(l.all(), items...)
		return noneValue(), err
	}},
	{"insert", "! / index object", func(c *call) (Value, error) {
		i, err := toInt(c.args[0])
		if err != nil {
			return Value{}, err
		}
		l := c.recv.seq()
		n := len(l.all())
		if i < 0 {
			i = max(i+n, 0)
		}
		l.items = slices.Insert(l.items, min(i, n), c.args[1])
		return noneValue(), c.step(n / moveItems)
	}},
	{"remove", "! / value", func(c *call) (Value, error) {
		l := c.recv.seq()
		i, err := find(c.eval, l.all(), c.args[0])
		if err != nil {
			return Value{}, err
		}
		if i < 0 {
			return Value{}, errf(ValueError, "list.remove(x): x not in list")
		}
		l.items = slices.Delete(l.items, i, i+1)
		return noneValue(), nil
	}},
	{"reverse", "!", func(c *call) (Value, error) {
		slices.Reverse(c.recv.items())
		return noneValue(), c.step(len(c.recv.items()))
	}},
	{"sort", "! key? reverse?", func(c *call) (Value, error) {
		items := slices.Clone(c.recv.items())
		key := func(v Value) (Value, error) { return v, nil }
		if f := c.arg(0, noneValue()); !f.isNone() {
			key = func(v Value) (Value, error) { return callValue(c.eval, f, []Value{v}, nil) }
		}
		reverse, err := toInt(c.arg(1, intValue(0)))
		if err == nil {
			err = sortValues(c.eval, items, key, reverse != 0)
		}
		if err != nil {
			return Value{}, err
		}
		c.recv.seq().items = items
		return noneValue(), nil
	}},
}

var tupleMethods = []entryOf{
	{"count", "/ value", func(c *call) (Value, error) { return countItems(c, c.recv.items()) }},
	{"index", "/ value start? stop?", func(c *call) (Value, error) { return indexOfItem(c, c.recv.items()) }},
}

// find is the place of a value in items, or -1.
func find(e *eval, items []Value, v Value) (int, error) {
	for i, item := range items {
		if err := e.step(1); err != nil {
			return 0, err
		}
		if same(item, v) {
			return i, nil
		}
		if ok, err := equal(e, item, v); ok || err != nil {
			return i, err
		}
	}
	return -1, nil
}

func countItems(c *call, items []Value) (Value, error) {
	n := 0
	for len(items) > 0 {
		i, err := find(c.eval, items, c.args[0])
		if err != nil {
			return Value{}, err
		}
		if i < 0 {
			break
		}
		n++
		items = items[i+1:]
	}
	return c.computed(intValue(n)), nil
}

func indexOfItem(c *call, items []Value) (Value, error) {
	for _, v := range c.args[1:3] {
		if v.isNone() {
			return Value{}, errf(TypeError, "slice indices must be integers or have "+
				"an __index__ method")
		}
	}
	from, to, _, err := sliceBounds(c.args[1], c.args[2], Value{}, len(items))
	if err != nil {
		return Value{}, err
	}
	if from < to {
		i, err := find(c.eval, items[from:to], c.args[0])
		if err != nil || i >= 0 {
			return c.computed(intValue(from + i)), err
		}
	}
	if c.recv.kind == Tuple {
		return Value{}, errf(ValueError, "tuple.index(x): x not in tuple")
	}
	return Value{}, errf(ValueError, "%s is not in list", reprText(c.eval, c.args[0]))
}

func listPop(c *call) (Value, error) {
	i, err := toInt(c.arg(0, intValue(-1)))
	if err != nil {
		return Value{}, err
	}
	l := c.recv.seq()
	n := len(l.all())
	if n == 0 {
		return Value{}, errf(IndexError, "pop from empty list")
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Value{}, errf(IndexError, "pop index out of range")
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
	return v, c.step((n - i) / moveItems)
}

var dictMethods = []entryOf{
	{"get", "/ key default?", func(c *call) (Value, error) {
		v, ok, err := c.recv.dict().get(c.eval, c.args[0])
		if ok {
			if c.dialect == nil { // in a dialect it is no look at the value
				c.traceRead(v)
			}
			return v, nil
		}
		if c.args[0].isString() {
			c.traceMissing(c.recv, c.args[0].text())
		}
		return c.arg(1, noneValue()), err
	}},
	{"items", "", func(c *call) (Value, error) { return viewValue(c.eval, c.recv, viewItems), nil }},
	{"keys", "", func(c *call) (Value, error) { return viewValue(c.eval, c.recv, viewKeys), nil }},
	{"values", "", func(c *call) (Value, error) { return viewValue(c.eval, c.recv, viewValues), nil }},
	{"copy", "", func(c *call) (Value, error) {
		return dictValue(c.recv.dict().clone()).withProv(c.recv.prov), c.step(c.recv.dict().len())
	}},
	{"fromkeys", "/ iterable value?", dictFromKeys},
	{"clear", "!", func(c *call) (Value, error) {
		*c.recv.dict() = dict{version: c.recv.dict().version + 1}
		return noneValue(), nil
	}},
	{"pop", "! / key default?", func(c *call) (Value, error) {
		d := c.recv.dict()
		v, ok, err := d.get(c.eval, c.args[0])
		if err != nil {
			return Value{}, err
		}
		if !ok {
			if c.given(1) {
				return c.args[1], nil
			}
			return Value{}, errf(KeyError, "%s", reprText(c.eval, c.args[0]))
		}
		d.removeAt(d.find(c.args[0]))
		c.traceRead(v)
		return v, c.step(d.len())
	}},
	{"popitem", "!", func(c *call) (Value, error) {
		d := c.recv.dict()
		n := len(d.all())
		if n == 0 {
			return Value{}, errf(KeyError, "popitem(): dictionary is empty")
		}
		last := d.entries[n-1]
		d.removeAt(n - 1)
		return c.pair(last.key, last.value), c.step(n)
	}},
	{"setdefault", "! / key default?", func(c *call) (Value, error) {
		d := c.recv.dict()
		v, ok, err := d.get(c.eval, c.args[0])
		if ok || err != nil {
			return v, err
		}
		v = c.arg(1, noneValue())
		return v, d.set(c.eval, c.args[0], v)
	}},
	{"update", "! / other? **", func(c *call) (Value, error) {
		return noneValue(), updateDict(c, c.recv.dict())
	}},
}

func viewValue(e *eval, d Value, kind viewKind) Value {
	v := e.views.One()
	v.d, v.kind = d.dict(), kind
	return Value{kind: View, ref: ptr(v), prov: d.prov}
}

func dictFromKeys(c *call) (Value, error) {
	items, err := collect(c.eval, c.args[0])
	if err != nil {
		return Value{}, err
	}
	d := c.dict(len(items))
	for _, key := range items {
		if err := d.set(c.eval, key, c.arg(1, noneValue())); err != nil {
			return Value{}, err
		}
	}
	return dictValue(d), nil
}

// updateDict sets the items of the first argument, a mapping or an iterable of pairs, and of the
// keyword arguments.
func updateDict(c *call, d *dict) error {
	switch src := c.args[0]; src.kind {
	case Missing:
	case Dict:
		for _, e := range src.dict().all() {
			if err := d.set(c.eval, e.key, e.value); err != nil {
				return err
			}
		}
		if err := c.step(src.dict().len()); err != nil {
			return err
		}
	default:
		it, err := iterate(c.eval, src)
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			item, ok, err := it.next(c.eval)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			pair, err := collect(c.eval, item)
			if isClass(err, TypeError) {
				return errf(TypeError, "cannot convert dictionary update sequence element "+
					"#%d to a sequence", i)
			}
			if err != nil {
				return err
			}
			if len(pair) != 2 {
				return errf(ValueError, "dictionary update sequence element #%d has length "+
					"%d; 2 is required", i, len(pair))
			}
			if err := d.set(c.eval, pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	for _, k := range c.kwargs {
		d.setString(k.name, k.value)
	}
	return nil
}

var viewMethods = []entryOf{
	{"isdisjoint", "/ other", func(c *call) (Value, error) {
		if c.recv.view().kind == viewValues {
			return Value{}, errf(AttributeError, "'dict_values' object has no attribute 'isdisjoint'")
		}
		items, err := collect(c.eval, c.args[0])
		for _, item := range items {
			if ok, err := contains(c.eval, c.recv, item); ok || err != nil {
				return boolValue(false), err
			}
		}
		return boolValue(true), err
	}},
	{"mapping", ".", func(c *call) (Value, error) { return dictValue(c.recv.view().d), nil }},
}

// isSetView reports whether v is keys() or items(), which have a set's operators.
func isSetView(v Value) bool { return v.kind == View && v.view().kind != viewValues }

// viewDifference is a - b, one of them a dict's keys() or items(), the other any iterable: a set.
func viewDifference(e *eval, a, b Value) (Value, error) {
	if err := undefinedOperand(a, b); err != nil {
		return Value{}, err
	}
	left, err := collect(e, a)
	if err != nil {
		return Value{}, err
	}
	right, err := collect(e, b)
	if err != nil {
		return Value{}, err
	}
	gone := e.dict(len(right))
	for _, v := range right {
		if err := gone.set(e, v, noneValue()); err != nil {
			return Value{}, err
		}
	}
	out := e.dict(len(left))
	for _, v := range left {
		if _, ok, err := gone.get(e, v); ok || err != nil {
			if err != nil {
				return Value{}, err
			}
			continue
		}
		if err := out.set(e, v, noneValue()); err != nil {
			return Value{}, err
		}
	}
	return objectValue(&set{out, e}), nil
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
func (s *set) length(*eval) (int, error)        { return s.d.len(), nil }
func (s *set) iterate(e *eval) (iterator, error) {
	return iterate(e, viewValue(e, dictValue(s.d), viewKeys))
}

var rangeMethods = []entryOf{
	{"start", ".", func(c *call) (Value, error) { return int64Value(c.recv.rng().start), nil }},
	{"stop", ".", func(c *call) (Value, error) { return int64Value(c.recv.rng().stop), nil }},
	{"step", ".", func(c *call) (Value, error) { return int64Value(c.recv.rng().step), nil }},
	{"count", "/ value", func(c *call) (Value, error) {
		ok, err := contains(c.eval, c.recv, c.args[0])
		if ok {
			return intValue(1), err
		}
		return intValue(0), err
	}},
	{"index", "/ value", func(c *call) (Value, error) {
		if v := c.args[0]; v.isNumber() && v.kind != BigInt {
			f, _ := toFloat(v)
			if v.kind != Float {
				if i := c.recv.rng().indexOf(v.int()); i >= 0 {
					return int64Value(i), nil
				}
			} else if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				if i := c.recv.rng().indexOf(int64(f)); i >= 0 {
					return int64Value(i), nil
				}
			}
		}
		return Value{}, errf(ValueError, "%s is not in range", reprText(c.eval, c.args[0]))
	}},
}

func asInt(v Value) Value {
	if v.kind == Bool {
		return int64Value(v.int())
	}
	return v
}

var intMethods = []entryOf{
	{"real", ".", func(c *call) (Value, error) { return asInt(c.recv), nil }},
	{"imag", ".", func(c *call) (Value, error) { return intValue(0), nil }},
	{"numerator", ".", func(c *call) (Value, error) { return asInt(c.recv), nil }},
	{"denominator", ".", func(c *call) (Value, error) { return intValue(1), nil }},
	{"conjugate", "", func(c *call) (Value, error) { return asInt(c.recv), nil }},
	{"bit_length", "", func(c *call) (Value, error) { return c.computed(intValue(bigInt(c.recv).BitLen())), nil }},
	{"bit_count", "", func(c *call) (Value, error) {
		n := 0
		for _, w := range bigInt(c.recv).Bits() {
			n += bits.OnesCount(uint(w))
		}
		return c.computed(intValue(n)), nil
	}},
	{"as_integer_ratio", "", func(c *call) (Value, error) { return c.pair(asInt(c.recv), intValue(1)), nil }},
	{"to_bytes", "length? byteorder? signed?", intToBytes},
}

var floatMethods = []entryOf{
	{"real", ".", func(c *call) (Value, error) { return c.recv, nil }},
	{"imag", ".", func(c *call) (Value, error) { return floatValue(0), nil }},
	{"conjugate", "", func(c *call) (Value, error) { return c.recv, nil }},
	{"is_integer", "", func(c *call) (Value, error) {
		f := c.recv.float()
		return boolValue(f == math.Trunc(f) && !math.IsInf(f, 0)), nil
	}},
	{"as_integer_ratio", "", func(c *call) (Value, error) {
		f := c.recv.float()
		if math.IsInf(f, 0) {
			return Value{}, errf(OverflowError, "cannot convert Infinity to integer ratio")
		}
		if math.IsNaN(f) {
			return Value{}, errf(ValueError, "cannot convert NaN to integer ratio")
		}
		r := new(big.Rat)
		r.SetFloat64(f)
		return c.tuple(bigValue(new(big.Int).Set(r.Num())), bigValue(new(big.Int).Set(r.Denom()))),
			nil
	}},
	{"hex", "", func(c *call) (Value, error) { return stringValue(floatHex(c.recv.float())), nil }},
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

func intToBytes(c *call) (Value, error) {
	n, err := toInt(c.arg(0, intValue(1)))
	if err != nil {
		return Value{}, err
	}
	order := c.arg(1, stringValue("big"))
	if !order.isString() || order.text() != "big" && order.text() != "little" {
		return Value{}, errf(ValueError, "byteorder must be either 'little' or 'big'")
	}
	if n < 0 {
		return Value{}, errf(ValueError, "length argument must be non-negative")
	}
	if err := c.charge(n); err != nil {
		return Value{}, err
	}
	signed, err := truth(c.eval, c.args[2])
	if err != nil {
		return Value{}, err
	}
	x := new(big.Int).Set(bigInt(c.recv))
	if x.Sign() < 0 && !signed {
		return Value{}, errf(OverflowError, "can't convert negative int to unsigned")
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(8*n))
	low, high := new(big.Int), limit
	if signed {
		high = new(big.Int).Rsh(limit, 1)
		low.Neg(high)
	}
	if x.Cmp(low) < 0 || x.Cmp(high) >= 0 {
		return Value{}, errf(OverflowError, "int too big to convert")
	}
	if x.Sign() < 0 {
		x.Add(x, limit)
	}
	out := x.FillBytes(make([]byte, n))
	if order.text() == "little" {
		slices.Reverse(out)
	}
	return objectValue(&bytesObject{out}), nil
}

// bytesObject is Python's bytes, which templates can make by encode and to_bytes, and print.
type bytesObject struct{ data []byte }

func (b *bytesObject) typeName() string          { return "bytes" }
func (b *bytesObject) length(*eval) (int, error) { return len(b.data), nil }

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
			params: []string{"encoding", "errors"}, run: func(c *call) (Value, error) {
				return stringValue(string(b.data)), c.charge(len(b.data))
			}}}), true
	case "hex":
		return functionValue(&function{builtin: &builtin{name: name,
			run: func(c *call) (Value, error) {
				out := make([]byte, 0, 2*len(b.data))
				for _, d := range b.data {
					out = append(out, hexDigits[d>>4], hexDigits[d&15])
				}
				return stringValue(string(out)), c.charge(len(out))
			}}}), true
	}
	return Value{}, false
}

func (b *bytesObject) iterate(*eval) (iterator, error) {
	i := 0
	return iterateFunc(func(*eval) (Value, bool, error) {
		if i == len(b.data) {
			return Value{}, false, nil
		}
		i++
		return intValue(int(b.data[i-1])), true, nil
	}), nil
}
