package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// sent is an event as it goes over the wire.
type sent struct {
	name string
	data ordered.Value
}

// stream writes an answer with all kinds of parts and returns its events.
func stream(t *testing.T, p wire.Protocol) []sent {
	t.Helper()
	return streamed(t, p, answer, chat.FinishToolCalls)
}

// streamed writes an answer and returns its events.
func streamed(t *testing.T, p wire.Protocol, answer []chat.Delta, finish chat.FinishReason) []sent {
	t.Helper()
	r, err := p.Decode(parse(t, body(p, true)), sealer(t))
	if err != nil {
		t.Fatal(err)
	}
	w := p.Writer(wire.Envelope{ID: "1", Model: "m", Request: r, Sealer: sealer(t)})
	dst := w.Begin(nil, 7)
	for _, d := range answer {
		dst = w.Delta(dst, d)
	}
	dst = w.End(dst, wire.End{Finish: finish, Usage: chat.Usage{Prompt: 7, Completion: 9}})
	var events []sent
	for text := range strings.SplitSeq(strings.TrimSpace(string(dst)), "\n\n") {
		name, data, ok := strings.Cut(text, "\ndata: ")
		if !ok {
			name, data = "", strings.TrimPrefix(text, "data: ")
		}
		e := sent{name: strings.TrimPrefix(name, "event: ")}
		if data != done {
			e.data = parse(t, data)
		}
		events = append(events, e)
	}
	return events
}

// done is the data of the last event of chat completions.
const done = "[DONE]"

// read reads events; one without data is [DONE].
func read(p wire.Protocol, events []sent) wire.Answer {
	r := p.Reader()
	for _, e := range events {
		if e.data.IsNull() {
			r.Mark()
		} else {
			r.Event(e.name, e.data)
		}
	}
	return r.End()
}

// TestReaders reads the output of the writers, streamed and in one piece: the same message, and no
// fault.
func TestReaders(t *testing.T) {
	const want = `{"role": "assistant", "reasoning_content": "Think.", "content": "I look.é", "tool_calls": [` +
		`{"id": "0Y8SNdtoq", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}}, ` +
		`{"id": "own", "type": "function", "function": {"name": "sh", "arguments": %s}}]}`
	for _, p := range wire.All {
		input := `"lsé\n"`
		if p == wire.Messages {
			input = `"{\"input\": \"ls\\u00e9\\n\"}"`
		}
		request, err := p.Decode(parse(t, body(p, false)), sealer(t))
		if err != nil {
			t.Fatal(err)
		}
		w := p.Writer(wire.Envelope{ID: "1", Model: "m", Request: request, Sealer: sealer(t)})
		for _, d := range answer {
			w.Delta(nil, d)
		}
		whole := p.Read(w.Whole(wire.End{Finish: chat.FinishToolCalls,
			Usage: chat.Usage{Prompt: 7, Completion: 9}}))
		message := fmt.Sprintf(want, input)
		if p == wire.ChatCompletions {
			message = strings.Replace(fmt.Sprintf(want, `"lsé\n"`), "0Y8SNdtoq", "nKO0oT6Rq", 1)
		}
		for how, a := range map[string]wire.Answer{"streamed": read(p, stream(t, p)),
			"in one piece": whole} {
			if len(a.Faults) > 0 || !a.Whole || a.Finish != chat.FinishToolCalls ||
				a.Usage != (chat.Usage{Prompt: 7, Completion: 9}) || len(a.Sealed) != 1 &&
				p != wire.ChatCompletions || !a.Counted || a.ID == "" {
				t.Errorf("%s, %s: %+v", p.Name(), how, a)
			}
			want := message
			if how == "in one piece" { // an input that is an object is written anew
				want = strings.Replace(want, `ls\\u00e9`, "lsé", 1)
			}
			if got := a.Message.Value().String(); got != want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", p.Name(), how, got, want)
			}
		}
	}
}

