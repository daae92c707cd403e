package chat

import (
	"fmt"
	"strconv"

	"github.com/goassay/assay/engine/ordered"
)

// The rest of this file is the wire: the JSON of OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat), with reasoning_content for reasoning, as
// servers have agreed on. Reading is lenient where servers differ: fields that are not known are
// skipped, null is absent, reasoning may come under any of [ReasoningFields], content in typed
// parts, arguments as an object.

// Value returns the message in OpenAI's shape. Reasoning is left out where there is none, content
// is null where there is none beside calls.
func (m Message) Value() ordered.Value {
	members := []ordered.Member{ordered.MemberOf("role", ordered.Str("assistant"))}
	if m.Reasoning != "" {
		members = append(members, ordered.MemberOf("reasoning_content", ordered.Str(m.Reasoning)))
	}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		members = append(members, ordered.MemberOf("content", ordered.Str(m.Content)))
	} else {
		members = append(members, ordered.MemberOf("content", ordered.Value{}))
	}
	if len(m.ToolCalls) > 0 {
		members = append(members, ordered.MemberOf("tool_calls",
			ordered.ListOf(m.ToolCalls, ToolCall.Value)))
	}
	return ordered.ObjectOf(members...)
}

// ParseMessage reads a message of an assistant in OpenAI's shape.
func ParseMessage(v ordered.Value) (Message, error) {
	var m Message
	if v.Kind() != ordered.Object {
		return m, fmt.Errorf("a message must be an object, found %s", v.Kind())
	}
	if role := v.At("role"); !role.IsNull() && role.Text() != "assistant" {
		return m, wrong("role", `"assistant"`, role)
	}
	err := parseParts(v, &m.Reasoning, &m.Content, &m.ToolCalls, ParseToolCall)
	return m, err
}

// parseParts reads the parts of a message or of a delta, up to the first that is wrong.
func parseParts[T any](v ordered.Value, reasoning, content *string, calls *[]T,
	parse func(ordered.Value) (T, error)) (err error) {
	if *reasoning, err = reasoningOf(v); err != nil {
		return err
	}
	if *content, err = contentOf(v.At("content")); err != nil {
		return err
	}
	items, err := itemsOf(v, "tool_calls")
	for i, c := range items {
		call, err := parse(c)
		if err != nil {
			return fmt.Errorf("tool_calls[%d]%w", i, err)
		}
		*calls = append(*calls, call)
	}
	return err
}

// reasoningOf returns the reasoning of a message or delta, under the first name that has any.
func reasoningOf(v ordered.Value) (string, error) {
	for _, name := range ReasoningFields {
		switch r := v.At(name); r.Kind() {
		case ordered.String:
			return r.Text(), nil
		case ordered.Null:
		default:
			return "", wrong(name, "a string", r)
		}
	}
	return "", nil
}

// contentOf returns content as a string: the texts of its parts, put together, where it has parts.
func contentOf(v ordered.Value) (string, error) {
	switch v.Kind() {
	case ordered.String:
		return v.Text(), nil
	case ordered.Null:
		return "", nil
	case ordered.Array:
		text := ""
		for i, part := range v.Items() {
			t := part.At("text")
			if t.Kind() != ordered.String {
				return "", wrong(fmt.Sprintf("content[%d]", i), "a part with a text", part)
			}
			text += t.Text()
		}
		return text, nil
	}
	return "", wrong("content", "a string, a list of parts or null", v)
}

// itemsOf returns a field's array; none where it is null.
func itemsOf(v ordered.Value, name string) ([]ordered.Value, error) {
	list := v.At(name)
	if k := list.Kind(); k != ordered.Array && k != ordered.Null {
		return nil, wrong(name, "an array", list)
	}
	return list.Items(), nil
}

// Value returns the call in OpenAI's shape, its arguments a string of JSON.
func (c ToolCall) Value() ordered.Value {
	v := ordered.ObjectOf()
	if c.ID != "" {
		v = v.With("id", ordered.Str(c.ID))
	}
	return v.With("type", ordered.Str("function")).With("function", ordered.Pairs("name", c.Name,
		"arguments", c.Arguments))
}

