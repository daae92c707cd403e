package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/conversation/standard"
)

// scenario is a request of the battery.
type scenario struct {
	name    string
	tools   bool // only for templates that the gate accepts
	result  bool // only for templates that replay calls
	trigger bool // a call is hoped for
	follow  bool // its calls are answered, and the next turn runs as well
	// optional requests are beyond what most servers take: a refusal is a warning.
	optional bool
	request  string
}

// expand fills the requests in: TOOLS are the standard tools, WEATHER a call with its result,
// SCHEMA that of an answer.
var expand = strings.NewReplacer(
	"TOOLS", standard.ToolsJSON,
	"WEATHER", `{"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function",
		"function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}}]},
		{"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"sky\": \"clear\"}"}`,
	"SCHEMA", `{"type": "object", "properties": {"city": {"type": "string", "maxLength": 40}, "degrees": {"type": "number"},
		"sky": {"type": "string", "enum": ["clear", "cloudy"]}}, "required": ["city", "sky"], "additionalProperties": false}`)

// battery has the requests in the order in which they run.
var battery = [...]scenario{
	{name: "content", request: `{"messages": [{"role": "user", "content": "Say hello."}]}`},
	{name: "thinking-on", request: `{"messages": [{"role": "user", "content": "Say hello."}], "enable_thinking": true}`},
	{name: "thinking-off", request: `{"messages": [{"role": "user", "content": "Say hello."}], "enable_thinking": false}`},
	{name: "continued", request: `{"messages": [{"role": "user", "content": "Name a city."}, {"role": "assistant", "content": "One of them is"}],
		"continue_final_message": true}`},
	{name: "json-schema", request: `{"messages": [{"role": "user", "content": "The weather of Bern as JSON."}], "json_schema": SCHEMA}`},
	{name: "required", tools: true, follow: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false, "tool_choice": "required"}`},
	{name: "required-thinking", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false, "tool_choice": "required", "enable_thinking": true}`},
	{name: "required-no-thinking", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false, "tool_choice": "required", "enable_thinking": false}`},
	{name: "named", tools: true,
		request: `{"messages": [{"role": "user", "content": "Note that it rains, at 46.9 by 7.4."}], "tools": TOOLS, "parallel_tool_calls": false,
		"tool_choice": {"type": "function", "function": {"name": "store_note"}}}`},
	{name: "named-no-arguments", tools: true,
		request: `{"messages": [{"role": "user", "content": "My notes, please."}], "tools": TOOLS, "parallel_tool_calls": false,
		"tool_choice": {"type": "function", "function": {"name": "list_notes"}}}`},
	{name: "parallel", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern and in Basel?"}], "tools": TOOLS, "tool_choice": "required",
		"parallel_tool_calls": true}`},
	{name: "auto", tools: true, trigger: true, follow: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false}`},
	{name: "auto-parallel", tools: true, trigger: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern and in Basel?"}], "tools": TOOLS, "parallel_tool_calls": true}`},
	{name: "none", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "tool_choice": "none"}`},
	{name: "tools-or-schema", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false, "json_schema": SCHEMA}`},
	{name: "after-result", tools: true, result: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}, WEATHER], "tools": TOOLS, "parallel_tool_calls": false}`},
	{name: "second-call", tools: true, result: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern, then in Basel?"}, WEATHER], "tools": TOOLS, "parallel_tool_calls": false, "tool_choice": "required"}`},
}

// serverBattery has requests that only servers are asked, since they are about the words of
// protocols.
var serverBattery = [...]scenario{
	{name: "strict", tools: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "parallel_tool_calls": false, "tool_choice": "required",
		"tools": [{"type": "function", "function": {"name": "get_weather", "description": "Weather", "strict": true, "parameters": {"type": "object",
		"properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
		"required": ["city", "unit"], "additionalProperties": false}}}]}`},
	{name: "allowed-tools", tools: true, optional: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"}], "tools": TOOLS, "parallel_tool_calls": false,
		"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
		{"type": "function", "function": {"name": "list_notes"}}]}}}`},
	{name: "custom-text", tools: true, optional: true, follow: true,
		request: `{"messages": [{"role": "user", "content": "List the files."}], "parallel_tool_calls": false,
		"tools": [{"type": "custom", "custom": {"name": "shell", "description": "Runs a command."}}],
		"tool_choice": {"type": "custom", "custom": {"name": "shell"}}}`},
	{name: "custom-grammar", tools: true, optional: true,
		request: `{"messages": [{"role": "user", "content": "When does it begin?"}], "parallel_tool_calls": false,
		"tools": [{"type": "custom", "custom": {"name": "clock", "description": "Takes a time.",
		"format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-2][0-9]:[0-5][0-9]"}}}}],
		"tool_choice": {"type": "custom", "custom": {"name": "clock"}}}`},
	{name: "custom-lark", tools: true, optional: true,
		request: `{"messages": [{"role": "user", "content": "Replace bad by good."}], "parallel_tool_calls": false,
		"tools": [{"type": "custom", "custom": {"name": "edit", "description": "Replaces lines.",
		"format": {"type": "grammar", "grammar": {"syntax": "lark",
		"definition": "start: removed+ added+\nremoved: \"-\" WORD LF\nadded: \"+\" WORD LF\n%import common (WORD, LF)\n"}}}}],
		"tool_choice": {"type": "custom", "custom": {"name": "edit"}}}`},
	{name: "reasoning-returned",
		request: `{"messages": [{"role": "user", "content": "Name a city."}, {"role": "assistant", "reasoning_content": "Bern is one.", "content": "Bern."},
		{"role": "user", "content": "Another one."}]}`},
	{name: "error-returned", tools: true, result: true,
		request: `{"messages": [{"role": "user", "content": "Weather in Bern?"},
		{"role": "assistant", "content": null, "tool_calls": [{"id": "call00001", "type": "function",
		"function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}}]},
		{"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "Error: no such place"}], "tools": TOOLS}`},
}

// answered returns a request with an answer's message and a result for each of its calls. Ids that
// the output does not carry are numbered.
func answered(request ordered.Value, a *wire.Answer) ordered.Value {
	m := a.Message
	calls := make([]ordered.Value, len(m.ToolCalls))
	results := make([]ordered.Value, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("call%05d", i+1)
		}
		if calls[i] = call.Value(); i < len(a.Custom) && a.Custom[i] {
			calls[i] = ordered.Pairs("id", call.ID, "type", "custom",
				"custom", ordered.Pairs("name", call.Name, "input", call.Arguments))
		}
		results[i] = chat.Result(call.ID, call.Name, `{"ok": true}`)
	}
	var reasoning []ordered.Member
	if m.Reasoning != "" {
		reasoning = append(reasoning,
			ordered.MemberOf("reasoning_content", ordered.Str(m.Reasoning)))
	}
	answer := chat.MessageOf("assistant", ordered.Str(m.Content),
		append(reasoning, ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))...)
	messages := slices.Concat(request.At("messages").Items(), []ordered.Value{answer}, results)
	return ordered.Pairs("messages", messages, "tools", request.At("tools"))
}
