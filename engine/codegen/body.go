package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// Constraint is the value of a label: what the grammar has in place of the labelled pattern.
type Constraint struct {
	Name   string // what its rules are called after
	Schema *schema.Schema
	Codec  gbnf.Codec
}

// arguments matches arguments that are JSON, or Python literals where single quotes are used; text: as a string.
func (b *builder) arguments(tool int, text bool, quote byte) peg.Pattern {
	if b.strict {
		c := Constraint{Name: b.tools[tool].Name + "-args", Schema: b.schemas[tool]}
		if quote == '\'' {
			c.Codec.Style = gbnf.Python
		}
		if text {
			c.Schema, _ = schema.Parse(ordered.ObjectOf(ordered.Member{Key: "type", Value: ordered.Str("string")}))
		}
		return peg.Label{Name: c.Name, Value: c, P: peg.Scan{Kind: Args, Scanner: codec.Syntax{}}}
	}
	value := peg.Scan{Kind: b.kind(Args), Scanner: b.literal(codec.Syntax{}, quote == '\'')}
	if !text && !b.on(AnyLiteral) {
		return value
	}
	return b.shared(fmt.Sprintf("arguments %c", quote), func() peg.Pattern {
		string := peg.Seq{peg.Set{Set: peg.Bytes(`"'`)}, peg.Space{}, peg.Lit{Text: "{"}}
		return peg.Choice{
			peg.Seq{peg.And{P: string}, peg.Cut{}, peg.Scan{Kind: b.kind(Args), Scanner: codec.Embedded{}}},
			peg.Choice{peg.Lit{Text: "null"}, peg.Lit{Text: "None"}}, // none
			value,
		}
	})
}

// literal is a scanner that reads Python literals too where the format has them or they are tolerated.
func (b *builder) literal(s codec.Syntax, python bool) codec.Syntax {
	s.Strict = !python && !b.on(AnyLiteral)
	return s
}

// python says that a body writes values as Python does.
func python(p *format.Body) bool {
	return p.Kind == format.BodyDict || p.Codec.Style == format.StylePython || p.Codec.Style == format.StyleStr
}

// body matches a call's arguments where the call is not a JSON object.
func (b *builder) body(c *format.Calls, tool int) peg.Pattern {
	p := &c.Body
	open, close := b.optionalMarker(p.Open, c), b.optionalMarker(p.Close, c)
	if p.Kind == format.BodyDict && p.Open.Text == "{" { // the braces are the dict's own
		open, close = peg.Seq{}, peg.Seq{}
	}
	switch p.Kind {
	case format.BodyTagged, format.BodyKwargs:
		var seq peg.Seq
		if p.Kind == format.BodyKwargs {
			open, close = b.marker(p.Open), peg.Seq{b.space(p.Close.Before), peg.Choice{b.lit(p.Close.Text), b.stub(p.Close.Text)}}
		}
		seq = append(seq, b.emit(Open, 0, ""), open)
		if b.strict {
			return append(seq, b.strictEntries(c, tool), close)
		}
		seq = append(seq, b.entries(c, tool), close, b.emit(Close, 0, ""))
		if p.Kind == format.BodyTagged && (b.on(AnyLiteral) || b.jsonToo(c)) { // models fall back to JSON
			json := peg.Seq{peg.And{P: peg.Seq{peg.Space{}, peg.Lit{Text: "{"}}}, peg.Cut{}, peg.Space{}, b.arguments(tool, false, '"')}
			return peg.Choice{json, seq}
		}
		return seq
	case format.BodyDict:
		syntax := codec.Syntax{Bare: true, Token: p.Codec.Quote, Object: true}
		scan := peg.Scan{Kind: b.kind(Args), Scanner: b.literal(syntax, true)}
		if b.strict && len(p.Entry) > 0 { // keys in any order
			return peg.Seq{peg.Lit{Text: "{"}, peg.Space{}, b.strictEntries(c, tool), peg.Space{}, peg.Lit{Text: "}"}}
		}
		if b.strict {
			return peg.Label{Name: "dict", P: scan, Value: Constraint{Name: b.tools[tool].Name + "-args", Schema: b.schemas[tool], Codec: dictCodec(p)}}
		}
		return peg.Seq{open, peg.Space{}, scan, close}
	}
	if b.strict {
		return peg.Seq{open, b.space(""), b.arguments(tool, false, '"'), close}
	}
	ahead := peg.And{P: peg.Seq{peg.Space{}, peg.Opt{P: peg.Set{Set: peg.Bytes(`"'`)}}, peg.Space{}, peg.Lit{Text: "{"}}}
	object := peg.Seq{ahead, peg.Space{}, b.arguments(tool, false, '"')}
	var behind peg.Choice
	for _, t := range b.closers(c) {
		behind = append(behind, b.lit(t))
	}
	if len(behind) == 0 {
		return peg.Seq{open, object, close}
	}
	// Arguments may be missing where there are none.
	return peg.Seq{open, peg.Choice{append(peg.Seq{ahead, peg.Cut{}}, object...), peg.And{P: peg.Seq{peg.Space{}, behind}}}, close}
}

