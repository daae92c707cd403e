package wire

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// ErrNoWords is wrapped by errors of [Protocol].Ask.
var ErrNoWords = errors.New("the protocol has no words for it")

// Result is the result of a call, as a client hands it back.
type Result struct {
	ID, Name string // of the call
	Text     string
	Custom   bool // the call is of a custom tool
	Error    bool // the tool failed
}

// asking spells a request of chat completions in another protocol's words.
type asking struct {
	from, to ordered.Value
	err      error
}

// ask begins a request with the members that all protocols share.
func ask(request ordered.Value, shared ...string) *asking {
	a := &asking{from: request, to: ordered.ObjectOf()}
	for _, key := range append([]string{"model", "temperature", "top_p"}, shared...) {
		if v := request.At(key); !v.IsNull() {
			a.set(key, v)
		}
	}
	return a
}

func (a *asking) set(key string, v ordered.Value) { a.to = a.to.With(key, v) }

// none notes that the protocol has no words for a part of the request.
func (a *asking) none(what string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s: %w", what, ErrNoWords)
	}
}

// most is the bound on an answer's tokens.
func (a *asking) most() ordered.Value {
	if v := a.from.At("max_completion_tokens"); !v.IsNull() {
		return v
	}
	return a.from.At("max_tokens")
}

// schema returns the object of a json_schema; null where the request has none.
func (a *asking) schema() ordered.Value {
	format := a.from.At("response_format")
	if kind := format.At("type").Text(); kind != "" && kind != "text" && kind != "json_schema" {
		a.none("response_format " + kind)
	}
	return format.At("json_schema")
}

// kwargs passes on the template's variables but those of some names.
func (a *asking) kwargs(but ...string) {
	kwargs := a.from.At("chat_template_kwargs")
	for _, key := range but {
		kwargs = kwargs.Without(key)
	}
	if len(kwargs.Members()) > 0 {
		a.set("chat_template_kwargs", kwargs)
	}
}

// partsOf returns the texts of a content.
func (a *asking) partsOf(content ordered.Value) []string {
	if content.Kind() != ordered.Array {
		return []string{content.Text()}
	}
	var texts []string
	for _, part := range content.Items() {
		if part.At("type").Text() != "text" {
			a.none("a part of the type " + part.At("type").Text())
		}
		texts = append(texts, part.At("text").Text())
	}
	return texts
}

// content spells a content with parts of a type; a string stays one.
func (a *asking) content(content ordered.Value, kind string) ordered.Value {
	if content.Kind() != ordered.Array {
		return ordered.Str(content.Text())
	}
	return ordered.ListOf(a.partsOf(content),
		func(s string) ordered.Value { return typed(kind, text("text", s)) })
}

// reasoningIn returns the reasoning of a message.
func reasoningIn(m ordered.Value) string {
	for _, key := range chat.ReasoningFields {
		if v := m.At(key); !v.IsNull() {
			return v.Text()
		}
	}
	return ""
}

func (chatCompletions) Ask(request ordered.Value) (ordered.Value, error) { return request, nil }

func (responses) Ask(request ordered.Value) (ordered.Value, error) {
	a := ask(request)
	a.set("input", a.input())
	a.responseTools()
	if schema := a.schema(); !schema.IsNull() {
		a.set("text", ordered.Pairs("format", typed("json_schema", schema.Members()...)))
	}
	if v := request.At("parallel_tool_calls"); !v.IsNull() {
		a.set("parallel_tool_calls", v)
	}
	if v := request.At("reasoning_effort"); !v.IsNull() {
		a.set("reasoning", ordered.Pairs("effort", v))
	}
	if request.At("continue_final_message").Bool() {
		a.none("continue_final_message")
	}
	if !request.At("stop").IsNull() {
		a.none("stop")
	}
	a.kwargs()
	if most := a.most(); !most.IsNull() {
		a.set("max_output_tokens", most)
	}
	a.set("store", ordered.Boolean(false))
	a.set("include", ordered.ArrayOf(ordered.Str(encryptedReasoning)))
	if request.At("stream").Bool() {
		a.set("stream", ordered.Boolean(true))
	}
	return a.to, a.err
}

// input makes items of messages. A system message at the beginning is the instructions.
func (a *asking) input() ordered.Value {
	var items []ordered.Value
	custom := map[string]bool{} // ids of calls of custom tools
	for i, m := range a.from.At("messages").Items() {
		content := m.At("content")
		switch role := m.At("role").Text(); {
		case role == "system" && i == 0 && content.Kind() == ordered.String:
			a.set("instructions", content)
		case role == "tool":
			kind := "function_call_output"
			id := m.At("tool_call_id").Text()
			if custom[id] {
				kind = "custom_tool_call_output"
			}
			items = append(items, typed(kind, text("call_id", id),
				ordered.MemberOf("output", a.content(content, "input_text"))))
		case role != "assistant":
			items = append(items, ordered.Pairs("role", role,
				"content", a.content(content, "input_text")))
		default:
			items = append(items, a.turnItems(m, i, custom)...)
		}
	}
	return ordered.ArrayOf(items...)
}

