package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// repair closes the model's turn where anybody but the model speaks after a tool's results, and
// leaves it open where the model goes on.
var repair = strings.NewReplacer(
	"{%- set ns_tr_out = namespace(flag=false) -%}", "{%- set ns_tr_out = namespace(flag=false, next='') -%}",
	"{%- set ns_tool_scan.stopped = true -%}", "{%- set ns_tool_scan.stopped = true -%}{%- set ns_tr_out.next = loop_messages[k]['role'] -%}",
	"{%- elif not (ns_tr_out.flag and not message.get('content')) -%}", "{%- elif not ns_tr_out.flag or ns_tr_out.next not in ['', 'assistant'] -%}",
)

// TestTurnLeftOpen finds the bug of a vendor's template that left the model's turn open for 96
// days, where it is, and nothing in its sibling and in a repair.
func TestTurnLeftOpen(t *testing.T) {
	dir := os.Getenv("ASSAY_VENDOR")
	if dir == "" {
		return
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	turns := func(text string) (open []rule.Result, all []string) {
		_, findings := broken(t, subject.New("test.jinja", text), check.Options{})
		for _, f := range findings {
			switch f.Rule {
			case "A058":
				open = append(open, f)
				fallthrough
			case "A059", "A060":
				all = append(all, f.Rule+" "+f.Text)
			}
		}
		return open, all
	}
	text := read("google-gemma-4-31B-it.jinja")
	open, _ := turns(text)
	if len(open) != 1 || open[0].Severity != rule.Error {
		t.Fatalf("the turn that is left open is not one error: %+v", open)
	}
	line := strings.Split(text, "\n")[open[0].Place.Line-1]
	// the condition that decides, which the repair changes
	if !strings.Contains(line, "{%- elif not (ns_tr_out.flag") || !strings.Contains(open[0].Text, "before a user message") ||
		!strings.Contains(open[0].Text, "<tool_response|><|turn>user") {
		t.Errorf("found at %s, %q: %s", open[0].Place, line, open[0].Text)
	}
	if repaired := repair.Replace(text); repaired == text {
		t.Error("the repair changes nothing")
	} else if _, all := turns(repaired); all != nil {
		t.Errorf("the repaired template: %q", all)
	}
	if _, all := turns(read("google-gemma-4-31B-it-interleaved.jinja")); all != nil {
		t.Errorf("the sibling: %q", all)
	}
}

// TestOneSpeakerCloses leaves all turns open but the model's, where opener and closer are the two
// halves of one marker; a closer that has no opener of its own may well be the model's alone.
func TestOneSpeakerCloses(t *testing.T) {
	closed := strings.NewReplacer("<|system|>", "<|turn_start|>system{{ '\\n' }}", "<|tool|>",
		"<|turn_start|>tool", "<|{{ message.role }}|>", "<|turn_start|>{{ message.role }}",
		"<|assistant|>", "<|turn_start|>assistant", "<|end|>", "<|turn_end|>").Replace(chat)
	if got, findings := broken(t, subject.New("test.jinja", closed), check.Options{}); got != "" {
		t.Fatalf("breaks %q\n%+v", got, findings)
	}
	const end = "<|turn_end|>\n{% endif %}\n{%- endfor %}"
	for closer, found := range map[string]bool{"<|turn_end|>": true, "<|stop|>": false} {
		text := strings.Replace(closed, end, "{{ '"+closer+"' if message.role == 'assistant' }}"+
			"\n{% endif %}\n{%- endfor %}", 1)
		text = strings.NewReplacer("{{ message.content }}<|turn_end|>", "{{ message.content }}",
			"{% endfor %}<|turn_end|>", "{% endfor %}").Replace(text)
		if got, findings := broken(t, subject.New("test.jinja", text),
			check.Options{}); strings.Contains(got, "A058") != found {
			t.Errorf("%s: breaks %q\n%+v", closer, got, findings)
		}
	}
}

// TestLaterSystem writes instructions after an answer under the header of a question.
func TestLaterSystem(t *testing.T) {
	t.Parallel()
	const template = `{%- for m in messages %}
{%- if m.role == 'system' and not loop.first %}<|START|><|LATER|>
{%- elif m.role == 'system' %}<|START|><|SYSTEM|>
{%- elif m.role == 'user' %}<|START|><|USER|>
{%- else %}<|START|><|CHATBOT|>{% endif %}{{ m.content }}<|END|>
{%- endfor %}{% if add_generation_prompt %}<|START|><|CHATBOT|>{% endif %}`
	for role, want := range map[string]int{"SYSTEM": 0, "USER": 1} {
		text := strings.Replace(template, "LATER", role, 1)
		found := 0
		for _, res := range check.Template(subject.New(role, text),
			check.Options{Only: []string{"A065"}}) {
			if res.Status == rule.Failed {
				found++
			}
		}
		if found != want {
			t.Errorf("%s: %d findings, want %d", role, found, want)
		}
	}
}
