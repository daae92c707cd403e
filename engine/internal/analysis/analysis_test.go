package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/source"
)

// frame writes the turns of a conversation; CALLS stands for the assistant's calls, THINK for its
// reasoning.
const frame = `{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif %}
{%- for m in messages -%}
<|{{ m.role }}|>
{% if m.role == 'assistant' -%}
THINK
{{- m.content or '' -}}
{%- if m.tool_calls -%}
CALLS
{%- endif -%}
{%- else -%}
{{- m.content -}}
{%- endif -%}<|end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{ "\n" }}PREFILL{%- endif -%}`

func framed(think, calls, prefill string) string {
	return strings.NewReplacer("THINK", think, "CALLS", calls, "PREFILL", prefill).Replace(frame)
}

const (
	each    = `{%- for c in m.tool_calls -%}`
	eachEnd = `{%- endfor -%}`
	thinks  = `{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}`
)

func analyze(t *testing.T, text string) *analysis.Analysis {
	t.Helper()
	ct, err := chattemplate.Compile(t.Context(), source.New("template.jinja", text), "<s>", "</s>",
		nil)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	o, err := observe.New(ct)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	return analysis.Analyze(o, analysis.Options{})
}

func TestCallForms(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls string
		want  string
	}{
		{
			"json object in a tag",
			each + `{{ "<tool_call>\n" }}{"name": {{ c.function.name|tojson }}, "arguments": {{ c.function.arguments|tojson }}}{{ "\n</tool_call>" }}` + eachEnd,
			`calls: json_native
per_call_start: "<tool_call>\n"
per_call_end: "\n</tool_call>"
object: name=name, arguments=args
`,
		},
		{
			"json object with a list of the arguments' keys and values",
			each + `<call>{"name": "{{ c.function.name }}", "parameters": [{% for k, v in c.function.arguments.items() %}{"key": "{{ k }}", "value": {{ v|tojson }}}{{ ", " if not loop.last }}{% endfor %}]}</call>` + eachEnd,
			`calls: tag_with_tagged
per_call_start: "<call>{\"name\": "
per_call_end: "</call>"
head: "\"" {name} "\", \"parameters\": "
args: tagged
args_start: "["
args_end: "]"
arg: "{\"key\": \"" {key} "\", \"value\": " {value} "}"
arg_separator: ", "
codec: json
tail: "}"
`,
		},
		{
			"a section that nothing closes",
			each + `{{ "<|tools|>" if loop.first else "<|next|>" }}{{ c.function.name }} {{ c.function.arguments|tojson }}` + eachEnd,
			`calls: tag_with_json
section_start: "<|tools|>"
separator: "<|next|>"
head: {name} " "
args: json
codec: json
`,
		},
		{
			"a section that is closed after several calls alone",
			each + `{{ "<|tools|>" if loop.first }}<|call|>{{ c.function.name }} {{ c.function.arguments|tojson }}<|/call|>{{ "<|/tools|>" if loop.last and not loop.first }}` + eachEnd,
			`calls: tag_with_json
section_start: "<|tools|>"
section_end: "<|/tools|>"
section_end.after: several calls
head: "<|call|>" {name} " "
args: json
codec: json
tail: "<|/call|>"
`,
		},
		{
			"numbers that count the calls and numbers that do not",
			each + `<call n="{{ loop.index0 }}" of="{{ m.tool_calls|length }}">{{ c.function.name }}:{{ c.function.arguments|tojson|length }}:{{ c.function.arguments|tojson }}</call>` + eachEnd,
			`calls: tag_with_json
head: "<call n=\"" {index from 0} "\" of=\"" {number} "\">" {name} ":" {number} ":"
args: json
codec: json
tail: "</call>"
`,
		},
		{
			"numbers in a json object",
			each + `<call>{"n": {{ loop.index }}, "size": {{ c.function.arguments|tojson|length }}, "name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call>` + eachEnd,
			`calls: json_native
per_call_start: "<call>"
per_call_end: "</call>"
object: n=index, size=number, name=name, arguments=args
`,
		},
		{
			"nested function object with id",
			each + `<call>{"id": "{{ c.id }}", "type": "function", "function": {"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}}</call>` + eachEnd,
			`calls: json_native
per_call_start: "<call>"
per_call_end: "</call>"
object: id=id, type="function", function.name=name, function.arguments=args
`,
		},
		{
			"arguments as text, other field names",
			each + `<call>{"tool": "{{ c.function.name }}", "input": {{ c.function.arguments|tojson|tojson }}, "call_id": "{{ c.id }}"}</call>` + eachEnd,
			`calls: json_native
per_call_start: "<call>"
per_call_end: "</call>"
object: tool=name, input=args (text), call_id=id
`,
		},
		{
			"array, name as key",
			`<calls>[` + each + `{"{{ c.function.name }}": {{ c.function.arguments|tojson }}}{{ ", " if not loop.last }}` + eachEnd + `]</calls>`,
			`calls: array of json_native
section_start: "<calls>"
section_end: "</calls>"
object: name is key, =args
`,
		},
		{
			"array with generated ids",
			`<calls>[` + each + `{"n": "{{ loop.index0 }}", "name": "{{ c.function.name }}", "parameters": {{ c.function.arguments|tojson }}}{{ ",\n" if not loop.last }}` + eachEnd + `]</calls>`,
			`calls: array of json_native
section_start: "<calls>"
section_end: "</calls>"
object: n=id (1 to 20 characters of 0-9) (text), name=name, parameters=args
`,
		},
		{
			"python dict",
			each + `<call>{{ {"name": c.function.name, "arguments": c.function.arguments} }}</call>` + eachEnd,
			`calls: json_native
per_call_start: "<call>"
per_call_end: "</call>"
object: name=name, arguments=args, single quotes
`,
		},
		{
			"name in a tag",
			each + `<function={{ c.function.name }}>{{ c.function.arguments|tojson }}</function>` + eachEnd,
			`calls: tag_with_json
head: "<function=" {name} ">"
args: json
codec: json
tail: "</function>"
`,
		},
		{
			"name alone as the tag",
			each + `<{{ c.function.name }}>{{ c.function.arguments|tojson }}</{{ c.function.name }}>` + eachEnd,
			`calls: tag_with_json
head: "<" {name} ">"
args: json
codec: json
tail: "</" {name} ">"
`,
		},
		{
			"name and arguments in elements",
			each + `<tool_name>{{ c.function.name }}</tool_name>{{ "\n" }}<arguments>{{ c.function.arguments|tojson }}</arguments>` + eachEnd,
			`calls: tag_with_json
head: "<tool_name>" {name} "</tool_name>\n<arguments>"
args: json
codec: json
tail: "</arguments>"
`,
		},
		{
			"id before the name",
			each + `[CALL_ID]{{ c.id }}[FUNC]{{ c.function.name }}{{ c.function.arguments|tojson }}` + eachEnd,
			`calls: tag_with_json
head: "[CALL_ID]" {id} "[FUNC]" {name}
args: json
codec: json
`,
		},
		{
			"id after the arguments",
			each + `[FUNC]{{ c.function.name }}{{ c.function.arguments|tojson }}[CALL_ID]{{ c.id }}` + eachEnd,
			`calls: tag_with_json
head: "[FUNC]" {name}
args: json
codec: json
tail: "[CALL_ID]" {id}
`,
		},
		{
			"prefixed and indexed",
			`<|section|>` + each + `<|call|>functions.{{ c.function.name }}:{{ loop.index0 }}<|args|>{{ c.function.arguments|tojson }}<|call_end|>` + eachEnd + `<|section_end|>`,
			`calls: tag_with_json
section_start: "<|section|>"
section_end: "<|section_end|>"
per_call_start: "<|call|>"
per_call_end: "<|call_end|>"
head: {id: "functions." {name} ":" {index from 0}} "<|args|>"
args: json
codec: json
`,
		},
		{
			"tagged arguments",
			each + `<call>{{ "\n" }}<function={{ c.function.name }}>{{ "\n" }}{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>{{ "\n" }}{{ v if v is string else v|tojson }}{{ "\n" }}</parameter>{{ "\n" }}{% endfor %}</function>{{ "\n" }}</call>` + eachEnd,
			`calls: tag_with_tagged
per_call_start: "<call>\n"
per_call_end: "\n</call>"
head: "<function=" {name} ">"
args: tagged
arg: "\n<parameter=" {key} ">\n" {value} "\n</parameter>"
codec: raw
tail: "\n</function>"
`,
		},
		{
			"typed arguments",
			each + `<call name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}<arg key="{{ k }}" string="{{ 'true' if v is string else 'false' }}">{{ v if v is string else v|tojson }}</arg>{% endfor %}</call>` + eachEnd,
			`calls: tag_with_tagged
head: "<call name=\"" {name} "\">"
args: tagged
arg: "<arg key=\"" {key} "\" string=\"" {type: true=raw false} "\">" {value} "</arg>"
codec: raw
tail: "</call>"
`,
		},
		{
			"a section closed after several calls alone",
			each + `{% if loop.first %}<|calls|>{% endif %}<|call|>{{ c.function.name }}<|args|>{{ c.function.arguments|tojson }}<|/call|>{% if loop.last and not loop.first %}<|done|>{% endif %}` + eachEnd,
			`calls: tag_with_json
section_start: "<|calls|>"
section_end: "<|done|>"
section_end.after: several calls
head: "<|call|>" {name} "<|args|>"
args: json
codec: json
tail: "<|/call|>"
`,
		},
		{
			"double brackets",
			each + `[[call]]{{ c.function.name }}[[args]]{{ c.function.arguments|tojson }}[[/call]]` + eachEnd,
			`calls: tag_with_json
head: "[[call]]" {name} "[[args]]"
args: json
codec: json
tail: "[[/call]]"
`,
		},
		{
			"python calls",
			`<|calls|>[` + each + `{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v|string if v is not string else "'" ~ v ~ "'" }}{{ ", " if not loop.last }}{% endfor %}){{ ", " if not loop.last }}` + eachEnd + `]<|calls_end|>`,
			`calls: tag_with_tagged
section_start: "<|calls|>["
section_end: "]<|calls_end|>"
separator: ", "
head: {name}
args: kwargs
args_start: "("
args_end: ")"
arg: {key} "=" {value}
arg_separator: ", "
codec: python
`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, framed(thinks, tt.calls, ""))
			got := a.Format.String()
			if i := strings.Index(got, "calls:"); i >= 0 {
				got = got[i:]
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s\nevidence %v", got, tt.want, a.Evidence)
			}
			if a.Format.Header != "<|assistant|>\n" || a.Format.Reasoning.Open.Text != "<think>" {
				t.Errorf("header %q, reasoning %v", a.Format.Header, a.Format.Reasoning.Pair)
			}
		})
	}
}