// ParseToolCall reads a call in OpenAI's shape. The error starts with the path below the call.
func ParseToolCall(v ordered.Value) (ToolCall, error) {
	f := v.At("function")
	if f.Kind() != ordered.Object {
		return ToolCall{}, wrong(".function", "an object", f)
	}
	if name := f.At("name"); name.Kind() != ordered.String {
		return ToolCall{}, wrong(".function.name", "a string", name)
	}
	id, args, err := idAndArguments(v)
	return ToolCall{ID: id, Name: f.At("name").Text(), Arguments: args, Complete: true}, err
}

// idAndArguments reads the members that a call and an increment of one share.
func idAndArguments(v ordered.Value) (id, args string, err error) {
	switch i := v.At("id"); i.Kind() {
	case ordered.String, ordered.Null:
		id = i.Text()
	default:
		return "", "", wrong(".id", "a string", i)
	}
	switch a := v.At("function", "arguments"); a.Kind() {
	case ordered.String, ordered.Null:
		args = a.Text()
	case ordered.Object:
		args = a.String()
	default:
		return "", "", wrong(".function.arguments", "a string of JSON", a)
	}
	return id, args, nil
}

// Value returns the delta in OpenAI's shape.
func (d Delta) Value() ordered.Value {
	v := ordered.ObjectOf()
	if d.Reasoning != "" {
		v = v.With("reasoning_content", ordered.Str(d.Reasoning))
	}
	if d.Content != "" {
		v = v.With("content", ordered.Str(d.Content))
	}
	if len(d.ToolCalls) == 0 {
		return v
	}
	return v.With("tool_calls", ordered.ListOf(d.ToolCalls, ToolCallDelta.Value))
}

// ParseDelta reads a delta in OpenAI's shape.
func ParseDelta(v ordered.Value) (Delta, error) {
	var d Delta
	if v.Kind() != ordered.Object {
		return d, fmt.Errorf("a delta must be an object, found %s", v.Kind())
	}
	err := parseParts(v, &d.Reasoning, &d.Content, &d.ToolCalls, ParseToolCallDelta)
	return d, err
}

// Value returns the increment of a call in OpenAI's shape.
func (c ToolCallDelta) Value() ordered.Value {
	call := ordered.Pairs("index", c.Index)
	if c.ID != "" {
		call = call.With("id", ordered.Str(c.ID))
	}
	function := ordered.ObjectOf()
	if c.Name != "" {
		call = call.With("type", ordered.Str("function"))
		function = function.With("name", ordered.Str(c.Name))
	}
	return call.With("function", function.With("arguments", ordered.Str(c.Arguments)))
}

// ParseToolCallDelta reads an increment of a call in OpenAI's shape. The error starts with the path
// below the increment.
func ParseToolCallDelta(v ordered.Value) (ToolCallDelta, error) {
	index, err := strconv.Atoi(v.At("index").Text())
	if err != nil || v.At("index").Kind() != ordered.Number || index < 0 {
		return ToolCallDelta{}, wrong(".index", "a whole number from 0", v.At("index"))
	}
	name := v.At("function", "name")
	if k := name.Kind(); k != ordered.String && k != ordered.Null {
		return ToolCallDelta{}, wrong(".function.name", "a string", name)
	}
	id, args, err := idAndArguments(v)
	return ToolCallDelta{Index: index, ID: id, Name: name.Text(), Arguments: args}, err
}

// Wire returns the tool in OpenAI's shape: Value, or, where that is null, one that is built of the
// other fields.
func (t Tool) Wire() ordered.Value {
	if !t.Value.IsNull() {
		return t.Value
	}
	f := ordered.Pairs("name", t.Name)
	if t.Description != "" {
		f = f.With("description", ordered.Str(t.Description))
	}
	if !t.Parameters.IsNull() {
		f = f.With("parameters", t.Parameters)
	}
	return ordered.Pairs("type", "function", "function", f)
}

// choices are the words for the modes of tool choice.
var choices = [...]string{ChoiceAuto: "auto", ChoiceRequired: "required", ChoiceNone: "none"}

