package boundary_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
)

// lined writes each call and each result in lines of their own.
const lined = `{% if tools %}<|system|>
<tools>
{%- for tool in tools %}{{ '\n' ~ tool | tojson }}{% endfor %}{{ '\n' }}</tools><|end|>
{% endif %}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{%- if loop.previtem.role != 'tool' %}<|tool|>{% endif %}{{ '\n' }}<result>{{ '\n' ~ m.content ~ '\n' }}</result>
{%- if loop.last or loop.nextitem.role != 'tool' %}<|end|>{{ '\n' }}{% endif %}
{%- else %}<|{{ m.role }}|>{{ '\n' if m.content }}{{ m.content }}
{%- for call in m.tool_calls or [] %}{{ '\n' }}<call>{{ call.function | tojson }}</call>{% endfor %}<|end|>{{ '\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ '\n' }}{% endif %}`

// TestOutliers takes a line feed from a template that has all of them, or adds one.
func TestOutliers(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"as it is", "", "", ""},
		{"the second call", "{{ '\\n' }}<call>", "{{ '\\n' if loop.first }}<call>",
			`"</call>" "<call>" between `},
		{"a call after a text", "{{ '\\n' }}<call>", "{{ '\\n' if not m.content or not loop.first }}<call>",
			`a message with tool_calls "<call>" between `},
		{"the first tool", "{{ '\\n' ~ tool | tojson }}", "{{ ('\\n' if not loop.first) ~ tool | tojson }}",
			`"<tools>" a tool `},
		{"the last tool", "{{ '\\n' }}</tools>", "</tools>", `a tool "</tools>" `},
		{"the end of one kind", "{% endfor %}<|end|>{{", "{% endfor %}{{ '\\n' if m.role == 'user' }}<|end|>{{",
			`a user message "<|end|>" between `},
		{"before one kind", "<|end|>{{ '\\n' }}{% endif %}",
			"{{ '\\n' if not loop.last and loop.nextitem.role == 'user' }}<|end|>{{ '\\n' }}{% endif %}",
			`"</result>" "<|end|>" between them before `},
	} {
		text := lined
		if c.old != "" {
			if !strings.Contains(lined, c.old) {
				t.Fatalf("%s: the template has no %q", c.name, c.old)
			}
			text = strings.Replace(lined, c.old, c.new, 1)
		}
		got := ""
		s := probe.New(subject.New("test", text), probe.Options{}, nil)
		for _, o := range boundary.Outliers.Of(s) {
			left, right, elsewhere := o.Words()
			got += left + " " + right + " " + elsewhere + "\n"
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}
