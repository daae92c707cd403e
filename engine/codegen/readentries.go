package codegen

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// entryReader makes the states of a call's arguments, as JSON or one by one.
type entryReader struct {
	*reader
	s *spelling
	// the tool whose declared arguments are read; nil where it has none, or they change nothing
	tool   *tool
	fields []schema.Property // the arguments that it declares, found once
}

func newEntryReader(r *reader, s *spelling) *entryReader { return &entryReader{reader: r, s: s} }

// of is the reader of a tool's arguments.
func (c *entryReader) of(t *tool) *entryReader {
	open, _ := c.s.afterValue()
	named := func(f schema.Property) bool { return f.Name != "" }
	if open == "" || !c.t.on(OptionalWrapper) {
		return c
	}
	fields := t.schema.Fields()
	if !slices.ContainsFunc(fields, named) {
		return c
	}
	return &entryReader{c.reader, c.s, t, fields}
}

// literal is a scanner that reads Python literals too where the format has them or they are
// tolerated. Then the strings and keys of arguments that are one object may lack their quotes (T6),
// up to a marker that stands after them.
func (c *entryReader) literal(s codec.Syntax, python bool) codec.Syntax {
	s.Strict, s.Marked = !python && !c.t.on(AnyLiteral), c.t.o.marked()
	s.Words = s.Object && c.t.on(AnyLiteral)
	firsts := c.s.afterArguments().firsts()
	if at := slices.IndexFunc(firsts, distinctive); s.Words && at >= 0 {
		s.Until = firsts[at]
	}
	return s
}

// arguments matches arguments that are an object in JSON, or a Python literal where single quotes
// are used; text: as a string. Another value is no arguments: the call is malformed (E14).
func (c *entryReader) arguments(text bool, quote byte) peg.Pattern {
	value := peg.Scan{Kind: Args, Scanner: c.literal(codec.Syntax{Object: true}, quote == '\'')}
	if !text && !c.t.on(AnyLiteral) {
		return value
	}
	return c.ref(c.name(fmt.Sprintf("arguments %c", quote)), func() peg.Pattern {
		string := peg.Seq{peg.Set{Set: peg.Bytes(`"'`)}, peg.Space{}, peg.Lit{Text: "{"}}
		return peg.Choice{
			peg.Seq{peg.And{P: string}, peg.Cut{},
				peg.Scan{Kind: Args, Scanner: codec.Embedded{Marked: c.t.o.marked()}}},
			none,
			value,
		}
	})
}

// body matches a call's arguments where the call is not a JSON object.
func (c *entryReader) body(tool *tool) peg.Pattern {
	switch c.s.Body.Kind {
	case format.BodyTagged:
		body := peg.Seq{c.ref(c.name("entries open"), c.open), c.entries(tool),
			c.ref(c.name("entries close"), c.close)}
		if c.t.on(AnyLiteral) || c.s.jsonToo() { // models fall back to JSON
			// Not t.own(): one of the texts that stand elsewhere may begin as JSON arguments do.
			own := append(c.s.afterArguments().firsts(), c.s.Body.Open.Text,
				c.s.entry.open.Text.Text)
			ahead := c.closers().except(c.ref("JSON ahead", jsonAhead), "{", own)
			return peg.Choice{peg.Seq{ahead, peg.Cut{}, peg.Space{}, c.arguments(false, '"')},
				body}
		}
		return body
	case format.BodyKwargs:
		return peg.Seq{c.ref(c.name("entries open"), c.open), c.entries(tool),
			c.ref(c.name("entries close"), c.close)}
	case format.BodyDict:
		return c.dict()
	}
	return c.json(tool)
}

