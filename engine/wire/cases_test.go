package wire_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// TestCases puts objects to the protocols, and compares what comes of them. Each case of
// testdata/cases.txt is a line "== VERB PROTOCOL: NAME", lines of JSON, and the result beneath "--":
//
//	ask      the request in the protocol's words
//	decode   what the server understands
//	read     the answer of a stream, an event a line: "TYPE {...}", "{...}" or "[DONE]"
//	whole    the answer of an object
//	refusal  the message of an error object
func TestCases(t *testing.T) {
	const file = "testdata/cases.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	all := strings.TrimPrefix(strings.TrimSpace(string(text)), "== ")
	for c := range strings.SplitSeq(all, "\n== ") {
		head, rest, _ := strings.Cut(c, "\n")
		input, _, _ := strings.Cut(rest, "\n--")
		verb, of, _ := strings.Cut(head, " ")
		name, _, _ := strings.Cut(of, ":")
		for _, p := range wire.All {
			if p.Name() == name || name == "chat" && p == wire.ChatCompletions {
				fmt.Fprintf(&out, "== %s\n%s\n--\n%s\n", head, input, result(t, verb, p, input))
			}
		}
	}
	golden(t, file, out.String())
}

// result is what comes of the input of a case.
func result(t *testing.T, verb string, p wire.Protocol, input string) string {
	t.Helper()
	switch verb {
	case "ask":
		v, err := p.Ask(parse(t, input))
		if err != nil {
			return "error: " + err.Error()
		}
		return v.String()
	case "decode":
		r, err := p.Decode(parse(t, input), nil)
		if err != nil {
			return "error: " + err.Error()
		}
		r.Chat.Rest = ordered.Value{}
		return fmt.Sprintf("%s\nstrict %t, sampling %s", r.Chat.Value(), r.Strict, r.Sampling)
	case "whole":
		return described(p.Read(parse(t, input)))
	case "refusal":
		message, err := p.ReadRefusal(parse(t, input))
		return fmt.Sprintf("%q, %v", message, err)
	}
	var events []sent
	for line := range strings.SplitSeq(input, "\n") {
		if line == done {
			events = append(events, sent{})
			continue
		}
		kind, data, _ := strings.Cut(line, "{")
		v := parse(t, "{"+data)
		if kind = strings.TrimSpace(kind); kind != "" {
			v = ordered.ObjectOf(append([]ordered.Member{ordered.MemberOf("type",
				ordered.Str(kind))}, v.Members()...)...)
		}
		events = append(events, sent{kind, v})
	}
	return described(read(p, events))
}

// described is an answer with its faults, a line each.
func described(a wire.Answer) string {
	s := fmt.Sprintf("%s\n%s, finish %q, stop %q, usage %d+%d, whole %t, lost %t, broken %q, sealed %q",
		a.Message.Value(), a.ID, a.Finish, a.Stop, a.Usage.Prompt, a.Usage.Completion, a.Whole,
		a.Lost, a.Broken, a.Sealed)
	s += "\nturn " + ordered.ArrayOf(a.Turn...).String()
	for _, f := range a.Faults {
		s += "\n" + f.String()
	}
	return s
}

