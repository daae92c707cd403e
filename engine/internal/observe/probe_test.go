package observe

import (
	"reflect"
	"testing"

	"github.com/goassay/assay/engine/ordered"
)

// TestKeys changes each field of a probe and of its calls: the key becomes another one, so that no
// probe is taken for another.
func TestKeys(t *testing.T) {
	o := &Observer{}
	seen := map[string]string{}
	note := func(what string, p Probe) {
		key := string(o.key(p))
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the key %q", what, other, key)
		}
		seen[key] = what
	}
	change := func(what string, v reflect.Value, p func() Probe) {
		for i := range v.NumField() {
			old := reflect.ValueOf(v.Field(i).Interface())
			for _, value := range values(t, v.Field(i)) {
				v.Field(i).Set(value)
				note(what+"."+v.Type().Field(i).Name, p())
			}
			v.Field(i).Set(old)
		}
	}
	var p Probe
	note("no field", p)
	change("Probe", reflect.ValueOf(&p).Elem(), func() Probe { return p })
	c := Call{Name: "a", ID: "b"}
	change("Call", reflect.ValueOf(&c).Elem(), func() Probe { return Probe{Calls: []Call{c}} })
	o.Facts.Needs.Bound = []ordered.Member{ordered.MemberOf("bound", ordered.Str(""))}
	note("a bound variable", Probe{})
	o.flatTools = true
	note("flat tools", Probe{})
}

// values returns values for a field other than the one that it has.
func values(t *testing.T, field reflect.Value) []reflect.Value {
	members := []ordered.Member{ordered.MemberOf("k", ordered.Str("v"))}
	of := func(values ...any) (all []reflect.Value) {
		for _, v := range values {
			all = append(all, reflect.ValueOf(v))
		}
		return all
	}
	switch field.Interface().(type) {
	case bool:
		return of(true)
	case string:
		return of("x", "xy")
	case *string:
		return of(new(""), new("x"))
	case Form:
		in := func(b Blocks) Form { return Form{Blocks: b} }
		return of(Form{Typed: true}, in(Blocks{List: "l"}), in(Blocks{Kind: "l"}),
			in(Blocks{Thought: Block{Kind: "l"}}), in(Blocks{Thought: Block{Text: "l"}}),
			in(Blocks{Said: Block{Kind: "l"}}), in(Blocks{Said: Block{Text: "l"}}))
	case []Call:
		return of([]Call{{}}, []Call{{}, {}})
	case []ordered.Member:
		return of(members, append(members, members...))
	}
	t.Fatalf("a field of type %s has no values to try", field.Type())
	return nil
}