// freely matches the arguments of a tool that takes one text, written as that text alone up to one
// of some literals (E21 T6): models write the input of a custom tool so. Without such a tool it is
// nil.
func (c *entryReader) freely(tool *tool, until []string) peg.Choice {
	if tool.text() == "" || !c.t.on(AnyLiteral) || !slices.ContainsFunc(until, distinctive) {
		return nil
	}
	key := quoted('"', tool.text()) + ": "
	ends := peg.And{P: peg.Choice(lists.Map(until, c.lit))}
	return peg.Choice{peg.Seq{peg.Not{P: peg.Choice{objectAhead, none, ends}},
		peg.Emit{Kind: Open}, peg.Emit{Kind: Key, Text: key},
		peg.Emit{Kind: ValueBegin, Arg: c.value(ValueInfo{Mode: ValueRaw})},
		peg.Cut{}, peg.Until{Kind: Value, Stops: stops(until, nil)}, ends,
		peg.Emit{Kind: ValueEnd}, peg.Emit{Kind: Close}}}
}

// none matches the text that stands for no arguments.
var none = peg.Choice(lists.Map([]string{"null", "None", `""`, "''"},
	func(text string) peg.Pattern { return peg.Lit{Text: text} }))

func jsonAhead() peg.Pattern { return peg.And{P: peg.Seq{peg.Space{}, peg.Lit{Text: "{"}}} }

// open and close match the markers around arguments that come one by one.
func (c *entryReader) open() peg.Pattern {
	if c.s.Body.Kind == format.BodyKwargs {
		return peg.Seq{peg.Emit{Kind: Open}, c.marker(c.s.Body.Open)}
	}
	return peg.Seq{peg.Emit{Kind: Open}, c.optional(c.s.Body.Open)}
}

func (c *entryReader) close() peg.Pattern {
	close := c.s.Body.Close
	if c.s.Body.Kind == format.BodyKwargs {
		return peg.Seq{c.space(close.Before), c.orStub(close.Text), peg.Emit{Kind: Close}}
	}
	return peg.Seq{c.optional(close), peg.Emit{Kind: Close}}
}

// dict matches arguments that are one object without quotes around its keys.
func (c *entryReader) dict() peg.Pattern {
	p := &c.s.Body
	open, close := c.optional(p.Open), c.optional(p.Close)
	if p.Open.Text == "{" { // the braces are the dict's own
		open, close = peg.Seq{}, peg.Seq{}
	}
	syntax := codec.Syntax{Bare: true, Token: p.Codec.Quote, Object: true}
	return peg.Seq{open, peg.Space{}, peg.Scan{Kind: Args, Scanner: c.literal(syntax, true)}, close}
}

// objectAhead matches up to the brace of an object, which may stand in a string.
var objectAhead = peg.Seq{peg.Space{}, peg.Opt{P: peg.Set{Set: peg.Bytes(`"'`)}}, peg.Space{},
	peg.Lit{Text: "{"}}

// json matches arguments that are one JSON object, which may be missing where there are none.
func (c *entryReader) json(tool *tool) peg.Pattern {
	p := &c.s.Body
	open, close := c.optional(p.Open), c.optional(p.Close)
	object := peg.Seq{peg.Space{}, c.arguments(false, '"')}
	firsts := c.s.afterArguments().firsts()
	behind := peg.Choice(lists.Map(firsts, c.lit))
	if len(behind) == 0 {
		return peg.Seq{open, peg.And{P: objectAhead}, object, close}
	}
	ways := append(peg.Choice{append(peg.Seq{peg.And{P: objectAhead}, peg.Cut{}}, object...)},
		c.freely(tool, firsts)...)
	return peg.Seq{open, append(ways, peg.And{P: peg.Seq{peg.Space{}, behind}}), close}
}

// optional matches a marker around arguments, which may be missing (T4).
func (c *entryReader) optional(m format.Marker) peg.Pattern {
	switch {
	case m.Text == "":
		return peg.Seq{}
	case !c.t.on(OptionalWrapper):
		return c.marker(m)
	}
	return peg.Opt{P: peg.Seq{c.space(m.Before), c.orStub(m.Text), c.space(m.After)}}
}

func (c *entryReader) name(state string) string { return state + " " + c.s.id }

// prepare makes the rules that are alike for all tools.
func (c *entryReader) prepare() {
	for _, types := range []schema.TypeSet{schema.String, schema.Integer, schema.Number,
		schema.Boolean, schema.Array, schema.Object, schema.AnyType} {
		c.keyed("", typed(types))
	}
}

