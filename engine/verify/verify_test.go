package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/verify"
)

const head = `{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}`

const tail = `{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

func report(t *testing.T, answer string, change func(*format.Format)) *verify.Report {
	t.Helper()
	return reportOf(t, head+answer+tail, change)
}

func reportOf(t *testing.T, text string, change func(*format.Format)) *verify.Report {
	t.Helper()
	ct, err := chattemplate.Compile(t.Context(), source.New("template.jinja", text), "", "", nil)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	o, err := observe.New(ct)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	a := analysis.Analyze(o, analysis.Options{})
	if change != nil {
		change(&a.Format)
	}
	return verify.Verify(ct, caps.Of(o), a, codegen.NewGenerator(a.Format))
}

func verdict(r *verify.Report, name string) (verify.Verdict, string) {
	for _, s := range r.Shapes {
		if s.Name == name {
			return s.Verdict, s.Note
		}
	}
	return verify.Failed, "no such shape"
}

const calls = `{% for c in m.tool_calls or [] %}<f={{ c.function.name }}>{{ c.function.arguments|tojson }}</f>{% endfor %}`

// joined writes a list of an argument as the texts of its items.
const joined = `{% for c in m.tool_calls or [] %}<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<p={{ k }}>` +
	`{{ v if v is string else v | tojson if v is mapping or v is not iterable else v | join('; ') }}</p>{% endfor %}</f>{% endfor %}{{ m.content or '' }}`

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name, answer, shape string
		want                verify.Verdict
		note                string
	}{
		{"all is written", `{{ m.content or '' }}` + calls, "content and call", verify.Verified, ""},
		{"content is rewritten", `{{ (m.content or '').replace('\n\n', '\n') }}` + calls, "content", verify.Verified, ""},
		{"content is dropped beside calls", `{% if not m.tool_calls %}{{ m.content }}{% endif %}` + calls, "content and call", verify.Verified, "no content"},
		{"reasoning is not written", `{{ m.content or '' }}` + calls, "reasoning and content", verify.Dropped, "no reasoning"},
		{"no call is written", `{{ m.content or '' }}`, "call", verify.Dropped, "no call"},
		{"two calls are refused", `{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one call') }}{% endif %}{{ m.content or '' }}` + calls, "two calls", verify.Refused, "one call"},
		{"reasoning is opened and not closed", `<think>{{ m.reasoning_content ~ '</think>' if m.reasoning_content }}{{ m.content or '' }}`, "content", verify.Ambiguous, "does not close"},
		{"content goes where reasoning goes", `{% if m.tool_calls %}{% if m.reasoning_content or m.content %}<why>{{ m.reasoning_content or m.content }}</why>{% endif %}{% else %}{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}{{ m.content }}{% endif %}` + calls, "content and call", verify.Ambiguous, "where reasoning does"},
		{"content goes where reasoning goes beside content", `{% if m.tool_calls %}{% if m.content %}<why>{{ m.content }}</why>{% endif %}` +
			`{% else %}{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}{{ m.content }}{% endif %}` + calls, "content and call", verify.Ambiguous, "where reasoning does"},
		{"white space alone parts reasoning from content", `{{ m.reasoning_content ~ '\n' if m.reasoning_content }}{{ m.content or '' }}` + calls,
			"reasoning and content", verify.Ambiguous, "as it writes content"},
		{"quotes without escapes", `{% for c in m.tool_calls or [] %}<f={{ c.function.name }}>{% for k, v in c.function.arguments.items() %}{{ k }}={% if v is string %}"{{ v }}"{% else %}{{ v|tojson }}{% endif %}{{ ", " if not loop.last }}{% endfor %}</f>{% endfor %}{{ m.content or '' }}`, verify.AwkwardStrings, verify.Ambiguous, "not escaped"},
		{"lists joined by text", joined, "two calls", verify.Ambiguous, "written as its items alone"},
		{"lists joined by text among others", joined, "typed values", verify.Ambiguous, "written as its items alone"},
		{"no list", joined, "three calls", verify.Verified, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := report(t, tt.answer, nil)
			if got, note := verdict(r, tt.shape); got != tt.want ||
				!strings.Contains(note, tt.note) {
				t.Errorf("%s: %v %q, want %v %q\n%s", tt.shape, got, note, tt.want, tt.note, r)
			}
			if !r.OK() {
				t.Errorf("a shape failed:\n%s", r)
			}
		})
	}
}

