package stream_test

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

// nestedParameters are arguments that a spelling in tags nests, with and without a schema for their
// inside.
var nestedParameters = []string{
	`{"type": "object", "properties": {"o": {"type": "object"}}, "required": ["o"]}`,
	`{"type": "object", "properties": {"l": {"type": "array"}}, "required": ["l"]}`,
	`{"type": "object", "properties": {"x": {}}, "required": ["x"]}`,
	`{"type": "object", "properties": {"x": {"type": ["object", "array"]}}, "required": ["x"]}`,
	`{"type": "object", "properties": {"x": {"type": ["object", "integer", "null"]}}, "required": ["x"]}`,
	`{"type": "object", "properties": {"x": {"type": ["string", "object"]}}, "required": ["x"]}`,
	`{"type": "object", "properties": {"in": {"type": "object", "properties": {"o": {"type": "object"}, "n": {"type": "number"}, "l": {"type": "array", "items": {"type": "object"}}}, "required": ["o"]}}, "required": ["in"]}`,
	`{"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}}, "required": ["m"]}`,
	`{"type": "object", "properties": {"ll": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}, "minItems": 1}}, "required": ["ll"]}`,
	`{"type": "object", "properties": {"item": {"type": "object", "properties": {"item": {"type": "string"}}}}, "required": ["item"]}`,
}

// TestNestedSamples draws calls whose arguments nest in tags: whatever the grammar lets a model
// write in them, the keys of its choice in tags that no schema declares too, is read as a complete
// call that satisfies its schema (E21).
func TestNestedSamples(t *testing.T) {
	at := slices.IndexFunc(forms, func(f form) bool { return f.name == "nested tags" })
	snippets := []string{"~[<item>", "~[</item>", "~[<a>", "~[</b>", "~[<o>", "~[</o>", "~[</x>",
		"~[<", "~[</", "1", "\n", "{", "[]", "~[<a>~[</b>", "~[<item>x~[</item>", "~[<item>x~[</a>",
		"~[<a>x~[</item>"}
	for _, text := range nestedParameters {
		parameters := schemaValue(t, text)
		s, err := schema.Parse(parameters)
		if err != nil {
			t.Fatal(err)
		}
		o := usual("")
		o.Tools, o.Choice.Mode, o.Parallel = []chat.Tool{{Name: "f", Parameters: parameters}},
			chat.ChoiceRequired, false
		out := generate(t, forms[at].f, o)
		g := grammar(t, out)
		matcher, err := gbnf.NewMatcher(g)
		if err != nil {
			t.Fatal(err)
		}
		judge := func(sentence string) {
			p, m := read(t, out, sentence)
			if len(m.ToolCalls) != 1 || !m.ToolCalls[0].Complete {
				t.Fatalf("%s: %q: %+v %s", text, sentence, m, p.Diagnostics())
			}
			v, err := ordered.ParseString(m.ToolCalls[0].Arguments)
			if err == nil {
				err = s.Validate(v)
			}
			if err != nil {
				t.Fatalf("%s: %q: arguments %s: %v", text, sentence, m.ToolCalls[0].Arguments, err)
			}
			if _, again := read(t, out, bytesOf(sentence)...); len(again.ToolCalls) != 1 ||
				again.ToolCalls[0] != m.ToolCalls[0] {
				t.Fatalf("%q: byte by byte %+v", sentence, again)
			}
		}
		for seed := range int64(30) {
			random := rand.New(rand.NewSource(seed))
			sampler, err := gbnf.NewSampler(g, random)
			if err != nil {
				t.Fatal(err)
			}
			sampler.Max = 120
			sentence, err := sampler.Sample()
			if err != nil {
				t.Fatal(err)
			}
			judge(sentence)
			from := strings.Index(sentence, "~[<invoke")
			for range 20 {
				n := from + random.Intn(len(sentence)-from+1)
				changed := sentence[:n] + snippets[random.Intn(len(snippets))] + sentence[n:]
				if matcher.Reset(); matcher.AcceptString(changed) && matcher.Done() {
					judge(changed)
				}
			}
		}
	}
}
