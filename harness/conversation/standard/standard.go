// Package standard has the requests that stand for all others: those whose prompts goldens hold, by
// which revisions are compared and that commands take where none is given.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package standard

import (
	"fmt"
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

// JSON returns the request as a client sends it.
func (c Conversation) JSON() ordered.Value { return c.value }

// Battery returns the standard battery.
var Battery = sync.OnceValue(func() []Conversation {
	tools := ordered.MemberOf("tools", ordered.MustParse(ToolsJSON))
	system, hello := chat.System("You are terse."), chat.User("Hello there")
	one, two, twice := chat.User("One?"), chat.User("Two?"), chat.User("Weather in Zürich, twice?")
	says := func(text string, more ...ordered.Member) ordered.Value {
		return chat.MessageOf("assistant", ordered.Str(text), more...)
	}
	thought := ordered.MemberOf("reasoning_content", ordered.Str("The thought"))
	call := chat.CallOf("call00001", "get_weather", ordered.Str(`{"city": "Zürich"}`))
	call2 := chat.CallOf("call00002", "get_weather", ordered.Str(`{"city": "Zürich", "days": 2}`))
	calls := func(calls ...ordered.Value) ordered.Member {
		return ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...))
	}
	return []Conversation{
		newConversation("user", talk(hello)),
		newConversation("system", talk(system, hello)),
		newConversation("turns", talk(one, says("First \"answer\" <b>\nline two"), two)),
		newConversation("reasoning", talk(one, says("The answer", thought), two)),
		newConversation("thinking-off", talk(hello),
			ordered.MemberOf("enable_thinking", ordered.Boolean(false))),
		newConversation("tools", talk(system, chat.User("Weather in Zürich?")), tools),
		newConversation("call", talk(chat.User("Weather in Zürich?"),
			chat.MessageOf("assistant", ordered.Value{}, calls(call)),
			chat.Result("call00001", "get_weather", `{"sky": "clear"}`)), tools),
		newConversation("parallel", talk(twice,
			chat.MessageOf("assistant", ordered.Value{}, calls(call, call2))), tools),
		newConversation("calls", talk(twice, says("I look.", thought, calls(call, call2)),
			chat.Result("call00001", "get_weather", "clear"),
			chat.Result("call00002", "get_weather", "rain"),
			says("Clear, then rain."), chat.User("Thanks")), tools),
	}
})

func talk(messages ...ordered.Value) ordered.Member {
	return ordered.MemberOf("messages", ordered.ArrayOf(messages...))
}

// newConversation builds a request of the battery; an error in it is a bug here.
func newConversation(name string, request ...ordered.Member) Conversation {
	v := ordered.ObjectOf(request...)
	r, err := chat.ParseRequest(v)
	if err != nil {
		panic(fmt.Sprintf("standard: conversation %q: %v", name, err))
	}
	return Conversation{Name: name, Request: r, value: v}
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