// Value returns the choice in OpenAI's shape: a word, or the function that must be called.
func (c ToolChoice) Value() ordered.Value {
	if c.Mode != ChoiceNamed {
		return ordered.Str(choices[c.Mode])
	}
	return ordered.Pairs("type", "function", "function", ordered.Pairs("name", c.Name))
}

// Value returns the request in OpenAI's shape, as [ParseRequest] reads it. Fields that have their
// default are left out.
func (r Request) Value() ordered.Value {
	members := []ordered.Member{ordered.MemberOf("messages", ordered.ArrayOf(r.Messages...))}
	set := func(key string, v ordered.Value) { members = append(members, ordered.MemberOf(key, v)) }
	if len(r.Tools) > 0 {
		set("tools", r.ToolsValue())
	}
	if r.ToolChoice.Mode != ChoiceAuto {
		set("tool_choice", r.ToolChoice.Value())
	}
	if r.OneCall {
		set("parallel_tool_calls", ordered.Boolean(false))
	}
	if r.ReasoningFormat == ReasoningKeep {
		set("reasoning_format", ordered.Str("none"))
	}
	if r.EnableThinking != nil {
		set("enable_thinking", ordered.Boolean(*r.EnableThinking))
	}
	if r.NoGeneration {
		set("add_generation_prompt", ordered.Boolean(false))
	}
	switch r.Continue {
	case ContinueContent:
		set("continue_final_message", ordered.Str("content"))
	case ContinueReasoning:
		set("continue_final_message", ordered.Str("reasoning_content"))
	}
	if r.HasJSONSchema {
		set("response_format", ordered.Pairs("type", "json_schema",
			"json_schema", ordered.Pairs("name", "answer", "schema", r.JSONSchema)))
	}
	if !r.Kwargs.IsNull() {
		set("chat_template_kwargs", r.Kwargs)
	}
	return ordered.ObjectOf(append(members, r.Rest.Members()...)...)
}

// The methods of encoding/json. A text that is no JSON of the type gives an error that names the
// field.

func (m Message) MarshalJSON() ([]byte, error)       { return m.Value().MarshalJSON() }
func (c ToolCall) MarshalJSON() ([]byte, error)      { return c.Value().MarshalJSON() }
func (d Delta) MarshalJSON() ([]byte, error)         { return d.Value().MarshalJSON() }
func (c ToolCallDelta) MarshalJSON() ([]byte, error) { return c.Value().MarshalJSON() }
func (t Tool) MarshalJSON() ([]byte, error)          { return t.Wire().MarshalJSON() }
func (c ToolChoice) MarshalJSON() ([]byte, error)    { return c.Value().MarshalJSON() }
func (r Request) MarshalJSON() ([]byte, error)       { return r.Value().MarshalJSON() }

func (m *Message) UnmarshalJSON(text []byte) error  { return unmarshal(text, m, ParseMessage) }
func (c *ToolCall) UnmarshalJSON(text []byte) error { return unmarshal(text, c, ParseToolCall) }
func (d *Delta) UnmarshalJSON(text []byte) error    { return unmarshal(text, d, ParseDelta) }
func (c *ToolCallDelta) UnmarshalJSON(text []byte) error {
	return unmarshal(text, c, ParseToolCallDelta)
}
func (t *Tool) UnmarshalJSON(text []byte) error       { return unmarshal(text, t, ParseTool) }
func (c *ToolChoice) UnmarshalJSON(text []byte) error { return unmarshal(text, c, parseChoice) }
func (r *Request) UnmarshalJSON(text []byte) error    { return unmarshal(text, r, ParseRequest) }

// unmarshal reads a value from JSON text. null leaves it as it is, as encoding/json wants it.
func unmarshal[T any](text []byte, into *T, parse func(ordered.Value) (T, error)) error {
	v, err := ordered.Parse(text)
	if err != nil || v.IsNull() {
		return err
	}
	parsed, err := parse(v)
	if err == nil {
		*into = parsed
	}
	return err
}
