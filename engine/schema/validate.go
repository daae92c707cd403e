package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
)

// Validate returns nil if a value satisfies the schema, as far as the schema's keywords are in the
// subset; else an [Error] with the path inside the value. Additional properties are allowed unless
// the schema forbids them, as JSON Schema has it.
func (s *Schema) Validate(v ordered.Value) error {
	val := &validator{}
	if err := val.check(s, v, nil); err != nil {
		return err
	}
	return nil
}

type validator struct {
	steps   int
	shallow bool // do not look into arrays and objects
	value   ordered.Value
	key     string // of value
}

// keyOf is [ordered.Canonical] for a value that is compared with one enum after the other.
func (val *validator) keyOf(v ordered.Value) string {
	if val.key == "" || val.value != v {
		val.value, val.key = v, ordered.Canonical(v)
	}
	return val.key
}

func bad(at *path, format string, args ...any) *Error {
	return &Error{Path: at.String(), Msg: fmt.Sprintf(format, args...)}
}

func (val *validator) check(s *Schema, v ordered.Value, at *path) *Error {
	if val.steps++; val.steps > MaxSteps {
		return bad(at, "the validation takes more than %d steps", MaxSteps)
	}
	if len(s.Alts) == 0 {
		return val.leaf(s, v, at)
	}
	var first *Error
	var meant []*Error // of the alternatives that take values of this type
	for _, alt := range s.Alts {
		err := val.leaf(alt, v, at)
		if err == nil {
			return nil
		}
		if alt.types.Has(TypeOf(v)) {
			meant = append(meant, err)
		}
		// The deepest fault is in the alternative that was meant.
		if first == nil || len(err.Path) > len(first.Path) {
			first = err
		}
	}
	if len(meant) == 1 {
		return meant[0]
	}
	if first.Path == at.String() {
		return bad(at, "expected %s, found %s", s, found(v))
	}
	return first
}

func (val *validator) leaf(s *Schema, v ordered.Value, at *path) *Error {
	t := TypeOf(v)
	if s.Enum != nil {
		val.steps += len(s.Enum)
		if !slices.ContainsFunc(s.Enum, func(want ordered.Value) bool {
			return want.Kind() == v.Kind() && ordered.Canonical(want) == val.keyOf(v)
		}) {
			return bad(at, "expected %s, found %s", s, found(v))
		}
	}
	if (s.declared || s.types == 0) && !s.types.Has(t) {
		if s.types == 0 {
			return bad(at, "no value is allowed here, found %s", found(v))
		}
		return bad(at, "expected %s, found %s", s.types, found(v))
	}
	switch t {
	case String:
		return val.text(s, v.Text(), at)
	case Integer, fraction:
		return val.number(s, v, at)
	case Array:
		return val.array(s, v.Items(), at)
	case Object:
		return val.object(s, v, at)
	}
	return nil
}

func (val *validator) text(s *Schema, text string, at *path) *Error {
	n := utf8.RuneCountInString(text)
	switch {
	case n < s.MinLength:
		return bad(at, "expected at least %d characters, found %d", s.MinLength, n)
	case s.MaxLength >= 0 && n > s.MaxLength:
		return bad(at, "expected at most %d characters, found %d", s.MaxLength, n)
	}
	for _, p := range s.Patterns {
		if ok, err := p.Match(text); err != nil {
			return bad(at, "%v", err)
		} else if !ok {
			if s.Format != "" && formats[s.Format] == p.Text {
				return bad(at, "expected a %s, found %s", s.Format, found(ordered.Str(text)))
			}
			return bad(at, "expected a text that "+
				"matches %s, found %s", p.Text, found(ordered.Str(text)))
		}
	}
	return nil
}

func (val *validator) number(s *Schema, v ordered.Value, at *path) *Error {
	if s.Minimum == nil && s.Maximum == nil {
		return nil
	}
	x, ok := ordered.Rational(v.Text())
	if !ok {
		return bad(at, "%s is too large or too small to be compared", found(v))
	}
	if b := s.Minimum; b != nil {
		if c := x.Cmp(b.Value); c < 0 || c == 0 && b.Exclusive {
			return bad(at, "expected %s, found %s",
				strings.TrimPrefix(s.String(), s.types.String()+" "), v)
		}
	}
	if b := s.Maximum; b != nil {
		if c := x.Cmp(b.Value); c > 0 || c == 0 && b.Exclusive {
			return bad(at, "expected %s, found %s",
				strings.TrimPrefix(s.String(), s.types.String()+" "), v)
		}
	}
	return nil
}

func (val *validator) array(s *Schema, items []ordered.Value, at *path) *Error {
	switch {
	case len(items) < s.MinItems:
		return bad(at, "expected at least %d items, found %d", s.MinItems, len(items))
	case s.MaxItems >= 0 && len(items) > s.MaxItems:
		return bad(at, "expected at most %d items, found %d", s.MaxItems, len(items))
	case val.shallow:
		return nil
	}
	for i, item := range items {
		schema := s.Items
		if i < len(s.Prefix) {
			schema = s.Prefix[i]
		}
		if schema == nil {
			return nil
		}
		if err := val.check(schema, item, at.at(i)); err != nil {
			return err
		}
	}
	return nil
}

func (val *validator) object(s *Schema, v ordered.Value, at *path) *Error {
	members := v.Members()
	switch {
	case len(members) < s.MinProperties:
		return bad(at, "expected at least %d properties, found %d", s.MinProperties, len(members))
	case s.MaxProperties >= 0 && len(members) > s.MaxProperties:
		return bad(at, "expected at most %d properties, found %d", s.MaxProperties, len(members))
	}
	there := make(map[string]bool, len(members))
	for _, m := range members {
		there[m.Key] = true
	}
	declared := make(map[string]*Schema, len(s.Properties))
	for _, p := range s.Properties {
		declared[p.Name] = p.Schema
		if p.Required && !there[p.Name] {
			return bad(at, "the required property %q is missing", p.Name)
		}
	}
	if val.shallow {
		return nil
	}
	for _, m := range members {
		here := at.step(m.Key)
		schema, matched := declared[m.Key]
		if schema != nil {
			if err := val.check(schema, m.Value, here); err != nil {
				return err
			}
		}
		for _, p := range s.PatternProperties {
			ok, err := p.Pattern.Match(m.Key)
			if err != nil {
				return bad(here, "%v", err)
			}
			if ok {
				matched = true
				if err := val.check(p.Schema, m.Value, here); err != nil {
					return err
				}
			}
		}
		if !matched && s.Additional != nil {
			if s.Additional.IsNever() {
				return bad(here, "there is no such property")
			}
			if err := val.check(s.Additional, m.Value, here); err != nil {
				return err
			}
		}
	}
	return nil
}
