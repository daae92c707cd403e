package codegen

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/peg"
)

// callWriter makes the states of the calls of one spelling, as the template writes them.
type callWriter struct {
	*writer
	s *spelling
}

func (c *callWriter) name(state string) string { return fmt.Sprint(state, " ", c.s.number) }

// opening matches the text before the head of a first call. Its first literal must be exactly the
// trigger of a lazy grammar.
func (c *callWriter) opening() peg.Pattern {
	s := c.s
	array := peg.Pattern(peg.Seq{})
	if s.Array {
		array = peg.Seq{peg.Lit{Text: "["}, c.space("")}
	}
	switch s.openings[0].from {
	case atSection:
		p := peg.Seq{peg.Lit{Text: s.Section.Open.Text}, c.space(s.Section.Open.After), array}
		if call := s.Call.Open; call.Text != "" {
			p = append(p, c.spelled(call.Text), c.space(call.After))
		}
		return p
	case atCall:
		return peg.Seq{peg.Lit{Text: s.Call.Open.Text}, c.space(s.Call.Open.After), array}
	case atArray:
		return array
	}
	return peg.Seq{}
}

// open returns the alternative for the first call of a section.
func (c *callWriter) open() peg.Choice {
	switch o := c.s.openings[0]; {
	case c.s.bracketsAlone(o): // no text may follow, or the parser would take it for an example
		return peg.Choice{peg.Seq{c.whole(), c.section(inThought)}}
	case c.s.tentative(o):
		return peg.Choice{peg.Seq{c.whole(), c.section(inAnswer)}}
	}
	return peg.Choice{peg.Seq{c.opening(),
		c.head(func(t *tool) peg.Pattern { return peg.Seq{c.rest(t), c.section(inAnswer)} })}}
}

// whole matches a first call from its opening to its end.
func (c *callWriter) whole() peg.Pattern { return peg.Seq{c.opening(), c.head(c.rest)} }

// section is the state after a call: another call of the section, or its end.
func (c *callWriter) section(where surroundings) peg.Pattern {
	s := c.s
	if s.Section.Close.Text == "" && !s.Array && s.Sep.Text == "" && s.Section.Open.Text == "" {
		return c.after(where)
	}
	name := c.name("section")
	if where == inThought {
		name += " in reasoning"
	}
	return c.ref(name, func() peg.Pattern {
		var alts peg.Choice
		if c.parallel {
			alts = append(alts, c.another(name, where))
		}
		end := s.Section.Close
		if end.Text == "" && s.Array {
			end = s.Call.Close
		}
		switch {
		case s.Array && end.Text != "":
			alts = append(alts, peg.Seq{peg.Space{}, peg.Lit{Text: "]"}, peg.Space{},
				c.spelled(end.Text), c.after(where)})
		case s.Array:
			alts = append(alts, peg.Seq{peg.Space{}, peg.Lit{Text: "]"}, c.after(where)})
		case end.Text != "":
			alts = append(alts, peg.Seq{peg.Space{}, c.spelled(end.Text), c.after(where)})
		default:
			alts = append(alts, c.after(where))
		}
		// the model has learnt a single call without the section's close
		if s.Unclosed && end.Text != "" {
			alts = append(alts, c.after(where))
		}
		return alts
	})
}

// another is the alternative for a further call of a section.
func (c *callWriter) another(name string, where surroundings) peg.Pattern {
	s := c.s
	var next peg.Seq
	if sep := s.Sep; sep.Text != "" {
		next = append(next, c.space(sep.Before), c.spelled(sep.Text), c.space(sep.After))
	} else if s.Array {
		next = append(next, c.space(""), peg.Lit{Text: ","}, c.space(" "))
	}
	next = append(next, c.space(""))
	if open := s.Call.Open; open.Text != "" {
		next = append(next, c.space(open.Before), c.spelled(open.Text), c.space(open.After))
	}
	if s.tentative(s.further()) {
		return append(next, c.head(c.rest), peg.Ref{Name: name})
	}
	return append(next, c.head(func(t *tool) peg.Pattern {
		return peg.Seq{c.rest(t), c.section(where)}
	}))
}

