package engine_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

const template = `{%- if tools %}[tools]{{ tools|tojson }}[/tools]{% endif %}
{%- for m in messages %}
{{- '<|' ~ m.role ~ '|>' }}
{%- if m.role == 'assistant' %}
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content or '' }}
{%- for c in m.tool_calls or [] %}<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call>{% endfor %}
{%- else %}{{ m.content }}{% endif %}<|end|>
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% if enable_thinking %}<think>{% endif %}{% endif %}`

const silent = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

const weather = `"tools": [{"type": "function", "function": {"name": "weather", "description": "Weather now", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]`

// now is the clock of the tests.
func now() time.Time { return time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC) }

func compile(t testing.TB, text string) *engine.Template {
	t.Helper()
	tmpl, err := engine.Compile(t.Context(), engine.Source{Name: "template.jinja", Text: text},
		engine.Options{Now: now})
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	return tmpl
}

func request(t testing.TB, text string) chat.Request {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.ParseRequest(v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerified(t *testing.T) {
	report := compile(t, template).Verify()
	if report.Proven(true) != nil {
		t.Errorf("round trip:\n%s", report)
	}
	if report := compile(t, silent).Verify(); !report.OK() || report.Proven(true) == nil {
		t.Errorf("a template without calls:\n%s", report)
	}
}

func TestPrefillOpensReasoning(t *testing.T) {
	tmpl := compile(t, template)
	for _, tt := range []struct{ thinking, output, reasoning, content string }{
		{"true", "I look.</think>It rains.<|end|>", "I look.", "It rains."},
		{"false", "It rains.", "", "It rains."},
	} {
		plan, err := tmpl.Prepare(request(t, `{"messages": [{"role": "user", "content": "Rain?"}], "enable_thinking": `+tt.thinking+`}`), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := plan.Parse(tt.output, chat.FinishStop)
		if got.Message.Reasoning != tt.reasoning || got.Message.Content != tt.content ||
			got.Finish != chat.FinishStop {
			t.Errorf("thinking %s: got %+v", tt.thinking, got)
		}
	}
}

func TestContinue(t *testing.T) {
	tmpl := compile(t, template)
	for _, tt := range []struct{ mode, prompt, output, reasoning, content string }{
		{`"content"`, "<|user|>Rain?<|end|><|assistant|><think>I look.</think>It ", "rains.<|end|>", "I look.", "It rains."},
		{`"reasoning_content"`, "<|user|>Rain?<|end|><|assistant|><think>I look.", " Yes.</think>It rains.", "I look. Yes.", "It rains."},
	} {
		plan, err := tmpl.Prepare(request(t, `{"messages": [{"role": "user", "content": "Rain?"}, {"role": "assistant", "reasoning_content": "I look.", "content": "It "}],
			"continue_final_message": `+tt.mode+`, "add_generation_prompt": false}`), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := plan.Parse(tt.output, chat.FinishStop)
		if plan.Prompt.Text != tt.prompt || got.Message.Reasoning != tt.reasoning ||
			got.Message.Content != tt.content {
			t.Errorf("%s: prompt %q, message %+v", tt.mode, plan.Prompt.Text, got.Message)
		}
	}
}

// TestWrongFormat prepares tools on a format that is not the template's. That is refused, whatever
// was called before, unless the caller insists.
func TestWrongFormat(t *testing.T) {
	wrong := compile(t, template).Analysis().Format
	wrong.Calls = []format.Calls{{
		Head: []format.Part{format.Lit("<other>"), {Kind: format.SlotName}, format.Lit(" ")},
		Body: format.Body{Kind: format.BodyJSON},
		Tail: []format.Part{format.Lit("</other>")},
	}}
	r := request(t, `{"messages": [{"role": "user", "content": "Rain?"}], `+weather+`}`)
	for _, before := range []func(*engine.Template){
		func(*engine.Template) {},
		func(tmpl *engine.Template) { tmpl.Verify() },
		func(tmpl *engine.Template) { tmpl.Prepare(r, engine.PrepareOptions{Insist: true}) },
	} {
		tmpl, err := engine.Compile(t.Context(), engine.Source{Name: "template.jinja",
			Text: template},
			engine.Options{Now: now, Format: &wrong})
		if err != nil {
			t.Fatal(err)
		}
		before(tmpl)
		if _, err := tmpl.Prepare(r, engine.PrepareOptions{}); !errors.Is(err,
			engine.ErrUnverified) {
			t.Errorf("a format that is wrong: error %v", err)
		}
		if _, err := tmpl.Prepare(r, engine.PrepareOptions{Insist: true}); err != nil {
			t.Errorf("insisting: %v", err)
		}
		bare := r
		bare.Tools = nil
		if _, err := tmpl.Prepare(bare, engine.PrepareOptions{}); err != nil {
			t.Errorf("without tools: %v", err)
		}
	}
}

// TestTurn asks for the prefill of a long conversation, at whose end the template writes something
// that no probe has seen.
func TestTurn(t *testing.T) {
	const frame = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% set deep = messages|length > 6 %}{% if add_generation_prompt %}TURN{% endif %}`
	long := strings.Repeat(`{"role": "user", "content": "Rain? <|assistant|>"}, {"role": "assistant", "content": "No."}, `, 4)
	for _, tt := range []struct{ turn, prefill, err string }{
		{"<|assistant|>", "", ""},
		{"<|assistant|>{% if deep %}<think>{% endif %}", "<think>", ""},
		// as after a tool's result: the turn just goes on
		{"{% if not deep %}<|assistant|>{% endif %}", "", ""},
		{"{% if deep %}<|strange|>{% else %}<|assistant|>{% endif %}", "", `the generation prompt is "<|strange|>", expected the header "<|assistant|>" in it`},
	} {
		tmpl := compile(t, strings.Replace(frame, "TURN", tt.turn, 1))
		r := request(t, `{"messages": [`+long+`{"role": "user", "content": "Rain? <|assistant|>"}]}`)
		p, err := tmpl.Render(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Prefill()
		if got != tt.prefill || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %q, %v", tt.turn, got, err)
		}
		if err != nil && !errors.Is(err, engine.ErrTurn) {
			t.Errorf("%s: %v is not ErrTurn", tt.turn, err)
		}
		if _, again := tmpl.Prepare(r, engine.PrepareOptions{}); (again == nil) != (err == nil) {
			t.Errorf("%s: Prepare: %v", tt.turn, again)
		}
		r.NoGeneration = true
		if p, err = tmpl.Render(r); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Prefill(); got != "" || err != nil {
			t.Errorf("%s: a prompt that asks for no answer has "+
				"the prefill %q, %v", tt.turn, got, err)
		}
	}
}

// TestBrokenOff breaks renders off, by a clock that the template reads before it loops for longer
// than anybody waits.
func TestBrokenOff(t *testing.T) {
	const slow = `{% for m in messages %}{{ m.content }}{% if "stop" in m.content %}{{ strftime_now("%Y") }}` +
		`{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}{% endif %}{% endfor %}`
	cause := errors.New("seen enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	o := engine.Options{
		Now:    func() time.Time { cancel(cause); return now() },
		Limits: engine.Limits{Render: engine.RenderLimits{Steps: math.MaxInt}},
	}
	slowly := engine.Source{Name: "slow.jinja", Text: slow}
	tmpl, err := engine.Compile(ctx, slowly, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := tmpl.Exhausted(); err != nil {
		t.Errorf("before: %v", err)
	}
	_, err = tmpl.Render(chat.Request{Messages: []chat.Value{chat.User("stop")}})
	if !errors.Is(err, cause) {
		t.Errorf("under way: error %v, want %v", err, cause)
	}
	if _, err := tmpl.Render(chat.Request{Messages: []chat.Value{chat.User("go")}}); !errors.Is(err,
		cause) {
		t.Errorf("afterwards: error %v, want %v", err, cause)
	}
	if err := tmpl.Exhausted(); !errors.Is(err, cause) {
		t.Errorf("afterwards, the findings count as complete: %v", err)
	}
	if _, err := engine.Compile(ctx, slowly, o); !errors.Is(err, cause) {
		t.Errorf("Compile: error %v, want %v", err, cause)
	}
}

// TestJoined has a template that writes a list as its items alone: tools with lists are refused,
// and others are not.
func TestJoined(t *testing.T) {
	tmpl := compile(t, `{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}`+
		`{% for c in m.tool_calls or [] %}<call={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<p={{ k }}>`+
		`{{ v if v is string else v | tojson if v is mapping or v is not iterable else v | join('; ') }}</p>{% endfor %}</call>{% endfor %}<end>`+
		`{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`)
	if err := tmpl.Gate().Err(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ parameters, refused string }{
		{`"properties": {"x": {"type": "string"}}`, ""},
		{`"properties": {"x": {"type": "object"}}`, ""},
		{`"properties": {"x": {"type": "integer"}}`, ""},
		{`"properties": {"x": {"type": "array"}}`, "x"},
		{`"properties": {"x": {"type": ["array", "null"]}}`, "x"},
		{`"properties": {"x": {}}`, ""},
		{`"properties": {}`, ""},
		{`"additionalProperties": {"type": "array"}`, "additionalProperties"},
		{`"additionalProperties": {"type": "string"}`, ""},
		{`"additionalProperties": false`, ""},
		{`"patternProperties": {"^x": {"type": "array"}}`, "^x"},
		{`"anyOf": [{"additionalProperties": {"type": "array"}}, {"properties": {"x": {"type": "string"}}}]`, "additionalProperties"},
	} {
		r := request(t, `{"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function": {"name": "f", `+
			`"parameters": {"type": "object", `+test.parameters+`}}}]}`)
		_, err := tmpl.Prepare(r, engine.PrepareOptions{})
		if errors.Is(err, engine.ErrUnverified) != (test.refused != "") ||
			err != nil && !strings.Contains(err.Error(), `tools[0].function.parameters: "`+test.refused+`" may be an array, `) {
			t.Errorf("%s: error %v", test.parameters, err)
		}
		if _, err := tmpl.Prepare(r, engine.PrepareOptions{Insist: true}); err != nil {
			t.Errorf("%s, insisting: %v", test.parameters, err)
		}
	}
}

func TestUnverified(t *testing.T) {
	tmpl := compile(t, silent)
	r := request(t, `{"messages": [{"role": "user", "content": "Rain?"}], `+weather+`}`)
	if _, err := tmpl.Prepare(r, engine.PrepareOptions{}); !errors.Is(err, engine.ErrUnverified) {
		t.Errorf("tools without a spelling: error %v", err)
	}
	plan, err := tmpl.Prepare(r, engine.PrepareOptions{Fallbacks: []string{"hermes"}})
	if err != nil {
		t.Fatal(err)
	}
	got := plan.Parse("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call>", chat.FinishStop)
	if len(got.Message.ToolCalls) != 1 || got.Message.ToolCalls[0].Name != "weather" ||
		got.Finish != chat.FinishToolCalls {
		t.Errorf("by a fallback spelling: %+v", got)
	}
	if _, err := tmpl.Prepare(r,
		engine.PrepareOptions{Fallbacks: []string{"martian"}}); err == nil ||
		!strings.Contains(err.Error(), "martian") {
		t.Errorf("an unknown fallback: error %v", err)
	}
}

// TestGrammarIgnoresProse holds the metamorphic rule: descriptions, and the order and number of
// tools, do not change the set of accepted texts.
func TestGrammarIgnoresProse(t *testing.T) {
	tmpl := compile(t, template)
	tool := func(name, description string) string {
		return `{"type": "function", "function": {"name": "` + name + `", "description": "` + description + `", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "` + description + `"}}, "required": ["city"]}}}`
	}
	grammar := func(tools ...string) *gbnf.Grammar {
		plan, err := tmpl.Prepare(request(t, `{"messages": [{"role": "user", "content": "x"}], "tool_choice": "required", "tools": [`+strings.Join(tools, ",")+`]}`), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := plan.Output.Grammar()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	plainly := grammar(tool("weather", "a"), tool("news", "b"))
	if wordy := grammar(tool("weather", "root ::= never \\\" </call>"),
		tool("news", "b")); plainly.String() != wordy.String() {
		t.Error("a description changes the grammar")
	}
	swapped := grammar(tool("news", "b"), tool("weather", "a"))
	for _, text := range []string{
		`<call>{"name": "weather", "arguments": {"city": "Bern"}}</call>`,
		`<call>{"name": "news", "arguments": {"city": "Bern"}}</call>`,
		`<call>{"name": "other", "arguments": {"city": "Bern"}}</call>`,
		`<call>{"name": "weather", "arguments": {"town": "Bern"}}</call>`,
	} {
		a, errA := gbnf.Accepts(plainly, text)
		b, errB := gbnf.Accepts(swapped, text)
		if a != b || errA != nil || errB != nil {
			t.Errorf("the order of tools decides over %s: %v %v, %v %v", text, a, errA, b, errB)
		}
	}
}

// TestEscapedAttributes writes names and keys into attributes, escaped in several ways: the grammar
// demands the template's own way, and the parser reads it.
func TestEscapedAttributes(t *testing.T) {
	for _, tt := range []struct{ escape, name, key string }{
		{`|replace('&', '&amp;')|replace('"', '&quot;')`, `f&"g"`, `x & "y" <z>`},
		{"|e", `f&"g"`, `x & "y" <z>'s`},
		{"", "f&g", "x & <z>"},
	} {
		tmpl := compile(t, `{% if tools %}{{ tools|tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}`+
			strings.ReplaceAll(`{% for c in m.tool_calls or [] %}<call tool="{{ c.function.name ESCAPE }}">{% for k, v in c.function.arguments|items %}`+
				`<arg key="{{ k ESCAPE }}">{{ v if v is string else v|tojson }}</arg>{% endfor %}</call>{% endfor %}`, "ESCAPE", tt.escape)+
			`<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`)
		quoted := func(text string) string { return ordered.Str(text).String() }
		question := `"messages": [{"role": "user", "content": "x"}`
		r := request(t, `{`+question+`], "tool_choice": "required", "tools": [{"type": "function", "function": {"name": `+quoted(tt.name)+
			`, "parameters": {"type": "object", "properties": {`+quoted(tt.key)+`: {"type": "string"}}}}}]}`)
		plan, err := tmpl.Prepare(r, engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		answered := request(t, `{`+question+`, {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": `+quoted(tt.name)+
			`, "arguments": {`+quoted(tt.key)+`: "v"}}}]}]}`)
		answered.NoGeneration = true
		prompt, err := tmpl.Render(answered)
		if err != nil {
			t.Fatal(err)
		}
		_, turn, _ := strings.Cut(prompt.Text, "<|assistant|>")
		grammar, err := plan.Output.Grammar()
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := gbnf.Accepts(grammar, turn); !ok || err != nil {
			t.Errorf("%q: the grammar refuses %s, %v", tt.escape, turn, err)
		}
		got := plan.Parse(turn, chat.FinishStop).Message
		args := `{` + quoted(tt.key) + `: "v"}`
		if len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != tt.name ||
			got.ToolCalls[0].Arguments != args {
			t.Errorf("%q: %s is read as %+v", tt.escape, turn, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	tmpl := compile(t, template)
	r := request(t, `{"messages": [{"role": "user", "content": "Rain?"}], `+weather+`}`)
	plan, err := tmpl.Prepare(r, engine.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := tmpl.Prepare(r, engine.PrepareOptions{}); err != nil {
				t.Error(err)
			}
			if got := plan.Parse(`<call>{"name": "weather", "arguments": {"city": "Bern"}}</call>`, chat.FinishStop); len(got.Message.ToolCalls) != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
	group.Wait()
}

// TestPlansAtOnce has requests with the same tools come at once: their parser is generated once.
func TestPlansAtOnce(t *testing.T) {
	tmpl := compile(t, template)
	r := request(t, `{"messages": [{"role": "user", "content": "Rain?"}], `+weather+`}`)
	var wait sync.WaitGroup
	plans := make([]*engine.Plan, 32)
	for i := range plans {
		wait.Go(func() {
			plan, err := tmpl.Prepare(r, engine.PrepareOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			plans[i] = plan
		})
	}
	wait.Wait()
	for _, plan := range plans {
		if plan != nil && plan.Output != plans[0].Output {
			t.Fatal("requests with the same tools have parsers of their own")
		}
	}
}

// TestVerdict judges templates that can be used for tools, that cannot, and whose format nothing
// proves.
func TestVerdict(t *testing.T) {
	wrong := compile(t, template).Analysis().Format
	wrong.End = []string{"<|fin|>"}
	const refusing = `{% if tools %}{{ raise_exception('no tools') }}{% endif %}` + template
	for _, tt := range []struct {
		name, text string
		format     *format.Format
		capable    bool
		want       string // of String
	}{
		{"verified", template, nil, true, `^pass$`},
		{"another format", template, &wrong, false, `^fail: .*: no answer with calls is read back: call: failed .*; ` +
			`the output format is not verified: content: failed \(`},
		{"without tools", silent, nil, false,
			`^fail: chat template does not support tool calling \(supports_tools=false, supports_tool_calls=false\)$`},
		{"both", silent, &wrong, false, `^fail: chat template .*; the output format is not verified: content: failed`},
		{"refused", refusing, nil, false, `^fail: chat template does not support tool calling \(supports_tools=false`},
		{"not judged", strings.Replace(template, "tools|tojson", "tools|nosuch", 1), nil, false,
			`^fail: chat template .* \(supports_tools not judged: .*nosuch`},
	} {
		tmpl, err := engine.Compile(t.Context(), engine.Source{Name: "t.jinja", Text: tt.text},
			engine.Options{Now: now, Format: tt.format})
		if err != nil {
			t.Fatal(err)
		}
		v := tmpl.Gate()
		if says := v.Tools(); strings.HasPrefix(says, "yes") != tt.capable ||
			(says == "yes") != v.Pass() {
			t.Errorf("%s: says of tools %q; tool-capable is %t", tt.name, says, tt.capable)
		}
		if v.ToolCapable() != tt.capable || !regexp.MustCompile(tt.want).MatchString(v.String()) {
			t.Errorf("%s: tool-capable %t, "+
				"%s; want %t, %s", tt.name, v.ToolCapable(), v, tt.capable, tt.want)
		}
		if v.Pass() != (v.Err() == nil) || v.Pass() != (v.String() == "pass") {
			t.Errorf("%s: pass %t, error %v, %s", tt.name, v.Pass(), v.Err(), v)
		}
		if !v.Pass() && !errors.Is(v.Err(), engine.ErrUnverified) &&
			!errors.Is(v.Err(), engine.ErrToolsUnsupported) {
			t.Errorf("%s: %v", tt.name, v.Err())
		}
	}
}

// TestUnproven prepares requests on templates whose answers nothing proves: those that need the
// proof are refused.
func TestUnproven(t *testing.T) {
	plain := compile(t, silent).Analysis().Format
	plain.End = []string{"<|fin|>"}
	tools := request(t, `{"messages": [{"role": "user", "content": "Rain?"}], `+weather+`}`)
	bare := tools
	bare.Tools = nil
	tmpl, err := engine.Compile(t.Context(), engine.Source{Name: "t.jinja", Text: silent},
		engine.Options{Now: now, Format: &plain})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []chat.Request{bare, tools} {
		for _, o := range []engine.PrepareOptions{{}, {Fallbacks: []string{"hermes"}}} {
			if _, err := tmpl.Prepare(r, o); !errors.Is(err, engine.ErrUnverified) {
				t.Errorf("%d tools, %+v: error %v", len(r.Tools), o, err)
			}
		}
	}
	if _, err := tmpl.Prepare(tools, engine.PrepareOptions{Insist: true}); err != nil {
		t.Error(err)
	}
	undisclosed := compile(t, `{% if tools %}{{ tools | tojson }}{% endif %}`+silent)
	if _, err := undisclosed.Prepare(tools, engine.PrepareOptions{}); !errors.Is(err,
		engine.ErrUnverified) {
		t.Errorf("calls that no turn shows: error %v", err)
	}
	if _, err := undisclosed.Prepare(bare, engine.PrepareOptions{}); err != nil {
		t.Errorf("without tools: %v", err)
	}
}

// TestNullTools prepares requests on a template that asks whether tools are null, and fails where
// they are not given: without tools they are null, as the engines have it.
func TestNullTools(t *testing.T) {
	tmpl := compile(t, `{% if tools is none %}[no tools]{% else %}{{ tools | tojson }}{% endif %}`+
		template)
	for members, want := range map[string]string{"": "[no tools]<|user|>Rain?",
		", " + weather: `[{"type": "function"`} {
		plan, err := tmpl.Prepare(request(t, `{"messages": [{"role": "user", "content": "Rain?"}]`+
			members+`}`), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(plan.Prompt.Text, want) {
			t.Errorf("the prompt is %q; want %q at its start", plan.Prompt.Text, want)
		}
	}
	if err := tmpl.Gate().Err(); err != nil {
		t.Error(err)
	}
}

// TestSourceLimit compiles templates at the limit on their bytes and beyond it, and some that come
// together: their bytes count, and nothing is compiled once no steps are left.
func TestSourceLimit(t *testing.T) {
	text := "{# " + strings.Repeat("x", 64_000) + " #}{{ messages }}"
	for size, want := range map[int]bool{0: true, len(text): true, len(text) - 1: false} {
		_, err := engine.Compile(t.Context(), engine.Source{Name: "t", Text: text},
			engine.Options{Limits: engine.Limits{Source: size}})
		if got := err == nil; got != want || err != nil && (!errors.Is(err, engine.ErrExhausted) ||
			!strings.Contains(err.Error(), "the limit source")) {
			t.Errorf("with %d bytes for %d: %v", size, len(text), err)
		}
	}
	together := engine.Options{Limits: engine.Limits{TotalSteps: 100_000}}.Together()
	var left []int64
	for _, text := range []string{"{{ messages }}", text} {
		tmpl, err := engine.Compile(t.Context(), engine.Source{Name: "t", Text: text}, together)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, tmpl.ChatTemplate().Budget.Left())
	}
	if first, second := 100_000-left[0], left[0]-left[1]; second-first < 3_900 {
		t.Errorf("%d steps for a short template, %d for a long one", first, second)
	}
	for range 25 { // none of which compiles
		_, _ = engine.Compile(t.Context(), engine.Source{Name: "t", Text: text + "{% if"}, together)
	}
	_, err := engine.Compile(t.Context(), engine.Source{Name: "t", Text: "{% if"}, together)
	if !errors.Is(err, engine.ErrExhausted) {
		t.Errorf("after many templates that come together: %v", err)
	}
}
