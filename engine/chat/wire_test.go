package chat_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// again marshals a value, unmarshals the text into another of the type and returns both.
func again[T any](t *testing.T, v T) (string, T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v: %v", v, err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(text), back
}

func roundTrip[T any](t *testing.T, v T, want string) {
	t.Helper()
	text, back := again(t, v)
	if text != want {
		t.Errorf("%T: got  %s\nwant %s", v, text, want)
	}
	if !reflect.DeepEqual(back, v) {
		t.Errorf("%s: read back as %+v, was %+v", text, back, v)
	}
}

// TestWire marshals and unmarshals everything that goes over the wire.
func TestWire(t *testing.T) {
	call := chat.ToolCall{ID: "c1", Name: "f", Arguments: `{"a": "<b>"}`, Complete: true}
	roundTrip(t, chat.Message{Content: "x"}, `{"role":"assistant","content":"x"}`)
	roundTrip(t, chat.Message{}, `{"role":"assistant","content":""}`)
	roundTrip(t, chat.Message{Reasoning: "r", ToolCalls: []chat.ToolCall{call}},
		`{"role":"assistant","reasoning_content":"r","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": \"\u003cb\u003e\"}"}}]}`)
	roundTrip(t, chat.Delta{Reasoning: "r"}, `{"reasoning_content":"r"}`)
	roundTrip(t, chat.Delta{ToolCalls: []chat.ToolCallDelta{{Index: 1, ID: "c", Name: "f"},
		{Index: 1, Arguments: "{"}}},
		`{"tool_calls":[{"index":1,"id":"c","type":"function","function":{"name":"f","arguments":""}},{"index":1,"function":{"arguments":"{"}}]}`)
	roundTrip(t, chat.ToolChoice{}, `"auto"`)
	roundTrip(t, chat.ToolChoice{Mode: chat.ChoiceNone}, `"none"`)
	roundTrip(t, chat.ToolChoice{Mode: chat.ChoiceNamed, Name: "f"}, `{"type":"function","function":{"name":"f"}}`)
	e := chat.Envelope{ID: "chatcmpl-1", Created: 1767322800, Model: "m"}
	roundTrip(t, e.Begin(), `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767322800,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
	roundTrip(t, e.Chunk(chat.Delta{Content: "x"}), `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767322800,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`)
	end := e.End(chat.FinishStop)
	end.Usage = &chat.Usage{Prompt: 3, Completion: 4}
	roundTrip(t, end, `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767322800,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`)
	roundTrip(t, e.Completion(chat.Message{Content: "x"}, chat.FinishLength), `{"id":"chatcmpl-1","object":"chat.completion","created":1767322800,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"length"}]}`)
}

// TestCallIDs gives ids to the calls that have none, the same in a whole answer and in its chunks.
func TestCallIDs(t *testing.T) {
	m := chat.Message{ToolCalls: []chat.ToolCall{{Name: "f"}, {ID: "own", Name: "g"}, {Name: "f"}}}
	e := chat.Envelope{ID: "chatcmpl-1"}
	calls := e.Completion(m, chat.FinishToolCalls).Message.ToolCalls
	if m.ToolCalls[0].ID != "" {
		t.Error("the message itself was changed")
	}
	seen := map[string]bool{}
	for i, c := range calls {
		if seen[c.ID] || i == 1 && c.ID != "own" ||
			i != 1 && (len(c.ID) != 9 || strings.Trim(c.ID, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "") {
			t.Errorf("call %d has the id %q", i, c.ID)
		}
		seen[c.ID] = true
		first := chat.ToolCallDelta{Index: i, ID: m.ToolCalls[i].ID, Name: c.Name}
		if got := e.Chunk(chat.Delta{ToolCalls: []chat.ToolCallDelta{first}}).
			Delta.ToolCalls[0].ID; got != c.ID {
			t.Errorf("call %d has the id %q in a chunk, %q in the whole", i, got, c.ID)
		}
		if got := e.Chunk(chat.Delta{ToolCalls: []chat.ToolCallDelta{{Index: i, Arguments: "{"}}}).
			Delta.ToolCalls[0].ID; got != "" {
			t.Errorf("call %d has its id again: %q", i, got)
		}
	}
	if other := (chat.Envelope{ID: "chatcmpl-2"}).Completion(m, chat.FinishToolCalls).
		Message.ToolCalls; other[0].ID == calls[0].ID {
		t.Error("two answers have calls with the same id")
	}
	e.CallID = func(i int) string { return "mine" }
	if got := e.Completion(m, chat.FinishToolCalls).Message.ToolCalls; got[0].ID != "mine" ||
		got[1].ID != "own" {
		t.Errorf("got %+v", got)
	}
}

// TestRequestWire reads requests, writes them and reads them again. Fields that a request omits
// have the defaults of OpenAI's protocol.
func TestRequestWire(t *testing.T) {
	const user = `"messages":[{"role":"user","content":"x","name":"n"}]`
	const tools = `"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{"b":1,"a":2.50}}}]`
	for _, tt := range []struct{ in, want string }{ // want "": as it came
		{`{` + user + `}`, ""},
		{`{` + user + `,"parallel_tool_calls":false}`, ""},
		{`{` + user + `,"parallel_tool_calls":true}`, `{` + user + `}`},
		{`{` + user + `,` + tools + `,"tool_choice":"required","reasoning_format":"none","enable_thinking":false,"add_generation_prompt":false}`, ""},
		{`{"model":"m",` + user + `,"temperature":0.70,"stream":true}`, `{` + user + `,"model":"m","temperature":0.70,"stream":true}`},
		{`{` + user + `,"tool_choice":null,"response_format":{"type":"text"},"chat_template_kwargs":{"k":[1]}}`, `{` + user + `,"chat_template_kwargs":{"k":[1]}}`},
		{`{` + user + `,"json_schema":true}`, `{` + user + `,"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":true}}}`},
	} {
		var r chat.Request
		if err := json.Unmarshal([]byte(tt.in), &r); err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if r.OneCall != strings.Contains(tt.in, `"parallel_tool_calls":false`) {
			t.Errorf("%s: one call: %v", tt.in, r.OneCall)
		}
		text, back := again(t, r)
		if tt.want == "" {
			tt.want = tt.in
		}
		if text != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.in, text, tt.want)
		}
		if !reflect.DeepEqual(back, r) {
			t.Errorf("%s: read back as %+v, was %+v", tt.in, back, r)
		}
	}
	r := chat.Request{Tools: []chat.Tool{{Name: "f", Description: "d",
		Parameters: ordered.ObjectOf()}}}
	if got, want := r.Value().String(), `{"messages": [], "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}]}`; got != want {
		t.Errorf("a tool that is made by hand: got %s, want %s", got, want)
	}
}

