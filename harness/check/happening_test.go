package check_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
)

// plainChat is a template without a fault.
const plainChat = `{%- macro said(content) %}
{%- if content is string %}{{ content }}
{%- else %}{% for part in content or [] %}{{ part.text if part.type == 'text' else '<image>' }}{% endfor %}
{%- endif %}
{%- endmacro %}
{%- set enable_thinking = enable_thinking if enable_thinking is defined else true %}
{%- if tools %}<|tools|>{{ tools | tojson }}<|end|>
{% endif %}
{%- for message in messages %}<|{{ message.role }}|>
{{ said(message.content) }}
{%- for call in message.tool_calls or [] %}
<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}</call>
{%- endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% if not enable_thinking %}<think></think>{% endif %}
{%- endif %}`

// declared describes tools member by member, in place of JSON.
const declared = `{%- macro member(schema) %}{%- if schema.description %}description:{{ schema.description }},{% endif %}
{%- if schema.properties %}properties:{ {%- for key, inner in schema.properties.items() %}{{ key }}:{ {{- member(inner) }}}{{ ',' if not loop.last }}{% endfor %}},{% endif %}
{%- if schema.type == 'array' %}items:{ {{- member(schema['items']) }}},{% endif %}
{%- if schema.enum %}enum:{{ schema.enum | join('/') }},{% endif %}
{%- if schema.required %}required:{{ schema.required | join('/') }},{% endif %}type:{{ schema.type }}{% endmacro %}
{%- if tools %}<|tools|>{% for tool in tools %}{{ '\n' }}{{ tool.function.name }}{description:{{ tool.function.description }},{{ member(tool.function.parameters) }}}{% endfor %}<|end|>
`

// TestHappening finds faults that vendors had to mend, or of their kind, which one edit makes.
func TestHappening(t *testing.T) {
	const tools = "{%- if tools %}<|tools|>{{ tools | tojson }}<|end|>\n"
	for _, tt := range []struct {
		rule, words string
		sound, edit []string // what is replaced, and what comes in its place
	}{
		{"A130", "a comma is missing, or follows an opening bracket, in", []string{tools, declared},
			[]string{"{%- if schema.type == 'array' %}items:", "{%- if schema.type == 'array' %},items:"}},
		{"A130", "a comma is missing, or follows an opening bracket, in", []string{tools, declared},
			[]string{"member(schema['items']) }}},", "member(schema['items']) }}}"}},
		{"A164", `a parameter that is named "type" does not reach`, []string{tools, declared},
			[]string{"schema.properties.items() %}", "schema.properties.items() if key not in " +
				"['type', 'description'] %}"}},
		{"A206", "this condition does not tell whether a request has enable_thinking", nil,
			[]string{"{% if not enable_thinking %}", "{% if enable_thinking is not defined %}" +
				"<no_think>{% else %}<think></think>{% endif %}{% if false %}"}},
		{"A070", "with tools, enable_thinking has no effect", nil,
			[]string{"{% if not enable_thinking %}", "{% if not enable_thinking and not tools %}"}},
		{"A065", "is written under the header of an assistant message", nil,
			[]string{"<|{{ message.role }}|>", "<|{{ 'user' if message.role == 'user' else " +
				"'assistant' }}|>"}},
		{"A173", "blanks follow a message", nil,
			[]string{"{{ said(message.content) }}", "{{ said(message.content) }}{{ '    ' if " +
				"message.role == 'user' }}"}},
		{"A173", "the indentation of the template is printed", nil,
			[]string{"{{ said(message.content) }}", "{{ said(message.content) }}{% if " +
				"message.role == 'user' %}    {{ '' }}{% endif %}"}},
		{"A206", "this condition does not tell whether a request has enable_thinking",
			[]string{"{%- macro said(content) %}", "{%- macro last(enable_thinking) %}{% if " +
				"enable_thinking is defined %}{{ enable_thinking }}{% else %}none{% endif %}" +
				"{% endmacro %}{%- macro said(content) %}"},
			[]string{"{% if not enable_thinking %}", "{% if enable_thinking is not defined %}" +
				"<no_think>{% else %}<think></think>{% endif %}{% if false %}"}},
		{"A224", "is given another name with tools than without", []string{"{%- for message",
			"{%- if messages[0].role != 'system' %}<|system|>\n{{ 'Answer with the APIs below.' " +
				"if tools else 'You are a helpful assistant.' }}<|end|>\n{% endif %}{%- for message"},
			[]string{"Answer with the APIs below.", "You are Adler.",
				"You are a helpful assistant.",
				"You are Falke."}},
		{"A223", "the call names functions.", []string{`{"name": "`, `{"name": "call:`,
			"<|{{ message.role }}", "<|{{ message.role }}{{ '=' ~ message.name if message.name }}"},
			[]string{"call:{{ call", "functions.{{ call"}},
		{"A152", "a comma stands between the last item", []string{tools, declared},
			[]string{"{{ schema.required | join('/') }},", "[{% for key in schema.required %}{{ key }}," +
				"{% endfor %}],"}},
		{"A130", "a comma is missing, or follows an opening bracket, in", []string{tools, declared,
			"{{ member(tool.function.parameters) }}}", "{{ member(tool.function.parameters) }}}Returns: text"},
			[]string{"member(schema['items']) }}},", "member(schema['items']) }}}"}},
		{"A018", "are encoded again", nil,
			[]string{"call.function.arguments if call.function.arguments is string else ", ""}},
	} {
		pairs := append(tt.sound, tt.edit...)
		sound, bad := plainChat, plainChat
		for i := 0; i < len(pairs); i += 2 {
			if bad = strings.ReplaceAll(bad, pairs[i], pairs[i+1]); i < len(tt.sound) {
				sound = bad
			}
		}
		if sound == bad {
			t.Fatalf("%s: the edit changes nothing", tt.rule)
		}
		found := func(text string) (all []string) {
			for _, res := range check.Template(subject.New("test.jinja", text), check.Options{}) {
				if res.Rule == tt.rule && res.IsFinding() {
					all = append(all, res.Text)
				}
			}
			return all
		}
		if all := found(sound); len(all) > 0 {
			t.Errorf("%s: the sound template has %q", tt.rule, all)
		}
		if all := found(bad); len(all) != 1 || !strings.Contains(all[0], tt.words) {
			t.Errorf("%s: found %q, want %q", tt.rule, all, tt.words)
		}
	}
}
