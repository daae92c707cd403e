package stream

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/peg"
)

// Text: content and reasoning, less the white space that belongs to markers (E19).

// MaxSpace bounds, in bytes, the white space that is held back because a marker may follow.
const MaxSpace = 1 << 16

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

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// addText adds text of the message, less white space that may turn out to belong to a marker.
func (p *Parser) addText(e *peg.Event) {
	t := &p.text
	if t.kind != e.Kind && t.kind != 0 && len(t.space) > 0 {
		p.flushSpace(t.fresh)
	}
	t.kind = e.Kind
	text, off := e.Text, e.Off
	last := len(text)
	for last > 0 && isSpace(text[last-1]) {
		last--
	}
	if last > 0 {
		first := 0
		if t.fresh || len(t.space) > 0 {
			for isSpace(text[first]) {
				first++
			}
			p.holdSpace(text[:first], off)
			p.leadSpace()
		}
		p.emitText(text[first:last], off+first)
		t.stray = false
	}
	if last < len(text) {
		p.holdSpace(text[last:], off+last)
	}
}

// addContent adds the text of an event of another kind to the content.
func (p *Parser) addContent(e *peg.Event) {
	text := *e
	text.Kind = codegen.Content
	p.addText(&text)
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
	if b.Cap()-b.Len() < len(text) {
		b.Grow(len(text))
	}
	b.Write(text)
}
