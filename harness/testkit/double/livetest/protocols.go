package livetest

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/ordered"
)

var (
	null = ordered.Value{}
	one  = ordered.Int(1)
)

// adder adds a fault.
type adder func(rules, name string, change func(*Reply))

// choice changes the one choice of answers and chunks of chat completions.
func choice(change func(c ordered.Value) ordered.Value) func(ordered.Value) ordered.Value {
	return func(v ordered.Value) ordered.Value {
		if c := v.At("choices").Items(); len(c) == 1 {
			v = v.With("choices", ordered.ArrayOf(change(c[0])))
		}
		return v
	}
}

// call changes the one call of deltas and the first one of messages.
func call(part string,
	change func(c ordered.Value) ordered.Value) func(ordered.Value) ordered.Value {
	return choice(func(c ordered.Value) ordered.Value {
		calls := slices.Clone(c.At(part, "tool_calls").Items())
		if len(calls) == 0 {
			return c
		}
		calls[0] = change(calls[0])
		return set(c, ordered.ArrayOf(calls...), part, "tool_calls")
	})
}

// everyEvent changes the data of all events.
func everyEvent(change func(i int, v ordered.Value) ordered.Value) func(*Reply) {
	return func(r *Reply) {
		for i, e := range r.Events {
			r.Events[i].Data = change(i, e.Data)
		}
	}
}

// insert puts data after the second event of a stream.
func insert(e Event) func(*Reply) {
	return where(and(hello, inStreams), func(r *Reply) {
		r.Events = slices.Insert(r.Events, 2, e)
	})
}

func delta(text string) func(*Reply) {
	return where(and(hello, inStreams), func(r *Reply) {
		chunk := WithDelta(r.Events[1].Data, ordered.MustParse(text))
		r.Events = slices.Insert(r.Events, 2, Event{Data: chunk})
	})
}

