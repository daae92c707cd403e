package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
)

// Value is the value of a key, or an item of an array. The zero value is the uint8 0.
type Value struct {
	typ Type
	// numbers, extended to 64 bits by sign; floats as the bits of a float64; booleans as 0 or 1
	bits  uint64
	text  string
	array *Array
}

// Of returns a number or a boolean as a value of its own type.
func Of[T uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64 |
	bool](v T) Value {
	switch v := any(v).(type) {
	case uint8:
		return Value{typ: Uint8, bits: uint64(v)}
	case int8:
		return Value{typ: Int8, bits: uint64(v)}
	case uint16:
		return Value{typ: Uint16, bits: uint64(v)}
	case int16:
		return Value{typ: Int16, bits: uint64(v)}
	case uint32:
		return Value{typ: Uint32, bits: uint64(v)}
	case int32:
		return Value{typ: Int32, bits: uint64(v)}
	case uint64:
		return Value{typ: Uint64, bits: v}
	case int64:
		return Value{typ: Int64, bits: uint64(v)}
	case float32:
		return Value{typ: Float32, bits: math.Float64bits(float64(v))}
	case float64:
		return Value{typ: Float64, bits: math.Float64bits(v)}
	case bool:
		if v {
			return Value{typ: Bool, bits: 1}
		}
	}
	return Value{typ: Bool}
}

// Text returns a text as a value.
func Text(s string) Value { return Value{typ: String, text: s} }

// Texts returns an array of texts as a value.
func Texts(items ...string) Value {
	values := lists.Map(items, Text)
	v, err := ArrayOf(String, values...)
	if err != nil {
		panic(err) // not reached: the items have the type
	}
	return v
}

// ArrayOf returns an array as a value. It fails where an item is not of the type, or where arrays
// are nested deeper than the limit.
func ArrayOf(item Type, items ...Value) (Value, error) {
	var b bytes.Buffer
	e := &encoder{w: &b, order: binary.LittleEndian}
	e.uint32(uint32(item))
	e.uint64(uint64(len(items)))
	for i, v := range items {
		if v.typ != item {
			return Value{}, fmt.Errorf("item %d of an array of %s is of type %s", i, item, v.typ)
		}
		e.value(v)
	}
	if e.err != nil {
		return Value{}, e.err
	}
	s := newScanner(bytes.NewReader(b.Bytes()), 0, int64(b.Len()))
	return attempt(func() Value { return s.value(ArrayType, 0) })
}

// Type returns the value's type.
func (v Value) Type() Type { return v.typ }

// Text returns a text, as it is in the file: it need not be valid UTF-8.
func (v Value) Text() (string, bool) { return v.text, v.typ == String }

// Uint returns an integer of any type that is not negative.
func (v Value) Uint() (uint64, bool) {
	n, ok := v.Int()
	return v.bits, v.typ == Uint64 || ok && n >= 0
}

// Int returns an integer of any type that fits.
func (v Value) Int() (int64, bool) {
	switch v.typ {
	case Uint8, Int8, Uint16, Int16, Uint32, Int32, Int64:
		return int64(v.bits), true
	case Uint64:
		return int64(v.bits), v.bits <= math.MaxInt64
	}
	return 0, false
}

// Float returns a float32 or float64.
func (v Value) Float() (float64, bool) {
	return math.Float64frombits(v.bits), v.typ == Float32 || v.typ == Float64
}

// Bool returns a boolean.
func (v Value) Bool() (value, ok bool) { return v.bits != 0, v.typ == Bool }

// Array returns an array.
func (v Value) Array() (*Array, bool) { return v.array, v.typ == ArrayType }

// String returns the value as text: a text in quotes, at most 64 bytes of it; of an array only type
// and length.
func (v Value) String() string {
	switch v.typ {
	case String:
		return fmt.Sprintf("%q", source.Cut(v.text, maxQuoted))
	case ArrayType:
		return fmt.Sprintf("[%d]%s", v.array.Len, v.array.Type)
	case Bool:
		return fmt.Sprint(v.bits != 0)
	case Float32:
		return fmt.Sprint(float32(math.Float64frombits(v.bits)))
	case Float64:
		return fmt.Sprint(math.Float64frombits(v.bits))
	case Uint64:
		return fmt.Sprint(v.bits)
	}
	return fmt.Sprint(int64(v.bits))
}

