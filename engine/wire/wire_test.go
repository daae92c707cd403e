package wire_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

var update = flag.Bool("update", false, "rewrite testdata")

// zeros is a source of randomness without any, so that seals are the same in every run.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func sealer(t testing.TB) *wire.Sealer {
	t.Helper()
	s, err := wire.NewSealer([]byte("0123456789abcdef0123456789abcdef"), zeros{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

const (
	weather = `"name": "get_weather", "description": "d", "parameters": {"type": "object"}`
	user    = `"messages": [{"role": "user", "content": "x"}]`
)

// TestDecode reads one conversation in each protocol: they mean the same.
func TestDecode(t *testing.T) {
	s := sealer(t)
	sealed, err := s.Seal("Think.")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"messages": [{"role": "system", "content": "Be brief."}, ` +
		`{"role": "user", "content": "Rain?"}, ` +
		`{"role": "assistant", "content": "I look.", "reasoning_content": "Think.", "tool_calls": [` +
		`{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}}, ` +
		`{"id": "c2", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]}, ` +
		`{"role": "tool", "tool_call_id": "c1", "content": "wet"}, ` +
		`{"role": "tool", "tool_call_id": "c2", "content": "dry"}], ` +
		`"tools": [{"type": "function", "function": {` + weather + `}}], ` +
		`"tool_choice": {"type": "function", "function": {"name": "get_weather"}}, ` +
		`"parallel_tool_calls": false, "enable_thinking": true, ` +
		`"chat_template_kwargs": {"reasoning_effort": "low"}}`
	for _, tt := range []struct {
		p    wire.Protocol
		body string
	}{
		{wire.ChatCompletions, `{"model": "m", "max_completion_tokens": 9, "temperature": 0.5, "seed": 7,
			"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rain?"},
			{"role": "assistant", "content": "I look.", "reasoning_content": "Think.", "tool_calls": [
			{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}},
			{"id": "c2", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "wet"},
			{"role": "tool", "tool_call_id": "c2", "content": "dry"}],
			"tools": [{"type": "function", "function": {` + weather + `}}], "reasoning_effort": "low",
			"tool_choice": {"type": "function", "function": {"name": "get_weather"}}, "parallel_tool_calls": false}`},
		{wire.Responses, `{"model": "m", "max_output_tokens": 9, "temperature": 0.5, "seed": 7, "store": false,
			"instructions": "Be brief.", "input": [{"role": "user", "content": [{"type": "input_text", "text": "Rain?"}]},
			{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "` + sealed + `"},
			{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "I ", "annotations": []}]},
			{"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{\"city\": \"Bern\"}"},
			{"type": "function_call", "call_id": "c2", "name": "get_weather", "arguments": "{}"},
			{"type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "look.", "annotations": []}]},
			{"type": "function_call_output", "call_id": "c1", "output": "wet"},
			{"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "dry"}]}],
			"tools": [{"type": "function", ` + weather + `}], "reasoning": {"effort": "low"},
			"tool_choice": {"type": "function", "name": "get_weather"}, "parallel_tool_calls": false}`},
		{wire.Messages, `{"model": "m", "max_tokens": 9, "temperature": 0.5, "seed": 7,
			"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
			"messages": [{"role": "user", "content": "Rain?"},
			{"role": "assistant", "content": [{"type": "thinking", "thinking": "Think.", "signature": "` + sealed + `"},
			{"type": "text", "text": "I look."},
			{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Bern"}},
			{"type": "tool_use", "id": "c2", "name": "get_weather", "input": {}}]},
			{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "wet"},
			{"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "dry"}]}]}],
			"tools": [{"name": "get_weather", "description": "d", "input_schema": {"type": "object"}}],
			"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"},
			"tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": true}}`},
	} {
		r, err := tt.p.Decode(parse(t, tt.body), s)
		if err != nil {
			t.Errorf("%s: %v", tt.p.Name(), err)
			continue
		}
		r.Chat.Rest = ordered.Value{}
		if got := r.Chat.Value().Without("model").String(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.p.Name(), got, want)
		}
		if r.Model != "m" || r.MaxTokens != 9 || !r.Strict || r.Stream ||
			r.Sampling.String() != `{"temperature": 0.5, "seed": 7}` {
			t.Errorf("%s: %+v", tt.p.Name(), r)
		}
	}
}

// TestRefusals gives each protocol requests that a stateless server of texts cannot serve, and
// wrong ones.
func TestRefusals(t *testing.T) {
	s := sealer(t)
	sealed, err := s.Seal("Think.")
	if err != nil {
		t.Fatal(err)
	}
	altered := "B" + sealed[1:]
	const start = `{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], `
	long := strings.Repeat("n", 1_000_000)
	for _, tt := range []struct {
		p          wire.Protocol
		body, want string
	}{
		{wire.ChatCompletions, `[]`, `a request must be an object, found array`},
		{wire.ChatCompletions, `{` + user + `, "n": 2}`, `n: not supported: a request has one answer`},
		{wire.ChatCompletions, `{` + user + `, "logprobs": true}`, `logprobs: not supported: the probabilities of tokens`},
		{wire.ChatCompletions, `{` + user + `, "store": true}`, `store: not supported: this server keeps nothing between requests; send the conversation`},
		{wire.ChatCompletions, `{` + user + `, "temperature": 3}`, `temperature: expected a number from 0 to 2, found 3`},
		{wire.ChatCompletions, `{` + user + `, "stop": ["a", ""]}`, `stop[1]: expected a text that is not empty, found ""`},
		{wire.ChatCompletions, `{` + user + `, "stop": ["a", "b", "c", "d", "e"]}`, `stop: expected at most 4 texts, found 5`},
		{wire.ChatCompletions, `{` + user + `, "max_tokens": 0}`, `max_tokens: expected a whole number of at least 1, found 0`},
		{wire.ChatCompletions, `{"messages": [{"role": "function", "content": "x"}]}`, `messages[0].role: expected "system", "developer", "user", "assistant" or "tool", found "function"`},
		{wire.ChatCompletions, `{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}`,
			`messages[0].content[0].type: not supported: a part of the type "image_url"; this server reads and writes text`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}}}}]}`,
			`tools[0].custom.format.definition: not supported: the grammar: line 1: expected a definition, found "x"`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}}}`,
			`tool_choice.tools: no tool is named "g"`},
		{wire.ChatCompletions, `{` + user + `, "stream": 1}`, `stream: expected true or false, found 1`},
		{wire.ChatCompletions, `{` + user + `, "max_tokens": "9"}`, `max_tokens: expected a whole number of at least 1, found "9"`},
		{wire.ChatCompletions, `{` + user + `, "max_tokens": 1.5}`, `max_tokens: expected a whole number of at least 1, found 1.5`},
		{wire.ChatCompletions, `{` + user + `, "stop": 3}`, `stop: expected a text or a list of texts, found 3`},
		{wire.ChatCompletions, `{` + user + `, "stop": [3]}`, `stop[0]: expected a text that is not empty, found 3`},
		{wire.ChatCompletions, `{` + user + `, "temperature": "1"}`, `temperature: expected a number from 0 to 2, found "1"`},
		{wire.ChatCompletions, `{` + user + `, "temperature": -1}`, `temperature: expected a number from 0 to 2, found -1`},
		{wire.ChatCompletions, `{` + user + `, "top_p": 1e999}`, `top_p: expected a number from 0 to 1, found 1e999`},
		{wire.ChatCompletions, `{` + user + `, "top_k": 1.5}`, `top_k: expected a number from -1 to 2.147483648e+09, found 1.5`},
		{wire.ChatCompletions, `{` + user + `, "reasoning_effort": 3}`, `reasoning_effort: expected a word, found 3`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "never", "tools": []}}}`,
			`tool_choice.mode: expected "auto" or "required", found "never"`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function"}]}}}`,
			`tool_choice.tools[0]: expected a tool's name, found {"type": "function"}`},
		{wire.ChatCompletions, `{"messages": [{"role": "user", "content": "x", "audio": {"id": "a"}}]}`, `messages[0].audio: not supported: this server reads and writes text`},
		{wire.ChatCompletions, `{"messages": [{"role": "user", "content": [3]}]}`, `messages[0].content[0]: expected a part with a type, found 3`},
		{wire.ChatCompletions, `{"messages": [{"role": "user", "content": [{"type": 3}]}]}`, `messages[0].content[0]: expected a part with a type, found {"type": 3}`},
		{wire.ChatCompletions, `{"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": 3}}]}]}`,
			`messages[0].tool_calls[0].custom.input: expected a text, found 3`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": 3}}]}`, `tools[0].custom.name: expected a name, found 3`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": ""}}]}`, `tools[0].custom.name: expected a name, found ""`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "definition": 3}}}]}`,
			`tools[0].custom.format.definition: expected a grammar, found 3`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "definition": ""}}}]}`,
			`tools[0].custom.format.definition: expected a grammar, found ""`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "syntax": "bnf", "definition": "x"}}}]}`,
			`tools[0].custom.format.syntax: expected "regex" or "lark", found "bnf"`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "mcp"}]}`, `tools[0].type: not supported: a tool of the type "mcp"`},
		{wire.Responses, `3`, `a request must be an object, found number`},
		{wire.Responses, `{"input": [3]}`, `input[0]: expected an object, found 3`},
		{wire.Responses, `{"input": [{}]}`, `input[0].type: expected an item's type, found null`},
		{wire.Responses, `{"input": [{"type": "web_search_call"}]}`, `input[0].type: not supported: an item of the type "web_search_call"`},
		{wire.Responses, `{"input": [{"type": "function_call", "call_id": "c", "name": "f"}]}`, `input[0].arguments: expected a text, found null`},
		{wire.Responses, `{"input": [{"type": "function_call_output", "call_id": "c"}]}`, `input[0].output: expected a text or a list of parts, found null`},
		{wire.Responses, `{"input": "x", "tools": {}}`, `tools: expected an array, found {}`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "function", "name": 3}]}`, `tools[0].name: expected a name, found 3`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "function", "name": ""}]}`, `tools[0].name: expected a name, found ""`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "custom"}]}`, `tools[0].name: expected a name, found null`},
		{wire.Responses, `{"input": "x", "tools": [{}]}`, `tools[0].type: expected "function" or "custom", found null`},
		{wire.Responses, `{"input": "x", "tool_choice": {"type": "file_search"}}`, `tool_choice: expected "auto", "none", "required" or a function, found {"type": "file_search"}`},
		{wire.Messages, `"x"`, `a request must be an object, found string`},
		{wire.Messages, `{"max_tokens": 1, "messages": {}}`, `messages: expected an array that is not empty, found {}`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": 3}]}`, `messages[0].content: expected a text or a list of blocks, found 3`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": [3]}]}`, `messages[0].content[0]: expected a block with a type, found 3`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": 3}]}]}`, `messages[0].content[0]: expected a block with a type, found {"type": 3}`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]}`, `messages[0].role: expected "user" or "assistant", found "tool"`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}]}`,
			`messages: the results of the last turn's calls are missing`},
		{wire.Messages, start + `"tools": {}}`, `tools: expected an array, found {}`},
		{wire.Messages, start + `"tools": [{"name": 3, "input_schema": {}}]}`, `tools[0].name: expected a name, found 3`},
		{wire.Messages, start + `"tools": [{"name": "", "input_schema": {}}]}`, `tools[0].name: expected a name, found ""`},
		{wire.Messages, start + `"tools": [{"type": "custom", "name": "f"}]}`, `tools[0].input_schema: expected an object, found null`},
		{wire.Messages, start + `"tool_choice": {"type": "tool"}}`, `tool_choice.name: expected a tool's name, found null`},
		{wire.Messages, start + `"thinking": {"type": "on"}}`, `thinking.type: expected "enabled", "adaptive" or "disabled", found "on"`},
		{wire.Messages, start + `"output_config": {"format": {"type": "xml"}}}`, `output_config.format.type: expected "json_schema", found "xml"`},
		{wire.Responses, `{"input": "x", "previous_response_id": "resp_1"}`, `previous_response_id: not supported: this server keeps nothing between requests; send the conversation`},
		{wire.Responses, `{"input": "x", "store": true}`, `store: not supported: this server keeps nothing between requests; send the conversation`},
		{wire.Responses, `{"input": "x", "include": ["message.output_text.logprobs"]}`, `include[0]: not supported: "message.output_text.logprobs"; this server includes "reasoning.encrypted_content"`},
		{wire.Responses, `{"input": 3}`, `input: expected a text or a list of items, found 3`},
		{wire.Responses, `{"input": [{"type": "item_reference", "id": "msg_1"}]}`, `input[0].type: not supported: this server keeps nothing between requests; send the conversation`},
		{wire.Responses, `{"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}]}`,
			`input[0].content[0].type: not supported: a part of the type "input_image"; this server reads and writes text`},
		{wire.Responses, `{"input": [{"type": "reasoning", "summary": [], "encrypted_content": "` + altered + `"}]}`,
			`input[0].encrypted_content: it was altered, or sealed by a server with another key`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "web_search"}]}`, `tools[0].type: not supported: a tool that runs on the server; this server has none`},
		{wire.Responses, `{"input": "x", "text": {"format": {"type": "xml"}}}`, `text.format.type: expected "text", "json_object" or "json_schema", found "xml"`},
		{wire.ChatCompletions, `{"messages": []}`, `messages: expected an array that is not empty, found []`},
		{wire.ChatCompletions, `{` + user + `, "tools": [{"type": "function", "function": {"name": "` + long + `"}}]}`,
			`tools[0].function.name: expected at most 256 bytes, found 1000000`},
		{wire.Responses, `{"input": []}`, `input: expected an array that is not empty, found []`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "function", "name": "` + long + `"}]}`,
			`tools[0].name: expected at most 256 bytes, found 1000000`},
		{wire.Messages, start + `"tools": [{"name": "` + long + `", "input_schema": {}}]}`,
			`tools[0].name: expected at most 256 bytes, found 1000000`},
		{wire.Messages, `{` + user + `}`, `max_tokens: expected a whole number of at least 1, found null`},
		{wire.Messages, `{"max_tokens": 1, "messages": []}`, `messages: expected an array that is not empty, found []`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}`,
			`messages[0].content[0].type: not supported: a block of the type "image"; this server reads and writes text`},
		{wire.Messages, start + `"stop_sequences": "x"}`, `stop_sequences: expected a list of texts, found "x"`},
		{wire.Messages, start + `"tools": [{"type": "bash_20250124", "name": "bash"}]}`, `tools[0].type: not supported: a tool that runs on the server; this server has none`},
		{wire.Messages, start + `"tool_choice": {"type": "must"}}`, `tool_choice.type: expected "auto", "any", "tool" or "none", found "must"`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "Think!", "signature": "` + sealed + `"}]}]}`,
			`messages[0].content[0].signature: invalid signature: it was altered, or sealed by a server with another key`},
	} {
		r, err := tt.p.Decode(parse(t, tt.body), s)
		if r != nil {
			t.Errorf("%s: %s: a request beside the error", tt.p.Name(), tt.body)
		}
		var refusal *wire.Refusal
		if !errors.As(err, &refusal) || refusal.Error() != tt.want {
			t.Errorf("%s: %s:\ngot  %v\nwant %s", tt.p.Name(), tt.body, err, tt.want)
			continue
		}
		if status, body := tt.p.Refuse(refusal); status != 400 ||
			body.At("error", "message").Text() != tt.want ||
			body.At("error", "type").Text() != "invalid_request_error" {
			t.Errorf("%s: refused with %d %s", tt.p.Name(), status, body)
		}
	}
}

