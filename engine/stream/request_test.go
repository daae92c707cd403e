package stream_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/stream"
)

func schemaValue(t testing.TB, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRequests covers the ways in which a request changes the reading of an output (E22).
func TestRequests(t *testing.T) {
	f := forms[0].f
	const ping = `<tool_call>{"name": "ping", "arguments": {}}</tool_call>`
	table := []struct {
		name   string
		change func(*codegen.Options)
		output string
		want   chat.Message
		finish chat.FinishReason
	}{
		{"tools", nil, "Hi.\n" + ping, message("Hi.", call("", "ping", "{}")), chat.FinishToolCalls},
		{"no tools", func(o *codegen.Options) { o.Tools = nil }, "Hi.\n" + ping, message("Hi.\n" + ping), chat.FinishStop},
		{"choice none", func(o *codegen.Options) { o.Choice.Mode = chat.ChoiceNone }, ping, message(ping), chat.FinishStop},
		{"several calls though one is asked for", func(o *codegen.Options) { o.Parallel = false }, ping + ping, message("", call("", "ping", "{}"), call("", "ping", "{}")), chat.FinishToolCalls},
		{"reasoning kept in the content", func(o *codegen.Options) { o.Reasoning = chat.ReasoningKeep }, "<think>\nhm\n</think>\n\nHi.", message("<think>\nhm\n</think>\n\nHi."), chat.FinishStop},
		{"opened reasoning kept", func(o *codegen.Options) { o.Reasoning, o.Prefill = chat.ReasoningKeep, "<think>\n" }, "hm\n</think>\n\nHi.", message("<think>\nhm\n</think>\n\nHi."), chat.FinishStop},
		{"kept reasoning and a call", func(o *codegen.Options) { o.Reasoning = chat.ReasoningKeep }, "<think>\nhm\n</think>\n\n" + ping, message("<think>\nhm\n</think>", call("", "ping", "{}")), chat.FinishToolCalls},
		{"thinking off", func(o *codegen.Options) { o.Prefill = "<think>\n\n</think>\n\n" }, "Hi.", message("Hi."), chat.FinishStop},
		{"continued content", func(o *codegen.Options) {
			o.Prefill, o.Continue = "<think>\nhm\n</think>\n\nHello, ", chat.ContinueContent
		}, "world", chat.Message{Reasoning: "hm", Content: "Hello, world"}, chat.FinishStop},
		{"continued reasoning", func(o *codegen.Options) { o.Prefill, o.Continue = "<think>\nI", chat.ContinueReasoning }, "'m\n</think>\n\nHi.", chat.Message{Reasoning: "I'm", Content: "Hi."}, chat.FinishStop},
		{"JSON answer", func(o *codegen.Options) { o.HasJSONSchema = true }, ` {"a": [1]} `, message(` {"a": [1]} `), chat.FinishStop},
		{"JSON answer in a fence", func(o *codegen.Options) { o.HasJSONSchema = true }, "```json\n{\"a\": 1}\n```", message(`{"a": 1}`), chat.FinishStop},
		{"JSON answer after reasoning", func(o *codegen.Options) { o.HasJSONSchema, o.Prefill = true, "<think>\n" }, "hm\n</think>\n\n{\"a\": 1}", chat.Message{Reasoning: "hm", Content: `{"a": 1}`}, chat.FinishStop},
		{"a call in place of a JSON answer", func(o *codegen.Options) { o.HasJSONSchema = true }, ping, message("", call("", "ping", "{}")), chat.FinishToolCalls},
		{"no JSON where some was due", func(o *codegen.Options) { o.HasJSONSchema = true }, "Sorry, no.", message("Sorry, no."), chat.FinishStop},
		{"the turn ends before the output", nil, "Hi.<|im_end|>\n<|im_start|>user", message("Hi."), chat.FinishStop},
		{"the header once more", func(o *codegen.Options) {}, "<|im_start|>assistant\nHi.", message("Hi."), chat.FinishStop},
	}
	f.Header = "<|im_start|>assistant\n"
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			o := usual("")
			if c.change != nil {
				c.change(&o)
			}
			out := generate(t, f, o)
			for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
				p, m := read(t, out, pieces...)
				if !reflect.DeepEqual(m, c.want) || p.Finish() != c.finish {
					t.Fatalf("%q: got %+v, %s\nwant %+v, %s", pieces, m, p.Finish(), c.want,
						c.finish)
				}
			}
		})
	}
}

