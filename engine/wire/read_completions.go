package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// completionsReader reads the chunks of a chat completion. Calls grow one after the other.
type completionsReader struct {
	a     Answer
	begun bool
	model string
	ended bool // a finish reason came
	done  bool // [DONE] came
	early bool // usage came before the finish reason

	content, reasoning strings.Builder
	arguments          []*strings.Builder // of each call
}

func (chatCompletions) Reader() Reader { return new(completionsReader) }

// Mark implements [Reader].
func (r *completionsReader) Mark() {
	if r.a.event++; r.done {
		r.a.fault(FaultEnd, "[DONE] comes again", "")
	}
	r.done = true
}

// Event implements [Reader].
func (r *completionsReader) Event(_ string, v ordered.Value) {
	a := &r.a
	a.event++
	if r.done || a.Broken != "" {
		a.fault(FaultEnd, "an event comes after the end", "%s", ordered.Excerpt(v, 60))
		return
	}
	if e, ok := v.Get("error"); ok {
		message, _ := openAIReadRefusal(v)
		a.Broken = cmp.Or(message, e.String())
		return
	}
	a.word(v.At("object"), "object", "chat.completion.chunk")
	a.kind(v.At("created"), "created", ordered.Number)
	r.same(v, "id", &a.ID)
	r.same(v, "model", &r.model)
	usage := v.At("usage")
	switch choices := v.At("choices"); {
	case choices.Kind() != ordered.Array:
		a.expect(FaultShape, "choices", "an array", choices)
	case len(choices.Items()) > 1:
		a.fault(FaultShape, "choices: expected one choice", "found %d", len(choices.Items()))
		fallthrough
	case len(choices.Items()) == 1:
		r.choice(choices.Items()[0])
	case usage.IsNull():
		a.fault(FaultShape, "a chunk has neither choices nor usage", "%s", ordered.Excerpt(v, 60))
	default:
		r.early = r.early || !r.ended
		if a.Counted {
			a.fault(FaultUsage, "usage comes again", "")
		}
		a.completionUsage(usage)
	}
}

// same demands that a member is the same text in every chunk.
func (r *completionsReader) same(v ordered.Value, key string, first *string) {
	switch got := r.a.id(v.At(key), key); {
	case *first == "":
		*first = got
	case *first != got && got != "":
		r.a.fault(FaultID, key+": it changes", "it is %q, and %q before", got, *first)
	}
}

func (r *completionsReader) choice(v ordered.Value) {
	a := &r.a
	a.next(v.At("index"), "choices[0].index", 0)
	delta := v.At("delta")
	if delta.Kind() != ordered.Object {
		a.expect(FaultShape, "choices[0].delta", "an object", delta)
		a.Lost = true
	}
	r.delta(delta)
	switch reason := v.At("finish_reason"); {
	case reason.IsNull():
	case r.ended:
		a.fault(FaultOrder, "the finish reason comes again", "%s, after %q", reason, a.Finish)
	default:
		r.ended = true
		a.finishReason(reason)
	}
}

func (r *completionsReader) delta(v ordered.Value) {
	const path = "choices[0].delta."
	a := &r.a
	switch role, ok := v.Get("role"); {
	case !r.begun && role.Text() != "assistant":
		a.fault(FaultRole, "the first delta has not the role of the assistant", "%s",
			ordered.Excerpt(v, 60))
	case ok && !role.IsNull() && role.Text() != "assistant":
		a.fault(FaultRole, "a delta has another role than the assistant's", "%s", role)
	}
	r.begun = true
	content, reasoning := a.maybe(v.At("content"), path+"content"), a.reasoning(v, path)
	content += a.maybe(v.At("refusal"), path+"refusal")
	if content != "" && reasoning != "" {
		a.fault(FaultMixed, "a delta has reasoning and content", "%s", ordered.Excerpt(v, 120))
	}
	r.content.WriteString(content)
	r.reasoning.WriteString(reasoning)
	calls := v.At("tool_calls")
	if calls.Kind() != ordered.Array && !calls.IsNull() {
		a.expect(FaultShape, path+"tool_calls", "an array", calls)
	}
	if r.ended && (content != "" || reasoning != "" || len(calls.Items()) > 0) {
		a.fault(FaultOrder, "text comes after the finish reason", "%s", ordered.Excerpt(v, 60))
	}
	for _, call := range calls.Items() {
		r.call(call)
	}
}

