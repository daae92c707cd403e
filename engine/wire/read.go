package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// A FaultKind is a sort of fault that a client stumbles over.
type FaultKind uint8

// The kinds of faults.
const (
	FaultShape      FaultKind = iota // an object lacks a member, or has one of another type
	FaultOrder                       // an event comes where it must not, or does not come
	FaultNumber                      // an index or a sequence number is not the next one
	FaultID                          // an id is missing, comes twice or changes
	FaultText                        // the whole text of a part is not its deltas put together
	FaultCharacters                  // a text is no UTF-8
	FaultUsage                       // counts of tokens are missing or do not add up
	FaultEnd                         // the answer does not come to its end
)

// Fault is one thing that a client stumbles over.
type Fault struct {
	Kind FaultKind
	Text string
}

// maxFaults bounds the faults that are kept of one answer.
const maxFaults = 100

// Answer is an answer as a client understands it.
type Answer struct {
	// Message has the parts of each kind put together. Calls of custom tools have their input as
	// arguments.
	Message chat.Message
	Finish  chat.FinishReason
	Stop    string // the stop that ended it
	Usage   chat.Usage
	Whole   bool   // it came to its end
	Broken  string // the error with which the server ended it
	Faults  []Fault
	Sealed  []string // reasoning in sealed form
}

func (a *Answer) fault(kind FaultKind, format string, args ...any) {
	if len(a.Faults) < maxFaults {
		a.Faults = append(a.Faults, Fault{kind, fmt.Sprintf(format, args...)})
	}
}

// text demands a text.
func (a *Answer) text(v ordered.Value, path string) string {
	if v.Kind() != ordered.String {
		a.fault(FaultShape, "%s: expected a text, found %s", path, ordered.Excerpt(v, 60))
		return ""
	}
	if !utf8.ValidString(v.Text()) {
		a.fault(FaultCharacters, "%s: %s is no UTF-8", path, ordered.Excerpt(v, 60))
	}
	return v.Text()
}

// id demands a text that is not empty.
func (a *Answer) id(v ordered.Value, path string) string {
	if v.Kind() != ordered.String || v.Text() == "" {
		a.fault(FaultID, "%s: expected an id, found %s", path, ordered.Excerpt(v, 60))
	}
	return v.Text()
}

// word demands one of some words.
func (a *Answer) word(v ordered.Value, path string, words ...string) {
	for _, w := range words {
		if v.Kind() == ordered.String && v.Text() == w {
			return
		}
	}
	a.fault(FaultShape, "%s: expected %q, found %s", path, words, ordered.Excerpt(v, 60))
}

// kind demands a value of a type.
func (a *Answer) kind(v ordered.Value, path string, k ordered.Kind) {
	if v.Kind() != k {
		a.fault(FaultShape, "%s: expected %s, found %s", path, k, ordered.Excerpt(v, 60))
	}
}

// count demands a number from 0.
func (a *Answer) count(v ordered.Value, path string) int {
	var n int
	if _, err := fmt.Sscan(v.Text(), &n); err != nil || v.Kind() != ordered.Number || n < 0 {
		a.fault(FaultUsage, "%s: expected a count, found %s", path, ordered.Excerpt(v, 60))
	}
	return n
}

// next demands that an index is the one that is expected.
func (a *Answer) next(v ordered.Value, path string, want int) bool {
	if v.Kind() != ordered.Number || v.Text() != fmt.Sprint(want) {
		a.fault(FaultNumber, "%s: expected %d, found %s", path, want, ordered.Excerpt(v, 60))
		return false
	}
	return true
}

// take adds a part of an answer to the message.
func (a *Answer) take(b *readBlock) {
	text := b.whole.String()
	switch b.kind {
	case "thinking", "reasoning":
		a.Message.Reasoning += text
	case "text", "message":
		a.Message.Content += text
	default:
		a.Message.ToolCalls = append(a.Message.ToolCalls, chat.ToolCall{ID: b.id, Name: b.name,
			Arguments: text, Complete: true})
	}
}

// readBlock is a block or an item that is being read.
type readBlock struct {
	kind     string
	id, name string
	item     string // the id of an item
	whole    strings.Builder
	sealed   string
	part     int8 // of an item with parts: 0 before its part, 1 within, 2 after
	done     bool // the event with its whole text came
}

// MessagesReader reads the events of an answer of the Messages.
type MessagesReader struct {
	a      Answer
	state  int8 // 0 before message_start, 1 between blocks, 2 after message_delta, 3 after the end
	blocks int
	open   *readBlock
	prompt int
}