// TestMeaning decodes the peculiarities of a protocol.
func TestMeaning(t *testing.T) {
	custom := `{"type": "custom", "name": "sh", "description": "d", "format": {"type": "grammar", "syntax": "regex", "definition": "a|b"}}`
	for _, tt := range []struct {
		p          wire.Protocol
		body, want string
	}{
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": [
			{"type": "tool_result", "tool_use_id": "c", "is_error": true, "content": "no"}, {"type": "text", "text": "go on"}]}]}`,
			`{"messages": [{"role": "tool", "tool_call_id": "c", "content": "Error: no"}, {"role": "user", "content": "go on"}]}`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "He"}]}`,
			`{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "He"}], "continue_final_message": "content"}`},
		{wire.Responses, `{"input": [{"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "a\"b"}, {"type": "custom_tool_call_output", "call_id": "c", "output": "x"}],
			"tools": [` + custom + `], "tool_choice": {"type": "custom", "name": "sh"}}`,
			`{"messages": [{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "sh", "arguments": "{\"input\": \"a\\\"b\"}"}}]}, ` +
				`{"role": "tool", "tool_call_id": "c", "content": "x"}], "tools": [{"type": "function", "function": {"name": "sh", "description": "d", "parameters": {"type": "object", "properties": {"input": {"type": "string", "pattern": "^(?:a|b)$"}}, "required": ["input"]}}}], ` +
				`"tool_choice": {"type": "function", "function": {"name": "sh"}}}`},
		{wire.ChatCompletions, `{"messages": [{"role": "developer", "content": "d"}, {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "a"}}]}]}`,
			`{"messages": [{"role": "developer", "content": "d"}, {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "sh", "arguments": "{\"input\": \"a\"}"}}]}]}`},
		{wire.Responses, `{"input": "x", "tools": [{"type": "function", "name": "f"}, {"type": "function", "name": "g"}], "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]}}`,
			`{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "g"}}], "tool_choice": "required"}`},
		{wire.Messages, `{"max_tokens": 1, "messages": [{"role": "user", "content": []}, {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
			{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}, {"type": "tool_result", "tool_use_id": "d", "is_error": true, "content": [{"type": "text", "text": "no"}]}]}],
			"thinking": {"type": "disabled"}, "output_format": {"type": "json_schema", "schema": {"type": "object"}}, "chat_template_kwargs": {"k": 1}}`,
			`{"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, ` +
				`{"role": "tool", "tool_call_id": "c", "content": ""}, {"role": "tool", "tool_call_id": "d", "content": "Error: no"}], "enable_thinking": false, ` +
				`"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}, "chat_template_kwargs": {"k": 1}}`},
		{wire.Responses, `{"input": [{"role": "user", "content": "a"}, {"type": "message", "role": "assistant", "content": []}, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "u"}]}, {"role": "user", "content": "b"}]}`,
			`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}, {"role": "assistant", "content": null, "reasoning_content": "t", "tool_calls": [` +
				`{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "assistant", "content": "", "reasoning_content": "u"}, {"role": "user", "content": "b"}]}`},
		{wire.Responses, `{"input": "x", "reasoning": {"effort": "none"}, "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true}}}`,
			`{"messages": [{"role": "user", "content": "x"}], "enable_thinking": false, "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}}`},
	} {
		r, err := tt.p.Decode(parse(t, tt.body), sealer(t))
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
		} else if got := r.Chat.Value().String(); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.body, got, tt.want)
		}
	}
}

