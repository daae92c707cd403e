package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// chatCompletions is OpenAI's chat completions. Its JSON is package chat's; custom tools and the
// fields that are no business of a template are this package's.
type chatCompletions struct{}

func (chatCompletions) Name() string { return "chat completions" }
func (chatCompletions) Path() string { return "/v1/chat/completions" }

// completionDenials are fields of chat completions that are refused.
var completionDenials = []denial{
	{"n", []string{"1"}, oneAnswer},
	{"best_of", []string{"1"}, oneAnswer},
	{"logprobs", []string{"false"}, noLogs},
	{"top_logprobs", []string{"0"}, noLogs},
	{"store", []string{"false"}, stateless},
	{"audio", nil, textOnly},
	{"modalities", []string{`["text"]`}, textOnly},
	{"prediction", nil, "predicted outputs"},
	{"web_search_options", nil, noTools},
	{"functions", []string{"[]"}, "the field is OpenAI's former one; use tools"},
	{"function_call", nil, "the field is OpenAI's former one; use tool_choice"},
}

func (chatCompletions) Decode(body ordered.Value, _ *Sealer) (*Request, error) {
	f, err := fieldsOf(body, completionDenials)
	if err != nil {
		return nil, err
	}
	r := &Request{Model: body.At("model").Text(), Stream: f.boolean("stream", false),
		Stops: f.stops("stop", 4), Sampling: f.sampling(), Custom: map[string]bool{}}
	r.Usage = body.At("stream_options", "include_usage").Bool()
	if r.MaxTokens = f.count("max_completion_tokens"); r.MaxTokens == 0 {
		r.MaxTokens = f.count("max_tokens")
	}
	if choice := body.At("tool_choice"); choice.At("type").Text() == "allowed_tools" {
		body = f.allowed(body, choice.At("allowed_tools"), func(t ordered.Value) string {
			return t.At(t.At("type").Text(), "name").Text()
		})
	}
	body = f.completionTools(r, body)
	body = f.completionMessages(body)
	k := body.At("reasoning_effort")
	if k.Kind() != ordered.String && !k.IsNull() {
		f.refuse(expected("reasoning_effort", "a word", k))
	}
	return f.finish(r, paths{"messages", ".function", ".parameters",
		"response_format.json_schema.schema"}, body, k)
}

