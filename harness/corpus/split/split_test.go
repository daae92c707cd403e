package split_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/corpus/split"
)

// echo answers with its input as content. Faults make it wrong in the ways that servers are wrong.
type echo struct {
	fault   string
	pending []byte
	message chat.Message
	writes  int
}

func (e *echo) Reset() { *e = echo{fault: e.fault} }

func (e *echo) Write(chunk []byte) []chat.Delta {
	e.writes++
	e.pending = append(e.pending, chunk...)
	n := len(e.pending)
	if e.fault != "splits runes" {
		for n > 0 && n > len(e.pending)-4 && e.pending[n-1] >= 0x80 {
			n--
		}
	}
	return e.emit(n)
}

func (e *echo) emit(n int) []chat.Delta {
	text := string(e.pending[:n])
	e.pending = e.pending[n:]
	if e.fault == "loses b at the start of a chunk" && e.writes > 1 {
		text = strings.TrimPrefix(text, "b")
	}
	e.message.Content += text
	if text == "" && e.fault != "empty deltas" {
		return nil
	}
	return []chat.Delta{{Content: text}}
}

func (e *echo) Close(chat.FinishReason) []chat.Delta { return e.emit(len(e.pending)) }
func (e *echo) Message() chat.Message                { return e.message }
func (e *echo) Finish() chat.FinishReason            { return chat.FinishStop }

func TestCheck(t *testing.T) {
	for _, c := range []struct{ fault, output, want string }{
		{"", "", ""},
		{"", "a é b", ""},
		{"loses b at the start of a chunk", "xxbxx", `cut at 2: the message differs from that of one chunk: content is "xxxx", want "xxbxx"` +
			"\n" + `chunks: "xx" | "bxx"`},
		{"splits runes", "aé", `cut at 2: delta protocol: delta 1 of 2, {"content": "a` + "\ufffd" + `"}: splits a UTF-8 sequence` +
			"\n" + `chunks: "a\xc3" | "\xa9"`},
		{"empty deltas", "a", `in one go: delta protocol: delta 2 of 2, {}: is empty`},
	} {
		answer, mismatch := split.Check(&echo{fault: c.fault}, c.output, chat.FinishStop)
		got := ""
		if mismatch != nil {
			got = mismatch.Error()
		}
		if got != c.want {
			t.Errorf("%q on %q:\ngot  %s\nwant %s", c.fault, c.output, got, c.want)
		}
		if answer.Message.Content != c.output {
			t.Errorf("%q on %q: content is %q", c.fault, c.output, answer.Message.Content)
		}
	}
}

func TestProtocol(t *testing.T) {
	call := func(cs ...chat.ToolCallDelta) chat.Delta { return chat.Delta{ToolCalls: cs} }
	start := call(chat.ToolCallDelta{Name: "f", ID: "1"})
	for _, c := range []struct {
		deltas []chat.Delta
		want   string // the end of the text
	}{
		{[]chat.Delta{{Reasoning: "r"}, {Content: "c"}, start, call(chat.ToolCallDelta{Arguments: "{}"})}, ""},
		{[]chat.Delta{{Reasoning: "r", Content: "c"}}, "has reasoning and content"},
		{[]chat.Delta{start, start}, "repeats a call's name"},
		{[]chat.Delta{start, call(chat.ToolCallDelta{ID: "2"})}, "repeats a call's id or brings it after arguments"},
		{[]chat.Delta{start, call(chat.ToolCallDelta{})}, "has an empty call"},
		{[]chat.Delta{call(chat.ToolCallDelta{Arguments: "{}"})}, "starts a call without its name"},
		{[]chat.Delta{call(chat.ToolCallDelta{Index: 1, Name: "f"})}, "has index 1, expected -1 or 0"},
		{[]chat.Delta{start, call(chat.ToolCallDelta{Arguments: "}"})}, `want {ID:1 Name:f Arguments:{} Complete:true}`},
	} {
		message := chat.Message{Reasoning: "r", Content: "c",
			ToolCalls: []chat.ToolCall{{ID: "1", Name: "f", Arguments: "{}", Complete: true}}}
		if c.deltas[0].Reasoning != "r" {
			message.Reasoning, message.Content = "", ""
		}
		got := split.Protocol(c.deltas, message, true)
		if !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("got %q, want ... %q", got, c.want)
		}
	}
}

func TestSchedules(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100, 3 * split.MaxExhaustive} {
		count := 0
		for cuts := range split.Schedules(n) {
			count++
			if !slices.IsSorted(cuts) || len(slices.Compact(slices.Clone(cuts))) != len(cuts) {
				t.Fatalf("%d bytes: cuts are not ascending: %v", n, cuts)
			}
			if len(cuts) > 0 && (cuts[0] <= 0 || cuts[len(cuts)-1] >= n) {
				t.Fatalf("%d bytes: a cut is outside: %v", n, cuts)
			}
		}
		if want := min(max(n-1, 0), split.MaxExhaustive-1) + 33; count != want &&
			n <= split.MaxExhaustive {
			t.Errorf("%d bytes: %d schedules, want %d", n, count, want)
		}
	}
}