// Event takes an event.
func (r *MessagesReader) Event(name string, v ordered.Value) {
	a := &r.a
	kind := v.At("type").Text()
	if name != kind {
		a.fault(FaultShape, "the event %q has data of the type %q", name, kind)
	}
	if kind == "ping" {
		return
	}
	if kind == "error" {
		message, fault := refusedMessages(v)
		if fault != nil {
			a.fault(FaultShape, "%v", fault)
		}
		a.Broken, r.state = message, 3
		return
	}
	if r.state == 3 {
		a.fault(FaultOrder, "%s comes after the end", kind)
		return
	}
	if (kind == "message_start") != (r.state == 0) {
		a.fault(FaultOrder, "%s comes %s", kind,
			map[bool]string{true: "before message_start", false: "again"}[r.state == 0])
		if r.state == 0 {
			r.state = 1
		}
	}
	switch kind {
	case "message_start":
		r.state = 1
		m := v.At("message")
		a.head(m)
		if len(m.At("content").Items()) > 0 || m.At("content").Kind() != ordered.Array {
			a.fault(FaultShape, "message.content: expected [], found %s",
				ordered.Excerpt(m.At("content"), 60))
		}
		if !m.At("stop_reason").IsNull() {
			a.fault(FaultShape, "message.stop_reason: expected null at the beginning")
		}
		r.prompt = a.count(m.At("usage", "input_tokens"), "message.usage.input_tokens")
		a.count(m.At("usage", "output_tokens"), "message.usage.output_tokens")
	case "content_block_start":
		r.start(v)
	case "content_block_delta":
		r.delta(v)
	case "content_block_stop":
		if r.current(v, kind) {
			r.close()
		}
	case "message_delta":
		r.ended("message_delta")
		if r.state == 2 {
			a.fault(FaultOrder, "message_delta comes again")
		}
		r.state = 2
		a.stopReason(v.At("delta"), "delta")
		a.Usage = chat.Usage{Prompt: r.prompt,
			Completion: a.count(v.At("usage", "output_tokens"), "usage.output_tokens")}
		if in := v.At("usage", "input_tokens"); !in.IsNull() {
			a.Usage.Prompt = a.count(in, "usage.input_tokens")
		}
	case "message_stop":
		if r.state != 2 {
			a.fault(FaultOrder, "message_stop comes before message_delta")
		}
		a.Whole, r.state = r.state == 2, 3
	default:
		a.fault(FaultShape, "an event of the type %q", kind)
	}
}

// ended demands that no block is open.
func (r *MessagesReader) ended(kind string) {
	if r.open != nil {
		r.a.fault(FaultOrder, "%s comes before block %d has ended", kind, r.blocks-1)
		r.close()
	}
	if r.state == 2 && kind != "message_delta" {
		r.a.fault(FaultOrder, "%s comes after message_delta", kind)
	}
}

func (r *MessagesReader) start(v ordered.Value) {
	r.ended("content_block_start")
	r.a.next(v.At("index"), "content_block_start: index", r.blocks)
	r.blocks++
	block := v.At("content_block")
	b := &readBlock{kind: block.At("type").Text()}
	switch b.kind {
	case "text":
		b.whole.WriteString(r.a.text(block.At("text"), "content_block.text"))
	case "thinking":
		b.whole.WriteString(r.a.text(block.At("thinking"), "content_block.thinking"))
		b.sealed = block.At("signature").Text()
	case "tool_use":
		b.id = r.a.id(block.At("id"), "content_block.id")
		b.name = r.a.id(block.At("name"), "content_block.name")
		if in := block.At("input"); in.Kind() != ordered.Object || len(in.Members()) > 0 {
			r.a.fault(FaultShape, "content_block.input: expected {}, found %s",
				ordered.Excerpt(in, 60))
		}
		for _, c := range r.a.Message.ToolCalls {
			if c.ID == b.id {
				r.a.fault(FaultID, "content_block.id: %q comes again", b.id)
			}
		}
	default:
		r.a.fault(FaultShape, "content_block.type: expected \"text\", \"thinking\" or "+
			"\"tool_use\", found %s", block.At("type"))
	}
	r.open = b
}

// current reports whether an event is of the open block.
func (r *MessagesReader) current(v ordered.Value, kind string) bool {
	if r.open == nil {
		r.a.fault(FaultOrder, "%s comes where no block is open", kind)
		return false
	}
	return r.a.next(v.At("index"), kind+": index", r.blocks-1)
}