// jsonToo says that another spelling begins as this one does and has arguments in JSON: the first one to be recognised reads both.
func (b *builder) jsonToo(c *format.Calls) bool {
	return slices.ContainsFunc(b.spellings, func(d format.Calls) bool {
		head := headLiteral(c).Text
		return d.Object == nil && d.Body.Kind == format.BodyJSON && head != "" && headLiteral(&d).Text == head
	})
}

// dictCodec is how a grammar writes the values of a dict.
func dictCodec(p *format.Body) gbnf.Codec {
	return gbnf.Codec{Style: gbnf.Python, Quote: p.Codec.Quote, BareKeys: true}
}

// closers returns the literals with which a call can go on behind its arguments.
func (b *builder) closers(c *format.Calls) []string {
	texts := []string{c.Body.Close.Text}
	for _, p := range c.Tail {
		if p.Kind == format.SlotLit {
			texts = append(texts, p.Text.Text)
		}
	}
	texts = append(texts, c.Call.Close.Text, c.Sep.Text, c.Section.Close.Text)
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}

// optionalMarker matches a marker around arguments, which may be missing.
func (b *builder) optionalMarker(m format.Marker, c *format.Calls) peg.Pattern {
	switch {
	case m.Text == "":
		return peg.Seq{}
	case b.strict || !b.on(OptionalWrapper):
		return b.marker(m)
	}
	return peg.Opt{P: peg.Seq{b.space(m.Before), peg.Choice{b.lit(m.Text), b.stub(m.Text)}, b.space(m.After)}}
}

// entry is how one argument is spelled: literals and slots by their place.
type entry struct {
	open     format.Part   // before the key; may be empty
	mid      format.Part   // behind the key
	typ      *format.Part  // the type, behind mid
	typEnd   format.Part   // behind the type
	valueGap string        // white space behind the last literal before the value, which is not the value's
	close    []format.Part // behind the value: literals, and the key once more
}

// takeApart finds the slots of an entry.
func (b *builder) takeApart(parts []format.Part) (e entry, ok bool) {
	at := func(kind format.SlotKind) int {
		return slices.IndexFunc(parts, func(p format.Part) bool { return p.Kind == kind })
	}
	key, typ, value := at(format.SlotKey), at(format.SlotType), at(format.SlotValue)
	if key < 0 || value < key {
		return e, false
	}
	e.open, e.mid = joined(parts[:key]), joined(parts[key+1:value])
	if key < typ && typ < value {
		e.mid, e.typ, e.typEnd = joined(parts[key+1:typ]), &parts[typ], joined(parts[typ+1:value])
	}
	e.valueGap = e.mid.Text.After
	if e.typ != nil {
		e.valueGap = e.typEnd.Text.After
	}
	e.close = parts[value+1:]
	return e, true
}

