package check_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/subject"
)

// kinds are ways to write calls that no template of the corpus has. EACH ... DONE is a loop over the calls, ARGS ... END one over the
// arguments, VALUE a string as it is or anything else as JSON.
var kinds = []struct{ name, calls string }{
	{"lines of key and value", `EACH{{ "<call>\nname: " ~ f.name }}ARGS{{ "\n" ~ k ~ ": " }}VALUEEND{{ "\n</call>" }}DONE`},
	{"lines of key and JSON", `EACH{{ "<call>\nname: " ~ f.name }}ARGS{{ "\n" ~ k ~ ": " ~ v|tojson }}END{{ "\n</call>" }}DONE`},
	{"a list of key and value", `EACH{{ "[call] " ~ f.name ~ "\n" }}ARGS- {{ k }}: VALUE{{ "\n" }}END[/call]DONE`},
	{"assignments in sections", `EACH{{ "[[call]]\nname = \"" ~ f.name ~ "\"\n" }}ARGS{{ k }} = {{ v|tojson }}{{ "\n" }}ENDDONE`},
	{"attributes", `EACH<invoke name="{{ f.name }}"ARGS {{ k }}="VALUE"END/>DONE`},
	{"attributes of a tag named after the function", `EACH<{{ f.name }}ARGS {{ k }}="VALUE"END/>DONE`},
	{"tags named after function and arguments", `EACH<{{ f.name }}>ARGS{{ "\n" }}<{{ k }}>VALUE</{{ k }}>END{{ "\n" }}</{{ f.name }}>DONE`},
	{"such tags in another", `EACH{{ "<tool_use>\n" }}<{{ f.name }}>ARGS{{ "\n" }}<{{ k }}>VALUE</{{ k }}>END{{ "\n" }}</{{ f.name }}>{{ "\n</tool_use>" }}DONE`},
	{"arguments before the name in an object", `EACH<call>{"arguments": {{ f.arguments|tojson }}, "name": "{{ f.name }}"}</call>DONE`},
	{"a fence of its own", "EACH{{ \"```tool_call\\n\" }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments|tojson }}}{{ \"\\n```\" }}DONE"},
	{"a fence of JSON", "EACH{{ \"```json\\n\" }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments|tojson }}}{{ \"\\n```\\n\" }}DONE"},
	{"function calls with an object", `<run>EACH{{ f.name }}({{ f.arguments|tojson }});DONE</run>`},
	{"function calls in backticks", "EACH`{{ f.name }}({{ f.arguments|tojson }})`DONE"},
	{"words before name and arguments", `EACH{{ "Action: " ~ f.name ~ "\nAction Input: " ~ f.arguments|tojson ~ "\n" }}DONE`},
	{"a colon between", `EACH<|call|>{{ f.name }}:{{ f.arguments|tojson }}<|/call|>DONE`},
	{"a space between", `EACH<|call|>{{ f.name }} {{ f.arguments|tojson }}<|/call|>DONE`},
	{"nothing that closes", `EACH<|call|>{{ f.name }}{{ "\n" }}{{ f.arguments|tojson }}DONE`},
	{"bars and arrows", `EACH[[{{ f.name }}ARGS | {{ k }} => {{ v|tojson }}END]]DONE`},
	{"pairs in an array", `<|calls|>[{% for c in m.tool_calls %}["{{ c.function.name }}", {{ c.function.arguments|tojson }}]{{ ", " if not loop.last }}{% endfor %}]<|/calls|>`},
	{"an id as an attribute", `EACH<call id="{{ c.id }}" fn="{{ f.name }}">{{ f.arguments|tojson }}</call>DONE`},
	{"an id in the closing tag", `EACH<call fn="{{ f.name }}">{{ f.arguments|tojson }}</call id={{ c.id }}>DONE`},
	{"numbered tags", `{% for c in m.tool_calls %}<call{{ loop.index }}>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call{{ loop.index }}>{% endfor %}`},
	{"Python's repr", `EACH<call>{'name': '{{ f.name }}', 'arguments': {{ f.arguments }}}</call>DONE`},
	{"the message's own list", `<calls>{{ m.tool_calls|tojson }}</calls>`},
	{"the call as it came", `EACH<call>{{ c|tojson }}</call>DONE`},
	{"indented JSON", `EACH<call>{{ f|tojson(indent=2) }}</call>DONE`},
	{"lines of JSON", `<calls>{% for c in m.tool_calls %}{{ "\n" ~ c.function|tojson }}{% endfor %}{{ "\n" }}</calls>`},
	{"keyword arguments", `<|tool|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}{{ ", " if not loop.last }}{% endfor %}){{ ", " if not loop.last }}{% endfor %}]<|/tool|>`},
	{"calls with semicolons", `<|tool|>{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}{{ ", " if not loop.last }}{% endfor %}){{ "; " if not loop.last }}{% endfor %}<|/tool|>`},
	{"arguments with types", `EACH<use tool="{{ f.name }}">ARGS<arg name="{{ k }}" type="{{ "string" if v is string else "json" }}">VALUE</arg>END</use>DONE`},
	{"arguments in a section", `EACH<call>{{ f.name }}<args>ARGS<k>{{ k }}</k><v>VALUE</v>END</args></call>DONE`},
	{"everything escaped", `EACH<call name="{{ f.name }}">ARGS<arg name="{{ k }}">{{ (v if v is string else v|tojson)|e }}</arg>END</call>DONE`},
	{"a prefix before the name", `EACH<|tool_call|>functions.{{ f.name }}<|args|>{{ f.arguments|tojson }}<|end_call|>DONE`},
}

const kindsFrame = `{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif %}
{%- for m in messages -%}
<|{{ m.role }}|>
{% if m.role == 'assistant' -%}
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content or '' -}}
{%- if m.tool_calls -%}CALLS{%- endif -%}
{%- else -%}
{{- m.content -}}
{%- endif -%}<|end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{ "\n" }}{%- endif -%}`

// TestUnseenKinds checks templates of kinds that nobody prepared the engine for: what they write is read back, their grammar takes
// it, and what the grammar makes is read as calls.
func TestUnseenKinds(t *testing.T) {
	spell := strings.NewReplacer("EACH", "{%- for c in m.tool_calls -%}{%- set f = c.function -%}", "DONE", "{%- endfor -%}",
		"ARGS", "{% for k, v in f.arguments.items() %}", "END", "{% endfor %}", "VALUE", "{{ v if v is string else v|tojson }}")
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			src := subject.New("kind.jinja", strings.Replace(kindsFrame, "CALLS", spell.Replace(kind.calls), 1))
			_, findings := broken(t, src, check.Options{})
			for _, r := range findings {
				if r.Status == report.Failed || r.Rule == "A038" {
					t.Errorf("%s: %s", r.Rule, r.Text)
				}
			}
		})
	}
}
