// Package standard has the requests that stand for all others: those whose prompts goldens hold, by
// which revisions are compared and that commands take where none is given.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package standard

import (
	"fmt"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Conversation is a request of the standard battery: the prompts that goldens hold and that
// revisions are compared by.
type Conversation struct {
	Name    string
	Request chat.Request

	value ordered.Value
}

// ToolsJSON is the tool set of the battery, and the one that golden grammars are made for: a
// string, typed values, an enumeration, a nested object, and a function without parameters.
const ToolsJSON = `[
{"type": "function", "function": {"name": "get_weather", "description": "Weather of a place, now",
 "parameters": {"type": "object", "properties": {
  "city": {"type": "string", "description": "City and country"},
  "days": {"type": "integer", "minimum": 1, "maximum": 14},
  "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}, "required": ["city"]}}},
{"type": "function", "function": {"name": "store_note", "description": "Stores a note",
 "parameters": {"type": "object", "properties": {
  "text": {"type": "string"},
  "tags": {"type": "array", "items": {"type": "string"}},
  "place": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "required": ["lat", "lon"]},
  "urgent": {"type": "boolean"}}, "required": ["text", "tags"]}}},
{"type": "function", "function": {"name": "list_notes", "description": "Lists all notes",
 "parameters": {"type": "object", "properties": {}}}}]`

// battery is the standard battery in JSON; TOOLS stands for the standard tools, CALL for a call and
// its answer.
var battery = [...]struct{ name, request string }{
	{"user", `{"messages": [{"role": "user", "content": "Hello there"}]}`},
	{"system", `{"messages": [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Hello there"}]}`},
	{"turns", `{"messages": [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "First \"answer\" <b>\nline two"},
		{"role": "user", "content": "Two?"}]}`},
	{"reasoning", `{"messages": [{"role": "user", "content": "One?"},
		{"role": "assistant", "content": "The answer", "reasoning_content": "The thought"}, {"role": "user", "content": "Two?"}]}`},
	{"thinking-off", `{"messages": [{"role": "user", "content": "Hello there"}], "enable_thinking": false}`},
	{"tools", `{"messages": [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Weather in Zürich?"}], "tools": TOOLS}`},
	{"call", `{"messages": [{"role": "user", "content": "Weather in Zürich?"},
		{"role": "assistant", "content": null, "tool_calls": [CALL]},
		{"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "{\"sky\": \"clear\"}"}], "tools": TOOLS}`},
	{"parallel", `{"messages": [{"role": "user", "content": "Weather in Zürich, twice?"},
		{"role": "assistant", "content": null, "tool_calls": [CALL, CALL2]}], "tools": TOOLS}`},
	{"calls", `{"messages": [{"role": "user", "content": "Weather in Zürich, twice?"},
		{"role": "assistant", "content": "I look.", "reasoning_content": "The thought", "tool_calls": [CALL, CALL2]},
		{"role": "tool", "tool_call_id": "call00001", "name": "get_weather", "content": "clear"},
		{"role": "tool", "tool_call_id": "call00002", "name": "get_weather", "content": "rain"},
		{"role": "assistant", "content": "Clear, then rain."}, {"role": "user", "content": "Thanks"}], "tools": TOOLS}`},
}

// JSON returns the request as a client sends it.
func (c Conversation) JSON() ordered.Value { return c.value }

// Battery returns the standard battery.
var Battery = sync.OnceValue(func() []Conversation {
	expand := strings.NewReplacer("TOOLS", ToolsJSON,
		"CALL2", `{"id": "call00002", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Zürich\", \"days\": 2}"}}`,
		"CALL", `{"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Zürich\"}"}}`)
	conversations := make([]Conversation, len(battery))
	for i, b := range battery {
		conversations[i] = newConversation(b.name, expand.Replace(b.request))
	}
	return conversations
})

// newConversation reads a request that stands in this package; an error in it is a bug here.
func newConversation(name, text string) Conversation {
	v, err := ordered.ParseString(text)
	if err == nil {
		var r chat.Request
		if r, err = chat.ParseRequest(v); err == nil {
			return Conversation{Name: name, Request: r, value: v}
		}
	}
	panic(fmt.Sprintf("standard: conversation %q: %v", name, err))
}

// Tools is the conversation of the battery that has the standard tools and no call yet.
func Tools() Conversation {
	for _, c := range Battery() {
		if c.Name == "tools" {
			return c
		}
	}
	panic("standard: the battery has no conversation with tools")
}

// ToolRequest returns a request with the standard tools.
func ToolRequest() chat.Request { return Tools().Request }
