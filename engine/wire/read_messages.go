package wire

import (
	"cmp"
	"fmt"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// messagesReader reads the events of an answer of the Messages.
type messagesReader struct {
	a       Answer
	state   messagesState
	blocks  int
	open    *readBlock
	content []ordered.Value // of the turn
	usage   ordered.Value   // of message_start
}

// messagesState is how far a stream of the Messages has come.
type messagesState uint8

const (
	beforeMessage messagesState = iota
	inMessage
	afterDelta // message_delta has come
	afterMessage
)

func (messages) Reader() Reader { return new(messagesReader) }

// Mark implements [Reader].
func (r *messagesReader) Mark() {
	r.a.event++
	r.a.fault(FaultEnd, "[DONE] is no event of this protocol", "")
}

// Event implements [Reader].
func (r *messagesReader) Event(name string, v ordered.Value) {
	a := &r.a
	a.event++
	kind := v.At("type").Text()
	a.named(name, kind)
	switch {
	case r.state == afterMessage:
		a.fault(FaultEnd, kind+" comes after the end", "")
		return
	case kind == "ping":
		return
	case kind == "error":
		message, fault := Messages.ReadRefusal(v)
		if fault != nil {
			a.fault(FaultShape, "error: "+fault.Error(), "")
		}
		a.Broken, r.state = cmp.Or(message, "an error without a message"), afterMessage
		return
	case kind == "message_start" && r.state != beforeMessage:
		a.fault(FaultOrder, "message_start comes again", "")
		return
	case kind != "message_start" && r.state == beforeMessage:
		a.fault(FaultOrder, "the first event is not message_start", "it is %s", kind)
		r.state = inMessage
	}
	switch kind {
	case "message_start":
		r.state = inMessage
		m := v.At("message")
		a.messageHead(m, "message.")
		if c := m.At("content"); len(c.Items()) > 0 || c.Kind() != ordered.Array {
			a.expect(FaultShape, "message.content", "[]", c)
		}
		if reason := m.At("stop_reason"); !reason.IsNull() {
			a.expect(FaultShape, "message.stop_reason at the beginning", "null", reason)
		}
		r.usage = m.At("usage")
		a.count(r.usage.At("input_tokens"), "message.usage.input_tokens")
		a.count(r.usage.At("output_tokens"), "message.usage.output_tokens")
	case "content_block_start":
		r.start(v)
	case "content_block_delta":
		r.delta(v)
	case "content_block_stop":
		if r.current(v, kind) {
			r.close()
		}
	case "message_delta":
		r.between(kind)
		if r.state == afterDelta {
			a.fault(FaultOrder, "message_delta comes again", "")
		}
		r.state = afterDelta
		a.stopReason(v.At("delta"), "delta")
		a.messageUsage(v.At("usage"), r.usage)
	case "message_stop":
		if r.between(kind); r.state != afterDelta {
			a.fault(FaultOrder, "message_stop comes before message_delta", "")
		}
		a.Whole, r.state = r.state == afterDelta, afterMessage
	default:
		a.expect(FaultShape, "the type of an event", "one of this protocol's", v.At("type"))
	}
}

// between demands that no block is open.
func (r *messagesReader) between(kind string) {
	if r.open != nil {
		r.a.fault(FaultOrder, kind+" comes before the last block has ended", "block %d", r.blocks-1)
		r.close()
	}
	if r.state == afterDelta && kind == "content_block_start" {
		r.a.fault(FaultOrder, kind+" comes after message_delta", "")
	}
}

func (r *messagesReader) start(v ordered.Value) {
	const path = "content_block"
	r.between("content_block_start")
	r.a.next(v.At("index"), "content_block_start: index", r.blocks)
	r.blocks++
	block := v.At(path)
	if r.open = r.a.messageBlock(block, path); r.open == nil {
		r.open = &readBlock{kind: lostBlock}
	}
	if in := block.At("input"); r.open.kind == "tool_use" {
		if in.Kind() != ordered.Object || len(in.Members()) > 0 {
			r.a.expect(FaultShape, path+".input", "{}", in)
		}
		r.open.whole.Reset()
	}
}

// current reports whether a block is open that an event can be of.
func (r *messagesReader) current(v ordered.Value, kind string) bool {
	if r.open == nil {
		r.a.fault(FaultOrder, kind+" comes where no block is open", "")
		r.a.Lost = true
		if kind == "content_block_stop" {
			return false
		}
		r.open = &readBlock{kind: lostBlock}
		r.blocks++
	}
	r.a.next(v.At("index"), kind+": index", r.blocks-1)
	return true
}

// blockDeltas have the kind of block and the member of every type of delta.
var blockDeltas = map[string]struct{ block, key string }{
	"text_delta":       {"text", "text"},
	"thinking_delta":   {"thinking", "thinking"},
	"signature_delta":  {"thinking", "signature"},
	"input_json_delta": {"tool_use", "partial_json"},
}

func (r *messagesReader) delta(v ordered.Value) {
	r.current(v, "content_block_delta")
	d := v.At("delta")
	kind := d.At("type").Text()
	if r.open.kind == lostBlock {
		return
	}
	of, ok := blockDeltas[kind]
	if !ok || of.block != r.open.kind {
		r.a.fault(FaultShape, "a delta is of another type than its block", "%q in a block of the "+
			"type %q", kind, r.open.kind)
		r.a.Lost = true
		return
	}
	text := r.a.text(d.At(of.key), "delta."+of.key)
	if r.open.sealed != "" {
		r.a.fault(FaultOrder, "a delta comes after the signature", "%s", kind)
	}
	if kind == "signature_delta" {
		r.open.sealed += text
		return
	}
	r.open.whole.WriteString(text)
}

func (r *messagesReader) close() {
	b := r.open
	r.open = nil
	if b.kind == "thinking" && b.sealed == "" && r.state != afterMessage {
		r.a.fault(FaultShape, "a block of thinking ends without a signature", "")
	}
	if b.kind == "tool_use" && b.whole.Len() == 0 {
		b.whole.WriteString("{}")
	}
	if b.kind != lostBlock {
		r.content = append(r.content, r.a.closeBlock(b))
	}
}

// closeBlock adds a block to the message, and returns it as a client hands it back.
func (a *Answer) closeBlock(b *readBlock) ordered.Value {
	whole := b.whole.String()
	a.take(b)
	switch b.kind {
	case "thinking":
		a.Sealed = append(a.Sealed, b.sealed)
		return typed(b.kind, text("thinking", whole), text("signature", b.sealed))
	case "redacted_thinking":
		a.Sealed = append(a.Sealed, b.sealed)
		return typed(b.kind, text("data", b.sealed))
	case "tool_use":
		input, err := ordered.ParseString(whole)
		if err != nil { // a client cannot hand it back
			input = ordered.ObjectOf()
		}
		return typed(b.kind, text("id", b.id), text("name", b.name),
			ordered.MemberOf("input", input))
	}
	return typed(b.kind, text("text", whole))
}

// End implements [Reader].
func (r *messagesReader) End() Answer {
	r.state = afterMessage
	if r.open != nil {
		r.close()
	}
	r.a.turn(r.content)
	return r.a.ended("message_stop")
}

// turn keeps the blocks of an answer as a client hands them back.
func (a *Answer) turn(content []ordered.Value) {
	a.Turn = []ordered.Value{ordered.Pairs("role", "assistant", "content", content)}
}

// messageHead checks the members of a message that do not grow.
func (a *Answer) messageHead(m ordered.Value, path string) {
	a.word(m.At("type"), path+"type", "message")
	a.word(m.At("role"), path+"role", "assistant")
	a.id(m.At("model"), path+"model")
	a.ID = a.id(m.At("id"), path+"id")
}

// messageUsage reads counts; those that the last event does not repeat are from the first one.
// Tokens of the prompt that were cached are counted apart.
func (a *Answer) messageUsage(v, first ordered.Value) {
	if !a.counts(v) {
		return
	}
	a.Usage.Prompt = 0
	for _, key := range [...]string{"input_tokens", "cache_creation_input_tokens",
		"cache_read_input_tokens"} {
		n := v.At(key)
		if n.IsNull() {
			n = first.At(key)
		}
		if !n.IsNull() || key == "input_tokens" {
			a.Usage.Prompt += a.count(n, "usage."+key)
		}
	}
	a.Usage.Completion = a.count(v.At("output_tokens"), "usage.output_tokens")
}

// stopReason reads how an answer of the Messages ended.
func (a *Answer) stopReason(v ordered.Value, path string) {
	a.Stop = v.At("stop_sequence").Text()
	switch reason := v.At("stop_reason"); reason.Text() {
	case "end_turn", "stop_sequence":
		a.Finish = chat.FinishStop
		if (a.Stop != "") != (reason.Text() == "stop_sequence") {
			a.fault(FaultShape, path+".stop_sequence: expected the stop where it is the reason",
				"stop_reason %s, stop_sequence %s", reason, v.At("stop_sequence"))
		}
	case "tool_use":
		a.Finish = chat.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		a.Finish = chat.FinishLength
	case "refusal":
		a.Finish = chat.FinishContentFilter
	default:
		a.expect(FaultShape, path+".stop_reason", "a reason of this protocol's", reason)
	}
}

// messageBlock reads a block, as it begins or as a whole; nil where it is none of the protocol's.
func (a *Answer) messageBlock(v ordered.Value, path string) *readBlock {
	b := &readBlock{kind: v.At("type").Text()}
	switch b.kind {
	case "text":
		b.whole.WriteString(a.text(v.At("text"), path+".text"))
	case "thinking":
		b.whole.WriteString(a.text(v.At("thinking"), path+".thinking"))
		b.sealed = v.At("signature").Text()
	case "redacted_thinking":
		b.sealed = a.text(v.At("data"), path+".data")
	case "tool_use":
		b.id, b.name = a.id(v.At("id"), path+".id"), a.id(v.At("name"), path+".name")
		a.fresh(FaultID, b.id, path+".id")
		b.whole.WriteString(v.At("input").String())
	default:
		a.expect(FaultShape, path+".type", "a block of this protocol's", v.At("type"))
		a.Lost = true
		return nil
	}
	return b
}

func (messages) Read(v ordered.Value) Answer {
	var a Answer
	a.messageHead(v, "")
	a.kind(v.At("content"), "content", ordered.Array)
	a.Lost = v.At("content").Kind() != ordered.Array
	var content []ordered.Value
	for i, block := range v.At("content").Items() {
		path := fmt.Sprintf("content[%d]", i)
		b := a.messageBlock(block, path)
		if b == nil {
			continue
		}
		switch b.kind {
		case "tool_use":
			if in := block.At("input"); in.Kind() != ordered.Object {
				a.expect(FaultArguments, path+".input", "an object", in)
			} else if rest := in.Members(); len(rest) == 1 && rest[0].Key == unfinishedKey &&
				v.At("stop_reason").Text() == "max_tokens" {
				b.whole.Reset()
				b.whole.WriteString(rest[0].Value.Text())
			}
		case "thinking":
			if b.sealed == "" {
				a.expect(FaultShape, path+".signature", "a text", block.At("signature"))
			}
		}
		content = append(content, a.closeBlock(b))
	}
	a.turn(content)
	a.stopReason(v, "message")
	a.messageUsage(v.At("usage"), ordered.Value{})
	a.Whole = true
	return a.joined()
}

func (messages) ReadRefusal(v ordered.Value) (message string, fault error) {
	e := v.At("error")
	message = e.At("message").Text()
	switch {
	case v.At("type").Text() != "error":
		fault = shapeOf("type", `"error"`, v.At("type"))
	case e.At("type").Kind() != ordered.String || e.At("type").Text() == "":
		fault = shapeOf("error.type", "a text", e.At("type"))
	case e.At("message").Kind() != ordered.String || message == "":
		fault = shapeOf("error.message", "a text", e.At("message"))
	}
	return message, fault
}

func shapeOf(path, want string, found ordered.Value) error {
	return fmt.Errorf("%s: expected %s, found %s", path, want, ordered.Excerpt(found, 60))
}