// TestEnds ends answers in every way, without a seal and with reasoning left out.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		p    wire.Protocol
		more string
		end  wire.End
		want string
	}{
		{wire.Messages, "", wire.End{Stop: "x", Finish: chat.FinishStop}, `"stop_reason": "stop_sequence", "stop_sequence": "x"`},
		{wire.Messages, "", wire.End{Finish: chat.FinishStop}, `"stop_reason": "end_turn", "stop_sequence": null`},
		{wire.Messages, "", wire.End{Finish: chat.FinishContentFilter}, `"stop_reason": "refusal"`},
		{wire.Messages, "", wire.End{Finish: chat.FinishLength}, `"stop_reason": "max_tokens"`},
		{wire.Messages, "", wire.End{}, `{"type": "thinking", "thinking": "r", "signature": ""}, {"type": "text", "text": "c"}, {"type": "tool_use", "id": "i", "name": "f", "input": {"INVALID_JSON": "3"}}]`},
		{wire.Messages, `, "thinking": {"type": "adaptive", "display": "omitted"}`, wire.End{}, `{"type": "thinking", "thinking": "", "signature": ""}`},
		{wire.Responses, "", wire.End{Finish: chat.FinishContentFilter}, `"incomplete_details": {"reason": "content_filter"}`},
		{wire.Responses, "", wire.End{Finish: chat.FinishLength}, `"incomplete_details": {"reason": "max_output_tokens"}`},
		{wire.Responses, "", wire.End{Finish: chat.FinishStop}, `{"type": "reasoning", "id": "rs_1_0", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}], "status": "completed"}`},
		{wire.Responses, `, "include": ["reasoning.encrypted_content"]`, wire.End{}, `"encrypted_content": null, "status": "completed"}`},
	} {
		head := `{"input": "x"`
		if tt.p == wire.Messages {
			head = `{"max_tokens": 9, ` + user
		}
		r, err := tt.p.Decode(parse(t, head+tt.more+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := tt.p.Writer(wire.Envelope{ID: "1", Request: r})
		w.Delta(nil, chat.Delta{Reasoning: "r", Content: "c",
			ToolCalls: []chat.ToolCallDelta{{ID: "i", Name: "f", Arguments: "3"}}})
		if got := w.Whole(tt.end).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s%s: no %s in %s", tt.p.Name(), tt.more, tt.want, got)
		}
	}
}

