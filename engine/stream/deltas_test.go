package stream_test

import (
	"iter"
	"reflect"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/stream"
)

// said yields an output byte by byte, and a reason with the last one.
func said(output string, reason chat.FinishReason) iter.Seq2[[]byte, chat.FinishReason] {
	return func(yield func([]byte, chat.FinishReason) bool) {
		for i := range len(output) {
			why := chat.FinishReason("")
			if i == len(output)-1 {
				why = reason
			}
			if !yield([]byte{output[i]}, why) {
				return
			}
		}
	}
}

// TestDeltas compares the iterator with Write and Close.
func TestDeltas(t *testing.T) {
	const output = "Let me see.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bern\"}}\n</tool_call> a <"
	out := generate(t, forms[0].f, usual(""))
	for _, reason := range []chat.FinishReason{"", chat.FinishStop, chat.FinishLength} {
		fed := stream.NewParser(out)
		var want []chat.Delta
		keep := func(d chat.Delta) chat.Delta {
			d.ToolCalls = append([]chat.ToolCallDelta(nil), d.ToolCalls...)
			return d
		}
		for piece, why := range said(output, reason) {
			for _, d := range fed.Write(piece) {
				want = append(want, keep(d))
			}
			if why != "" {
				break
			}
		}
		for _, d := range fed.Close(reason) {
			want = append(want, keep(d))
		}
		p := stream.NewParser(out)
		var got []chat.Delta
		for d := range p.Deltas(said(output, reason)) {
			got = append(got, keep(d))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got\n%v\nwant\n%v", reason, got, want)
		}
		if !reflect.DeepEqual(p.Message(), fed.Message()) || p.Finish() != fed.Finish() {
			t.Errorf("%q: got %v, %s\nwant %v, %s", reason, p.Message(), p.Finish(), fed.Message(),
				fed.Finish())
		}
	}
	n := 0
	for p := stream.NewParser(out); n == 0; {
		for range p.Deltas(said("a <", "")) { // two deltas, the second by the end
			if n++; n == 2 {
				break
			}
		}
	}
	if n != 2 {
		t.Errorf("%d deltas before a caller leaves at the second", n)
	}
	p := stream.NewParser(out)
	for range p.Deltas(said(output, "")) {
		break // a caller that has seen enough
	}
	if p.Message().Content == "" || len(p.Close(chat.FinishLength)) > 1 {
		t.Error("a parser that was left early has lost text, or read on")
	}
}