// TestFinish asks why a turn ended that has calls.
func TestFinish(t *testing.T) {
	const ping = `<tool_call>{"name": "ping", "arguments": {}}</tool_call>`
	const begun = `<tool_call>{"name": "get", "arguments": {"n": `
	out := generate(t, forms[0].f, usual(""))
	for _, tt := range []struct {
		output       string
		stopped, cut chat.FinishReason
	}{
		{ping, chat.FinishToolCalls, chat.FinishToolCalls},
		{ping + "\nand", chat.FinishToolCalls, chat.FinishToolCalls},
		{ping + "\n<tool_call>{", chat.FinishToolCalls, chat.FinishToolCalls},
		{begun, chat.FinishStop, chat.FinishLength},
		{ping + begun, chat.FinishToolCalls, chat.FinishLength},
		{begun + "}}</tool_call>" + ping, chat.FinishToolCalls, chat.FinishToolCalls},
	} {
		for reason, want := range map[chat.FinishReason]chat.FinishReason{
			chat.FinishStop: tt.stopped, chat.FinishLength: tt.cut,
			chat.FinishContentFilter: tt.cut} {
			if want == chat.FinishLength {
				want = reason
			}
			p := stream.NewParser(out)
			p.Write([]byte(tt.output))
			p.Close(reason)
			if p.Finish() != want {
				t.Errorf("%q ends by %s: got %s, want %s", tt.output, reason, p.Finish(), want)
			}
		}
	}
}

// TestBegunByThePrompt has a prompt that writes the beginning of every part of a turn: the model's
// text after it is a part where it goes on with one, be the function's name made of whatever bytes,
// and content where it does not.
func TestBegunByThePrompt(t *testing.T) {
	f := calls(format.Calls{Head: []format.Part{lit(">>>"), name, lit("\n")}, Body: jsonBody})
	f.Content = format.Content{Mode: format.ContentWrapped, Pair: pair(">>>all\n", "")}
	o := usual(">>>")
	o.Tools = append(o.Tools[:len(o.Tools):len(o.Tools)], chat.Tool{Name: "a.b:c/d e"})
	for _, c := range []struct {
		output string
		want   chat.Message
	}{
		{"all\nHi.", message("Hi.")},
		{"ping\n{}", message("", call("", "ping", "{}"))},
		{"a.b:c/d e\n{\"x\": 1}", message("", call("", "a.b:c/d e", `{"x": 1}`))},
		{"a.b:c/d", message("a.b:c/d")},
		{"Hi.", message("Hi.")},
	} {
		out := generate(t, f, o)
		for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
			if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, c.want) {
				t.Errorf("%q: got %+v, want %+v", pieces, m, c.want)
			}
		}
	}
}

func TestCut(t *testing.T) {
	p := stream.NewParser(generate(t, forms[0].f, usual("")))
	p.Write([]byte("It goes on"))
	p.Close(chat.FinishLength)
	if p.Finish() != chat.FinishLength {
		t.Errorf("finish %q", p.Finish())
	}
	if len(p.Write([]byte("more"))) > 0 || len(p.Close(chat.FinishStop)) > 0 {
		t.Error("a closed parser goes on")
	}
}

