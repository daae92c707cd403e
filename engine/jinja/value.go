package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/goassay/assay/engine/ordered"
)

// Kind is the type of a [Value], a Python type seen from a template.
type Kind uint8

// The kinds. Missing is the zero value's: no value at all, such as an argument that was not given;
// templates never see it.
const (
	Missing Kind = iota
	None
	Undefined
	Bool
	Int
	BigInt
	Float
	String
	Markup // a string that |safe or |escape has marked; operations with plain strings escape those
	List
	Tuple
	Dict
	Namespace
	Range
	View      // a dict's keys(), values() or items()
	Generator // an iterator, used up once
	Function  // a built-in function or bound method
	Object    // a value with behaviour of its own: macro, loop, cycler, joiner
)

// typeNames are Python's names of the types, as its messages print them.
var typeNames = [...]string{"missing", "NoneType", "Undefined", "bool", "int", "int", "float",
	"str", "Markup", "list",
	"tuple", "dict", "Namespace", "range", "dict_view", "generator", "builtin_function_or_method",
	"object"}

// Value is a template value. Strings and numbers live in it without boxing; containers are
// references, so that two values may be the same list. The fields' meaning depends on the kind:
//
//	Bool, Int      num is 0 or 1, or the int64's bits
//	Float          num is the float64's bits
//	String, Markup ref is the text's first byte, num its length in bytes
//	Undefined      the same, for the name or the message (see undefKind)
//	others         ref is the object: *big.Int, *list, *dict, *namespace, *rangeObject, *view, *generator, *function, *object
type Value struct {
	ref  unsafe.Pointer
	num  uint64
	prov *prov // where it came from; nil when nobody asked (E3)
	kind Kind
	sub  undefKind
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// The constructors of plain values.

func noneValue() Value { return Value{kind: None} }

func boolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

func intValue(i int) Value     { return Value{kind: Int, num: uint64(i)} }
func int64Value(i int64) Value { return Value{kind: Int, num: uint64(i)} }

// bigValue takes ownership of b and returns the smallest kind that holds it.
func bigValue(b *big.Int) Value {
	if b.IsInt64() {
		return int64Value(b.Int64())
	}
	return Value{kind: BigInt, ref: unsafe.Pointer(b)}
}

func floatValue(f float64) Value { return Value{kind: Float, num: math.Float64bits(f)} }

func stringValue(s string) Value {
	return Value{kind: String, ref: unsafe.Pointer(unsafe.StringData(s)), num: uint64(len(s))}
}

func markupValue(s string) Value {
	return Value{kind: Markup, ref: unsafe.Pointer(unsafe.StringData(s)), num: uint64(len(s))}
}

func (l *list) value(kind Kind) Value { return Value{kind: kind, ref: unsafe.Pointer(l)} }

func dictValue(d *dict) Value { return Value{kind: Dict, ref: unsafe.Pointer(d)} }

func generatorValue(name string, next func(*eval) (Value, bool)) Value {
	return Value{kind: Generator, ref: unsafe.Pointer(&generator{name: name, next: next})}
}

func functionValue(f *function) Value { return Value{kind: Function, ref: unsafe.Pointer(f)} }

// objectValue boxes an object; keep the result where identity or speed matters.
func objectValue(o object) Value { return Value{kind: Object, ref: unsafe.Pointer(&o)} }

// undefKind decides the text of an undefined value, and the error that its use raises.
type undefKind uint8

const (
	undefName     undefKind = iota // text is a variable's name
	undefHint                      // text is the whole message
	undefSecurity                  // text is the whole message, and use raises SecurityError
	// text is an attribute's name; undefAttr+Kind is the kind of the object that lacks it
	undefAttr
)

func undefText(sub undefKind, s string) Value {
	v := stringValue(s)
	v.kind, v.sub = Undefined, sub
	return v
}

// undefinedName is a variable that does not exist.
func undefinedName(name string) Value { return undefText(undefName, name) }

// undefinedHint is an undefined value whose use gives msg, such as "parameter 'x' was not
// provided".
func undefinedHint(msg string) Value { return undefText(undefHint, msg) }

// undefinedAttr is the value of a missing attribute or item of obj. The read is on record already
// (E4).
func undefinedAttr(obj Value, name string) Value {
	if obj.kind == Object || obj.kind == View {
		return undefinedHint(pyQuote(typeRepr(obj)) + " has no attribute " + quoteExcerpt(name))
	}
	return undefText(undefAttr+undefKind(obj.kind), name)
}

func undefinedItem(e *eval, obj, key Value) Value {
	if key.isString() {
		return undefinedAttr(obj, key.text())
	}
	shown := typeRepr(key)
	if key.isNumber() || key.isNone() {
		shown = reprText(e, key)
	}
	return undefinedHint(typeRepr(obj) + " has no element " + shown)
}

// undefinedMessage is the text of the error that using v raises.
func undefinedMessage(v Value) string {
	switch s := v.rawText(); {
	case v.sub == undefName:
		return pyQuote(s) + " is undefined"
	case v.sub < undefAttr:
		return s
	default:
		return pyQuote(typeRepr(Value{kind: Kind(v.sub - undefAttr)})) + " has no attribute " +
			quoteExcerpt(s)
	}
}

// undefinedError is the error that using v raises.
func undefinedError(v Value) error {
	if v.sub == undefSecurity {
		return errf(SecurityError, "%s", undefinedMessage(v))
	}
	return errf(UndefinedError, "%s", undefinedMessage(v))
}

// The accessors; the caller knows the kind.

func (v Value) rawText() string       { return unsafe.String((*byte)(v.ref), int(v.num)) }
func (v Value) text() string          { return v.rawText() } // of String and Markup
func (v Value) bool() bool            { return v.num != 0 }
func (v Value) int() int64            { return int64(v.num) }
func (v Value) float() float64        { return math.Float64frombits(v.num) }
func (v Value) big() *big.Int         { return (*big.Int)(v.ref) }
func (v Value) dict() *dict           { return (*dict)(v.ref) }
func (v Value) namespace() *namespace { return (*namespace)(v.ref) }
func (v Value) rng() *rangeObject     { return (*rangeObject)(v.ref) }
func (v Value) view() *view           { return (*view)(v.ref) }
func (v Value) generator() *generator { return (*generator)(v.ref) }
func (v Value) function() *function   { return (*function)(v.ref) }
func (v Value) object() object        { return *(*object)(v.ref) }
func (v Value) seq() *list            { return (*list)(v.ref) } // of List and Tuple
// of List and Tuple; for reading, until the list changes
func (v Value) items() []Value    { return v.seq().all() }
func (v Value) isString() bool    { return v.kind == String || v.kind == Markup }
func (v Value) isSeq() bool       { return v.kind == List || v.kind == Tuple }
func (v Value) isMissing() bool   { return v.kind == Missing }
func (v Value) isNone() bool      { return v.kind == None }
func (v Value) isUndefined() bool { return v.kind == Undefined }

// as isinstance(v, int) says
func (v Value) isInteger() bool        { return v.kind >= Bool && v.kind <= BigInt }
func (v Value) isNumber() bool         { return v.kind >= Bool && v.kind <= Float }
func (v Value) withProv(p *prov) Value { v.prov = p; return v }

// or returns v, or other where v is missing.
func (v Value) or(other Value) Value {
	if v.kind == Missing {
		return other
	}
	return v
}

// typeName is Python's type(v).__name__.
func typeName(v Value) string {
	switch v.kind {
	case Object:
		return v.object().typeName()
	case View:
		return v.view().typeName()
	}
	return typeNames[v.kind]
}

// typeRepr is jinja2.utils.object_type_repr.
func typeRepr(v Value) string {
	switch v.kind {
	case None:
		return "None"
	case Undefined:
		return "jinja2.runtime.Undefined object"
	case Markup:
		return "markupsafe.Markup object"
	case Namespace:
		return "jinja2.utils.Namespace object"
	}
	return typeName(v) + " object"
}

// same is Python's "is": the same object, or equal small immutable values.
func same(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case None, Undefined:
		return a.kind == None || a.ref == b.ref && a.num == b.num
	case Bool, Int, Float:
		return a.num == b.num
	case String, Markup:
		return a.text() == b.text()
	case BigInt:
		return a.big().Cmp(b.big()) == 0
	case Object:
		return a.ref == b.ref || a.object() == b.object()
	case Tuple:
		return a.ref == b.ref || len(a.items()) == 0 && len(b.items()) == 0
	}
	return a.ref == b.ref
}

