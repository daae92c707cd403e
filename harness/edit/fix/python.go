package fix

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// printer is a template that prints a value as Python does.
var printer = sync.OnceValue(func() *jinja.Template {
	t, err := jinja.Compile(source.New("", "{{ value }}"))
	if err != nil {
		panic("fix: " + err.Error())
	}
	return t
})

// python returns a value in Python's spelling.
func python(v ordered.Value) string {
	vars := ordered.Pairs("value", v)
	text, err := printer().Render(context.Background(), jinja.VarsFromJSON(vars), jinja.Options{})
	if err != nil {
		return v.String()
	}
	return text
}

// spelled are the objects and lists in a value whose two spellings differ, the outer ones first.
func spelled(v ordered.Value) []ordered.Value {
	var all []ordered.Value
	if k := v.Kind(); (k == ordered.Object || k == ordered.Array) && python(v) != v.String() {
		all = append(all, v)
	}
	for _, m := range v.Members() {
		all = append(all, spelled(m.Value)...)
	}
	for _, item := range v.Items() {
		all = append(all, spelled(item)...)
	}
	return all
}

// asPython returns a prompt with JSON in place of the parts of a request's tools that it has in
// Python's spelling; false where it has none.
func asPython(in chattemplate.Input, text string) (string, bool) {
	was := text
	values := spelled(ordered.ArrayOf(in.Tools...))
	slices.SortStableFunc(values, func(a, b ordered.Value) int { // one can stand within another
		return cmp.Compare(len(b.String()), len(a.String()))
	})
	for _, v := range values {
		text = strings.ReplaceAll(text, python(v), v.String())
	}
	return text, text != was
}

func pythonFaults(m *mender) []fault {
	var faults []fault
	for _, b := range m.bases {
		in := formed(b.in, m.form)
		for _, in := range []chattemplate.Input{in, typed(ordered.ArrayOf(ordered.Str("string"),
			ordered.Str("null")))(in)} {
			text, err := m.now.t.Render(in)
			if want, ok := asPython(in, text); err == nil && ok {
				faults = append(faults, fault{name: b.name, in: in, wants: []string{want}})
			}
		}
	}
	if faults == nil {
		return nil
	}
	if !m.finds([]string{"A068"}) {
		return nil // the format's own spelling
	}
	// Prompts with such a value change; their right form is known.
	for i, k := range m.good {
		if want, ok := asPython(k.in, k.text); ok {
			m.good[i].or = want
		}
	}
	return slices.Clip(faults)
}