// TestUnread checks the report on calls that hold more of the conversation than a call's parts: it
// quotes no text of a probe.
func TestUnread(t *testing.T) {
	for _, tt := range []struct{ name, calls, want string }{
		{"a tool's description in an object", `{"name": "{{ c.function.name }}", "about": "{{ tools[0].function.description }}", "arguments": {{ c.function.arguments|tojson }}}`, `"a function" of the conversation stands among a call's markers`},
		{"a tool's description between markers", `{{ c.function.name }}<about>{{ tools[0].function.description }}</about>{{ c.function.arguments|tojson }}`, `"a function" of the conversation stands among a call's markers`},
		{"numbered arguments", `{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ loop.index }}. {{ k }} = {{ v|tojson }}{{ "\n" }}{% endfor %}`, "a number that the template computes is written with every argument"},
		{"the function's name before every argument", `{{ c.function.name }}{% for k, v in c.function.arguments.items() %}<{{ k }} of={{ c.function.name }}>{{ v }}</{{ k }}>{% endfor %}`, `"vq_first" of the conversation stands among an argument's markers`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, framed("", each+"<call>"+tt.calls+"</call>"+eachEnd, ""))
			if a.Unread != tt.want || a.HasCalls() {
				t.Errorf("unread: %q, want %q; calls found: %v", a.Unread, tt.want, a.HasCalls())
			}
		})
	}
}

