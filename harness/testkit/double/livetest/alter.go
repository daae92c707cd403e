package livetest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// kind returns the name of an event, or the part of a chat completion that it has.
func (e Event) kind() string {
	if e.Name != "" {
		return e.Name
	}
	choices := e.Data.At("choices").Items()
	if len(choices) == 0 {
		return "usage"
	}
	delta := choices[0].At("delta")
	calls := delta.At("tool_calls").Items()
	switch {
	case !choices[0].At("finish_reason").IsNull():
		return "finish"
	case !delta.At("role").IsNull():
		return "role"
	case len(calls) > 0 && !calls[0].At("id").IsNull():
		return "call"
	case len(calls) > 0:
		return "arguments"
	case !delta.At("reasoning_content").IsNull():
		return "reasoning"
	}
	return "content"
}

// is reports whether the kind of an event is the given one, or ends with it, or is the type of its
// delta. Every event is of the kind "".
func (e Event) is(kind string) bool {
	return strings.HasSuffix(e.kind(), kind) || e.Data.At("delta", "type").Text() == kind
}

// OK reports whether the reply is an answer.
func (r *Reply) OK() bool { return r.Status == http.StatusOK && r.Request.Kind() == ordered.Object }

// first is the place of the first event of a kind; -1 where there is none.
func (r *Reply) first(kind string) int {
	return slices.IndexFunc(r.Events, func(e Event) bool { return e.is(kind) })
}

// drop drops the events of a kind.
func drop(kind string) func(*Reply) {
	return func(r *Reply) {
		r.Events = slices.DeleteFunc(r.Events, func(e Event) bool { return e.is(kind) })
	}
}

// dropFirst drops the first event of a kind.
func dropFirst(kind string) func(*Reply) {
	return func(r *Reply) {
		if i := r.first(kind); i >= 0 {
			r.Events = slices.Delete(r.Events, i, i+1)
		}
	}
}

// twice sends the first event of a kind again.
func twice(kind string) func(*Reply) {
	return func(r *Reply) {
		if i := r.first(kind); i >= 0 {
			r.Events = slices.Insert(r.Events, i, r.Events[i])
		}
	}
}

// early sends the first event of a kind before the one that it follows.
func early(kind string) func(*Reply) {
	return func(r *Reply) {
		if i := r.first(kind); i > 0 {
			r.Events[i-1], r.Events[i] = r.Events[i], r.Events[i-1]
		}
	}
}

// at changes the data of the events of a kind.
func at(kind string, change func(v ordered.Value) ordered.Value) func(*Reply) {
	return func(r *Reply) {
		for i, e := range r.Events {
			if e.is(kind) {
				r.Events[i].Data = change(e.Data)
			}
		}
	}
}

// atFirst changes the data of the first event of a kind.
func atFirst(kind string, change func(v ordered.Value) ordered.Value) func(*Reply) {
	return func(r *Reply) {
		if i := r.first(kind); i >= 0 {
			r.Events[i].Data = change(r.Events[i].Data)
		}
	}
}

// nameless takes the names from the events.
func nameless(r *Reply) {
	for i := range r.Events {
		r.Events[i].Name = ""
	}
}

// failed ends a stream by an error after its second event.
func failed(e Event) func(*Reply) {
	return where(inStreams, func(r *Reply) { r.Events = append(r.Events[:2], e) })
}

// body changes the body of answers that are not streamed.
func body(change func(v ordered.Value) ordered.Value) func(*Reply) {
	return func(r *Reply) {
		if !r.Stream && r.OK() {
			r.Body = change(r.Body)
		}
	}
}

// items changes those items of a list in answers in one piece that have a member.
func items(list, having string, change func(item ordered.Value) ordered.Value) func(*Reply) {
	return body(func(v ordered.Value) ordered.Value {
		all := slices.Clone(v.At(list).Items())
		for i, item := range all {
			if !item.At(having).IsNull() {
				all[i] = change(item)
			}
		}
		return v.With(list, ordered.ArrayOf(all...))
	})
}

