package stream_test

import (
	"math/rand"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
)

func grammar(t testing.TB, out *codegen.Output) *gbnf.Grammar {
	t.Helper()
	g, err := out.Grammar()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func accepts(t testing.TB, g *gbnf.Grammar, text string) bool {
	t.Helper()
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		t.Fatal(err)
	}
	return m.AcceptString(text) && m.Done()
}

// checkCalls validates calls by the schemas of the tools.
func checkCalls(t testing.TB, text string, m chat.Message, parallel bool) {
	t.Helper()
	if len(m.ToolCalls) == 0 || !parallel && len(m.ToolCalls) > 1 {
		t.Fatalf("%q has %d calls: %+v", text, len(m.ToolCalls), m)
	}
	for _, c := range m.ToolCalls {
		v, err := ordered.ParseString(c.Arguments)
		if err != nil || !c.Complete {
			t.Fatalf("%q: arguments %q: %v", text, c.Arguments, err)
		}
		for _, tool := range tools {
			if tool.Name != c.Name {
				continue
			}
			s, err := schema.Parse(tool.Parameters)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); err != nil {
				t.Fatalf("%q: arguments %s of %s: %v", text, c.Arguments, c.Name, err)
			}
		}
	}
}

// TestSamples draws sentences from the grammar of every form: the parser reads calls in them that
// satisfy their schemas (E21), in one go and byte by byte.
func TestSamples(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			for _, parallel := range []bool{false, true} {
				o := usual("")
				o.Choice.Mode, o.Parallel = chat.ChoiceRequired, parallel
				out := generate(t, form.f, o)
				g := grammar(t, out)
				for seed := range int64(40) {
					s, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
					if err != nil {
						t.Fatal(err)
					}
					text, err := s.Sample()
					if err != nil {
						t.Fatal(err)
					}
					_, m := read(t, out, text)
					checkCalls(t, text, m, parallel)
					if _, again := read(t, out, bytesOf(text)...); again.Content != m.Content ||
						len(again.ToolCalls) != len(m.ToolCalls) {
						t.Fatalf("%q: %+v byte by byte, %+v in one go", text, again, m)
					}
				}
			}
		})
	}
}

// TestTriggers checks that outputs with calls arm the lazy grammars, and that these take the rest.
func TestTriggers(t *testing.T) {
	for _, form := range forms {
		called := slices.IndexFunc(form.cases,
			func(c turn) bool { return len(c.want.ToolCalls) > 0 })
		if called < 0 {
			continue
		}
		t.Run(form.name, func(t *testing.T) {
			c := form.cases[called]
			out := generate(t, form.f, usual(c.prefill))
			text := c.output
			if out.Lazy {
				at := -1
				for _, trigger := range out.Triggers {
					if !trigger.Pattern {
						if i := strings.Index(text, trigger.Text); i >= 0 && (at < 0 || i < at) {
							at = i
						}
					} else if m := regexp.MustCompile(trigger.Text).
						FindStringSubmatchIndex(text); m != nil && (at < 0 || m[2] < at) {
						at = m[2]
					}
				}
				if at < 0 {
					t.Fatalf("%q: none of %+v", text, out.Triggers)
				}
				text = text[at:]
			}
			if g := grammar(t, out); !accepts(t, g, text) {
				t.Errorf("lazy %t: the grammar does not take %q\n%s", out.Lazy, text, g)
			}
		})
	}
}

