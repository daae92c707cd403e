package spell

import (
	"strconv"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// object spells a call that is one JSON object.
func object(o *format.Object, sort bool, one call, n int) node {
	args := one.args
	if sort {
		args = sorted(args)
	}
	if o.NameIsKey {
		return value{v: ordered.Pairs(one.name, args), lenient: o.Quote == '\''}
	}
	shape := nest(o.Fields, 0)
	return value{
		v:       shape.value(one, args, n),
		check:   func(v ordered.Value) bool { return shape.holds(v, one, args, n) },
		lenient: o.Quote == '\'',
	}
}

// member is a field, or an object with members of its own.
type member struct {
	key   string
	field *format.Field
	inner shape
}

type shape []member

// nest makes a tree of fields whose paths agree up to a depth.
func nest(fields []format.Field, depth int) shape {
	var out shape
	for i := range fields {
		f := &fields[i]
		if depth >= len(f.Path) {
			continue
		}
		key := f.Path[depth]
		if len(f.Path) == depth+1 {
			out = append(out, member{key: key, field: f})
			continue
		}
		if len(out) > 0 && out[len(out)-1].key == key {
			continue // with the first of them
		}
		var same []format.Field
		for _, g := range fields[i:] {
			if len(g.Path) > depth+1 && g.Path[depth] == key {
				same = append(same, g)
			}
		}
		out = append(out, member{key: key, inner: nest(same, depth+1)})
	}
	return out
}

// value is the object as the format has it.
func (s shape) value(one call, args ordered.Value, n int) ordered.Value {
	var members []ordered.Member
	for _, m := range s {
		v := ordered.Value{}
		if m.field == nil {
			v = m.inner.value(one, args, n)
		} else {
			v = fieldValue(m.field, one, args, n)
		}
		members = append(members, ordered.Member{Key: m.key, Value: v})
	}
	return ordered.ObjectOf(members...)
}

func fieldValue(f *format.Field, one call, args ordered.Value, n int) ordered.Value {
	switch f.Slot {
	case format.SlotName:
		return ordered.Str(one.name)
	case format.SlotArgs:
		if f.Text {
			return ordered.Str(args.String())
		}
		return args
	case format.SlotID:
		return ordered.Str(one.id)
	case format.SlotIndex, format.SlotNumber:
		if f.Text {
			return ordered.Str(strconv.Itoa(n))
		}
		return ordered.Int(n)
	}
	v, _ := ordered.ParseString(f.Const)
	return v
}

// holds reports whether an object is one that the format has for the call.
func (s shape) holds(v ordered.Value, one call, args ordered.Value, n int) bool {
	members := v.Members()
	if v.Kind() != ordered.Object || len(members) != len(s) {
		return false
	}
	for i, m := range s {
		got := members[i]
		switch {
		case got.Key != m.key:
			return false
		case m.field == nil:
			if !m.inner.holds(got.Value, one, args, n) {
				return false
			}
		case !fieldHolds(m.field, got.Value, one, args, n):
			return false
		}
	}
	return true
}

func fieldHolds(f *format.Field, v ordered.Value, one call, args ordered.Value, n int) bool {
	switch f.Slot {
	case format.SlotArgs:
		if f.Text {
			text, err := ordered.ParseString(v.Text())
			return v.Kind() == ordered.String && err == nil && equal(text, args)
		}
	case format.SlotID:
		if one.id == "" {
			return true
		}
		return v.Text() == one.id
	case format.SlotIndex, format.SlotNumber:
		if f.Text {
			_, err := strconv.Atoi(v.Text())
			return v.Kind() == ordered.String && err == nil
		}
		return v.Kind() == ordered.Number
	}
	return equal(v, fieldValue(f, one, args, n))
}