func ofCompletions(add adder) {
	add("S005", "no [DONE]", func(r *Reply) { r.Tail = "" })
	add("S005", "[DONE] twice", func(r *Reply) { r.Tail += r.Tail })
	add("S005", "data after [DONE]", func(r *Reply) { r.Tail += "data: {\"choices\": []}\n\n" })
	add("S005", "no finish reason", drop("finish"))
	add("S006", "the finish reason twice", twice("finish"))
	add("S005", "an error within a stream", failed(Event{Data: ordered.MustParse(
		`{"error": {"message": "out of memory"}}`)}))
	add("S003", "an unknown finish reason", body(choice(to(ordered.Str("eos"), "finish_reason"))))
	add("S012", "a call ends by stop", where(required, both(
		body(choice(to(ordered.Str("stop"), "finish_reason"))),
		at("finish", choice(to(ordered.Str("stop"), "finish_reason"))))))
	add("S006 S014", "text after the finish reason", where(and(hello, inStreams), func(r *Reply) {
		if r.first("content") < 0 {
			return
		}
		content := r.Events[r.first("content")]
		r.Events = slices.Insert(r.Events, r.first("finish")+1, content)
	}))
	add("S007", "no role", at("role", func(v ordered.Value) ordered.Value {
		return WithDelta(v, Chunk(v).Without("role"))
	}))
	add("S007", "another role later", delta(`{"role": "user"}`))
	add("S006", "the id changes", everyEvent(func(i int, v ordered.Value) ordered.Value {
		return v.With("id", ordered.Str(v.At("id").Text()+fmt.Sprint("-", i)))
	}))
	add("S006", "no id", at("", without("id")))
	add("S006", "the model changes", atFirst("content", to(ordered.Str("other"), "model")))
	add("S006", "chunks have the object of a completion", at("",
		to(ordered.Str("chat.completion"), "object")))
	add("S006", "the index of the choice is 1", at("content", choice(to(one, "index"))))
	add("S006", "two choices", at("content", func(v ordered.Value) ordered.Value {
		c := v.At("choices").Items()
		return v.With("choices", ordered.ArrayOf(c[0], c[0].With("index", one)))
	}))
	add("S006", "a delta is null", atFirst("content", choice(to(null, "delta"))))
	add("S003", "no message", body(to(ordered.ArrayOf(), "choices")))
	add("S003", "content is missing beside a call", where(required,
		body(choice(without("message", "content")))))
	add("S003", "content is an array", body(choice(func(c ordered.Value) ordered.Value {
		return set(c, ordered.ArrayOf(c.At("message", "content")), "message", "content")
	})))
	add("S013", "no usage in a stream", drop("usage"))
	add("S013", "no usage in one piece", body(without("usage")))
	add("S013", "usage does not add up", body(to(one, "usage", "total_tokens")))
	add("S013", "usage beyond the bound", body(to(ordered.MustParse(
		`{"prompt_tokens": 1, "completion_tokens": 9999, "total_tokens": 10000}`), "usage")))
	add("S013", "the prompt is counted twice in a stream", at("usage", to(ordered.MustParse(
		`{"prompt_tokens": 7777, "completion_tokens": 3, "total_tokens": 7780}`), "usage")))
	add("S008 S014", "reasoning and content in one delta",
		delta(`{"reasoning_content": "a", "content": "b"}`))
	add("S009", "the name comes twice", at("arguments", call("delta",
		to(ordered.Str("get_weather"), "function", "name"))))
	add("S009", "the name is null afterwards", at("arguments", call("delta",
		to(null, "function", "name"))))
	add("S014", "a call is cut off in one piece only", where(required,
		body(choice(to(ordered.Str("length"), "finish_reason")))))
	add("S009", "the id comes twice", at("arguments", call("delta",
		to(ordered.Str("call99999"), "id"))))
	add("S009", "the index of a call is shifted", at("arguments", call("delta",
		to(ordered.Int(7), "index"))))
	add("S009", "the index of a call is missing", at("arguments", call("delta", without("index"))))
	add("S009", "a call has no id", at("call", call("delta", without("id"))))
	add("S009", "a call has no type", body(call("message", without("type"))))
	add("S009 S014", "two calls have one id", where(and(parallel, inPieces), body(choice(
		func(c ordered.Value) ordered.Value {
			calls := c.At("message", "tool_calls").Items()
			if len(calls) == 0 {
				return c
			}
			return set(c, ordered.ArrayOf(calls[0], calls[0]), "message", "tool_calls")
		}))))
	add("S010", "arguments are encoded twice", where(and(required, inPieces), body(call("message",
		func(c ordered.Value) ordered.Value {
			text := c.At("function", "arguments").String()
			return set(c, ordered.Str(text), "function", "arguments")
		}))))
	add("S010", "arguments are an object", where(and(required, inPieces), body(call("message",
		func(c ordered.Value) ordered.Value {
			return set(c, ordered.MustParse(c.At("function", "arguments").Text()), "function",
				"arguments")
		}))))
	add("S010", "a fragment of the arguments is lost", where(required, dropFirst("arguments")))
	add("S010", "a fragment of the arguments comes twice", where(required, twice("arguments")))
	add("S014", "a delta comes twice", where(hello, twice("content")))
	add("S014", "text is taken back", where(required, func(r *Reply) {
		if r.Stream {
			r.Events = slices.Insert(r.Events, 1,
				Event{Data: WithDelta(r.Events[0].Data, ordered.MustParse(`{"content": "<tool"}`))})
		}
	}))
	add("S020", "the answer is reasoning although thinking is off", where(func(r *Reply) bool {
		on := r.Request.At("chat_template_kwargs", "enable_thinking")
		return !r.Stream && hello(r) && on.Kind() == ordered.Bool && !on.Bool()
	}, body(choice(func(c ordered.Value) ordered.Value {
		return c.With("message", ordered.Pairs("role", "assistant",
			"reasoning_content", c.At("message", "content"), "content", null))
	}))))
	add("S035", "a custom tool is called as a function", where(inPieces, body(call("message",
		func(c ordered.Value) ordered.Value {
			if c.At("type").Text() != "custom" {
				return c
			}
			return c.Without("custom").With("type", ordered.Str("function")).With("function",
				ordered.Pairs("name", c.At("custom", "name"),
					"arguments", ordered.Pairs("input", c.At("custom", "input")).String()))
		}))))
}