func TestReasoningModes(t *testing.T) {
	for _, tt := range []struct {
		name           string
		think, prefill string
		mode           format.ReasoningMode
		open, close    string
	}{
		{"tagged", thinks, "", format.ReasoningTagged, "<think>", "</think>"},
		{"forced open", thinks, "<think>", format.ReasoningForcedOpen, "<think>", "</think>"},
		{"forced closed", thinks, `{% if enable_thinking is defined and not enable_thinking %}<think></think>{% else %}<think>{% endif %}`, format.ReasoningForcedClosed, "<think>", "</think>"},
		{"forced by the words of a flag", thinks, `{% if mode is defined %}{% if mode == "on" %}<think>{% elif mode == "off" %}</think>{% endif %}{% endif %}`, format.ReasoningForcedClosed, "<think>", "</think>"},
		{"delimiter", `{%- if m.reasoning_content %}{{ m.reasoning_content }}[ANSWER]{% endif %}`, "Let me think:", format.ReasoningDelimiter, "", "[ANSWER]"},
		{"beside calls alone", `{%- if m.reasoning_content and m.tool_calls %}<think>{{ m.reasoning_content }}</think>{% endif %}`, "", format.ReasoningToolsOnly, "<think>", "</think>"},
		{"an empty block where there is none", `<think>{{ m.reasoning_content }}</think>`, "", format.ReasoningTagged, "<think>", "</think>"},
		{"known by the prompt alone", "", `<think>{% if not enable_thinking %}</think>{% endif %}`, format.ReasoningForcedClosed, "<think>", "</think>"},
		{"an empty block that every prompt opens", `{{ '<think>\n\n</think>\n\n' }}`, `{{ '<think>\n' }}`, format.ReasoningForcedOpen, "<think>\n", "\n</think>\n\n"},
		{"closed by the opener of content", `{% if m.reasoning_content %}Thought: {{ m.reasoning_content ~ '\n' }}{% endif %}{% if m.content %}Final Answer: {% endif %}`, "",
			format.ReasoningTagged, "Thought: ", "\nFinal Answer: "},
		{"taken off content at a token like any other", `{%- if m.content and '<|answer|>' in m.content %}{% set m = {"content": m.content.split('<|answer|>')[-1]} %}{% endif %}`, `<|plan|>{{ '\n' }}`,
			format.ReasoningForcedOpen, "<|plan|>\n", "<|answer|>"},
		{"words for a slash, in every turn", `<|think_start|>{{ m.reasoning_content }}<|think_end|>`, "<|think_start|>", format.ReasoningForcedOpen, "<|think_start|>", "<|think_end|>"},
		{"brackets beyond ASCII", `{%- if m.reasoning_content %}◁think▷{{ m.reasoning_content }}◁/think▷{% endif %}`, "◁think▷", format.ReasoningForcedOpen, "◁think▷", "◁/think▷"},
		{"opened where there are tools", `{%- if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}`, `{% if tools %}<think>{% endif %}`, format.ReasoningForcedOpen, "<think>", "</think>"},
		{"opened after a result", `{%- if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}`, `{% if messages[-1].role == 'tool' and not tools %}<think>{% endif %}`, format.ReasoningForcedOpen, "<think>", "</think>"},
		{"none", "", "", format.ReasoningNone, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := each + `<function={{ c.function.name }}>{{ c.function.arguments|tojson }}</function>` + eachEnd
			a := analyze(t, framed(tt.think, calls, tt.prefill))
			r := a.Format.Reasoning
			if r.Mode != tt.mode || r.Open.Full() != tt.open || r.Close.Full() != tt.close {
				t.Errorf("got %v %v, want %v %q "+
					"%q; evidence %v", r.Mode, r.Pair, tt.mode, tt.open, tt.close, a.Evidence)
			}
			if len(a.Format.Calls) != 1 || a.Format.Calls[0].Section.Open.Text != "" {
				t.Errorf("calls %+v", a.Format.Calls)
			}
		})
	}
}