// TestAnswerSamples does the same for answers in JSON.
func TestAnswerSamples(t *testing.T) {
	want, err := ordered.ParseString(`{"type": "object", "properties": {"amount": {"type": "number"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["amount"]}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			out := generate(t, form.f,
				codegen.Options{Tolerances: codegen.Usual, JSONSchema: want, HasJSONSchema: true})
			if out.Lazy {
				t.Fatal("the grammar of a JSON answer must not wait")
			}
			g := grammar(t, out)
			for seed := range int64(20) {
				sampler, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
				if err != nil {
					t.Fatal(err)
				}
				text, err := sampler.Sample()
				if err != nil {
					t.Fatal(err)
				}
				_, m := read(t, out, text)
				v, err := ordered.ParseString(m.Content)
				if err != nil {
					t.Fatalf("%q: content %q: %v", text, m.Content, err)
				}
				if err := s.Validate(v); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
			}
		})
	}
}

// TestGrammarForbids checks that a grammar allows none of these texts.
func TestGrammarForbids(t *testing.T) {
	f := forms[0].f
	call := "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"
	table := []struct {
		name   string
		change func(*codegen.Options)
		text   string
		want   bool
	}{
		{"nothing where a call is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, "Hello.", false},
		{"a call where one is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, "Hello. " + call, true},
		{"as much text before a call that is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, strings.Repeat("é", 400) + call, true},
		{"more text before a call that is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, strings.Repeat("é", 401) + call, false},
		{"as much text after a call that was due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, call + strings.Repeat("é", 400), true},
		{"more text after a call that was due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, call + strings.Repeat("é", 402), false},
		{"any text after a call that was free", func(o *codegen.Options) {}, call + strings.Repeat("é", 402), true},
		{"any reasoning before a call that is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, "<think>\n" + strings.Repeat("é", 1000) + "\n</think>\nSo: " + call, true},
		{"the end inside reasoning where a call is due", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, "<think>\nhm", false},
		{"two calls where one is allowed", func(o *codegen.Options) { o.Parallel, o.Choice.Mode = false, chat.ChoiceRequired }, call + "\n" + call, false},
		{"two calls where several are", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, call + "\n" + call, true},
		{"another function than the named one", func(o *codegen.Options) { o.Choice = chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "get"} }, call, false},
		{"the named function", func(o *codegen.Options) { o.Choice = chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "ping"} }, call, true},
		{"a function that is not declared", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, strings.Replace(call, "ping", "pong", 1), false},
		{"arguments of the wrong type", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceRequired }, strings.Replace(strings.Replace(call, "ping", "get", 1), "{}", `{"n": "x"}`, 1), false},
		{"text after a JSON answer", func(o *codegen.Options) { o.HasJSONSchema, o.Tools = true, nil }, `{"a": 1} and so on`, false},
		{"a JSON answer in a fence", func(o *codegen.Options) { o.HasJSONSchema, o.Tools = true, nil }, "```json\n{\"a\": 1}\n```", true},
		{"a call instead of a JSON answer", func(o *codegen.Options) { o.HasJSONSchema = true }, call, true},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			o := usual("")
			c.change(&o)
			g := grammar(t, generate(t, f, o))
			if got := accepts(t, g, c.text); got != c.want {
				t.Errorf("%q: %t, want %t\n%s", c.text, got, c.want, g)
			}
		})
	}
}

// TestIDs holds a grammar to the ids that a template takes; the parser reads others as well, and
// reports them.
func TestIDs(t *testing.T) {
	for _, c := range []struct {
		name string
		ids  format.IDs
		id   string
		want bool
	}{
		{"any", format.IDs{}, "call_0123-abc", true},
		{"as long as it must be", format.IDs{Min: 9, Max: 9}, "call-0.1_", true},
		{"too short", format.IDs{Min: 9, Max: 9}, "call0001", false},
		{"too long", format.IDs{Min: 9, Max: 9}, "call000001", false},
		{"characters that count as one each", format.IDs{Min: 9, Max: 9}, "caléé0001", false},
		{"within bounds", format.IDs{Characters: "-0-9a-f", Min: 2, Max: 40}, "0-ff", true},
		{"another character", format.IDs{Characters: "-0-9a-f", Max: 40}, "0_ff", false},
	} {
		spelled := format.Format{End: []string{"<|end|>"}, Calls: []format.Calls{{
			Head: []format.Part{format.Lit("[CALL]"), {Kind: format.SlotName}, format.Lit("[ID]"),
				{Kind: format.SlotID, IDs: c.ids}, format.Lit("[ARGS]")},
			Body: format.Body{Kind: format.BodyJSON}}}}
		keyed := format.Format{End: []string{"<|end|>"}, Calls: []format.Calls{{
			Call: format.Pair{Open: format.Mark("<call>"), Close: format.Mark("</call>")},
			Object: &format.Object{Fields: []format.Field{
				{Path: []string{"name"}, Slot: format.SlotName},
				{Path: []string{"arguments"}, Slot: format.SlotArgs},
				{Path: []string{"id"}, Slot: format.SlotID, IDs: c.ids}}}}}}
		for _, call := range []struct {
			f    format.Format
			text string
		}{
			{spelled, "[CALL]ping[ID]" + c.id + "[ARGS]{}"},
			{keyed, `<call>{"name": "ping", "arguments": {}, "id": "` + c.id + `"}</call>`},
		} {
			o := usual("")
			o.Choice.Mode = chat.ChoiceRequired
			out := generate(t, call.f, o)
			if got := accepts(t, grammar(t, out), call.text); got != c.want {
				t.Errorf("%s: the grammar accepts %q: %t, want %t", c.name, call.text, got, c.want)
			}
			p, _ := read(t, out, call.text)
			m := p.Message()
			if len(m.ToolCalls) != 1 || m.ToolCalls[0].ID != c.id {
				t.Errorf("%s: %q is read as %v", c.name, call.text, m)
			}
			d := p.Diagnostics()
			if foreign := !c.ids.Has(c.id); foreign != (len(d) == 1 && d[0].Kind == "foreign-id" &&
				d[0].Text == c.id && call.text[d[0].Off:d[0].Off+len(c.id)] == c.id) {
				t.Errorf("%s: %q has the diagnostics %v", c.name, call.text, d)
			}
		}
	}
}

