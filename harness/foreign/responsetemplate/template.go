// Package responsetemplate reads transformers' response_template objects, version 1, and parses
// outputs with them, as transformers 5.23 does.
//
// # Model
//
// A [Template] has fields. A field begins with its opener and ends with its closer; the implicit
// field, which has no opener, is the text outside of all others. [Template.Parse] takes the
// earliest opener, of several at one place the longest, reads the field up to its closer or the end
// of the text, and makes a value of it.
//
// # Source
//
// The object is described in the documentation of transformers; where that is silent, released
// transformers 5.23.0 was run, and TestAgainstTransformers holds this reader to it.
//
// # Errors
//
// [Read] names the member that cannot be read, and a construct of a pattern whose meaning differs
// from Python's. [Template.Parse] fails where transformers does: a value that is not of its kind, a
// placeholder without a value; and where a pattern takes too long.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package responsetemplate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"

	"github.com/goassay/assay/engine/ordered"
)

// Template is an object that was read.
type Template struct {
	anchors  []string
	anchor   *regexp2.Regexp
	defaults []ordered.Member
	fields   []*field
	implicit *field // nil: text outside of all fields is dropped
}

// field is a part of a message.
type field struct {
	name        string
	open, close *mark
	parse       *parser
	repeats     bool
	join        *string
	transform   ordered.Value
	each        bool
}

// mark is an opener or a closer: texts, or a pattern.
type mark struct {
	texts   []string
	pattern *regexp2.Regexp
}

// known are the members of an object and of a field.
var (
	known = []string{"version", "defaults", "start_anchor", "start_anchor_pattern", "fields"}
	parts = []string{"open", "open_pattern", "close", "close_pattern", "content", "content_args",
		"repeats", "join", "optional", "transform", "transform_each"}
)

// Read reads an object.
func Read(v ordered.Value) (*Template, error) {
	if v.Kind() != ordered.Object {
		return nil, fmt.Errorf("response_template: expected an object, found %s", v.Kind())
	}
	t := &Template{}
	for _, m := range v.Members() {
		if !slices.Contains(known, m.Key) {
			return nil, fmt.Errorf("response_template: member %q is none of version 1", m.Key)
		}
	}
	if version := v.At("version"); version.String() != "1" {
		return nil, fmt.Errorf("response_template.version: this reader knows version 1, "+
			"found %s", version)
	}
	t.defaults = v.At("defaults").Members()
	anchor, err := readMark(v, "start_anchor", "start_anchor_pattern")
	switch {
	case err != nil:
		return nil, fmt.Errorf("response_template.%w", err)
	case anchor == nil:
		return nil, fmt.Errorf("response_template: start_anchor is missing: the text before " +
			"the model's turn")
	}
	t.anchors, t.anchor = anchor.texts, anchor.pattern
	for _, m := range v.At("fields").Members() {
		f, err := readField(m.Key, m.Value)
		if err != nil {
			return nil, fmt.Errorf("response_template.fields.%s: %w", m.Key, err)
		}
		if f.open != nil {
			t.fields = append(t.fields, f)
			continue
		}
		if t.implicit != nil {
			return nil, fmt.Errorf("response_template.fields: %s and %s have no opener; one field "+
				"at most is the text outside of the others", t.implicit.name, f.name)
		}
		t.implicit = f
	}
	return t, nil
}

func readField(name string, v ordered.Value) (*field, error) {
	if v.Kind() != ordered.Object {
		return nil, fmt.Errorf("expected an object, found %s", v.Kind())
	}
	for _, m := range v.Members() {
		if !slices.Contains(parts, m.Key) {
			return nil, fmt.Errorf("member %q is none of version 1", m.Key)
		}
	}
	f := &field{name: name, transform: v.At("transform")}
	var err error
	if f.open, err = readMark(v, "open", "open_pattern"); err != nil {
		return nil, err
	}
	if f.close, err = readMark(v, "close", "close_pattern"); err != nil {
		return nil, err
	}
	kind := "text"
	if content := v.At("content"); content.Kind() == ordered.String {
		kind = content.Text()
	}
	if f.parse, err = newParser(kind, v.At("content_args")); err != nil {
		return nil, err
	}
	f.repeats, f.each = isTrue(v.At("repeats")), isTrue(v.At("transform_each"))
	if join := v.At("join"); join.Kind() == ordered.String {
		if !f.repeats {
			return nil, fmt.Errorf("join needs repeats")
		}
		text := join.Text()
		f.join = &text
	}
	return f, checkTransform(f.transform)
}

// checkTransform refuses a placeholder beside other text, as transformers does.
func checkTransform(v ordered.Value) error {
	switch v.Kind() {
	case ordered.String:
		text := v.Text()
		if _, whole := placeholder(text); !whole && strings.Contains(text, "{") &&
			strings.Contains(text, "}") {
			return fmt.Errorf("transform %q: a placeholder is the whole of a text", text)
		}
	case ordered.Array:
		for _, item := range v.Items() {
			if err := checkTransform(item); err != nil {
				return err
			}
		}
	case ordered.Object:
		for _, m := range v.Members() {
			if err := checkTransform(m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// readMark reads an opener or a closer; nil where there is none.
func readMark(v ordered.Value, literal, pattern string) (*mark, error) {
	if p := v.At(pattern); p.Kind() == ordered.String {
		re, err := compile(p.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		return &mark{pattern: re}, nil
	}
	switch l := v.At(literal); l.Kind() {
	case ordered.String:
		return &mark{texts: []string{l.Text()}}, nil
	case ordered.Array:
		m := &mark{}
		for _, item := range l.Items() {
			if item.Kind() != ordered.String {
				return nil, fmt.Errorf("%s: expected texts, found %s", literal, item)
			}
			m.texts = append(m.texts, item.Text())
		}
		return m, nil
	case ordered.Null:
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: expected a text or a list of texts, found %s", literal, l)
	}
}

func isTrue(v ordered.Value) bool { return v.Kind() == ordered.Bool && v.String() == "true" }

// found is a match of a mark, in runes.
type found struct {
	from, to int
	groups   map[string]string
}

// find returns the first match from a place on; of several texts at one place the longest.
func (m *mark) find(text []rune, from int) (*found, error) {
	if m.pattern != nil {
		match, err := m.pattern.FindRunesMatchStartingAt(text, from)
		if match == nil || err != nil {
			return nil, err
		}
		f := &found{match.Index, match.Index + match.Length, map[string]string{}}
		for _, g := range match.Groups() {
			if len(g.Captures) > 0 && !isNumber(g.Name) {
				f.groups[g.Name] = g.String()
			}
		}
		return f, nil
	}
	var best *found
	for _, t := range m.texts {
		want := []rune(t)
		for i := from; i+len(want) <= len(text) && (best == nil || i <= best.from); i++ {
			if slices.Equal(text[i:i+len(want)], want) {
				if best == nil || i < best.from || i+len(want) > best.to {
					best = &found{from: i, to: i + len(want)}
				}
				break
			}
		}
	}
	return best, nil
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