// TestTakenOut has a template that writes no reasoning and takes it out of past answers: the last
// answer is in the block that prompts open.
func TestTakenOut(t *testing.T) {
	const opens = `<think>{{ m.content if loop.last else m.content.split('</think>')[-1] }}`
	prompted := strings.Replace(tail, "<|assistant|>", "<|assistant|><think>", 1)
	if got, note := verdict(reportOf(t, head+opens+prompted, nil),
		"content"); got != verify.Ambiguous || !strings.Contains(note, "does not close") {
		t.Errorf("%v %q", got, note)
	}
}

// TestUnasked has a template that writes the prompt for the next answer unasked: it is no part of
// the turn, and the turn ends where a message that follows shows it, though the prompt and that
// message begin alike.
func TestUnasked(t *testing.T) {
	for _, template := range []string{
		`You help.{% for m in messages %}{{ '\n### ' ~ ('Task' if m.role == 'user' else 'Reply') ~ ':\n' ~ m.content }}{% if m.role == 'assistant' %}|END|{% endif %}{% endfor %}{{ '\n### Reply:\n' }}`,
		`{% for m in messages %}{{ 'From: ' ~ m.role ~ '\n ' ~ m.content ~ ' <over> ' }}{% endfor %}{{ 'From: assistant\nTo: user\n ' }}`,
		`{% for m in messages %}{{ m.role ~ ': ' ~ m.content ~ '<|done|>\n' }}{% endfor %}assistant:`,
	} {
		r := reportOf(t, template, nil)
		if got, note := verdict(r, "content"); got != verify.Verified {
			t.Errorf("%s\n%v %s", template, got, note)
		}
	}
}

// TestJudge has a template that judges messages: an assistant's is no answer, which is no fault.
func TestJudge(t *testing.T) {
	r := reportOf(t, `{% for m in messages %}{{ '[' ~ m.role ~ '] ' ~ m.content ~ '\n' }}{% endfor %}Is that right?<|end|>{% if add_generation_prompt %}<|judge|>{% endif %}`, nil)
	if got, note := verdict(r, "content"); got != verify.Dropped ||
		!strings.Contains(note, "no answer") || !r.OK() {
		t.Errorf("%v %q", got, note)
	}
}

// TestJudgeWithTools has a template that judges messages where there are no tools, and writes
// answers beside tools: those prove how it is answered, since all prompts end alike.
func TestJudgeWithTools(t *testing.T) {
	const judge = `{% if tools %}{{ tools|tojson }}{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}` + calls + `[over]{% endfor %}` +
		`{% else %}[user]Judge: {% for m in messages %}{{ '(' ~ m.role ~ ') ' ~ m.content ~ '\n' }}{% endfor %}[over]{% endif %}PROMPT`
	for prompt, want := range map[string]verify.Verdict{
		`{% if add_generation_prompt %}[assistant]{% endif %}`:                                   verify.Verified,
		`{% if add_generation_prompt %}{{ '[assistant]' if tools else '[verdict]' }}{% endif %}`: verify.Dropped,
	} {
		r := reportOf(t, strings.Replace(judge, "PROMPT", prompt, 1), nil)
		if got, note := verdict(r, "content"); got != want {
			t.Errorf("%s: content is %v (%s), want %v", prompt, got, note, want)
		}
		if got, note := verdict(r, "content and call"); got != verify.Verified {
			t.Errorf("%s: content and call are %v (%s)", prompt, got, note)
		}
	}
}

// TestSeveralMessages has a template that writes a turn as several messages, each with a header.
func TestSeveralMessages(t *testing.T) {
	const message = `{% if m.content %}<|assistant|>{{ m.content }}<|end|>{{ '<|over|>' if not m.tool_calls }}{% endif %}` +
		`{% if m.tool_calls %}<|assistant|>to tools:{% for c in m.tool_calls %}{{ c.function|tojson }}{% endfor %}<|end|><|wait|>{% endif %}`
	r := reportOf(t, `{% for m in messages %}{% if m.role == 'assistant' %}`+message+`{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`, nil)
	for _, shape := range []string{"content", "call", "content and call", "two calls"} {
		if got, note := verdict(r, shape); got != verify.Verified {
			t.Errorf("%s: %v %s", shape, got, note)
		}
	}
}