// TestLenient reads the forms of other servers.
func TestLenient(t *testing.T) {
	var m chat.Message
	const text = `{"role": "assistant", "refusal": null, "reasoning": "r", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
		"tool_calls": [{"type": "function", "index": 0, "id": null, "function": {"name": "f", "arguments": {"a": 1}}}]}`
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if want := (chat.Message{Reasoning: "r", Content: "ab", ToolCalls: []chat.ToolCall{{Name: "f", Arguments: `{"a": 1}`, Complete: true}}}); !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
	var c chat.Chunk
	if err := json.Unmarshal([]byte(`{"id": "1", "object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 2}}`), &c); err != nil || c.Usage.Prompt != 2 {
		t.Errorf("a chunk with the usage alone: %+v, %v", c, err)
	}
}

// TestWireErrors names the field that is wrong.
func TestWireErrors(t *testing.T) {
	for _, tt := range []struct {
		into     any
		in, want string
	}{
		{new(chat.Message), `[]`, "a message must be an object, found array"},
		{new(chat.Message), `{"role": "user", "content": "x"}`, `role: expected "assistant", found "user"`},
		{new(chat.Message), `{"content": 1}`, "content: expected a string, a list of parts or null, found 1"},
		{new(chat.Message), `{"content": [{"type": "image_url"}]}`, `content[0]: expected a part with a text, found {"type": "image_url"}`},
		{new(chat.Message), `{"tool_calls": [{"function": {"name": "f", "arguments": 1}}]}`, "tool_calls[0].function.arguments: expected a string of JSON, found 1"},
		{new(chat.Delta), `{"tool_calls": [{"function": {}}]}`, "tool_calls[0].index: expected a whole number from 0, found null"},
		{new(chat.Delta), `{"reasoning_content": {}}`, "reasoning_content: expected a string, found {}"},
		{new(chat.Tool), `{"function": {}}`, ".function.name: expected a string that is not empty, found null"},
		{new(chat.Request), `{}`, "messages: expected an array, found null"},
		{new(chat.Completion), `{"object": "chat.completion.chunk"}`, `object: expected "chat.completion", found "chat.completion.chunk"`},
		{new(chat.Completion), `{"object": "chat.completion", "choices": []}`, "choices: expected one, found 0"},
		{new(chat.Chunk), `{"object": "chat.completion.chunk", "choices": [{"delta": {"content": 1}}]}`, "choices[0].delta: content: expected a string, a list of parts or null, found 1"},
	} {
		if err := json.Unmarshal([]byte(tt.in), tt.into); err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

// FuzzWire reads any JSON as each thing that goes over the wire; an accepted thing is written, and
// read back as itself.
func FuzzWire(f *testing.F) {
	for _, text := range []string{
		`{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}`,
		`{"reasoning_content": "é\ud800", "tool_calls": [{"index": 3, "function": {"arguments": "{"}}]}`,
		`{"messages": [{"role": "user", "content": "a"}], "tools": [{"function": {"name": "a"}}], "tool_choice": {"function": {"name": "a"}}, "model": "m"}`,
		`{"messages": [{"role": "assistant", "content": "x"}], "continue_final_message": true, "response_format": {"type": "json_object"}}`,
		`{"object": "chat.completion.chunk", "choices": [{"delta": {"role": "assistant"}, "finish_reason": "x"}], "usage": {"prompt_tokens": 1e3}}`,
		`"required"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzed[chat.Message](t, text)
		fuzzed[chat.ToolCall](t, text)
		fuzzed[chat.Delta](t, text)
		fuzzed[chat.ToolCallDelta](t, text)
		fuzzed[chat.Tool](t, text)
		fuzzed[chat.ToolChoice](t, text)
		fuzzed[chat.Request](t, text)
		fuzzed[chat.Completion](t, text)
		fuzzed[chat.Chunk](t, text)
	})
}

func fuzzed[T any](t *testing.T, text []byte) {
	var v T
	if json.Unmarshal(text, &v) != nil {
		return
	}
	first, back := again(t, v)
	if second, _ := again(t, back); second != first {
		t.Errorf("%s as %T: written as %s, then as %s", text, v, first, second)
	}
}