// numbered numbers the events of a response again after a change of their order.
func numbered(change func(*Reply)) func(*Reply) {
	return both(change, everyEvent(func(i int, v ordered.Value) ordered.Value {
		return v.With("sequence_number", ordered.Int(i))
	}))
}

// callItem changes the items of calls in an answer in one piece.
func callItem(change func(item ordered.Value) ordered.Value) func(*Reply) {
	return items("output", "call_id", change)
}

func ofResponses(add adder) {
	const added, done = "output_item.added", "output_item.done"
	add("S025", "no response.created", numbered(both(drop("response.created"))))
	add("S025", "response.created twice", numbered(twice("response.created")))
	add("S005", "no response.completed", drop("response.completed"))
	add("S005", "response.completed twice", twice("response.completed"))
	add("S005", "an event after the end", numbered(func(r *Reply) {
		if r.Stream {
			r.Events = append(r.Events, r.Events[1])
		}
	}))
	add("S005", "an error within a stream", failed(Event{"error", ordered.MustParse(
		`{"type": "error", "sequence_number": 2, "code": "x", "message": "out of memory", "param": null}`)}))
	add("S005", "[DONE] before the end", where(inStreams, func(r *Reply) {
		r.Events, r.Tail = r.Events[:2], "data: [DONE]\n\n"
	}))
	add("S025", "an item does not begin", numbered(dropFirst(added)))
	add("S025 S028", "an item does not end", numbered(dropFirst(done)))
	add("S025", "a part does not begin", numbered(dropFirst("content_part.added")))
	add("S025", "a part does not end", numbered(dropFirst("content_part.done")))
	add("S025", "a text is not done", numbered(dropFirst("output_text.done")))
	add("S025", "arguments are not done", numbered(dropFirst("arguments.done")))
	add("S025", "a delta before its part begins", numbered(early("output_text.delta")))
	add("S025 S028", "a text goes on after it is done", numbered(early("output_text.done")))
	add("S026", "the sequence has a gap", everyEvent(func(i int, v ordered.Value) ordered.Value {
		return v.With("sequence_number", ordered.Int(i+i/3))
	}))
	add("S026", "the sequence begins at 1", everyEvent(func(i int, v ordered.Value) ordered.Value {
		return v.With("sequence_number", ordered.Int(i+1))
	}))
	add("S026", "no sequence numbers", at("", without("sequence_number")))
	add("S026", "output_index is always 0", where(hello, at("",
		func(v ordered.Value) ordered.Value {
			if v.At("output_index").Text() == "1" {
				v = v.With("output_index", ordered.Int(0))
			}
			return v
		})))
	add("S026", "content_index is 1", at("output_text.delta", to(one, "content_index")))
	add("S027", "the item's id changes", at("output_text.delta",
		to(ordered.Str("msg_other"), "item_id")))
	add("S027", "deltas have no item's id", at("arguments.delta", without("item_id")))
	add("S027", "the response's id changes", at("response.completed",
		func(v ordered.Value) ordered.Value {
			return set(v, ordered.Str(v.At("response", "id").Text()+"-2"), "response", "id")
		}))
	add("S027 S028", "the call's id changes", at(done, func(v ordered.Value) ordered.Value {
		if v.At("item", "call_id").IsNull() {
			return v
		}
		return set(v, ordered.Str("call_other"), "item", "call_id")
	}))
	add("S027", "two items have one id", items("output", "id", to(ordered.Str("item_1"), "id")))
	add("S027", "a call has the id of its item only", callItem(without("call_id")))
	add("S028", "the whole text is another one", at("output_text.done",
		to(ordered.Str("Hello."), "text")))
	add("S028", "the whole arguments are others", at("arguments.done",
		to(ordered.Str("{}"), "arguments")))
	add("S028", "the last event has no items", at("response.completed",
		to(ordered.ArrayOf(), "response", "output")))
	add("S028", "a delta is lost", where(hello, numbered(dropFirst("output_text.delta"))))
	add("S028", "a delta comes twice", where(hello, numbered(twice("output_text.delta"))))
	add("S006", "an event of chat completions", numbered(insert(Event{"chat.completion.chunk",
		ordered.MustParse(`{"type": "chat.completion.chunk"}`)})))
	add("S004", "events have no names", nameless)
	add("S006", "the status at the end is in_progress", at("response.completed",
		to(ordered.Str("in_progress"), "response", "status")))
	add("S006", "deltas of arguments in a message", func(r *Reply) {
		const other = "response.function_call_arguments.delta"
		for i, e := range r.Events {
			if e.is("output_text.delta") {
				r.Events[i] = Event{other, e.Data.With("type", ordered.Str(other))}
			}
		}
	})
	add("S003", "the object is a chat completion's", body(to(ordered.Str("chat.completion"), "object")))
	add("S003", "a text's part has no annotations", where(hello,
		everywhere(`"annotations": [], `, "")))
	add("S013", "no usage", both(body(without("usage")), at("response.completed",
		without("response", "usage"))))
	add("S013", "usage in the words of chat completions", where(hello,
		body(func(v ordered.Value) ordered.Value {
			return replace(replace(v, `"input_tokens"`, `"prompt_tokens"`), `"output_tokens"`,
				`"completion_tokens"`)
		})))
	add("S013", "usage does not add up", body(to(one, "usage", "total_tokens")))
	add("S010", "arguments are an object", where(required, callItem(
		func(item ordered.Value) ordered.Value {
			return item.With("arguments", ordered.MustParse(item.At("arguments").Text()))
		})))
	add("S010", "arguments are encoded twice", where(required, callItem(
		func(item ordered.Value) ordered.Value {
			return item.With("arguments", ordered.Str(item.At("arguments").String()))
		})))
	add("S035", "a custom tool is called as a function", where(inPieces, callItem(
		func(item ordered.Value) ordered.Value {
			if item.At("type").Text() != "custom_tool_call" {
				return item
			}
			return item.Without("input").With("type", ordered.Str("function_call")).
				With("arguments", ordered.Str(ordered.Pairs("input", item.At("input")).String()))
		})))
}

