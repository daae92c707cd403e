// Package stream turns the bytes of a model's output into messages and deltas, as they arrive.
//
// # Model
//
// A [Parser] runs the program of a [codegen.Output] over the prefill and the output and translates
// the program's events. It handles all that a machine of patterns cannot know: that arguments wait
// for the name of their function, how the text of a value becomes JSON, which white space belongs
// to a marker, and how a message is put together from increments.
//
// # Deltas (E24)
//
// The deltas of a turn, put together, are its message, in any chunking. A call has a stable index;
// its id and name come once and before its arguments. Reasoning and content are never in one delta,
// no delta is empty, none ends inside a character. The part of the message that the prefill
// contributes comes with the first Write or Close.
//
// # White space (E19)
//
// White space beside a marker is not text: all of it where white space at markers is free (T1),
// else the template's own. Where text goes on after an interruption, the white space after the
// marker stays, to keep the two apart. Where the template trims, it goes at the ends too.
// Everything else is kept to the byte.
//
// # Tokens
//
// [Parser.WriteTokens] takes the output as token ids with their bytes. A marker that is a token of
// its own then matches that token alone, and text that spells it is text. There is one machine and
// one way to read: the program's literals have a byte before each token that no text has
// ([codegen.TokenMark]), and so has its input. The parser puts it in and takes it out; no text,
// place or length that it tells counts it.
//
// # Nothing is lost (E20)
//
// [Parser.Coverage] accounts for every byte: text of the message, a marker, or dropped.
//
// # Limits
//
// White space is held back up to [MaxSpace] bytes. Of a longer run whole blocks of that length are
// decided as if text followed them. The machine's limits are vm.Limits. Limits count bytes of the
// output from its beginning, so that they fall alike however it is cut.
//
// # Errors
//
// There are none: every text has a reading. [Parser.Diagnostics] has its oddities.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package stream

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
)

// Options are a caller's additions.
type Options struct {
	Limits vm.Limits
	// Event, where set, sees the program's events as they leave. It must not keep the text.
	Event func(peg.Event)
	// Step, where set, sees the machine's instructions.
	Step func(vm.Step)
	// Tokens, where set, tells [Parser.WriteTokens] how to read.
	Tokens *Tokens
}

// Parser parses one turn.
type Parser struct {
	out *codegen.Output
	o   Options
	m   *vm.Machine

	plain     *codegen.Output // the program for bytes, and its machine
	byBytes   *vm.Machine
	byTokens  *vm.Machine // nil until there are tokens
	tokens    bool        // the output comes in tokens
	joined    []byte      // the bytes written to the machine, where they differ from the input
	marks     []int       // where in the machine's text a byte stands that the output has not
	unescaped []byte      // an event's text without them

	content, reasoning strings.Builder
	calls              []*call
	deltas             []chat.Delta
	callDeltas         []chat.ToolCallDelta // those in deltas
	spans              []Span
	diagnostics        []Diagnostic
	// text of the last diagnostic, while more of it may be dropped, and where that would come
	dropped   strings.Builder
	droppedTo int
	read      int    // bytes written so far, the prefill included
	raw       []byte // all of them, where incomplete calls become text
	closed    bool
	reason    chat.FinishReason // why the output ended

	text textState
	call *call
}

// NewParser returns a parser for one turn.
func NewParser(out *codegen.Output) *Parser { return Options{}.NewParser(out) }

// NewParser returns a parser with options.
func (o Options) NewParser(out *codegen.Output) *Parser {
	m := vm.New(out.Program, o.Limits)
	m.Trace = o.Step
	p := &Parser{out: out, o: o, m: m, plain: out, byBytes: m}
	p.start()
	return p
}

// Reset makes the parser ready for another turn of the same plan.
func (p *Parser) Reset() {
	p.restart(p.plain, p.byBytes)
}

