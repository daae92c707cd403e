// Package schema reads the subset of JSON Schema that tools and response formats are written in, as
// a typed tree.
//
// # Terminology
//
// A schema in this package is normal: references are followed, allOf is merged, and a choice
// (anyOf, oneOf) is the outermost thing or absent. So a [Schema] is either a union of alternatives
// ([Schema.Alts]) or a leaf whose keywords all apply. The tree is a graph: a recursive reference
// leads back to a schema already there ([Schema.Recursive]).
//
// # Model
//
// [Parse] reads every keyword that says something about a value and ignores all prose (title,
// description, examples, default, comments): the same schema with other words is the same tree. A
// missing schema, true and {} allow anything, false allows nothing. Understood are type (a name or
// a list), nullable, enum, const, properties, required, additionalProperties, patternProperties,
// minProperties, maxProperties, items, prefixItems, additionalItems, minItems, maxItems, minLength,
// maxLength, pattern, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum (both drafts),
// anyOf, oneOf (taken as anyOf), allOf and $ref inside the document. Keywords that constrain and
// are not understood (not, multipleOf, uniqueItems, contains, if, ...) are ignored with a [Note];
// so is a pattern beyond the regular subset.
//
// A schema without a type that has keywords of one type only is taken to mean that type
// ([Schema.Types]); a validator may not assume so, and [Schema.Validate] does not.
//
// # Limits
//
// Schemas are foreign text: [MaxNodes], [MaxAlternatives], [MaxMerged], [MaxEnum], [MaxCount],
// [MaxPattern] and [MaxSteps] bound their cost. An upper bound above MaxCount is dropped, a lower
// bound above it is an error.
//
// # Errors
//
// [Parse] and [Schema.Validate] return an [Error] with the path of the fault, such as
// "tools[2].parameters.properties.x.pattern".
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
)

// The limits.
const (
	MaxNodes        = 50_000 // schemas in one document, before and after merging
	MaxAlternatives = 1000   // alternatives of one union after merging
	// properties that parts of allOf constrain and do not declare, in one document
	MaxMerged  = 20_000
	MaxEnum    = 20_000    // values of one enum
	MaxCount   = 1_000_000 // minItems, minLength, minProperties
	MaxPattern = 10_000    // bytes of one pattern
	MaxSteps   = 1_000_000 // steps of one validation
)

// TypeSet is a set of JSON types. Number includes Integer's bit: an integer is a number.
type TypeSet uint8

// The types.
const (
	Null TypeSet = 1 << iota
	Boolean
	Integer
	fraction
	String
	Array
	Object

	Number  = Integer | fraction
	AnyType = Null | Boolean | Number | String | Array | Object
)

var typeNames = []struct {
	set  TypeSet
	name string
}{{Null, "null"}, {Boolean, "boolean"}, {Number, "number"}, {Integer, "integer"},
	{String, "string"}, {Array, "array"}, {Object, "object"}}

// Has reports whether all of the given types are in the set.
func (t TypeSet) Has(types TypeSet) bool { return t&types == types }

// String returns the names joined by "|", "any" for all and "never" for none.
func (t TypeSet) String() string {
	switch t {
	case AnyType:
		return "any"
	case 0:
		return "never"
	}
	if t&fraction != 0 {
		t |= Number
	}
	var names []string
	for _, n := range typeNames {
		if t.Has(n.set) {
			names = append(names, n.name)
			t &^= n.set
		}
	}
	return strings.Join(names, "|")
}

// TypeOf returns the type of a value: Integer for a number without a fraction, such as 1 or 1.0.
func TypeOf(v ordered.Value) TypeSet {
	switch v.Kind() {
	case ordered.Null:
		return Null
	case ordered.Bool:
		return Boolean
	case ordered.String:
		return String
	case ordered.Array:
		return Array
	case ordered.Object:
		return Object
	}
	if !strings.ContainsAny(v.Text(), ".eE") {
		return Integer
	}
	if r, ok := ordered.Rational(v.Text()); ok && r.IsInt() {
		return Integer
	}
	return fraction
}

