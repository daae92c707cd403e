package wire

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// responses is OpenAI's Responses.
type responses struct{}

func (responses) Name() string { return "responses" }
func (responses) Path() string { return "/v1/responses" }

// responseDenials are fields of the Responses that are refused.
var responseDenials = []denial{
	{"previous_response_id", nil, stateless},
	{"conversation", nil, stateless},
	{"store", []string{"false"}, stateless},
	{"background", []string{"false"}, stateless},
	{"prompt", nil, stateless},
	{"context_management", []string{"[]"}, stateless},
	{"top_logprobs", []string{"0"}, noLogs},
	{"truncation", []string{`"disabled"`}, "a shortened conversation; shorten it yourself"},
	{"n", []string{"1"}, oneAnswer},
	{"logprobs", []string{"false"}, noLogs},
	{"modalities", []string{`["text"]`}, textOnly},
}

// encryptedReasoning is the word of "include" for sealed reasoning.
const encryptedReasoning = "reasoning.encrypted_content"

func (responses) Decode(body ordered.Value, s *Sealer) (*Request, error) {
	f, err := fieldsOf(body, responseDenials)
	if err != nil {
		return nil, err
	}
	r := &Request{Model: body.At("model").Text(), Stream: f.boolean("stream", false), Usage: true,
		MaxTokens: f.count("max_output_tokens"), Stops: f.stops("stop", 4),
		Sampling: f.sampling(), Custom: map[string]bool{}}
	for i, word := range body.At("include").Items() {
		if word.Text() != encryptedReasoning {
			f.refuse(unsupported(fmt.Sprintf("include[%d]", i),
				fmt.Sprintf("%s; this server includes %q", word, encryptedReasoning)))
		}
		r.Sealed = true
	}
	if choice := body.At("tool_choice"); choice.At("type").Text() == "allowed_tools" {
		body = f.allowed(body, choice, func(t ordered.Value) string { return t.At("name").Text() })
	}
	in := &inputReader{f: f, s: s}
	request := ordered.Pairs("messages", in.read(body))
	request = f.responseTools(r, body, request)
	request = f.responseFormat(body, request)
	if f.boolean("parallel_tool_calls", true); !body.At("parallel_tool_calls").IsNull() {
		request = request.With("parallel_tool_calls", body.At("parallel_tool_calls"))
	}
	r.echo = body
	return f.finish(r, paths{"input", "", ".parameters", "text.format.schema"},
		kwargs(body, request), body.At("reasoning", "effort"))
}

// responseTools reads the tools and the choice of one.
func (f *fields) responseTools(r *Request, body, request ordered.Value) ordered.Value {
	var tools []ordered.Value
	for i, t := range f.toolsOf(body) {
		path := fmt.Sprintf("tools[%d]", i)
		switch kind := t.At("type"); kind.Text() {
		case "function":
			if name := t.At("name"); name.Kind() != ordered.String || name.Text() == "" {
				f.refuse(expected(path+".name", "a name", name))
			}
			tools = append(tools, typed("function",
				ordered.MemberOf("function", r.demands(t.Without("type")))))
		case "custom":
			tools = append(tools, f.customTool(r, t, path))
		case "":
			f.refuse(expected(path+".type", `"function" or "custom"`, kind))
		default:
			f.refuse(unsupported(path+".type", noTools))
		}
	}
	if tools != nil {
		request = request.With("tools", ordered.ArrayOf(tools...))
	}
	switch choice := body.At("tool_choice"); {
	case choice.IsNull():
	case choice.Kind() == ordered.String:
		request = request.With("tool_choice", choice)
	case choice.At("type").Text() == "function", choice.At("type").Text() == "custom":
		request = request.With("tool_choice", chat.ToolChoice{Mode: chat.ChoiceNamed,
			Name: choice.At("name").Text()}.Value())
	default:
		f.refuse(expected("tool_choice", `"auto", "none", "required" or a function`, choice))
	}
	return request
}

// responseFormat reads the format of the answer's text.
func (f *fields) responseFormat(body, request ordered.Value) ordered.Value {
	format := body.At("text", "format")
	switch kind := format.At("type"); kind.Text() {
	case "", "text":
		if !format.IsNull() && kind.IsNull() {
			f.refuse(expected("text.format.type", `"text", "json_object" or "json_schema"`, kind))
		}
		return request
	case "json_schema":
		format = typed("json_schema", ordered.MemberOf("json_schema", format.Without("type")))
	case "json_object":
	default:
		f.refuse(expected("text.format.type", `"text", "json_object" or "json_schema"`, kind))
	}
	return request.With("response_format", format)
}