// entries is the state of reading the arguments of a tool, one after the other in any order.
func (c *entryReader) entries(tool *tool) peg.Pattern {
	name := c.name("entries") + " " + tool.name
	return c.ref(name, func() peg.Pattern {
		c := c.of(tool)
		separator, next := c.ref(c.name("separator"), c.separator), c.ref(name, nil)
		var words []string
		var bodies []peg.Pattern
		known := map[string]bool{"": true}
		add := func(word string, body peg.Pattern) {
			if !known[word] {
				known[word] = true
				words, bodies = append(words, word), append(bodies, body)
			}
		}
		fields := tool.schema.Fields()
		entries := make([]peg.Pattern, len(fields))
		for i, f := range fields {
			key := string(append(ordered.AppendQuoted(make([]byte, 0, len(f.Name)+8), f.Name,
				false), ": "...))
			entries[i] = peg.Seq{peg.Emit{Kind: Key, Text: key}, peg.Cut{},
				c.keyed(f.Name, f.Schema)}
			add(f.Name, entries[i])
		}
		if c.s.attributes() {
			for i, f := range fields { // after all names as they are
				for _, word := range inAttribute(f.Name) {
					add(word, entries[i])
				}
			}
		}
		alts := make(peg.Choice, 0, 4)
		if len(words) > 0 {
			declared := peg.Dispatch{Words: words, After: c.ref(c.name("after key"), c.afterKey),
				Bodies: bodies}
			alts = append(alts, peg.Seq{c.ref(c.name("lead"), c.lead), declared, separator, next})
		}
		return append(alts,
			peg.Seq{c.ref(c.name("key"), c.freeKey), peg.Cut{}, c.keyed("", anyValue), separator,
				next},
			peg.Seq{c.ref(c.name("begun key"), c.begunKey), peg.Cut{}, peg.Not{P: peg.Seq{}}},
			peg.Seq{})
	})
}

// anyValue is the schema of arguments that are not declared.
var anyValue = schema.Any()

// separator matches the separator of entries, or nothing.
func (c *entryReader) separator() peg.Pattern {
	if sep := c.s.Body.Sep; sep.Text != "" {
		return peg.Opt{P: peg.Seq{c.space(sep.Before), c.lit(sep.Text)}}
	}
	return peg.Seq{}
}

// lead matches the text before a key.
func (c *entryReader) lead() peg.Pattern { return c.leading() }

func (c *entryReader) leading() peg.Seq {
	lead := peg.Seq{peg.Space{}}
	if t := c.s.entry.open.Text; t.Text != "" {
		lead = append(lead, c.lit(t.Text), c.space(t.After))
	}
	return slices.Clip(lead)
}

// freeKey matches a key that is not declared, with the text before it.
func (c *entryReader) freeKey() peg.Pattern {
	return append(c.leading(),
		peg.Hold{P: peg.Seq{peg.Capture{Kind: KeyText, P: c.key()},
			peg.Emit{Kind: KeyEnd, Arg: c.s.keyEscapes()}, c.ref(c.name("after key"), c.afterKey)}})
}

// begunKey matches the part of an entry that the end of the output leaves: it belongs to the call,
// which fails there.
func (c *entryReader) begunKey() peg.Pattern {
	e := c.s.entry
	begun := append(c.leading(), peg.Opt{P: c.key()})
	if t := e.mid.Text.Text; t != "" {
		begun = append(begun, peg.Opt{P: peg.Seq{c.space(e.mid.Text.Before), stub(t)}})
	}
	if e.open.Text.Text == "" {
		begun = append(peg.Seq{peg.Not{P: peg.Seq{peg.Space{}, peg.End{}}}}, begun...)
	}
	return append(begun, peg.End{})
}

