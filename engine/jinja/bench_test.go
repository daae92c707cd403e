package jinja

import (
	"testing"

	"github.com/goassay/assay/engine/source"
)

// chatTemplate has the constructs that chat templates are made of.
const chatTemplate = `{%- macro render_extra(d, skip) -%}
{%- for key, value in d.items() %}{%- if key not in skip %}{{ '\n<' ~ key ~ '>' ~ (value | tojson if value is mapping or value is iterable and value is not string else value) ~ '</' ~ key ~ '>' }}{%- endif %}{%- endfor %}
{%- endmacro -%}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{%- endif %}
    {{- "# Tools\n\n<tools>" }}
    {%- for tool in tools %}{{- "\n" }}{{- tool | tojson }}{{- render_extra(tool.function, ['name', 'parameters']) }}{%- endfor %}
    {{- "\n</tools><|im_end|>\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(multi_step=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == 'user' and message.content is string and not message.content.startswith('<r>') %}
        {%- set ns.multi_step = false %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'user' or message.role == 'system' and not loop.first %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set reasoning = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or reasoning) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' + content }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '\n<tool_call>\n{"name": "' ~ tool_call.name ~ '", "arguments": ' }}
            {{- tool_call.arguments if tool_call.arguments is string else tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\n<r>\n' + content + '\n</r>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}
`

const chatVars = `{"messages": [{"role": "system", "content": "You are a bot."}, {"role": "user", "content": "Hello there"},
 {"role": "assistant", "content": "", "reasoning_content": "I think", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"location": "Paris", "days": 3}}}]},
 {"role": "tool", "tool_call_id": "c1", "content": "sunny"}, {"role": "assistant", "content": "<think>\nso\n</think>\n\nIt is sunny."}, {"role": "user", "content": "Thanks"}],
 "tools": [{"type": "function", "function": {"name": "get_weather", "description": "Get the weather", "parameters": {"type": "object", "properties": {"location": {"type": "string"}, "days": {"type": "integer"}}, "required": ["location"]}}}],
 "add_generation_prompt": true, "enable_thinking": false}`

func BenchmarkCompile(b *testing.B) {
	src := source.New("t", chatTemplate)
	b.SetBytes(int64(len(chatTemplate)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	tmpl, v := compile(b, chatTemplate), vars(b, chatVars)
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"plain", Options{}}, {"origins", Options{Origins: true}}, {"fields", Options{Fields: true}},
		{"trace", Options{Trace: new(Trace)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text, err := tmpl.RenderText(b.Context(), v, c.o)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text.String)))
			}
		})
	}
}