// inputReader makes messages of input items. Reasoning, texts and calls of one turn of the model
// are one message.
type inputReader struct {
	f        *fields
	s        *Sealer
	messages []ordered.Value

	// the turn of the model that is being put together
	turn      bool
	reasoning string
	content   string
	said      bool // the turn has content
	calls     []ordered.Value
}

func (in *inputReader) read(body ordered.Value) []ordered.Value {
	if text := body.At("instructions"); text.Kind() == ordered.String && text.Text() != "" {
		in.messages = append(in.messages, chat.MessageOf("system", text))
	} else if text.Kind() != ordered.String && !text.IsNull() {
		in.f.refuse(expected("instructions", "a text", text))
	}
	switch input := body.At("input"); input.Kind() {
	case ordered.String:
		in.messages = append(in.messages, chat.MessageOf("user", input))
	case ordered.Array:
		for i, item := range input.Items() {
			in.item(item, fmt.Sprintf("input[%d]", i))
		}
		in.flush()
	default:
		in.f.refuse(expected("input", "a text or a list of items", input))
	}
	return in.messages
}

// flush ends the model's turn.
func (in *inputReader) flush() {
	if !in.turn {
		return
	}
	in.messages = append(in.messages, assistant(in.reasoning, in.content, in.said, in.calls))
	*in = inputReader{f: in.f, s: in.s, messages: in.messages}
}

func (in *inputReader) item(item ordered.Value, path string) {
	if item.Kind() != ordered.Object {
		in.f.refuse(expected(path, "an object", item))
		return
	}
	kind := item.At("type").Text()
	if kind == "" && !item.At("role").IsNull() {
		kind = "message"
	}
	switch kind {
	case "message":
		in.message(item, path)
	case "reasoning":
		if in.said || len(in.calls) > 0 {
			in.flush()
		}
		in.turn = true
		in.reasoning += in.opened(item, path)
	case "function_call":
		in.call(item, path, in.f.textAt(item, path, "arguments"))
	case "custom_tool_call":
		in.call(item, path, arguments(in.f.textAt(item, path, "input")))
	case "function_call_output", "custom_tool_call_output":
		in.flush()
		in.messages = append(in.messages, ordered.Pairs("role", "tool",
			"tool_call_id", in.f.textAt(item, path, "call_id"),
			"content", in.f.textParts(item.At("output"), path+".output", "input_text",
				"output_text")))
		if item.At("output").IsNull() {
			in.f.refuse(expected(path+".output", "a text or a list of parts", item.At("output")))
		}
	case "item_reference":
		in.f.refuse(unsupported(path+".type", stateless))
	case "":
		in.f.refuse(expected(path+".type", "an item's type", item.At("type")))
	default:
		in.f.refuse(unsupported(path+".type", fmt.Sprintf("an item of the type %q", kind)))
	}
}

func (in *inputReader) call(item ordered.Value, path, args string) {
	in.turn = true
	name := in.f.textAt(item, path, "name")
	in.calls = append(in.calls, chat.CallOf(in.f.textAt(item, path, "call_id"), name,
		ordered.Str(args)))
}

func (in *inputReader) message(item ordered.Value, path string) {
	content := in.f.textParts(item.At("content"), path+".content", "input_text", "output_text",
		"refusal")
	if content.IsNull() {
		in.f.refuse(expected(path+".content", "a text or a list of parts", content))
	}
	switch role := item.At("role"); role.Text() {
	case "user", "system", "developer":
		in.flush()
		in.messages = append(in.messages, chat.MessageOf(role.Text(), content))
	case "assistant":
		// a text after a call is of the same turn: before the next one stands the call's output
		in.turn, in.said = true, true
		in.content += flat(content)
	default:
		in.f.refuse(expected(path+".role", `"user", "assistant", "system" or "developer"`, role))
	}
}

// opened returns the text of a reasoning item.
func (in *inputReader) opened(item ordered.Value, path string) string {
	if sealed := item.At("encrypted_content"); sealed.Kind() == ordered.String {
		path += ".encrypted_content"
		if in.s == nil {
			in.f.refuse(unsupported(path, "this server has no key to open it with"))
			return ""
		}
		text, err := in.s.Open(sealed.Text())
		if err != nil {
			in.f.refuse(&Refusal{Reason: Invalid, Param: path, Code: "invalid_encrypted_content",
				Message: err.Error()})
		}
		return text
	}
	if len(item.At("content").Items()) == 0 {
		in.f.refuse(invalid(path, "the item has neither encrypted_content nor content, and %s; "+
			"ask for %q with include", stateless, encryptedReasoning))
	}
	return flat(in.f.textParts(item.At("content"), path+".content", "reasoning_text", "text"))
}