// reasoning reads the reasoning, under the names that servers have for it.
func (a *Answer) reasoning(v ordered.Value, path string) string {
	for _, key := range chat.ReasoningFields {
		if text := v.At(key); !text.IsNull() {
			return a.maybe(text, path+key)
		}
	}
	return ""
}

// call adds a delta of a call.
func (r *completionsReader) call(v ordered.Value) {
	a := &r.a
	fault := func(kind FaultKind, cause string) {
		a.Lost = true
		a.fault(kind, "tool_calls: "+cause, "%s", ordered.Excerpt(v, 160))
	}
	calls := &a.Message.ToolCalls
	kind, index := "function", v.At("index")
	if !v.At("custom").IsNull() {
		kind = "custom"
	}
	f := v.At(kind)
	i, err := strconv.Atoi(index.Text())
	if err != nil || index.Kind() != ordered.Number {
		fault(FaultCall, "a delta has no index")
		return
	}
	name, hasName := f.Get("name")
	switch last := len(*calls) - 1; {
	case i == last+1:
		id := v.At("id")
		if id.Kind() != ordered.String || id.Text() == "" {
			fault(FaultCall, "a call begins without its id")
		}
		if name.Kind() != ordered.String || name.Text() == "" {
			fault(FaultCall, "a call begins without its name")
		}
		if v.At("type").Text() != kind {
			fault(FaultCall, "a call begins without its type")
		}
		a.fresh(FaultCall, id.Text(), "tool_calls[].id")
		*calls = append(*calls, chat.ToolCall{ID: id.Text(), Name: name.Text(), Complete: true})
		a.Custom = append(a.Custom, kind == "custom")
		r.arguments = append(r.arguments, new(strings.Builder))
	case i < 0 || i > last:
		fault(FaultCall, "an index skips calls")
		return
	default:
		if i < last {
			fault(FaultCall, "a call goes on after another one has begun")
		}
		if hasName {
			fault(FaultCall, "the name comes again; clients put the two together")
		}
		if v.At("id").Text() != "" {
			fault(FaultCall, "the id comes again; clients put the two together")
		}
	}
	key := argumentsKey[kind]
	if arguments := f.At(key); !arguments.IsNull() {
		r.arguments[i].WriteString(a.arguments(arguments, "tool_calls[]."+kind+"."+key))
	}
}

// argumentsKey is the member that has the text of a call of each kind.
var argumentsKey = map[string]string{"function": "arguments", "custom": "input"}

// finishReasons are those of chat completions.
var finishReasons = []chat.FinishReason{chat.FinishStop, chat.FinishToolCalls, chat.FinishLength,
	chat.FinishContentFilter}

func (a *Answer) finishReason(v ordered.Value) {
	if a.Finish = chat.FinishReason(v.Text()); !slices.Contains(finishReasons, a.Finish) {
		a.expect(FaultShape, "choices[0].finish_reason", fmt.Sprintf("one of %q", finishReasons), v)
		a.Finish = ""
	}
}

func (a *Answer) completionUsage(usage ordered.Value) {
	if !a.counts(usage) {
		return
	}
	a.Usage = chat.Usage{Prompt: a.count(usage.At("prompt_tokens"), "usage.prompt_tokens"),
		Completion: a.count(usage.At("completion_tokens"), "usage.completion_tokens")}
	a.total(usage, "")
}

// End implements [Reader].
func (r *completionsReader) End() Answer {
	a := &r.a
	a.Message.Content, a.Message.Reasoning = r.content.String(), r.reasoning.String()
	for i, arguments := range r.arguments {
		a.Message.ToolCalls[i].Arguments = arguments.String()
	}
	a.Whole = r.ended && a.Broken == ""
	a.Turn = []ordered.Value{a.completionTurn()}
	a.event = 0
	if r.ended && r.early {
		a.fault(FaultOrder, "usage comes before the finish reason", "")
	}
	if !r.ended && a.Broken == "" {
		a.fault(FaultEnd, "the stream ends without a finish reason", "")
	}
	if !r.done && a.Broken == "" {
		a.fault(FaultEnd, "the stream ends without [DONE]", "")
	}
	return *a
}