// answer is an answer with all kinds of parts.
var answer = []chat.Delta{
	{Reasoning: "Thi"}, {Reasoning: "nk."}, {Content: "I lo"}, {Content: "ok.é"},
	{ToolCalls: []chat.ToolCallDelta{{Index: 0, Name: "get_weather"}}},
	{ToolCalls: []chat.ToolCallDelta{{Index: 0, Arguments: `{"city": `}}},
	{ToolCalls: []chat.ToolCallDelta{{Index: 0, Arguments: `"Bern"}`}}},
	{ToolCalls: []chat.ToolCallDelta{{Index: 1, ID: "own", Name: "sh"},
		{Index: 1, Arguments: `{"input": "ls\u00`}}},
	{ToolCalls: []chat.ToolCallDelta{{Index: 1, Arguments: `e9\n"}`}}},
}

// body asks for that answer.
func body(p wire.Protocol, stream bool) string {
	const custom = `{"type": "custom", "name": "sh"}`
	s := fmt.Sprint(stream)
	switch p {
	case wire.ChatCompletions:
		return `{` + user + `, "model": "m", "stream": ` + s + `, "stream_options": {"include_usage": true},
			"tools": [{"type": "custom", "custom": {"name": "sh"}}, {"type": "function", "function": {` + weather + `}}]}`
	case wire.Responses:
		return `{"input": "x", "model": "m", "stream": ` + s + `, "include": ["reasoning.encrypted_content"], "tools": [` + custom + `, {"type": "function", ` + weather + `}]}`
	}
	return `{` + user + `, "model": "m", "max_tokens": 99, "stream": ` + s + `, "tools": [{"name": "get_weather", "input_schema": {}}, {"name": "sh", "input_schema": {}}]}`
}