// sectionEnd matches the close of a section of calls.
func (c *callWriter) sectionEnd() (seq peg.Seq) {
	if c.s.Array {
		seq = append(seq, peg.Space{}, peg.Lit{Text: "]"})
	}
	if t := c.s.Section.Close.Text; t != "" {
		seq = append(seq, peg.Space{}, c.spelled(t))
	}
	return seq
}

// named matches the name of a tool that may be called, then after, then the body for the tool of
// that name.
func (c *callWriter) named(after peg.Pattern, body func(t *tool) peg.Pattern) peg.Pattern {
	d := peg.Dispatch{After: after}
	for _, t := range c.callable() {
		name := t.name
		if c.s.Object == nil {
			name = c.s.Head[c.s.name].Escaped(name)
		}
		d.Words, d.Bodies = append(d.Words, name), append(d.Bodies, body(t))
	}
	return d
}

// head matches a call from its first byte to its name, then the body for the tool of that name.
func (c *callWriter) head(body func(t *tool) peg.Pattern) peg.Pattern {
	s := c.s
	if s.Object != nil {
		return c.upToName(body)
	}
	var seq peg.Seq
	for n := range s.name {
		seq = append(seq, c.part(s.Head, n))
	}
	if id := s.Head[s.name]; id.Kind == format.SlotID {
		seq = append(seq, c.inID(id.Parts[:nameAt(id.Parts)]))
	}
	return append(seq, c.named(nil, body))
}

// part matches one part of a head or tail that is not the name.
func (c *callWriter) part(parts []format.Part, n int) peg.Pattern {
	p := parts[n]
	var out peg.Pattern
	switch p.Kind {
	case format.SlotLit:
		if p.Text.Text == "" {
			if 0 < n && n+1 < len(parts) { // nothing else separates the two slots
				return peg.Lit{Text: p.Text.Before}
			}
			return c.edge(p.Text.Before)
		}
		alts := peg.Choice{c.spelled(p.Text.Text)}
		for _, t := range p.Alts {
			alts = append(alts, c.spelled(strings.Trim(t, format.Space)))
		}
		side := func(n int, exact string) peg.Pattern {
			if 0 <= n && n < len(parts) && parts[n].Kind != format.SlotLit {
				return c.edge(exact)
			}
			return c.space(exact)
		}
		out = peg.Seq{side(n-1, p.Text.Before), alts, side(n+1, p.Text.After)}
	case format.SlotID:
		if len(p.Parts) > 0 {
			out = c.inID(p.Parts)
		} else {
			out = idOf(p.IDs, nameBytes)
		}
	case format.SlotIndex, format.SlotNumber:
		out = number
	default:
		out = word(nameBytes)
	}
	if p.Opt {
		return peg.Opt{P: out}
	}
	return out
}

// inID matches parts of an id.
func (c *callWriter) inID(parts []format.Part) peg.Seq {
	var seq peg.Seq
	for _, p := range parts {
		switch p.Kind {
		case format.SlotLit:
			seq = append(seq, c.spelled(p.Text.Full()))
		case format.SlotIndex:
			seq = append(seq, number)
		default:
			seq = append(seq, word(nameBytes))
		}
	}
	return seq
}

// rest is the state after a name: the rest of the head, the arguments, the tail and the call's
// closing marker.
func (c *callWriter) rest(t *tool) peg.Pattern {
	s := c.s
	return c.ref(c.name("rest")+" "+t.name, func() peg.Pattern {
		var seq peg.Seq
		if s.Object != nil {
			seq = c.objectRest(t)
		} else {
			if id := s.Head[s.name]; id.Kind == format.SlotID {
				seq = append(seq, c.inID(id.Parts[nameAt(id.Parts)+1:]))
			}
			for n := s.name + 1; n < len(s.Head); n++ {
				seq = append(seq, c.again(s.Head, n, t))
			}
			body := c.entries().body
			if s.envelope != nil {
				body = c.envelope
			}
			seq = append(seq, body(t))
		}
		if s.repeatsName() {
			return append(seq, c.tail(t))
		}
		return append(seq, c.ref(c.name("tail"), func() peg.Pattern { return c.tail(nil) }))
	})
}

// again is part for a place after the name: a slot for the name there must repeat it.
func (c *callWriter) again(parts []format.Part, n int, t *tool) peg.Pattern {
	if parts[n].Kind == format.SlotName {
		return peg.Lit{Text: parts[n].Escaped(t.name)}
	}
	return c.part(parts, n)
}