// joined makes one literal of several.
func joined(parts []format.Part) format.Part {
	text := ""
	for _, p := range parts {
		if p.Kind == format.SlotLit {
			text += p.Text.Full()
		}
	}
	return format.Lit(text)
}

// entries is the state of reading the arguments of a tool, one after the other in any order.
func (b *builder) entries(c *format.Calls, tool int) peg.Pattern {
	name := fmt.Sprintf("entries %d %s", b.number(c), b.tools[tool].Name)
	return b.ref(name, func() peg.Pattern {
		e, ok := b.takeApart(c.Body.Entry)
		if !ok {
			return b.fail("the arguments of tool calls are spelled without a key and a value")
		}
		sep := peg.Pattern(peg.Seq{})
		if c.Body.Sep.Text != "" {
			sep = peg.Opt{P: peg.Seq{b.space(c.Body.Sep.Before), b.lit(c.Body.Sep.Text)}}
		}
		after := peg.Seq{sep, peg.Ref{Name: name}}
		keys := b.keyEnd(e, c)
		var words []string
		var bodies []peg.Pattern
		for _, f := range b.schemas[tool].Fields() {
			if f.Name == "" || slices.Contains(words, f.Name) {
				continue
			}
			key := string(append(ordered.AppendQuoted(make([]byte, 0, len(f.Name)+8), f.Name, false), ": "...))
			words = append(words, f.Name)
			bodies = append(bodies, peg.Seq{b.emit(Key, 0, key), peg.Cut{}, b.keyed(c, e, f.Name, f.Schema), after})
		}
		lead := peg.Seq{peg.Space{}}
		if t := e.open.Text; t.Text != "" {
			lead = append(lead, b.lit(t.Text), b.edge(t.After))
		}
		lead = slices.Clip(lead)
		var alts peg.Choice
		if len(words) > 0 {
			alts = append(alts, append(lead, peg.Dispatch{Words: words, After: peg.And{P: keys}, Bodies: bodies}))
		}
		free := b.shared(fmt.Sprint("key ", b.number(c)), func() peg.Pattern {
			return append(lead, peg.Hold{P: peg.Seq{b.capture(KeyText, b.keyWord(e)), b.emit(KeyEnd, 0, ""), peg.And{P: keys}}})
		})
		begun := b.shared(fmt.Sprint("begun key ", b.number(c)), func() peg.Pattern { return b.begunKey(e, lead) })
		return append(alts,
			peg.Seq{free, peg.Cut{}, b.keyed(c, e, "", schema.Any()), after},
			peg.Seq{begun, peg.Cut{}, peg.Not{P: peg.Seq{}}},
			peg.Seq{})
	})
}

// begunKey matches what the end of the output leaves of an entry: it belongs to the call, which fails there.
func (b *builder) begunKey(e entry, lead peg.Seq) peg.Pattern {
	begun := append(lead, peg.Opt{P: b.keyWord(e)})
	if t := e.mid.Text.Text; t != "" {
		begun = append(begun, peg.Opt{P: peg.Seq{b.space(e.mid.Text.Before), b.stub(t)}})
	}
	if e.open.Text.Text == "" {
		begun = append(peg.Seq{peg.Not{P: peg.Seq{peg.Space{}, peg.End{}}}}, begun...)
	}
	return append(begun, peg.End{})
}

// keyEnd matches what follows a key.
func (b *builder) keyEnd(e entry, c *format.Calls) peg.Pattern {
	alts := peg.Choice{}
	for _, text := range []string{e.mid.Text.Text, e.typEnd.Text.Text, b.unquoted(c, e)} {
		if text != "" {
			alts = append(alts, b.lit(text))
		}
	}
	if len(alts) == 0 {
		return b.behindKey(e)
	}
	return peg.Seq{b.space(e.mid.Text.Before), alts}
}

