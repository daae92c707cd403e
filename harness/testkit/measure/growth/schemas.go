package main

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// list repeats a piece as times does, with commas between.
func list(open, piece, end string) func(int) string {
	return func(size int) string {
		return open + strings.TrimSuffix(times(piece+", ")(size), ", ") + end
	}
}

// object is a schema with properties.
func object(properties string) func(int) string {
	return list(`{"type": "object", "properties": {`, properties, `}}`)
}

// required is a schema whose properties are all required, or each second one of them.
func required(property string, every int) func(int) string {
	return func(size int) string {
		var properties, names []string
		for i, n := 0, 0; n < size; i++ {
			p := strings.ReplaceAll(property, "%d", fmt.Sprint(i))
			properties = append(properties, p)
			n += len(p) + 2
			if i%every == 0 {
				name, _, _ := strings.Cut(p, ":")
				names = append(names, name)
				n += len(name) + 2
			}
		}
		return `{"type": "object", "properties": {` + strings.Join(properties, ", ") + `}, "required": [` + strings.Join(names, ", ") + `]}`
	}
}

// nested is an object with a schema that is put into itself, up to the depth that JSON may have.
// Half of the bytes are of the depth, half of inner. Larger objects have several of them.
func nested(open, end string, inner func(int) string) func(int) string {
	level := len(open) + len(end)
	deepest := 900 / strings.Count(open, "{")
	return func(size int) string {
		n := (size + 2*level*deepest - 1) / (2 * level * deepest) // 1 up to the depth of one
		all := make([]string, n)
		for i := range all {
			depth := min(size/n/(2*level), deepest)
			all[i] = fmt.Sprintf(`"n%d": `, i) + strings.Repeat(open, depth) +
				inner(size/n/2+i) + strings.Repeat(end, depth)
		}
		return `{"type": "object", "properties": {` + strings.Join(all, ", ") + `}}`
	}
}

func constant(text string) func(int) string { return func(int) string { return text } }