// turnItems makes items of a turn of the model.
func (a *asking) turnItems(m ordered.Value, number int, custom map[string]bool) []ordered.Value {
	var items []ordered.Value
	if reasoning := reasoningIn(m); reasoning != "" {
		items = append(items, typed("reasoning", text("id", "rs_"+strconv.Itoa(number)),
			ordered.MemberOf("summary", ordered.ArrayOf()), ordered.MemberOf("content", ordered.ArrayOf(
				typed("reasoning_text", text("text", reasoning))))))
	}
	calls := m.At("tool_calls").Items()
	if content := m.At("content"); !content.IsNull() && content.Text() != "" ||
		content.Kind() == ordered.Array || len(calls) == 0 {
		items = append(items, ordered.Pairs("role", "assistant",
			"content", a.content(content, "output_text")))
	}
	for _, c := range calls {
		if c.At("type").Text() == "custom" {
			custom[c.At("id").Text()] = true
			items = append(items, typed("custom_tool_call", ordered.MemberOf("call_id", c.At("id")),
				ordered.MemberOf("name", c.At("custom", "name")),
				ordered.MemberOf("input", c.At("custom", "input"))))
			continue
		}
		items = append(items, typed("function_call", ordered.MemberOf("call_id", c.At("id")),
			ordered.MemberOf("name", c.At("function", "name")),
			ordered.MemberOf("arguments", c.At("function", "arguments"))))
	}
	return items
}

// flatTool returns the members of a tool, or of a reference to one, beside its type.
func flatTool(v ordered.Value) ordered.Value {
	kind := v.At("type").Text()
	return ordered.ObjectOf(append([]ordered.Member{text("type", kind)},
		v.At(kind).Members()...)...)
}

func (a *asking) responseTools() {
	var tools []ordered.Value
	for _, t := range a.from.At("tools").Items() {
		flat := flatTool(t)
		if g := flat.At("format", "grammar"); !g.IsNull() {
			flat = flat.With("format", ordered.ObjectOf(append(
				[]ordered.Member{text("type", "grammar")}, g.Members()...)...))
		} else if flat.At("type").Text() == "function" && flat.At("strict").IsNull() {
			flat = flat.With("strict", ordered.Boolean(false)) // true where it is left out
		}
		tools = append(tools, flat)
	}
	if tools != nil {
		a.set("tools", ordered.ArrayOf(tools...))
	}
	switch choice := a.from.At("tool_choice"); choice.At("type").Text() {
	case "allowed_tools":
		allowed := choice.At("allowed_tools")
		a.set("tool_choice", typed("allowed_tools", ordered.MemberOf("mode", allowed.At("mode")),
			ordered.MemberOf("tools", ordered.ListOf(allowed.At("tools").Items(), flatTool))))
	case "":
		if !choice.IsNull() {
			a.set("tool_choice", choice)
		}
	default:
		a.set("tool_choice", flatTool(choice))
	}
}

func (messages) Ask(request ordered.Value) (ordered.Value, error) {
	a := ask(request, "top_k")
	most := a.most()
	if most.IsNull() {
		most = ordered.Int(4096) // the protocol demands one
	}
	a.set("max_tokens", most)
	a.turns()
	a.messageTools()
	config := ordered.ObjectOf()
	if schema := a.schema(); !schema.IsNull() {
		config = config.With("format",
			typed("json_schema", ordered.MemberOf("schema", schema.At("schema"))))
	}
	if v := request.At("reasoning_effort"); !v.IsNull() {
		config = config.With("effort", v)
	}
	if len(config.Members()) > 0 {
		a.set("output_config", config)
	}
	if on := request.At("chat_template_kwargs", "enable_thinking"); on.Kind() == ordered.Bool {
		thinking := typed("disabled")
		if on.Bool() {
			n, _ := strconv.Atoi(most.Text())
			thinking = typed("enabled",
				ordered.MemberOf("budget_tokens", ordered.Int(min(1024, n-1))))
		}
		a.set("thinking", thinking)
	}
	a.kwargs("enable_thinking")
	switch stop := request.At("stop"); stop.Kind() {
	case ordered.String:
		a.set("stop_sequences", ordered.ArrayOf(stop))
	case ordered.Array:
		a.set("stop_sequences", stop)
	}
	if request.At("stream").Bool() {
		a.set("stream", ordered.Boolean(true))
	}
	return a.to, a.err
}