func TestWrappedContent(t *testing.T) {
	wrapped := strings.Replace(framed("", each+`<f={{ c.function.name }}>{{ c.function.arguments|tojson }}</f>`+eachEnd, ""),
		`{{- m.content or '' -}}`, `{%- if m.content %}<response>{{ m.content }}</response>{% endif -%}`, 1)
	c := analyze(t, wrapped).Format.Content
	if c.Mode != format.ContentWrapped || c.Open.Full() != "<response>" ||
		c.Close.Full() != "</response>" {
		t.Errorf("got %v %v", c.Mode, c.Pair)
	}
}

// TestOpenerOfContent checks that a marker that opens content after reasoning belongs to content.
func TestOpenerOfContent(t *testing.T) {
	a := analyze(t, framed(`{% if m.reasoning_content %}<|plan|>{{ m.reasoning_content }}{% endif %}{% if m.content %}<|say|>{% endif %}`,
		each+`<|act|>{{ c.function|tojson }}`+eachEnd, ""))
	if r, c := a.Format.Reasoning, a.Format.Content; r.Close.Full() != "<|say|>" ||
		c.Mode != format.ContentWrapped || c.Open.Full() != "<|say|>" {
		t.Errorf("reasoning %v, content %v %v; evidence %v", r.Pair, c.Mode, c.Pair, a.Evidence)
	}
}