// behindKey matches what stands between a key and its type or value. Where that is white space alone, all that follows it is the value's.
func (b *builder) behindKey(e entry) peg.Pattern {
	gap := e.mid.Text.Before
	switch {
	case e.mid.Text.Text != "" || gap == "":
		return peg.Seq{b.edge(gap), b.lit(e.mid.Text.Text)}
	case b.strict:
		return peg.Lit{Text: gap}
	}
	return peg.Choice{peg.Lit{Text: gap}, peg.Set{Set: peg.Bytes(format.Space)}}
}

// keyWord matches a key that is not declared.
func (b *builder) keyWord(e entry) peg.Pattern {
	if e.open.Text.Text == "" {
		return b.word(nil)
	}
	return b.word([]string{e.mid.Text.Text, "=", " ", "/", "<", ">"})
}

// keyed matches what follows a key: its type, its value and what closes the entry. Where that depends neither on the key nor on more of the
// schema than its types, values of one mode are read alike.
func (b *builder) keyed(c *format.Calls, e entry, key string, s *schema.Schema) peg.Pattern {
	if c.Body.Codec.Nested || b.closesWithKey(e) {
		return b.makeKeyed(c, e, key, s)
	}
	mode, types := b.valueMode(&c.Body, s), codec.Values(s.Types())
	if mode == valueString || mode == valueLiteral {
		types = 0
	}
	return b.shared(fmt.Sprintf("value %d %d %v", b.number(c), mode, types), func() peg.Pattern { return b.makeKeyed(c, e, key, s) })
}

func (b *builder) makeKeyed(c *format.Calls, e entry, key string, s *schema.Schema) peg.Pattern {
	mid := peg.Seq{b.behindKey(e)}
	if e.typ == nil {
		as := append(mid[:len(mid):len(mid)], b.entryValue(c, e, key, s))
		if bare := b.unquoted(c, e); bare != "" {
			return peg.Choice{
				peg.Seq{peg.And{P: mid}, peg.Cut{}, as},
				peg.Seq{b.edge(e.mid.Text.Before), b.lit(bare), peg.Space{}, peg.Scan{Kind: b.kind(Args), Scanner: b.literal(codec.Syntax{}, true)}},
			}
		}
		return as
	}
	end := peg.Seq{b.edge(e.typEnd.Text.Before), b.lit(e.typEnd.Text.Text)}
	var words []string
	var bodies []peg.Pattern
	for _, t := range e.typ.Types {
		as := s
		switch {
		case t.Raw:
			as = stringSchema()
		case s.Types()&schema.String != 0:
			as = jsonSchema()
		}
		words = append(words, t.Word)
		bodies = append(bodies, peg.Seq{peg.Cut{}, end, b.entryValue(c, e, key, as)})
	}
	typed := peg.Seq{mid, peg.Choice{
		peg.Dispatch{Words: words, After: peg.And{P: end}, Bodies: bodies},
		peg.Seq{b.word([]string{e.typEnd.Text.Text}), end, b.entryValue(c, e, key, s)},
	}}
	return peg.Choice{peg.Seq{peg.And{P: mid}, peg.Cut{}, typed}, peg.Seq{end, b.entryValue(c, e, key, s)}}
}

// unquoted returns what precedes a value where the template writes every value between quotes, as key="value", without the quote: a
// model writes a Python literal there, and quotes around strings alone (E21 T6). It is empty elsewhere.
func (b *builder) unquoted(c *format.Calls, e entry) string {
	mid, close := e.mid.Text.Text, closeText(e, "")
	if c.Body.Kind != format.BodyKwargs || !b.on(AnyLiteral) || len(mid) < 2 || close == "" {
		return ""
	}
	if quote := mid[len(mid)-1]; quote != close[0] || quote != '"' && quote != '\'' {
		return ""
	}
	return mid[:len(mid)-1]
}

func stringSchema() *schema.Schema {
	s, _ := schema.Parse(ordered.ObjectOf(ordered.Member{Key: "type", Value: ordered.Str("string")}))
	return s
}