// afterKey looks ahead to the text after a key.
func (c *entryReader) afterKey() peg.Pattern {
	e := c.s.entry
	var alts peg.Choice
	for _, text := range []string{e.mid.Text.Text, e.typEnd.Text.Text, c.unquoted()} {
		if text != "" {
			alts = append(alts, c.lit(text))
		}
	}
	if len(alts) == 0 {
		return peg.And{P: c.mid()}
	}
	return peg.And{P: peg.Seq{c.space(e.mid.Text.Before), alts}}
}

// mid matches the text between a key and its type or value. Where that is white space alone, all
// text after it is the value's.
func (c *entryReader) mid() peg.Pattern {
	e := c.s.entry
	gap := e.mid.Text.Before
	if e.mid.Text.Text != "" || gap == "" {
		return peg.Seq{c.space(gap), c.lit(e.mid.Text.Text)}
	}
	return peg.Choice{peg.Lit{Text: gap}, peg.Set{Set: peg.Bytes(format.Space)}}
}

// key matches a key that is not declared.
func (c *entryReader) key() peg.Pattern {
	e := c.s.entry
	switch {
	case e.open.Text.Text == "":
		return wordBefore(nil)
	case c.s.attributes():
		return wordBefore([]string{e.mid.Text.Text, "<", ">"})
	}
	return wordBefore([]string{e.mid.Text.Text, "=", " ", "/", "<", ">"})
}

// ahead matches the beginning of an entry up to the text after its key.
func (c *entryReader) ahead() peg.Seq {
	e := c.s.entry
	var seq peg.Seq
	if t := e.open.Text.Text; t != "" {
		seq = append(seq, c.lit(t), peg.Space{})
	}
	if e.mid.Text.Text == "" {
		return append(seq, c.key(), c.mid())
	}
	return append(seq, c.key(), peg.Space{}, c.lit(e.mid.Text.Text))
}

// keyed matches the rest of an entry after its key: the type, the value and the closing text. Where
// that depends neither on the key nor on more of the schema than its types, values of one mode are
// read alike.
func (c *entryReader) keyed(key string, s *schema.Schema) peg.Pattern {
	if c.s.Body.Codec.Nested || c.s.entry.closesWithKey() {
		return c.makeKeyed(key, s)
	}
	mode, types := valueModeOf(&c.s.Body, s.Types()), codec.Values(s.Types())
	if mode == valueString || mode == valueLiteral {
		types = 0
	}
	name := c.name("value") + " " + strconv.Itoa(int(mode)) + " " + strconv.Itoa(int(types))
	if c.tool != nil {
		name += " of " + c.tool.name
		if c.onlyKey(key) {
			name += " alone"
		}
	}
	return c.ref(name, func() peg.Pattern { return c.makeKeyed(key, s) })
}

// onlyKey reports whether a key is the only one that the tool declares.
func (c *entryReader) onlyKey(key string) bool {
	return len(c.fields) == 1 && c.fields[0].Name == key
}

// anotherKey matches a key that can follow a value whose closing marker is missing, with the text
// after it: a declared one, where there are any (E36).
func (c *entryReader) anotherKey() peg.Pattern {
	if c.tool == nil {
		return c.ahead()[2:]
	}
	return c.ref(c.name("another key")+" of "+c.tool.name, func() peg.Pattern {
		var words []string
		for _, f := range c.fields {
			words = append(words, f.Name)
			if c.s.attributes() {
				words = append(words, inAttribute(f.Name)...)
			}
		}
		slices.Sort(words)
		words = slices.DeleteFunc(slices.Compact(words), func(w string) bool { return w == "" })
		return peg.Dispatch{Words: words, After: c.ref(c.name("after key"), c.afterKey)}
	})
}

