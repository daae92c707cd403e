package caps_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

func compile(t *testing.T, text string) *chattemplate.Template {
	t.Helper()
	ct, err := chattemplate.Compile(t.Context(), source.New("template.jinja", text), "<s>", "</s>",
		nil)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	return ct
}

func detect(t *testing.T, text string) caps.Caps {
	t.Helper()
	o, err := observe.New(compile(t, text))
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	return caps.Of(o)
}

func TestDetect(t *testing.T) {
	const calls = `{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments|tojson }}</call>{% endfor %}`
	for _, tt := range []struct {
		name, template string
		want           string // the capabilities that are there, without "supports_"
	}{
		{"content alone", `{% for m in messages %}{{ m.content }}{% endfor %}`, "system_role string_content"},
		{"a system message is refused", `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %}`, "string_content"},
		{"calls replayed, tools not described", `{% for m in messages %}{{ m.content or '' }}` + calls + `{% endfor %}`,
			"tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"tools and calls", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}` + calls + `{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"tools read and not written", `{% if tools and tools[0].function.name %}yes{% endif %}{% for m in messages %}{{ m.content or '' }}{% endfor %}`,
			"system_role string_content"},
		{"one call alone", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% if m.tool_calls %}{{ m.tool_calls[0].function|tojson }}{% endif %}{% endfor %}`,
			"tools tool_calls system_role string_content object_arguments"},
		{"arguments as text", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content"},
		{"calls that a message follows", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% if not loop.last %}` + calls + `{% endif %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"names in ids", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.id }}|{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"tools beside a system message", `{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{{ tools|tojson if tools }}{% else %}{{ m.content or '' }}` + calls + `{% endif %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"calls without a function", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.name + '|' + c.arguments|tojson }}{% endfor %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content object_arguments"},
		{"objects that make entities of quotes", `{{ tools|tojson if tools }}{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}{% set a = a if a is string else a|tojson|safe %}{{ '<call>{"name": "' + c.function.name + '", "arguments": ' + a + '}' }}{% endfor %}{% endfor %}`,
			"tools tool_calls system_role parallel_tool_calls string_content"},
		{"typed content", `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}`,
			"system_role string_content typed_content"},
		{"reasoning kept", `{% for m in messages %}{{ m.reasoning_content }}{{ m.content }}{% endfor %}`, "system_role preserve_reasoning string_content"},
		{"reasoning of the last turn", `{% for m in messages %}{% if loop.last %}{{ m.reasoning_content }}{% endif %}{{ m.content }}{% endfor %}`, "system_role string_content"},
		{"effort", `{{ reasoning_effort }}{% for m in messages %}{{ m.content }}{% endfor %}`, "system_role string_content reasoning_effort"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := detect(t, tt.template)
			var got []string
			for _, m := range c.Value().Members() {
				if m.Value.Bool() {
					got = append(got, strings.TrimPrefix(m.Key, "supports_"))
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestToolCapable(t *testing.T) {
	for _, tt := range []struct {
		caps caps.Caps
		want string
	}{
		{caps.Caps{Facts: observe.Facts{Tools: true, ToolCalls: true}}, ""},
		{caps.Caps{Facts: observe.Facts{Tools: true}}, "chat template does not support tool calling (supports_tool_calls=false)"},
		{caps.Caps{Facts: observe.Facts{ToolCalls: true}}, "chat template does not support tool calling (supports_tools=false)"},
		{caps.Caps{}, "chat template does not support tool calling (supports_tools=false, supports_tool_calls=false)"},
	} {
		err := tt.caps.ToolCapable()
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || err.Error() != tt.want):
			t.Errorf("Gate of %+v: %v, want %q", tt.caps, err, tt.want)
		case err != nil && !errors.Is(err, caps.ErrToolsUnsupported):
			t.Errorf("%v does not wrap ErrToolsUnsupported", err)
		}
	}
}

// TestNotJudged checks that a probe that fails for a reason of its own is never taken for a lack of
// the template (E32).
func TestNotJudged(t *testing.T) {
	const frame = `TOOLS{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}{% endfor %}`
	for _, tt := range []struct{ name, tools, call, want string }{
		{"an unknown filter", `{{ tools|tojson if tools }}`, `{{ c.function.name }}{% if c %}{{ c.function.arguments|from_json }}{% endif %}`, "supports_tool_calls not judged: template.jinja:1:160: No filter named 'from_json' found."},
		{"a place that is not there", `{{ tools|tojson if tools }}`, `{{ '<call>' + c.nom }}`, "supports_tool_calls not judged: template.jinja:1:117: 'dict object' has no attribute 'nom'"},
		{"tools that cannot be written", `{% for t in tools or [] %}{{ t.function.name + t.function.returns }}{% endfor %}`, `{{ c.function|tojson }}`,
			"supports_tools not judged: template.jinja:1:46: 'dict object' has no attribute " +
				"'returns', supports_tool_calls not judged: template.jinja:1:46: 'dict object' " +
				"has no attribute 'returns'"},
		{"calls that are refused", `{{ tools|tojson if tools }}`, `{{ raise_exception('no calls') }}`, "supports_tool_calls=false"},
		{"calls that are left out", `{{ tools|tojson if tools }}`, ``, "supports_tool_calls=false"},
	} {
		err := detect(t, strings.NewReplacer("TOOLS", tt.tools, "CALL", tt.call).Replace(frame)).
			ToolCapable()
		if err == nil || !errors.Is(err, caps.ErrToolsUnsupported) ||
			!strings.Contains(err.Error(), "("+tt.want+")") {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestDetectFails(t *testing.T) {
	_, err := observe.New(compile(t, "{{ raise_exception('never') }}"))
	if err == nil || !strings.Contains(err.Error(), "template.jinja:1:") ||
		!strings.Contains(err.Error(), "never") {
		t.Errorf("error %v, want a positioned one that says 'never'", err)
	}
}

// TestReasoning checks the settings that change how a template writes reasoning.
func TestReasoning(t *testing.T) {
	const past = `{% for m in messages %}{{ m.content }}{% if m.reasoning_content and (loop.last or KEEP) %}<think>{{ m.reasoning_content }}</think>{% endif %}{% endfor %}`
	keeps := func(keep string) string { return strings.Replace(past, "KEEP", keep, 1) }
	const asked = `{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}EFFORT{% endif %}`
	heeds := func(effort string) string { return strings.Replace(asked, "EFFORT", effort, 1) }
	for _, tt := range []struct{ name, template, want string }{
		{"kept", keeps("true"), "supports_preserve_reasoning: true\n"},
		{"never kept", keeps("false"), "supports_preserve_reasoning: false\n"},
		{"kept by a switch", keeps("keep_thoughts"), "supports_preserve_reasoning: true, by keep_thoughts=true\n"},
		{"kept unless a switch is on", keeps("forget is defined and not forget"), "supports_preserve_reasoning: true, by forget=false\n"},
		{"an effort is written", heeds("{{ reasoning_effort }}"), "supports_reasoning_effort: true\n"},
		{"the default is the one that is tried first", heeds("{{ 'think' if reasoning_effort|default('low') == 'low' else 'think hard' }}"), "supports_reasoning_effort: true\n"},
		{"a word of its own", heeds("{{ 'think' if reasoning_effort == 'deep' }}"), "supports_reasoning_effort: true\n"},
		{"others are refused", heeds("{% if reasoning_effort is defined %}{% if reasoning_effort not in ['none', 'deep'] %}{{ raise_exception('which?') }}{% endif %}{{ '<' ~ reasoning_effort ~ '>' }}{% endif %}"), "supports_reasoning_effort: true\n"},
		{"heeded where thinking is asked for", heeds("{% if mull and reasoning_effort == 'deep' %}<deep>{% endif %}"), "supports_reasoning_effort: true, by mull=true\n"},
		{"heeded where reasoning is written", strings.Replace(past, "(loop.last or KEEP)", "mull", 1) + `{% if mull and reasoning_effort == 'deep' %}<deep>{% endif %}`, "supports_reasoning_effort: true, by mull=true\n"},
		{"none is heeded", heeds("{% if reasoning_effort is defined and reasoning_effort not in ['low'] %}{{ raise_exception('which?') }}{% endif %}"), "supports_reasoning_effort: false\n"},
	} {
		if got := detect(t, tt.template).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s: no %q in\n%s", tt.name, tt.want, got)
		}
	}
}

// TestFit sends requests through templates that cannot take them as they are, and compares prompts.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		name, template, request, want string
		fits                          []string
	}{
		{
			"system folded into the user's turn",
			`{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]}`,
			"[user]S\n\nU", []string{"system-in-user"},
		},
		{
			"developer as system",
			`{% for m in messages %}{% if m.role in ['system', 'user'] %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}`,
			`{"messages": [{"role": "developer", "content": "D"}, {"role": "user", "content": "U"}]}`,
			"[system]D[user]U", []string{"developer-as-system"},
		},
		{
			"typed content as a string",
			`{% for m in messages %}{{ m.content + '' }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}`,
			"a\nb", []string{"typed-content-as-string"},
		},
		{
			"arguments as an object, content empty",
			`{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1.0}"}}]}]}`,
			"Ufa=1.0", []string{"arguments-as-object", "null-content-as-empty"},
		},
		{
			"reasoning by another name",
			`{% for m in messages %}{{ m.thinking }}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A", "reasoning_content": "R"}]}`,
			"URA", []string{"reasoning-as-thinking"},
		},
		{
			"reasoning as a part of the content",
			`{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}` +
				`{{ '<' + p.thinking + '>' if p.type == 'thinking' else p.text }}{% endfor %}{% endif %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A", "reasoning_content": "R"}]}`,
			"U<R>A", []string{"reasoning-as-part"},
		},
		{
			"reasoning as a block of the content, and then all answers in blocks",
			`{% for m in messages %}{% if m.content is string %}{{ m.content }}{% elif 'parts' in m.content %}{% for p in m.content.parts %}` +
				`{% if p.kind == 'why' %}<{{ p.text }}{% elif p.kind == 'say' %}{{ '>' if not loop.first }}{{ p.text }}{% endif %}{% endfor %}{% endif %};{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A", "reasoning_content": "R"}, ` +
				`{"role": "user", "content": "V"}, {"role": "assistant", "content": "B"}]}`,
			"U;<R>A;V;B;", []string{"reasoning-as-block"},
		},
		{
			"tools that are described beside a system message alone",
			`{% for m in messages %}{% if m.role == 'system' %}{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}{% endif %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f"}}]}`,
			"<f>U", []string{"empty-system-for-tools"},
		},
		{
			"the same with a system message",
			`{% for m in messages %}{% if m.role == 'system' %}{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}{% endif %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f"}}]}`,
			"<f>SU", nil,
		},
		{
			"a variable that the template demands",
			`{{ 'f:' + functions }}{% for m in messages %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f"}}]}`,
			`f:[{"name": "f"}]U`, []string{"variable-functions"},
		},
		{
			"null content that fails where a message follows",
			`{% for m in messages %}[{{ m.role }}]{{ m.content.strip() if not loop.last else m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {}}}]}, {"role": "tool", "tool_call_id": "1", "content": "R"}]}`,
			"[user]U[assistant]f{}[tool]R", []string{"null-content-as-empty"},
		},
		{
			"a result without the function's name",
			`{% for m in messages %}{{ m.content }}{% if m.role == 'tool' %}<{{ m.name }}>{% endif %}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {}}}, {"id": "2", "function": {"name": "g", "arguments": {}}}]}, {"role": "tool", "tool_call_id": "2", "content": "R"}]}`,
			"Uf{}g{}R<g>", []string{"result-name"},
		},
		{
			"ids of nine letters and digits",
			`{% macro id(id) %}{% if id|length != 9 or not id.isalnum() %}{{ raise_exception('no') }}{% endif %}<{{ id }}>{% endmacro %}` +
				`{% for m in messages %}{{ m.content or '' }}{{ id(m.tool_call_id) if m.role == 'tool' }}{% for c in m.tool_calls or [] %}{{ c.function.name + id(c.id) + c.function.arguments|tojson }}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "", "tool_calls": [` +
				`{"id": "call_1", "function": {"name": "f", "arguments": {}}}, {"id": "abcdefgh9", "function": {"name": "g", "arguments": {}}}]}, ` +
				`{"role": "tool", "tool_call_id": "abcdefgh9", "content": "S"}, {"role": "tool", "tool_call_id": "call_1", "content": "R"}]}`,
			"Uf<9gD2Dimct>{}g<abcdefgh9>{}S<abcdefgh9>R<9gD2Dimct>", []string{"call-id-as-taken"},
		},
		{
			"calls whose name and arguments are looked for beside their function",
			`{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.name + '|' + c.arguments|tojson }}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]}]}`,
			`Uf|{"a": 1}`, []string{"flat-calls"},
		},
		{
			"typed content in a turn that carries the tools",
			`{% for m in messages %}{% if tools and loop.first %}{{ tools|length ~ tools[0].function.name + m.content }}{% elif m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": [{"type": "text", "text": "U"}]}], "tools": [{"type": "function", "function": {"name": "f"}}]}`,
			"1fU", []string{"typed-content-as-string"},
		},
		{
			"the same without tools",
			`{% for m in messages %}{% if tools and loop.first %}{{ tools|length ~ tools[0].function.name + m.content }}{% elif m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": [{"type": "text", "text": "U"}]}]}`,
			"U", nil,
		},
		{
			"a tool without description and parameters",
			`{% for t in tools or [] %}{{ t.function.name + ':' + t.function.description }}{% for k, v in t.function.parameters.properties.items() %}{{ k + ':' + v.description }}{% endfor %};{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}]}`,
			"f:;g:a:;U", []string{"tool-description", "tool-parameters", "argument-description"},
		},
		{
			"tools whose names are looked for beside their functions",
			`{% for t in tools or [] %}{{ t.name + ':' + t.description + ';' }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f", "description": "d"}}, {"type": "function", "function": {"name": "g"}}]}`,
			"f:d;g:;U", []string{"tool-description", "flat-tools"},
		},
		{
			"arguments of which only strings can be written",
			`{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ ' ' + k + '=' + v }}{% endfor %}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": "x", "b": 1.50, "c": [true], "d": null}}}]}]}`,
			"Uf a=x b=1.50 c=[true] d=null", []string{"values-as-text"},
		},
		{
			"arguments as text where they have to be",
			`{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.name + ' ' + c.function.arguments }}{% endfor %}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"b": 1}}}]}]}`,
			`Uf {"b": 1}`, []string{"arguments-as-string"},
		},
		{
			"a tool that the template can do with",
			`{% for t in tools or [] %}{{ t.function|tojson }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}], "tools": [{"type": "function", "function": {"name": "f"}}]}`,
			`{"name": "f"}U`, nil,
		},
		{
			"nothing to fit",
			`{% for m in messages %}{{ m.content }}{% endfor %}`,
			`{"messages": [{"role": "user", "content": "U"}]}`,
			"U", nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := ordered.ParseString(tt.request)
			if err != nil {
				t.Fatal(err)
			}
			request, err := chat.ParseRequest(v)
			if err != nil {
				t.Fatal(err)
			}
			fitted := detect(t, tt.template).Fit(request)
			got, err := compile(t, tt.template).Render(fitted.Input)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want || !slices.Equal(fitted.Fits, tt.fits) {
				t.Errorf("prompt %q with %v, want %q with %v", got, fitted.Fits, tt.want, tt.fits)
			}
		})
	}
}
