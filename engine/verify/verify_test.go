package verify_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/analysis"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/verify"
)

const head = `{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}`

const tail = `{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

func report(t *testing.T, answer string, change func(*format.Format)) *verify.Report {
	t.Helper()
	ct, err := chattemplate.Compile(source.New("template.jinja", head+answer+tail), "", "", nil)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	a := analysis.Analyze(ct, analysis.Options{})
	if change != nil {
		change(&a.Format)
	}
	return verify.Verify(ct, a, nil)
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

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		name, answer, shape string
		want                verify.Verdict
		note                string
	}{
		{"all is written", `{{ m.content or '' }}` + calls, "content and call", verify.Verified, ""},
		{"content is dropped beside calls", `{% if not m.tool_calls %}{{ m.content }}{% endif %}` + calls, "content and call", verify.Verified, "no content"},
		{"reasoning is not written", `{{ m.content or '' }}` + calls, "reasoning and content", verify.Dropped, "no reasoning"},
		{"no call is written", `{{ m.content or '' }}`, "call", verify.Dropped, "no call"},
		{"two calls are refused", `{% if m.tool_calls and m.tool_calls|length > 1 %}{{ raise_exception('one call') }}{% endif %}{{ m.content or '' }}` + calls, "two calls", verify.Refused, "one call"},
		{"reasoning is opened and not closed", `<think>{{ m.reasoning_content ~ '</think>' if m.reasoning_content }}{{ m.content or '' }}`, "content", verify.Ambiguous, "does not close"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := report(t, tt.answer, nil)
			if got, note := verdict(r, tt.shape); got != tt.want || !strings.Contains(note, tt.note) {
				t.Errorf("%s: %v %q, want %v %q\n%s", tt.shape, got, note, tt.want, tt.note, r)
			}
			if !r.OK() {
				t.Errorf("a shape failed:\n%s", r)
			}
		})
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
		if r := report(t, answer, change); r.OK() && name != "calls" || name == "calls" && r.ToolsOK() {
			t.Errorf("%s: nothing found:\n%s", name, r)
		}
	}
}