// TestWriters writes an answer with all kinds of parts, streamed, in one piece and broken off.
func TestWriters(t *testing.T) {
	var out bytes.Buffer
	for _, p := range wire.All {
		for _, stream := range []bool{true, false} {
			r, err := p.Decode(parse(t, body(p, stream)), sealer(t))
			if err != nil {
				t.Fatalf("%s: %v", p.Name(), err)
			}
			e := wire.Envelope{ID: "1", Created: 1767322800, Model: "m", Request: r,
				Sealer: sealer(t)}
			w := p.Writer(e)
			end := wire.End{Finish: chat.FinishToolCalls,
				Usage: chat.Usage{Prompt: 7, Completion: 9}}
			dst := w.Begin(nil, 7)
			for _, d := range answer {
				dst = w.Delta(dst, d)
			}
			if stream {
				dst = w.End(dst, end)
			} else {
				dst = w.Whole(end).Append(dst, ordered.Compact)
			}
			fmt.Fprintf(&out, "== %s, streamed: %t\n%s\n", p.Name(), stream, dst)
			if !stream {
				continue
			}
			w = p.Writer(e)
			dst = w.Begin(nil, 0)
			dst = w.Delta(dst, chat.Delta{Content: "He"})
			dst = w.Fail(dst, &wire.Refusal{Reason: wire.Upstream, Message: "gone"})
			fmt.Fprintf(&out, "== %s, broken off\n%s\n", p.Name(), dst)
		}
	}
	golden(t, "testdata/writers.txt", out.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant (%s)\n%s", got, name, want)
	}
}