// set sets the member at a path.
func set(v, member ordered.Value, path ...string) ordered.Value {
	if len(path) > 1 {
		member = set(v.At(path[0]), member, path[1:]...)
	}
	return v.With(path[0], member)
}

// to returns a change that sets the member at a path.
func to(member ordered.Value, path ...string) func(ordered.Value) ordered.Value {
	return func(v ordered.Value) ordered.Value { return set(v, member, path...) }
}

// without returns a change that removes the member at a path.
func without(path ...string) func(ordered.Value) ordered.Value {
	return func(v ordered.Value) ordered.Value {
		parent, key := path[:len(path)-1], path[len(path)-1]
		if len(parent) == 0 {
			return v.Without(key)
		}
		return set(v, v.At(parent...).Without(key), parent...)
	}
}

// replace replaces a text in the JSON of a value; if the result is not JSON, the value stays as it
// is.
func replace(v ordered.Value, old, with string) ordered.Value {
	changed, err := ordered.ParseString(strings.ReplaceAll(v.String(), old, with))
	if err != nil {
		return v
	}
	return changed
}

// everywhere replaces a text in all that is sent.
func everywhere(old, with string) func(*Reply) {
	return func(r *Reply) {
		if !r.OK() {
			return
		}
		r.Body = replace(r.Body, old, with)
		for i, e := range r.Events {
			r.Events[i].Data = replace(e.Data, old, with)
		}
	}
}

// both makes several changes, in their order.
func both(changes ...func(*Reply)) func(*Reply) {
	return func(r *Reply) {
		for _, change := range changes {
			change(r)
		}
	}
}

// where changes the replies to some requests.
func where(asks func(r *Reply) bool, change func(*Reply)) func(*Reply) {
	return func(r *Reply) {
		if r.OK() && asks(r) {
			change(r)
		}
	}
}

// says returns a condition: a request has a text.
func says(text string) func(*Reply) bool {
	return func(r *Reply) bool { return strings.Contains(r.Request.String(), text) }
}

// The questions of the battery.
var (
	hello    = says("Say hello")
	schema   = says("as JSON")
	parallel = says("Bern and in Basel?")
)

// mode returns the choice of tools, the same for all protocols: "required" also for any, "named"
// for a tool; else the protocol's own word.
func mode(r *Reply) string {
	choice := r.Request.At("tool_choice")
	switch kind := choice.At("type").Text(); {
	case kind == "any":
		return "required"
	case kind == "function", kind == "tool", kind == "custom":
		return "named"
	case kind != "":
		return kind
	}
	return choice.Text()
}

func required(r *Reply) bool { return mode(r) == "required" }

// inPieces reports whether a reply is in one piece, inStreams whether it is streamed.
func inPieces(r *Reply) bool  { return !r.Stream }
func inStreams(r *Reply) bool { return r.Stream }

// and joins conditions.
func and(conditions ...func(*Reply) bool) func(*Reply) bool {
	return func(r *Reply) bool {
		for _, holds := range conditions {
			if !holds(r) {
				return false
			}
		}
		return true
	}
}

// message makes a message of chat completions.
func message(content ordered.Value, calls ...ordered.Value) ordered.Value {
	m := ordered.Pairs("role", "assistant", "content", content)
	if calls != nil {
		m = m.With("tool_calls", ordered.ArrayOf(calls...))
	}
	return m
}

// prose replaces an answer by a text and nothing else.
func prose(text string) func(*Reply) {
	return body(func(v ordered.Value) ordered.Value {
		switch v.At("object").Text() {
		case "chat.completion":
			choice := v.At("choices").Items()[0].With("message", message(ordered.Str(text))).
				With("finish_reason", ordered.Str("stop"))
			return v.With("choices", ordered.ArrayOf(choice))
		case "response":
			return v.With("output", ordered.ArrayOf(ordered.MustParse(`{"type": "message", "id": "msg_x",
				"role": "assistant", "status": "completed", "content": [{"type": "output_text",
				"annotations": [], "text": `+ordered.Str(text).String()+`}]}`)))
		}
		return v.With("content", ordered.ArrayOf(ordered.MustParse(`{"type": "text", "text": `+
			ordered.Str(text).String()+`}`))).With("stop_reason", ordered.Str("end_turn"))
	})
}

