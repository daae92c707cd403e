package engine_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
)

// TestUnseen has templates of kinds on which analyses have gone wrong. Each is compiled, must pass
// the gate where it has calls, and reads an output in one piece and byte by byte.
func TestUnseen(t *testing.T) {
	const turns = `{% for m in messages %}{% if m.role == 'assistant' %}[bot]ANSWER[end]{% else %}[{{ m.role }}]{{ m.content }}[end]{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]PROMPT{% endif %}`
	turn := func(answer, prompt string) string {
		return `{% if tools %}[tools]{{ tools|tojson }}{% endif %}` +
			strings.NewReplacer("ANSWER", answer, "PROMPT", prompt).Replace(turns)
	}
	const pythonic = `{{ m.content or '' }}{% if m.tool_calls %}[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ '"' ~ v ~ '"' if v is string else v }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]{% endif %}`
	// how strings are written by themselves, and all other values
	typed := func(text, other string) string {
		return strings.NewReplacer(`'"' ~ v ~ '"'`, text, "else v }}", "else "+other+" }}").Replace(pythonic)
	}
	const worded = `{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\nCALL ' ~ c.function.name ~ ' WITH ' ~ c.function.arguments|tojson ~ ' DONE' }}{% endfor %}`
	const asks = `{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}{{ '<|result>' if m.tool_calls else '[end]' }}`
	const closed = `{% if m.reasoning_content %}<mull>{{ m.reasoning_content }}</mull>{% endif %}{{ m.content or '' }}`
	for _, tt := range []struct {
		name, template, output string
		tools                  bool
		kept                   bool // reasoning_format none
		content                string
		calls                  string
	}{
		{"quotes that the template writes are no codec", turn(pythonic, ""),
			`[weather(city="a \"b\"", on=True, off=None, x=1.5e3)][end]`, true, false, "",
			`weather {"city": "a \"b\"", "on": true, "off": null, "x": 1.5e3}`},
		{"strings in JSON, and lists as Python writes them", turn(typed("v|tojson", "v"), ""),
			`[weather(city="a \"b\"", all=['b', 'c'], on=True)][end]`, true, false, "",
			`weather {"city": "a \"b\"", "all": ["b", "c"], "on": true}`},
		{"strings in quotes of their own, and lists in JSON", turn(typed("'<q>' ~ v ~ '<q>'", "v|tojson"), ""),
			`[weather(city=<q>a "b"<q>, all=["b", "c"], on=true)][end]`, true, false, "",
			`weather {"city": "a \"b\"", "all": ["b", "c"], "on": true}`},
		{"the same as Python writes lists", turn(typed("'<q>' ~ v ~ '<q>'", "v"), ""),
			`[weather(city=<q>a "b"<q>, all=['b', 'c'])][end]`, true, false, "",
			`weather {"city": "a \"b\"", "all": ["b", "c"]}`},
		{"heads of words", turn(worded, ""), "I CALL you.\nCALL weather WITH {\"city\": \"Rome\"} DONE[end]", true, false,
			"I CALL you.", `weather {"city": "Rome"}`},
		{"words in the prompt", `{% for m in messages %}{{ '\n' ~ ('Reply' if m.role == 'assistant' else 'Task') ~ ': ' ~ m.content }}{% endfor %}{% if add_generation_prompt %}{{ '\nReply:' }}{% endif %}`,
			" Hello.", false, false, "Hello.", ""},
		{"a marker that only prompts have", turn(`{{ m.content }}`, "[/setup]"), "Hello.", false, false, "Hello.", ""},
		{"a block that the prompt closes", turn(closed, "<mull></mull>"), "Hello.", false, false, "Hello.", ""},
		{"the same where reasoning stays", turn(closed, "<mull></mull>"), "Hello.", false, true, "Hello.", ""},
		{"a close alone in the prompt, where reasoning stays", turn(closed, "</mull>"), "Hello.", false, true, "Hello.", ""},
		{"an open block, where reasoning stays", turn(closed, "<mull>"), "Hm.</mull>Hello.", false, true, "<mull>Hm.</mull>Hello.", ""},
		{"the marker of results after a call", strings.ReplaceAll(turn(asks, ""), "[end]{% else %}", "{% else %}"),
			`<call>{"name": "weather", "arguments": {"city": "Rome"}}</call><|result>`, true, false, "",
			`weather {"city": "Rome"}`},
		{"the same after several calls, cut off", strings.ReplaceAll(turn(asks, ""), "[end]{% else %}", "{% else %}"),
			`<call>{"name": "weather", "arguments": {}}</call><call>{"name": "weather", "arguments": {}}</call><|res`, true, false, "",
			"weather {}weather {}"},
		{"an opener of content beside tools alone", turn(`{{ '<say>' if tools }}{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}`, ""),
			"<say>Hello.[end]", true, false, "Hello.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl := compile(t, tt.template)
			r := request(t, `{"messages": [{"role": "user", "content": "Hi"}]}`)
			if tt.tools {
				r = request(t, `{"messages": [{"role": "user", "content": "Hi"}], `+weather+`}`)
				if v := tmpl.Gate(); !v.Pass() {
					t.Fatalf("%s\n%s", v, tmpl.Analysis().Format)
				}
			}
			if tt.kept {
				r.ReasoningFormat = chat.ReasoningKeep
			}
			plan, err := tmpl.Prepare(r, engine.PrepareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{len(tt.output), 1} {
				p := plan.NewParser()
				for at := 0; at < len(tt.output); at += size {
					p.Write([]byte(tt.output[at : at+size]))
				}
				p.Close(chat.FinishStop)
				m := p.Message()
				calls := ""
				for _, c := range m.ToolCalls {
					calls += c.Name + " " + c.Arguments
				}
				if m.Content != tt.content || m.Reasoning != "" || calls != tt.calls {
					t.Errorf("pieces of %d: %+v\n%s", size, m, tmpl.Analysis().Format)
				}
			}
		})
	}
}