// jsonSchema is the schema of a value that is spelled as JSON, whatever it is.
func jsonSchema() *schema.Schema {
	var types []ordered.Value
	for _, t := range [...]string{"object", "array", "number", "boolean", "null"} {
		types = append(types, ordered.Str(t))
	}
	s, _ := schema.Parse(ordered.ObjectOf(ordered.Member{Key: "type", Value: ordered.ArrayOf(types...)}))
	return s
}

// valueMode tells apart the rules for values.
type valueMode uint8

const (
	valueString  valueMode = iota // a string, raw
	valueJSON                     // JSON
	valueUnknown                  // either: held until its end (E18)
	valueNested                   // entries and items
	valueLiteral                  // a literal of its own syntax, whatever the schema
)

func (b *builder) valueMode(body *format.Body, s *schema.Schema) valueMode {
	codec, types := body.Codec, s.Types()
	switch {
	case body.Kind == format.BodyDict, codec.Style == format.StyleJSON || codec.Style == format.StylePython:
		return valueLiteral
	case codec.Nested && (types == schema.AnyType || types&schema.String == 0):
		return valueNested
	case types == schema.String:
		return valueString
	case types&schema.String == 0:
		return valueJSON
	}
	return valueUnknown
}

// entryValue matches a value and what closes its entry.
func (b *builder) entryValue(c *format.Calls, e entry, key string, s *schema.Schema) peg.Pattern {
	mode := b.valueMode(&c.Body, s)
	closing := b.closing(c, e, key)
	if mode == valueNested {
		return peg.Seq{peg.Scan{Kind: b.kind(Args), Scanner: b.nested(c, s)}, closing}
	}
	p := &c.Body
	info := ValueInfo{Mode: ValueHeld, Types: codec.Values(s.Types()), After: e.valueGap, Entity: p.Codec.Entity}
	if len(e.close) > 0 {
		info.Before = e.close[0].Text.Before
	}
	switch mode {
	case valueLiteral:
		scan := peg.Scan{Kind: b.kind(Args), Scanner: b.literal(codec.Syntax{Token: p.Codec.Quote}, python(p))}
		return peg.Seq{peg.Space{}, scan, closing}
	case valueString:
		info.Mode, info.Types = ValueRaw, 0
		return b.orLiteral(c, e, `"'`, b.region(c, e, key, info))
	case valueJSON:
		if p.Codec.Escaped { // to be unescaped before it is read
			return b.region(c, e, key, info)
		}
		scan := peg.Scan{Kind: b.kind(Args), Scanner: b.literal(codec.Syntax{}, python(p))}
		return b.orLiteral(c, e, `"'`, peg.Choice{
			peg.Seq{peg.And{P: peg.Seq{peg.Space{}, peg.Set{Set: peg.Bytes("{[")}}}, peg.Cut{}, peg.Space{}, scan, closing},
			b.region(c, e, key, info),
		})
	}
	return b.orLiteral(c, e, `"'[{`, b.region(c, e, key, info))
}

// orLiteral matches a value that nothing encloses as the literal that its first byte says it is, else as text: a template that writes
// key=value does not mean that a model leaves out the quotes of strings (E21 T6).
func (b *builder) orLiteral(c *format.Calls, e entry, firsts string, text peg.Pattern) peg.Pattern {
	if c.Body.Kind != format.BodyKwargs || closeText(e, "") != "" || !b.on(AnyLiteral) {
		return text
	}
	scan := peg.Scan{Kind: b.kind(Args), Scanner: b.literal(codec.Syntax{}, true)}
	return peg.Choice{peg.Seq{peg.And{P: peg.Seq{peg.Space{}, peg.Set{Set: peg.Bytes(firsts)}}}, peg.Cut{}, peg.Space{}, scan}, text}
}

// number returns the number of a spelling, from 1; 0 for a route's.
func (b *builder) number(c *format.Calls) int {
	for i := range b.spellings {
		if &b.spellings[i] == c {
			return i + 1
		}
	}
	return 0
}

