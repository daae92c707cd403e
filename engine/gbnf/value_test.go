package gbnf_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

func readSchema(t testing.TB, text string) *schema.Schema {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s, err := schema.Parse(v)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func fromSchema(t testing.TB, text string) *gbnf.Grammar {
	t.Helper()
	g, err := gbnf.FromSchema(readSchema(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return g
}

var schemas = []struct {
	name, schema   string
	accept, reject []string
}{
	{"anything", `{}`, []string{`1`, `"a"`, `[1, {"a": null}]`, `{}`, `{ }`, "[\n  1,\n  2\n]", `-0.5e-07`, `"\u00e9\ud83d\ude00\/"`},
		[]string{``, `{"a"}`, `[1,]`, `01`, `1.`, `"\ud83d"`, "\"\n\"", `{"a": 1,}`, `True`, `[1   ]`}},
	{"true", `true`, []string{`1`}, []string{``}},
	{"string", `{"type": "string"}`, []string{`""`, `"a\"b"`, `"é"`}, []string{`1`, `"a`, `a`}},
	{"string_lengths", `{"minLength": 1, "maxLength": 3}`, []string{`"a"`, `"\n\u0041é"`, `"😀😀😀"`, `"\ud83d\ude00ab"`}, []string{`""`, `"abcd"`}},
	{"const", `{"const": {"a": [1, "x"], "b": null}}`, []string{`{"a": [1, "x"], "b": null}`, `{"a":[1,"x"],"b":null}`}, []string{`{"b": null, "a": [1, "x"]}`}},
	{"enum", `{"enum": ["a\"b", 1.50, true, null]}`, []string{`"a\"b"`, `1.50`, `true`, `null`}, []string{`1.5`, `a"b`, `false`}},
	{"enum_filtered_by_type", `{"type": "string", "enum": ["a", 1, "b"]}`, []string{`"a"`, `"b"`}, []string{`1`}},
	{"types", `{"type": ["string", "null", "integer"]}`, []string{`"a"`, `null`, `3`}, []string{`3.5`, `true`}},
	{"nullable", `{"type": "string", "nullable": true}`, []string{`"a"`, `null`}, []string{`1`}},
	{"integer", `{"type": "integer"}`, []string{`0`, `-1`, `1234567890123456789`}, []string{`1.0`, `00`, `12345678901234567890`, `+1`}},
	{"integer_from", `{"type": "integer", "minimum": 0}`, []string{`0`, `10`, `99999`}, []string{`-1`, `-0`, `00`, `100000000000000000000000000000000`}},
	{"integer_from_negative", `{"type": "integer", "minimum": -123}`, []string{`-123`, `-99`, `-1`, `0`, `2345`}, []string{`-124`, `-1234`, `-0`}},
	{"integer_to_negative", `{"type": "integer", "maximum": -9999}`, []string{`-9999`, `-10000`}, []string{`-9998`, `0`, `9999`}},
	{"integer_between", `{"type": "integer", "minimum": 7, "maximum": 1203}`, []string{`7`, `10`, `999`, `1203`}, []string{`6`, `1204`, `2000`, `0`}},
	{"integer_between_fractions", `{"type": "integer", "minimum": 1.5, "exclusiveMaximum": 4}`, []string{`2`, `3`}, []string{`1`, `4`}},
	{"integer_draft4", `{"type": "integer", "minimum": 1, "exclusiveMinimum": true}`, []string{`2`}, []string{`1`}},
	{"number_above", `{"type": "number", "exclusiveMinimum": 0}`, []string{`0.001`, `1`, `12.50`}, []string{`0`, `0.0`, `-1`}},
	{"number_between", `{"type": "number", "minimum": -1.25, "maximum": 3.5}`, []string{`-1.25`, `-1.2`, `-1.250`, `0`, `3.5`, `3.49`, `2`, `-0.1`}, []string{`-1.26`, `3.51`, `4`, `-2`, `-1.2501`}},
	{"number_inside_one", `{"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.5}`, []string{`0.25`, `0.49999`, `0.3`}, []string{`0.5`, `0.24`, `0`, `0.50`}},
	{"pattern", `{"pattern": "^(a|b)+c?$"}`, []string{`"ab"`, `"aac"`}, []string{`"c"`, `"abd"`, `""`}},
	{"pattern_not_anchored", `{"pattern": "b.d"}`, []string{`"abcde"`, `"b d"`}, []string{`"bd"`, `"b\nd"`}},
	{"pattern_escaped_in_json", `{"pattern": "^[\"\\\\\\n/]{2}\\/$"}`, []string{`"\"\\/"`, `"\n\/\/"`}, []string{`"aa/"`}},
	{"pattern_classes", `{"pattern": "^\\d{2}\\w\\s[^a-c]$"}`, []string{`"12_ d"`, `"00a\tx"`, `"12_ é"`, `"12_ \u00e9"`}, []string{`"1a_ d"`, `"12_ a"`}},
	{"pattern_with_lengths", `{"pattern": "^[a-z]+$", "maxLength": 3, "minLength": 2}`, []string{`"ab"`, `"abc"`}, []string{`"a"`, `"abcd"`, `"A"`}},
	{"pattern_alternatives_anchored", `{"pattern": "^a$|^b"}`, []string{`"a"`, `"bx"`}, []string{`"ax"`, `"xb"`}},
	{"date", `{"format": "date"}`, []string{`"2024-02-29"`}, []string{`"2024-13-01"`, `"x"`}},
	{"array", `{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}`, []string{`[1]`, `[1, 2,3]`, "[\n  1\n]"}, []string{`[]`, `[1,2,3,4]`, `["a"]`}},
	{"array_empty", `{"type": "array", "maxItems": 0}`, []string{`[]`, `[ ]`}, []string{`[1]`}},
	{"tuple", `{"prefixItems": [{"type": "integer"}, {"type": "string"}]}`, []string{`[1, "a"]`}, []string{`[1]`, `[1, "a", 2]`, `["a", 1]`}},
	{"tuple_least", `{"prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 1}`, []string{`[1, "a"]`, `[1]`}, []string{`[]`, `[1, "a", 2]`}},
	{"tuple_more", `{"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}, "maxItems": 3}`, []string{`[1]`, `[1, true, false]`}, []string{`[]`, `[1, 2]`, `[1, true, true, true]`}},
	{"object_any", `{"type": "object"}`, []string{`{}`, `{"a": [1]}`, `{"": {"b": 2}}`}, []string{`[]`}},
	{"object_none", `{"type": "object", "properties": {}, "additionalProperties": false}`, []string{`{}`, `{ }`}, []string{`{"a": 1}`}},
	{"object_closed_by_default", `{"properties": {"a": {"type": "integer"}}}`, []string{`{}`, `{"a": 1}`}, []string{`{"b": 1}`, `{"a": 1, "b": 2}`}},
	{"object_order", `{"properties": {"a": {}, "b": {}, "c": {}}, "required": ["c"]}`, []string{`{"a": 1, "b": 2, "c": 3}`, `{"c": 1}`, `{"b": 1, "c": 2}`, `{"c": 1, "a": 2}`, `{"c": 1, "b": 2}`}, []string{`{"a": 1}`, `{"b": 1, "a": 2, "c": 3}`, `{}`, `{"c": 1, "b": 2, "a": 3}`}},
	{"object_least", `{"properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2}`, []string{`{"a": 1, "b": 2}`, `{"a": 1, "c": 2}`, `{"a":1,"b":2,"c":3}`}, []string{`{}`, `{"a": 1}`, `{"c": 1}`}},
	{"object_most", `{"properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 1}`, []string{`{}`, `{"a": 1}`, `{"c": 2}`}, []string{`{"a": 1, "b": 2}`}},
	{"object_of", `{"additionalProperties": {"type": "integer"}, "minProperties": 1}`, []string{`{"x": 1}`, `{"x": 1, "y": 2}`}, []string{`{}`, `{"x": "a"}`}},
	{"object_additional", `{"properties": {"ab": {"type": "integer"}, "ac": {}}, "additionalProperties": {"type": "string"}, "required": ["ab"]}`,
		[]string{`{"ab": 1}`, `{"ab": 1, "x": "y"}`, `{"ab": 1, "a": "y", "abc": "z", "": "q", "\n": "é", "é": ""}`}, []string{`{"ab": 1, "ab": "x"}`, `{"ab": 1, "x": 2}`, `{"x": "y"}`, `{"ab": 1, "\u0061b": "x"}`}},
	{"object_required_undeclared", `{"type": "object", "properties": {"a": {}}, "required": ["a", "z"]}`, []string{`{"a": 1, "z": 2}`}, []string{`{"a": 1}`}},
	{"lark", `{"x-lark": "start: sum\nsum: sum \"+\" atom | atom\natom: /[0-9]/ | \"\\\"\" sum \"\\n\""}`,
		[]string{`"1"`, `"1+2+\"3\n"`, `"\"\"1+2\n\n"`}, []string{`"1+"`, `1`, `"\"1"`}},
	{"object_pattern_keys", `{"patternProperties": {"^x-": {"type": "integer"}}}`, []string{`{}`, `{"x-a": 1}`}, []string{`{"y": 1}`, `{"x-a": "b"}`}},
	{"object_impossible_property", `{"properties": {"a": false, "b": {}}}`, []string{`{}`, `{"b": 1}`}, []string{`{"a": 1}`}},
	{"any_of", `{"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}`, []string{`1`, `["a"]`}, []string{`"a"`, `[1]`}},
	{"any_of_required", `{"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, []string{`{"a": 1}`, `{"b": 1}`, `{"a": 1, "b": 2}`}, []string{`{}`}},
	{"all_of", `{"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"a": {"minimum": 5}, "b": {}}}]}`, []string{`{"a": 5}`, `{"a": 7, "b": 1}`}, []string{`{"a": 4}`, `{"b": 1}`}},
	{"ref", `{"$ref": "#/$defs/x", "$defs": {"x": {"enum": [1, 2]}}}`, []string{`1`}, []string{`3`}},
	{"array_free", `{"type": "array"}`, []string{`[]`, `[1, "a", [null]]`}, []string{`{}`, `1`}},
	{"tuple_endless", `{"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}`, []string{`[1]`, `[1, true, false, true]`}, []string{`[]`, `[1, 2]`}},
	{"tuple_cut", `{"prefixItems": [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}], "maxItems": 2}`, []string{`[1, "a"]`}, []string{`[1, "a", true]`}},
	{"tuple_cut_least", `{"prefixItems": [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}], "minItems": 0, "maxItems": 2}`, []string{`[]`, `[1]`, `[1, "a"]`}, []string{`[1, "a", true]`}},
	{"tuple_closed", `{"prefixItems": [{"type": "integer"}], "items": false, "maxItems": 5}`, []string{`[1]`}, []string{`[1, 2]`}},
	{"tuple_least_more", `{"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}, "minItems": 3}`, []string{`[1, true, false]`, `[1, true, false, true]`}, []string{`[1]`, `[1, true]`}},
	{"tuple_long", `{"prefixItems": [{"type": "integer"},` + strings.Repeat(` {"type": "integer"},`, 18) + ` {"type": "boolean"}], "minItems": 0}`, []string{`[]`, `[1]`, `[1` + strings.Repeat(",2", 18) + `,true]`, `[1` + strings.Repeat(",2", 16) + `]`}, []string{`[1` + strings.Repeat(",2", 19) + `]`}},
	{"object_least_of_many", `{"properties": {"p0": {"type": "integer"}` + manyProperties(40) + `}, "minProperties": 1}`, []string{`{"p0": 1}`, `{"p3": 1, "p39": 2}`}, []string{`{}`}},
	{"object_most_of_all", `{"properties": {"a": {}, "b": {}}, "additionalProperties": {"type": "integer"}, "maxProperties": 2}`, []string{`{"a": "x", "b": 1}`, `{"a": "x", "c": 1}`, `{"c": 1, "d": 2}`}, []string{`{"a": 1, "b": 2, "c": 3}`}},
	{"object_of_most", `{"additionalProperties": {"type": "integer"}, "maxProperties": 2}`, []string{`{}`, `{"x": 1, "y": 2}`}, []string{`{"x": 1, "y": 2, "z": 3}`}},
	{"object_of_some", `{"additionalProperties": {"type": "integer"}, "minProperties": 2, "maxProperties": 3}`, []string{`{"x": 1, "y": 2}`, `{"x": 1, "y": 2, "z": 3}`}, []string{`{}`, `{"x": 1}`, `{"a": 1, "x": 1, "y": 2, "z": 3}`}},
	{"object_of_none", `{"additionalProperties": {"type": "integer"}, "maxProperties": 0}`, []string{`{}`}, []string{`{"x": 1}`}},
	{"number_zero", `{"type": "number", "maximum": 0}`, []string{`0`, `-0.5`, `-3`}, []string{`0.1`, `1`}},
	{"number_below_zero", `{"type": "number", "exclusiveMaximum": 0}`, []string{`-0.5`, `-3`}, []string{`0`, `0.0`, `1`}},
	{"number_from_to_zero", `{"type": "number", "minimum": -0.5, "maximum": 0}`, []string{`-0.5`, `0`, `-0.25`}, []string{`-0.6`, `0.1`}},
	{"number_one", `{"type": "number", "minimum": 5.5, "maximum": 5.5}`, []string{`5.5`, `5.50`}, []string{`5`, `5.4`, `5.51`}},
	{"number_whole", `{"type": "number", "minimum": 5, "maximum": 5}`, []string{`5`, `5.0`}, []string{`4`, `5.1`}},
	{"number_narrow", `{"type": "number", "minimum": 0.125, "maximum": 0.126}`, []string{`0.125`, `0.126`, `0.1255`}, []string{`0.124`, `0.127`, `0.1261`}},
	{"number_within", `{"type": "number", "exclusiveMinimum": 1.1, "exclusiveMaximum": 1.2}`, []string{`1.11`, `1.19`}, []string{`1.1`, `1.2`, `1.10`, `1.20`}},
	{"number_above_long", `{"type": "number", "exclusiveMinimum": 0.1, "maximum": 0.11}`, []string{`0.11`, `0.101`}, []string{`0.1`, `0.10`, `0.111`}},
	{"number_tiny", `{"type": "number", "minimum": 0.0000001, "maximum": 0.0000002}`, []string{`0.0000001`, `0.00000015`, `0.0000002`}, []string{`0`, `0.0000003`}},
	{"number_long", `{"type": "number", "maximum": 0.00000000000000000000000000000000000000000000001}`, []string{`0`, `-0.5`}, []string{`1`, `0.1`}},
	{"number_exclusive_narrow", `{"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 0.50001}`, []string{`0.500001`, `0.500005`}, []string{`0.5`, `0.50001`, `0.50002`}},
	{"integer_to_zero", `{"type": "integer", "maximum": 0}`, []string{`0`, `-7`}, []string{`1`}},
	{"pattern_long", `{"pattern": "^a{1,3}$", "maxLength": 2}`, []string{`"a"`, `"aa"`}, []string{`""`, `"aaa"`}},
	{"pattern_short", `{"pattern": "^[ab]{1,3}$", "maxLength": 10}`, []string{`"a"`, `"abb"`}, []string{`""`, `"aaaa"`}},
	{"pattern_words", `{"pattern": "^[^a]\\D\\S\\W$"}`, []string{`"bbb-"`, `"é x!"`}, []string{`"abb-"`, `"b1b-"`}},
	{"ref_recursive", `{"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["v", "next"]}`, []string{`{"v": 1, "next": null}`, `{"v": 1, "next": {"v": 2, "next": null}}`}, []string{`{"v": 1}`, `{"v": 1, "next": {}}`}},
}

// manyProperties are declarations of p1 and so on.
func manyProperties(n int) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `, "p%d": {"type": "integer"}`, i)
	}
	return b.String()
}

// TestCountedProperties bounds the number of so many properties that the grammar does not count
// them: it takes one at least.
func TestCountedProperties(t *testing.T) {
	for _, tt := range []struct{ n, least int }{{40, 35}, {80, 30}} {
		g := fromSchema(t, fmt.Sprintf(`{"properties": {"p0": {"type": "integer"}%s}, "minProperties": %d}`, manyProperties(tt.n), tt.least))
		if accepts(t, g, "{}") || !accepts(t, g, `{"p0": 1}`) {
			t.Errorf("%d of %d properties: none is enough, or one is not", tt.least, tt.n)
		}
	}
	b := gbnf.NewBuilder()
	g, err := b.Grammar(b.Value("v", nil, gbnf.Codec{}))
	if err != nil || !accepts(t, g, `[1, "a"]`) {
		t.Errorf("no schema is not any value: %v", err)
	}
}

func TestSchemas(t *testing.T) {
	for _, tt := range schemas {
		t.Run(tt.name, func(t *testing.T) {
			g := fromSchema(t, tt.schema)
			for _, s := range tt.accept {
				if !accepts(t, g, s) {
					t.Errorf("%s is not accepted by\n%s", s, g)
				}
			}
			for _, s := range tt.reject {
				if accepts(t, g, s) {
					t.Errorf("%s is accepted by\n%s", s, g)
				}
			}
			samples(t, tt.schema, 100, 1)
		})
	}
}

// samples checks that the texts of a schema's grammar are JSON and satisfy the schema, and that the
// grammar prints and reads back.
func samples(t *testing.T, text string, n int, seed int64) {
	t.Helper()
	s := readSchema(t, text)
	g, err := gbnf.FromSchema(s)
	if err != nil {
		return // no value satisfies it
	}
	if again := parse(t, g.String()); !gbnf.Equal(g, again) {
		t.Fatalf("printed and read again:\n%s\nfrom\n%s", again, g)
	}
	sampler, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		sample, err := sampler.Sample()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if m.Reset(); !m.AcceptString(sample) || !m.Done() {
			t.Fatalf("sample %s of %s is not accepted by\n%s", sample, text, g)
		}
		v, err := ordered.ParseString(sample)
		if err != nil {
			t.Fatalf("sample %s of %s: %v\n%s", sample, text, err, g)
		}
		if err := s.Validate(v); err != nil {
			t.Fatalf("sample %s of %s: %v\n%s", sample, text, err, g)
		}
	}
}

func TestRandomSchemas(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	for range 300 {
		text := randomSchema(rng, 3)
		samples(t, text, 20, seed)
	}
}

func randomSchema(rng *rand.Rand, depth int) string {
	number := func() string {
		return fmt.Sprintf("%.*f", rng.Intn(4),
			rng.NormFloat64()*float64([]int{1, 10, 1000, 100000}[rng.Intn(4)]))
	}
	pick := func(options ...string) string { return options[rng.Intn(len(options))] }
	if depth > 0 {
		switch rng.Intn(6) {
		case 0:
			return fmt.Sprintf(`{"%s": [%s, %s]}`, pick("anyOf", "oneOf"), randomSchema(rng, depth-1), randomSchema(rng, depth-1))
		case 1:
			var parts []string
			if rng.Intn(2) == 0 {
				parts = append(parts, `"items": `+randomSchema(rng, depth-1))
			}
			lo := rng.Intn(3)
			parts = append(parts, `"type": "array"`, fmt.Sprintf(`"minItems": %d`, lo), fmt.Sprintf(`"maxItems": %d`, lo+rng.Intn(3)))
			return "{" + strings.Join(parts, ", ") + "}"
		case 2, 3:
			var props, required []string
			n := rng.Intn(5)
			for i := range n {
				props = append(props, fmt.Sprintf(`"%s%d": %s`, pick("a", "ab", "é", "x y"), i, randomSchema(rng, depth-1)))
				if rng.Intn(2) == 0 {
					name, _, _ := strings.Cut(props[i][1:], `"`)
					required = append(required, `"`+name+`"`)
				}
			}
			extra := pick("", `, "additionalProperties": false`, `, "additionalProperties": {"type": "integer"}`, `, "additionalProperties": true`,
				fmt.Sprintf(`, "minProperties": %d`, rng.Intn(n+1)), fmt.Sprintf(`, "maxProperties": %d`, rng.Intn(n+2)))
			return fmt.Sprintf(`{"type": "object", "properties": {%s}, "required": [%s]%s}`, strings.Join(props, ", "), strings.Join(required, ", "),
				extra)
		case 4:
			return fmt.Sprintf(`{"allOf": [%s, %s]}`, randomSchema(rng, 0), pick(`{}`, `{"type": ["integer", "string"]}`, `{"minimum": 3}`, `{"maximum": 7.5, "title": "x"}`))
		}
	}
	lo, hi := number(), number()
	return pick(`{}`, `{"type": "string"}`, `{"type": "boolean"}`, `{"type": ["null", "number"]}`, `{"type": "integer"}`, `{"enum": ["a", 1, null, ["x"]]}`,
		fmt.Sprintf(`{"type": "%s", "minimum": %s}`, pick("integer", "number"), lo),
		fmt.Sprintf(`{"type": "%s", "exclusiveMaximum": %s}`, pick("integer", "number"), hi),
		fmt.Sprintf(`{"type": "%s", "%s": %s, "%s": %s}`, pick("integer", "number"), pick("minimum", "exclusiveMinimum"), lo, pick("maximum", "exclusiveMaximum"), hi),
		fmt.Sprintf(`{"type": "string", "minLength": %d, "maxLength": %d}`, rng.Intn(3), 2+rng.Intn(3)),
		fmt.Sprintf(`{"type": "string", "pattern": "%s"}`, pick("^[a-z]+$", "a|b", "^(x|yz){2,3}$", "\\\\d+", "^[^a]*$", ".")),
		fmt.Sprintf(`{"type": "string", "format": "%s"}`, pick("date", "time", "date-time", "uuid", "ipv4", "duration", "email")))
}

// Every integer near the bounds is accepted exactly if it is in range.
func TestIntegerRanges(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	for range 300 {
		lo := rng.Intn(3000) - 1500
		hi := lo + rng.Intn(1<<uint(rng.Intn(12)))
		keywords := []string{fmt.Sprintf(`"minimum": %d`, lo), fmt.Sprintf(`"maximum": %d`, hi)}
		from, to := lo, hi
		switch rng.Intn(4) {
		case 0:
			keywords, to = keywords[:1], 1<<30
		case 1:
			keywords, from = keywords[1:], -1<<30
		}
		g := fromSchema(t, `{"type": "integer", `+strings.Join(keywords, ", ")+`}`)
		m, _ := gbnf.NewMatcher(g)
		for _, around := range []int{lo, hi, 0, 10, -10, 100, -100, 1000, -1000, (lo + hi) / 2,
			99999, -99999} {
			for i := around - 12; i <= around+12; i++ {
				m.Reset()
				m.AcceptString(fmt.Sprint(i))
				if want := i >= from && i <= to; m.Done() != want {
					t.Fatalf("%s: %d accepted: %v\n%s", keywords, i, m.Done(), g)
				}
			}
		}
	}
}

// Prose never changes a grammar.
func TestProseDoesNotMatter(t *testing.T) {
	prose := `"title": "T", "description": "one of \"a\" or | [b] ::= c\n#", "examples": [{"x": 1}], "default": "zzz", "$comment": "c", "deprecated": true, `
	for _, tt := range schemas {
		plain, err := gbnf.FromSchema(readSchema(t, tt.schema))
		if !strings.HasPrefix(tt.schema, "{") || tt.schema == "{}" || err != nil {
			continue
		}
		with := strings.ReplaceAll(tt.schema, `{"type"`, `{`+prose+`"type"`)
		if tt.name != "const" {
			with = "{" + prose + strings.TrimPrefix(with, "{")
		}
		if g := fromSchema(t, with); g.String() != plain.String() {
			t.Errorf("%s: with prose\n%swithout\n%s", tt.name, g, plain)
		}
	}
}

func TestCodecs(t *testing.T) {
	raw := gbnf.Codec{Raw: true, Stops: []string{"\n</parameter>", "</parameter>"}}
	python := gbnf.Codec{Style: gbnf.Python}
	quote := gbnf.Codec{Quote: `<|"|>`, BareKeys: true}
	entity := gbnf.Codec{Raw: true, Entity: true, Stops: []string{"</p>"}}
	for _, tt := range []struct {
		name           string
		codec          gbnf.Codec
		schema         string
		accept, reject []string
	}{
		{"raw_string", raw, `{"type": "string"}`, []string{``, `a "b" <c>`, "x\n\n</para", `{"a": 1}`}, []string{`x</parameter>`, "a\n</parameter>b"}},
		{"raw_enum", raw, `{"enum": ["celsius", "a \"b\"", 3]}`, []string{`celsius`, `a "b"`, `3`}, []string{`"celsius"`, `kelvin`}},
		{"raw_integer", raw, `{"type": "integer"}`, []string{`42`}, []string{`"42"`, `x`}},
		{"raw_union", raw, `{"type": ["string", "object"]}`, []string{`{not json`, `{"a": 1}`, `x`}, []string{`</parameter>`}},
		{"raw_null_union", raw, `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, []string{`null`, `text`}, []string{`</parameter>`}},
		{"raw_any", raw, `{}`, []string{`1`, `text`, `[1]`}, []string{`</parameter>`}},
		{"raw_pattern", raw, `{"pattern": "^<[a-z]+>$"}`, []string{`<ab>`}, []string{`ab`}},
		{"raw_lark", raw, `{"x-lark": "start: \"(\" start? \")\""}`, []string{`(())`, `()`}, []string{`(()`, `"()"`}},
		{"raw_pattern_wide", raw, `{"pattern": "^.+$"}`, []string{`ab`}, []string{`a</parameter>`}},
		{"raw_lengths", raw, `{"minLength": 2, "maxLength": 4}`, []string{`ab`, `<a<b`}, []string{`a`, `abcde`}},
		{"raw_length_large", raw, `{"type": "string", "maxLength": 5000}`, []string{`ab`, `<a<b`}, []string{`</parameter>`}},
		{"raw_object_is_json", raw, `{"properties": {"a": {"type": "string"}}}`, []string{`{"a": "x"}`}, []string{`{"a": x}`}},
		{"python_string", python, `{"type": "string"}`, []string{`'a'`, `"a"`, `'it\'s'`, `"it's \x41\u00e9"`}, []string{`a`, `'a"`, "'a\nb'"}},
		{"python_words", python, `{"type": ["boolean", "null"]}`, []string{`True`, `False`, `None`, `true`, `null`}, []string{`TRUE`}},
		{"python_nested", python, `{}`, []string{`{'a': [1, "b", None, {}], "c": True}`}, []string{`{a: 1}`}},
		{"python_enum", python, `{"enum": ["it's", "b"]}`, []string{`'it\'s'`, `"it's"`, `'b'`}, []string{`b`}},
		{"quote_object", quote, `{"properties": {"key": {"type": "string"}, "n": {"type": "integer"}}}`, []string{`{key:<|"|>a "quoted" text<|"|>,n:3}`}, []string{`{"key": "a"}`, `{key:"a"}`}},
		{"quote_any", quote, `{}`, []string{`[<|"|>a<|"|>,{k-1:true}]`}, []string{`"a"`, `{"k":1}`}},
		{"quote_additional", quote, `{"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}`, []string{`{a:null,b:1}`, `{ab:1}`}, []string{`{a:null,a:1}`, `{:1}`}},
		{"raw_union_of_values", raw, `{"anyOf": [{"type": "integer"}, {"type": "array"}]}`, []string{`1`, `[1]`}, []string{`x`, `{}`}},
		{"raw_union_with_enum", raw, `{"anyOf": [{"enum": ["a", "b"]}, {"type": "integer"}]}`, []string{`a`, `1`}, []string{`c`}},
		{"python_pattern", python, `{"pattern": "^[^a]\\D.$"}`, []string{`'bcd'`, `"b'c"`}, []string{`'abc'`, `'b1c'`}},
		{"python_lengths", python, `{"minLength": 1, "maxLength": 2}`, []string{`'ab'`, `"é"`}, []string{`''`, `'abc'`}},
		{"python_const", python, `{"const": {"a": [true, null, "x"], "b": {}}}`, []string{`{'a': [True, None, "x"], 'b': {}}`}, []string{`{'a': [true]}`}},
		{"python_additional", python, `{"properties": {"a": {}}, "additionalProperties": {"type": "boolean"}}`, []string{`{'b': True}`, `{'a': 1, "ab": False}`}, []string{`{'b': 1}`}},
		{"quote_const", quote, `{"const": {"a": ["x", 1, false, []]}}`, []string{`{a:[<|"|>x<|"|>,1,false,[]]}`}, []string{`{a:["x",1,false,[]]}`}},
		{"quote_enum", quote, `{"enum": ["x", 2]}`, []string{`<|"|>x<|"|>`, `2`}, []string{`"x"`, `x`}},
		{"quote_pattern", quote, `{"pattern": "^[a-c]+$"}`, []string{`<|"|>abc<|"|>`}, []string{`<|"|>d<|"|>`, `"a"`}},
		{"quote_keys", gbnf.Codec{Quote: "`"}, `{"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}`, []string{"{`a`: `x`, `b`: 1}"}, []string{"{a: `x`}", "{\"a\": `x`}"}},
		{"quote_lengths", quote, `{"type": "string", "maxLength": 2}`, []string{`<|"|>ab<|"|>`}, []string{`<|"|>abc<|"|>`}},
		{"entity", entity, `{"type": "string"}`, []string{`a &lt;b&gt; &amp;`}, []string{`a<b`, `&x`}},
		{"entity_enum", entity, `{"enum": ["a<b"]}`, []string{`a&lt;b`}, []string{`a<b`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := gbnf.NewBuilder()
			g, err := b.Grammar(b.Value("v", readSchema(t, tt.schema), tt.codec))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.accept {
				if !accepts(t, g, s) {
					t.Errorf("%s is not accepted by\n%s", s, g)
				}
			}
			for _, s := range tt.reject {
				if accepts(t, g, s) {
					t.Errorf("%s is accepted by\n%s", s, g)
				}
			}
			sampler, err := gbnf.NewSampler(g, rand.New(rand.NewSource(1)))
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if sample, err := sampler.Sample(); err != nil || !accepts(t, g, sample) {
					t.Fatalf("sample %s: %v\n%s", sample, err, g)
				}
			}
		})
	}
}

func TestSchemaGrammarText(t *testing.T) {
	const want = `root ::= document ws
document ::= "{" ws name-kv (ws "," ws age-kv)? rest "}"
ws ::= "" | " " | "\n" [\t ]{0,40}
name-kv ::= "\"name\"" ws ":" ws string
age-kv ::= "\"age\"" ws ":" ws age
rest ::= (ws "," ws tags-kv)? ws
string ::= "\"" char* "\""
age ::= [0-9] | [1-9] [0-9] | "1" ([0-4] [0-9] | "50")
tags-kv ::= "\"tags\"" ws ":" ws tags
char ::= [^\x00-\x1F"\\] | "\\" (["/\\bfnrt] | "u" unicode)
tags ::= "[" ws (string (ws "," ws string)* ws)? "]"
unicode ::= [0-9A-CEFa-cef] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2} | [Dd] [89ABab] [0-9A-Fa-f]{2} "\\u" [Dd] [C-Fc-f] [0-9A-Fa-f]{2}
`
	g := fromSchema(t, `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
		"tags": {"type": "array", "items": {"type": "string"}}}, "required": ["name"]}`)
	if g.String() != want {
		t.Errorf("got\n%swant\n%s", g, want)
	}
}

func TestImpossibleSchemas(t *testing.T) {
	for _, text := range []string{`false`, `{"type": "string", "enum": [1]}`, `{"type": "array", "minItems": 3, "maxItems": 2}`, `{"type": "integer", "minimum": 3, "maximum": 2}`,
		`{"type": "object", "properties": {"a": false}, "required": ["a"]}`, `{"type": "string", "minLength": 3, "maxLength": 1}`, `{"allOf": [{"type": "string"}, {"type": "integer"}]}`,
		`{"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1}`, `{"type": "number", "minimum": 1, "exclusiveMaximum": 1}`, `{"prefixItems": [{}], "items": false, "minItems": 3}`,
		`{"type": "object", "maxProperties": 1, "minProperties": 2}`, `{"pattern": "^a{3}$", "maxLength": 2}`, `{"pattern": "^[ab]{3,}$", "maxLength": 2}`} {
		if g, err := gbnf.FromSchema(readSchema(t, text)); err == nil ||
			err.Error() != "grammar: no text can match" {
			t.Errorf("%s: %v\n%v", text, err, g)
		}
	}
	const endless = `{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`
	if _, err := gbnf.FromSchema(readSchema(t, endless)); err == nil ||
		!strings.Contains(err.Error(), "never ends") {
		t.Errorf("%s: %v", endless, err)
	}
}

func TestHostileSchemas(t *testing.T) {
	var enum, props, words []string
	for i := range 15000 {
		enum = append(enum, fmt.Sprintf(`"value-%d"`, i*7919))
	}
	for i := range 2000 {
		props = append(props, fmt.Sprintf(`"property-%d": {"type": "string"}`, i))
		words = append(words, fmt.Sprintf(`"property-%d": "x"`, i))
	}
	deep := strings.Repeat(`{"type": "array", "items": `, 400) + `{}` + strings.Repeat("}", 400)
	for _, tt := range []struct{ name, schema, accept string }{
		{"enum", `{"enum": [` + strings.Join(enum, ",") + `]}`, enum[14999]},
		{"properties", `{"properties": {` + strings.Join(props, ",") + `}, "additionalProperties": true}`, "{" + strings.Join(words, ", ") + "}"},
		{"deep", deep, strings.Repeat("[", 400) + strings.Repeat("]", 400)},
		{"counts", `{"type": "array", "minItems": 0, "maxItems": 1000000, "items": {"maxLength": 100000}}`, `["a", "b"]`},
		{"pattern", `{"pattern": "^(((a{0,1000}){0,1000}){0,1000}){0,1000}$"}`, `"aaa"`},
		{"long_key", `{"properties": {"` + strings.Repeat("k", 100000) + `": {}}, "additionalProperties": true}`, `{"kk": 1}`},
		{"long_const", `{"const": "` + strings.Repeat("k", 1000000) + `"}`, `"` + strings.Repeat("k", 1000000) + `"`},
		{"long_bound", `{"type": "integer", "minimum": ` + strings.Repeat("1", 300) + `}`, strings.Repeat("2", 300)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := fromSchema(t, tt.schema)
			if !accepts(t, g, tt.accept) {
				t.Error("not accepted")
			}
			if again := parse(t, g.String()); !gbnf.Equal(g, again) {
				t.Error("reads back as another grammar")
			}
		})
	}
}

func FuzzSchema(f *testing.F) {
	for _, tt := range schemas {
		f.Add(tt.schema, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		v, err := ordered.ParseString(text)
		if err != nil || len(text) > 500 {
			return
		}
		s, err := schema.Parse(v)
		if err != nil {
			return
		}
		g, err := gbnf.FromSchema(s)
		if err != nil {
			return
		}
		if again, err := gbnf.ParseString(g.String()); err != nil || !gbnf.Equal(g, again) {
			t.Fatalf("%v: printed and read again:\n%s", err, g)
		}
		sampler, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
		if err != nil {
			return
		}
		sampler.Max = 60
		sample, err := sampler.Sample()
		if err != nil || len(sample) > 2000 {
			return
		}
		if ok, err := gbnf.Accepts(g, sample); !ok && err == nil {
			t.Fatalf("sample %s is not accepted by\n%s", sample, g)
		}
		if _, err := ordered.ParseString(sample); err != nil {
			t.Fatalf("sample %s: %v\n%s", sample, err, g)
		}
	})
}

const toolSchema = `{"type": "object", "properties": {"location": {"type": "string", "description": "City"}, "unit": {"enum": ["celsius", "fahrenheit"]},
	"days": {"type": "integer", "minimum": 1, "maximum": 14}, "options": {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "array", "items": {"type": "number"}}}}}, "required": ["location"]}`

func BenchmarkFromSchema(b *testing.B) {
	s := readSchema(b, toolSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gbnf.FromSchema(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSchema(b *testing.B) {
	v, err := ordered.ParseString(toolSchema)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Parse(v); err != nil {
			b.Fatal(err)
		}
	}
}
