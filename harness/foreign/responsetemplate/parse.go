package responsetemplate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// Parse parses an output that follows a prompt. Tools are a request's, in OpenAI's shape: strings
// among the arguments of calls are cast by their schemas.
func (t *Template) Parse(output, prompt string, tools ordered.Value) (ordered.Value, error) {
	return t.parse(output, prompt, tools, time.Now().Add(endurance))
}

// parse ends with an error where the searches last beyond a time.
func (t *Template) parse(output, prompt string, tools ordered.Value,
	until time.Time) (ordered.Value, error) {
	after, err := t.after(prompt)
	if err != nil {
		return ordered.Value{}, err
	}
	r := reading{t: t, text: []rune(after + output), until: until,
		values: map[string][]ordered.Value{}}
	if err := r.run(); err != nil {
		return ordered.Value{}, err
	}
	message := append([]ordered.Member{}, t.defaults...)
	put := func(key string, v ordered.Value) {
		for i := range message {
			if message[i].Key == key {
				message[i].Value = v
				return
			}
		}
		message = append(message, ordered.Member{Key: key, Value: v})
	}
	for _, f := range r.order {
		values := r.values[f.name]
		switch {
		case f.join != nil:
			texts := lists.Map(values, ordered.Value.Text)
			put(f.name, ordered.Str(strings.Join(texts, *f.join)))
		case f.repeats:
			put(f.name, ordered.ArrayOf(values...))
		default:
			put(f.name, values[len(values)-1])
		}
	}
	kept := message[:0]
	for _, m := range message {
		if !isEmpty(m.Value) {
			kept = append(kept, m)
		}
	}
	return cast(ordered.ObjectOf(kept...), tools), nil
}

// isEmpty reports whether a value says nothing, so that the message does without it.
func isEmpty(v ordered.Value) bool {
	switch v.Kind() {
	case ordered.Null:
		return true
	case ordered.String:
		return v.Text() == ""
	case ordered.Array:
		return len(v.Items()) == 0
	case ordered.Object:
		return len(v.Members()) == 0
	}
	return false
}

// after returns the part of a prompt after the last anchor; all of it where none is there.
func (t *Template) after(prompt string) (string, error) {
	at := 0
	for _, a := range t.anchors {
		if i := strings.LastIndex(prompt, a); a != "" && i >= 0 {
			at = max(at, i+len(a))
		}
	}
	if t.anchor == nil {
		return prompt[at:], nil
	}
	text := []rune(prompt)
	end := 0
	m, err := t.anchor.FindRunesMatch(text)
	until := time.Now().Add(endurance)
	for m != nil && err == nil {
		if time.Now().After(until) {
			return "", errSlow
		}
		end = m.Index + m.Length
		m, err = t.anchor.FindNextMatch(m)
	}
	return string(text[end:]), err
}

// reading is the state of a parse.
type reading struct {
	t      *Template
	text   []rune
	until  time.Time
	values map[string][]ordered.Value
	order  []*field
}