// list is the object after List and Tuple. A list that came from JSON converts its items when they
// are first needed: src is the part that is still to be converted.
type list struct {
	items []Value
	src   []ordered.Value
	node  *node   // the input path of this list; nil when origins are off
	mem   *memory // where src is set: the memory for the items
	group bool    // a tuple of |groupby, whose items have names
}

func (l *list) len() int {
	if l.src != nil {
		return len(l.src)
	}
	return len(l.items)
}

// all returns the items.
func (l *list) all() []Value {
	if l.src != nil {
		l.items, l.src = l.mem.convertItems(l.src, l.node), nil
	}
	return l.items
}

// at returns one item, 0 ≤ i < len, without converting the others where that is possible.
func (l *list) at(i int) Value {
	if l.src != nil {
		if s := &l.src[i]; l.node == nil && isScalar(s) {
			return scalar(s)
		}
	}
	return l.all()[i]
}

// entry is one key of a dict with its value.
type entry struct{ key, value Value }

// indexFrom is the number of entries from which a dict keeps an index rather than being searched.
const indexFrom = 9

// dict is an insertion-ordered mapping with any hashable key. One that came from JSON converts its
// members when they are first needed.
type dict struct {
	entries []entry
	index   map[string]int32 // hash key -> place in entries; nil while there are few
	src     []ordered.Member
	node    *node
	mem     *memory
	version int // counts changes of size, so that an iteration notices one
}