func (responses) Writer(a Envelope) Writer {
	w := &responseWriter{output: output{a: a}}
	w.blocks = newBlocks(a, w.begun, w.grown, w.ended)
	return w
}

// responseWriter writes the events of a response. Each has the next number; each item and part of
// one has its events in the order added, deltas, done.
type responseWriter struct {
	output
	items  []ordered.Value // those that are done
	number int
}

// send sends an event.
func (w *responseWriter) send(kind string, more ...ordered.Member) {
	if w.a.Request.Stream {
		w.dst = event(w.dst, kind, typed(kind, append([]ordered.Member{
			ordered.MemberOf("sequence_number", ordered.Int(w.number))}, more...)...))
		w.number++
	}
}

func (w *responseWriter) Begin(dst []byte, _ int) []byte {
	w.dst = dst
	if w.a.Request.Stream {
		v := w.response("in_progress", nil)
		w.send("response.created", ordered.MemberOf("response", v))
		w.send("response.in_progress", ordered.MemberOf("response", v))
	}
	return w.dst
}

// id returns the id of a block's item.
func (w *responseWriter) id(b *block) string {
	prefix := [...]string{reasoningBlock: "rs_", textBlock: "msg_", callBlock: "fc_",
		customBlock: "ctc_"}[b.kind]
	return prefix + w.a.ID + "_" + strconv.Itoa(b.index)
}

// place holds the members that the events of a block's item share.
func (w *responseWriter) place(b *block, more ...ordered.Member) []ordered.Member {
	return append([]ordered.Member{text("item_id", w.id(b)),
		ordered.MemberOf("output_index", ordered.Int(b.index))}, more...)
}

// within is place for events of the item's one part.
func (w *responseWriter) within(b *block, more ...ordered.Member) []ordered.Member {
	index := ordered.MemberOf("content_index", ordered.Int(0))
	return w.place(b, append([]ordered.Member{index}, more...)...)
}

func (w *responseWriter) begun(b *block) {
	w.send("response.output_item.added", ordered.MemberOf("output_index", ordered.Int(b.index)),
		ordered.MemberOf("item", w.item(b, "in_progress", "")))
	if b.kind == textBlock || b.kind == reasoningBlock {
		w.send("response.content_part.added", w.within(b, ordered.MemberOf("part", part(b, "")))...)
	}
}

// deltaEvents are the names of the events of a text that grows, without their ends.
var deltaEvents = [...]string{reasoningBlock: "response.reasoning_text",
	textBlock: "response.output_text", callBlock: "response.function_call_arguments",
	customBlock: "response.custom_tool_call_input"}

func (w *responseWriter) grown(b *block, more string) {
	name := deltaEvents[b.kind] + ".delta"
	switch b.kind {
	case textBlock:
		w.send(name, w.within(b, text("delta", more),
			ordered.MemberOf("logprobs", ordered.ArrayOf()))...)
	case reasoningBlock:
		w.send(name, w.within(b, text("delta", more))...)
	default:
		w.send(name, w.place(b, text("delta", more))...)
	}
}

func (w *responseWriter) ended(b *block) { w.finish(b, "completed") }

// finish ends an item with a status: "completed", or "incomplete" where the answer was cut off.
func (w *responseWriter) finish(b *block, status string) {
	whole := b.text.String()
	done := deltaEvents[b.kind] + ".done"
	switch b.kind {
	case textBlock:
		w.send(done, w.within(b, text("text", whole),
			ordered.MemberOf("logprobs", ordered.ArrayOf()))...)
		w.send("response.content_part.done", w.within(b, ordered.MemberOf("part", part(b, whole)))...)
	case reasoningBlock:
		w.send(done, w.within(b, text("text", whole))...)
		w.send("response.content_part.done", w.within(b, ordered.MemberOf("part", part(b, whole)))...)
	case callBlock:
		w.send(done, w.place(b, text("name", b.name), text("arguments", whole))...)
	case customBlock:
		w.send(done, w.place(b, text("input", whole))...)
	}
	item := w.item(b, status, whole)
	w.items = append(w.items, item)
	w.send("response.output_item.done", ordered.MemberOf("output_index", ordered.Int(b.index)),
		ordered.MemberOf("item", item))
}

// part returns the one part of a message or of reasoning.
func part(b *block, whole string) ordered.Value {
	if b.kind == reasoningBlock {
		return typed("reasoning_text", text("text", whole))
	}
	return typed("output_text", text("text", whole),
		ordered.MemberOf("annotations", ordered.ArrayOf()), ordered.MemberOf("logprobs", ordered.ArrayOf()))
}