func ofMessages(add adder) {
	const start, stop, delta = "content_block_start", "content_block_stop", "content_block_delta"
	add("S025", "no message_start", drop("message_start"))
	add("S025", "message_start twice", twice("message_start"))
	add("S005", "no message_stop", drop("message_stop"))
	add("S005", "message_stop twice", twice("message_stop"))
	add("S005", "data after message_stop", func(r *Reply) {
		r.Tail = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	})
	add("S005", "[DONE] at the end", func(r *Reply) { r.Tail = "data: [DONE]\n\n" })
	add("S005", "an error within a stream", failed(Event{"error", ordered.MustParse(
		`{"type": "error", "error": {"type": "api_error", "message": "out of memory"}}`)}))
	add("S005 S025", "no message_delta", drop("message_delta"))
	add("S025", "message_delta twice", twice("message_delta"))
	add("S025", "a block does not begin", where(hello, dropFirst(start)))
	add("S025", "a block does not end", where(hello, dropFirst(stop)))
	add("S025", "message_delta before the last block ends", early("message_delta"))
	add("S025 S026", "a delta before its block begins", where(hello, early(delta)))
	add("S025", "a delta after the signature", where(hello, early("signature_delta")))
	add("S026", "blocks are numbered from 10", at("",
		func(v ordered.Value) ordered.Value {
			if index := v.At("index"); !index.IsNull() {
				v = replace(v, `"index": `+index.Text(), `"index": 1`+index.Text())
			}
			return v
		}))
	add("S026", "all blocks have the index 0", at("",
		func(v ordered.Value) ordered.Value {
			if !v.At("index").IsNull() {
				v = v.With("index", ordered.Int(0))
			}
			return v
		}))
	add("S026", "deltas have no index", at(delta, without("index")))
	add("S027", "no id", at("message_start", without("message", "id")))
	add("S027", "a call has no id", items("content", "input", without("id")))
	add("S014 S027", "two calls have one id", where(and(parallel, inPieces),
		body(func(v ordered.Value) ordered.Value {
			blocks := v.At("content").Items()
			if blocks[len(blocks)-1].At("type").Text() != "tool_use" {
				return v
			}
			return v.With("content", ordered.ArrayOf(append(slices.Clone(blocks),
				blocks[len(blocks)-1])...))
		})))
	add("S004", "events have no names", nameless)
	add("S006", "an event of the Responses", insert(Event{"response.in_progress",
		ordered.MustParse(`{"type": "response.in_progress"}`)}))
	add("S006", "a delta is of another type than its block", where(hello, at(delta,
		func(v ordered.Value) ordered.Value {
			return replace(v, `"type": "text_delta"`, `"type": "input_json_delta"`)
		})))
	add("S006", "a call begins with its input", where(required, at(start,
		func(v ordered.Value) ordered.Value {
			return replace(v, `"input": {}`, `"input": {"city": "Bern"}`)
		})))
	add("S006", "message_start has a stop reason", at("message_start",
		to(ordered.Str("end_turn"), "message", "stop_reason")))
	add("S006", "thinking ends without a signature", where(hello, drop("signature_delta")))
	add("S006", "the stop reason is a finish reason", at("message_delta",
		to(ordered.Str("stop"), "delta", "stop_reason")))
	add("S003", "the type is a chat completion's", body(to(ordered.Str("chat.completion"), "type")))
	add("S003", "content is a text", body(to(ordered.Str("Hello."), "content")))
	add("S003", "thinking has no signature", where(hello,
		items("content", "signature", without("signature"))))
	add("S012", "a call ends by end_turn", where(required, both(
		body(to(ordered.Str("end_turn"), "stop_reason")),
		at("message_delta", to(ordered.Str("end_turn"), "delta", "stop_reason")))))
	add("S010", "an input is a text", where(required, items("content", "input",
		func(b ordered.Value) ordered.Value {
			return b.With("input", ordered.Str(b.At("input").String()))
		})))
	add("S010", "a fragment of the input is lost", where(required, dropFirst("input_json_delta")))
	add("S014", "a delta comes twice", where(hello, twice("text_delta")))
	add("S013", "no usage in a stream", at("message_delta", without("usage")))
	add("S013", "no usage in one piece", body(without("usage")))
	add("S013", "usage in the words of chat completions", body(func(v ordered.Value) ordered.Value {
		return replace(v, "input_tokens", "prompt_tokens")
	}))
	add("S013", "usage beyond the bound", body(to(ordered.Int(9999), "usage", "output_tokens")))
	add("S033", "tokens are counted differently", func(r *Reply) {
		if !r.Body.At("input_tokens").IsNull() && r.Status == 200 {
			r.Body = r.Body.With("input_tokens", ordered.Int(1))
		}
	})
	add("S034", "the stop is not named", where(func(r *Reply) bool {
		return !r.Request.At("stop_sequences").IsNull()
	}, both(body(to(ordered.Str("other"), "stop_sequence")))))
}
