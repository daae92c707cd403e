package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// asked are requests of chat completions, and the protocols that have no words for them.
var asked = []struct{ name, request, none string }{
	{"plain", `{"messages": [{"role": "user", "content": "x"}], "temperature": 0, "max_tokens": 9}`, ""},
	{"system", `{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}`, ""},
	{"history", `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": [
		{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
		{"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "1"}, {"role": "tool", "tool_call_id": "c2", "content": "2"},
		{"role": "assistant", "content": "Done."}, {"role": "user", "content": "y"}],
		"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}}],
		"tool_choice": "required", "parallel_tool_calls": false}`, ""},
	{"named", `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
		"tool_choice": {"type": "function", "function": {"name": "f"}}}`, ""},
	{"none", `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
		"tool_choice": "none"}`, ""},
	{"allowed", `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
		{"type": "function", "function": {"name": "g", "parameters": {"type": "object"}}}],
		"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "g"}}]}}}`, "messages"},
	{"custom", `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
		{"role": "tool", "tool_call_id": "c1", "content": "a"}], "tools": [{"type": "custom", "custom": {"name": "sh", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}}}],
		"tool_choice": {"type": "custom", "custom": {"name": "sh"}}}`, "messages"},
	{"schema", `{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}}`, ""},
	{"thinking", `{"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"enable_thinking": true}, "max_tokens": 99}`, ""},
	{"effort", `{"messages": [{"role": "user", "content": "x"}], "reasoning_effort": "low"}`, ""},
	{"continued", `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "One"}], "continue_final_message": true}`, "responses"},
	{"stop", `{"messages": [{"role": "user", "content": "x"}], "stop": ["a", "b"]}`, "responses"},
	{"reasoning", `{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "One", "reasoning_content": "Think."}, {"role": "user", "content": "y"}]}`, "messages"},
}

// TestAsk spells requests in every protocol; each is read as the same request.
func TestAsk(t *testing.T) {
	for _, tt := range asked {
		want := ""
		for _, p := range wire.All {
			body, err := p.Ask(parse(t, tt.request).With("model", ordered.Str("m")))
			if p.Name() == tt.none {
				if !errors.Is(err, wire.ErrNoWords) {
					t.Errorf("%s: %s: %v", tt.name, p.Name(), err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %s: %v", tt.name, p.Name(), err)
				continue
			}
			r, err := p.Decode(body, sealer(t))
			if err != nil {
				t.Errorf("%s: %s: %v\n%s", tt.name, p.Name(), err, body)
				continue
			}
			r.Chat.Rest = ordered.Value{}
			r.Chat.Kwargs = r.Chat.Kwargs.Without("enable_thinking")
			got := strings.ReplaceAll(r.Chat.Value().Without("model").String(),
				`, "chat_template_kwargs": {}`, "")
			got += strings.Join(r.Stops, "|")
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: %s:\ngot  %s\nwant %s", tt.name, p.Name(), got, want)
			}
		}
	}
}

// TestFollow answers an answer's calls, with reasoning handed back.
func TestFollow(t *testing.T) {
	for _, p := range wire.All {
		request := parse(t, body(p, false))
		r, err := p.Decode(request, sealer(t))
		if err != nil {
			t.Fatal(err)
		}
		w := p.Writer(wire.Envelope{ID: "1", Model: "m", Request: r, Sealer: sealer(t)})
		for _, d := range answer {
			w.Delta(nil, d)
		}
		whole := p.Read(w.Whole(wire.End{Finish: chat.FinishToolCalls}))
		streamed := read(p, stream(t, p))
		for how, a := range map[string]wire.Answer{"in one piece": whole, "streamed": streamed} {
			calls := a.Message.ToolCalls
			next := p.Follow(request, &a, []wire.Result{
				{ID: calls[0].ID, Name: calls[0].Name, Text: "wet"},
				{ID: calls[1].ID, Name: calls[1].Name, Text: "none", Custom: a.Custom[1],
					Error: true}})
			r, err := p.Decode(next, sealer(t))
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", p.Name(), how, err, next)
				continue
			}
			text := r.Chat.Value().At("messages").String()
			for _, part := range []string{"Think.", "I look.é", "get_weather", `{\"city\": \"Bern\"}`,
				`"wet"`, `"Error: none"`, `"tool_call_id": "own"`} {
				if !strings.Contains(text, part) {
					t.Errorf("%s, %s: no %s in %s", p.Name(), how, part, text)
				}
			}
		}
	}
}