// Schema is a union (Alts is not empty; then nothing else is set) or a leaf. It is immutable.
type Schema struct {
	Alts []*Schema // any one of these

	Enum []ordered.Value // if not nil, exactly these values; they satisfy all other keywords

	MinLength, MaxLength int // in characters; MaxLength is -1 without a bound
	Patterns             []*Pattern
	Format               string

	Minimum, Maximum *Bound

	Prefix             []*Schema // the first items
	Items              *Schema   // the items after them; nil where not given
	MinItems, MaxItems int       // MaxItems is -1 without a bound
	MinItemsGiven      bool

	Properties                   []Property // in order
	PatternProperties            []PatternProperty
	Additional                   *Schema // of other properties; nil where not given
	MinProperties, MaxProperties int     // MaxProperties is -1 without a bound

	at        *path // where it was written; of merged schemas the first
	types     TypeSet
	declared  bool // types were given rather than inferred
	recursive bool
	notes     *[]Note
}

// Property is a declared property. A required one that no schema declares has the schema of
// additional properties.
type Property struct {
	Name     string
	Schema   *Schema
	Required bool
}

// PatternProperty is the schema of the properties whose name matches.
type PatternProperty struct {
	Pattern *Pattern
	Schema  *Schema
}

// Bound is an end of a range of numbers.
type Bound struct {
	Value     *big.Rat
	Exclusive bool
}

// Note is something in a schema that was ignored.
type Note struct {
	Path string
	Msg  string
	// Fault reports whether the document is wrong there: whoever validates schemas refuses it.
	Fault bool
}

// String returns "path: message".
func (n Note) String() string { return at(n.Path, n.Msg) }

// Error is a fault in a schema or in a value.
type Error struct {
	Path string // "" is the root
	Msg  string
}

func (e *Error) Error() string { return at(e.Path, e.Msg) }

func at(path, msg string) string {
	if path == "" {
		return msg
	}
	return path + ": " + msg
}

// Any returns the schema that allows anything.
func Any() *Schema {
	return &Schema{MaxLength: -1, MaxItems: -1, MaxProperties: -1, types: AnyType,
		notes: new([]Note)}
}

// Path returns where the schema was written, such as "tools[2].parameters.properties.x"; of merged
// schemas the first.
func (s *Schema) Path() string { return s.at.String() }

// Types returns the types that a value may have, after references, alternatives, enum and const. A
// leaf without a type has those that its keywords are about, or all.
func (s *Schema) Types() TypeSet { return s.types }

// IsString reports whether a value is always a string.
func (s *Schema) IsString() bool { return s.types == String }

// IsNever reports whether no value is allowed.
func (s *Schema) IsNever() bool { return s.types == 0 }

// IsFree reports whether a leaf puts no constraint on the given type beyond the type itself.
func (s *Schema) IsFree(t TypeSet) bool {
	if len(s.Alts) > 0 || s.Enum != nil || !s.types.Has(t) {
		return false
	}
	switch t {
	case String:
		return s.MinLength == 0 && s.MaxLength < 0 && len(s.Patterns) == 0
	case Number, Integer:
		return s.Minimum == nil && s.Maximum == nil
	case Array:
		return len(s.Prefix) == 0 && s.Items == nil && s.MinItems == 0 && s.MaxItems < 0
	case Object:
		return len(s.Properties) == 0 && len(s.PatternProperties) == 0 && s.Additional == nil &&
			s.MinProperties == 0 && s.MaxProperties < 0
	}
	return true
}

// IsAny reports whether anything is allowed.
func (s *Schema) IsAny() bool {
	return s.types == AnyType && s.IsFree(String) && s.IsFree(Number) && s.IsFree(Array) &&
		s.IsFree(Object)
}