// TestStreams streams answers as the request asks: with usage or without, reasoning left out.
func TestStreams(t *testing.T) {
	for _, tt := range []struct {
		p          wire.Protocol
		body       string
		want, lack string
	}{
		{wire.ChatCompletions, `{` + user + `, "stream": true}`, "data: [DONE]\n\n", `"usage"`},
		{wire.ChatCompletions, `{` + user + `, "stream": true, "stream_options": {"include_usage": true}}`, `"usage":{"prompt_tokens":1`, "event:"},
		{wire.ChatCompletions, `{` + user + `}`, "", "data"},
		{wire.Messages, `{"max_tokens": 9, ` + user + `, "stream": true, "thinking": {"type": "adaptive", "display": "omitted"}}`, "signature_delta", "thinking_delta"},
		{wire.Messages, `{"max_tokens": 9, ` + user + `, "stream": true}`, "thinking_delta", "[DONE]"},
		{wire.Responses, `{"input": "x", "stream": true}`, "response.completed", "encrypted_content"},
	} {
		r, err := tt.p.Decode(parse(t, tt.body), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := tt.p.Writer(wire.Envelope{ID: "1", Request: r})
		dst := w.Delta(w.Begin(nil, 1), chat.Delta{Reasoning: "r", Content: "c"})
		got := string(w.End(dst, wire.End{Finish: chat.FinishStop, Usage: chat.Usage{Prompt: 1}}))
		if !strings.Contains(got, tt.want) || strings.Contains(got, tt.lack) {
			t.Errorf("%s: expected %q and no %q in\n%s", tt.body, tt.want, tt.lack, got)
		}
	}
}

// TestRefuse writes refusals as each protocol has them.
func TestRefuse(t *testing.T) {
	context := &wire.Refusal{Reason: wire.TooLarge, Code: wire.ContextLength, Message: "9 of 5"}
	for _, tt := range []struct {
		p    wire.Protocol
		r    *wire.Refusal
		want string
	}{
		{wire.Messages, context, `413 {"type": "error", "error": {"type": "request_too_large", "message": "prompt is too long: 9 of 5"}}`},
		{wire.Messages, &wire.Refusal{Reason: wire.Unavailable, Message: "m"}, `529 {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}`},
		{wire.Messages, wire.AsRefusal(os.ErrNotExist, wire.Internal), `500 {"type": "error", "error": {"type": "api_error", "message": "the server fails; its log has the cause"}}`},
		{wire.Messages, wire.AsRefusal(os.ErrNotExist, wire.NotFound), `404 {"type": "error", "error": {"type": "not_found_error", "message": "file does not exist"}}`},
	} {
		status, body := tt.p.Refuse(tt.r)
		if got := fmt.Sprint(status, " ", body); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestPlace translates paths of chat completions into those of the protocols.
func TestPlace(t *testing.T) {
	decoded := map[wire.Protocol]*wire.Request{}
	for _, p := range wire.All {
		r, err := p.Decode(parse(t, body(p, false)), sealer(t))
		if err != nil {
			t.Fatal(err)
		}
		decoded[p] = r
	}
	for _, tt := range []struct{ path, chat, responses, messages string }{
		{"messages", "messages", "input", "messages"},
		{"json_schema.a", "response_format.json_schema.schema.a", "text.format.schema.a", "output_config.format.schema.a"},
		{"tools[1].function.name", "tools[1].function.name", "tools[1].name", "tools[1].name"},
		{"tools[1].function.parameters.x", "tools[1].function.parameters.x", "tools[1].parameters.x", "tools[1].input_schema.x"},
		{"tool_choice.function", "tool_choice.function", "tool_choice.function", "tool_choice.function"},
		{"other", "other", "other", "other"},
	} {
		got := []string{decoded[wire.ChatCompletions].Place(tt.path),
			decoded[wire.Responses].Place(tt.path), decoded[wire.Messages].Place(tt.path)}
		want := []string{tt.chat, tt.responses, tt.messages}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, want %q", tt.path, got, want)
		}
	}
}

// broken is a source of randomness that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrClosed }

// TestNoRandomness seals nothing where there is no randomness.
func TestNoRandomness(t *testing.T) {
	s, err := wire.NewSealer(make([]byte, 32), broken{})
	if err != nil {
		t.Fatal(err)
	}
	if sealed, err := s.Seal("x"); err != os.ErrClosed || sealed != "" {
		t.Errorf("got %q, %v", sealed, err)
	}
	r, err := wire.Messages.Decode(parse(t, `{"max_tokens": 9, `+user+`}`), s)
	if err != nil {
		t.Fatal(err)
	}
	w := wire.Messages.Writer(wire.Envelope{ID: "1", Request: r, Sealer: s})
	w.Delta(nil, chat.Delta{Reasoning: "r"})
	if got := w.Whole(wire.End{}).At("content").String(); got != `[{"type": "thinking", "thinking": "r", "signature": ""}]` {
		t.Errorf("got %s", got)
	}
}

// TestShownReasoning hands sealed reasoning back beside its text, beside none and beside another.
func TestShownReasoning(t *testing.T) {
	s := sealer(t)
	sealed, err := s.Seal("a")
	if err != nil {
		t.Fatal(err)
	}
	for shown, want := range map[string]string{"a": "a", "": "a",
		"b": "messages[0].content[0].signature: invalid signature: it was altered, or sealed by a server with another key"} {
		body := parse(t, fmt.Sprintf(`{"max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": %q, "signature": %q}]}, {"role": "user", "content": "x"}]}`, shown, sealed))
		r, err := wire.Messages.Decode(body, s)
		got := fmt.Sprint(err)
		if err == nil {
			got = r.Chat.Messages[0].At("reasoning_content").Text()
		}
		if got != want {
			t.Errorf("beside %q: got %q, want %q", shown, got, want)
		}
	}
}

// TestManyFaults keeps the first hundred faults of an answer.
func TestManyFaults(t *testing.T) {
	r := wire.Messages.Reader()
	for range 200 {
		r.Mark()
	}
	a := r.End()
	if len(a.Faults) != 100 || a.Faults[99].Evidence != "event 100" {
		t.Errorf("%d faults, the last %v", len(a.Faults), a.Faults[len(a.Faults)-1])
	}
}

// TestFollowNothing goes on after an answer without calls.
func TestFollowNothing(t *testing.T) {
	turn := []ordered.Value{ordered.Str("turn")}
	for p, want := range map[wire.Protocol]string{
		wire.ChatCompletions: `{"messages": [1, "turn"]}`,
		wire.Messages:        `{"messages": [1, "turn"]}`,
		wire.Responses:       `{"input": [1, "turn"]}`,
	} {
		request := parse(t, `{"messages": [1]}`)
		if p == wire.Responses {
			request = parse(t, `{"input": [1]}`)
		}
		if got := p.Follow(request, &wire.Answer{Turn: turn}, nil).String(); got != want {
			t.Errorf("%s: got %s, want %s", p.Name(), got, want)
		}
	}
	for custom, want := range map[bool]string{true: "custom_tool_call_output",
		false: "function_call_output"} {
		next := wire.Responses.Follow(parse(t, "{}"), &wire.Answer{}, []wire.Result{{ID: "c", Text: "x", Custom: custom}})
		if got := next.At("input").Items()[0].At("type").Text(); got != want {
			t.Errorf("custom %t: got %s", custom, got)
		}
	}
}