// allowed keeps the tools of a request that a choice of allowed tools names, and makes its mode the
// choice. name returns the name in a reference to a tool.
func (f *fields) allowed(body, choice ordered.Value,
	name func(ordered.Value) string) ordered.Value {
	mode := choice.At("mode")
	if mode.Text() != "auto" && mode.Text() != "required" {
		f.refuse(expected("tool_choice.mode", `"auto" or "required"`, mode))
		return body
	}
	var names []string
	for i, t := range choice.At("tools").Items() {
		if name(t) == "" {
			f.refuse(expected(fmt.Sprintf("tool_choice.tools[%d]", i), "a tool's name", t))
		}
		names = append(names, name(t))
	}
	var kept []ordered.Value
	for _, t := range body.At("tools").Items() {
		own := name(t)
		if i := slices.Index(names, own); i >= 0 {
			kept, names = append(kept, t), slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		f.refuse(invalid("tool_choice.tools", "no tool is named %q", names[0]))
	}
	return body.With("tools", ordered.ArrayOf(kept...)).With("tool_choice", mode)
}

// completionTools makes functions of custom tools, and names of choices of them.
func (f *fields) completionTools(r *Request, body ordered.Value) ordered.Value {
	tools := slices.Clone(body.At("tools").Items())
	for i, t := range tools {
		path := fmt.Sprintf("tools[%d]", i)
		switch kind := t.At("type"); kind.Text() {
		case "custom":
			tools[i] = f.customTool(r, t.At("custom"), path+".custom")
		case "function", "":
			if f := t.At("function"); !f.At("strict").IsNull() {
				tools[i] = t.With("function", r.demands(f))
			}
		default:
			f.refuse(unsupported(path+".type", fmt.Sprintf("a tool of the type %q", kind.Text())))
		}
	}
	if len(tools) > 0 {
		body = body.With("tools", ordered.ArrayOf(tools...))
	}
	if choice := body.At("tool_choice"); choice.At("type").Text() == "custom" {
		body = body.With("tool_choice", chat.ToolChoice{Mode: chat.ChoiceNamed,
			Name: choice.At("custom", "name").Text()}.Value())
	}
	return body
}

// roles are those of chat completions.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

// completionMessages checks roles and parts, and makes functions of calls of custom tools. All else
// stays as it came, since a template may read any field.
func (f *fields) completionMessages(body ordered.Value) ordered.Value {
	messages := slices.Clone(body.At("messages").Items())
	changed := false
	for i, m := range messages {
		path := fmt.Sprintf("messages[%d]", i)
		if role := m.At("role"); role.Kind() == ordered.String &&
			!slices.Contains(roles, role.Text()) {
			f.refuse(expected(path+".role", `"system", "developer", "user", "assistant" or "tool"`,
				role))
		}
		f.textParts(m.At("content"), path+".content", "text", "refusal", "thinking")
		if !m.At("audio").IsNull() {
			f.refuse(unsupported(path+".audio", textOnly))
		}
		calls := slices.Clone(m.At("tool_calls").Items())
		custom := false
		for j, c := range calls {
			if c.At("type").Text() != "custom" {
				continue
			}
			custom = true
			in := c.At("custom", "input")
			if in.Kind() != ordered.String {
				f.refuse(expected(fmt.Sprintf("%s.tool_calls[%d].custom.input", path, j), "a text",
					in))
			}
			calls[j] = chat.CallOf(c.At("id").Text(), c.At("custom", "name").Text(),
				ordered.Str(arguments(in.Text())))
		}
		if custom {
			messages[i], changed = m.With("tool_calls", ordered.ArrayOf(calls...)), true
		}
	}
	if changed {
		body = body.With("messages", ordered.ArrayOf(messages...))
	}
	return body
}

func (chatCompletions) Writer(a Envelope) Writer {
	w := &completionWriter{output: output{a: a}, envelope: chat.Envelope{ID: "chatcmpl-" + a.ID,
		Created: a.Created, Model: a.Model}}
	w.blocks = blocks{envelope: w.envelope, custom: a.Request.Custom, skip: a.Request.Prefix,
		begun: w.begun, grown: w.grown, ended: func(*block) {}}
	return w
}

// completionWriter writes chunks. The calls of an answer are numbered apart from its other parts.
type completionWriter struct {
	output
	envelope chat.Envelope
	calls    int

	// halves are a chunk before and after the text of reasoning and of content.
	halves [2][2]string
}

// chunk sends a chunk before the last one. Where the stream is to end with its usage, the others
// have none, and say so.
func (w *completionWriter) chunk(v ordered.Value) { w.value(w.counted(v)) }

func (w *completionWriter) counted(v ordered.Value) ordered.Value {
	if w.a.Request.Usage {
		return v.With("usage", ordered.Value{})
	}
	return v
}

func (w *completionWriter) value(v ordered.Value) {
	if w.a.Request.Stream {
		w.dst = event(w.dst, "", v)
	}
}

func (w *completionWriter) Begin(dst []byte, _ int) []byte {
	w.dst = dst
	w.chunk(w.envelope.Begin().Value())
	return w.dst
}

// begun sends the head of a call.
func (w *completionWriter) begun(b *block) {
	if b.kind != callBlock && b.kind != customBlock {
		return
	}
	w.calls++
	w.callChunk(b, chat.ToolCallDelta{Index: w.calls - 1, ID: b.id, Name: b.name})
}

func (w *completionWriter) grown(b *block, text string) {
	switch b.kind {
	case reasoningBlock:
		w.textChunk(0, text, chat.Delta{Reasoning: textMark})
	case textBlock:
		w.textChunk(1, text, chat.Delta{Content: textMark})
	default:
		w.callChunk(b, chat.ToolCallDelta{Index: w.calls - 1, Arguments: text})
	}
}

// textMark stands for the text of a chunk, in no name of an answer or a model.
const textMark = "\uE000\uE001\uE000"

// textChunk sends a chunk with a text. The chunks of an answer differ in nothing else, so that what
// surrounds it is written once; marked is the delta with the mark for its text.
func (w *completionWriter) textChunk(part int, text string, marked chat.Delta) {
	if !w.a.Request.Stream {
		return
	}
	h := &w.halves[part]
	if h[0] == "" {
		whole := string(event(nil, "", w.counted(w.envelope.Chunk(marked).Value())))
		h[0], h[1], _ = strings.Cut(whole, string(ordered.AppendQuoted(nil, textMark, false)))
	}
	w.dst = append(ordered.AppendQuoted(append(w.dst, h[0]...), text, false), h[1]...)
}

func (w *completionWriter) callChunk(b *block, c chat.ToolCallDelta) {
	chunk := w.envelope.Chunk(chat.Delta{ToolCalls: []chat.ToolCallDelta{c}}).Value()
	if b.kind == customBlock {
		chunk = withCustom(chunk, "delta")
	}
	w.chunk(chunk)
}

// withCustom spells the call of an object's one choice as one of a custom tool.
func withCustom(v ordered.Value, part string) ordered.Value {
	choice := v.At("choices").Items()[0]
	calls := slices.Clone(choice.At(part, "tool_calls").Items())
	for i, c := range calls {
		calls[i] = asCustom(c)
	}
	return v.With("choices", ordered.ArrayOf(
		choice.With(part, choice.At(part).With("tool_calls", ordered.ArrayOf(calls...)))))
}

// asCustom spells a call, or a delta of one, as one of a custom tool.
func asCustom(call ordered.Value) ordered.Value {
	custom := ordered.ObjectOf()
	if name := call.At("function", "name"); !name.IsNull() {
		call = call.With("type", ordered.Str("custom"))
		custom = custom.With("name", name)
	}
	return call.Without("function").
		With("custom", custom.With("input", call.At("function", "arguments")))
}

func (w *completionWriter) End(dst []byte, e End) []byte {
	w.dst = dst
	w.blocks.close()
	w.chunk(w.envelope.End(e.Finish).Value())
	if w.a.Request.Usage {
		last := w.envelope.End("")
		last.Usage = &e.Usage
		w.value(last.Value().With("choices", ordered.ArrayOf()))
	}
	if w.a.Request.Stream {
		w.dst = append(w.dst, "data: [DONE]\n\n"...)
	}
	return w.dst
}

func (w *completionWriter) KeepAlive(dst []byte) []byte { return comment(dst) }

func (w *completionWriter) Fail(dst []byte, r *Refusal) []byte {
	_, body := ChatCompletions.Refuse(r)
	w.dst = dst
	w.value(body)
	return w.dst
}

func (w *completionWriter) Whole(e End) ordered.Value {
	w.blocks.close()
	var m chat.Message
	var custom []int
	for _, b := range w.blocks.all {
		switch b.kind {
		case reasoningBlock:
			m.Reasoning += b.text.String()
		case textBlock:
			m.Content += b.text.String()
		default:
			if b.kind == customBlock {
				custom = append(custom, len(m.ToolCalls))
			}
			m.ToolCalls = append(m.ToolCalls,
				chat.ToolCall{ID: b.id, Name: b.name, Arguments: b.text.String()})
		}
	}
	c := w.envelope.Completion(m, e.Finish)
	c.Usage = &e.Usage
	v := c.Value()
	if custom == nil {
		return v
	}
	choice := v.At("choices").Items()[0]
	calls := slices.Clone(choice.At("message", "tool_calls").Items())
	for _, i := range custom {
		calls[i] = asCustom(calls[i])
	}
	return v.With("choices", ordered.ArrayOf(choice.With("message",
		choice.At("message").With("tool_calls", ordered.ArrayOf(calls...)))))
}

func (chatCompletions) Refuse(r *Refusal) (int, ordered.Value) { return openAIRefusal(r) }

// openAITypes are the types of OpenAI's errors.
var openAITypes = [...]string{Invalid: "invalid_request_error",
	Unauthorized: "invalid_request_error", Misdirected: "invalid_request_error",
	NotFound: "invalid_request_error", Method: "invalid_request_error",
	TooLarge: "invalid_request_error", Busy: "rate_limit_error",
	Unavailable: "server_error", Upstream: "server_error", Late: "server_error",
	Internal: "server_error"}

// openAICodes are the codes of errors that have none of their own.
var openAICodes = [...]string{Unauthorized: "invalid_api_key",
	Misdirected: "unknown_host", NotFound: "not_found", Method: "method_not_allowed",
	TooLarge: "request_too_large", Busy: "rate_limit_exceeded",
	Unavailable: "unavailable", Upstream: "upstream_error", Late: "timeout",
	Internal: "internal_error"}

// openAIRefusal is a refusal in both of OpenAI's protocols.
func openAIRefusal(r *Refusal) (int, ordered.Value) {
	return r.Status(), ordered.Pairs("error", ordered.Pairs("message", r.Error(),
		"type", openAITypes[r.Reason], "param", orNull(r.Param), "code", orNull(openAICode(r))))
}

func openAICode(r *Refusal) string {
	if r.Code != "" {
		return r.Code
	}
	return openAICodes[r.Reason]
}

// orNull returns a text, null where it is empty.
func orNull(s string) ordered.Value {
	if s == "" {
		return ordered.Value{}
	}
	return ordered.Str(s)
}

// Model returns a model as OpenAI's API lists it. Created is in seconds since 1970.
func Model(name string, created int64) ordered.Value {
	return ordered.Pairs("id", name, "object", "model", "created", created, "owned_by", "assay")
}