// Array is an array in a file. Its items are read when they are asked for.
type Array struct {
	Type Type   // of the items
	Len  uint64 // the number of items

	r        io.ReaderAt
	order    ByteOrder
	off, end int64 // where the items lie
	depth    int   // how many arrays are around it
	// marks are the places of every stride-th item of an array whose items differ in length.
	marks []int64
}

// stride is how many items may have to be passed to get to one. A mark takes 8 bytes, as many as
// the shortest item.
const stride = 512

// At returns an item; i < Len. It takes one read of a short piece of the file.
func (a *Array) At(i uint64) (Value, error) {
	for v, err := range a.from(i) {
		return v, err
	}
	return Value{}, fmt.Errorf("item %d of an array of %d", i, a.Len)
}

// All reads the items in order. It ends after an error.
func (a *Array) All() iter.Seq2[Value, error] { return a.from(0) }

func (a *Array) from(i uint64) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		if i >= a.Len {
			return
		}
		s := newScanner(a.r, a.off, a.end)
		s.order = a.order
		if size := types[a.Type].size; size > 0 {
			s.pos += int64(i * size)
		} else {
			s.pos = a.marks[i/stride]
			for range i % stride {
				_, err := attempt(func() *Array { return s.measure(a.Type, a.depth+1) })
				if err != nil {
					yield(Value{}, err)
					return
				}
			}
		}
		for range a.Len - i {
			v, err := attempt(func() Value { return s.value(a.Type, a.depth+1) })
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

func (s *scanner) valueType() Type {
	n := s.uint32()
	if int64(n) >= int64(len(types)) {
		panic(errorf(s.pos-4, "unknown type %d of a value", n))
	}
	return Type(n)
}

// value reads a value of a type, with so many arrays around it.
func (s *scanner) value(t Type, depth int) Value {
	v := Value{typ: t}
	switch t {
	case String:
		v.text = s.text()
		return v
	case ArrayType:
		v.array = s.measure(t, depth)
		return v
	}
	b := s.take(int(types[t].size))
	switch t {
	case Uint8:
		v.bits = uint64(b[0])
	case Bool:
		if b[0] > 1 {
			panic(errorf(s.pos-1, "a boolean is %d, expected 0 or 1", b[0]))
		}
		v.bits = uint64(b[0])
	case Int8:
		v.bits = uint64(int8(b[0]))
	case Uint16:
		v.bits = uint64(s.order.Uint16(b))
	case Int16:
		v.bits = uint64(int16(s.order.Uint16(b)))
	case Uint32:
		v.bits = uint64(s.order.Uint32(b))
	case Int32:
		v.bits = uint64(int32(s.order.Uint32(b)))
	case Float32:
		v.bits = math.Float64bits(float64(math.Float32frombits(s.order.Uint32(b))))
	default:
		v.bits = s.order.Uint64(b)
	}
	return v
}

// measure passes over a text or an array, with so many arrays around it, and returns where an
// array's items are. Texts are not read, and neither are numbers.
func (s *scanner) measure(t Type, depth int) *Array {
	if t == String {
		s.skip(s.uint64())
		return nil
	}
	if depth >= maxDepth {
		panic(errorf(s.pos, "arrays are nested deeper than %d", maxDepth))
	}
	item := s.valueType()
	n := s.count("items of type "+item.String(), item.least())
	a := &Array{Type: item, Len: n, r: s.r, order: s.order, off: s.pos, depth: depth}
	if size := types[item].size; size > 0 {
		s.skip(n * size)
	} else {
		for i := range n {
			if i%stride == 0 {
				a.marks = append(a.marks, s.pos)
			}
			s.measure(item, depth+1)
		}
	}
	a.end = s.pos
	return a
}