// TestFreeText cuts the arguments of a custom tool in every way: the input is the same.
func TestFreeText(t *testing.T) {
	for _, tt := range []struct{ arguments, want string }{
		{`{"input": "a\\b\"c\n\u00e9\ud83d\ude00 x"}`, "a\\b\"c\né\U0001F600 x"},
		{" {\n\"input\" : \"\"}", ""},
		{`{}`, ""},
		{`{"other": 1}`, `{"other": 1}`},
		{`echo "hi"`, `echo "hi"`},
		{`{"inp`, `{"inp`},
		{`{"input": "cut off`, "cut off"},
		{`{"input": "\q \ud0abx \ud8zz \uD83D\uDE00 \u0041 \ud83dx \ud83d\n \ud83d\uzz \u00zz"}`, "\\q \ud0abx \\ud8zz \U0001F600 A \xed\xa0\xbdx \xed\xa0\xbd\n \xed\xa0\xbd\\uzz \\u00zz"},
	} {
		for cut := range len(tt.arguments) {
			r, err := wire.Responses.Decode(parse(t, body(wire.Responses, false)), nil)
			if err != nil {
				t.Fatal(err)
			}
			w := wire.Responses.Writer(wire.Envelope{ID: "1", Request: r})
			w.Delta(nil, chat.Delta{ToolCalls: []chat.ToolCallDelta{{Name: "sh"},
				{Arguments: tt.arguments[:cut]}}})
			rest := chat.ToolCallDelta{Arguments: tt.arguments[cut:]}
			w.Delta(nil, chat.Delta{ToolCalls: []chat.ToolCallDelta{rest}})
			item := w.Whole(wire.End{}).At("output").Items()[0]
			if got := item.At("input").Text(); got != tt.want {
				t.Errorf("%q cut at %d: got %q, want %q", tt.arguments, cut, got, tt.want)
			}
		}
	}
}