// TestSpaceOfPrompt checks that white space which the prompt writes after the marker of reasoning
// is no opener of content, where the last answer begins as the prompt does.
func TestSpaceOfPrompt(t *testing.T) {
	for _, prompt := range []string{
		`{{ '<mull>\n' }}`,
		`{% if not enable_thinking|default(true) %}<mull></mull>{% else %}{{ '<mull>\n\n' }}{% endif %}`,
	} {
		a := analyze(t, framed(`{% if loop.last %}`+prompt+`{% endif %}`+
			`{% if '</mull>' in (m.content or '') %}`+
			`{% set m = {'content': m.content.split('</mull>')[-1]} %}{% endif %}`,
			each+`<f>{{ c.function|tojson }}</f>`+eachEnd, prompt))
		c := a.Format.Content
		if r := a.Format.Reasoning; r.Open.Text != "<mull>" || c.Mode != format.ContentPlain ||
			!c.Open.IsZero() {
			t.Errorf("%s: reasoning %v, content %v %v; evidence %v",
				prompt, r.Pair, c.Mode, c.Pair, a.Evidence)
		}
		if got := a.Format.Continued("", "Yes", false); got != "Yes" {
			t.Errorf("%s: an answer continued after its header is %q, want %q", prompt, got, "Yes")
		}
	}
}

// TestEndOfText has a template that ends a prompt that asks for nothing with a text of its own, and
// begins the turns of the history with a marker that its generation prompt lacks.
func TestEndOfText(t *testing.T) {
	a := analyze(t, `{%- for m in messages -%}<|turn|><|{{ m.role }}|>
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content }}<|end|>{% endfor %}
{%- if add_generation_prompt %}<|assistant|><think>{% else %}<|over|>{% endif %}`)
	f := a.Format
	if f.Header != "<|assistant|>" || f.Reasoning.Open.Full() != "<think>" ||
		f.Content.Mode != format.ContentPlain {
		t.Errorf("header %q, reasoning %v, content %v; evidence %v", f.Header, f.Reasoning.Pair,
			f.Content.Pair, a.Evidence)
	}
}

