package codegen

import (
	"fmt"
	"math/bits"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// entryWriter makes the states of a call's arguments as their schema wants them.
type entryWriter struct {
	*writer
	s *spelling
}

func (c *callWriter) entries() *entryWriter { return &entryWriter{c.writer, c.s} }

// constrained matches a value as its schema wants it.
func constrained(name string, s *schema.Schema, c gbnf.Codec) peg.Pattern {
	return peg.Label{Name: name, Value: Constraint{Name: name, Schema: s, Codec: c},
		P: peg.Scan{Kind: Args, Scanner: codec.Syntax{}}}
}

// arguments matches arguments that are JSON, or Python literals where single quotes are used; text:
// as a string.
func (c *entryWriter) arguments(t *tool, text bool, quote byte) peg.Pattern {
	var gc gbnf.Codec
	if quote == '\'' {
		gc.Style = gbnf.Python
	}
	if text {
		return constrained(t.name+"-args", typed(schema.String), gc)
	}
	return constrained(t.name+"-args", t.schema, gc)
}

// body matches a call's arguments where the call is not a JSON object.
func (c *entryWriter) body(t *tool) peg.Pattern {
	p := &c.s.Body
	switch p.Kind {
	case format.BodyTagged:
		return peg.Seq{c.around(p.Open), c.entries(t), c.around(p.Close)}
	case format.BodyKwargs:
		return peg.Seq{c.marker(p.Open), c.entries(t), c.space(p.Close.Before),
			c.spelled(p.Close.Text)}
	case format.BodyDict:
		if len(p.Entry) > 0 { // keys in any order
			return peg.Seq{peg.Lit{Text: "{"}, peg.Space{}, c.entries(t), peg.Space{},
				peg.Lit{Text: "}"}}
		}
		return constrained(t.name+"-args", t.schema, dictCodec(p))
	}
	return peg.Seq{c.around(p.Open), c.space(""), c.arguments(t, false, '"'), c.around(p.Close)}
}

// around matches a marker around arguments, if there is one.
func (c *entryWriter) around(m format.Marker) peg.Pattern {
	if m.Text == "" {
		return peg.Seq{}
	}
	return c.marker(m)
}

// dictCodec is how a grammar writes the values of a dict.
func dictCodec(p *format.Body) gbnf.Codec {
	return gbnf.Codec{Style: gbnf.Python, Quote: p.Codec.Quote, BareKeys: true}
}

// maxKeySets bounds the keys for which every order is spelled out, each key once and the required
// ones there: a set of n keys costs 2^n rules.
const maxKeySets = 4

// entries matches a tool's arguments: declared keys in any order, each once and the required ones
// all, or with many keys, at least as many as are required.
func (c *entryWriter) entries(t *tool) peg.Pattern {
	e, s := c.s.entry, t.schema
	fields := s.Fields()
	sep := peg.Pattern(peg.Space{})
	if m := c.s.Body.Sep; m.Text != "" {
		sep = peg.Seq{c.space(m.Before), c.spelled(m.Text), c.space(m.After)}
	}
	if len(fields) == 0 {
		// That a closing tag has the key of the opening one is beyond a grammar.
		if e.closesWithKey() || s.Types()&schema.Object == 0 || !s.IsFree(schema.Object) ||
			s.Types() == schema.AnyType {
			return peg.Seq{}
		}
		one := c.entry(t.name, "", schema.Any())
		return peg.Opt{P: peg.Seq{one, peg.Rep{P: peg.Seq{sep, one}}}}
	}
	entries := make(peg.Choice, len(fields))
	required := 0
	for i, f := range fields {
		entries[i] = c.ref(fmt.Sprintf("%s-%s-%d", t.name, f.Name, c.s.number), func() peg.Pattern {
			return c.entry(t.name+"-"+f.Name, f.Name, f.Schema)
		})
		if f.Required {
			required++
		}
	}
	if len(fields) <= maxKeySets {
		return c.permuted(t, entries, sep)
	}
	more := peg.Rep{P: peg.Seq{sep, entries}, Min: max(required-1, 0), Max: max(len(fields)-1, 1)}
	if required == 0 {
		return peg.Opt{P: peg.Seq{entries, more}}
	}
	return peg.Seq{entries, more}
}

// permuted matches a few entries in any order, each once at most and the required ones once.
func (c *entryWriter) permuted(t *tool, entries peg.Choice, sep peg.Pattern) peg.Pattern {
	var need uint
	for i, f := range t.schema.Fields() {
		if f.Required {
			need |= 1 << i
		}
	}
	var state func(seen uint) peg.Pattern
	state = func(seen uint) peg.Pattern {
		return c.ref(fmt.Sprintf("%s-%d-after-%d", t.name, c.s.number, seen), func() peg.Pattern {
			var alts peg.Choice
			for i, entry := range entries {
				if seen&(1<<i) != 0 {
					continue
				}
				seq := peg.Seq{entry, state(seen | 1<<i)}
				if seen != 0 {
					seq = append(peg.Seq{sep}, seq...)
				}
				alts = append(alts, seq)
			}
			if bits.OnesCount(seen&need) == bits.OnesCount(need) {
				alts = append(alts, peg.Seq{})
			}
			return alts
		})
	}
	return state(0)
}

// entry matches one argument. Without a key it is one that is not declared.
func (c *entryWriter) entry(name, key string, s *schema.Schema) peg.Pattern {
	e := c.s.entry
	seq := peg.Seq{}
	if t := e.open.Text; t.Text != "" {
		seq = append(seq, c.space(""), c.spelled(t.Text), c.edge(t.After))
	}
	if key == "" {
		seq = append(seq, word(nameBytes))
	} else {
		seq = append(seq, peg.Lit{Text: e.key.Escaped(key)})
	}
	seq = append(seq, c.mid())
	closing := c.closing(key)
	if e.typ == nil {
		mode := valueModeOf(&c.s.Body, s.Types())
		if e.closeText(key) == "" && c.s.Body.Kind == format.BodyKwargs {
			mode = valueLiteral // only a literal can end a value without brackets
		}
		return append(seq, c.value(name, key, s, mode), closing)
	}
	end := peg.Seq{c.edge(e.typEnd.Text.Before), c.spelled(e.typEnd.Text.Text)}
	var alts peg.Choice
	for _, t := range e.typ.Types {
		mode := valueJSON
		if t.Raw {
			mode = valueString
		}
		if (s.Types()&schema.String != 0) != t.Raw && (t.Raw || s.Types() == schema.String) {
			continue
		}
		alts = append(alts, peg.Seq{peg.Lit{Text: t.Word}, end, c.value(name, key, s, mode)})
	}
	return append(seq, alts, closing)
}

// mid matches the text between a key and its type or value.
func (c *entryWriter) mid() peg.Pattern {
	e := c.s.entry
	if gap := e.mid.Text.Before; e.mid.Text.Text == "" && gap != "" {
		return peg.Lit{Text: gap}
	}
	return peg.Seq{c.edge(e.mid.Text.Before), c.spelled(e.mid.Text.Text)}
}

// closing matches the close of an entry. The white space before its first literal is a part of the
// value's pattern.
func (c *entryWriter) closing(key string) peg.Pattern {
	e := c.s.entry
	var seq peg.Seq
	for n, p := range e.close {
		switch {
		case p.Kind == format.SlotLit && p.Text.Text != "":
			if n > 0 {
				seq = append(seq, c.edge(p.Text.Before))
			}
			seq = append(seq, c.spelled(p.Text.Text))
			if n+1 < len(e.close) {
				seq = append(seq, c.edge(p.Text.After))
			}
		case p.Kind == format.SlotKey && key != "":
			seq = append(seq, peg.Lit{Text: key})
		case p.Kind == format.SlotKey:
			seq = append(seq, word(nameBytes))
		}
	}
	return seq
}

// codec is how a value of a mode is written.
func (c *entryWriter) codec(key string, mode valueMode) gbnf.Codec {
	e := c.s.entry
	p := &c.s.Body
	var gc gbnf.Codec
	switch mode {
	case valueLiteral:
		switch {
		case p.Kind == format.BodyDict && p.Codec.Style != format.StyleJSON:
			// texts inside a value in JSON have its quotes
			gc = dictCodec(p)
		case p.Codec.Style == format.StylePython:
			gc.Style = gbnf.Python
		}
	case valueJSON:
		if p.Codec.Escaped {
			gc.Quote = entityQuote
		}
	default:
		gc = gbnf.Codec{Raw: true, Entity: p.Codec.Entity}
		if stop := e.closeText(key); stop != "" {
			gc.Stops = heads(stop)
			if c.on(OptionalWrapper) {
				open, closers := c.s.afterValue()
				if gc.Stops = append(gc.Stops, closers...); open != "" {
					gc.Stops = append(gc.Stops, c.s.keyGap()+open)
				}
			}
		} else {
			gc.Stops = append([]string{}, c.s.openEnds()...)
		}
		if p.Codec.CDATA {
			gc.Stops = append(gc.Stops, openCDATA)
		}
	}
	if p.Codec.Style == format.StyleStr {
		gc.Style = gbnf.Python
	}
	return gc
}

// entityQuote is how a template that escapes values writes the quotes of JSON.
const entityQuote = "&#34;"

// value matches a value as its schema wants it.
func (c *entryWriter) value(name, key string, s *schema.Schema, mode valueMode) peg.Pattern {
	e := c.s.entry
	if mode == valueNested {
		tags, ok := nestedTags(c.s.Body.Entry, c.s.Body.Item)
		if !ok {
			return c.fail(untagged)
		}
		return (&nestedWriter{c.sheet, tags}).value(name, s, e.closeText(key))
	}
	lines, before := c.s.byLines(), e.closeGap()
	gc := c.codec(key, mode)
	if mode == valueLiteral && s.Types() == schema.String {
		gc.Quote = c.s.Body.Codec.Quote // strings inside a value may have the quotes of a literal
	}
	value := constrained(name, s, gc)
	if !gc.Raw && lines {
		return peg.Seq{peg.Lit{Text: e.valueGap}, value, peg.Lit{Text: "\n"}}
	} else if !gc.Raw {
		return peg.Seq{c.space(e.valueGap), value, c.space(before)}
	}
	if c.s.Body.Codec.CDATA {
		literal := gc
		literal.Stops, literal.Entity = []string{shutCDATA}, false
		value = peg.Choice{peg.Seq{peg.Lit{Text: openCDATA}, constrained(name, s, literal),
			peg.Lit{Text: shutCDATA}}, value}
	}
	// White space beside raw text would be the value's.
	if lines {
		before = "\n"
	}
	return peg.Seq{peg.Lit{Text: e.valueGap}, value, peg.Lit{Text: before}}
}