func (d *dict) len() int {
	if d.src != nil {
		return len(d.src)
	}
	return len(d.entries)
}

// all returns the entries in order, for reading.
func (d *dict) all() []entry {
	if d.src != nil {
		d.entries, d.src = d.mem.convertMembers(d.src, d.node), nil
	}
	return d.entries
}

// getString looks a string key up.
func (d *dict) getString(key string) (Value, bool) {
	if d.src != nil {
		if len(d.src) < indexFrom && d.node == nil {
			for i := range d.src {
				if m := &d.src[i]; m.Key == key {
					if isScalar(&m.Value) {
						return scalar(&m.Value), true
					}
					return d.all()[i].value, true
				}
			}
			return Value{}, false
		}
		d.all()
	}
	if i := d.findString(key); i >= 0 {
		return d.entries[i].value, true
	}
	return Value{}, false
}

func (d *dict) findString(key string) int {
	if len(d.entries) < indexFrom {
		for i := range d.entries {
			if k := &d.entries[i].key; int(k.num) == len(key) && k.isString() &&
				k.rawText() == key {
				return i
			}
		}
		return -1
	}
	return d.lookup("s" + key)
}

// indexed builds the index where there is none and is to be one.
func (d *dict) indexed() {
	if d.index != nil || len(d.entries) < indexFrom {
		return
	}
	d.index = make(map[string]int32, len(d.entries))
	for i := range d.entries {
		d.index[hashKey(d.entries[i].key)] = int32(i)
	}
}

func (d *dict) lookup(hash string) int {
	d.indexed()
	if i, ok := d.index[hash]; ok {
		return int(i)
	}
	return -1
}

// find returns the place of a hashable key that was charged, or -1.
func (d *dict) find(key Value) int {
	if key.isString() {
		return d.findString(key.text())
	}
	if len(d.entries) >= indexFrom {
		return d.lookup(hashKey(key))
	}
	for i := range d.entries {
		if sameKey(d.entries[i].key, key) {
			return i
		}
	}
	return -1
}

// charge charges a look-up: of the key, and of the keys that are there where the index is still to
// be built of them. An unhashable key is a TypeError.
func (d *dict) charge(e *eval, key Value) {
	e.stepKey(key)
	if entries := d.all(); d.index == nil && len(entries) >= indexFrom {
		for i := range entries {
			e.step(1)
			e.stepKey(entries[i].key)
		}
		d.indexed()
	}
}