// closesWithKey says that an entry has its key once more behind the value.
func (b *builder) closesWithKey(e entry) bool {
	return slices.ContainsFunc(e.close, func(p format.Part) bool { return p.Kind == format.SlotKey })
}

// closing matches what closes an entry. Without a key it is unknown, and so is the key in the closing tag.
func (b *builder) closing(c *format.Calls, e entry, key string) peg.Pattern {
	var seq peg.Seq
	for n, p := range e.close {
		switch {
		case p.Kind == format.SlotLit && p.Text.Text != "":
			switch {
			case n > 0:
				seq = append(seq, b.edge(p.Text.Before))
			case !b.strict: // in a grammar that is a part of the value's pattern; behind text it is the text's, behind a literal nothing
				seq = append(seq, peg.Space{})
			}
			seq = append(seq, b.lit(p.Text.Text))
			if n+1 < len(e.close) {
				seq = append(seq, b.edge(p.Text.After))
			}
		case p.Kind == format.SlotKey && key != "":
			seq = append(seq, b.once(key))
		case p.Kind == format.SlotKey:
			seq = append(seq, b.keyWord(e))
		}
	}
	return seq
}

// closeText returns the literal that closes a value with this key.
func closeText(e entry, key string) string {
	text := ""
	for _, p := range e.close {
		switch {
		case p.Kind == format.SlotLit:
			text += p.Text.Full()
		case key == "":
			return format.Mark(text).Text
		default:
			text += key
		}
	}
	return format.Mark(text).Text
}

// region matches the text of a value and its closing marker: the first one behind which the call goes on (E18).
func (b *builder) region(c *format.Calls, e entry, key string, info ValueInfo) peg.Pattern {
	further := b.entryAhead(e)
	goesOn := b.shared(fmt.Sprint("behind value ", b.number(c)), func() peg.Pattern {
		alts := peg.Choice{peg.End{}}
		texts := append([]string{e.open.Text.Text, c.Body.Sep.Text}, append(b.closers(c), b.endTexts()...)...)
		for _, t := range texts {
			if t != "" {
				alts = append(append(alts, b.lit(t)), b.stub(t)...)
			}
		}
		if e.open.Text.Text == "" {
			alts = append(alts, further)
		}
		return alts
	})
	close := closeText(e, key)
	ends := []ending{{close, peg.Seq{peg.Space{}, goesOn}}}
	if close == "" {
		ends = b.openEnd(c, e, further, goesOn)
	}
	var stops []peg.Stop
	for _, end := range ends {
		for _, v := range variants(end.text) {
			parts, confirm := segments(v), end.behind
			if parts[0] == "" { // a line break
				stops = append(stops, peg.Stop{Text: v, Stub: true, After: confirm})
				continue
			}
			for n := len(parts) - 1; n > 0; n-- {
				confirm = append(peg.Seq{peg.Space{}, peg.Lit{Text: parts[n]}}, confirm...)
			}
			stops = append(stops, peg.Stop{Text: parts[0], Stub: true, After: confirm})
		}
	}
	number := b.value(info)
	begin, end := b.emit(ValueBegin, number, ""), peg.Seq{b.closing(c, e, key), b.emit(ValueEnd, number, "")}
	if !c.Body.Codec.CDATA {
		return peg.Seq{begin, peg.Until{Kind: b.kind(Value), Stops: stops}, end}
	}
	name := fmt.Sprintf("text %d %q", number, close)
	text := b.ref(name, func() peg.Pattern {
		literal := peg.Seq{peg.Lit{Text: openCDATA}, peg.Cut{}, b.emit(Verbatim, 1, ""),
			peg.Until{Kind: b.kind(Value), Stops: []peg.Stop{{Text: shutCDATA, Stub: true}}},
			peg.Choice{peg.Lit{Text: shutCDATA}, peg.Stub{Text: shutCDATA}}, b.emit(Verbatim, 0, ""), peg.Ref{Name: name}}
		return peg.Seq{peg.Until{Kind: b.kind(Value), Stops: append(slices.Clone(stops), peg.Stop{Text: openCDATA})}, peg.Choice{literal, peg.Seq{}}}
	})
	return peg.Seq{begin, text, end}
}

