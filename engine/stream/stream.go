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
	"fmt"
	"html"
	"iter"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/schema"
)

// MaxSpace bounds, in bytes, the white space that is held back because a marker may follow.
const MaxSpace = 1 << 16

// Class is the fate of input bytes.
type Class uint8

// The classes.
const (
	ClassMarker    Class = iota // markers, and white space that belongs to them
	ClassContent                // text of the answer
	ClassReasoning              // text of the reasoning
	ClassID                     // a call's id
	ClassArguments              // a call's arguments
	ClassDropped                // neither marker nor message
)

var classNames = [...]string{"marker", "content", "reasoning", "id", "arguments", "dropped"}

func (c Class) String() string { return classNames[c] }

// Span is a run of input bytes of one class.
type Span struct {
	Off, End int // into prefill and output, as one text
	Class    Class
}

// Diagnostic is something odd in an output.
type Diagnostic struct {
	Off int // where, in prefill and output as one text
	// "undeclared-function", "incomplete-call", "renamed-arguments", "dropped", "after-end",
	// "limit"
	Kind string
	Text string // of the output, where some is concerned
	Msg  string
}

func (d Diagnostic) String() string { return fmt.Sprintf("byte %d: %s: %s", d.Off, d.Kind, d.Msg) }

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
	// text of the last diagnostic, while more of it may be dropped
	dropped strings.Builder
	read    int    // bytes written so far, the prefill included
	raw     []byte // all of them, where incomplete calls become text
	closed  bool
	reason  chat.FinishReason // why the output ended

	text textState
	call *call
}

