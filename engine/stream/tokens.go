package stream

import (
	"bytes"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/vocab"
)

// Token is a token of an output.
type Token struct {
	ID   int    // its number in the tokeniser's vocabulary
	Text []byte // its bytes, which may begin or end inside a character
}

// Tokens tells a parser how to read tokens.
type Tokens struct {
	Output     *codegen.Output // made with a [codegen.Options] that has Literal
	Vocabulary *vocab.Vocabulary
}

// tokenMark is the byte before a token in the text of the machine. Where an output has that byte
// itself, which no text in UTF-8 does, a byte follows that begins no token.
const tokenMark, escaped = codec.Mark, codec.Unmarked

// WriteTokens reads more of an output that comes in tokens and returns the deltas that it adds to
// the message. They are valid until the next call. A marker that is a token matches that token
// only, and text that spells it is text.
//
// The first call describes how the output comes: once it has come in tokens, [Parser.Write] adds
// text in which there are none; once it has come in bytes, or where the parser has no vocabulary,
// the ids mean nothing.
func (p *Parser) WriteTokens(tokens []Token) []chat.Delta {
	if !p.tokens && p.o.Tokens != nil && p.read == len(p.out.Prefill) && !p.closed {
		if p.byTokens == nil {
			p.byTokens = vm.New(p.o.Tokens.Output.Program, p.o.Limits)
			p.byTokens.Trace = p.o.Step
		}
		p.restart(p.o.Tokens.Output, p.byTokens)
	}
	if len(tokens) == 1 { // most outputs come one by one
		if t := &tokens[0]; !p.tokens ||
			!p.o.Tokens.Vocabulary.Marker(t.ID) && bytes.IndexByte(t.Text, tokenMark) < 0 {
			return p.write(t.Text)
		}
	}
	p.joined = p.joined[:0]
	for i := range tokens {
		t := &tokens[i]
		switch {
		case !p.tokens:
			p.joined = append(p.joined, t.Text...)
		case p.o.Tokens.Vocabulary.Marker(t.ID):
			p.marks = append(p.marks, p.read+len(p.joined))
			p.joined = append(append(p.joined, tokenMark), t.Text...)
		default:
			p.joined = p.appendText(p.joined, t.Text)
		}
	}
	return p.write(p.joined)
}

// appendText appends text in which there is no token.
func (p *Parser) appendText(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, tokenMark)
		if i < 0 {
			return append(dst, text...)
		}
		p.marks = append(p.marks, p.read+len(dst)+i+1)
		dst = append(append(dst, text[:i]...), tokenMark, escaped)
		text = text[i+1:]
	}
}

// note remembers where a text for the machine, from a place on, has a byte that the output has not.
func (p *Parser) note(text string, off int) {
	for i := 0; p.tokens && i < len(text); i++ {
		if text[i] == tokenMark {
			p.marks = append(p.marks, off+i)
		}
	}
}

// place returns the place in prefill and output of a place in the machine's text.
func (p *Parser) place(off int) int {
	lo, hi := 0, len(p.marks)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); p.marks[mid] < off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return off - lo
}

// placed returns spans of the machine's text as spans of prefill and output.
func (p *Parser) placed(spans []Span) []Span {
	out := spans[:0]
	for _, s := range spans {
		s.Off, s.End = p.place(s.Off), p.place(s.End)
		if n := len(out); n > 0 && out[n-1].Class == s.Class {
			out[n-1].End = s.End
		} else if s.Off < s.End {
			out = append(out, s)
		}
	}
	return out
}

// mayBeMarked reports whether an event can have a mark in its text: one that begins after the last
// mark of the input has none, unless the text is the program's own.
func (p *Parser) mayBeMarked(e *peg.Event) bool {
	n := len(p.marks)
	return e.Off == e.End || n > 0 && p.marks[n-1] >= e.Off
}

// unmarked translates an event without the marks in its text.
func (p *Parser) unmarked(e *peg.Event) {
	if !p.tokens {
		p.event(e)
		return
	}
	part := *e
	if len(e.Text) != e.End-e.Off { // else the text is not that of the input, byte by byte
		text := p.unescaped[:0]
		for rest := e.Text; ; {
			i := bytes.IndexByte(rest, tokenMark)
			if i < 0 {
				part.Text = append(text, rest...)
				break
			}
			text, rest = append(text, rest[:i]...), rest[i+1:]
			if len(rest) > 0 && rest[0] == escaped {
				text, rest = append(text, tokenMark), rest[1:]
			}
		}
		p.unescaped = part.Text
		p.event(&part)
		return
	}
	send := func(from, to int) {
		if from < to {
			part.Off, part.End, part.Text = e.Off+from, e.Off+to, e.Text[from:to]
			p.event(&part)
		}
	}
	from := 0
	for i := 0; i < len(e.Text); i++ {
		if e.Text[i] != tokenMark {
			continue
		}
		if i+1 < len(e.Text) && e.Text[i+1] == escaped {
			send(from, i+1)
			i++
		} else {
			send(from, i)
		}
		from = i + 1
	}
	send(from, len(e.Text))
}