func (r *reading) run() error {
	for at, begun := 0, 0; at <= len(r.text); {
		// the earliest opener, or the end of the implicit field
		var next *found
		var opened *field
		consider := func(f *field, m *mark) error {
			if m == nil {
				return nil
			}
			if time.Now().After(r.until) {
				return errSlow
			}
			got, err := m.find(r.text, at)
			if err != nil {
				return fmt.Errorf("field %s: %w", f.name, err)
			}
			if got != nil && (next == nil || got.from < next.from ||
				got.from == next.from && got.to > next.to) {
				next, opened = got, f
			}
			return nil
		}
		for _, f := range r.t.fields {
			if err := consider(f, f.open); err != nil {
				return err
			}
		}
		if i := r.t.implicit; i != nil {
			if err := consider(i, i.close); err != nil {
				return err
			}
		}
		end := len(r.text)
		if next != nil {
			end = next.from
		}
		if err := r.outside(begun, end); err != nil {
			return err
		}
		switch {
		case next == nil:
			return nil
		case opened == r.t.implicit:
			if next.to == next.from {
				return errors.New("the closer of the text outside of all fields is empty")
			}
			at, begun = next.to, next.to
			continue
		}
		close := len(r.text)
		at = close
		groups := next.groups
		if opened.close != nil {
			got, err := opened.close.find(r.text, next.to)
			if err != nil {
				return fmt.Errorf("field %s: %w", opened.name, err)
			}
			if got != nil {
				close, at = got.from, got.to
				for name, text := range got.groups {
					if _, ok := groups[name]; !ok {
						if groups == nil {
							groups = map[string]string{}
						}
						groups[name] = text
					}
				}
			}
		}
		if err := r.add(opened, string(r.text[next.to:close]), groups); err != nil {
			return err
		}
		if at == next.from {
			return fmt.Errorf("field %s: its opener and its closer are empty", opened.name)
		}
		if begun = at; at == len(r.text) {
			return nil
		}
	}
	return nil
}

// outside adds a piece of the implicit field.
func (r *reading) outside(from, to int) error {
	if r.t.implicit == nil || from >= to {
		return nil
	}
	return r.add(r.t.implicit, string(r.text[from:to]), nil)
}

// add makes a value of a field's text.
func (r *reading) add(f *field, text string, groups map[string]string) error {
	v, err := f.parse.value(text)
	if err != nil {
		return fmt.Errorf("field %s: %w", f.name, err)
	}
	if f.transform.Kind() != ordered.Null {
		if v, err = f.transformed(v, groups); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	if r.values[f.name] == nil {
		r.order = append(r.order, f)
	}
	r.values[f.name] = append(r.values[f.name], v)
	return nil
}

// transformed fills in the placeholders of a field's transform.
func (f *field) transformed(v ordered.Value, groups map[string]string) (ordered.Value, error) {
	scope := []ordered.Member{{Key: "content", Value: v}}
	for name, text := range groups {
		scope = append(scope, ordered.Member{Key: name, Value: ordered.Str(text)})
	}
	if !f.each {
		return fill(f.transform, ordered.ObjectOf(scope...))
	}
	if v.Kind() != ordered.Array {
		return v, fmt.Errorf("transform_each needs a list, found %s", v.Kind())
	}
	var items []ordered.Value
	for _, item := range v.Items() {
		one, err := fill(f.transform, item)
		if err != nil {
			return v, err
		}
		items = append(items, one)
	}
	return ordered.ArrayOf(items...), nil
}

// placeholder returns the path of a text that is a placeholder.
func placeholder(text string) ([]string, bool) {
	inner, ok := strings.CutPrefix(text, "{")
	if inner, ok2 := strings.CutSuffix(inner, "}"); ok && ok2 && inner != "" &&
		!strings.ContainsAny(inner, "{} \"") {
		return strings.Split(inner, "."), true
	}
	return nil, false
}

func fill(v, scope ordered.Value) (ordered.Value, error) {
	switch v.Kind() {
	case ordered.String:
		path, ok := placeholder(v.Text())
		if !ok {
			return v, nil
		}
		at := scope
		for _, key := range path {
			next, ok := at.Get(key)
			if at.Kind() != ordered.Object || !ok {
				return v, fmt.Errorf("the placeholder %s has no value", v.Text())
			}
			at = next
		}
		return at, nil
	case ordered.Array:
		items := make([]ordered.Value, len(v.Items()))
		for i, item := range v.Items() {
			var err error
			if items[i], err = fill(item, scope); err != nil {
				return v, err
			}
		}
		return ordered.ArrayOf(items...), nil
	case ordered.Object:
		var members []ordered.Member
		for _, m := range v.Members() {
			filled, err := fill(m.Value, scope)
			if err != nil {
				return v, err
			}
			members = append(members, ordered.Member{Key: m.Key, Value: filled})
		}
		return ordered.ObjectOf(members...), nil
	}
	return v, nil
}