func (c *entryReader) makeKeyed(key string, s *schema.Schema) peg.Pattern {
	e := c.s.entry
	mid := peg.Seq{c.mid()}
	if e.typ == nil {
		as := append(slices.Clip(mid), c.entryValue(key, s))
		if bare := c.unquoted(); bare != "" {
			return peg.Choice{
				peg.Seq{peg.And{P: mid}, peg.Cut{}, as},
				peg.Seq{c.space(e.mid.Text.Before), c.lit(bare), peg.Space{},
					peg.Scan{Kind: Args, Scanner: c.literal(codec.Syntax{}, true)}},
			}
		}
		return as
	}
	end := peg.Seq{c.space(e.typEnd.Text.Before), c.lit(e.typEnd.Text.Text)}
	var words []string
	var bodies []peg.Pattern
	for _, t := range e.typ.Types {
		as := s
		switch {
		case t.Raw:
			as = typed(schema.String)
		case s.Types()&schema.String != 0:
			as = typed(schema.AnyType &^ schema.String)
		}
		words = append(words, t.Word)
		bodies = append(bodies, peg.Seq{peg.Cut{}, end, c.entryValue(key, as)})
	}
	typed := peg.Seq{mid, peg.Choice{
		peg.Dispatch{Words: words, After: peg.And{P: end}, Bodies: bodies},
		peg.Seq{wordBefore([]string{e.typEnd.Text.Text}), end, c.entryValue(key, s)},
	}}
	return peg.Choice{peg.Seq{peg.And{P: mid}, peg.Cut{}, typed},
		peg.Seq{end, c.entryValue(key, s)}}
}

// unquoted returns the text before a value where the template writes every value between quotes, as
// key="value", without the quote: a model writes a Python literal there, and quotes around strings
// alone (E21 T6). It is empty elsewhere.
func (c *entryReader) unquoted() string {
	e := c.s.entry
	mid, close := e.mid.Text.Text, e.closeText("")
	if c.s.Body.Kind != format.BodyKwargs || !c.t.on(AnyLiteral) || len(mid) < 2 || close == "" {
		return ""
	}
	if quote := mid[len(mid)-1]; quote != close[0] || quote != '"' && quote != '\'' {
		return ""
	}
	return mid[:len(mid)-1]
}

// entryValue matches a value and the closing text of its entry.
func (c *entryReader) entryValue(key string, s *schema.Schema) peg.Pattern {
	e := c.s.entry
	p := &c.s.Body
	mode := valueModeOf(p, s.Types())
	closing := c.closed(key)
	info := ValueInfo{Mode: ValueHeld, Types: codec.Values(s.Types()), Before: e.closeGap(),
		After: e.valueGap, Entity: p.Codec.Entity}
	switch mode {
	case valueNested:
		tags, ok := nestedTags(p.Entry, p.Item)
		if !ok {
			return c.fail(untagged)
		}
		return peg.Seq{peg.Scan{Kind: Args, Scanner: &codec.NestedType{Tags: tags, Schema: s,
			Marked: c.t.o.marked()}},
			closing}
	case valueLiteral:
		scan := peg.Scan{Kind: Args,
			Scanner: c.literal(codec.Syntax{Token: p.Codec.Quote}, python(p))}
		return peg.Seq{peg.Space{}, scan, closing}
	case valueString:
		info.Mode, info.Types = ValueRaw, 0
		return c.orLiteral(`"'`, c.region(key, info))
	case valueJSON:
		if p.Codec.Escaped { // to be unescaped before it is read
			return c.region(key, info)
		}
		scan := peg.Scan{Kind: Args, Scanner: c.literal(codec.Syntax{}, python(p))}
		return c.orLiteral(`"'`, peg.Choice{
			peg.Seq{peg.And{P: peg.Seq{peg.Space{}, peg.Set{Set: peg.Bytes("{[")}}}, peg.Cut{},
				peg.Space{}, scan, closing},
			c.region(key, info),
		})
	}
	return c.orLiteral(`"'[{`, c.region(key, info))
}

const untagged = "nested arguments need tags with a key in the opening and the closing one, " +
	"and tags for items"

// orLiteral matches a value that nothing encloses as the literal that its first byte says it is,
// else as text: a template that writes key=value does not mean that a model leaves out the quotes
// of strings (E21 T6).
func (c *entryReader) orLiteral(firsts string, text peg.Pattern) peg.Pattern {
	e := c.s.entry
	if c.s.Body.Kind != format.BodyKwargs || e.closeText("") != "" || !c.t.on(AnyLiteral) {
		return text
	}
	scan := peg.Scan{Kind: Args, Scanner: c.literal(codec.Syntax{}, true)}
	return peg.Choice{peg.Seq{peg.And{P: peg.Seq{peg.Space{}, peg.Set{Set: peg.Bytes(firsts)}}},
		peg.Cut{}, peg.Space{}, scan}, text}
}