// get looks a key up. An unhashable key is a TypeError.
func (d *dict) get(e *eval, key Value) (Value, bool) {
	if key.isString() && d.src != nil && len(d.src) < indexFrom {
		v, ok := d.getString(key.text())
		e.stepKey(key)
		return v, ok
	}
	d.charge(e, key)
	if i := d.find(key); i >= 0 {
		return d.entries[i].value, true
	}
	return Value{}, false
}

// set sets a key, in its place if it is there already. An unhashable key is a TypeError.
func (d *dict) set(e *eval, key, value Value) {
	d.charge(e, key)
	d.put(key, value)
}

// put is set for a key that was charged.
func (d *dict) put(key, value Value) {
	d.all()
	if i := d.find(key); i >= 0 {
		d.entries[i].value = value
		return
	}
	d.entries = append(d.entries, entry{key, value})
	d.version++
	if d.index != nil {
		d.index[hashKey(key)] = int32(len(d.entries) - 1)
	}
}

// setString is set for a key of the template's source.
func (d *dict) setString(key string, value Value) { d.put(stringValue(key), value) }

// removeAt removes an entry.
func (d *dict) removeAt(i int) {
	d.entries = append(d.entries[:i:i], d.entries[i+1:]...)
	d.index = nil
	d.version++
}

func (d *dict) clone() *dict {
	return &dict{entries: append([]entry(nil), d.all()...)}
}

// maxKeyItems bounds the tuples, nested ones counted through, that are looked up as one key.
const maxKeyItems = 512

// checkHashable raises Python's TypeError for a value that cannot be a key.
func checkHashable(v Value) { keySteps(v) }

// keySteps is the cost of looking a key up: a step for each item of a tuple and for each 256 bytes.
// A value that cannot be a key is Python's TypeError.
func keySteps(v Value) int {
	items, steps := maxKeyItems, 0
	addKeySteps(v, &items, &steps)
	return steps + maxKeyItems - items
}

func addKeySteps(v Value, budget, steps *int) {
	switch v.kind {
	case String, Markup:
		*steps += scanSteps(v)
	case BigInt:
		*steps += 1 + bigSteps(v.big())
	case List, Dict:
		panic(errf(TypeError, "unhashable type: '%s'", typeName(v)))
	case View:
		if v.view().kind != viewValues {
			panic(errf(TypeError, "unhashable type: '%s'", typeName(v)))
		}
	case Tuple:
		for _, item := range v.items() {
			if *budget--; *budget < 0 {
				panic(errf(LimitError, "a tuple of more than %d items as a key", maxKeyItems))
			}
			addKeySteps(item, budget, steps)
		}
	}
}

// hashKey maps a hashable value to text such that equal keys have equal text: 1, 1.0 and true are
// one key.
func hashKey(v Value) string {
	if v.isString() {
		return "s" + v.text()
	}
	var buf [32]byte
	return string(appendHash(buf[:0], v))
}

// appendHash appends the text of a value that is no string. Its length follows from its beginning,
// so that tuples need no marks between items.
func appendHash(b []byte, v Value) []byte {
	switch v.kind {
	case String, Markup:
		b = append(strconv.AppendUint(append(b, 's'), v.num, 10), ':')
		return append(b, v.text()...)
	case Bool, Int:
		return append(strconv.AppendInt(append(b, 'i'), v.int(), 16), ' ')
	case BigInt:
		return append(v.big().Append(append(b, 'i'), 16), ' ')
	case Float:
		f := v.float()
		if f == math.Trunc(f) && !math.IsInf(f, 0) {
			whole, _ := big.NewFloat(f).Int(nil)
			return append(whole.Append(append(b, 'i'), 16), ' ')
		}
		return append(strconv.AppendFloat(append(b, 'f'), f, 'g', -1, 64), ' ')
	case None:
		return append(b, 'n')
	case Undefined:
		// jinja2 hashes undefined values by type, and they are equal to each other
		return append(b, 'u')
	case Tuple:
		items := v.items()
		b = append(strconv.AppendInt(append(b, 't'), int64(len(items)), 10), ':')
		for _, item := range items {
			b = appendHash(b, item)
		}
		return b
	case Range:
		r := v.rng()
		b = strconv.AppendInt(append(b, 'r'), r.len(), 10)
		if r.len() > 0 {
			b = strconv.AppendInt(append(b, ','), r.start, 10)
		}
		if r.len() > 1 {
			b = strconv.AppendInt(append(b, ','), r.step, 10)
		}
		return append(b, ' ')
	}
	return append(strconv.AppendUint(append(b, 'p'), uint64(uintptr(v.ref)), 16), ' ')
}