// restart makes the parser ready to read by a program.
func (p *Parser) restart(out *codegen.Output, m *vm.Machine) {
	*p = Parser{
		out: out, o: p.o, m: m,
		plain: p.plain, byBytes: p.byBytes, byTokens: p.byTokens, tokens: out != p.plain,
		joined: p.joined[:0], marks: p.marks[:0], unescaped: p.unescaped,
		deltas: p.deltas[:0], callDeltas: p.callDeltas[:0], spans: p.spans[:0],
	}
	m.Reset()
	p.start()
}

func (p *Parser) start() {
	p.text.fresh = true
	if p.out.Prefill != "" {
		p.m.Write([]byte(p.out.Prefill))
		p.read = len(p.out.Prefill)
		p.raw = []byte(p.out.Prefill)
		p.note(p.out.Prefill, 0)
		p.take()
	}
}

// Write reads more of the output and returns the deltas that it adds to the message. They are valid
// until the next call.
func (p *Parser) Write(piece []byte) []chat.Delta {
	if p.tokens {
		p.joined = p.appendText(p.joined[:0], piece)
		piece = p.joined
	}
	return p.write(piece)
}

func (p *Parser) write(piece []byte) []chat.Delta {
	if !p.closed && len(piece) > 0 {
		p.m.Write(piece)
		p.read += len(piece)
		if p.out.Incomplete == codegen.IncompleteText {
			p.raw = append(p.raw, piece...)
		}
		p.take()
	}
	return p.deliver()
}

// Close ends the output for a reason and returns the deltas that this adds to the message. A reason
// that cuts the output off ([chat.FinishReason.Cut]) leaves the last part as it stands; after any
// other one the model has ended its turn. A second Close changes nothing.
func (p *Parser) Close(reason chat.FinishReason) []chat.Delta {
	if !p.closed {
		p.closed, p.reason = true, reason
		p.m.Close()
		p.take()
		p.endText()
		if p.call != nil {
			p.endCall(false, p.read)
		}
		if err := p.m.Err(); err != nil {
			p.diagnose(Diagnostic{Off: p.m.Offset(), Kind: "limit", Msg: err.Error()})
		}
	}
	return p.deliver()
}

func (p *Parser) deliver() []chat.Delta {
	deltas := p.deltas
	p.deltas = p.deltas[:0]
	p.callDeltas = p.callDeltas[:0]
	return deltas
}

// Message returns the message as far as it is known.
func (p *Parser) Message() chat.Message {
	m := chat.Message{Reasoning: p.reasoning.String(), Content: p.content.String()}
	for _, c := range p.calls {
		m.ToolCalls = append(m.ToolCalls,
			chat.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String(), Complete: c.complete})
	}
	return m
}

// Deltas parses an output as it comes and yields the deltas of each piece. The output yields its
// pieces, each with the empty reason, except for the last one, which may have the reason why the
// output ends. Deltas closes the parser with that reason, or, where the output just ends, with
// [chat.FinishStop]. A delta is valid until the next one is asked for. A caller that stops early
// has not closed the parser.
func (p *Parser) Deltas(output iter.Seq2[[]byte, chat.FinishReason]) iter.Seq[chat.Delta] {
	return func(yield func(chat.Delta) bool) {
		ended := chat.FinishStop
		for piece, reason := range output {
			for _, d := range p.Write(piece) {
				if !yield(d) {
					return
				}
			}
			if reason != "" {
				ended = reason
				break
			}
		}
		for _, d := range p.Close(ended) {
			if !yield(d) {
				return
			}
		}
	}
}

// Finish returns why the turn ended (E22): tool_calls where a complete call is there and the output
// was not cut off inside a further one, else the reason that Close was given.
func (p *Parser) Finish() chat.FinishReason {
	n := len(p.calls)
	switch {
	case p.reason.Cut() && n > 0 && !p.calls[n-1].complete:
		return p.reason
	case slices.ContainsFunc(p.calls, func(c *call) bool { return c.complete }):
		return chat.FinishToolCalls
	case p.reason.Cut():
		return p.reason
	}
	return chat.FinishStop
}

// Prefill returns how many bytes of the text that offsets refer to precede the output.
func (p *Parser) Prefill() int { return p.place(len(p.out.Prefill)) }

