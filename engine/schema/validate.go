package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
)

// Validate returns nil if a value satisfies the schema, as far as the schema's keywords are in the subset; else an
// [Error] with the path inside the value. Additional properties are allowed unless the schema says no, as the
// specification has it.
func (s *Schema) Validate(v ordered.Value) error {
	val := &validator{}
	if err := val.check(s, v, ""); err != nil {
		return err
	}
	return nil
}

type validator struct {
	steps   int
	shallow bool // do not look into arrays and objects
}

func bad(path, format string, args ...any) *Error {
	return &Error{Path: path, Msg: fmt.Sprintf(format, args...)}
}

func (val *validator) check(s *Schema, v ordered.Value, path string) *Error {
	if val.steps++; val.steps > MaxSteps {
		return bad(path, "the validation takes more than %d steps", MaxSteps)
	}
	if len(s.Alts) == 0 {
		return val.leaf(s, v, path)
	}
	var first *Error
	var meant []*Error // of the alternatives that take values of this type
	for _, alt := range s.Alts {
		err := val.leaf(alt, v, path)
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
	if first.Path == path {
		return bad(path, "expected %s, found %s", s, found(v))
	}
	return first
}

func (val *validator) leaf(s *Schema, v ordered.Value, path string) *Error {
	t := TypeOf(v)
	if s.Enum != nil {
		key := enumKey(v)
		for _, want := range s.Enum {
			if want.Kind() == v.Kind() && enumKey(want) == key {
				return nil
			}
		}
		return bad(path, "expected %s, found %s", s, found(v))
	}
	if (s.declared || s.types == 0) && !s.types.Has(t) {
		if s.types == 0 {
			return bad(path, "no value is allowed here, found %s", found(v))
		}
		return bad(path, "expected %s, found %s", s.types, found(v))
	}
	switch t {
	case String:
		return val.text(s, v.Text(), path)
	case Integer, fraction:
		return val.number(s, v, path)
	case Array:
		return val.array(s, v.Items(), path)
	case Object:
		return val.object(s, v, path)
	}
	return nil
}

func (val *validator) text(s *Schema, text, path string) *Error {
	n := utf8.RuneCountInString(text)
	switch {
	case n < s.MinLength:
		return bad(path, "expected at least %d characters, found %d", s.MinLength, n)
	case s.MaxLength >= 0 && n > s.MaxLength:
		return bad(path, "expected at most %d characters, found %d", s.MaxLength, n)
	}
	for _, p := range s.Patterns {
		if ok, err := p.Match(text); err != nil {
			return bad(path, "%v", err)
		} else if !ok {
			if s.Format != "" && formats[s.Format] == p.Text {
				return bad(path, "expected a %s, found %s", s.Format, found(ordered.Str(text)))
			}
			return bad(path, "expected a text that matches %s, found %s", p.Text, found(ordered.Str(text)))
		}
	}
	return nil
}

func (val *validator) number(s *Schema, v ordered.Value, path string) *Error {
	if s.Minimum == nil && s.Maximum == nil {
		return nil
	}
	x, ok := rational(v.Text())
	if !ok {
		return bad(path, "%s is too large or too small to be compared", found(v))
	}
	if b := s.Minimum; b != nil {
		if c := x.Cmp(b.Value); c < 0 || c == 0 && b.Exclusive {
			return bad(path, "expected %s, found %s", strings.TrimPrefix(s.String(), s.types.String()+" "), v)
		}
	}
	if b := s.Maximum; b != nil {
		if c := x.Cmp(b.Value); c > 0 || c == 0 && b.Exclusive {
			return bad(path, "expected %s, found %s", strings.TrimPrefix(s.String(), s.types.String()+" "), v)
		}
	}
	return nil
}

func (val *validator) array(s *Schema, items []ordered.Value, path string) *Error {
	switch {
	case len(items) < s.MinItems:
		return bad(path, "expected at least %d items, found %d", s.MinItems, len(items))
	case s.MaxItems >= 0 && len(items) > s.MaxItems:
		return bad(path, "expected at most %d items, found %d", s.MaxItems, len(items))
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
		if err := val.check(schema, item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (val *validator) object(s *Schema, v ordered.Value, path string) *Error {
	members := v.Members()
	switch {
	case len(members) < s.MinProperties:
		return bad(path, "expected at least %d properties, found %d", s.MinProperties, len(members))
	case s.MaxProperties >= 0 && len(members) > s.MaxProperties:
		return bad(path, "expected at most %d properties, found %d", s.MaxProperties, len(members))
	}
	declared := make(map[string]*Schema, len(s.Properties))
	for _, p := range s.Properties {
		declared[p.Name] = p.Schema
		if p.Required {
			if _, ok := v.Get(p.Name); !ok {
				return bad(path, "the required property %q is missing", p.Name)
			}
		}
	}
	if val.shallow {
		return nil
	}
	for _, m := range members {
		here := join(path, m.Key)
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