// TestReadersCut reads a call whose arguments were cut off: the text is the same, streamed and in
// one piece, though an input of the Messages is an object in any case.
func TestReadersCut(t *testing.T) {
	answer := []chat.Delta{{ToolCalls: []chat.ToolCallDelta{
		{ID: "own", Name: "get_weather", Arguments: `{"city": "Be`}}}}
	for _, p := range wire.All {
		request, err := p.Decode(parse(t, body(p, false)), sealer(t))
		if err != nil {
			t.Fatal(err)
		}
		w := p.Writer(wire.Envelope{ID: "1", Model: "m", Request: request, Sealer: sealer(t)})
		w.Delta(nil, answer[0])
		whole := p.Read(w.Whole(wire.End{Finish: chat.FinishLength,
			Usage: chat.Usage{Prompt: 7, Completion: 9}}))
		for how, a := range map[string]wire.Answer{
			"streamed":     read(p, streamed(t, p, answer, chat.FinishLength)),
			"in one piece": whole} {
			if calls := a.Message.ToolCalls; len(a.Faults) > 0 || a.Finish != chat.FinishLength ||
				len(calls) != 1 || calls[0].Arguments != `{"city": "Be` {
				t.Errorf("%s, %s: %+v", p.Name(), how, a)
			}
		}
	}
}

// optional are members that a client can do without, by the end of their path.
var optional = []string{"/usage/cache", "/cached_tokens", "/reasoning_tokens", "/stop_sequence",
	"/logprobs", "/annotations", "/summary", "/encrypted_content", "/item/status", "_details",
	"/background", "/error", "/instructions", "/max_output_tokens", "/metadata",
	"/parallel_tool_calls", "/previous_response_id", "/reasoning", "/store", "/temperature",
	"/text/format", "/response/text", "/tool_choice", "/tools", "/top_p", "/truncation",
	"/message/stop_reason", "/effort", "/content_block/signature", "/message_delta/usage/input_tokens",
	"/response.created/response/usage", "/response.in_progress/response/usage", "/item/content",
	".function_call_arguments.done/name", "/delta/text/", "/item/arguments", "/item/input",
	"/part/text", "/added/item/role", "/done/item/role", "/response.output_item.added/item/summary"}

// without returns an event with each of its members removed, by their paths.
func without(v ordered.Value, path string, take func(path string, v ordered.Value)) {
	for _, m := range v.Members() {
		at := path + "/" + m.Key
		take(at, v.Without(m.Key))
		if m.Value.Kind() == ordered.Object {
			without(m.Value, at, func(p string, inner ordered.Value) {
				take(p, v.With(m.Key, inner))
			})
		}
	}
}

// TestReaderFaults drops, repeats and exchanges events, and removes members of them: each is found.
func TestReaderFaults(t *testing.T) {
	for _, p := range wire.All {
		right := stream(t, p)
		tried := 0
		expect := func(what string, events []sent) {
			t.Helper()
			tried++
			if a := read(p, events); len(a.Faults) == 0 {
				t.Errorf("%s: %s is not noticed", p.Name(), what)
			}
		}
		// only the Responses repeat the text, so that elsewhere a delta that is missing leaves no
		// trace
		silent := func(e sent) bool {
			if c := e.data.At("choices").Items(); p == wire.ChatCompletions && len(c) == 1 {
				delta := c[0].At("delta")
				return delta.At("role").IsNull() && c[0].At("finish_reason").IsNull() &&
					!strings.Contains(delta.String(), `"id"`)
			}
			return p == wire.Messages && e.name == "content_block_delta" &&
				e.data.At("delta", "type").Text() != "signature_delta"
		}
		for i, e := range right {
			if !silent(e) {
				// usage comes to those who ask for it; a reader does not know that
				if e.data.At("usage").IsNull() || p != wire.ChatCompletions {
					expect("without "+e.name, slices.Delete(slices.Clone(right), i, i+1))
				}
				if !strings.Contains(e.data.String(), `"role": "assistant", "content": ""`) {
					expect("twice "+e.name, slices.Insert(slices.Clone(right), i, e))
				}
			}
			// text and calls of chat completions have no order between them
			calls := func(e sent) bool { return strings.Contains(e.data.String(), `"tool_calls": [`) }
			if i > 0 && !(silent(e) && silent(right[i-1])) &&
				!(p == wire.ChatCompletions && silent(right[i-1]) && calls(e) &&
					!calls(right[i-1])) {
				swapped := slices.Clone(right)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				expect(e.name+" before "+right[i-1].name, swapped)
			}
			without(e.data, "/"+e.name, func(path string, v ordered.Value) {
				if slices.ContainsFunc(optional, func(end string) bool {
					return strings.Contains(path, end)
				}) {
					return
				}
				if path == "//usage" && e.data.At("usage").IsNull() { // as many servers have it
					return
				}
				events := slices.Clone(right)
				events[i].data = v
				expect(fmt.Sprintf("event %d without %s", i, path), events)
			})
			if p != wire.ChatCompletions { // whose events have no names
				renamed := slices.Clone(right)
				renamed[i].name = "message"
				expect(e.name+" under another name", renamed)
			}
		}
		if tried < 80 {
			t.Errorf("%s: %d faults were tried", p.Name(), tried)
		}
		t.Logf("%s: %d faults", p.Name(), tried)
	}
}