// tail matches the close of a call.
func (c *callWriter) tail(t *tool) peg.Pattern {
	var seq peg.Seq
	for n, p := range c.s.Tail {
		switch {
		case p.Kind != format.SlotLit:
			seq = append(seq, c.again(c.s.Tail, n, t))
		case p.Text.Text != "":
			seq = append(seq, c.space(p.Text.Before), c.spelled(p.Text.Text))
		}
		if p.Kind == format.SlotLit && n+1 < len(c.s.Tail) {
			gap := p.Text.After
			if p.Text.Text == "" {
				gap = p.Text.Before
			}
			seq = append(seq, c.edge(gap))
		}
	}
	if m := c.s.Call.Close; m.Text != "" {
		seq = append(seq, c.space(m.Before), c.spelled(m.Text))
	}
	return seq
}

// Calls that are JSON objects.

// upToName matches an object up to its name, then the body for the tool of that name. Where the
// arguments come before the name, there is one alternative for each tool.
func (c *callWriter) upToName(body func(t *tool) peg.Pattern) peg.Pattern {
	o := c.s.Object
	quote := peg.Lit{Text: string(quoteOf(o))}
	switch {
	case o.NameIsKey:
		return peg.Seq{peg.Lit{Text: "{"}, peg.Space{}, quote, c.named(peg.Seq{quote, colon}, body)}
	case !argsFirst(o):
		return peg.Seq{c.beforeName(nil), c.named(quote, body)}
	}
	var alts peg.Choice
	for _, t := range c.callable() {
		alts = append(alts, peg.Seq{c.beforeName(t),
			peg.Seq{peg.Lit{Text: t.name}, quote, body(t)}})
	}
	return alts
}

// beforeName matches an object from its brace to the quote before the name. The arguments that
// precede it are those of the tool.
func (c *callWriter) beforeName(t *tool) peg.Pattern {
	o := c.s.Object
	var seq peg.Seq
	for level, key := range namePath(o) {
		seq = append(seq, peg.Lit{Text: "{"}, peg.Space{})
		before, _ := around(o, level)
		for _, f := range before {
			seq = append(seq, fixedMember(o, f, level, c.value(t)), peg.Space{}, comma)
		}
		seq = append(seq, peg.Lit{Text: quoted(quoteOf(o), key)}, colon)
	}
	return append(seq, peg.Lit{Text: string(quoteOf(o))})
}

// objectRest matches an object after its name.
func (c *callWriter) objectRest(t *tool) peg.Seq {
	o := c.s.Object
	if o.NameIsKey {
		return peg.Seq{c.entries().arguments(t, false, quoteOf(o)), peg.Space{}, peg.Lit{Text: "}"}}
	}
	var seq peg.Seq
	for level := len(namePath(o)) - 1; level >= 0; level-- {
		_, after := around(o, level)
		for _, f := range after {
			seq = append(seq, peg.Space{}, comma, fixedMember(o, f, level, c.value(t)))
		}
		seq = append(seq, peg.Space{}, peg.Lit{Text: "}"})
	}
	return seq
}

// value returns the patterns of the values of members.
func (c *callWriter) value(t *tool) func(f format.Field) peg.Pattern {
	quote := byte('"')
	if c.s.Object != nil {
		quote = quoteOf(c.s.Object)
	}
	mark := peg.Lit{Text: string(quote)}
	return func(f format.Field) peg.Pattern {
		switch f.Slot {
		case format.SlotArgs:
			return c.entries().arguments(t, f.Text, quote)
		case format.SlotID, format.SlotIndex: // a generated number is an id too
			if f.Slot == format.SlotIndex && !f.Text {
				return number
			}
			plain := peg.Bytes(`"'\`).Or(peg.Range(0, 0x1f)).Not()
			return peg.Seq{mark, idOf(f.IDs, plain), mark}
		case format.SlotNumber:
			number := peg.Choice{peg.Lit{Text: "0"},
				peg.Seq{peg.Set{Set: peg.Range('1', '9')},
					peg.Rep{P: peg.Set{Set: digits}, Max: 19}}}
			if f.Text {
				return peg.Seq{mark, number, mark}
			}
			return number
		case format.SlotLit:
			return peg.Lit{Text: f.Const}
		}
		return anything
	}
}
