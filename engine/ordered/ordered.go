// Package ordered holds JSON values as they were written: object keys keep their order, numbers
// keep their text.
//
// Chat templates print keys in input order and numbers digit for digit, and the arguments of a tool
// call must come back as the model wrote them; encoding/json's maps and float64s lose both.
//
// # Model
//
// A [Value] is immutable and small. Text that is not UTF-8 and escapes of lone surrogates are kept:
// a lone surrogate decodes to its three-byte form (WTF-8), which [Value.Append] writes as an escape
// again.
//
// # Limits
//
// Nesting deeper than [MaxDepth] is an error. A repeated key keeps its first place and its last
// value, as in Python.
//
// # Errors
//
// [Parse] returns a [source.Error] with the byte offset of the fault.
//
// # Stability
//
// This package is part of the stable surface: its API is listed in ci/api.txt. Requests, schemas
// and the arguments of calls are its values throughout packages engine and chat, so that no caller
// can do without it.
package ordered

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/source"
)

// MaxDepth bounds the nesting of arrays and objects, in levels; deeper input is refused so that
// recursion over a value cannot exhaust the stack.
const MaxDepth = 1000

// Kind is the JSON type of a value.
type Kind uint8

// The kinds. Null is the zero value's kind.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "boolean", "number", "string", "array", "object"}

// String returns the kind's name in JSON Schema's words.
func (k Kind) String() string { return kindNames[k] }

// Value is a JSON value. The zero value is null.
type Value struct {
	kind Kind
	yes  bool
	text string // of a string or a number
	in   *inside
}

// inside holds the items of an array or an object. It stands apart, so that a value is small: a
// text of a few bytes may have as many values.
type inside struct {
	items   []Value
	members []Member
}

// Member is one key of an object with its value.
type Member struct {
	Key   string // the key, with its escapes read
	Value Value  // what stands after the key
}

// MemberOf returns the member of an object with a key and a value.
func MemberOf(key string, value Value) Member { return Member{key, value} }

// Str returns a string.
func Str(s string) Value { return Value{kind: String, text: s} }

// Num returns a number as it is written. The text must be a JSON number; that is not checked.
func Num(text string) Value { return Value{kind: Number, text: text} }

// Int returns a whole number.
func Int(i int) Value { return Num(strconv.Itoa(i)) }

// Boolean returns a boolean.
func Boolean(b bool) Value { return Value{kind: Bool, yes: b} }

// ArrayOf returns an array. It keeps the slice, which the caller must not change any more.
func ArrayOf(items ...Value) Value {
	if len(items) == 0 {
		return Value{kind: Array}
	}
	return Value{kind: Array, in: &inside{items: items}}
}

// ListOf returns an array with a value for each item of a list.
func ListOf[T any](items []T, value func(item T) Value) Value {
	values := make([]Value, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	return ArrayOf(values...)
}

// ObjectOf returns an object with its members in this order; each key must stand once. It keeps the
// slice, which the caller must not change any more.
func ObjectOf(members ...Member) Value {
	if len(members) == 0 {
		return Value{kind: Object}
	}
	return Value{kind: Object, in: &inside{members: members}}
}

// Pairs returns an object of keys and values that take turns, as the functions of log/slog take
// them: a value is nil, a string, a bool, an int or int64, a [Value], or a list of strings or of
// values. It panics at anything else and at a key without a value, which are mistakes of the
// programmer. Each value is boxed: what is built for every token takes [ObjectOf].
func Pairs(pairs ...any) Value {
	members := make([]Member, (len(pairs)+1)/2)
	for i := range members {
		members[i] = Member{pairs[2*i].(string), valueOf(pairs[2*i+1])}
	}
	return ObjectOf(members...)
}

func valueOf(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{}
	case string:
		return Str(v)
	case bool:
		return Boolean(v)
	case int:
		return Int(v)
	case int64:
		return Num(strconv.FormatInt(v, 10))
	case []string:
		return ListOf(v, Str)
	case []Value:
		return ArrayOf(v...)
	}
	return v.(Value)
}

// Kind returns the value's JSON type.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Text returns a string's text or a number's digits as written, else "".
func (v Value) Text() string { return v.text }

// Bool returns a boolean's value, else false.
func (v Value) Bool() bool { return v.yes }

// Items returns an array's items; the caller must not change them.
func (v Value) Items() []Value {
	if v.in == nil {
		return nil
	}
	return v.in.items
}

// Members returns an object's members in order; the caller must not change them.
func (v Value) Members() []Member {
	if v.in == nil {
		return nil
	}
	return v.in.members
}

