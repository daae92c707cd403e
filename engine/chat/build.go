package chat

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/ordered"
)

// MessageOf builds a message in OpenAI's shape: its role, its content and, after these, its other
// fields.
func MessageOf(role string, content ordered.Value, more ...ordered.Member) ordered.Value {
	members := make([]ordered.Member, 0, 2+len(more))
	members = append(members, ordered.MemberOf("role", ordered.Str(role)),
		ordered.MemberOf("content", content))
	return ordered.ObjectOf(append(members, more...)...)
}

// TextPart builds a part of typed content with a text.
func TextPart(text ordered.Value) ordered.Value {
	return ordered.Pairs("type", "text", "text", text)
}

// ThinkingPart builds a part of typed content with reasoning.
func ThinkingPart(text ordered.Value) ordered.Value {
	return ordered.Pairs("type", "thinking", "thinking", text)
}

// CallOf builds a call of a message. Arguments are an object, or a string of JSON.
func CallOf(id, name string, arguments ordered.Value) ordered.Value {
	return ordered.Pairs("id", id, "type", "function",
		"function", ordered.Pairs("name", name, "arguments", arguments))
}

// WithCalls returns a message with each of its calls changed.
func WithCalls(m ordered.Value, change func(call ordered.Value) ordered.Value) ordered.Value {
	calls := slices.Clone(m.At("tool_calls").Items())
	if len(calls) == 0 {
		return m
	}
	for i, call := range calls {
		calls[i] = change(call)
	}
	return m.With("tool_calls", ordered.ArrayOf(calls...))
}

// WithArguments returns a message with the arguments of each of its calls changed, where it has
// any.
func WithArguments(m ordered.Value, change func(v ordered.Value) ordered.Value) ordered.Value {
	return WithCalls(m, func(call ordered.Value) ordered.Value {
		f := call.At("function")
		arguments, ok := f.Get("arguments")
		if !ok {
			return call
		}
		return call.With("function", f.With("arguments", change(arguments)))
	})
}

// ArgumentsAsText returns arguments as they go over the wire: an object as its JSON, others as they
// are.
func ArgumentsAsText(v ordered.Value) ordered.Value {
	if v.Kind() == ordered.Object {
		return ordered.Str(v.String())
	}
	return v
}

// ArgumentsAsObject returns the object that arguments are the JSON of, others as they are.
func ArgumentsAsObject(v ordered.Value) ordered.Value {
	if v.Kind() == ordered.String {
		if parsed, err := ordered.ParseString(v.Text()); err == nil &&
			parsed.Kind() == ordered.Object {
			return parsed
		}
	}
	return v
}

// ResultOf builds the message with the result of a call.
func ResultOf(id, name string, content ordered.Value) ordered.Value {
	return ordered.Pairs("role", "tool", "tool_call_id", id, "name", name, "content", content)
}

// ToolOf builds the declaration of a function. Parameters are a JSON Schema.
func ToolOf(name, description string, parameters ordered.Value) ordered.Value {
	return ordered.Pairs("type", "function", "function",
		ordered.Pairs("name", name, "description", description, "parameters", parameters))
}

// NamedID returns an id that holds the name and the number of a call, as models write it where
// nothing else has the name.
func NamedID(name string, index int) string { return fmt.Sprintf("functions.%s:%d", name, index) }

// User builds a user's message.
func User(text string) Value { return MessageOf("user", ordered.Str(text)) }

// System builds a system message.
func System(text string) Value { return MessageOf("system", ordered.Str(text)) }

// Result builds the message with the result of a call, of which the id may be empty.
func Result(id, name, text string) Value { return ResultOf(id, name, ordered.Str(text)) }
