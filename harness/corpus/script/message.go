package script

import (
	"fmt"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// readMessage reads a message as scripts write it: content, reasoning_content and tool_calls[]{id,
// name, arguments}, or the calls in OpenAI's nested form. Arguments are a string of JSON, or the
// JSON itself.
func readMessage(v ordered.Value) (chat.Message, error) {
	if v.Kind() != ordered.Object {
		return chat.Message{}, fmt.Errorf("a message must be an object, found %s", v.Kind())
	}
	var m chat.Message
	for _, member := range v.Members() {
		switch member.Key {
		case "role":
		case "content":
			m.Content = member.Value.Text()
		case "reasoning_content":
			m.Reasoning = member.Value.Text()
		case "tool_calls":
			for _, call := range member.Value.Items() {
				m.ToolCalls = append(m.ToolCalls, readCall(call))
			}
		default:
			return m, fmt.Errorf("a message has no field %q; there are content, "+
				"reasoning_content and tool_calls", member.Key)
		}
	}
	return m, nil
}

func readCall(v ordered.Value) chat.ToolCall {
	function := v
	if nested, ok := v.Get("function"); ok {
		function = nested
	}
	arguments := function.At("arguments")
	text := arguments.Text()
	if arguments.Kind() != ordered.String {
		text = arguments.String()
	}
	return chat.ToolCall{ID: v.At("id").Text(), Name: function.At("name").Text(), Arguments: text}
}

// SameText compares a field of a message as the command parse does: texts to the byte, arguments as
// JSON with its order and digits.
func SameText(field, want, got string) bool {
	return want == got || field == "arguments" && compact(want) == compact(got)
}

// SameValue compares a field as the command roundtrip does: arguments as JSON values, since a
// template writes 1.50 as 1.5, as Python does.
func SameValue(field, want, got string) bool {
	if want == got || field != "arguments" {
		return want == got
	}
	w, err1 := ordered.ParseString(want)
	g, err2 := ordered.ParseString(got)
	return err1 == nil && err2 == nil && ordered.Equal(w, g)
}

// sameMessage compares two messages field by field.
func sameMessage(want, got chat.Message, same func(field, want, got string) bool) bool {
	if want.Content != got.Content || want.Reasoning != got.Reasoning ||
		len(want.ToolCalls) != len(got.ToolCalls) {
		return false
	}
	for i, w := range want.ToolCalls {
		g := got.ToolCalls[i]
		if w.ID != g.ID || w.Name != g.Name || !same("arguments", w.Arguments, g.Arguments) {
			return false
		}
	}
	return true
}

// compact is a JSON text without optional white space; a text that is not JSON stays as it is.
func compact(text string) string {
	v, err := ordered.ParseString(text)
	if err != nil {
		return text
	}
	return string(v.Append(nil, ordered.Compact))
}

// FormatMessage returns a message as a script has it: indented JSON.
func FormatMessage(m chat.Message) string {
	v := ordered.ObjectOf()
	if m.Reasoning != "" {
		v = v.With("reasoning_content", ordered.Str(m.Reasoning))
	}
	v = v.With("content", ordered.Str(m.Content))
	if len(m.ToolCalls) > 0 {
		v = v.With("tool_calls", ordered.ListOf(m.ToolCalls, func(c chat.ToolCall) ordered.Value {
			call := ordered.Pairs("name", c.Name, "arguments", c.Arguments)
			if c.ID != "" {
				call = ordered.Pairs("id", c.ID, "name", c.Name, "arguments", c.Arguments)
			}
			return call
		}))
	}
	return string(v.Append(nil, ordered.Pretty))
}

func diffMessages(want, got chat.Message) string {
	return string(diff.Diff("want", []byte(FormatMessage(want)+"\n"), "got",
		[]byte(FormatMessage(got)+"\n")))
}