// TestNotExcused has a format in which the analysis took the opener of calls for the close of
// reasoning. Reasoning then seems open where there is content, which is no fault of the template.
func TestNotExcused(t *testing.T) {
	const answer = `{% if m.reasoning_content or m.tool_calls %}<plan><thought>{{ m.reasoning_content }}</thought>` + calls + `</plan>{% endif %}{{ m.content or '' }}`
	r := report(t, answer,
		func(f *format.Format) { f.Reasoning.Close = format.Mark("</thought></plan>") })
	if got, note := verdict(r, "content and call"); got != verify.Failed {
		t.Errorf("%v %q\n%s", got, note, r)
	}
}

// TestWrittenTwice checks that an answer which a template writes twice is no answer that it
// rewrites.
func TestWrittenTwice(t *testing.T) {
	if v, note := verdict(report(t, `{{ m.content or '' }} {{ m.content or '' }}`, nil), "content"); v != verify.Failed {
		t.Errorf("%v (%s)", v, note)
	}
}

// TestWrongFormatIsFound changes an analysed format in ways that an analysis might get wrong.
func TestWrongFormatIsFound(t *testing.T) {
	const answer = `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or '' }}` + calls
	for name, change := range map[string]func(*format.Format){
		"name":      func(f *format.Format) { f.Calls[0].Head[0] = format.Lit("<g=") },
		"calls":     func(f *format.Format) { f.Calls = nil },
		"reasoning": func(f *format.Format) { f.Reasoning.Close = format.Mark("</thought>") },
		"end":       func(f *format.Format) { f.End = nil },
	} {
		if r := report(t, answer, change); r.Proven(true) == nil {
			t.Errorf("%s: nothing found:\n%s", name, r)
		}
	}
}

// TestProofs breaks a format in ways that the parser forgives: another proof finds each of them.
func TestProofs(t *testing.T) {
	const call = `{% for c in m.tool_calls or [] %}⁂call⁂{"name": {{ c.function.name|tojson }}, "arguments": {{ c.function.arguments|tojson }}}⁂fincall⁂{% endfor %}{{ m.content or '' }}`
	if r := report(t, call, nil); r.Proven(true) != nil {
		t.Fatalf("the format as it is fails:\n%s", r)
	}
	for _, tt := range []struct {
		name   string
		proof  verify.Proof
		damage func(*format.Calls)
	}{
		{"the end of the turn in a call's close", verify.Spelling, func(c *format.Calls) { c.Call.Close.Text += "<|end|>" }},
		{"a separator that the template does not write", verify.Spelling, func(c *format.Calls) { c.Sep = format.Mark(";") }},
		{"a section that is not there", verify.Spelling, func(c *format.Calls) { c.Section.Open = format.Mark("⁂calls⁂") }},
		{"fields in another order", verify.Spelling, func(c *format.Calls) { slices.Reverse(c.Object.Fields) }},
		{"arguments as a text", verify.Spelling, func(c *format.Calls) { c.Object.Fields[1].Text = true }},
	} {
		r := report(t, call, func(f *format.Format) {
			c := f.Calls[0]
			o := *c.Object
			o.Fields = slices.Clone(o.Fields)
			c.Object = &o
			f.Calls = []format.Calls{c}
			tt.damage(&f.Calls[0])
		})
		if !slices.ContainsFunc(r.Shapes, func(s verify.Shape) bool { return s.Fails(tt.proof) }) ||
			r.Proven(true) == nil {
			t.Errorf("%s: no shape fails the proof by %s:\n%s", tt.name, tt.proof, r)
		}
	}
}

// TestHalfAnEnd has an end that lacks the text that the template writes right after it.
func TestHalfAnEnd(t *testing.T) {
	r := report(t, `{{ m.content or '' }}`+calls, func(f *format.Format) { f.End = []string{"<|end"} })
	if r.OK() {
		t.Errorf("all shapes are verified:\n%s", r)
	}
}

// TestUnclosed has a template that closes a section only where it holds several calls: the format
// says so, and both are proven.
func TestUnclosed(t *testing.T) {
	r := report(t, `{% for c in m.tool_calls or [] %}{% if loop.first %}[calls]{% endif %}[call]{{ c.function.name }}[args]{{ c.function.arguments|tojson }}[/call]{% if loop.last and not loop.first %}[/calls]{% endif %}{% endfor %}{{ m.content or '' }}`, nil)
	if r.Proven(true) != nil {
		t.Errorf("a shape failed:\n%s", r)
	}
}