// turns makes turns of messages. System messages at the beginning are apart; results of calls that
// follow each other are one turn of the user.
func (a *asking) turns() {
	var turns, system, results []ordered.Value
	flush := func() {
		if results != nil {
			turns = append(turns, chat.MessageOf("user", ordered.ArrayOf(results...)))
			results = nil
		}
	}
	for _, m := range a.from.At("messages").Items() {
		content, role := m.At("content"), m.At("role").Text()
		if role == "tool" {
			results = append(results, typed("tool_result",
				ordered.MemberOf("tool_use_id", m.At("tool_call_id")),
				ordered.MemberOf("content", a.content(content, "text"))))
			continue
		}
		flush()
		switch role {
		case "system", "developer":
			if turns == nil {
				for _, s := range a.partsOf(content) {
					system = append(system, typed("text", text("text", s)))
				}
				continue
			}
			turns = append(turns, chat.MessageOf("system", a.content(content, "text")))
		case "assistant":
			turns = append(turns, a.turnBlocks(m))
		default:
			turns = append(turns, chat.MessageOf(role, a.content(content, "text")))
		}
	}
	flush()
	if len(system) == 1 {
		a.set("system", system[0].At("text"))
	} else if system != nil {
		a.set("system", ordered.ArrayOf(system...))
	}
	a.set("messages", ordered.ArrayOf(turns...))
}

// turnBlocks makes blocks of a turn of the model.
func (a *asking) turnBlocks(m ordered.Value) ordered.Value {
	var blocks []ordered.Value
	if reasoningIn(m) != "" {
		a.none("reasoning without its signature")
	}
	for _, s := range a.partsOf(m.At("content")) {
		if s != "" {
			blocks = append(blocks, typed("text", text("text", s)))
		}
	}
	for _, c := range m.At("tool_calls").Items() {
		input, err := ordered.ParseString(c.At("function", "arguments").Text())
		if err != nil || input.Kind() != ordered.Object {
			a.none("a call without an object of arguments")
		}
		blocks = append(blocks, typed("tool_use", ordered.MemberOf("id", c.At("id")),
			ordered.MemberOf("name", c.At("function", "name")), ordered.MemberOf("input", input)))
	}
	return chat.MessageOf("assistant", ordered.ArrayOf(blocks...))
}

func (a *asking) messageTools() {
	var tools []ordered.Value
	for _, t := range a.from.At("tools").Items() {
		f := t.At("function")
		if f.IsNull() {
			a.none("a custom tool")
		}
		tool := ordered.Pairs("name", f.At("name"))
		if d := f.At("description"); !d.IsNull() {
			tool = tool.With("description", d)
		}
		schema := f.At("parameters")
		if schema.IsNull() {
			schema = typed("object")
		}
		tool = tool.With("input_schema", schema)
		if strict := f.At("strict"); !strict.IsNull() {
			tool = tool.With("strict", strict)
		}
		tools = append(tools, tool)
	}
	if tools == nil {
		return
	}
	a.set("tools", ordered.ArrayOf(tools...))
	choice := a.from.At("tool_choice")
	var to ordered.Value
	switch {
	case choice.Text() == "required":
		to = typed("any")
	case choice.Text() == "none":
		to = typed("none")
	case choice.IsNull(), choice.Text() == "auto":
		to = typed("auto")
	case choice.At("type").Text() == "function":
		to = typed("tool", ordered.MemberOf("name", choice.At("function", "name")))
	default:
		a.none("tool_choice " + choice.At("type").Text())
	}
	one := a.from.At("parallel_tool_calls")
	if one.Kind() == ordered.Bool && !one.Bool() && choice.Text() != "none" {
		to = to.With("disable_parallel_tool_use", ordered.Boolean(true))
	} else if choice.IsNull() {
		return
	}
	a.set("tool_choice", to)
}

// extended returns a request with more items in one of its arrays.
func extended(request ordered.Value, key string, more ...ordered.Value) ordered.Value {
	return request.With(key,
		ordered.ArrayOf(append(slices.Clone(request.At(key).Items()), more...)...))
}

// errorText is the text of a result in protocols that cannot mark it as an error.
func (r Result) errorText() string {
	if r.Error {
		return failedMark + r.Text
	}
	return r.Text
}

func (chatCompletions) Follow(request ordered.Value, a *Answer, results []Result) ordered.Value {
	more := slices.Clone(a.Turn)
	for _, r := range results {
		more = append(more, chat.Result(r.ID, r.Name, r.errorText()))
	}
	return extended(request, "messages", more...)
}

func (responses) Follow(request ordered.Value, a *Answer, results []Result) ordered.Value {
	if input := request.At("input"); input.Kind() == ordered.String {
		request = request.With("input", ordered.ArrayOf(chat.MessageOf("user", input)))
	}
	more := slices.Clone(a.Turn)
	for _, r := range results {
		kind := "function_call_output"
		if r.Custom {
			kind = "custom_tool_call_output"
		}
		more = append(more, typed(kind, text("call_id", r.ID), text("output", r.errorText())))
	}
	return extended(request, "input", more...)
}

func (messages) Follow(request ordered.Value, a *Answer, results []Result) ordered.Value {
	more := slices.Clone(a.Turn)
	var blocks []ordered.Value
	for _, r := range results {
		block := typed("tool_result", text("tool_use_id", r.ID), text("content", r.Text))
		if r.Error {
			block = block.With("is_error", ordered.Boolean(true))
		}
		blocks = append(blocks, block)
	}
	if blocks != nil {
		more = append(more, chat.MessageOf("user", ordered.ArrayOf(blocks...)))
	}
	return extended(request, "messages", more...)
}
