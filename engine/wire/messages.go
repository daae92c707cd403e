package wire

import (
	"fmt"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// messages is Anthropic's Messages.
type messages struct{}

func (messages) Name() string { return "messages" }
func (messages) Path() string { return "/v1/messages" }

// CountPath is where a server counts the tokens of a request of the Messages.
const CountPath = "/v1/messages/count_tokens"

// messageDenials are fields of the Messages that are refused.
var messageDenials = []denial{
	{"container", nil, stateless},
	{"mcp_servers", []string{"[]"}, noTools},
	{"n", []string{"1"}, oneAnswer},
	{"logprobs", []string{"false"}, noLogs},
	{"store", []string{"false"}, stateless},
	{"previous_response_id", nil, stateless},
}

func (messages) Decode(body ordered.Value, s *Sealer) (*Request, error) {
	r, err := decodeMessages(body, s)
	if err == nil && r.MaxTokens == 0 {
		return nil, expected("max_tokens", "a whole number of at least 1", body.At("max_tokens"))
	}
	return r, err
}

// DecodeCount reads a request to count tokens, which is one of the Messages without max_tokens.
func DecodeCount(body ordered.Value, s *Sealer) (*Request, error) { return decodeMessages(body, s) }

func decodeMessages(body ordered.Value, s *Sealer) (*Request, error) {
	f, err := fieldsOf(body, messageDenials)
	if err != nil {
		return nil, err
	}
	r := &Request{Model: body.At("model").Text(), Stream: f.boolean("stream", false), Usage: true,
		MaxTokens: f.count("max_tokens"), Stops: f.stops("stop_sequences", 0),
		Sampling: f.sampling(), Sealed: true}
	if f.v.At("stop_sequences").Kind() == ordered.String {
		f.refuse(expected("stop_sequences", "a list of texts", f.v.At("stop_sequences")))
	}
	in := &turnReader{f: f, s: s}
	request := ordered.Pairs("messages", in.read(body))
	if in.continued {
		request = request.With("continue_final_message", ordered.Boolean(true))
	}
	request = f.messageTools(r, body, request)
	request = f.messageThinking(r, body, request)
	return f.finish(r, paths{"messages", "", ".input_schema", "output_config.format.schema"},
		kwargs(body, request), body.At("output_config", "effort"))
}

// messageTools reads the tools and the choice of one.
func (f *fields) messageTools(r *Request, body, request ordered.Value) ordered.Value {
	var tools []ordered.Value
	for i, t := range f.toolsOf(body) {
		path := fmt.Sprintf("tools[%d]", i)
		if kind := t.At("type"); kind.Text() != "" && kind.Text() != "custom" {
			f.refuse(unsupported(path+".type", noTools))
		}
		name, schema := t.At("name"), t.At("input_schema")
		if name.Kind() != ordered.String || name.Text() == "" {
			f.refuse(expected(path+".name", "a name", name))
		}
		if schema.Kind() != ordered.Object {
			f.refuse(expected(path+".input_schema", "an object", schema))
		}
		t = r.demands(t)
		tools = append(tools, chat.Tool{Name: name.Text(), Description: t.At("description").Text(),
			Parameters: schema}.Wire())
	}
	if tools != nil {
		request = request.With("tools", ordered.ArrayOf(tools...))
	}
	choice := body.At("tool_choice")
	var c chat.ToolChoice
	switch choice.At("type").Text() {
	case "auto":
	case "any":
		c.Mode = chat.ChoiceRequired
	case "none":
		c.Mode = chat.ChoiceNone
	case "tool":
		c = chat.ToolChoice{Mode: chat.ChoiceNamed, Name: choice.At("name").Text()}
		if c.Name == "" {
			f.refuse(expected("tool_choice.name", "a tool's name", choice.At("name")))
		}
	default:
		if !choice.IsNull() {
			f.refuse(expected("tool_choice.type", `"auto", "any", "tool" or "none"`,
				choice.At("type")))
		}
	}
	if !choice.IsNull() {
		request = request.With("tool_choice", c.Value())
	}
	if choice.At("disable_parallel_tool_use").Bool() {
		request = request.With("parallel_tool_calls", ordered.Boolean(false))
	}
	return request
}

// messageThinking reads whether the model is to think, and the format of its answer.
func (f *fields) messageThinking(r *Request, body, request ordered.Value) ordered.Value {
	thinking := body.At("thinking")
	switch kind := thinking.At("type"); kind.Text() {
	case "enabled", "adaptive":
		request = request.With("enable_thinking", ordered.Boolean(true))
	case "disabled":
		request = request.With("enable_thinking", ordered.Boolean(false))
	default:
		if !thinking.IsNull() {
			f.refuse(expected("thinking.type", `"enabled", "adaptive" or "disabled"`, kind))
		}
	}
	r.Omitted = thinking.At("display").Text() == "omitted"
	format := body.At("output_config", "format")
	if format.IsNull() {
		format = body.At("output_format") // the field's former name
	}
	switch kind := format.At("type"); {
	case format.IsNull():
	case kind.Text() == "json_schema":
		request = request.With("json_schema", format.At("schema"))
	default:
		f.refuse(expected("output_config.format.type", `"json_schema"`, kind))
	}
	return request
}

// turnReader makes messages of turns, whose content is blocks.
type turnReader struct {
	f         *fields
	s         *Sealer
	messages  []ordered.Value
	continued bool // the answer goes on with the last turn
}

func (in *turnReader) read(body ordered.Value) []ordered.Value {
	if system := in.f.textParts(body.At("system"), "system", "text"); !system.IsNull() {
		in.messages = append(in.messages, chat.MessageOf("system", system))
	}
	turns := body.At("messages")
	if turns.Kind() != ordered.Array || len(turns.Items()) == 0 {
		in.f.refuse(expected("messages", "an array that is not empty", turns))
	}
	for i, m := range turns.Items() {
		path := fmt.Sprintf("messages[%d]", i)
		content := m.At("content")
		switch content.Kind() {
		case ordered.String:
			content = ordered.ArrayOf(typed("text", ordered.MemberOf("text", content)))
		case ordered.Array:
		default:
			in.f.refuse(expected(path+".content", "a text or a list of blocks", content))
		}
		switch role := m.At("role"); role.Text() {
		case "user":
			in.user(content, path+".content")
		case "assistant":
			in.assistant(content, path+".content")
		case "system": // within a conversation
			in.messages = append(in.messages, chat.MessageOf("system",
				in.f.textParts(content, path+".content", "text")))
		default:
			in.f.refuse(expected(path+".role", `"user" or "assistant"`, role))
		}
	}
	if n := len(in.messages); n > 0 && in.messages[n-1].At("role").Text() == "assistant" {
		if !in.messages[n-1].At("tool_calls").IsNull() {
			in.f.refuse(invalid("messages", "the results of the last turn's calls are missing"))
		}
		in.continued = true
	}
	return in.messages
}

// block returns the type of a block.
func (in *turnReader) block(b ordered.Value, path string) string {
	kind := b.At("type")
	if b.Kind() != ordered.Object || kind.Kind() != ordered.String {
		in.f.refuse(expected(path, "a block with a type", b))
	}
	return kind.Text()
}

// user reads a user's turn: results of calls, and the user's text.
func (in *turnReader) user(content ordered.Value, path string) {
	var parts []ordered.Value
	said := func() {
		switch {
		case len(parts) == 1:
			in.messages = append(in.messages, chat.MessageOf("user", parts[0].At("text")))
		case len(parts) > 1:
			in.messages = append(in.messages, chat.MessageOf("user", ordered.ArrayOf(parts...)))
		}
		parts = nil
	}
	for i, b := range content.Items() {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch kind := in.block(b, at); kind {
		case "text":
			parts = append(parts, chat.TextPart(ordered.Str(in.f.textAt(b, at, "text"))))
		case "tool_result":
			said()
			result := in.f.textParts(b.At("content"), at+".content", "text")
			if result.IsNull() {
				result = ordered.Str("")
			}
			if b.At("is_error").Bool() {
				result = failed(result)
			}
			in.messages = append(in.messages, ordered.Pairs("role", "tool",
				"tool_call_id", in.f.textAt(b, at, "tool_use_id"), "content", result))
		default:
			in.f.refuse(unsupported(at+".type",
				fmt.Sprintf("a block of the type %q; %s", kind, textOnly)))
		}
	}
	if len(content.Items()) == 0 {
		in.messages = append(in.messages, chat.MessageOf("user", ordered.Str("")))
	}
	said()
}

// failedMark begins the result of a call that failed, where a protocol has no field for that.
const failedMark = "Error: "

// failed marks the result of a call as an error, for which chat completions have no field.
func failed(result ordered.Value) ordered.Value {
	if result.Kind() != ordered.Array {
		return ordered.Str(failedMark + result.Text())
	}
	return ordered.ArrayOf(append([]ordered.Value{chat.TextPart(ordered.Str(failedMark))},
		result.Items()...)...)
}

// assistant reads a turn of the model.
func (in *turnReader) assistant(content ordered.Value, path string) {
	var reasoning, said string
	var calls []ordered.Value
	spoken := false
	for i, b := range content.Items() {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch kind := in.block(b, at); kind {
		case "text":
			said += in.f.textAt(b, at, "text")
			spoken = true
		case "thinking":
			reasoning += in.opened(in.f.textAt(b, at, "signature"), at+".signature",
				in.f.textAt(b, at, "thinking"))
		case "redacted_thinking":
			reasoning += in.opened(in.f.textAt(b, at, "data"), at+".data", "")
		case "tool_use":
			input := b.At("input")
			if input.Kind() != ordered.Object {
				in.f.refuse(expected(at+".input", "an object", input))
			}
			calls = append(calls, chat.CallOf(in.f.textAt(b, at, "id"), in.f.textAt(b, at, "name"),
				ordered.Str(input.String())))
		default:
			in.f.refuse(unsupported(at+".type",
				fmt.Sprintf("a block of the type %q; %s", kind, textOnly)))
		}
	}
	in.messages = append(in.messages, assistant(reasoning, said, spoken, calls))
}

// opened returns the reasoning that a signature seals. The text beside it is the same, or empty
// where it was omitted.
func (in *turnReader) opened(signature, path, shown string) string {
	if in.s == nil {
		in.f.refuse(unsupported(path, "this server has no key to open it with"))
		return ""
	}
	reasoning, err := in.s.Open(signature)
	if err == nil && shown != "" && shown != reasoning {
		err = errSeal
	}
	if err != nil {
		in.f.refuse(invalid(path, "invalid signature: %v", err))
	}
	return reasoning
}

func (messages) Writer(a Envelope) Writer {
	w := &messageWriter{output: output{a: a}}
	w.blocks = newBlocks(a, w.begun, w.grown, w.ended)
	return w
}

// messageWriter writes the events of a message. Blocks are numbered from 0, and each ends before
// the next begins.
type messageWriter struct {
	output
}

func (w *messageWriter) send(kind string, more ...ordered.Member) {
	if w.a.Request.Stream {
		w.dst = event(w.dst, kind, typed(kind, more...))
	}
}

func (w *messageWriter) Begin(dst []byte, promptTokens int) []byte {
	w.dst = dst
	w.send("message_start", ordered.MemberOf("message", w.message(ordered.ArrayOf(),
		ordered.Value{}, ordered.Value{}, chat.Usage{Prompt: promptTokens})))
	return w.dst
}

func index(b *block) ordered.Member { return ordered.MemberOf("index", ordered.Int(b.index)) }

func (w *messageWriter) begun(b *block) {
	var v ordered.Value
	switch b.kind {
	case reasoningBlock:
		v = typed("thinking", text("thinking", ""), text("signature", ""))
	case textBlock:
		v = typed("text", text("text", ""))
	default:
		v = typed("tool_use", text("id", b.id), text("name", b.name),
			ordered.MemberOf("input", ordered.ObjectOf()))
	}
	w.send("content_block_start", index(b), ordered.MemberOf("content_block", v))
}

func (w *messageWriter) delta(b *block, kind, key, more string) {
	w.send("content_block_delta", index(b), ordered.MemberOf("delta", typed(kind, text(key, more))))
}

func (w *messageWriter) grown(b *block, more string) {
	switch {
	case b.kind == textBlock:
		w.delta(b, "text_delta", "text", more)
	case b.kind != reasoningBlock:
		w.delta(b, "input_json_delta", "partial_json", more)
	case !w.a.Request.Omitted:
		w.delta(b, "thinking_delta", "thinking", more)
	}
}

func (w *messageWriter) ended(b *block) {
	if b.kind == reasoningBlock {
		w.delta(b, "signature_delta", "signature", w.a.Sealer.sealed(b.text.String()))
	}
	w.send("content_block_stop", index(b))
}

// stopReason returns the protocol's word for how an answer ended.
func stopReason(e End) string {
	switch {
	case e.Stop != "":
		return "stop_sequence"
	case e.Finish == chat.FinishToolCalls:
		return "tool_use"
	case e.Finish == chat.FinishContentFilter:
		return "refusal"
	case e.Finish.Cut():
		return "max_tokens"
	}
	return "end_turn"
}

func usage(u chat.Usage) ordered.Member {
	return ordered.MemberOf("usage", ordered.Pairs("input_tokens", u.Prompt,
		"cache_creation_input_tokens", 0, "cache_read_input_tokens", 0,
		"output_tokens", u.Completion))
}

func (w *messageWriter) End(dst []byte, e End) []byte {
	w.dst = dst
	w.blocks.close()
	delta := ordered.Pairs("stop_reason", stopReason(e), "stop_sequence", orNull(e.Stop))
	w.send("message_delta", ordered.MemberOf("delta", delta), usage(e.Usage))
	w.send("message_stop")
	return w.dst
}

// KeepAlive sends the protocol's own event for it, which may come anywhere.
func (w *messageWriter) KeepAlive(dst []byte) []byte {
	return event(dst, "ping", typed("ping"))
}

func (w *messageWriter) Fail(dst []byte, r *Refusal) []byte {
	_, body := Messages.Refuse(r)
	w.dst = dst
	w.send("error", body.Members()[1:]...)
	return w.dst
}

// unfinishedKey is where an input has arguments that are no object, since they were cut off: an
// input is an object in any case. A reader takes the text out of it again, as a stream has it.
const unfinishedKey = "INVALID_JSON"

func (w *messageWriter) Whole(e End) ordered.Value {
	w.blocks.close()
	content := make([]ordered.Value, len(w.blocks.all))
	for i, b := range w.blocks.all {
		whole := b.text.String()
		switch b.kind {
		case reasoningBlock:
			shown := whole
			if w.a.Request.Omitted {
				shown = ""
			}
			content[i] = typed("thinking", text("thinking", shown),
				text("signature", w.a.Sealer.sealed(whole)))
		case textBlock:
			content[i] = typed("text", text("text", whole))
		default:
			input, err := ordered.ParseString(whole)
			if err != nil || input.Kind() != ordered.Object {
				input = ordered.Pairs(unfinishedKey, whole)
			}
			content[i] = typed("tool_use", text("id", b.id), text("name", b.name),
				ordered.MemberOf("input", input))
		}
	}
	return w.message(ordered.ArrayOf(content...), ordered.Str(stopReason(e)), orNull(e.Stop),
		e.Usage)
}

func (w *messageWriter) message(content, reason, stop ordered.Value, u chat.Usage) ordered.Value {
	return typed("message", text("id", "msg_"+w.a.ID), text("role", "assistant"),
		text("model", w.a.Model), ordered.MemberOf("content", content),
		ordered.MemberOf("stop_reason", reason),
		ordered.MemberOf("stop_sequence", stop), usage(u))
}

// messageTypes are the types of the errors of the Messages.
var messageTypes = [...]string{Invalid: "invalid_request_error",
	Unauthorized: "authentication_error", Misdirected: "permission_error",
	NotFound: "not_found_error",
	Method:   "invalid_request_error", TooLarge: "request_too_large", Busy: "rate_limit_error",
	Unavailable: "overloaded_error", Upstream: "api_error", Late: "timeout_error",
	Internal: "api_error"}

// overloaded is Anthropic's own HTTP status of a server that cannot take more.
const overloaded = 529

// tooLong begins the error of a prompt that is longer than the model's context: clients of the
// Messages know it by these words.
const tooLong = "prompt is too long: "

func (messages) Refuse(r *Refusal) (int, ordered.Value) {
	status, message := r.Status(), r.Error()
	if r.Reason == Unavailable {
		status = overloaded
	}
	if r.Code == ContextLength {
		message = tooLong + message
	}
	return status, typed("error", ordered.MemberOf("error", typed(messageTypes[r.Reason],
		text("message", message))))
}

// CountObject returns the answer of a request to count tokens.
func CountObject(tokens int) ordered.Value {
	return ordered.Pairs("input_tokens", tokens)
}

// ModelOfMessages returns a model as the API of the Messages lists it. Created is in seconds since
// 1970.
func ModelOfMessages(name string, created int64) ordered.Value {
	return typed("model", text("id", name), text("display_name", name),
		text("created_at", time.Unix(created, 0).UTC().Format(time.RFC3339)))
}