// called replaces an answer by calls of functions with arguments.
func called(calls ...[2]string) func(*Reply) {
	return body(func(v ordered.Value) ordered.Value {
		var list []ordered.Value
		for i, c := range calls {
			id := `"call9000` + string(rune('0'+i)) + `"`
			name, args := ordered.Str(c[0]).String(), ordered.Str(c[1]).String()
			switch v.At("object").Text() {
			case "chat.completion":
				list = append(list, ordered.MustParse(`{"id": `+id+`, "type": "function", "function": {"name": `+
					name+`, "arguments": `+args+`}}`))
			case "response":
				list = append(list, ordered.MustParse(`{"type": "function_call", "id": "fc_`+id[1:]+
					`, "call_id": `+id+`, "status": "completed", "name": `+name+
					`, "arguments": `+args+`}`))
			default:
				list = append(list, ordered.MustParse(`{"type": "tool_use", "id": `+id+`, "name": `+name+
					`, "input": `+c[1]+`}`))
			}
		}
		switch v.At("object").Text() {
		case "chat.completion":
			choice := v.At("choices").Items()[0].With("message", message(ordered.Value{}, list...)).
				With("finish_reason", ordered.Str("tool_calls"))
			return v.With("choices", ordered.ArrayOf(choice))
		case "response":
			return v.With("output", ordered.ArrayOf(list...))
		}
		return v.With("content", ordered.ArrayOf(list...)).
			With("stop_reason", ordered.Str("tool_use"))
	})
}

// failing answers with an error.
func failing(status int, body string) func(*Reply) {
	return func(r *Reply) { r.Status, r.Stream, r.Body = status, false, ordered.MustParse(body) }
}

// refused changes the replies that are errors.
func refused(change func(*Reply)) func(*Reply) {
	return func(r *Reply) {
		if r.Status != http.StatusOK {
			change(r)
		}
	}
}

// lasting makes a change that has state, which is safe for concurrent use.
func lasting(change func() func(*Reply)) func() func(*Reply) {
	return func() func(*Reply) {
		var mu sync.Mutex
		do := change()
		return func(r *Reply) {
			mu.Lock()
			defer mu.Unlock()
			do(r)
		}
	}
}

// always makes a change that has no state.
func always(change func(*Reply)) func() func(*Reply) {
	return func() func(*Reply) { return change }
}

// deltaText changes the text of the first delta of content, reasoning or arguments.
func deltaText(part string, change func(text string) string) func(*Reply) {
	return func(r *Reply) {
		kind, path := "", []string{"delta"}
		switch r.Protocol {
		case wire.ChatCompletions:
			atFirst(part, func(v ordered.Value) ordered.Value {
				delta := Chunk(v)
				if calls := delta.At("tool_calls").Items(); len(calls) > 0 {
					f := calls[0].At("function")
					return WithDelta(v, delta.With("tool_calls", ordered.ArrayOf(
						calls[0].With("function", f.With("arguments",
							ordered.Str(change(f.At("arguments").Text())))))))
				}
				key := map[string]string{"content": "content",
					"reasoning": "reasoning_content"}[part]
				return WithDelta(v, delta.With(key, ordered.Str(change(delta.At(key).Text()))))
			})(r)
			return
		case wire.Responses:
			kind = map[string]string{"content": "output_text.delta",
				"reasoning": "reasoning_text.delta",
				"arguments": "function_call_arguments.delta"}[part]
		default:
			kind = map[string]string{"content": "text_delta", "reasoning": "thinking_delta",
				"arguments": "input_json_delta"}[part]
			path = append(path, map[string]string{"content": "text", "reasoning": "thinking",
				"arguments": "partial_json"}[part])
		}
		atFirst(kind, func(v ordered.Value) ordered.Value {
			return set(v, ordered.Str(change(v.At(path...).Text())), path...)
		})(r)
	}
}
