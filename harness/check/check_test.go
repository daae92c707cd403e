package check_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/subject"
)

// chat is a template without a fault but for notes; the table below breaks it in one place each.
const chat = `{{- bos_token }}
{%- if tools %}<|system|>
{%- for tool in tools %}{{ tool | tojson }}{{ '\n' }}{% endfor %}<|end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|tool|>
{{ message.content }}<|end|>
{% else %}<|{{ message.role }}|>
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content or [] %}{{ part.text }}{% endfor %}{% endif %}
{%- for call in message.tool_calls or [] %}<call>{"id": "{{ call.id }}", "name": "{{ call.function.name }}", "arguments": {{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}</call>{% endfor %}<|end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% endif %}`

// broken returns the ids of the rules that a template breaks.
func broken(t *testing.T, text string) string {
	t.Helper()
	var ids []string
	for _, res := range check.Template(subject.New("test.jinja", text), check.Options{}) {
		if res.Status != report.Passed && (len(ids) == 0 || ids[len(ids)-1] != res.Rule) {
			ids = append(ids, res.Rule)
		}
		if strings.Contains(res.Text, "internal error") {
			t.Error(res.Text)
		}
	}
	return strings.Join(ids, " ")
}

func TestRules(t *testing.T) {
	base := broken(t, chat)
	if strings.Contains(base, "A00") || base != "A037" {
		t.Fatalf("the template without faults breaks %q", base)
	}
	for _, c := range []struct{ rule, old, new string }{
		{"A001", "{%- endfor %}", "{%- endfro %}"},
		{"A001", "<|system|>", "<|system\xff|>"},
		{"A002", "{{- bos_token }}", "{{- raise_exception('no') }}"},
		{"A008", "{%- if tools %}", "{%- if false %}"},
		{"A009", "{{- bos_token }}", "{{- bos_token }}{% set l = [] %}{% set _ = l.append(1) %}"},
		{"A012", "{% if message.content is string %}", "{% if message.content is string or message.content is none %}"},
		{"A013", "{%- for message in messages %}", "{%- for message in messages if message.role != 'system' %}"},
		{"A014", "{{ message.content }}{% else %}", "{{ message.content if message.role != 'user' or loop.last }}{% else %}"},
		{"A015", "<|tool|>\n{{ message.content }}", "<|tool|>\ndone"},
		{"A016", "{{ tool | tojson }}", "{{ tool.function.name }}"},
		{"A017", "{{- bos_token }}", "{{- bos_token }}{{ bos_token }}"},
		{"A018", "call.function.arguments if call.function.arguments is string else ", ""},
		{"A020", "{% if message.content is string %}{{ message.content }}",
			"{% if message.content is string %}{{ message.content if loop.last or message.role != 'assistant' else 'Before: ' ~ message.content }}"},
		{"A023", "call.function.arguments | tojson", "dict(call.function.arguments | dictsort) | tojson"},
		{"A026", "message.tool_calls or []", "(message.tool_calls or [])[:1]"},
		{"A027", `"id": "{{ call.id }}", `, ""},
		{"A029", "call.function.arguments | tojson }}", "call.function.arguments | tojson(ensure_ascii=true) }}"},
		{"A030", "{% if message.content is string %}", "{% if true %}"},
		{"A031", "{{ message.content }}{% else %}", "{{ message.content | trim }}{% else %}"},
		{"A033", "{{- bos_token }}", "{{- bos_token }}{% if messages[0].role == 'assistant' %}{{ raise_exception('a user first') }}{% endif %}"},
		{"A035", "{{- bos_token }}", "{{- bos_token }}{{ strftime_now('%Y') }}"},
		{"A036", "{{- bos_token }}", "{{- bos_token }}{% for m in messages %}{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments.items() %}{% endfor %}{% endfor %}{% endfor %}"},
		{"A038", "{%- for call in message.tool_calls or [] %}", "{%- for call in [] %}"},
		{"A098", "{{- bos_token }}", "{{- bos_token }}{# assay:ignore A037 #}"},
		{"A098", "{{- bos_token }}", "{{- bos_token }}{# assay:ignore A777 why not #}"},
		{"A099", "{{- bos_token }}", "{{- bos_token }}{# assay:ignore A012 it once was #}"},
	} {
		text := strings.Replace(chat, c.old, c.new, 1)
		if text == chat {
			t.Errorf("%s: %q is not in the template", c.rule, c.old)
		}
		if got := broken(t, text); !strings.Contains(got, c.rule) {
			t.Errorf("%s: %q for %q breaks only %q", c.rule, c.new, c.old, got)
		}
	}
}

func TestSuppression(t *testing.T) {
	text := strings.Replace(chat, "{{- bos_token }}", "{{- bos_token }}{# assay:ignore A037 reasoning is not for this model #}", 1)
	if got := broken(t, text); got != "" {
		t.Errorf("the suppressed template breaks %q", got)
	}
}

func TestRuleDeclarations(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range check.Rules() {
		if seen[r.ID] || seen[r.Name] {
			t.Errorf("%s or %s is declared twice", r.ID, r.Name)
		}
		seen[r.ID], seen[r.Name] = true, true
		for _, text := range []string{r.Short, r.Damage, r.Fix} {
			if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "}") {
				t.Errorf("%s: %q is no sentence", r.ID, text)
			}
		}
		if _, ok := check.Explain(r.Name); !ok {
			t.Errorf("%s cannot be explained by its name", r.ID)
		}
	}
}