func TestUndisclosed(t *testing.T) {
	if a := analyze(t, framed("", "", "")); !a.Format.Undisclosed {
		t.Errorf("tools are described and no call is written, yet: %s", a.Format)
	}
}

// TestUndecided checks that the evidence names each field that the template's rendering leaves
// open, with the reason, and calls it assumed.
func TestUndecided(t *testing.T) {
	call := `<call>{{ c.function|tojson }}</call>`
	for _, tt := range []struct{ name, template, want string }{
		{"one call alone is written", framed("", "{% for c in m.tool_calls[:1] %}"+call+"{% endfor %}", ""), "T2  a second call is not written"},
		{"two calls are refused", framed("", "{% if m.tool_calls|length > 1 %}{{ raise_exception('one only') }}{% endif %}"+each+call+eachEnd, ""),
			"T2  two calls are refused (one only)"},
		{"calls end the turn in their own way",
			strings.Replace(framed("", each+call+eachEnd, ""), "{%- endif -%}<|end|>", "{%- endif -%}{{ '<|calls|>' if m.tool_calls else '<|end|>' }}", 1),
			`T2  every turn with calls ends with "<|calls|>`},
		{"turns are numbered", framed("[{{ loop.index }}] ", "", ""), `C1  before content stands "]", and "2" before that`},
		{"no call is written", framed("", "", ""), "T1  the template does not show how a call is spelled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, tt.template)
			assumed := func(e analysis.Evidence) bool {
				return strings.HasPrefix(e.String(), tt.want) &&
					(len(e.Fields) == 0 || e.Basis == format.Assumed)
			}
			if !slices.ContainsFunc(a.Evidence, assumed) {
				t.Errorf("no %q in %v", tt.want, a.Evidence)
			}
		})
	}
}

func TestNoAnswer(t *testing.T) {
	a := analyze(t, `{% for m in messages %}{% if m.role == 'assistant' %}{{ raise_exception('no answers here') }}{% endif %}{{ m.content }}{% endfor %}`)
	if len(a.Evidence) != 1 || !strings.Contains(a.Evidence[0].Found, "no answers here") {
		t.Errorf("evidence %v", a.Evidence)
	}
}