// Recursive reports whether the schema contains itself.
func (s *Schema) Recursive() bool { return s.recursive }

// Notes returns the parts of the document that were ignored, in the order of its text. It is the
// same for all schemas of one.
func (s *Schema) Notes() []Note { return *s.notes }

// Fields returns the declared properties. Of a union: those of all alternatives that are objects,
// in the order in which they first occur; a property is required if each of them requires it, and
// its schema is the union of its schemas.
func (s *Schema) Fields() []Property {
	if len(s.Alts) == 0 {
		return s.Properties
	}
	type field struct {
		schemas  []*Schema
		required int
	}
	objects := 0
	var names []string
	fields := map[string]*field{}
	for _, alt := range s.Alts {
		if !alt.types.Has(Object) {
			continue
		}
		objects++
		for _, p := range alt.Properties {
			f := fields[p.Name]
			if f == nil {
				f = &field{}
				fields[p.Name] = f
				names = append(names, p.Name)
			}
			if f.schemas = append(f.schemas, p.Schema); p.Required {
				f.required++
			}
		}
	}
	out := make([]Property, len(names))
	for i, name := range names {
		f := fields[name]
		out[i] = Property{Name: name, Schema: union(f.schemas), Required: f.required == objects}
	}
	return out
}

// Item returns the schema of an array's items; of a union that of the first alternative that gives
// one. The first items may differ by their place, which no spelling of calls shows.
func (s *Schema) Item() *Schema {
	for _, leaf := range append([]*Schema{s}, s.Alts...) {
		if leaf.Items != nil && leaf.Types()&Array != 0 {
			return leaf.Items
		}
	}
	return Any()
}

// Field returns the schema that a property of an object has, and whether it is declared by name. An
// undeclared one has the schema of matching pattern properties or of additional properties, or
// anything.
func (s *Schema) Field(name string) (*Schema, bool) {
	for _, p := range s.Fields() {
		if p.Name == name {
			return p.Schema, true
		}
	}
	var schemas []*Schema
	leaves := s.Alts
	if len(leaves) == 0 {
		leaves = []*Schema{s}
	}
	for _, leaf := range leaves {
		found := false
		for _, p := range leaf.PatternProperties {
			if ok, _ := p.Pattern.Match(name); ok {
				schemas, found = append(schemas, p.Schema), true
			}
		}
		if !found && leaf.Additional != nil && !leaf.Additional.IsNever() {
			schemas = append(schemas, leaf.Additional)
		}
	}
	if len(schemas) == 0 {
		return Any(), false
	}
	return union(schemas), false
}

// Only returns the schema of those of its values that have one of the types.
func (s *Schema) Only(types TypeSet) *Schema {
	only := *s
	only.types &= types
	only.Enum = slices.DeleteFunc(slices.Clone(s.Enum),
		func(v ordered.Value) bool { return TypeOf(v)&types == 0 })
	only.Alts = nil
	for _, alt := range s.Alts {
		if alt = alt.Only(types); !alt.IsNever() {
			only.Alts = append(only.Alts, alt)
		}
	}
	return &only
}

func union(schemas []*Schema) *Schema {
	u := &Schema{at: schemas[0].at, notes: schemas[0].notes}
	for _, s := range schemas {
		u.add(s)
	}
	u.settle()
	return u
}

// add makes a schema one more alternative of a union.
func (s *Schema) add(alt *Schema) {
	if len(alt.Alts) > 0 {
		for _, inner := range alt.Alts {
			s.add(inner)
		}
	} else if !alt.IsNever() && !slices.Contains(s.Alts, alt) {
		s.Alts = append(s.Alts, alt)
	}
}

// settle ends the making of a union: its types are those of its alternatives, and a single
// alternative takes its place.
func (s *Schema) settle() {
	if len(s.Alts) == 1 {
		at := s.at
		if *s = *s.Alts[0]; s.at == nil {
			s.at = at
		}
		return
	}
	for _, alt := range s.Alts {
		s.types |= alt.types
		s.recursive = s.recursive || alt.recursive
	}
}