// Held returns how many of the bytes read last have gone into no delta because later bytes decide
// their meaning, and the reason in words for people; 0 and "" where nothing is held.
func (p *Parser) Held() (n int, why string) {
	read := p.place(p.read)
	switch c := p.call; {
	case p.closed:
		return 0, ""
	case p.m.Held() > 0:
		n, why = read-p.place(p.read-p.m.Held()), "a marker or a call may begin here"
	case c != nil && !c.announced:
		n, why = read-p.place(c.off), "a call begins here; its name or its id is still to come"
	case c != nil && c.inValue && len(c.value) > 0:
		return len(c.value), "a value that is not complete: its type, or where it ends, is open"
	}
	if len(p.text.runs) > 0 {
		if n == 0 {
			why = "white space, which belongs to a marker if one follows"
		}
		n = read - p.place(p.text.runs[0].Off) // before all else that is held
	}
	if n = min(n, read-p.Prefill()); n == 0 {
		why = ""
	}
	return n, why
}

// take translates the events of the last step.
func (p *Parser) take() {
	events := p.m.Events()
	for i := range events {
		if p.o.Event != nil {
			p.o.Event(events[i])
		}
		if p.tokens && p.mayBeMarked(&events[i]) &&
			bytes.IndexByte(events[i].Text, tokenMark) >= 0 {
			p.unmarked(&events[i])
			continue
		}
		p.event(&events[i])
	}
}

// event translates an event. Text of the message and of calls goes the short way: with a token a
// step, each jump counts.
func (p *Parser) event(e *peg.Event) {
	switch kind := e.Kind; {
	case kind == codegen.Content || kind == codegen.Reasoning:
		p.addText(e)
	case kind == codegen.Args && p.call != nil:
		p.addArguments(p.call, e)
	case codegen.Name <= kind && kind <= codegen.CallBroken:
		if p.call != nil {
			p.callEvent(p.call, e)
		}
	default:
		p.turnEvent(e)
	}
}

// turnEvent translates an event between the texts and inside no call.
func (p *Parser) turnEvent(e *peg.Event) {
	switch e.Kind {
	case codegen.Mark:
		p.mark(p.out.Marks[e.Arg])
	case codegen.Dropped:
		p.drop(e, "no part of the message")
	case codegen.AfterEnd:
		p.afterEnd(e)
	case codegen.Skipped:
		if p.out.Incomplete == codegen.IncompleteText {
			p.addContent(e)
		} else {
			p.drop(e, "the rest of an incomplete call")
		}
	case codegen.EndStub:
		p.endStub(e)
	case codegen.Undeclared:
		p.diagnose(Diagnostic{Off: e.Off, Kind: "undeclared-function", Msg: "text that looks like a tool call names a function that is not declared; it is content"})
	case codegen.Call:
		spelled, keep := p.out.Spellings[e.Arg], p.out.Incomplete == codegen.IncompleteKeep
		p.call = &call{off: e.Off, ids: spelled.ID, taken: spelled.IDs, nested: spelled.Nested,
			hold: spelled.ID != codegen.IDNone || !keep}
	}
}

// add adds an empty delta to those of this step. It is filled in place: with a token a step,
// copying the delta that has just been put together would cost most, and so would clearing all of
// one that is used again while the collector works.
func (p *Parser) add() *chat.Delta {
	n := len(p.deltas)
	if n == cap(p.deltas) {
		p.deltas = append(p.deltas, chat.Delta{})
		return &p.deltas[n]
	}
	p.deltas = p.deltas[:n+1]
	d := &p.deltas[n]
	if d.Reasoning != "" {
		d.Reasoning = ""
	}
	if d.Content != "" {
		d.Content = ""
	}
	if d.ToolCalls != nil {
		d.ToolCalls = nil
	}
	return d
}

// last returns the last delta of this step.
func (p *Parser) last() *chat.Delta {
	if n := len(p.deltas); n > 0 {
		return &p.deltas[n-1]
	}
	return nil
}