// completionTurn is the message of an answer as a client hands it back.
func (a *Answer) completionTurn() ordered.Value {
	m := a.Message.Value()
	if !slices.Contains(a.Custom, true) {
		return m
	}
	calls := slices.Clone(m.At("tool_calls").Items())
	for i, c := range calls {
		if a.Custom[i] {
			calls[i] = asCustom(c)
		}
	}
	return m.With("tool_calls", ordered.ArrayOf(calls...))
}

func (chatCompletions) Read(v ordered.Value) Answer {
	var a Answer
	a.word(v.At("object"), "object", "chat.completion")
	a.kind(v.At("created"), "created", ordered.Number)
	a.id(v.At("model"), "model")
	a.ID = a.id(v.At("id"), "id")
	choices := v.At("choices").Items()
	if len(choices) != 1 {
		a.expect(FaultShape, "choices", "an array of one choice", v.At("choices"))
		a.Lost = true
		return a
	}
	a.Whole = true
	a.next(choices[0].At("index"), "choices[0].index", 0)
	if reason := choices[0].At("finish_reason"); reason.IsNull() {
		a.expect(FaultShape, "choices[0].finish_reason", "a reason", reason)
	} else {
		a.finishReason(reason)
	}
	m := choices[0].At("message")
	a.word(m.At("role"), "message.role", "assistant")
	if content, ok := m.Get("content"); !ok {
		a.fault(FaultShape, "message.content is missing; it is null where there is none", "")
	} else {
		a.Message.Content = a.maybe(content, "message.content")
	}
	a.Message.Content += a.maybe(m.At("refusal"), "message.refusal")
	a.Message.Reasoning = a.reasoning(m, "message.")
	calls := m.At("tool_calls")
	if calls.Kind() != ordered.Array && !calls.IsNull() {
		a.expect(FaultShape, "message.tool_calls", "an array", calls)
	}
	for i, call := range calls.Items() {
		a.wholeCall(call, fmt.Sprintf("tool_calls[%d]", i))
	}
	a.Turn = []ordered.Value{m}
	a.completionUsage(v.At("usage"))
	return a
}

func (a *Answer) wholeCall(v ordered.Value, path string) {
	kind := "function"
	if !v.At("custom").IsNull() {
		kind = "custom"
	}
	f := v.At(kind)
	for _, m := range [...]ordered.Member{ordered.MemberOf("id", v.At("id")),
		ordered.MemberOf(kind+".name", f.At("name"))} {
		if m.Value.Kind() != ordered.String || m.Value.Text() == "" {
			a.expect(FaultCall, path+"."+m.Key, "a text that is not empty", m.Value)
		}
	}
	if v.At("type").Text() != kind {
		a.expect(FaultCall, path+".type", strconv.Quote(kind), v.At("type"))
	}
	id := v.At("id").Text()
	a.fresh(FaultCall, id, path+".id")
	key := argumentsKey[kind]
	a.Message.ToolCalls = append(a.Message.ToolCalls, chat.ToolCall{ID: id,
		Name:      f.At("name").Text(),
		Arguments: a.arguments(f.At(key), path+"."+kind+"."+key), Complete: true})
	a.Custom = append(a.Custom, kind == "custom")
}

func (chatCompletions) ReadRefusal(v ordered.Value) (string, error) { return openAIReadRefusal(v) }

// openAIReadRefusal reads an error object of OpenAI's protocols.
func openAIReadRefusal(v ordered.Value) (message string, fault error) {
	e := v.At("error")
	for _, key := range [...]string{"message", "type"} {
		if text := e.At(key); text.Kind() != ordered.String || text.Text() == "" {
			return e.At("message").Text(), shapeOf("error."+key, "a text", text)
		}
	}
	return e.At("message").Text(), nil
}
