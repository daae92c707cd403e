package stream

import (
	"fmt"
	"slices"

	"github.com/goassay/assay/engine/peg"
)

// Accounting: every byte has a fate, and the odd ones have a diagnostic (E20).

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

// Diagnostic is something odd in an output.
type Diagnostic struct {
	Off int // where, in prefill and output as one text
	// "undeclared-function", "incomplete-call", "renamed-arguments", "dropped", "after-end",
	// "limit", "foreign-id", "repeated-argument"
	Kind string
	Text string // of the output, where some is concerned
	Msg  string // what happened, in a sentence for a log
}

func (d Diagnostic) String() string { return fmt.Sprintf("byte %d: %s: %s", d.Off, d.Kind, d.Msg) }

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

// drop notes text that is no part of the message. In the prefill it is a marker, however it stands
// there: the template wrote it, and nothing of the output is lost.
func (p *Parser) drop(e *peg.Event, why string) {
	if e.End <= len(p.out.Prefill) {
		p.cover(e.Off, e.End, ClassMarker)
		return
	}
	p.cover(e.Off, e.End, ClassDropped)
	if p.dropped.Len() == 0 || p.place(p.droppedTo) != p.place(e.Off) ||
		p.diagnostics[len(p.diagnostics)-1].Msg != why {
		p.diagnose(Diagnostic{Off: e.Off, Kind: "dropped", Msg: why})
	}
	p.dropped.Write(e.Text)
	p.droppedTo = e.End
}