// FuzzReaders reads any events.
func FuzzReaders(f *testing.F) {
	f.Add(`[{"type": "message_start"}, {"type": "content_block_start", "index": 0}]`)
	f.Add(`[{"type": "response.created"}, {"type": "response.output_text.delta"}, {"type": "response.output_item.done"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ordered.ParseString(text)
		if err != nil {
			return
		}
		var events []sent
		for _, e := range v.Items() {
			events = append(events, sent{e.At("type").Text(), e})
		}
		for _, p := range wire.All {
			if a := read(p, events); a.Whole && len(events) < 2 && len(a.Faults) == 0 {
				t.Errorf("%s is a whole answer", text)
			}
			p.Read(v)
		}
	})
}

// TestCompletionFaults reads chunks with one fault each, between a first one and the last ones.
func TestCompletionFaults(t *testing.T) {
	chunk := func(choices string) string {
		return `{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [` + choices + `]}`
	}
	delta := func(d string) string {
		return chunk(`{"index": 0, "delta": ` + d + `, "finish_reason": null}`)
	}
	stop := chunk(`{"index": 0, "delta": {}, "finish_reason": "stop"}`)
	for _, tt := range []struct{ first, event, want string }{
		{`{"role": "assistant"}`, delta(`{"content": "a"}`), ""},
		{`{"role": "user"}`, delta(`{}`), "the first delta has not the role of the assistant"},
		{`{"role": "assistant"}`, delta(`{"role": "user"}`), "a delta has another role than the assistant's"},
		{`{"role": "assistant"}`, delta(`{"content": "a", "reasoning_content": "b"}`), "a delta has reasoning and content"},
		{`{"role": "assistant"}`, delta(`{"content": 3}`), "choices[0].delta.content"},
		{`{"role": "assistant"}`, delta(`{"tool_calls": 3}`), "choices[0].delta.tool_calls"},
		{`{"role": "assistant"}`, delta(`3`), "choices[0].delta"},
		{`{"role": "assistant"}`, chunk(`{"index": 0, "delta": {}, "finish_reason": null}, {"index": 1, "delta": {}, "finish_reason": null}`), "choices: expected one choice"},
		{`{"role": "assistant"}`, chunk(`{"index": 1, "delta": {}, "finish_reason": null}`), "choices[0].index"},
		{`{"role": "assistant"}`, chunk(`{"index": 0, "delta": {}, "finish_reason": "tired"}`), "finish_reason"},
		{`{"role": "assistant"}`, stop, "the finish reason comes again"},
		{`{"role": "assistant"}`, strings.Replace(delta(`{}`), `"id": "c"`, `"id": "d"`, 1), "id: it changes"},
		{`{"role": "assistant"}`, delta(`{"tool_calls": [{"index": "x"}]}`), "index"},
		{`{"role": "assistant"}`, delta(`{"tool_calls": [{"index": 7, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]}`), "index"},
		{`{"role": "assistant"}`, `{"error": {"message": "gone"}}`, "an event comes after the end"},
	} {
		var events []sent
		for _, text := range []string{delta(tt.first), tt.event, stop} {
			events = append(events, sent{data: parse(t, text)})
		}
		a := read(wire.ChatCompletions, append(events, sent{}))
		found := fmt.Sprint(a.Faults)
		if tt.want == "" && len(a.Faults) > 0 || !strings.Contains(found, tt.want) {
			t.Errorf("%s: %s, want %q", tt.event, found, tt.want)
		}
	}
}