// TestGrammarOfCDATA holds text in CDATA to the schema, as text outside of it.
func TestGrammarOfCDATA(t *testing.T) {
	body := tagged(`<param name="`, `">`, "</param>", "")
	body.Codec.CDATA = true
	f := calls(format.Calls{Head: []format.Part{lit(`<function name="`), name, lit(`">`)},
		Tail: []format.Part{lit("</function>")}, Body: body})
	schema, err := ordered.ParseString(`{"type": "object", "properties": {
		"unit": {"type": "string", "enum": ["a&b", "c"]}}, "required": ["unit"]}`)
	if err != nil {
		t.Fatal(err)
	}
	o := usual("")
	o.Tools = []chat.Tool{{Name: "f", Parameters: schema}}
	o.Choice.Mode = chat.ChoiceRequired
	g := grammar(t, generate(t, f, o))
	for text, want := range map[string]bool{"<![CDATA[a&b]]>": true, "c": true,
		"<![CDATA[d]]>": false, "<![CDATA[]]>": false, "<![CDATA[c": false} {
		text = `<function name="f"><param name="unit">` + text + "</param></function>"
		if got := accepts(t, g, text); got != want {
			t.Errorf("%q: %t, want %t\n%s", text, got, want, g)
		}
	}
}

// TestLongNames gives arguments names of many bytes, up to more than a parser takes: a text that
// the grammar allows is read.
func TestLongNames(t *testing.T) {
	for _, form := range forms {
		if form.name != "invoke with parameters" {
			continue
		}
		o := usual("")
		o.Choice = chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "ping"}
		out := generate(t, form.f, o)
		g := grammar(t, out)
		taken := 0
		for n := 1; n < 2*codegen.MaxName; n += 7 {
			key := strings.Repeat("日", n)
			text := "<mm:tool_call>\n<invoke name=\"ping\">\n<parameter name=\"" + key + "\">x</parameter>\n</invoke>\n</mm:tool_call>"
			if !accepts(t, g, text) {
				continue
			}
			taken++
			if _, m := read(t, out, text); len(m.ToolCalls) != 1 || !m.ToolCalls[0].Complete || m.ToolCalls[0].Arguments != `{"`+key+`": "x"}` {
				t.Fatalf("a name of %d characters: %+v", n, m)
			}
		}
		if taken == 0 {
			t.Error("no name was taken")
		}
	}
}

func TestStops(t *testing.T) {
	for _, form := range forms {
		if form.name == "message header" {
			if out := generate(t, form.f, usual("")); len(out.Stops) > 0 {
				t.Errorf("stops %q: calls begin with that", out.Stops)
			}
		}
	}
	out := generate(t, forms[0].f, usual(""))
	if len(out.Stops) != 1 || out.Stops[0] != "<|im_end|>" {
		t.Errorf("stops %q", out.Stops)
	}
	for _, want := range []string{"<tool_call>", "</tool_call>", "<think>", "</think>",
		"<|im_end|>"} {
		if !strings.Contains(strings.Join(out.Preserved, " "), want) {
			t.Errorf("preserved %q lack %q", out.Preserved, want)
		}
	}
}

// FuzzTools makes parsers and grammars for any tools: a sentence of the grammar is read as calls of
// them, in one go and in bytes.
func FuzzTools(f *testing.F) {
	var all []string
	for _, tool := range tools {
		all = append(all, tool.Value.String())
	}
	for i := range forms {
		f.Add(i, "["+strings.Join(all, ", ")+"]", int64(i))
	}
	for i, name := range []string{"a", "aa", "a\\u0000b", "\\ud800", "</tool_call>", "\\\"}", " ",
		"get\\nget"} {
		f.Add(i, `[{"function": {"name": "`+name+`", "parameters": {"properties": {"`+name+`": {"type": ["string", "null"]}, "b": {"$ref": "#"}}}}}, {"function": {"name": "a`+name+`"}}]`, int64(i))
	}
	f.Fuzz(func(t *testing.T, which int, text string, seed int64) {
		v, err := ordered.ParseString(text)
		if err != nil || len(text) > 2000 {
			return
		}
		o := usual("")
		o.Tools, o.Choice.Mode, o.Parallel = nil, chat.ChoiceRequired, seed%2 == 0
		for _, item := range v.Items() {
			tool, err := chat.ParseTool(item)
			if err != nil {
				return
			}
			o.Tools = append(o.Tools, tool)
		}
		if len(o.Tools) == 0 {
			return
		}
		out, err := codegen.Generate(forms[uint(which)%uint(len(forms))].f, o)
		if err != nil {
			return
		}
		g, err := out.Grammar()
		if err != nil {
			return
		}
		s, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
		if err != nil {
			return
		}
		s.Max = 300
		sentence, err := s.Sample()
		if err != nil || len(sentence) > 5000 {
			return
		}
		if ok, err := gbnf.Accepts(g, sentence); !ok && err == nil {
			t.Fatalf("the grammar does not take its own sentence %q\n%s", sentence, g)
		}
		_, m := read(t, out, sentence)
		if len(m.ToolCalls) == 0 {
			t.Fatalf("%q has no call: %+v\n%s", sentence, m, g)
		}
		if _, again := read(t, out, bytesOf(sentence)...); !reflect.DeepEqual(again, m) {
			t.Fatalf("%q\nin one go %+v\nin bytes  %+v", sentence, m, again)
		}
	})
}