// TestTurns tells the header, the turn's end and the markers around content from their neighbours.
func TestTurns(t *testing.T) {
	const loop = `{% for m in messages %}`
	for _, tt := range []struct{ name, text, want string }{
		{"an end that a next turn follows", `<s>` + loop + `<|start|>{{ m.role }}<|sep|>{{ m.content }}<|eot|>{% endfor %}<|start|>assistant<|sep|>`,
			`header: "<|eot|><|start|>assistant<|sep|>"
end: "<|eot|>"
end: "</s>"
reasoning.mode: none
content.mode: plain
`},
		{"the end of the text after the last turn", loop + `<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{{ '<|assistant|>' if add_generation_prompt else eos_token }}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: plain
`},
		{"a prompt that is indented otherwise", loop + `{{ '\n    ' if m.role == 'assistant' }}<|{{ m.role }}|>{{ ' ' }}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}{{ '\n<|assistant|>' }}{% endif %}`,
			`header: "\n<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: plain
content.open: " "
`},
		{"content that must come as parts", loop + `{{ m.role | upper }}:{% for p in m.content %}{% if p.type == 'text' %} {{ p.text }}{% endif %}{% endfor %}<end>{{ '\n' }}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}`,
			`header: "ASSISTANT:"
end: "<end>\n"
end: "</s>"
reasoning.mode: none
content.mode: plain
content.open: " "
`},
		{"markers around content beside calls", loop + `<|{{ m.role }}|>{% if m.tool_calls %}<say>{{ m.content }}</say>{% for c in m.tool_calls %}{"name": "{{ c.function.name }}", "args": {{ c.function.arguments | tojson }}}{% endfor %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: wrapped_with_calls
content.open: "<say>"
content.close: "</say>"
calls: json_native
object: name=name, args=args
`},
		{"markers around content, and none beside calls", loop + `<|{{ m.role }}|>{% if m.tool_calls %}{{ m.content or '' }}{% for c in m.tool_calls %}<call>{{ c.function | tojson }}</call>{% endfor %}{% else %}<say>{{ m.content }}</say>{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: wrapped_without_calls
content.open: "<say>"
content.close: "</say>"
calls: json_native
per_call_start: "<call>"
per_call_end: "</call>"
object: name=name, arguments=args
`},
		{"a turn of several messages", loop + `{% if m.role == 'assistant' %}{% if m.reasoning %}[bot]/why{{ '\n' ~ m.reasoning ~ '[end]\n' }}{% endif %}` +
			`{% if m.content %}[bot]{{ '\n' ~ m.content ~ '[end]' }}{{ '\n' if m.tool_calls else '[over]\n' }}{% endif %}` +
			`{% if m.tool_calls %}[bot] calls{{ '\n[' }}{% for c in m.tool_calls %}{{ c.function | tojson }}{{ ', ' if not loop.last }}{% endfor %}{{ '][end][wait]\n' }}{% endif %}` +
			`{% else %}[{{ m.role }}]{{ m.content }}[end]{{ '\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{{ '/why\n' if mull }}{% endif %}`,
			`header: "[bot]"
end: "[end][over]\n"
end: "[end][wait]\n"
end: "</s>"
reasoning.mode: forced_open
reasoning.open: "/why\n"
reasoning.close: "[end]\n[bot]\n"
content.mode: wrapped_with_calls
content.open: "\n"
content.close: "[end]\n[bot]"
calls: array of json_native
section_start: " calls\n"
object: name=name, arguments=args
`},
		{"an empty block before every answer", loop + `<|{{ m.role }}|>{% if m.role == 'assistant' %}<|START_PLAN|><|END_PLAN|>{% endif %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: tagged
reasoning.open: "<|START_PLAN|>"
reasoning.close: "<|END_PLAN|>"
reasoning.empty: "<|START_PLAN|><|END_PLAN|>"
content.mode: plain
`},
		{"turns that are numbered", loop + `<|{{ m.role }}|>[{{ loop.index }}] {{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: plain
`},
		{"the name after the arguments", loop + `<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<args>{{ c.function.arguments | tojson }}</args><fn>{{ c.function.name }}</fn>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
			`header: "<|assistant|>"
end: "<|end|>"
end: "</s>"
reasoning.mode: none
content.mode: plain
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, tt.text)
			if got := a.Format.String(); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			if cannot := strings.Contains(tt.name,
				"after the arguments"); cannot != (a.Unread != "") {
				t.Errorf("calls are unread: %q", a.Unread)
			}
		})
	}
}

// TestHeaderLost has earlier answers that lost a part of the header which prompts write: the
// analysis finds some header or none, and never one that ends before the user's turn does.
func TestHeaderLost(t *testing.T) {
	for _, head := range []string{
		"<|sep|>\\n", "sistant<|sep|>\\n", "", "assistant", "assistant\\n", "\\n", "|sep|>\\n",
	} {
		for _, lead := range []string{"assistant", "<|start|>assistant", " ", "<|end|>assistant"} {
			a := analyze(t, `{%- for m in messages -%}{%- if m.role == 'assistant' -%}
{{- '`+head+`' ~ (m.content or '') }}
{%- if m.tool_calls %}{{ '<|call|>' ~ m.tool_calls[0].function | tojson }}{% endif -%}
{%- else -%}{{- m.role ~ '<|sep|>\n' ~ m.content }}{%- endif -%}{{ '<|end|>\n\n' }}{%- endfor -%}
{%- if add_generation_prompt -%}{{ '`+lead+`<|sep|>\n' }}{%- endif -%}`)
			if a == nil {
				t.Errorf("no analysis for %q and %q", head, lead)
			}
		}
	}
}
