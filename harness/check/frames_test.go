package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// framed is a template whose results stand in a list, and whose instructions have a switch.
const framed = `{%- set begin, end = '<plan>', '</plan>' %}
{%- if tools %}<|system|>{{ 'deep' if deep else 'brief' }}
{%- for tool in tools %}{{ '\n' }}{{ tool | tojson }}{% endfor %}<|end|>
{% else %}<|system|>{{ 'deep' if deep else 'brief' }}<|end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{%- if loop.first or loop.previtem.role != 'tool' %}<|user|>{% endif %}
{{- '\n<result>[' ~ message.content ~ ', ' ~ message.tool_call_id ~ ']</result>' }}
{%- if loop.last or loop.nextitem.role != 'tool' %}<|end|>
{% endif %}
{%- else %}
{%- set text, plan = message.content or '', message.reasoning_content %}
{%- if plan is not string and end in text %}
{%- set plan = text.split(end)[0].split(begin)[-1].strip() %}
{%- set text = text.split(end)[-1].strip() %}
{%- endif %}<|{{ message.role }}|>
{{ begin ~ plan ~ end if plan }}{{ text }}
{%- for call in message.tool_calls or [] %}
{%- set call = call.function %}
<call>{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}</call>
{%- endfor %}<|end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% endif %}`

// TestFrames changes what a template writes around the parts of requests: the rule that tells of it
// has nothing to say of the template as it was.
func TestFrames(t *testing.T) {
	t.Parallel()
	cut := `{%- set plan = text.split(end)[0].split(begin)[-1].strip() %}
{%- set text = text.split(end)[-1].strip() %}`
	lines := strings.Split(cut, "\n")
	for _, c := range []struct{ name, old, new, rule string }{
		{"a comma before the bracket of a list", "message.tool_call_id ~ ']</result>' }}",
			"message.tool_call_id }}{{ ', ' if not loop.last }}]</result>", "A152"},
		{"a line feed with the header and with the first result", "'tool' %}<|user|>",
			"'tool' %}<|user|>{{ '\\n' }}", "A088"},
		{"a switch that works the other way with tools", "{{ 'deep' if deep else 'brief' }}\n",
			"{{ 'brief' if deep else 'deep' }}\n", "A069"},
		{"an answer that is cut before its reasoning, between tags of the template's own", cut,
			lines[1] + "\n" + lines[0], "A161"},
	} {
		bad := strings.Replace(framed, c.old, c.new, 1)
		if bad == framed {
			t.Fatalf("%s: nothing is changed", c.name)
		}
		for text, want := range map[string]bool{framed: false, bad: true} {
			got := check.Template(subject.New(c.name, text), check.Options{Only: []string{c.rule}})
			if slices.ContainsFunc(got, func(r rule.Result) bool {
				return r.Rule == c.rule && (r.Status == rule.Found || r.Status == rule.Failed)
			}) != want {
				t.Errorf("%s: %s is found: %t; expected %t", c.name, c.rule, !want, want)
			}
		}
	}
}