// TestPrefix leaves the text out of the answer that the request ends with, as far as the answer
// goes on so.
func TestPrefix(t *testing.T) {
	r, err := wire.Messages.Decode(parse(t, `{"max_tokens": 1, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "Hello"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"He", "llo, w", "orld"}, `[{"type": "text", "text": ", world"}]`},
		{[]string{"He", "y", "llo"}, `[{"type": "text", "text": "yllo"}]`},
	} {
		w := wire.Messages.Writer(wire.Envelope{ID: "1", Request: r})
		for _, piece := range tt.pieces {
			w.Delta(nil, chat.Delta{Content: piece})
		}
		if got := w.Whole(wire.End{}).At("content").String(); got != tt.want {
			t.Errorf("%q: got %s", tt.pieces, got)
		}
	}
}

// TestSeal alters every byte of a seal: none opens.
func TestSeal(t *testing.T) {
	s := sealer(t)
	sealed, err := s.Seal("a thought")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := s.Open(sealed); err != nil || text != "a thought" {
		t.Fatalf("got %q, %v", text, err)
	}
	for i := range sealed {
		altered := []byte(sealed)
		altered[i] ^= 1
		if text, err := s.Open(string(altered)); err == nil {
			t.Errorf("byte %d altered: opened as %q", i, text)
		}
	}
	for _, other := range []string{"", sealed + "\n", sealed[:20], strings.Repeat("A", 17<<20)} {
		if _, err := s.Open(other); err == nil {
			t.Errorf("%.40q opened", other)
		}
	}
	if _, err := wire.NewSealer([]byte("short"), zeros{}); err == nil {
		t.Error("a short key is taken")
	}
}

// FuzzDecode reads any body in each protocol: a request, or a refusal that says something.
func FuzzDecode(f *testing.F) {
	for i, p := range wire.All {
		f.Add(i, body(p, true))
	}
	f.Add(2, `{"max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]}`)
	f.Fuzz(func(t *testing.T, i int, text string) {
		v, err := ordered.ParseString(text)
		if err != nil {
			return
		}
		p := wire.All[uint(i)%uint(len(wire.All))]
		r, err := p.Decode(v, sealer(t))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Errorf("%s is refused without a word", text)
			}
			return
		}
		w := p.Writer(wire.Envelope{ID: "1", Request: r})
		w.Begin(nil, 0)
		for _, d := range answer {
			w.Delta(nil, d)
		}
		w.Whole(wire.End{})
	})
}

// TestExcerpts refuses requests for names and values of a megabyte. No answer repeats them.
func TestExcerpts(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, p := range wire.All {
		for _, err := range []error{errors.New(long), &wire.Refusal{Param: long, Message: long}} {
			status, body := p.Refuse(wire.AsRefusal(err, wire.NotFound))
			text := body.String()
			if len(text) > 4<<10 || !strings.Contains(text, "bytes more") {
				t.Errorf("%s: %d with %d bytes: %.300s", p.Name(), status, len(text), text)
			}
		}
	}
}