// schemas grow along every dimension that a schema has.
var schemas = []generator{
	{"properties", object(`"p%d": {"type": "string"}`)},
	{"properties of any type", object(`"p%d": {}`)},
	{"required properties", required(`"p%d": {"type": "string"}`, 1)},
	{"required properties of few types",
		required(`"p%d": {"type": ["string", "integer", "null"]}`, 1)},
	{"required and optional properties", required(`"p%d": {"type": "string"}`, 2)},
	{"required properties with enums", required(`"p%d": {"enum": ["a%d", "b%d", "c%d"]}`, 1)},
	{"counted properties", func(n int) string {
		return strings.TrimSuffix(object(`"p%d": {"type": "string"}`)(n), "}") + `, "minProperties": 7, "maxProperties": 30}`
	}},
	{"required names", list(`{"type": "object", "required": [`, `"p%d"`, `]}`)},
	{"names alike",
		object(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%d": {"type": "integer"}`)},
	{"long name", between(`{"type": "object", "properties": {"`, "x", `": {"type": "string"}}}`)},
	{"pattern properties",
		list(`{"type": "object", "patternProperties": {`, `"^p%d": {"type": "string"}`, `}}`)},
	{"pattern and other properties", func(n int) string {
		return strings.TrimSuffix(object(`"p%d": {"type": "string"}`)(n/2), "}") + ", " + strings.TrimPrefix(list(`{"patternProperties": {`, `"^p%d": {"type": "string"}`, `}}`)(n/2), "{")
	}},
	{"properties beside others", func(n int) string {
		return strings.TrimSuffix(object(`"p%d": {"type": "string"}`)(n), "}") + `, "additionalProperties": true}`
	}},
	{"enum", list(`{"enum": [`, `"value-%d"`, `]}`)},
	{"enum of numbers", list(`{"enum": [`, `%d`, `]}`)},
	{"enum of lists", list(`{"enum": [`, `[%d, "a"]`, `]}`)},
	{"enum of objects", list(`{"enum": [`, `{"a": %d, "b": {}}`, `]}`)},
	{"enum of one long text", between(`{"enum": ["`, "x", `"]}`)},
	{"enums", object(`"p%d": {"enum": ["a%d", "b", "c", 1, null]}`)},
	{"enums of a union", list(`{"anyOf": [`, `{"enum": ["a%d", "b%d"]}`, `]}`)},
	{"union", list(`{"anyOf": [`, `{"const": "a%d"}`, `]}`)},
	{"union of objects",
		list(`{"anyOf": [`, `{"type": "object", "properties": {"a%d": {"type": "string"}}}`, `]}`)},
	{"unions that nest",
		nested(`{"anyOf": [{"type": "string"}, {"type": "array", "items": `, `}]}`, constant(`{"type": "null"}`))},
	{"unions of unions",
		nested(`{"anyOf": [{"type": "string"}, `, `]}`, constant(`{"type": "null"}`))},
	{"merged",
		list(`{"allOf": [`, `{"type": "object", "properties": {"p%d": {"type": "string"}}, "required": ["p%d"]}`, `]}`)},
	{"merged and alike",
		list(`{"allOf": [`, `{"type": "object", "properties": {"p": {"type": "string"}}}`, `]}`)},
	{"merged with others",
		list(`{"allOf": [`, `{"properties": {"p%d": {"type": "string"}}, "additionalProperties": {"minLength": 1}}`, `]}`)},
	{"merged enums", list(`{"allOf": [`, `{"enum": ["a", "b", "c", "d", "e", "f"]}`, `]}`)},
	{"depth of objects",
		nested(`{"type": "object", "properties": {"p": `, `}}`, object(`"p%d": {"type": "string"}`))},
	{"depth of required objects",
		nested(`{"type": "object", "required": ["p"], "properties": {"p": `, `}}`, object(`"p%d": {"type": "string"}`))},
	{"depth of lists",
		nested(`{"type": "array", "items": `, `}`, object(`"p%d": {"type": "string"}`))},
	{"depth over an enum",
		nested(`{"type": "array", "items": `, `}`, list(`{"enum": [`, `"value-%d"`, `]}`))},
	{"depth over objects of an enum",
		nested(`{"type": "object", "required": ["p"], "properties": {"p": `, `}}`, list(`{"enum": [`, `"value-%d"`, `]}`))},
	{"depth of enums",
		nested(`{"type": "array", "prefixItems": [{"enum": ["a", "b", "c", "d", "e", "f"]}, `, `]}`, constant(`{"type": "null"}`))},
	{"depth of counts",
		nested(`{"type": "array", "minItems": 2, "maxItems": 3, "items": `, `}`, constant(`{"enum": ["a", "b", "c", "d", "e", "f"]}`))},
	{"depth of a value", func(n int) string {
		d := min(n/2, 900)
		return `{"enum": [` + strings.Repeat("[", d) + strings.Repeat("]", d) + `]}`
	}},
	{"tuple", list(`{"type": "array", "prefixItems": [`, `{"type": "string"}`, `]}`)},
	{"tuple that may end", func(n int) string {
		return strings.TrimSuffix(list(`{"type": "array", "prefixItems": [`, `{"type": "string"}`, `]}`)(n), "}") + `, "minItems": 0}`
	}},
	{"patterns", object(`"p%d": {"type": "string", "pattern": "^[a-z]{2,%d}x?$"}`)},
	{"long pattern", between(`{"type": "string", "pattern": "`, "(a|b)*", `"}`)},
	{"lengths", object(`"p%d": {"type": "string", "minLength": 2, "maxLength": 1%d}`)},
	{"bounds", object(`"p%d": {"type": "number", "minimum": -%d.5, "maximum": 1%d}`)},
	{"long bound", between(`{"type": "integer", "minimum": 1`, "0", `}`)},
	{"formats", object(`"p%d": {"type": "string", "format": "date-time"}`)},
	{"types that are unknown", object(`"p%d": {"type": "thing%d"}`)},
	{"references", func(n int) string {
		return list(`{"type": "object", "properties": {`, `"p%d": {"$ref": "#/$defs/p%d"}`, `}, "$defs": {`)(n/2) + times(`"p%d": {"type": "string"}, `)(n/2) + `"z": {}}}`
	}},
	{"references to one", func(n int) string {
		return list(`{"type": "object", "properties": {`, `"p%d": {"$ref": "#/$defs/p"}`, `}, "$defs": {"p": {"enum": [`)(n/2) + times(`"p%d", `)(n/2) + `"z"]}}}`
	}},
	{"references that go on", func(n int) string {
		return `{"$ref": "#/$defs/p0", "$defs": {` + chain(n, `"p%d": {"type": "array", "items": {"$ref": "#/$defs/p%n"}}, `) + `"z": {}}}`
	}},
	{"references that go back",
		list(`{"type": "object", "properties": {`, `"p%d": {"$ref": "#"}`, `}}`)},
	{"references that double", func(n int) string {
		return `{"$ref": "#/$defs/p0", "$defs": {` + chain(n, `"p%d": {"type": "object", "properties": {"a": {"$ref": "#/$defs/p%n"}, "b": {"$ref": "#/$defs/p%n"}}, "required": ["a", "b"]}, `) + `"z": {}}}`
	}},
	{"references beside keywords", func(n int) string {
		return `{"$ref": "#/$defs/p0", "$defs": {` + chain(n, `"p%d": {"properties": {"a": {"$ref": "#/$defs/p%n", "minLength": %d}}}, `) + `"z": {}}}`
	}},
	{"references into nothing", object(`"p%d": {"$ref": "#/$defs/p%d"}`)},
	{"prose", object(`"p%d": {"type": "string", "description": "the number %d of all"}`)},
	{"long prose", between(`{"type": "object", "description": "`, "x", `"}`)},
}

// chain repeats a piece in which %n is the number of the next one.
func chain(size int, piece string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.NewReplacer("%d", fmt.Sprint(i), "%n", fmt.Sprint(i+1)).
			Replace(piece))
	}
	return b.String()
}

// spelled makes the grammar of a schema, writes it down, and reads a text with it.
var spelled = ofJSON(func(text string, v ordered.Value) error {
	s, err := schema.Parse(v)
	if err != nil {
		return limited(err)
	}
	g, err := gbnf.FromSchema(s)
	if err != nil {
		return limited(err)
	}
	if n := len(g.String()); n > 64*len(text)+64<<10 {
		return fmt.Errorf("a grammar of %d bytes", n)
	}
	gbnf.Accepts(g, `{"p": [1, "x", {"p": "a"}], "p0": "x", "p1": [[[[`)
	s.Validate(v)
	return nil
})