func (r *MessagesReader) delta(v ordered.Value) {
	if !r.current(v, "content_block_delta") {
		return
	}
	d := v.At("delta")
	kind := d.At("type").Text()
	keys := map[string][2]string{"text_delta": {"text", "text"},
		"thinking_delta": {"thinking", "thinking"}, "signature_delta": {"thinking", "signature"},
		"input_json_delta": {"tool_use", "partial_json"}}
	of, ok := keys[kind]
	if !ok || of[0] != r.open.kind {
		r.a.fault(FaultShape, "a delta of the type %q in a block of the type %q", kind,
			r.open.kind)
		return
	}
	text := r.a.text(d.At(of[1]), "delta."+of[1])
	if r.open.sealed != "" {
		r.a.fault(FaultOrder, "a %s comes after the signature", kind)
	}
	if kind == "signature_delta" {
		r.open.sealed += text
		return
	}
	r.open.whole.WriteString(text)
}

func (r *MessagesReader) close() {
	if r.open.kind == "thinking" {
		r.a.Sealed = append(r.a.Sealed, r.open.sealed)
		if r.open.sealed == "" {
			r.a.fault(FaultShape, "a block of thinking ends without a signature")
		}
	}
	if r.open.kind == "tool_use" && r.open.whole.Len() == 0 {
		r.open.whole.WriteString("{}")
	}
	r.a.take(r.open)
	r.open = nil
}

// End ends the stream and returns the answer.
func (r *MessagesReader) End() Answer {
	if r.open != nil {
		r.close()
	}
	return r.a.ended("message_stop")
}

// ended returns the answer of a stream that is over, whose last event should have been last.
func (a *Answer) ended(last string) Answer {
	if !a.Whole && a.Broken == "" {
		a.fault(FaultEnd, "the stream ends without %s", last)
	}
	return *a
}

// head checks the members of a message that do not grow.
func (a *Answer) head(m ordered.Value) {
	a.word(m.At("type"), "message.type", "message")
	a.word(m.At("role"), "message.role", "assistant")
	a.id(m.At("id"), "message.id")
	a.id(m.At("model"), "message.model")
}

// stopReason reads how an answer of the Messages ended.
func (a *Answer) stopReason(v ordered.Value, path string) {
	a.Stop = v.At("stop_sequence").Text()
	switch reason := v.At("stop_reason"); reason.Text() {
	case "end_turn", "stop_sequence":
		a.Finish = chat.FinishStop
	case "tool_use":
		a.Finish = chat.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		a.Finish = chat.FinishLength
	case "refusal":
		a.Finish = chat.FinishContentFilter
	default:
		a.fault(FaultShape, "%s.stop_reason: expected a reason, found %s", path,
			ordered.Excerpt(reason, 60))
	}
}

// ReadMessage reads an answer of the Messages in one piece.
func ReadMessage(v ordered.Value) Answer {
	var a Answer
	a.head(v)
	a.kind(v.At("content"), "content", ordered.Array)
	for i, block := range v.At("content").Items() {
		path := fmt.Sprintf("content[%d]", i)
		b := &readBlock{kind: block.At("type").Text()}
		switch b.kind {
		case "text":
			b.whole.WriteString(a.text(block.At("text"), path+".text"))
		case "thinking":
			b.whole.WriteString(a.text(block.At("thinking"), path+".thinking"))
			a.Sealed = append(a.Sealed, a.id(block.At("signature"), path+".signature"))
		case "tool_use":
			b.id = a.id(block.At("id"), path+".id")
			b.name = a.id(block.At("name"), path+".name")
			a.kind(block.At("input"), path+".input", ordered.Object)
			for _, c := range a.Message.ToolCalls {
				if c.ID == b.id {
					a.fault(FaultID, "%s.id: %q comes again", path, b.id)
				}
			}
			b.whole.WriteString(block.At("input").String())
		default:
			a.fault(FaultShape, "%s.type: expected \"text\", \"thinking\" or \"tool_use\", "+
				"found %s", path, block.At("type"))
			continue
		}
		a.take(b)
	}
	a.stopReason(v, "message")
	a.Usage = chat.Usage{Prompt: a.count(v.At("usage", "input_tokens"), "usage.input_tokens"),
		Completion: a.count(v.At("usage", "output_tokens"), "usage.output_tokens")}
	a.Whole = true
	return a
}

// refusedMessages reads an error object of the Messages.
func refusedMessages(v ordered.Value) (message string, fault error) {
	e := v.At("error")
	message = e.At("message").Text()
	switch {
	case v.At("type").Text() != "error":
		fault = fmt.Errorf("type: expected \"error\", found %s", v.At("type"))
	case e.At("type").Text() == "":
		fault = fmt.Errorf("error.type: expected a text, found %s", e.At("type"))
	case message == "":
		fault = fmt.Errorf("error.message: expected a text, found %s", e.At("message"))
	}
	return message, fault
}
