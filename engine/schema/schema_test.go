package schema_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

func value(t testing.TB, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func parse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(value(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func TestTypes(t *testing.T) {
	var defs string // more than are looked up one by one
	for i := range 20 {
		defs += fmt.Sprintf(`"k%[1]d": {"const": %[1]d}, `, i)
	}
	for _, tt := range []struct {
		schema, types, text string
	}{
		{`null`, "any", "any"},
		{`true`, "any", "any"},
		{`{}`, "any", "any"},
		{`false`, "never", "never"},
		{`{"type": "string"}`, "string", "string"},
		{`{"type": "number"}`, "number", "number"},
		{`{"type": ["integer", "number"]}`, "number", "number"},
		{`{"type": ["string", "null"]}`, "null|string", "null|string"},
		{`{"type": "string", "nullable": true}`, "null|string", "null|string"},
		{`{"type": "any"}`, "any", "any"},
		{`{"enum": ["a", 1, null]}`, "null|integer|string", `one of "a", 1, null`},
		{`{"type": "string", "enum": ["a", 1]}`, "string", `one of "a"`},
		{`{"const": 1.5}`, "number", "one of 1.5"},
		{`{"pattern": "^a$"}`, "string", "string /^a$/"},
		{`{"minimum": 1}`, "number", "number >= 1"},
		{`{"type": "integer", "exclusiveMinimum": 1, "maximum": 2.5}`, "integer", "integer > 1 <= 2.5"},
		{`{"items": {"type": "string"}, "minItems": 1}`, "array", "array items 1.. [string*]"},
		{`{"prefixItems": [{"type": "string"}, {}]}`, "array", "array [string, any]"},
		{`{"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"], "additionalProperties": false}`, "object", "object {a: integer, b?: any, *: never}"},
		{`{"patternProperties": {"^x": true}, "maxProperties": 3}`, "object", "object properties ..3 {/^x/: any}"},
		{`{"anyOf": [{"type": "string"}, {"type": "integer"}]}`, "integer|string", "string or integer"},
		{`{"oneOf": [{"type": "string"}, false]}`, "string", "string"},
		{`{"anyOf": [{"anyOf": [{"type": "null"}, {"type": "string"}]}, {"type": "integer"}]}`, "null|integer|string", "null or string or integer"},
		{`{"type": "string", "anyOf": [{"minLength": 2}, {"type": "integer"}]}`, "string", "string length 2.."},
		{`{"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}`, "string", "string"},
		{`{"allOf": [{"minLength": 2, "maxLength": 9}, {"minLength": 3, "maxLength": 12}], "type": "string"}`, "string", "string length 3..9"},
		{`{"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"a": {"minimum": 3}, "b": true}, "required": ["a"]}]}`, "object", "object {a: integer >= 3, b?: any}"},
		{`{"allOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"properties": {"b": {}}}]}`, "object", "object {a?: any, b?: never, *: never}"},
		{`{"allOf": [{"enum": [1, 2.0, 3]}, {"enum": [2, 3, 4]}]}`, "integer", "one of 2, 3"},
		{`{"enum": [1, 5, "x"], "minimum": 3}`, "integer|string", `one of 5, "x"`},
		{`{"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"type": "null"}}}`, "null", "null"},
		{`{"$ref": "#/$defs/a%20b", "minLength": 1, "$defs": {"a b": {"type": "string"}}}`, "string", "string length 1.."},
		{`{"properties": {"next": {"$ref": "#"}}}`, "object", "object {next?: ...}"},
		{`{"properties": {"a": {"$ref": "#/properties/b/items"}, "b": {"items": {"const": 1}}}}`, "object", "object {a?: one of 1, b?: array [one of 1*]}"},
		{`{"$defs": {"n": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"kids": {"items": {"$ref": "#/$defs/n"}}}}]}, "base": {"properties": {"id": {"type": "integer"}}}}, "$ref": "#/$defs/n"}`,
			"object", "object {id?: integer, kids?: array [...*]}"},
		{`{"format": "date"}`, "string", ""},
		{`{"type": "integer", "minimum": 1, "exclusiveMinimum": true}`, "integer", "integer > 1"},
		{`{"type": "string", "maxLength": 99999999999}`, "string", "string"},
		{`{"allOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}], "$defs": {"s": {"type": "string"}}}`, "string", "string"},
		{`{"anyOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}], "$defs": {"s": {"type": "string"}}}`, "string", "string"},
		{`{"allOf": [{"properties": {"a": {"allOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/n"}]}, "b": {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/s"}]}}}], "$defs": {"s": {"minLength": 1}, "n": {"maxLength": 2}}}`,
			"object", "object {a?: string length 1..2, b?: string length 1..2}"},
		{`{"properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": {"$ref": "#/$defs/s", "allOf": [{"maxLength": 2}]}, "s": {"anyOf": [{"minLength": 1}, {"type": "null"}], "$ref": "#/$defs/t"}, "t": {}}}`,
			"object", "object {a?: string length 1..2 or null length ..2}"},
		{`{"properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": {"$ref": "#/$defs/s", "anyOf": [{"minLength": 1}]}, "s": {"maxLength": 3}}}`,
			"object", "object {a?: string length 1..3}"},
		{`{"allOf": [{"anyOf": [{"minLength": 1}, {"minLength": 2}], "maxLength": 9}, {"anyOf": [{"pattern": "a"}, {"pattern": "b"}]}]}`, "string",
			"string /a/ length 1..9 or string /b/ length 1..9 or string /a/ length 2..9 or string /b/ length 2..9"},
		{`{"allOf": [{"minItems": 2}, {"maxItems": 3}]}`, "array", "array items 2..3"},
		{`{"allOf": [{"format": "date"}, {"format": "uuid"}], "maxLength": 3}`, "string", ""},
		{`{"type": "string", "minLength": 3, "maxLength": 2}`, "never", "never length 3..2"},
		{`{"allOf": [{"prefixItems": [{"type": "string"}, {"minimum": 1}]}, {"prefixItems": [{"minLength": 2}], "items": {"maximum": 5}}]}`, "array", "array [string length 2.., number >= 1 <= 5, number <= 5*]"},
		{`{"allOf": [{"prefixItems": [{"type": "string"}, {}]}, {"prefixItems": [{"minLength": 2}]}]}`, "array", "array [string length 2.., any]"},
		{`{"allOf": [{"patternProperties": {"^x": {"minLength": 1}}}, {"properties": {"xa": {"maxLength": 3}, "b": {}}}]}`, "object", "object {xa?: string length 1..3, b?: any, /^x/: string length 1..}"},
		{`{"patternProperties": {"^x": true}, "additionalProperties": {"type": "null"}, "required": ["xa", "b"]}`, "object", "object {xa: any, b: null, /^x/: any, *: null}"},
		{`{"allOf": [{"maxLength": 5}, {"maxLength": 3}, {"maxLength": 4}]}`, "string", "string length ..3"},
		{`{"maximum": 3, "exclusiveMaximum": true}`, "number", "number < 3"},
		{`{"maximum": 3, "exclusiveMaximum": false}`, "number", "number <= 3"},
		{`{"exclusiveMaximum": true}`, "number", "number"},
		{`{"exclusiveMinimum": true, "minimum": 2}`, "number", "number > 2"},
		{`{"exclusiveMinimum": true, "exclusiveMaximum": true}`, "number", "number"},
		{`{"minimum": 1, "exclusiveMinimum": 2}`, "number", "number > 2"},
		{`{"minimum": 2, "exclusiveMinimum": 1}`, "number", "number >= 2"},
		{`{"maximum": 1, "exclusiveMaximum": 2}`, "number", "number <= 1"},
		{`{"maximum": 2, "exclusiveMaximum": 1}`, "number", "number < 1"},
		{`{"maximum": 2, "exclusiveMaximum": 2}`, "number", "number < 2"},
		{`{"allOf": [{"minimum": 2}, {"minimum": 2}]}`, "number", "number >= 2"},
		{`{"allOf": [{"exclusiveMinimum": 2}, {"minimum": 2}]}`, "number", "number > 2"},
		{`{"minimum": 1e401, "maximum": 1e-5000}`, "number", "number"},
		{`{"minimum": 1e400, "maximum": 1e399}`, "number", ""},
		{`{"maximum": 1` + strings.Repeat("0", 900) + `}`, "number", "number"},
		{`{"minimum": 0.000001, "maximum": 1e2}`, "number", "number >= 0.000001 <= 100"},
		{`{"minLength": 1.0, "maxItems": 1e5000}`, "string|array", "string|array length 1.."},
		{`{"enum": [1e5000, 1e5000, 1]}`, "number", ""},
		{`{"enum": ["a", "a"], "const": "a"}`, "string", `one of "a"`},
		{`{"required": ["a", "a"], "allOf": [{"required": ["a"]}]}`, "object", "object {a: any}"},
		{`{"patternProperties": {"(?=x)": true, "a": {}}}`, "object", "object {/a/: any}"},
		{`{"unevaluatedProperties": false, "additionalProperties": {"type": "null"}}`, "object", "object {*: null}"},
		{`{"additionalProperties": {"type": "null"}, "unevaluatedProperties": false}`, "object", "object {*: null}"},
		{`{"items": []}`, "array", "array"},
		{`{"items": [{"type": "null"}], "additionalItems": false}`, "array", "array [null, never*]"},
		{`{"items": {"type": "null"}, "additionalItems": false}`, "array", "array [null*]"},
		{`{"additionalItems": {"type": "null"}}`, "array", "array [null*]"},
		{`{"$ref": "#/anyOf/1", "anyOf": [true, {"type": "null"}]}`, "null", "null or null"},
		{`{"properties": {"a": {"$ref": "#/prefixItems/1"}}, "prefixItems": [true, {"type": "null"}]}`, "array|object", "array|object [any, null] {a?: null}"},
		{`{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"type": "null"}]}`, "null|object", "object {a?: ...} or null"},
		{`{"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n", "maxProperties": 2}], "$defs": {"n": {"anyOf": [{"minProperties": 1}, {"required": ["a"]}]}}}`, "object",
			"object properties 1.. or object {a: any} or object properties 1..2 or object properties ..2 {a: any}"},
		{`{"properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"$ref": "#/$defs/m", "anyOf": [{"minLength": 1}, {"minLength": 2}], "maxLength": 7}, "m": {"pattern": "a"}}}`, "object",
			"object {a?: string /a/ length 1..7 or string /a/ length 2..7, b?: string /a/ length 1..7 or string /a/ length 2..7}"},
		{`{"$ref": "#/$defs/k9", "$defs": {` + defs + `"z": {"properties": {"a": {"$ref": "#/$defs/k1"}, "b": {"$ref": "#/$defs/k2"}}}}}`, "integer", "one of 9"},
		{`{"properties": {"a": {"$ref": "#/$defs/k1"}, "b": {"$ref": "#/$defs/k2"}, "c": {"$ref": "#/many/k3"}}, "$defs": {` + defs + `"z": {}}, "many": {` + defs + `"z": {}}}`, "object", "object {a?: one of 1, b?: one of 2, c?: one of 3}"},
		{`{"additionalProperties": {"$ref": "#"}}`, "object", "object {*: ...}"},
		{`{"type": "string", "minLength": 1, "oneOf": [{"type": "string"}, {"type": "string", "maxLength": 4}]}`, "string", "string length 1.. or string length 1..4"},
	} {
		s := parse(t, tt.schema)
		if got := s.Types().String(); got != tt.types {
			t.Errorf("%s: types %s, want %s", tt.schema, got, tt.types)
		}
		if got := s.String(); got != tt.text && tt.text != "" {
			t.Errorf("%s: got %s, want %s", tt.schema, got, tt.text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	product := `{"allOf": [` + strings.TrimSuffix(strings.Repeat(`{"anyOf": [{"minLength": 1}, {"maxLength": 5}, {"pattern": "a"}, {"pattern": "b"}]},`, 6), ",") + `]}`
	for _, tt := range []struct{ schema, want string }{
		{`1`, "p: a schema is an object or a boolean, found number"},
		{`{"type": ["string", 1]}`, `p.type[1]: expected the name of a type, found 1`},
		{`{"type": []}`, `p.type: expected the name of a type or a list of names, found an empty list`},
		{`{"properties": {"x": {"pattern": "a("}}}`, `p.properties.x.pattern: a ( without its ) at byte 1 of the pattern`},
		{`{"properties": {"x": {"pattern": 3}}}`, `p.properties.x.pattern: expected a regular expression as a string`},
		{`{"x-lark": "start"}`, "p.x-lark: the grammar: line 1: expected a definition, found \"start\""},
		{`{"properties": []}`, `p.properties: expected an object of schemas, found an empty list`},
		{`{"items": {"enum": 3}}`, `p.items.enum: expected a list of values, found 3`},
		{`{"anyOf": []}`, `p.anyOf: expected a list of schemas, found an empty list`},
		{`{"anyOf": [{}, 5]}`, `p.anyOf[1]: a schema is an object or a boolean, found number`},
		{`{"minItems": -1}`, `p.minItems: expected a count, found -1`},
		{`{"minItems": 99999999999}`, `p.minItems: 99999999999 is more than the 1000000 that are supported`},
		{`{"minimum": "1"}`, `p.minimum: expected a number, found "1"`},
		{`{"required": ["a", 1]}`, `p.required[1]: expected a name, found 1`},
		{`{"required": "a"}`, `p.required: expected a list of names, found "a"`},
		{`{"anyOf": {"a": 1}}`, `p.anyOf: expected a list of schemas, found {"a": 1}`},
		{`{"type": 3}`, `p.type: expected the name of a type or a list of names, found 3`},
		{`{"type": {"name": "a very long text that is no type of any schema"}}`, `p.type: expected the name of a type or a list of names, found object`},
		{`{"enum": {}}`, `p.enum: expected a list of values, found {}`},
		{`{"$ref": 3}`, `p.$ref: expected a reference, found 3`},
		{`{"minItems": "1"}`, `p.minItems: expected a count, found "1"`},
		{`{"minItems": 1.5}`, `p.minItems: expected a count, found 1.5`},
		{`{"minLength": 1e20}`, `p.minLength: 1e20 is more than the 1000000 that are supported`},
		{`{"minLength": 1e5000}`, `p.minLength: 1e5000 is more than the 1000000 that are supported`},
		{`{"properties": {"` + strings.Repeat("k", 500) + `": {"items": 1}}}`,
			"p..." + "." + strings.Repeat("k", 199) + "..." + strings.Repeat("k", 200) + ".items: a schema is an object or a boolean, found number"},
		{`{"$ref": "#"}`, `p: the schema refers to itself without anything in between, so it says nothing`},
		{`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}`, `p.$defs.b: the schema refers to itself without anything in between, so it says nothing`},
		{`{"anyOf": [{"type": "string"}, {"$ref": "#"}]}`, `p: the schema refers to itself without anything in between, so it says nothing`},
		{product, `p: the alternatives of anyOf and oneOf combine to more than 1000`},
	} {
		_, err := schema.ParseAt("p", value(t, tt.schema))
		var fault *schema.Error
		if err == nil || !errors.As(err, &fault) || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.schema, err, tt.want)
		}
	}
}

func TestNotes(t *testing.T) {
	const text = `{"type": "object", "properties": {"a": {"not": {"type": "null"}, "multipleOf": 2}, "b": {"format": "email"}, "c": {"pattern": "(?=x)y"},
		"d": {"items": {"uniqueItems": true}}, "e": {"uniqueItems": false}, "f": {"maxLength": 2000000}}}`
	s, err := schema.ParseAt("tools[0].parameters", value(t, text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tools[0].parameters.properties.a.not: not is not supported and ignored",
		"tools[0].parameters.properties.a.multipleOf: multipleOf is not supported and ignored",
		`tools[0].parameters.properties.b.format: the format "email" is not checked`,
		"tools[0].parameters.properties.c.pattern: the pattern is ignored: look-around at byte 0 " +
			"of the pattern is not in the regular subset",
		"tools[0].parameters.properties.d.items.uniqueItems: uniqueItems is not " +
			"supported and ignored",
		"tools[0].parameters.properties.f.maxLength: 2000000 is beyond the 1000000 that are " +
			"checked, taken as no bound",
	}
	if got := fmt.Sprint(s.Notes()); got != fmt.Sprint(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{`{}`, `[1]`, ""},
		{`false`, `1`, "no value is allowed here, found 1"},
		{`{"type": "string"}`, `1`, "expected string, found 1"},
		{`{"type": "integer"}`, `1.0`, ""},
		{`{"type": "integer"}`, `1.5`, "expected integer, found 1.5"},
		{`{"type": "number"}`, `1`, ""},
		{`{"enum": [1, "a"]}`, `1.0`, ""},
		{`{"enum": [1, "a"]}`, `2`, `expected one of 1, "a", found 2`},
		{`{"minLength": 2}`, `"é"`, "expected at least 2 characters, found 1"},
		{`{"minLength": 2}`, `5`, ""},
		{`{"maxLength": 2}`, `"éa"`, ""},
		{`{"maxLength": 2}`, `"abc"`, "expected at most 2 characters, found 3"},
		{`{"type": "string", "enum": [1]}`, `"a"`, "expected one of , found \"a\""},
		{`{"not": {}, "type": "string", "allOf": [{"type": "null"}]}`, `"a"`, "no value is allowed here, found \"a\""},
		{`{"enum": [1, 2, 3], "properties": {}}`, `3`, ""},
		{`{"minLength": 3, "maxLength": 2}`, `"abc"`, `no value is allowed here, found "abc"`},
		{`{"anyOf": [{"type": "object", "required": ["a"]}, {"properties": {"b": {"type": "null"}}}]}`, `{"b": 1}`, "b: expected null, found 1"},
		{`{"properties": {"a": {"enum": [1]}, "b": {"enum": [2]}}}`, `{"a": 1, "b": 2}`, ""},
		{`{"format": "duration"}`, `"P1D"`, ""}, {`{"format": "time"}`, `"12:00:00Z"`, ""}, {`{"format": "date-time"}`, `"2020-01-02T12:00:00Z"`, ""},
		{`{"format": "ipv4"}`, `"1.2.3.400"`, `expected a ipv4, found "1.2.3.400"`}, {`{"format": "uuid"}`, `"x"`, `expected a uuid, found "x"`},
		{`{"anyOf": [{"const": 1}, {"const": 2}]}`, `2`, ""},
		{`{"anyOf": [{"properties": {"a": {"properties": {"b": {"type": "null"}}}}}, {"properties": {"a": {"type": "null"}}}]}`, `{"a": {"b": 1}}`, "a.b: expected null, found 1"},
		{`{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}`, `{}`, "expected object {a: any} or object {b: any}, found {}"},
		{`{"format": "date", "pattern": "^2"}`, `"1999-01-01"`, `expected a text that matches ^2, found "1999-01-01"`},
		{`{"pattern": "^a{9000}b"}`, `"` + strings.Repeat("a", 10000) + `b"`, "matching the pattern takes more than 1000000 steps"},
		{`{"patternProperties": {"^a{9000}b": {}}}`, `{"` + strings.Repeat("a", 10000) + `b": 1}`,
			strings.Repeat("a", 200) + "..." + strings.Repeat("a", 199) + "b: matching the pattern takes more than 1000000 steps"},
		{`{"maximum": 3}`, `1e5000`, "1e5000 is too large or too small to be compared"},
		{`{"maximum": 3}`, `3`, ""},
		{`{"maximum": 3}`, `2`, ""},
		{`{"minimum": 3}`, `3`, ""},
		{`{"minimum": 3}`, `2`, "expected >= 3, found 2"},
		{`{"exclusiveMaximum": 3}`, `3`, "expected < 3, found 3"},
		{`{"maxItems": 2}`, `[1, 2]`, ""},
		{`{"minItems": 1}`, `[]`, "expected at least 1 items, found 0"},
		{`{"prefixItems": [{"type": "null"}]}`, `[null, 1]`, ""},
		{`{"prefixItems": [{"type": "null"}], "items": false}`, `[null, 1]`, "[1]: no value is allowed here, found 1"},
		{`{"prefixItems": [{"type": "null"}]}`, `[1]`, "[0]: expected null, found 1"},
		{`{"maxProperties": 1}`, `{"a": 1}`, ""},
		{`{"maxProperties": 1}`, `{"a": 1, "b": 2}`, "expected at most 1 properties, found 2"},
		{`{"patternProperties": {"^b": {"type": "null"}}, "additionalProperties": {"type": "string"}}`, `{"b": null, "c": "x"}`, ""},
		{`{"properties": {"a": {}}, "patternProperties": {"^b": {}}, "additionalProperties": false}`, `{"a": 1, "b": 2, "c": 3}`, "c: there is no such property"},
		{`{"type": "array", "enum": [[1, {"a": 2}], {"x": []}]}`, `[1, {"a": 2}]`, ""},
		{`{"enum": [[1], [2, 3]], "minItems": 2}`, `[1]`, "expected one of [2, 3], found [1]"},
		{`{"enum": [{"a": 1}, {"a": 2}], "properties": {"a": {"minimum": 2}}}`, `{"a": 2}`, ""},
		{`{"enum": [{"a": 1}, {"a": 2}], "properties": {"a": {"minimum": 2}}}`, `{"a": 1}`, `expected one of {"a": 2}, found {"a": 1}`},
		{`{"enum": [[1, {"a": 2.0}]]}`, `[1.0, {"a": 2}]`, ""},
		{`{"enum": [["a", 1], ["b"]], "items": {"type": "string"}}`, `["a", 1]`, `expected one of ["b"], found ["a", 1]`},
		{`{"anyOf": [{"enum": [[1]], "items": {"type": "null"}}, {"type": "null"}]}`, `[1]`, "expected null, found [1]"},
		{`{"anyOf": [{"enum": [[1]], "items": {"type": "null"}}, {"enum": [[2]], "items": {"type": "null"}}]}`, `[1]`, "no value is allowed here, found [1]"},
		{`{"pattern": "^a+$"}`, `"aab"`, `expected a text that matches ^a+$, found "aab"`},
		{`{"format": "date"}`, `"2020-1-1"`, `expected a date, found "2020-1-1"`},
		{`{"type": "integer", "minimum": 1, "maximum": 3}`, `4`, "expected >= 1 <= 3, found 4"},
		{`{"exclusiveMinimum": 0.5}`, `0.5`, "expected > 0.5, found 0.5"},
		{`{"items": {"type": "string"}}`, `["a", 1]`, "[1]: expected string, found 1"},
		{`{"maxItems": 1}`, `[1, 2]`, "expected at most 1 items, found 2"},
		{`{"properties": {"a": {"properties": {"b": {"type": "string"}}}}}`, `{"a": {"b": 1}}`, "a.b: expected string, found 1"},
		{`{"properties": {"a": {}}, "required": ["a"]}`, `{}`, `the required property "a" is missing`},
		{`{"properties": {"a": {}}}`, `{"b": 1}`, ""},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"b": 1}`, "b: there is no such property"},
		{`{"additionalProperties": {"type": "string"}}`, `{"b": 1}`, "b: expected string, found 1"},
		{`{"patternProperties": {"^b": {"type": "string"}}}`, `{"b": 1}`, "b: expected string, found 1"},
		{`{"minProperties": 1}`, `{}`, "expected at least 1 properties, found 0"},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `1`, "expected string or null, found 1"},
		{`{"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "null"}]}`, `{"a": 1}`, "a: expected string, found 1"},
		{`{"properties": {"n": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["n"]}`, `{"n": {"n": {"n": null}}}`, ""},
		{`{"properties": {"n": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["n"]}`, `{"n": {"n": {}}}`, `n.n: the required property "n" is missing`},
	} {
		err := parse(t, tt.schema).Validate(value(t, tt.value))
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%s, %s:\ngot  %v\nwant %s", tt.schema, tt.value, err, tt.want)
		}
	}
}

func TestFields(t *testing.T) {
	s := parse(t, `{"anyOf": [{"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
		{"properties": {"c": {}, "a": {"type": "integer"}}, "required": ["a", "c"], "additionalProperties": {"type": "boolean"}}, {"type": "null"}]}`)
	var got []string
	for _, p := range s.Fields() {
		got = append(got, fmt.Sprintf("%s %v %s", p.Name, p.Required, p.Schema))
	}
	if want := "[a true string or integer b false any c false any]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for _, tt := range []struct {
		name, want string
		declared   bool
	}{{"a", "string or integer", true}, {"z", "boolean", false}} {
		if f, declared := s.Field(tt.name); f.String() != tt.want || declared != tt.declared {
			t.Errorf("%s: %s, %v", tt.name, f, declared)
		}
	}
	if f, declared := parse(t, `{"properties": {}}`).Field("x"); !f.IsAny() || declared {
		t.Errorf("an undeclared field is %s", f)
	}
	for _, tt := range []struct {
		schema, name, want string
		declared           bool
	}{
		{`{"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": {"type": "string"}}`, "xa", "null", false},
		{`{"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": {"type": "string"}}`, "a", "string", false},
		{`{"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": false}`, "a", "any", false},
		{`{"patternProperties": {"^a{9000}b": {"type": "null"}}}`, strings.Repeat("a", 10000) + "b", "any", false},
		{`{"anyOf": [{"patternProperties": {"^x": {"type": "null"}}}, {"additionalProperties": {"type": "null"}}, {"additionalProperties": {"type": "string"}}]}`, "xa", "null or null or string", false},
		{`{"anyOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}, {"properties": {"a": {"$ref": "#/$defs/n"}}}], "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}}`, "a", "object {n?: object {n?: ...}}", true},
		{`{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"type": "null"}}}]}`, "a", "object {a?: ... or object {a?: null}} or object {a?: null} or null", true},
	} {
		if f, declared := parse(t, tt.schema).Field(tt.name); f.String() != tt.want ||
			declared != tt.declared {
			t.Errorf("%.80s: %.20s is %s, %v, want %s", tt.schema, tt.name, f, declared, tt.want)
		}
	}
	for _, tt := range [][2]string{{`{"items": {"type": "null"}}`, "null"}, {`{}`, "any"},
		{`{"anyOf": [{"type": "string", "items": {"type": "boolean"}}, {"type": "array"}, {"type": "array", "items": {"type": "null"}}]}`, "null"}} {
		if item := parse(t, tt[0]).Item(); item.String() != tt[1] {
			t.Errorf("%s: items are %s, want %s", tt[0], item, tt[1])
		}
	}
	only := parse(t, `{"anyOf": [{"enum": ["a", 1, null]}, {"type": "object"}, {"type": "boolean"}]}`).Only(schema.String | schema.Boolean)
	if only.String() != `one of "a" or boolean` || only.Types() != schema.String|schema.Boolean {
		t.Errorf("only strings and booleans: %s, %s", only, only.Types())
	}
	if s := parse(t, `{"type": "string"}`); !s.IsString() || !s.IsFree(schema.String) || s.IsAny() {
		t.Error("a string is not a free string")
	}
}

// TestFree asks which schemas put nothing on a type beside the type itself.
func TestFree(t *testing.T) {
	for _, tt := range []struct {
		schema string
		of     schema.TypeSet
		free   bool
	}{
		{`{}`, schema.AnyType, true}, {`{"type": "null"}`, schema.Null, true}, {`{"type": "null"}`, schema.String, false},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, schema.String, false}, {`{"enum": ["a"]}`, schema.String, false},
		{`{"minLength": 1}`, schema.String, false}, {`{"maxLength": 1}`, schema.String, false},
		{`{"pattern": "a"}`, schema.String, false}, {`{"minimum": 1}`, schema.Number, false},
		{`{"maximum": 1}`, schema.Number, false}, {`{"type": "integer", "maximum": 1}`, schema.Integer, false},
		{`{"prefixItems": [{}]}`, schema.Array, false}, {`{"items": {}}`, schema.Array, false}, {`{"minItems": 1}`, schema.Array, false},
		{`{"maxItems": 1}`, schema.Array, false}, {`{"properties": {"a": {}}}`, schema.Object, false},
		{`{"patternProperties": {"a": {}}}`, schema.Object, false}, {`{"additionalProperties": {}}`, schema.Object, false},
		{`{"minProperties": 1}`, schema.Object, false}, {`{"maxProperties": 1}`, schema.Object, false},
	} {
		s := parse(t, strings.Replace(tt.schema, `{"m`, `{"title": "", "m`, 1))
		if s.IsFree(tt.of) != tt.free {
			t.Errorf("%s: free as %s: %v", tt.schema, tt.of, s.IsFree(tt.of))
		}
		all := strings.Replace(tt.schema, "{", `{"type": ["string", "number", "boolean", "null", "array", "object"], `, 1)
		if any := strings.Replace(all, ", }", "}", 1); strings.Count(any, `"type"`) == 1 &&
			parse(t, any).IsAny() != tt.free {
			t.Errorf("%s allows anything: %v", any, !tt.free)
		}
	}
	if parse(t, `{}`).IsString() || parse(t, `{"type": ["string", "null"]}`).IsString() {
		t.Error("what is more than a string is a string")
	}
}

// TestDescription bounds the description of schemas that refer to others many times.
func TestDescription(t *testing.T) {
	for _, wrap := range []string{`{"properties": {"a": %[1]s, "b": %[1]s}}`, `{"anyOf": [{"type": "null"}, {"items": %[1]s}, {"prefixItems": [%[1]s]}]}`} {
		text := `{"enum": ["a"]}`
		for range 10 {
			text = fmt.Sprintf(wrap, text)
		}
		if got := parse(t, text).String(); len(got) > 3000 {
			t.Errorf("a description of %d bytes", len(got))
		}
	}
	many := `{"enum": ["` + strings.Repeat(`aaaaaaaaa", "`, 1) + strings.Repeat("x", 3000) + `", "z", "y"]}`
	if got := parse(t, many).String(); !strings.HasSuffix(got, ", ...") || len(got) > 3000 {
		t.Errorf("%.40s... has %d bytes", got, len(got))
	}
}

var patterns = []string{`abc`, `^abc$`, `a|b`, `^(a|b)*c$`, `^a{2,3}b?$`, `^[^a-b]+$`, `^\d\w\s$`, `\.`, `^(?:ab){2}$`, `^(?<n>a)$`, `^a+?b*?$`, `^[\d\-x]$`, `^\u0061\x62$`, `^.$`,
	`^(a?){3}$`, `^(a*)*b$`, `^()$`, `a{0}b`, `^[\w.]+@\w+$`, `^(^a|b$)$`, `^a$|b`, `^{$`, `^a{,2}$`, `^\p{Lu}$`, `^\n\t\/$`, `^[a-]$`, `^((a|ab)(c|bcd))+$`,
	`a$$`, `^(?:^a)$`, `((^a))`, `(^a|b$)|c`, `^(?P<n>a)$`, `^{a$`, `^a{x}$`, `^a{1,x}$`, `^a{2,}$`, `^[\x61-\x62]$`, `^[\x08\x00]$`, `^\p{L}$`, `^\P{L}$`,
	`^\p{Greek}$`, `^(a{2}){2}$`, `^(b?){2,4}$`, `^(a?){2,}$`, `^(|a){2}$`, `^a||b$`}

func TestPatternAgainstRegexp(t *testing.T) {
	probes := []string{"", "a", "b", "ab", "abc", "aab", "aaab", "xabcx", "c", "abac", "1a ",
		"abab", ".", "-", "x", "é", "\n", "aaa", "aaaa", "a@b", "{", "a{,2}", "A", "\n\t/", "abcd",
		"abbcd", "acabcd"}
	for _, text := range patterns {
		p, err := schema.ParsePattern(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		source := strings.NewReplacer(`\/`, `/`, `\u0061`, `a`, `.$`, `[^\n\r]$`).Replace(text)
		re := regexp.MustCompile(strings.ReplaceAll(source, `(?<n>`, `(?P<n>`))
		for _, s := range probes {
			got, err := p.Match(s)
			if want := re.MatchString(s); got != want || err != nil {
				t.Errorf("%s on %q: got %v, %v, want %v", text, s, got, err, want)
			}
		}
	}
}

// TestPatternEscapes has what package regexp spells otherwise.
func TestPatternEscapes(t *testing.T) {
	for _, tt := range []struct {
		text, in, out string // characters that match, and such that do not
	}{
		{`^\cJ$`, "\n", "J"}, {`^\cj$`, "\n", "j"}, {`^\u{1F600}$`, "😀", "F"}, {`^\ud83d\ude00$`, "😀", "x"},
		{`^\0$`, "\x00", "0"}, {`^[\b]$`, "\b", "b"}, {`^\D$`, "a", "1"}, {`^\W$`, "é ", "a1_"}, {`^\S$`, "a", " "},
		{`^[a-\d]$`, "a-1", "b"}, {`^\r|\f|\v$`, "\r\f\v", "a"}, {`^\p{White_Space}$`, " \u2003", "a"},
		{`^\p{Script=Greek}$`, "αΩ", "a"}, {`^\P{Lu}$`, "a1", "A"}, {`^\-$`, "-", `\`}, {`^\é$`, "é", "e"},
		{`^\A\Z$`, "", "a"}, {`^[^\x01-\u{10FFFF}]$`, "\x00", "a\u00e9"}, {`^\ud7ff$`, "\ud7ff", "a"}, {`^\ue000$`, "\ue000", "a"},
	} {
		p, err := schema.ParsePattern(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		for _, r := range tt.in + tt.out {
			if got, err := p.Match(string(r)); got != strings.ContainsRune(tt.in, r) || err != nil {
				t.Errorf("%s on %q: %v, %v", tt.text, r, got, err)
			}
		}
	}
}

func TestPatternErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`(`, "a ( without its ) at byte 0 of the pattern"},
		{`a)`, "a ) without its ( at byte 1 of the pattern"},
		{`[a`, "a [ without its ] at byte 0 of the pattern"},
		{`[b-a]`, "a range that is not in order at byte 1 of the pattern"},
		{`*a`, "nothing to repeat before * at byte 0 of the pattern"},
		{`a**`, "nothing to repeat before * at byte 2 of the pattern"},
		{`a{3,1}`, "the counts of {3,1} are not in order at byte 1 of the pattern"},
		{`a{9999999}`, "a repetition of more than 1000000 at byte 1 of the pattern"},
		{`\q`, `an unknown escape \q at byte 0 of the pattern`},
		{`\`, "a backslash with nothing after it at byte 0 of the pattern"},
		{`\x1`, "an escape without its hexadecimal digits at byte 0 of the pattern"},
		{`[]`, "a character class that no character is in at byte 0 of the pattern"},
		{"a\xff", "a byte that is not UTF-8 at byte 1 of the pattern"},
		{"\ufffd\xff", "a byte that is not UTF-8 at byte 3 of the pattern"},
		{"^(a|b)(^c)", "an anchor inside a group that is not the whole pattern at byte 6 of the pattern"},
		{"^x(^c)", "an anchor inside a group that is not the whole pattern at byte 2 of the pattern"},
		{`(?=a)`, "look-around at byte 0 of the pattern"},
		{`(a)\1`, "a back reference at byte 3 of the pattern"},
		{`a^b`, "an anchor ^ that is not at the beginning at byte 1 of the pattern"},
		{`a$b`, "an anchor $ that is not at the end at byte 1 of the pattern"},
		{`x(^a)`, "an anchor inside a group that is not the whole pattern at byte 1 of the pattern"},
		{`\bword`, "a word boundary at byte 0 of the pattern"},
		{`\B`, "a word boundary at byte 0 of the pattern"},
		{`(?<=a)`, "look-around at byte 0 of the pattern"},
		{`(?<!a)`, "look-around at byte 0 of the pattern"},
		{`(?!a)`, "look-around at byte 0 of the pattern"},
		{`(?i)a`, "a group with flags at byte 0 of the pattern"},
		{`(?<n`, "a group's name without > at byte 0 of the pattern"},
		{`{2}`, "nothing to repeat before { at byte 0 of the pattern"},
		{`(^a)+`, "an anchor inside a group that is not the whole pattern at byte 0 of the pattern"},
		{`^(^a)b`, "an anchor inside a group that is not the whole pattern at byte 5 of the pattern"},
		{`(^a)(b)`, "an anchor inside a group that is not the whole pattern at byte 4 of the pattern"},
		{`a{99999999999999999999}`, "a repetition of more than 1000000 at byte 1 of the pattern"},
		{`[a-`, "a [ without its ] at byte 0 of the pattern"},
		{`[\`, "a backslash with nothing after it at byte 1 of the pattern"},
		{`\c1`, `\c without a letter at byte 0 of the pattern`},
		{`\c{`, `\c without a letter at byte 0 of the pattern`},
		{`\c`, `\c without a letter at byte 0 of the pattern`},
		{`\u{61`, `\u{ without } at byte 0 of the pattern`},
		{`\u{}`, "an escape without its hexadecimal digits at byte 0 of the pattern"},
		{`\u{123456789}`, "an escape without its hexadecimal digits at byte 0 of the pattern"},
		{`\u{110000}`, "an escape without its hexadecimal digits at byte 0 of the pattern"},
		{`\u00g0`, "an escape without its hexadecimal digits at byte 0 of the pattern"},
		{`\ud83d`, "half of a surrogate pair at byte 0 of the pattern"},
		{`\ude00`, "half of a surrogate pair at byte 0 of the pattern"},
		{`\ud83d\u0041`, "half of a surrogate pair at byte 0 of the pattern"},
		{`\ud83d\ue000`, "half of a surrogate pair at byte 0 of the pattern"},
		{`\k<n>`, "a back reference at byte 0 of the pattern"},
		{`\p`, `\p without {a property} at byte 0 of the pattern`},
		{`\pL}`, `\p without {a property} at byte 0 of the pattern`},
		{`\p{Elvish}`, "the character property Elvish at byte 0 of the pattern"},
		{`[^\x00-\u{10FFFF}]`, "a character class that no character is in at byte 0 of the pattern"},
		{strings.Repeat("(", 151), "groups nest deeper than 150 levels at byte 150 of the pattern"},
		{strings.Repeat("a", schema.MaxPattern+1), "the pattern is longer than 10000 bytes"},
	} {
		if _, err := schema.ParsePattern(tt.text); err == nil || err.Error() != tt.want {
			t.Errorf("%.40s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// TestHostile has inputs that cost too much: they end in an error, not in a wait.
func TestHostile(t *testing.T) {
	p, err := schema.ParsePattern(strings.Repeat("(", 100) + "a*" + strings.Repeat("b*)*", 100))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Match(strings.Repeat("ab", 20000) + "c"); ok || err == nil ||
		err.Error() != "matching the pattern takes more than 1000000 steps" {
		t.Errorf("a costly pattern: %v, %v", ok, err)
	}
	deep := strings.Repeat(`{"items": `, 900) + `{}` + strings.Repeat("}", 900)
	parse(t, deep)
	many := `{"enum": [` + strings.Repeat("1,", schema.MaxEnum) + `1]}`
	if _, err := schema.Parse(value(t, many)); err == nil {
		t.Error("a huge enum is taken")
	}
	var b strings.Builder
	b.WriteString(`{"prefixItems": [{}`)
	for range schema.MaxNodes {
		b.WriteString(",{}")
	}
	b.WriteString("]}")
	if _, err := schema.Parse(value(t, b.String())); err == nil ||
		!strings.Contains(err.Error(), "more than 50000 schemas") {
		t.Errorf("a huge document: %v", err)
	}
	// Each level tries two alternatives that both go on below.
	s := parse(t, `{"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": ["x"]}, {"properties": {"a": {"$ref": "#"}}, "required": ["y"]}]}`)
	v := `1`
	for range 60 {
		v = `{"x": 1, "y": 2, "a": ` + v + `}`
	}
	if err := s.Validate(value(t, strings.Replace(v, `"a": 1`, `"a": {}`, 1))); err == nil {
		t.Error("an invalid value is taken")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`, `{"a": {}}`)
	f.Add(`{"anyOf": [{"minimum": 1.5}, {"enum": [1, "x"]}], "allOf": [{"pattern": "^a[b-d]*$"}]}`, `"abc"`)
	f.Add(`{"items": [{"format": "date"}], "minItems": 3, "additionalItems": false, "nullable": true}`, `["2020-01-01"]`)
	for _, p := range patterns {
		f.Add(`{"pattern": "`+strings.ReplaceAll(p, `\`, `\\`)+`"}`, `"abc"`)
	}
	f.Fuzz(func(t *testing.T, text, input string) {
		v, err := ordered.ParseString(text)
		if err != nil || len(text) > 2000 {
			return
		}
		s, err := schema.Parse(v)
		if err != nil {
			return
		}
		if s.String() == "" {
			t.Error("a schema prints as nothing")
		}
		if v, err := ordered.ParseString(input); err == nil {
			if err := s.Validate(v); err == nil && len(s.Alts) == 0 && s.Enum == nil &&
				s.IsNever() {
				t.Errorf("%s satisfies a schema that allows nothing", input)
			}
		}
	})
}

// TestParseObjectAt demands objects whatever a function's parameters say.
func TestParseObjectAt(t *testing.T) {
	for _, text := range []string{`null`, `{}`, `true`, `{"$ref": "#/$defs/a", "$defs": {"a": {"type": ["object", "null"]}}}`, `{"anyOf": [{"type": "array"}, {"properties": {"x": {}}}]}`} {
		s, err := schema.ParseObjectAt("parameters", value(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Types() != schema.Object {
			t.Errorf("%s allows %v", text, s.Types())
		}
		if err := s.Validate(value(t, `{"x": 1}`)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if s, err := schema.ParseObjectAt("parameters", value(t, `{"type": "string"}`)); err != nil || !s.IsNever() {
		t.Errorf("a string as parameters: %v, %v", s, err)
	}
}

// TestLenient reads the types and references of tools in the wild. None of it refuses a request; a
// note tells.
func TestLenient(t *testing.T) {
	for _, tt := range []struct{ schema, types, note string }{
		{`{"type": "float"}`, "number", `"float" is no type of JSON Schema; it is read as number`},
		{`{"type": ["int", "None"]}`, "null|integer", `"int" is no type of JSON Schema; it is read as integer`},
		{`{"type": "uint"}`, "integer", `"uint" is no type of JSON Schema; it is read as integer`},
		{`{"type": "file"}`, "any", `unknown type "file", read as any; the types are string, number, integer, boolean, null, array and object`},
		{`{"$ref": "https://example.com/s"}`, "any", `"https://example.com/s" is read as any value: only references inside the document, such as #/$defs/name, are supported`},
		{`{"$ref": "#/$defs/x"}`, "any", `"#/$defs/x" is read as any value: it leads nowhere, there is no $defs`},
		{`{"required": true}`, "any", `a boolean means nothing here; required is a list of names`},
		{`{"$ref": "#/items/2", "items": [{}, {}]}`, "array", `"#/items/2" is read as any value: it leads nowhere, there is no items.2`},
		{`{"$ref": "#/items/-1", "items": [{}, {}]}`, "array", `"#/items/-1" is read as any value: it leads nowhere, there is no items.-1`},
		{`{"$ref": "#/a%"}`, "any", `"#/a%" is read as any value: it leads nowhere, there is no a%`},
		{`{"$ref": "#/a%4"}`, "any", `"#/a%4" is read as any value: it leads nowhere, there is no a%4`},
		{`{"$ref": "#/a%zz"}`, "any", `"#/a%zz" is read as any value: it leads nowhere, there is no a%zz`},
		{`{"$ref": "#/a%41/1"}`, "any", `"#/a%41/1" is read as any value: it leads nowhere, there is no aA`},
		{`{"$ref": "#x"}`, "any", `"#x" is read as any value: anchors are not supported; write a path such as #/$defs/name`},
	} {
		s := parse(t, tt.schema)
		if got := s.Types().String(); got != tt.types {
			t.Errorf("%s: %s, want %s", tt.schema, got, tt.types)
		}
		if notes := s.Notes(); len(notes) == 0 || notes[0].Msg != tt.note {
			t.Errorf("%s: notes %v, want %s", tt.schema, notes, tt.note)
		}
	}
}