// Get returns the member of an object by key, and whether there is one.
func (v Value) Get(key string) (Value, bool) {
	members := v.Members()
	for i := range members {
		if members[i].Key == key {
			return members[i].Value, true
		}
	}
	return Value{}, false
}

// At follows keys of nested objects; a missing one gives null.
func (v Value) At(keys ...string) Value {
	for _, key := range keys {
		v, _ = v.Get(key)
	}
	return v
}

// With returns an object with a member set: in its place where the key exists, else at the end.
// Null counts as an empty object.
func (v Value) With(key string, value Value) Value {
	members := slices.Clone(v.Members())
	if i := slices.IndexFunc(members, func(m Member) bool { return m.Key == key }); i >= 0 {
		members[i].Value = value
	} else {
		members = append(members, Member{key, value})
	}
	return ObjectOf(members...)
}

// Without returns an object without a key.
func (v Value) Without(key string) Value {
	if v.kind != Object {
		return v
	}
	return ObjectOf(slices.DeleteFunc(slices.Clone(v.Members()),
		func(m Member) bool { return m.Key == key })...)
}

// Clone returns a value that shares no memory with the text that v was read from. Whoever keeps a
// small part of a long text keeps the whole of it otherwise.
func Clone(v Value) Value {
	return Rewrite(v, func(v Value) Value {
		v.text = strings.Clone(v.text)
		for i, m := range v.Members() {
			v.in.members[i].Key = strings.Clone(m.Key)
		}
		return v
	})
}

// Rewrite returns a copy of a value in which f has replaced each value, inner ones first. The items
// and members that f is given are not shared with the original.
func Rewrite(v Value, f func(Value) Value) Value {
	if v.in != nil {
		in := &inside{slices.Clone(v.in.items), slices.Clone(v.in.members)}
		for i := range in.items {
			in.items[i] = Rewrite(in.items[i], f)
		}
		for i := range in.members {
			in.members[i].Value = Rewrite(in.members[i].Value, f)
		}
		v.in = in
	}
	return f(v)
}

// Equal reports whether two values are the same JSON: keys in any order, numbers by exact value (1
// equals 1.0 and 1e0).
func Equal(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case Bool:
		return a.yes == b.yes
	case Number:
		return a.text == b.text || equalNumbers(a.text, b.text)
	case String:
		return a.text == b.text
	case Array:
		return slices.EqualFunc(a.Items(), b.Items(), Equal)
	case Object:
		if len(a.Members()) != len(b.Members()) {
			return false
		}
		x, y := sorted(a.Members()), sorted(b.Members())
		return slices.EqualFunc(x, y,
			func(m, n Member) bool { return m.Key == n.Key && Equal(m.Value, n.Value) })
	}
	return true
}

func sorted(members []Member) []Member {
	byKey := func(m, n Member) int { return cmp.Compare(m.Key, n.Key) }
	if slices.IsSortedFunc(members, byKey) {
		return members
	}
	members = slices.Clone(members)
	slices.SortFunc(members, byKey)
	return members
}

// maxExponent bounds the decimal exponent of a number that is expanded, so that "1e999999999" costs
// nothing; a number of twice as many bytes is not expanded either.
const maxExponent = 400