// closing matches the close of an entry. Without a key the close is unknown, and so is the key in
// the closing tag.
func (c *entryReader) closing(key string) peg.Seq {
	e := c.s.entry
	var seq peg.Seq
	for n, p := range e.close {
		switch {
		case p.Kind == format.SlotLit && p.Text.Text != "":
			if n > 0 {
				seq = append(seq, c.space(p.Text.Before))
			} else { // after text it is the text's, after a literal nothing
				seq = append(seq, peg.Space{})
			}
			seq = append(seq, c.lit(p.Text.Text))
			if n+1 < len(e.close) {
				seq = append(seq, c.space(p.Text.After))
			}
		case p.Kind == format.SlotKey && key != "":
			seq = append(seq, once(key))
		case p.Kind == format.SlotKey:
			seq = append(seq, c.key())
		}
	}
	return seq
}

// region matches the text of a value and its closing marker: the first one after which the call
// goes on (E18).
func (c *entryReader) region(key string, info ValueInfo) peg.Pattern {
	e := c.s.entry
	stops := c.valueStops(key)
	number := c.value(info)
	begin := peg.Pattern(peg.Emit{Kind: ValueBegin, Arg: number})
	end := peg.Seq{c.closed(key), peg.Emit{Kind: ValueEnd}}
	if open, _ := c.s.afterValue(); open != "" && c.t.on(OptionalWrapper) &&
		(info.Mode == ValueRaw || info.Types != schema.AnyType) {
		// A string that begins so has it as text: no model writes a key and then another one.
		begin = peg.Seq{begin, peg.Opt{P: peg.Hold{P: peg.Capture{Kind: Value,
			P: peg.Seq{peg.Space{}, c.lit(open)}}}}}
	}
	if !c.s.Body.Codec.CDATA {
		return peg.Seq{begin, peg.Until{Kind: Value, Stops: stops}, end}
	}
	name := fmt.Sprintf("text %d %q", number, e.closeText(key))
	text := c.ref(name, func() peg.Pattern {
		literal := peg.Seq{peg.Lit{Text: openCDATA}, peg.Cut{}, peg.Emit{Kind: Verbatim, Arg: 1},
			peg.Until{Kind: Value, Stops: []peg.Stop{{Text: shutCDATA, Stub: true}}},
			peg.Choice{peg.Lit{Text: shutCDATA}, peg.Stub{Text: shutCDATA}},
			peg.Emit{Kind: Verbatim}, peg.Ref{Name: name}}
		return peg.Seq{peg.Until{Kind: Value,
			Stops: append(slices.Clone(stops), peg.Stop{Text: openCDATA})},
			peg.Choice{literal, peg.Seq{}}}
	})
	return peg.Seq{begin, text, end}
}

// ending is a literal that ends a value if the text that must follow it does follow.
type ending struct {
	text   string
	behind peg.Seq
}

