package chat

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
)

// requestFields are the fields of a request that have a place of their own in a [Request].
var requestFields = []string{"messages", "tools", "tool_choice", "parallel_tool_calls",
	"reasoning_format", "enable_thinking",
	"add_generation_prompt", "continue_final_message", "json_schema", "response_format",
	"chat_template_kwargs"}

// ParseRequest reads a request in OpenAI's shape. Fields: messages, tools, tool_choice ("auto",
// "required", "none" or a named function), parallel_tool_calls, reasoning_format ("auto" or
// "none"), enable_thinking, add_generation_prompt, continue_final_message (true, "content" or
// "reasoning_content"), json_schema or response_format, chat_template_kwargs. Other fields (model,
// temperature, ...) do not concern a template, and are kept in Rest.
func ParseRequest(v ordered.Value) (Request, error) {
	if v.Kind() != ordered.Object {
		return Request{}, fmt.Errorf("a request must be an object, found %s", v.Kind())
	}
	var r Request
	rest := lists.Filter(v.Members(), func(m ordered.Member) bool {
		return !slices.Contains(requestFields, m.Key)
	})
	if rest != nil {
		r.Rest = ordered.ObjectOf(rest...)
	}
	for _, read := range [...]func(*Request, ordered.Value) error{
		readMessages, readTools, readChoice, readFlags, readContinue, readSchema,
	} {
		if err := read(&r, v); err != nil {
			return Request{}, err
		}
	}
	return r, nil
}

func wrong(path, expected string, v ordered.Value) error {
	return fmt.Errorf("%s: expected %s, found %s", path, expected, ordered.Excerpt(v, 40))
}

func readMessages(r *Request, v ordered.Value) error {
	messages := v.At("messages")
	if messages.Kind() != ordered.Array {
		return wrong("messages", "an array", messages)
	}
	for i, m := range messages.Items() {
		path := fmt.Sprintf("messages[%d]", i)
		if m.Kind() != ordered.Object {
			return wrong(path, "an object", m)
		}
		if role := m.At("role"); role.Kind() != ordered.String {
			return wrong(path+".role", "a string", role)
		}
		if calls := m.At("tool_calls"); calls.Kind() != ordered.Array && !calls.IsNull() {
			return wrong(path+".tool_calls", "an array", calls)
		}
	}
	r.Messages = messages.Items()
	return nil
}

func readTools(r *Request, v ordered.Value) error {
	tools := v.At("tools")
	if tools.IsNull() {
		return nil
	}
	if tools.Kind() != ordered.Array {
		return wrong("tools", "an array", tools)
	}
	for i, t := range tools.Items() {
		tool, err := ParseTool(t)
		if err != nil {
			return fmt.Errorf("tools[%d]%w", i, err)
		}
		r.Tools = append(r.Tools, tool)
	}
	return nil
}

// ParseTool reads a tool: {"type": "function", "function": {"name", "description", "parameters"}}.
// The error starts with the path below the tool.
func ParseTool(v ordered.Value) (Tool, error) {
	f := v.At("function")
	if f.Kind() != ordered.Object {
		return Tool{}, wrong(".function", "an object", f)
	}
	name := f.At("name")
	if name.Kind() != ordered.String || name.Text() == "" {
		return Tool{}, wrong(".function.name", "a string that is not empty", name)
	}
	return Tool{Name: name.Text(), Description: f.At("description").Text(),
		Parameters: f.At("parameters"), Value: v}, nil
}

func readChoice(r *Request, v ordered.Value) (err error) {
	r.ToolChoice, err = parseChoice(v.At("tool_choice"))
	named := func(t Tool) bool { return t.Name == r.ToolChoice.Name }
	if err == nil && r.ToolChoice.Mode == ChoiceNamed && !slices.ContainsFunc(r.Tools, named) {
		return fmt.Errorf("tool_choice: no tool is named %q", r.ToolChoice.Name)
	}
	return err
}

func parseChoice(v ordered.Value) (ToolChoice, error) {
	if v.IsNull() {
		return ToolChoice{}, nil
	}
	if mode := slices.Index(choices[:], v.Text()); mode >= 0 && v.Kind() == ordered.String {
		return ToolChoice{Mode: ChoiceMode(mode)}, nil
	}
	if name := v.At("function", "name"); name.Kind() == ordered.String && name.Text() != "" {
		return ToolChoice{Mode: ChoiceNamed, Name: name.Text()}, nil
	}
	return ToolChoice{}, wrong("tool_choice", `"auto", "required", "none" or {"type": "function", "function": {"name": ...}}`, v)
}

func readFlags(r *Request, v ordered.Value) error {
	for _, flag := range []struct {
		name string
		set  func(bool)
	}{
		{"parallel_tool_calls", func(b bool) { r.OneCall = !b }},
		{"enable_thinking", func(b bool) { r.EnableThinking = &b }},
		{"add_generation_prompt", func(b bool) { r.NoGeneration = !b }},
	} {
		switch b := v.At(flag.name); b.Kind() {
		case ordered.Null:
		case ordered.Bool:
			flag.set(b.Bool())
		default:
			return wrong(flag.name, "true or false", b)
		}
	}
	switch f := v.At("reasoning_format"); {
	case f.IsNull(), f.Text() == "auto":
	case f.Text() == "none":
		r.ReasoningFormat = ReasoningKeep
	default:
		return wrong("reasoning_format", `"auto" or "none"`, f)
	}
	r.Kwargs = v.At("chat_template_kwargs")
	if k := r.Kwargs.Kind(); k != ordered.Object && k != ordered.Null {
		return wrong("chat_template_kwargs", "an object", r.Kwargs)
	}
	return nil
}

func readContinue(r *Request, v ordered.Value) error {
	c := v.At("continue_final_message")
	switch {
	case c.IsNull(), c.Kind() == ordered.Bool && !c.Bool():
		return nil
	case c.Text() == "content", c.Kind() == ordered.Bool:
		r.Continue = ContinueContent
	case c.Text() == "reasoning_content":
		r.Continue = ContinueReasoning
	default:
		return wrong("continue_final_message", `true, "content" or "reasoning_content"`, c)
	}
	if n := len(r.Messages); n == 0 || r.Messages[n-1].At("role").Text() != "assistant" {
		return fmt.Errorf("continue_final_message: the last message must be the assistant's")
	}
	if last := r.Messages[len(r.Messages)-1]; c.Kind() == ordered.Bool &&
		last.At("content").Text() == "" && last.At("reasoning_content").Text() != "" {
		r.Continue = ContinueReasoning
	}
	return nil
}

func readSchema(r *Request, v ordered.Value) error {
	if schema, ok := v.Get("json_schema"); ok && !schema.IsNull() {
		r.JSONSchema, r.HasJSONSchema = schema, true
		return nil
	}
	switch format := v.At("response_format"); format.At("type").Text() {
	case "", "text":
		if k := format.Kind(); k != ordered.Null && k != ordered.Object {
			return wrong("response_format", "an object", format)
		}
	case "json_object":
		r.JSONSchema, r.HasJSONSchema = ordered.Pairs("type", "object"), true
	case "json_schema":
		r.JSONSchema, r.HasJSONSchema = format.At("json_schema", "schema"), true
	default:
		return wrong("response_format.type", `"text", "json_object" or "json_schema"`, format.At("type"))
	}
	return nil
}

// ToolsValue returns the tools as a template sees them.
func (r Request) ToolsValue() ordered.Value { return ordered.ListOf(r.Tools, Tool.Wire) }