// textState is where the parser stands in the message's text.
type textState struct {
	kind   peg.Kind // of the text at hand; 0 before any
	fresh  bool     // nothing but white space since the last mark, or since the start
	marked bool     // there was a mark
	after  string   // white space that the template writes after the last mark
	free   bool     // all white space after the last mark goes
	stray  bool     // nothing but white space since a stray closer
	beyond bool     // there was text after the end of the turn
	space  []byte   // white space that is held
	runs   []Span   // where it stands in the input
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

// Finish returns why the turn ended (E22): tool_calls where a complete call is there, else the
// reason that Close was given.
func (p *Parser) Finish() chat.FinishReason {
	switch {
	case slices.ContainsFunc(p.calls, func(c *call) bool { return c.complete }):
		return chat.FinishToolCalls
	case p.reason.Cut():
		return p.reason
	}
	return chat.FinishStop
}

// Diagnostics returns the oddities of the output so far.
func (p *Parser) Diagnostics() []Diagnostic {
	p.settle()
	if len(p.marks) == 0 {
		return p.diagnostics
	}
	list := slices.Clone(p.diagnostics)
	for i := range list {
		list[i].Off = p.place(list[i].Off)
	}
	return list
}

// settle gives the last diagnostic its text.
func (p *Parser) settle() {
	if p.dropped.Len() > 0 {
		p.diagnostics[len(p.diagnostics)-1].Text = p.dropped.String()
	}
}

func (p *Parser) diagnose(d Diagnostic) {
	p.settle()
	p.dropped.Reset()
	p.diagnostics = append(p.diagnostics, d)
}

// Prefill returns how many bytes of the text that offsets refer to precede the output.
func (p *Parser) Prefill() int { return p.place(len(p.out.Prefill)) }

// Held returns how many of the bytes read last have gone into no delta because later bytes decide
// their meaning, and the reason in words for people; 0 and "" where nothing is held.
func (p *Parser) Held() (n int, why string) {
	switch c := p.call; {
	case p.closed:
		return 0, ""
	case p.m.Held() > 0:
		n, why = p.m.Held(), "a marker or a call may begin here"
	case c != nil && !c.announced && c.off < p.read:
		return p.read - c.off, "a call begins here; its name or its id is still to come"
	case c != nil && c.inValue && len(c.value) > 0:
		return len(c.value), "a value that is not complete: its type, or where it ends, is open"
	}
	if len(p.text.runs) > 0 {
		if from := p.text.runs[0].Off; p.read-from > n {
			if n == 0 {
				why = "white space, which belongs to a marker if one follows"
			}
			n = p.read - from
		}
	}
	return min(n, p.read-p.Prefill()), why
}

// Coverage accounts for every byte read so far; bytes that are still held count as markers. The
// spans adjoin.
func (p *Parser) Coverage() []Span {
	// White space is reported later than the bytes after it.
	slices.SortStableFunc(p.spans, func(a, b Span) int { return a.Off - b.Off })
	var out []Span
	at := 0
	for _, s := range p.spans {
		if s.Off > at {
			out = append(out, Span{at, s.Off, ClassMarker})
		}
		out = append(out, s)
		at = s.End
	}
	if p.read > at {
		out = append(out, Span{at, p.read, ClassMarker})
	}
	if len(p.marks) > 0 {
		out = p.placed(out)
	}
	return out
}

func (p *Parser) cover(off, end int, class Class) {
	if off == end {
		return
	}
	if n := len(p.spans); n > 0 && p.spans[n-1].End == off && p.spans[n-1].Class == class {
		p.spans[n-1].End = end
		return
	}
	p.spans = append(p.spans, Span{off, end, class})
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

func (p *Parser) event(e *peg.Event) {
	switch e.Kind {
	case codegen.Content, codegen.Reasoning:
		p.addText(e)
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
		p.call = &call{off: e.Off, ids: spelled.ID, nested: spelled.Nested,
			hold: spelled.ID != codegen.IDNone || !keep}
	default:
		if p.call != nil {
			p.callEvent(p.call, e)
		}
	}
}

// drop notes text that is no part of the message. In the prefill it is a marker, however it stands
// there: the template wrote it, and nothing of the output is lost.
func (p *Parser) drop(e *peg.Event, why string) {
	if e.End <= len(p.out.Prefill) {
		p.cover(e.Off, e.End, ClassMarker)
		return
	}
	p.cover(e.Off, e.End, ClassDropped)
	if n := p.dropped.Len(); n == 0 || p.diagnostics[len(p.diagnostics)-1].Off+n != e.Off ||
		p.diagnostics[len(p.diagnostics)-1].Msg != why {
		p.diagnose(Diagnostic{Off: e.Off, Kind: "dropped", Msg: why})
	}
	p.dropped.Write(e.Text)
}

// afterEnd keeps text after the end of the turn, which a server that stops at its tokens never
// sees: it is the model's, and a diagnostic tells where it begins. White space alone is nothing.
func (p *Parser) afterEnd(e *peg.Event) {
	first := slices.IndexFunc(e.Text, func(c byte) bool { return !isSpace(c) })
	if first >= 0 && !p.text.beyond {
		p.text.beyond = true
		p.diagnose(Diagnostic{Off: e.Off + first, Kind: "after-end",
			Msg: "text follows the end of the turn; it is content"})
	}
	p.addContent(e)
}

// addContent adds the text of an event of another kind to the content.
func (p *Parser) addContent(e *peg.Event) {
	text := *e
	text.Kind = codegen.Content
	p.addText(&text)
}

// shortStub is how many bytes the beginning of an end text may have, in an output that was not cut
// off, to be text after all: "a <" is no attempt to end the turn.
const shortStub = 2

// endStub drops the beginning of an end text at the end of the output (E9).
func (p *Parser) endStub(e *peg.Event) {
	if p.reason.Cut() || len(e.Text) > shortStub {
		p.drop(e, "no part of the message")
		return
	}
	text := *e
	if text.Kind = p.text.kind; text.Kind == 0 {
		text.Kind = codegen.Content
	}
	p.addText(&text)
}

// Text.

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// addText adds text of the message, less white space that may turn out to belong to a marker.
func (p *Parser) addText(e *peg.Event) {
	t := &p.text
	if t.kind != e.Kind && t.kind != 0 && len(t.space) > 0 {
		p.flushSpace(t.fresh)
	}
	t.kind = e.Kind
	text, off := e.Text, e.Off
	first := 0
	for first < len(text) && isSpace(text[first]) {
		first++
	}
	p.holdSpace(text[:first], off)
	if first < len(text) {
		if t.fresh || len(t.space) > 0 {
			p.leadSpace()
		}
		last := len(text)
		for isSpace(text[last-1]) {
			last--
		}
		p.emitText(text[first:last], off+first)
		t.stray = false
		p.holdSpace(text[last:], off+last)
	}
}

// holdSpace holds white space back.
func (p *Parser) holdSpace(space []byte, off int) {
	t := &p.text
	for len(space) > 0 {
		if len(t.space) == MaxSpace {
			fresh := t.fresh && p.leadGoes()
			p.leadSpace()
			t.fresh = fresh // and the text after it goes as well
		}
		n := min(len(space), MaxSpace-len(t.space))
		t.space = append(t.space, space[:n]...)
		t.runs = append(t.runs, Span{Off: off, End: off + n})
		space, off = space[n:], off+n
	}
}

// leadGoes reports whether all white space goes that precedes a text.
func (p *Parser) leadGoes() bool { return !p.resumes() && (p.text.free || p.trims(p.text.kind)) }

// leadSpace emits the held white space, since text follows it.
func (p *Parser) leadSpace() {
	t := &p.text
	n := 0
	if t.fresh {
		if p.leadGoes() {
			n = len(t.space)
		}
		for n < len(t.space) && n < len(t.after) && t.space[n] == t.after[n] {
			n++
		}
		t.fresh = false
	}
	p.emitSpace(n, len(t.space))
}

// emitSpace makes the bytes [from, to) of the held white space text, and gives up the rest.
func (p *Parser) emitSpace(from, to int) {
	t := &p.text
	at := 0
	for _, r := range t.runs {
		n := r.End - r.Off
		if lo, hi := max(from-at, 0), min(to-at, n); lo < hi {
			p.emitText(t.space[at+lo:at+hi], r.Off+lo)
		}
		at += n
	}
	t.space, t.runs = t.space[:0], t.runs[:0]
}

// resumes reports whether text goes on that a call, say, has interrupted: then the white space
// after the marker keeps the two apart.
func (p *Parser) resumes() bool {
	if p.text.kind == codegen.Reasoning {
		return p.reasoning.Len() > 0
	}
	return p.content.Len() > 0
}

// flushSpace gives up the held white space before something that is no text: drop reports that it
// is nothing.
func (p *Parser) flushSpace(drop bool) {
	n := len(p.text.space)
	if drop {
		n = 0
	}
	p.emitSpace(0, n)
}

func (p *Parser) trims(kind peg.Kind) bool {
	return kind == codegen.Content && p.out.TrimContent ||
		kind == codegen.Reasoning && p.out.TrimReasoning
}

// mark notes a marker: white space between two of them is nothing, white space before one goes, or
// as much of it as is the template's.
func (p *Parser) mark(m codegen.MarkInfo) {
	t := &p.text
	if m.Stray && !t.fresh { // in the middle of a text it takes no white space with it
		t.stray = true
		return
	}
	n := 0
	if !t.fresh && !m.Free && !p.trims(t.kind) {
		n = len(t.space)
		for i := len(m.Before); n > 0 && i > 0 && t.space[n-1] == m.Before[i-1]; i-- {
			n--
		}
	}
	p.emitSpace(0, n)
	t.fresh, t.marked, t.stray, t.after, t.free = true, true, false, m.After, m.Free
}

// endText gives up the text held at the end.
func (p *Parser) endText() {
	t := &p.text
	p.flushSpace(t.fresh && t.marked || t.stray || p.trims(t.kind))
}

// emitText makes text part of the message.
func (p *Parser) emitText(text []byte, off int) {
	if len(text) == 0 {
		return
	}
	d := p.last()
	if p.text.kind == codegen.Reasoning {
		p.cover(off, off+len(text), ClassReasoning)
		from := p.reasoning.Len()
		extend(&p.reasoning, text)
		if d == nil || d.Reasoning == "" {
			p.add().Reasoning = p.reasoning.String()[from:]
		} else {
			d.Reasoning = p.reasoning.String()[from-len(d.Reasoning):]
		}
		return
	}
	p.cover(off, off+len(text), ClassContent)
	from := p.content.Len()
	extend(&p.content, text)
	if d == nil || d.Content == "" {
		p.add().Content = p.content.String()[from:]
	} else {
		d.Content = p.content.String()[from-len(d.Content):]
	}
}

// extend appends text. A builder that knows how much comes doubles; with Write alone it grows by a
// quarter. Doubling makes half the garbage.
func extend(b *strings.Builder, text []byte) {
	b.Grow(len(text))
	b.Write(text)
}

// add adds an empty delta to those of this step. It is filled in place: with a token a step,
// copying the delta that has just been put together would cost most.
func (p *Parser) add() *chat.Delta {
	p.deltas = append(p.deltas, chat.Delta{})
	return &p.deltas[len(p.deltas)-1]
}

// last returns the last delta of this step.
func (p *Parser) last() *chat.Delta {
	if n := len(p.deltas); n > 0 {
		return &p.deltas[n-1]
	}
	return nil
}

// Calls.

// call is a call that is being read, or was.
type call struct {
	off       int // where it begins
	index     int // -1 until it is announced
	name, id  string
	named     bool
	idText    []byte
	idDone    bool
	ids       codegen.IDPlace
	hold      bool // the id may still come, and must come first
	announced bool
	complete  bool
	args      strings.Builder
	sent      int  // bytes of args that are in deltas
	argsDone  bool // the arguments are complete
	spares    []spare
	entries   int  // entries of tagged arguments begun
	empty     bool // there are none, and the brace is still to be written
	key       []byte

	schema *schema.Schema // of the arguments, once the name is known
	quotes bool           // scalars become strings by the schema
	quoter quoter
	nested bool // objects are spelled as tags

	repeating bool           // the entry at hand may be repeated
	repeated  string         // its key, as JSON with the colon after it
	items     *schema.Schema // of the entry
	held      codec.Repeated // the JSON that has come for it

	inValue  bool
	info     codegen.ValueInfo
	value    []byte // ValueHeld: the text so far; ValueRaw: held back
	verbatim bool
	fresh    bool // nothing but white space of the value so far
}

// spare is an object that a call has under a key that means nothing.
type spare struct {
	text     []byte // as JSON
	off, end int
}

func (p *Parser) callEvent(c *call, e *peg.Event) {
	switch e.Kind {
	case codegen.Name:
		function := &p.out.Tools[e.Arg]
		c.name, c.named = function.Name, true
		c.know(function)
	case codegen.ID:
		switch {
		case c.idDone:
			p.drop(e, "the call has its id already")
			return
		case c.announced:
			p.drop(e, "the id of the call comes after its arguments")
			return
		}
		p.cover(e.Off, e.End, ClassID)
		c.idText = append(c.idText, e.Text...)
		return
	case codegen.IDEnd:
		if c.announced {
			return
		}
		c.id, c.idDone = unescaped(c.idText, byte(e.Arg)), true
		c.hold = p.out.Incomplete != codegen.IncompleteKeep
	case codegen.Args:
		c.waitNoMore(p.out.Incomplete)
		if !c.argsDone {
			p.cover(e.Off, e.End, ClassArguments)
			if e.Arg == codec.Strings {
				c.putBytes(e.Text)
			} else {
				c.putJSON(e.Text)
			}
		} else {
			p.drop(e, "the call has its arguments already")
		}
	case codegen.ArgsEnd:
		c.argsDone = true
	case codegen.Spare:
		c.spares = append(c.spares, spare{off: e.Off})
		return
	case codegen.SpareText:
		s := &c.spares[len(c.spares)-1]
		s.text, s.end = append(s.text, e.Text...), e.End
		return
	case codegen.Open:
		c.waitNoMore(p.out.Incomplete)
		c.put("{")
	case codegen.Close:
		// Without entries only the end of the call tells that there are none: a call that breaks
		// off has no "{}", which would look complete.
		if c.argsDone = true; c.entries == 0 {
			c.empty = true
			return
		}
		c.release(true)
		c.put("}")
	case codegen.Key:
		c.beginEntry(string(e.Text))
	case codegen.KeyText:
		p.cover(e.Off, e.End, ClassArguments)
		c.key = append(c.key, e.Text...)
		return
	case codegen.KeyEnd:
		key := string(c.key)
		if e.Arg == 1 {
			key = html.UnescapeString(key)
		}
		c.beginEntry(string(append(codec.AppendText([]byte{'"'}, key), `": `...)))
		c.key = c.key[:0]
	case codegen.ValueBegin:
		c.inValue, c.info, c.value, c.verbatim, c.fresh = true, p.out.Values[e.Arg], c.value[:0],
			false, true
		if c.info.Mode == codegen.ValueRaw {
			c.put(`"`)
		}
	case codegen.Value:
		p.cover(e.Off, e.End, ClassArguments)
		c.addValue(e.Text)
	case codegen.Verbatim:
		if c.info.Mode == codegen.ValueRaw {
			c.flushValue(true, "")
		}
		c.verbatim, c.fresh = e.Arg == 1, false
	case codegen.ValueEnd:
		c.endValue(true)
	case codegen.CallEnd:
		p.endCall(true, e.Off)
		return
	case codegen.CallBroken:
		p.endCall(false, e.Off)
		return
	}
	p.send(c)
}

// waitNoMore lets arguments go that have come where the template writes the id before them.
func (c *call) waitNoMore(policy codegen.Incomplete) {
	if c.ids == codegen.IDFirst && policy == codegen.IncompleteKeep {
		c.hold = false
	}
}

// send puts the new part of a call into a delta, once its name is known and its id is, where one
// may come.
func (p *Parser) send(c *call) {
	if !c.named || c.hold {
		return
	}
	if !c.announced {
		c.announced = true
		c.index = len(p.calls)
		p.calls = append(p.calls, c)
		c.sent = c.args.Len()
		d := p.addCall(c.index)
		d.ID, d.Name, d.Arguments = c.id, c.name, c.args.String()
		return
	}
	if c.args.Len() == c.sent {
		return
	}
	from := c.sent
	c.sent = c.args.Len()
	if d := p.last(); d != nil && len(d.ToolCalls) > 0 {
		if t := &d.ToolCalls[len(d.ToolCalls)-1]; t.Index == c.index {
			t.Arguments = c.args.String()[from-len(t.Arguments):]
			return
		}
	}
	p.addCall(c.index).Arguments = c.args.String()[from:]
}

// addCall adds a delta for a call.
func (p *Parser) addCall(index int) *chat.ToolCallDelta {
	p.callDeltas = append(p.callDeltas, chat.ToolCallDelta{})
	n := len(p.callDeltas)
	p.add().ToolCalls = p.callDeltas[n-1 : n : n]
	d := &p.callDeltas[n-1]
	d.Index = index
	return d
}

// spareArguments gives a call without arguments the one object that it has under another key:
// models have learnt "parameters" where a template writes "arguments" (E21 T6). It reports whether
// the arguments are known: of several objects any could be meant.
func (p *Parser) spareArguments(c *call) bool {
	switch len(c.spares) {
	case 0:
		c.put("{}")
	case 1:
		s := c.spares[0]
		c.spares = nil
		p.cover(s.off, s.end, ClassArguments)
		c.putJSON(s.text)
		p.diagnose(Diagnostic{Off: s.off, Kind: "renamed-arguments", Text: c.name,
			Msg: fmt.Sprintf("the call of %s has its arguments under another key "+
				"than the template's", c.name)})
	default:
		return false
	}
	return true
}

// endCall ends the call at hand.
func (p *Parser) endCall(complete bool, off int) {
	c := p.call
	p.call = nil
	if c.inValue {
		c.endValue(false)
	}
	c.release(false)
	if c.empty && complete {
		c.put("}")
	}
	broken := "breaks off"
	if complete && c.args.Len() == 0 {
		if complete = p.spareArguments(c); !complete {
			broken = "has no arguments, but several objects under other keys"
		}
	}
	for _, s := range c.spares {
		p.drop(&peg.Event{Text: s.text, Off: s.off, End: s.end}, "no part of the message")
	}
	c.complete, c.hold = complete, false
	if !complete {
		d := Diagnostic{Off: off, Kind: "incomplete-call", Text: c.name,
			Msg: fmt.Sprintf("the call of %s %s", c.name, broken)}
		if p.out.CloseArgs {
			if missing, ok := codec.Balance(c.args.String()); ok {
				c.args.WriteString(missing)
				c.complete = true
				d.Msg += fmt.Sprintf("; closed with %q", missing)
			}
		}
		p.diagnose(d)
		if !c.complete && p.out.Incomplete != codegen.IncompleteKeep {
			p.withdraw(c, off)
			return
		}
	}
	p.send(c)
}

// withdraw takes back an incomplete call, of which nothing was said, and makes text of it where the
// policy says so.
func (p *Parser) withdraw(c *call, off int) {
	for i := len(p.spans) - 1; i >= 0 && p.spans[i].Off >= c.off; i-- {
		if p.spans[i].Class == ClassID || p.spans[i].Class == ClassArguments {
			p.spans[i].Class = ClassDropped
		}
	}
	if p.out.Incomplete != codegen.IncompleteText {
		return
	}
	p.spans = slices.DeleteFunc(p.spans,
		func(s Span) bool { return s.Off >= c.off && s.Class == ClassDropped })
	from, known := max(c.off, len(p.out.Prefill)), len(p.out.Prefill)
	for _, s := range p.spans {
		known = max(known, s.End)
	}
	for from > known && isSpace(p.raw[from-1]) { // which was dropped beside the marker
		from--
	}
	p.unmarked(&peg.Event{Kind: codegen.Content, Off: from, End: off, Text: p.raw[from:off]})
}

// unescaped returns a text that stood between quotes without its escapes; as it is where they mean
// nothing.
func unescaped(text []byte, quote byte) string {
	if quote == 0 || slices.Index(text, '\\') < 0 {
		return string(text)
	}
	q := string(quote)
	literal, _ := codec.Read(q+string(text)+q, false)
	v, err := ordered.ParseString(literal)
	if err != nil {
		return string(text)
	}
	return strings.ToValidUTF8(v.Text(), "\uFFFD")
}