// Rational returns the exact value of a JSON number's text, unless its exponent or its length is
// beyond reason.
func Rational(number string) (*big.Rat, bool) {
	if len(number) > 2*maxExponent {
		return nil, false
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if e, err := strconv.Atoi(number[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(number)
}

func equalNumbers(a, b string) bool {
	x, ok := Rational(a)
	y, ok2 := Rational(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// Style describes how [Value.Append] spaces its text.
type Style struct {
	Comma  string // between items: "," or ", "
	Colon  string // after a key: ":" or ": "
	Indent string // one level of indentation; "" writes one line
	ASCII  bool   // escape everything beyond ASCII
}

// The styles. Compact is encoding/json's, Spaced Python's json.dumps, Pretty is for people.
var (
	Compact = Style{Comma: ",", Colon: ":"}
	Spaced  = Style{Comma: ", ", Colon: ": "}
	Pretty  = Style{Comma: ",", Colon: ": ", Indent: "  "}
)

// String returns the value's JSON text in the style Spaced.
func (v Value) String() string { return string(v.Append(nil, Spaced)) }

// Excerpt returns a value's JSON text as [Value.String] does, cut off at a character after about so
// many bytes; "..." stands for the rest. It costs no more than its result.
func Excerpt(v Value, bytes int) string {
	head := string(v.head(nil, bytes, 0))
	if len(head) <= bytes {
		return head
	}
	return source.Head(head, bytes) + "..."
}

// head appends the beginning of the value's text, more than so many bytes of it where there are
// more.
func (v Value) head(dst []byte, bytes, depth int) []byte {
	switch {
	case v.kind == Number:
		return append(dst, v.text[:min(len(v.text), bytes+1)]...)
	case v.kind == String:
		return AppendQuoted(dst, v.text[:min(len(v.text), bytes+utf8.UTFMax)], false)
	case v.in == nil:
		return v.append(dst, &Spaced, depth)
	}
	dst = append(dst, "[{"[v.kind-Array])
	for i, item := range v.Items() {
		if len(dst) > bytes {
			return dst
		}
		dst = item.head(Spaced.separate(dst, i, depth), bytes, depth+1)
	}
	for i, m := range v.Members() {
		if len(dst) > bytes {
			return dst
		}
		dst = append(Str(m.Key).head(Spaced.separate(dst, i, depth), bytes, depth), Spaced.Colon...)
		dst = m.Value.head(dst, bytes, depth+1)
	}
	return append(dst, "]}"[v.kind-Array])
}

// MarshalJSON implements [encoding/json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) { return v.Append(nil, Compact), nil }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Value) UnmarshalJSON(text []byte) (err error) {
	*v, err = Parse(text)
	return err
}

// Append appends the value's JSON text. Nothing is escaped that JSON does not demand.
func (v Value) Append(dst []byte, style Style) []byte { return v.append(dst, &style, 0) }

func (v *Value) append(dst []byte, style *Style, depth int) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Bool:
		return strconv.AppendBool(dst, v.yes)
	case Number:
		return append(dst, v.text...)
	case String:
		return AppendQuoted(dst, v.text, style.ASCII)
	case Array:
		if v.in == nil {
			return append(dst, "[]"...)
		}
		dst = append(dst, '[')
		items := v.Items()
		for i := range items {
			dst = style.separate(dst, i, depth+1)
			dst = items[i].append(dst, style, depth+1)
		}
		return append(style.newline(dst, depth), ']')
	default:
		if v.in == nil {
			return append(dst, "{}"...)
		}
		dst = append(dst, '{')
		members := v.Members()
		for i := range members {
			dst = style.separate(dst, i, depth+1)
			dst = append(AppendQuoted(dst, members[i].Key, style.ASCII), style.Colon...)
			dst = members[i].Value.append(dst, style, depth+1)
		}
		return append(style.newline(dst, depth), '}')
	}
}

func (style *Style) separate(dst []byte, i, depth int) []byte {
	if i > 0 {
		dst = append(dst, style.Comma...)
	}
	return style.newline(dst, depth)
}

func (style *Style) newline(dst []byte, depth int) []byte {
	if style.Indent == "" {
		return dst
	}
	dst = append(dst, '\n')
	return append(dst, strings.Repeat(style.Indent, depth)...)
}

// AppendKey appends bytes that stand for a value and for no other one, numbers and the order of
// keys included, in less time than JSON takes. No key is the beginning of another one.
func AppendKey(dst []byte, v *Value) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case Bool:
		if v.yes {
			return append(dst, 1)
		}
		return append(dst, 0)
	case Number, String:
		return appendKeyText(dst, v.text)
	case Array:
		items := v.Items()
		dst = binary.AppendUvarint(dst, uint64(len(items)))
		for i := range items {
			dst = AppendKey(dst, &items[i])
		}
	case Object:
		members := v.Members()
		dst = binary.AppendUvarint(dst, uint64(len(members)))
		for i := range members {
			dst = AppendKey(appendKeyText(dst, members[i].Key), &members[i].Value)
		}
	}
	return dst
}

func appendKeyText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// Parse reads one JSON text with white space around it.
func Parse(text []byte) (Value, error) { return ParseString(string(text)) }

// Valid reports whether text is one JSON value.
func Valid(text string) bool {
	_, err := ParseString(text)
	return err == nil
}

// Canonical returns a text that is the same for two values exactly if they are [Equal]: keys are
// sorted, and a number stands by its value, as a fraction such as 1/10 where it is no integer.
func Canonical(v Value) string {
	v = Rewrite(v, func(v Value) Value {
		switch v.kind {
		case Object:
			return ObjectOf(sorted(v.Members())...)
		case Number:
			if x, ok := Rational(v.text); ok {
				return Num(x.RatString())
			}
		}
		return v
	})
	return string(bytes.TrimSpace(v.Append(nil, Compact)))
}