// TestBegunEnd checks how the beginning of an end text is read at the end of an output (E9): a byte
// or two of it are text where the model was done.
func TestBegunEnd(t *testing.T) {
	table := []struct{ output, done, cut string }{
		{"a <", "a <", "a"},
		{"a\n<|", "a\n<|", "a"},
		{"a <|im_e", "a", "a"},
		{"a <|im_end|>", "a", "a"},
		{"<", "<", ""},
		{"a <b", "a <b", "a <b"},
	}
	out := generate(t, forms[0].f, usual(""))
	for _, c := range table {
		for reason, want := range map[chat.FinishReason]string{
			"": c.done, chat.FinishStop: c.done, chat.FinishToolCalls: c.done,
			chat.FinishLength: c.cut, chat.FinishContentFilter: c.cut, "abort": c.cut,
		} {
			p := stream.NewParser(out)
			for _, piece := range bytesOf(c.output) {
				p.Write([]byte(piece))
			}
			p.Close(reason)
			if got := p.Message().Content; got != want {
				t.Errorf("%q, %q: %q, want %q", c.output, reason, got, want)
			}
			if got := p.Finish(); got != reason && (reason.Cut() || got != chat.FinishStop) {
				t.Errorf("%q, %q: the finish reason is %q", c.output, reason, got)
			}
			checkCoverage(t, p, c.output)
		}
	}
}

// TestTolerances checks the meaning of an output with every tolerance on and off (E21).
func TestTolerances(t *testing.T) {
	jsonTag := forms[0].f
	taggedForm := calls(format.Calls{Call: pair("<tool_call>\n", "\n</tool_call>"),
		Head: []format.Part{lit("<function="), name, lit(">\n")},
		Body: tagged("<parameter=", ">\n", "\n</parameter>", "\n"),
		Tail: []format.Part{lit("\n</function>")}})
	undisclosed := format.Format{Undisclosed: true}
	ended := format.Format{End: []string{"<|im_end|>"}}
	const tight = `<tool_call>{"name": "ping", "arguments": {}}</tool_call>`
	const loose = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>"
	table := []struct {
		which   codegen.Tolerances
		f       format.Format
		output  string
		options func(*codegen.Options)
		on, off chat.Message
	}{
		{codegen.FreeSpace, jsonTag, tight, nil, message("", call("", "ping", "{}")), message(tight)},
		{codegen.ContentAround, jsonTag, "Text. " + loose, nil, message("Text.", call("", "ping", "{}")), message("Text. " + loose)},
		{codegen.LooseReasoning, jsonTag, "<think>\nhm " + loose, nil,
			chat.Message{Reasoning: "hm", ToolCalls: []chat.ToolCall{call("", "ping", "{}")}},
			chat.Message{Reasoning: "hm " + loose}},
		{codegen.OptionalWrapper, taggedForm, "<function=ping>\n</function>\n</tool_call>", nil, message("", call("", "ping", "{}")), message("<function=ping>")},
		{codegen.StrayClosers, jsonTag, "a</tool_call>", nil,
			message("a"), message("a</tool_call>")},
		{codegen.AnyLiteral, jsonTag, "<tool_call>\n{'name': 'ping', 'arguments': {}}\n</tool_call>", nil, message("", call("", "ping", "{}")),
			message("<tool_call>\n{'name': 'ping', 'arguments': {}}\n</tool_call>")},
		{codegen.Fences, jsonTag, "```json\n1\n```", func(o *codegen.Options) { o.HasJSONSchema = true }, message("1"), message("```json\n1\n```")},
		{codegen.AnySpelling, undisclosed, `<|tool_call_start|>[ping()]<|tool_call_end|>`, nil, message("", call("", "ping", "{}")), message(`<|tool_call_start|>[ping()]<|tool_call_end|>`)},
		{codegen.CloseArguments, jsonTag, `<tool_call>{"name": "get", "arguments": {"city": "Ro`, nil,
			message("", call("", "get", `{"city": "Ro"}`)), message("", chat.ToolCall{Name: "get", Arguments: `{"city": "Ro`})},
		{codegen.RepeatedOpener, jsonTag, "<think>hm</think>So.", func(o *codegen.Options) { o.Prefill = "<think>\n" },
			chat.Message{Reasoning: "hm", Content: "So."},
			chat.Message{Reasoning: "<think>hm", Content: "So."}},
		{codegen.QuotedScalars, jsonTag, `<tool_call>{"name": "get", "arguments": {"city": 3, "n": 4, "list": [true]}}</tool_call>`, nil,
			message("", call("", "get", `{"city": "3", "n": 4, "list": ["true"]}`)),
			message("", call("", "get", `{"city": 3, "n": 4, "list": [true]}`))},
		{codegen.TextAfterEnd, ended, "So.<|im_end|>\nMore.<|im_end|>", nil,
			message("So.\nMore."), message("So.")},
	}
	for i, c := range table {
		t.Run(codegen.ToleranceNames()[i], func(t *testing.T) {
			for _, on := range []bool{true, false} {
				o := usual("")
				o.Tolerances |= codegen.CloseArguments
				want := c.on
				if !on {
					o.Tolerances &^= c.which
					want = c.off
				}
				if c.options != nil {
					c.options(&o)
				}
				out := generate(t, c.f, o)
				for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
					if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, want) {
						t.Errorf("on %t: %q\n got %+v\nwant %+v", on, pieces, m, want)
					}
				}
			}
		})
	}
	for i, name := range codegen.ToleranceNames() {
		if got, err := codegen.ParseTolerance(name); err != nil || got != 1<<i {
			t.Errorf("%q is %v, %v", name, got, err)
		}
	}
	if _, err := codegen.ParseTolerance("T13"); err == nil {
		t.Error("T13 is no tolerance")
	}
}