// entryAhead matches the beginning of an entry up to what stands behind its key.
func (b *builder) entryAhead(e entry) peg.Seq {
	var seq peg.Seq
	if t := e.open.Text.Text; t != "" {
		seq = append(seq, b.lit(t), peg.Space{})
	}
	if e.mid.Text.Text == "" {
		return append(seq, b.keyWord(e), b.behindKey(e))
	}
	return append(seq, b.keyWord(e), peg.Space{}, b.lit(e.mid.Text.Text))
}

// openEnd finds the stops of values that nothing closes: what separates entries, a line break perhaps, where another key follows, and what
// the call has behind the last one.
func (b *builder) openEnd(c *format.Calls, e entry, further peg.Seq, goesOn peg.Pattern) []ending {
	if b.byLines(c, e) {
		indent := peg.Rep{P: peg.Set{Set: peg.Bytes(" \t\r")}, Max: maxIndent} // an empty line is the value's
		return []ending{{"\n", peg.Seq{indent, peg.Choice{further, goesOn}}}}
	}
	var out []ending
	if sep := c.Body.Sep.Text; sep != "" {
		out = append(out, ending{sep, append(peg.Seq{peg.Space{}}, further...)})
	}
	if open := e.open.Text.Text; distinctive(open) {
		out = append(out, ending{open, append(peg.Seq{peg.Space{}}, further[min(1, len(further)):]...)})
	}
	for _, t := range b.closers(c) {
		if t != c.Body.Sep.Text {
			if distinctive(e.open.Text.Text) && distinctive(t) { // a token ends the value and the call: any text may follow
				return append(out, ending{t, nil})
			}
			return append(out, ending{t, peg.Seq{peg.Space{}, goesOn}})
		}
	}
	return out
}

// byLines says that nothing but the end of the line ends a value.
func (b *builder) byLines(c *format.Calls, e entry) bool {
	gap := c.Body.Sep.Before + e.open.Text.Before
	if len(e.close) > 0 {
		gap += e.close[0].Text.Before
	}
	return closeText(e, "") == "" && c.Body.Sep.Text == "" && strings.Contains(gap, "\n")
}

// maxIndent bounds the white space before a line that ends the value above it.
const maxIndent = 40

// ending is a literal that ends a value where what must follow it does.
type ending struct {
	text   string
	behind peg.Seq
}

// The markers of literal text in a value (XML 1.0, 2.7).
const openCDATA, shutCDATA = "<![CDATA[", "]]>"

// nested returns the scanner for a value that is spelled as entries and items.
func (b *builder) nested(c *format.Calls, s *schema.Schema) peg.ScannerType {
	tags, ok := nestedTags(c)
	if !ok {
		b.fail("nested arguments need tags with a key in the opening and the closing one, and tags for items")
	}
	return &codec.NestedType{Tags: tags, Schema: s}
}

// nestedTags reads the tags of entries and items off a body.
func nestedTags(c *format.Calls) (t codec.Tags, ok bool) {
	parts := c.Body.Entry
	if len(parts) != 7 || parts[1].Kind != format.SlotKey || parts[3].Kind != format.SlotValue || parts[5].Kind != format.SlotKey {
		return t, false
	}
	t = codec.Tags{Open: parts[0].Text.Text, Mid: parts[2].Text.Text, Close: parts[4].Text.Text, CloseMid: parts[6].Text.Text}
	if item := c.Body.Item; len(item) == 3 && item[1].Kind == format.SlotValue {
		t.ItemOpen, t.ItemClose = item[0].Text.Text, item[2].Text.Text
	}
	return t, t.Open != "" && t.Mid != "" && t.Close != ""
}
