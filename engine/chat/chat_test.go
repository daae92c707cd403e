package chat_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

func TestParseRequestErrors(t *testing.T) {
	const user = `"messages": [{"role": "user", "content": "x"}]`
	for _, tt := range []struct{ in, want string }{
		{`[]`, `a request must be an object, found array`},
		{`{}`, `messages: expected an array, found null`},
		{`{"messages": [1]}`, `messages[0]: expected an object, found 1`},
		{`{"messages": [{"content": "x"}]}`, `messages[0].role: expected a string, found null`},
		{`{"messages": [{"role": "user", "tool_calls": {}}]}`, `messages[0].tool_calls: expected an array, found {}`},
		{`{` + user + `, "tools": [{"type": "function"}]}`, `tools[0].function: expected an object, found null`},
		{`{` + user + `, "tools": [{"function": {"name": ""}}]}`, `tools[0].function.name: expected a string that is not empty, found ""`},
		{`{` + user + `, "tool_choice": "must"}`, `tool_choice: expected "auto", "required", "none" or {"type": "function", "function": {"name": ...}}, found "must"`},
		{`{` + user + `, "tool_choice": {"function": {"name": "f"}}}`, `tool_choice: no tool is named "f"`},
		{`{` + user + `, "enable_thinking": "yes"}`, `enable_thinking: expected true or false, found "yes"`},
		{`{` + user + `, "reasoning_format": "deepseek"}`, `reasoning_format: expected "auto" or "none", found "deepseek"`},
		{`{` + user + `, "continue_final_message": true}`, `continue_final_message: the last message must be the assistant's`},
		{`{` + user + `, "chat_template_kwargs": 3}`, `chat_template_kwargs: expected an object, found 3`},
		{`{` + user + `, "response_format": {"type": "xml"}}`, `response_format.type: expected "text", "json_object" or "json_schema", found "xml"`},
	} {
		v, err := ordered.ParseString(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chat.ParseRequest(v); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	v, err := ordered.ParseString(`{"model": "m", "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "reasoning_content": "r", "content": ""}],
		"tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
		"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": true, "enable_thinking": false,
		"continue_final_message": true, "response_format": {"type": "json_object"}}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.ParseRequest(v)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) != 2 || r.Tools[0].Description != "d" ||
		r.ToolChoice != (chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "f"}) ||
		r.OneCall || *r.EnableThinking || r.Continue != chat.ContinueReasoning || !r.HasJSONSchema || r.JSONSchema.String() != `{"type": "object"}` {
		t.Errorf("got %+v", r)
	}
}

func TestValues(t *testing.T) {
	m := chat.Message{Reasoning: "r", ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: `{"a": 1}`}}}
	if got, want := m.Value().String(), `{"role": "assistant", "reasoning_content": "r", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d := chat.Delta{ToolCalls: []chat.ToolCallDelta{{Index: 1, Arguments: "1}"}}}
	if got, want := d.Value().String(), `{"tool_calls": [{"index": 1, "function": {"arguments": "1}"}}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzRequest reads any request: an accepted request holds all that the text states, and a refusal
// names the field's path.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": null}]}`,
		`{"messages": [], "tools": [{"type": "function", "function": {"name": "a", "parameters": {}}}], "tool_choice": "required", "parallel_tool_calls": true}`,
		`{"messages": [{"role": "assistant", "content": "x"}], "continue_final_message": true, "add_generation_prompt": false}`,
		`{"messages": [], "response_format": {"type": "json_schema", "json_schema": {"schema": {}}}, "chat_template_kwargs": {"a": 1}}`,
		`{"messages": [], "tools": [{"function": {"name": "a"}}], "tool_choice": {"type": "function", "function": {"name": "a"}}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ordered.ParseString(text)
		if err != nil {
			return
		}
		r, err := chat.ParseRequest(v)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%s is refused without a word", text)
			}
			return
		}
		if len(r.Messages) != len(v.At("messages").Items()) ||
			len(r.Tools) != len(v.At("tools").Items()) {
			t.Errorf("%s: %d messages and %d tools", text, len(r.Messages), len(r.Tools))
		}
		if got := r.ToolsValue().String(); len(r.Tools) > 0 && got != v.At("tools").String() {
			t.Errorf("the tools are %s, and were %s", got, v.At("tools"))
		}
	})
}