// sameKey reports whether two hashable values are one key, as their texts would, without making
// them.
func sameKey(a, b Value) bool {
	switch {
	case a.isString() || b.isString():
		return a.isString() && b.isString() && a.num == b.num && a.rawText() == b.rawText()
	case a.isNumber() && b.isNumber():
		return equalNumbers(a, b) ||
			a.kind == Float && b.kind == Float && math.IsNaN(a.float()) && math.IsNaN(b.float())
	case a.kind != b.kind:
		return false
	case a.kind == Tuple:
		return slices.EqualFunc(a.items(), b.items(), sameKey)
	case a.kind == Range:
		return hashKey(a) == hashKey(b)
	case a.kind == None || a.kind == Undefined:
		return true
	}
	return a.ref == b.ref
}

// namespace is the object after namespace(): attributes that a template may set.
type namespace struct{ attrs dict }

// get returns an attribute.
func (n *namespace) get(name string) (Value, bool) { return n.attrs.getString(name) }

// set sets an attribute.
func (n *namespace) set(name string, v Value) {
	if i := n.attrs.findString(name); i >= 0 {
		n.attrs.entries[i].value = v
		return
	}
	n.attrs.setString(name, v)
}

// generator is an iterator that can be used once. next returns false at its end, and is not called
// again after that.
type generator struct {
	name string // Python's name of the function, for printing
	next func(*eval) (Value, bool)
	done bool
}

// viewKind is the kind of a dict's view.
type viewKind uint8

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

// view is a live view of a dict.
type view struct {
	d    *dict
	kind viewKind
}

func (v *view) typeName() string {
	return [...]string{"dict_keys", "dict_values", "dict_items"}[v.kind]
}

func (v *view) item(m *memory, e *entry) Value {
	switch v.kind {
	case viewKeys:
		return e.key
	case viewValues:
		return e.value
	}
	return m.pair(e.key, e.value)
}

// rangeObject is Python's range, within int64.
type rangeObject struct{ start, stop, step int64 }

// len is the number of items; a range made by range() has at most maxRange.
func (r *rangeObject) len() int64 {
	switch {
	case r.step > 0 && r.start < r.stop:
		return int64((uint64(r.stop)-uint64(r.start)-1)/uint64(r.step)) + 1
	case r.step < 0 && r.start > r.stop:
		return int64((uint64(r.start)-uint64(r.stop)-1)/(-uint64(r.step))) + 1
	}
	return 0
}

func (r *rangeObject) at(i int64) Value { return int64Value(r.start + i*r.step) }

// object is a value with behaviour of its own. Objects that can be called, iterated over or
// measured implement callable, iterable and sized as well. Objects are compared by identity, so
// implementations are pointers.
type object interface {
	typeName() string                        // Python's type name
	repr() string                            // the text of str() and repr()
	attr(e *eval, name string) (Value, bool) // an attribute; false: there is none
}

type callable interface{ call(c *call) Value }

type iterable interface {
	iterate(e *eval) iterator
}

// sized is an object with a length.
type sized interface{ length(e *eval) int }

// function is a built-in, bound to its receiver where it is a method.
type function struct {
	*builtin
	recv Value // Missing for global functions
}

func isScalar(v *ordered.Value) bool { return v.Kind() < ordered.Array }

func scalar(v *ordered.Value) Value {
	switch v.Kind() {
	case ordered.Bool:
		return boolValue(v.Bool())
	case ordered.Number:
		return parseNumber(v.Text())
	case ordered.String:
		return stringValue(v.Text())
	}
	return noneValue()
}

// parseNumber reads a JSON number as Python's json does: one with a point or an exponent is a
// float.
func parseNumber(text string) Value {
	if strings.ContainsAny(text, ".eE") {
		f, _ := strconv.ParseFloat(text, 64) // out of range gives an infinity, as in Python
		return floatValue(f)
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return int64Value(i)
	}
	b, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return noneValue()
	}
	return bigValue(b)
}