// TestUndisclosed reads calls in spellings that a template need not show (E21 T8); a template may
// write an id alone, and the name is in it.
func TestUndisclosed(t *testing.T) {
	out := generate(t, format.Format{Undisclosed: true}, usual(""))
	for output, want := range map[string]chat.Message{
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>" + rome + "<|tool_call_end|><|tool_calls_section_end|>": message("", call("functions.get:0", "get", rome)),
		"functions.ping:1{}":         message("", call("functions.ping:1", "ping", "{}")),
		"functions.ping:1 is called": message("functions.ping:1 is called"),
		"[TOOL_CALLS]ping[ARGS]{}":   message("", call("", "ping", "{}")),
	} {
		for _, pieces := range [][]string{{output}, bytesOf(output)} {
			if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, want) {
				t.Errorf("%q\n got %+v\nwant %+v", pieces, m, want)
			}
		}
	}
}

// TestFallbacks reads outputs in spellings that the format does not have (E25).
func TestFallbacks(t *testing.T) {
	table := []struct {
		spelling, output string
		want             chat.Message
	}{
		{"kimi-k2", `a functions.get:0{"city": "Rome"} b functions.ping:1{} functions.nobody:2{} functions.ping:x{} functions.get:3[1] functions.:4{}`,
			message(`a b functions.nobody:2{} functions.ping:x{} functions.get:3[1] functions.:4{}`, call("functions.get:0", "get", `{"city": "Rome"}`), call("functions.ping:1", "ping", "{}"))},
		{"kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>" + rome + "<|tool_call_end|><|tool_calls_section_end|>", message("", call("functions.get:0", "get", rome))},
		{"kimi-k2", `cut functions.get:0{"city": `, message(`cut functions.get:0{"city": `)},
		{"hermes", "<tool_call>\n{\"name\": \"get\", \"arguments\": " + rome + "}\n</tool_call>", message("", call("", "get", rome))},
		{"xml", "<tool_call>\n<invoke name=\"get\">\n<parameter name=\"city\">Rome</parameter>\n<parameter name=\"n\">3</parameter>\n</invoke>\n</tool_call>", message("", call("", "get", rome))},
		{"deepseek-r1", "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>\nfunction<｜tool▁sep｜>get\n```json\n" + rome + "\n```\n<｜tool▁call▁end｜>\n<｜tool▁calls▁end｜>", message("", call("", "get", rome))},
		{"deepseek-r1", "function<get>\n```json\n" + rome + "\n```", message("", call("", "get", rome))},
		{"deepseek-r1", "function\n```json\n{\"tools\": [{\"name\": \"get\", \"arguments\": " + rome + "}, {\"name\": \"ping\", \"arguments\": {}}]}\n```", message("", call("", "get", rome), call("", "ping", "{}"))},
		{"deepseek-r1", "<think>hm</think><tool_call>\nfunction</think>get\n```json\n" + rome + "\n```\n</tool_call>", chat.Message{Reasoning: "hm", ToolCalls: []chat.ToolCall{call("", "get", rome)}}},
		{"pythonic", `[get(city='Rome', n=3), ping()]`, message("", call("", "get", rome), call("", "ping", "{}"))},
		{"function-tags", "<function=get>" + rome + "</function>", message("", call("", "get", rome))},
		{"json-list", `<|tool_call|>[{"name": "get", "arguments": ` + rome + `}]`, message("", call("", "get", rome))},
		{"bracket", "[TOOL_CALLS]get[ARGS]" + rome, message("", call("", "get", rome))},
		{"bracket-name", "Well. [TOOL_CALLS]get" + rome + "[TOOL_CALLS]ping{}",
			message("Well.", call("", "get", rome), call("", "ping", "{}"))},
		{"bracket-name", "[TOOL_CALLS]nobody{}", message("[TOOL_CALLS]nobody{}")},
		{"python-tag",
			`<|python_tag|>{"name": "get", "parameters": ` + rome + `}; {"name": "ping", "parameters": {}}`,
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"python-tag", `<|python_tag|>{"type": "function", "name": "get", "parameters": ` + rome + `}`,
			message("", call("", "get", rome))},
		{"python-tag", `{"name": "get", "parameters": ` + rome + `}; {"name": "ping", "parameters": {}}`,
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"python-start", "So. <|python_start|>[get(city='Rome', n=3), ping()]<|python_end|>",
			message("So.", call("", "get", rome), call("", "ping", "{}"))},
		{"functools",
			`functools[{"name": "get", "arguments": ` + rome + `}, {"name": "ping", "arguments": {}}]`,
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"functools", "I use functools [partial] for it.", message("I use functools [partial] for it.")},
	}
	for _, c := range table {
		t.Run(c.spelling, func(t *testing.T) {
			o := usual("")
			o.Fallbacks = []string{c.spelling}
			out := generate(t, format.Format{}, o)
			for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
				if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, c.want) {
					t.Fatalf("%q\n got %+v\nwant %+v", pieces, m, c.want)
				}
			}
			if _, err := out.Grammar(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFallbacksBeside reads those that change how a format's own calls are read.
func TestFallbacksBeside(t *testing.T) {
	const object = `{"name": "get", "arguments": ` + rome + `}`
	for _, c := range []struct {
		spelling, form, output string
		want                   chat.Message
	}{
		{"json-in-markers", "tagged arguments", "<tool_call>\n" + object + "\n</tool_call>",
			message("", call("", "get", rome))},
		{"json-in-markers", "tagged arguments",
			"<tool_call>\n" + object + "\n</tool_call>\n" +
				"<tool_call>\n<function=ping>\n</function>\n</tool_call>",
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"json-in-markers", "key and value tags", "Well. <tool_call>" + object + "</tool_call>",
			message("Well.", call("", "get", rome))},
		{"json-in-markers", "invoke with parameters",
			"<mm:tool_call>\n" + object + "\n</mm:tool_call>",
			message("", call("", "get", rome))},
		{"python-tag", "bare json",
			`{"name": "get", "parameters": ` + rome + `}; {"name": "ping", "parameters": {}}`,
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"qualified-names", "json in tag",
			`<tool_call>{"name": "functions.get", "arguments": ` + rome + `}</tool_call>`,
			message("", call("", "get", rome))},
		{"qualified-names", "tagged arguments",
			"<function=a.b-1.get>\n<parameter=city>\nRome\n</parameter>\n</function>",
			message("", call("", "get", `{"city": "Rome"}`))},
		{"qualified-names", "keyword arguments", `<|start|>[ns.get(city='Rome', n=3), ns.ping()]<|end|>`,
			message("", call("", "get", rome), call("", "ping", "{}"))},
		{"qualified-names", "bracket tag", "[TOOL_CALLS]ns.nobody[ARGS]{}",
			message("[TOOL_CALLS]ns.nobody[ARGS]{}")},
		{"qualified-names", "bracket tag", "[TOOL_CALLS].get[ARGS]{}",
			message("[TOOL_CALLS].get[ARGS]{}")},
	} {
		t.Run(c.spelling+" in "+c.form, func(t *testing.T) {
			f := formNamed(t, c.form)
			_, m := read(t, generate(t, f, usual("")), c.output)
			if reflect.DeepEqual(m, c.want) && len(m.ToolCalls) > 0 {
				t.Errorf("%q is read without the spelling", c.output)
			}
			o := usual("")
			o.Fallbacks = []string{c.spelling}
			out := generate(t, f, o)
			for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
				if _, m := read(t, out, pieces...); !reflect.DeepEqual(m, c.want) {
					t.Fatalf("%q\n got %+v\nwant %+v", pieces, m, c.want)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	table := []struct {
		name   string
		f      format.Format
		change func(*codegen.Options)
		want   string
	}{
		{"unknown fallback", format.Format{}, func(o *codegen.Options) { o.Fallbacks = []string{"klingon"} }, `fallback "klingon": expected one of`},
		{"nothing to recognise a call by", calls(format.Calls{Head: []format.Part{name}, Body: jsonBody}), nil, "no literal before a function's name"},
		{"no name", calls(format.Calls{Call: pair("<call>", "</call>"), Body: jsonBody}), nil, "no slot for the function's name"},
		{"no key", calls(format.Calls{Head: []format.Part{lit("<call>"), name}, Body: format.Body{Kind: format.BodyTagged, Entry: []format.Part{value}}}), nil, "without a key and a value"},
		{"broken schema", format.Format{Calls: forms[0].f.Calls}, func(o *codegen.Options) {
			o.Tools = []chat.Tool{{Name: "x", Parameters: schemaValue(t, `{"type": 5}`)}}
		}, "tools[0].function.parameters"},
		{"broken schema of the answer", format.Format{}, func(o *codegen.Options) { o.HasJSONSchema, o.JSONSchema = true, schemaValue(t, `{"type": 5}`) }, "json_schema"},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			o := usual("")
			if c.change != nil {
				c.change(&o)
			}
			if _, err := codegen.Generate(c.f, o); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestDiagnostics checks the diagnostics of odd outputs.
func TestDiagnostics(t *testing.T) {
	table := []struct{ output, kind, text string }{
		{`<tool_call>{"name": "nobody", "arguments": {}}</tool_call>`, "undeclared-function", ""},
		{`<tool_call>{"name": "get", "arguments": {"city": :oops}}</tool_call>`, "incomplete-call", "get"},
		{`stray</tool_call>`, "dropped", "</tool_call>"},
		{`done<|im_end|>more`, "after-end", ""},
		{`<tool_call>{"name": "ping", "extra": [1, 2]}</tool_call>`, "dropped", `"extra": [1, 2]`},
	}
	for _, c := range table {
		p, _ := read(t, generate(t, forms[0].f, usual("")), c.output)
		d := p.Diagnostics()
		if len(d) == 0 || d[0].Kind != c.kind || d[0].Text != c.text {
			t.Errorf("%q: diagnostics %v, want %s of %q", c.output, d, c.kind, c.text)
		}
	}
	p, _ := read(t, generate(t, forms[0].f, usual("")), "done<|im_end|>\n")
	if d := p.Diagnostics(); len(d) > 0 { // a normal end is no fault
		t.Errorf("diagnostics %v of an answer with its end", d)
	}
}

// TestFencedCalls puts calls into Markdown fences between their markers (T7).
func TestFencedCalls(t *testing.T) {
	array := calls(format.Calls{Section: pair("<calls>", "</calls>"), Array: true,
		Object: plainObject})
	ping := call("", "ping", "{}")
	for _, c := range []struct {
		f      format.Format
		output string
		want   chat.Message
	}{
		{forms[0].f, "<tool_call>\n```json\n{\"name\": \"ping\", \"arguments\": {}}\n```\n</tool_call>", message("", ping)},
		{forms[0].f, "<tool_call>```{\"name\": \"ping\", \"arguments\": {}}```</tool_call>```", message("```", ping)},
		{array, "<calls>```json\n[{\"name\": \"ping\", \"arguments\": {}}, {\"name\": \"ping\", \"arguments\": {}}]\n```\n</calls>", message("", ping, ping)},
		{array, "<calls>[{\"name\": \"ping\", \"arguments\": {}}]```", message("", ping)},
	} {
		for _, pieces := range [][]string{{c.output}, bytesOf(c.output)} {
			if _, m := read(t, generate(t, c.f, usual("")), pieces...); !reflect.DeepEqual(m,
				c.want) {
				t.Errorf("%q\n got %+v\nwant %+v", pieces, m, c.want)
			}
		}
		o := usual("")
		o.Tolerances &^= codegen.Fences
		if _, m := read(t, generate(t, c.f, o), c.output); reflect.DeepEqual(m, c.want) {
			t.Errorf("%q is read as %+v without the tolerance too", c.output, m)
		}
	}
}

// TestRenamedArguments checks that arguments under a key that is not the template's are the call's
// where nothing else can be, and that a call that may have lost its arguments is not complete.
func TestRenamedArguments(t *testing.T) {
	table := []struct {
		call, args string
		complete   bool
		kind       string // of a diagnostic, empty for none
	}{
		{`{"name": "get", "parameters": {"city": "Rome"}}`, `{"city": "Rome"}`, true, "renamed-arguments"},
		{`{'args': {'city': 'R\'s', 'on': True}, 'name': 'get'}`, `{"city": "R's", "on": true}`, true, "renamed-arguments"},
		{`{"extra": {"a": 1}, "name": "get", "arguments": {"city": "Rome"}}`, `{"city": "Rome"}`, true, "dropped"},
		{`{"name": "get", "a": {"city": "Rome"}, "b": {}}`, ``, false, "incomplete-call"},
		{`{"name": "get", "a": [1], "b": "{}"}`, `{}`, true, "dropped"},
		{`{"name": "get", "arguments": null}`, `{}`, true, ""},
		{`{"name": "get", "arguments": None, "parameters": {"city": "Rome"}}`, `{"city": "Rome"}`, true, "renamed-arguments"},
		{`{"name": "get"}`, `{}`, true, ""},
	}
	out := generate(t, forms[0].f, usual(""))
	for _, c := range table {
		output := "<tool_call>" + c.call + "</tool_call>"
		want := chat.Message{ToolCalls: []chat.ToolCall{{Name: "get", Arguments: c.args,
			Complete: c.complete}}}
		for i := range output {
			p, m := read(t, out, output[:i], output[i:])
			if !reflect.DeepEqual(m, want) {
				t.Fatalf("%q, cut at %d:\n got %+v\nwant %+v", output, i, m, want)
			}
			if found := p.Diagnostics(); c.kind == "" && len(found) > 0 ||
				c.kind != "" && !slices.ContainsFunc(found,
					func(d stream.Diagnostic) bool { return d.Kind == c.kind }) {
				t.Fatalf("%q: diagnostics %v, want %q", output, found, c.kind)
			}
		}
	}
}

// TestWordOpener checks that a word before a function's name does not make a call of a text that
// mentions one (E14).
func TestWordOpener(t *testing.T) {
	f := format.Format{Calls: []format.Calls{{
		Head: []format.Part{format.Lit("CALL "), {Kind: format.SlotName}, format.Lit("(")},
		Body: format.Body{Kind: format.BodyJSON}, Tail: []format.Part{format.Lit(")")},
	}}}
	out := generate(t, f, usual(""))
	for _, text := range []string{"Please CALL get(now) later", "to CALL get( is",
		"CALL get({\"city\": "} {
		if _, m := read(t, out, bytesOf(text)...); m.Content != text || len(m.ToolCalls) > 0 {
			t.Errorf("%q: %+v", text, m)
		}
	}
	const args = `{"city": "Rome"}`
	if _, m := read(t, out, bytesOf("First CALL get("+args+")")...); len(m.ToolCalls) != 1 ||
		m.ToolCalls[0].Arguments != args || m.Content != "First" {
		t.Errorf("%+v", m)
	}
}

// TestHeldLimit checks that a tentative call beyond the limit is content, and said to be.
func TestHeldLimit(t *testing.T) {
	out := generate(t, forms[1].f, usual(""))
	text := `{"name": "get", "parameters": {"city": "` + strings.Repeat("x", 5000) + `"}}`
	p := stream.Options{Limits: vm.Limits{Held: 1000}}.NewParser(out)
	p.Write([]byte(text))
	p.Close(chat.FinishStop)
	if m := p.Message(); m.Content != text {
		t.Errorf("content of %d bytes, want %d", len(m.Content), len(text))
	}
	if d := p.Diagnostics(); len(d) == 0 || d[len(d)-1].Kind != "limit" {
		t.Errorf("diagnostics %v", d)
	}
}

// TestManyTools checks names of which one begins another, and many of them.
func TestManyTools(t *testing.T) {
	var many []chat.Tool
	for i := range 1000 {
		tool := tools[1]
		tool.Name = "f" + strings.Repeat("x", i%7) + ordered.Int(i).Text()
		many = append(many, tool)
	}
	o := usual("")
	o.Tools = many
	out := generate(t, forms[0].f, o)
	for _, i := range []int{0, 1, 10, 100, 999} {
		output := `<tool_call>{"name": "` + many[i].Name + `", "arguments": {"city": "x"}}</tool_call>`
		if _, m := read(t, out, output); len(m.ToolCalls) != 1 ||
			m.ToolCalls[0].Name != many[i].Name {
			t.Errorf("%q: %+v", output, m)
		}
	}
}

// TestDeterministic checks that equal inputs give equal programs and grammars.
func TestDeterministic(t *testing.T) {
	for _, form := range forms {
		a, b := generate(t, form.f, usual("")), generate(t, form.f, usual(""))
		if a.Program.String() != b.Program.String() {
			t.Errorf("%s: two programs", form.name)
		}
		if x, y := grammar(t, a), grammar(t, b); x.String() != y.String() {
			t.Errorf("%s: two grammars", form.name)
		}
	}
}

func TestReset(t *testing.T) {
	out := generate(t, forms[0].f, usual("<think>\n"))
	p := stream.NewParser(out)
	for range 2 {
		p.Write([]byte("hm\n</think>\n\nHi."))
		p.Close(chat.FinishStop)
		if m := p.Message(); m.Content != "Hi." || m.Reasoning != "hm" {
			t.Fatalf("%+v", m)
		}
		p.Reset()
	}
}