// valueStops returns the literals that end the text of a value.
func (c *entryReader) valueStops(key string) (stops []peg.Stop) {
	add := func(s peg.Stop) {
		i := slices.IndexFunc(stops, func(o peg.Stop) bool { return o.Text == s.Text })
		switch {
		case i < 0:
			stops = append(stops, s)
		case stops[i].After == nil || s.After == nil:
			stops[i].After = nil
		default: // two markers begin alike
			stops[i].After = peg.Choice{stops[i].After, s.After}
		}
	}
	e := c.s.entry
	ends := []ending{{e.closeText(key), peg.Seq{peg.Space{}, c.goesOn()}}}
	if ends[0].text == "" {
		ends = c.openEnd()
	} else if c.t.on(OptionalWrapper) {
		open, closers := c.s.afterValue()
		for _, text := range closers {
			ends = append(ends, ending{text,
				peg.Seq{peg.Space{}, c.ref(c.name("call goes on"), c.callGoesOn)}})
		}
		if open != "" && (c.tool == nil || !c.onlyKey(key)) {
			ends = append(ends, ending{c.s.keyGap() + open, peg.Seq{peg.Space{}, c.anotherKey()}})
		}
	}
	for _, end := range ends {
		for _, v := range variants(end.text) {
			parts, confirm := tokens(v), end.behind
			if parts[0] == "" && len(parts) == 2 && parts[1] != "" { // a line break before a marker
				add(peg.Stop{Text: "\n" + parts[1], Stub: true, After: confirm})
				continue
			}
			if parts[0] == "" { // a line break
				add(peg.Stop{Text: v, Stub: true, After: confirm})
				continue
			}
			for n := len(parts) - 1; n > 0; n-- {
				confirm = append(peg.Seq{peg.Space{}, peg.Lit{Text: parts[n]}}, confirm...)
			}
			add(peg.Stop{Text: parts[0], Stub: true, After: confirm})
		}
	}
	return stops
}

// callGoesOn matches the text that may follow the first of a call's closing markers.
func (c *entryReader) callGoesOn() peg.Pattern {
	alts := peg.Choice{peg.End{}}
	for _, t := range either(c.s.afterArguments(), c.t.anyCall(), literals(c.t.endTexts())).
		firsts() {
		alts = append(append(alts, c.lit(t)), stub(t)...)
	}
	return alts
}

// closed matches the close of an entry. Where it is missing, the next key's opener and the call's
// own closing markers close it (T4).
func (c *entryReader) closed(key string) peg.Pattern {
	closing := c.closing(key)
	if len(closing) == 0 || !c.t.on(OptionalWrapper) {
		return closing
	}
	open, closers := c.s.afterValue()
	outer := peg.Choice(lists.Map(closers, c.lit))
	if open != "" {
		outer = append(outer, c.lit(open))
	}
	if len(outer) == 0 {
		return closing
	}
	return peg.Choice{closing, peg.And{P: peg.Seq{peg.Space{}, outer}}}
}

// goesOn matches the beginning of the text that may follow a value's closing marker: a further
// entry, the end of the call, the turn or the output.
func (c *entryReader) goesOn() peg.Pattern {
	e := c.s.entry
	return c.ref(c.name("after value"), func() peg.Pattern {
		alts := peg.Choice{peg.End{}}
		follow := either(literal(e.open.Text.Text), literal(c.s.Body.Sep.Text),
			c.s.afterArguments(), literals(c.t.endTexts()))
		for _, t := range follow.firsts() {
			alts = append(append(alts, c.lit(t)), stub(t)...)
		}
		if e.open.Text.Text == "" {
			alts = append(alts, c.ahead())
		}
		return alts
	})
}

// openEnd finds the stops of values that nothing closes: the separator of entries, a line break
// perhaps, where another key follows, and the text of the call after the last one.
func (c *entryReader) openEnd() (out []ending) {
	e := c.s.entry
	further, goesOn := c.ahead(), c.goesOn()
	open := e.open.Text.Text
	for _, text := range c.s.openEnds() {
		behind := peg.Seq{peg.Space{}, goesOn}
		switch {
		case c.s.byLines():
			// an empty line is the value's
			indent := peg.Rep{P: peg.Set{Set: peg.Bytes(" \t\r")}, Max: maxIndent}
			behind = peg.Seq{indent, peg.Choice{further, goesOn}}
		case text == c.s.Body.Sep.Text:
			behind = append(peg.Seq{peg.Space{}}, further...)
		case text == open:
			behind = append(peg.Seq{peg.Space{}}, further[min(1, len(further)):]...)
		case distinctive(open) && distinctive(text):
			// a token ends the value and the call: any text may follow
			behind = nil
		}
		out = append(out, ending{text, behind})
	}
	return out
}

// maxIndent bounds the white space before a line that ends the value above it.
const maxIndent = 40

// typed is the schema of any value of some types.
func typed(types schema.TypeSet) *schema.Schema { return schema.Any().Only(types) }