// item returns a block as an item. Its text is empty while the item grows.
func (w *responseWriter) item(b *block, status, whole string) ordered.Value {
	id, state := text("id", w.id(b)), text("status", status)
	parts := ordered.ArrayOf()
	if status != "in_progress" {
		parts = ordered.ArrayOf(part(b, whole))
	}
	switch b.kind {
	case reasoningBlock:
		v := typed("reasoning", id, ordered.MemberOf("summary", ordered.ArrayOf()),
			ordered.MemberOf("content", parts))
		if w.a.Request.Sealed && status != "in_progress" {
			v = v.With("encrypted_content", orNull(w.a.Sealer.sealed(whole)))
		}
		return v.With("status", ordered.Str(status))
	case textBlock:
		return typed("message", id, state, text("role", "assistant"),
			ordered.MemberOf("content", parts))
	case callBlock:
		return typed("function_call", id, state, text("call_id", b.id), text("name", b.name),
			text("arguments", whole))
	}
	return typed("custom_tool_call", id, state, text("call_id", b.id), text("name", b.name),
		text("input", whole))
}

// last ends the open block; the last one of an answer that was cut off is incomplete.
func (w *responseWriter) last(e End) {
	if b := w.blocks.open; b != nil && e.Finish.Cut() {
		w.blocks.ended = func(b *block) { w.finish(b, "incomplete") }
	}
	w.blocks.close()
}

func (w *responseWriter) End(dst []byte, e End) []byte {
	w.dst = dst
	w.last(e)
	v := w.Whole(e)
	w.send("response."+v.At("status").Text(), ordered.MemberOf("response", v))
	return w.dst
}

func (w *responseWriter) Whole(e End) ordered.Value {
	w.last(e)
	status := "completed"
	if e.Finish.Cut() {
		status = "incomplete"
	}
	v := w.response(status, &e.Usage)
	if e.Finish.Cut() {
		reason := "max_output_tokens"
		if e.Finish == chat.FinishContentFilter {
			reason = string(e.Finish)
		}
		v = v.With("incomplete_details", ordered.Pairs("reason", reason))
	}
	return v
}

func (w *responseWriter) KeepAlive(dst []byte) []byte { return comment(dst) }

func (w *responseWriter) Fail(dst []byte, r *Refusal) []byte {
	w.dst = dst
	w.send("response.failed", ordered.MemberOf("response", w.response("failed", nil).With("error",
		ordered.Pairs("code", "server_error", "message", r.Error()))))
	return w.dst
}

// response returns the object of the answer.
func (w *responseWriter) response(status string, usage *chat.Usage) ordered.Value {
	r, echo := w.a.Request, w.a.Request.echo
	or := func(key string, absent ordered.Value) ordered.Member {
		v := echo.At(key)
		if v.IsNull() {
			v = absent
		}
		return ordered.MemberOf(key, v)
	}
	counts := ordered.Value{}
	if usage != nil {
		counts = ordered.Pairs("input_tokens", usage.Prompt, "input_tokens_details", ordered.Pairs(
			"cached_tokens", 0), "output_tokens", usage.Completion,
			"output_tokens_details", ordered.Pairs("reasoning_tokens", 0),
			"total_tokens", usage.Prompt+usage.Completion)
	}
	return ordered.ObjectOf(
		text("id", "resp_"+w.a.ID), text("object", "response"),
		ordered.MemberOf("created_at", ordered.Num(strconv.FormatInt(w.a.Created, 10))),
		text("status", status), ordered.MemberOf("background", ordered.Boolean(false)),
		ordered.MemberOf("error", ordered.Value{}), ordered.MemberOf("incomplete_details", ordered.Value{}),
		or("instructions", ordered.Value{}), or("max_output_tokens", ordered.Value{}),
		or("metadata", ordered.ObjectOf()), text("model", w.a.Model),
		ordered.MemberOf("output", ordered.ArrayOf(slices.Clone(w.items)...)),
		ordered.MemberOf("parallel_tool_calls", ordered.Boolean(!r.Chat.OneCall)),
		ordered.MemberOf("previous_response_id", ordered.Value{}),
		or("reasoning", ordered.Pairs("effort", nil, "summary", nil)),
		ordered.MemberOf("store", ordered.Boolean(false)), or("temperature", ordered.Num("1")),
		or("text", ordered.Pairs("format", typed("text"))),
		or("tool_choice", ordered.Str("auto")), or("tools", ordered.ArrayOf()),
		or("top_p", ordered.Num("1")), text("truncation", "disabled"),
		ordered.MemberOf("usage", counts))
}

func (responses) Refuse(r *Refusal) (int, ordered.Value) { return openAIRefusal(r) }
