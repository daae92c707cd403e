package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// TestWeight has templates whose fault is an error, a warning or a note, by who meets it.
func TestWeight(t *testing.T) {
	const turns = `{%- for message in messages %}<|{{ message.role }}|>` +
		`{% if message.reasoning_content and loop.last %}<think>{{ message.reasoning_content }}` +
		`</think>{% endif %}{{ message.content or '' }}`
	const end = `<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`
	const tools = `{% if tools %}<|tools|>{{ tools | tojson }}<|end|>{% endif %}`
	call := func(name, arguments string) string {
		return tools + turns + `{%- for call in message.tool_calls or [] %}<call>{"name": "{{ ` +
			name + ` }}", "arguments": {{ ` + arguments + ` }}}</call>{% endfor %}` + end
	}
	const name = "call.function.name"
	for _, tt := range []struct {
		about, text, rule, want string
	}{
		{"every server gives objects", call(name, `'' + call.function.arguments`), "A036",
			"error a tool call whose arguments come as an object"},
		{"a library gives text", call(name, `dict(call.function.arguments.items()) | tojson`),
			"A036", "warning a tool call whose arguments come as a JSON string"},
		{"text is quoted again", call(name, `call.function.arguments | tojson`), "A018",
			"warning the arguments of a tool call, as the JSON string"},
		{"a call of the protocol crashes", call("'' + call.name", `call.arguments | string`),
			"A066", "error a tool call ends in an error"},
		{"the list of the request grows", tools + `{% set _ = messages.append(messages[0]) %}` +
			turns + end, "A009", "error an ordinary request"},
		{"a thought goes from the history", turns + end, "A020", "note after an assistant message with reasoning"},
		{"an answer goes from the history", `{%- for message in messages %}<|{{ message.role }}|>` +
			`{{ message.content if loop.last or message.role == 'user' else 'Said.' }}` + end,
			"A020", "warning after an assistant message,"},
		{"a switch in instructions", turns + `{% if message.role == 'system' and '/quiet' in ` +
			`message.content %}Say little.{% endif %}` + end, "A077", `note "/quiet"`},
		{"a switch in anybody's words", turns + `{% if '/quiet' in (message.content or '') %}` +
			`Say little.{% endif %}` + end, "A077", `warning "/quiet"`},
		{"one that embeds", `{% for message in messages %}Query: {{ message.content }}` +
			`{% endfor %}`, "A082", ""},
		{"the place tells whose a text is", `{% for message in messages %}{% if loop.index0 % 2 %}` +
			`A: {% else %}Q: {% endif %}{{ message.content }}{% endfor %}`, "A082",
			"warning with an assistant message, the text of"},
	} {
		var got []string
		for _, res := range check.Template(subject.New("t.jinja", tt.text),
			check.Options{Only: []string{tt.rule}}) {
			if res.Status == rule.Failed || res.Status == rule.Found {
				got = append(got, fmt.Sprint(res.Severity, " ", res.Text))
			}
		}
		if tt.want == "" && got != nil || tt.want != "" &&
			(len(got) == 0 || !strings.HasPrefix(got[0], tt.want)) {
			t.Errorf("%s: %q; want %q", tt.about, got, tt.want)
		}
	}
}
