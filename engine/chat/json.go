package chat

import "github.com/goassay/assay/engine/ordered"

// Value returns the message in OpenAI's shape. Reasoning is left out where there is none, content is null where there is
// none beside calls.
func (m Message) Value() ordered.Value {
	v := ordered.ObjectOf(ordered.MemberOf("role", ordered.Str("assistant")))
	if m.Reasoning != "" {
		v = v.With("reasoning_content", ordered.Str(m.Reasoning))
	}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		v = v.With("content", ordered.Str(m.Content))
	} else {
		v = v.With("content", ordered.Value{})
	}
	if len(m.ToolCalls) > 0 {
		calls := make([]ordered.Value, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = c.Value()
		}
		v = v.With("tool_calls", ordered.ArrayOf(calls...))
	}
	return v
}

// Value returns the call in OpenAI's shape, its arguments a string of JSON.
func (c ToolCall) Value() ordered.Value {
	v := ordered.ObjectOf()
	if c.ID != "" {
		v = v.With("id", ordered.Str(c.ID))
	}
	return v.With("type", ordered.Str("function")).With("function", ordered.ObjectOf(
		ordered.MemberOf("name", ordered.Str(c.Name)), ordered.MemberOf("arguments", ordered.Str(c.Arguments))))
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
	calls := make([]ordered.Value, len(d.ToolCalls))
	for i, c := range d.ToolCalls {
		call := ordered.ObjectOf(ordered.MemberOf("index", ordered.Int(c.Index)))
		if c.ID != "" {
			call = call.With("id", ordered.Str(c.ID))
		}
		function := ordered.ObjectOf()
		if c.Name != "" {
			call = call.With("type", ordered.Str("function"))
			function = function.With("name", ordered.Str(c.Name))
		}
		calls[i] = call.With("function", function.With("arguments", ordered.Str(c.Arguments)))
	}
	return v.With("tool_calls", ordered.ArrayOf(calls...))
}