// maxDescription is after how many bytes a description of a schema breaks off: a schema that others
// refer to is described wherever they do, and references double.
const maxDescription = 2000

// String describes the schema in one line, for messages and dumps; recursion, and the rest of a
// description that grows too long, prints as "...".
func (s *Schema) String() string {
	var b strings.Builder
	s.describe(&b, map[*Schema]bool{})
	return b.String()
}

func (s *Schema) describe(b *strings.Builder, open map[*Schema]bool) {
	if b.Len() > maxDescription {
		if !strings.HasSuffix(b.String(), "...") {
			b.WriteString("...")
		}
		return
	}
	if open[s] {
		b.WriteString("...")
		return
	}
	open[s] = true
	defer delete(open, s)
	if len(s.Alts) > 0 {
		for i, alt := range s.Alts {
			if i > 0 {
				b.WriteString(" or ")
			}
			if alt.describe(b, open); b.Len() > maxDescription {
				break
			}
		}
		return
	}
	if s.Enum != nil {
		b.WriteString("one of ")
		for i, v := range s.Enum {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > maxDescription {
				b.WriteString("...")
				break
			}
			b.WriteString(ordered.Excerpt(v, maxDescription))
		}
		return
	}
	b.WriteString(s.types.String())
	if s.Format != "" {
		b.WriteString(" " + s.Format)
	}
	for _, p := range s.Patterns {
		fmt.Fprintf(b, " /%s/", p.Text)
	}
	counts := func(what string, lo, hi int) {
		switch {
		case lo > 0 && hi >= 0:
			fmt.Fprintf(b, " %s %d..%d", what, lo, hi)
		case lo > 0:
			fmt.Fprintf(b, " %s %d..", what, lo)
		case hi >= 0:
			fmt.Fprintf(b, " %s ..%d", what, hi)
		}
	}
	counts("length", s.MinLength, s.MaxLength)
	if s.Minimum != nil {
		b.WriteString(" " + map[bool]string{false: ">= ", true: "> "}[s.Minimum.Exclusive] +
			decimal(s.Minimum.Value))
	}
	if s.Maximum != nil {
		b.WriteString(" " + map[bool]string{false: "<= ", true: "< "}[s.Maximum.Exclusive] +
			decimal(s.Maximum.Value))
	}
	counts("items", s.MinItems, s.MaxItems)
	if len(s.Prefix) > 0 || s.Items != nil {
		b.WriteString(" [")
		for i, item := range s.Prefix {
			if i > 0 {
				b.WriteString(", ")
			}
			item.describe(b, open)
		}
		if s.Items != nil {
			if len(s.Prefix) > 0 {
				b.WriteString(", ")
			}
			s.Items.describe(b, open)
			b.WriteString("*")
		}
		b.WriteString("]")
	}
	counts("properties", s.MinProperties, s.MaxProperties)
	if len(s.Properties) > 0 || s.Additional != nil || len(s.PatternProperties) > 0 {
		sep := " {"
		for _, p := range s.Properties {
			b.WriteString(sep + p.Name)
			if !p.Required {
				b.WriteString("?")
			}
			b.WriteString(": ")
			p.Schema.describe(b, open)
			sep = ", "
		}
		for _, p := range s.PatternProperties {
			fmt.Fprintf(b, "%s/%s/: ", sep, p.Pattern.Text)
			p.Schema.describe(b, open)
			sep = ", "
		}
		if s.Additional != nil {
			b.WriteString(sep + "*: ")
			s.Additional.describe(b, open)
			sep = ", "
		}
		b.WriteString("}")
	}
}

// decimal prints a bound as it would be written.
func decimal(r *big.Rat) string {
	n, _ := r.FloatPrec() // exact, since it was written so
	return r.FloatString(n)
}
