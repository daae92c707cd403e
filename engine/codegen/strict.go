package codegen

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// This file has the patterns that only a grammar needs: where the parser takes what comes, the grammar wants what the
// schemas say.

// allowed says that a tool may be called.
func (b *builder) allowed(name string) bool {
	return b.o.Choice.Mode != chat.ChoiceNamed || b.o.Choice.Name == name
}

// required says that there must be a call.
func (b *builder) required() bool {
	return b.calling() && (b.o.Choice.Mode == chat.ChoiceRequired || b.o.Choice.Mode == chat.ChoiceNamed)
}

// maxKeySets bounds the keys for which every order is spelled out, each key once and the required ones there: a set of n keys
// costs 2^n rules.
const maxKeySets = 4

// strictEntries matches a tool's arguments: declared keys in any order, each once and the required ones all, or with many keys, at
// least as many as are required.
func (b *builder) strictEntries(c *format.Calls, tool int) peg.Pattern {
	e, ok := b.takeApart(c.Body.Entry)
	if !ok {
		return b.fail("the arguments of tool calls are spelled without a key and a value")
	}
	s := b.schemas[tool]
	fields := s.Fields()
	name := b.tools[tool].Name
	sep := peg.Pattern(peg.Space{})
	if t := c.Body.Sep.Text; t != "" {
		sep = peg.Seq{b.space(c.Body.Sep.Before), b.lit(t), b.space(c.Body.Sep.After)}
	}
	if len(fields) == 0 {
		if b.closesWithKey(e) { // that a closing tag has the key of the opening one is beyond a grammar
			return peg.Seq{}
		}
		if s.Types()&schema.Object == 0 || !s.IsFree(schema.Object) || s.Types() == schema.AnyType {
			return peg.Seq{}
		}
		one := b.strictEntry(c, e, name, "", schema.Any())
		return peg.Opt{P: peg.Seq{one, peg.Rep{P: peg.Seq{sep, one}}}}
	}
	var entries []peg.Pattern
	var need uint
	for i, f := range fields {
		entries = append(entries, b.ref(fmt.Sprintf("%s-%s-%d", name, f.Name, b.number(c)), func() peg.Pattern {
			return b.strictEntry(c, e, name+"-"+f.Name, f.Name, f.Schema)
		}))
		if f.Required && i < maxKeySets {
			need |= 1 << i
		}
	}
	if len(fields) > maxKeySets {
		required := 0
		for _, f := range fields {
			if f.Required {
				required++
			}
		}
		any := peg.Choice(entries)
		more := peg.Rep{P: peg.Seq{sep, any}, Min: max(required-1, 0), Max: max(len(fields)-1, 1)}
		if required == 0 {
			return peg.Opt{P: peg.Seq{any, more}}
		}
		return peg.Seq{any, more}
	}
	var state func(seen uint) peg.Pattern
	state = func(seen uint) peg.Pattern {
		return b.ref(fmt.Sprintf("%s-%d-behind-%d", name, b.number(c), seen), func() peg.Pattern {
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

// strictEntry matches one argument. Without a key it is one that is not declared.
func (b *builder) strictEntry(c *format.Calls, e entry, name, key string, s *schema.Schema) peg.Pattern {
	seq := peg.Seq{}
	if t := e.open.Text; t.Text != "" {
		seq = append(seq, b.space(""), b.lit(t.Text), b.edge(t.After))
	}
	if key == "" {
		seq = append(seq, b.word(nil))
	} else {
		seq = append(seq, peg.Lit{Text: key})
	}
	seq = append(seq, b.behindKey(e))
	closing := b.closing(c, e, key)
	if e.typ == nil {
		mode := b.valueMode(&c.Body, s)
		if closeText(e, key) == "" && c.Body.Kind == format.BodyKwargs {
			mode = valueLiteral // of what nothing encloses, only a literal says where it ends
		}
		return append(seq, b.strictValue(c, e, name, key, s, mode), closing)
	}
	end := peg.Seq{b.edge(e.typEnd.Text.Before), b.lit(e.typEnd.Text.Text)}
	var alts peg.Choice
	for _, t := range e.typ.Types {
		mode := valueJSON
		if t.Raw {
			mode = valueString
		}
		if (s.Types()&schema.String != 0) != t.Raw && (t.Raw || s.Types() == schema.String) {
			continue
		}
		alts = append(alts, peg.Seq{peg.Lit{Text: t.Word}, end, b.strictValue(c, e, name, key, s, mode)})
	}
	return append(seq, alts, closing)
}

// strictValue matches a value as its schema wants it.
func (b *builder) strictValue(c *format.Calls, e entry, name, key string, s *schema.Schema, mode valueMode) peg.Pattern {
	stop, lines := closeText(e, key), b.byLines(c, e)
	gc := gbnf.Codec{Raw: true, Stops: firsts(stop), Entity: c.Body.Codec.Entity}
	if stop == "" {
		gc.Stops = gc.Stops[:0]
		for _, end := range b.openEnd(c, e, nil, nil) {
			gc.Stops = append(gc.Stops, end.text)
		}
	}
	if c.Body.Codec.CDATA {
		gc.Stops = append(gc.Stops, openCDATA)
	}
	switch mode {
	case valueLiteral:
		if gc = (gbnf.Codec{}); c.Body.Codec.Style == format.StylePython {
			gc.Style = gbnf.Python
		}
		if c.Body.Kind == format.BodyDict && c.Body.Codec.Style != format.StyleJSON { // what is in a value in JSON has its quotes
			gc = dictCodec(&c.Body)
		}
	case valueJSON:
		if gc = (gbnf.Codec{}); c.Body.Codec.Escaped {
			gc.Quote = entityQuote
		}
	}
	if c.Body.Codec.Style == format.StyleStr {
		gc.Style = gbnf.Python
	}
	switch mode {
	case valueNested:
		return b.strictNested(c, name, s, stop)
	}
	value := peg.Pattern(peg.Label{Name: name, Value: Constraint{Name: name, Schema: s, Codec: gc}, P: peg.Scan{Kind: Args, Scanner: codec.Syntax{}}})
	before := ""
	if len(e.close) > 0 {
		before = e.close[0].Text.Before
	}
	if !gc.Raw && lines {
		return peg.Seq{peg.Lit{Text: e.valueGap}, value, peg.Lit{Text: "\n"}}
	} else if !gc.Raw {
		return peg.Seq{b.space(e.valueGap), value, b.space(before)}
	}
	if c.Body.Codec.CDATA {
		value = peg.Choice{peg.Seq{peg.Lit{Text: openCDATA}, peg.Until{Kind: Value, Stops: []peg.Stop{{Text: shutCDATA}}}, peg.Lit{Text: shutCDATA}}, value}
	}
	// White space beside raw text would be the value's.
	if lines {
		before = "\n"
	}
	return peg.Seq{peg.Lit{Text: e.valueGap}, value, peg.Lit{Text: before}}
}

// entityQuote is how a template that escapes values writes the quotes of JSON.
const entityQuote = "&#34;"

// strictNested matches a value that is spelled as entries and items, to the depth to which the schema says what it is.
func (b *builder) strictNested(c *format.Calls, name string, s *schema.Schema, stop string) peg.Pattern {
	tags, ok := nestedTags(c)
	if !ok {
		return b.fail("nested arguments need tags with a key in the opening and the closing one, and tags for items")
	}
	if b.nestedNames == nil {
		b.nestedNames = map[*schema.Schema]string{}
	}
	rule, known := b.nestedNames[s]
	if !known {
		rule = fmt.Sprintf("nested %s %d", name, len(b.nestedNames)+1)
		b.nestedNames[s] = rule
	}
	return b.ref(rule, func() peg.Pattern {
		var alts peg.Choice
		types := s.Types()
		scalar := types&(schema.Array|schema.Object) == 0 || types&schema.String != 0
		if types == schema.AnyType || types&^(schema.Object|schema.Array) == 0 && len(s.Fields()) == 0 && !hasItems(s) {
			return b.freeNested(c, name, tags, types, s)
		}
		if scalar {
			alts = append(alts, peg.Label{Name: name, P: peg.Scan{Kind: Args, Scanner: codec.Syntax{}},
				Value: Constraint{Name: name, Schema: s, Codec: gbnf.Codec{Raw: true, Stops: []string{stop}}}})
			return alts
		}
		if types&schema.Object != 0 {
			var all peg.Seq    // the entries, those that are required there
			var one peg.Choice // at least one of them
			required := false
			for _, f := range s.Fields() {
				close := tags.Close + f.Name + tags.CloseMid
				p := peg.Pattern(peg.Seq{peg.Space{}, peg.Lit{Text: tags.Open + f.Name + tags.Mid},
					b.strictNested(c, name+"-"+f.Name, f.Schema, close), peg.Lit{Text: close}})
				for i := range one {
					one[i] = peg.Seq{one[i], peg.Opt{P: p}}
				}
				one, required = append(one, p), required || f.Required
				if !f.Required {
					p = peg.Opt{P: p}
				}
				all = append(all, p)
			}
			switch {
			case len(all) == 0:
				alts = append(alts, b.freeNested(c, name, tags, types&^schema.Array, s))
			case required || types == schema.Object:
				alts = append(alts, append(all, peg.Space{}))
			default: // what is empty is no object where it may be something else
				alts = append(alts, peg.Seq{one, peg.Space{}})
			}
		}
		if types&schema.Array != 0 && tags.ItemOpen != "" {
			items := schema.Any()
			for _, leaf := range append([]*schema.Schema{s}, s.Alts...) {
				if leaf.Items != nil {
					items = leaf.Items
				}
			}
			item := peg.Seq{peg.Space{}, peg.Lit{Text: tags.ItemOpen}, b.strictNested(c, name+"-item", items, tags.ItemClose), peg.Lit{Text: tags.ItemClose}}
			lo, hi := atLeast(types != schema.Array), 0
			if len(s.Alts) == 0 {
				lo, hi = max(lo, s.MinItems), max(s.MaxItems, 0)
			}
			alts = append(alts, peg.Seq{peg.Rep{P: item, Min: lo, Max: hi}, peg.Space{}})
		}
		if rest := types &^ (schema.Array | schema.Object); rest != 0 {
			alts = append(alts, peg.Label{Name: name, P: peg.Scan{Kind: Args, Scanner: codec.Syntax{}}, Value: Constraint{Name: name, Schema: s.Only(rest)}})
		}
		return alts
	})
}

// atLeast is how many entries or items must be there: what is empty is text where the value may be something else.
func atLeast(one bool) int {
	if one {
		return 1
	}
	return 0
}

func hasItems(s *schema.Schema) bool {
	return slices.ContainsFunc(append([]*schema.Schema{s}, s.Alts...), func(leaf *schema.Schema) bool { return leaf.Items != nil })
}

// keyBut matches a key that is not declared. One that makes the tag of an item would begin an array.
func (b *builder) keyBut(tags codec.Tags) peg.Pattern {
	bytes := peg.Rep{P: peg.Set{Set: nameBytes}, Min: 1, Max: MaxName}
	item, ok := strings.CutPrefix(tags.ItemOpen, tags.Open)
	if ok {
		item, ok = strings.CutSuffix(item, tags.Mid)
	}
	if !ok || item == "" || strings.ContainsFunc(item, func(r rune) bool { return r >= 0x80 || !nameBytes.Has(byte(r)) }) {
		return bytes
	}
	return b.ref("nested key", func() peg.Pattern {
		more := peg.Rep{P: peg.Set{Set: nameBytes}, Max: MaxName - len(item)}
		alts := peg.Choice{peg.Seq{peg.Lit{Text: item}, peg.Set{Set: nameBytes}, more}}
		for n := range len(item) {
			if n > 0 {
				alts = append(alts, peg.Lit{Text: item[:n]})
			}
			other := nameBytes.Not().Or(peg.Bytes(item[n : n+1])).Not()
			alts = append(alts, peg.Seq{peg.Lit{Text: item[:n]}, peg.Set{Set: other}, more})
		}
		return alts
	})
}

// freeNested matches a value of which the schema says nothing. That a closing tag has the key of the opening one is beyond a grammar, and the
// parser does not ask for it where the key is not declared: the closing tag of an entry that only the model has named ends it whatever key
// it repeats, since nothing else could stand there that the grammar has not kept out.
// s says, perhaps, what the entries' values are.
func (b *builder) freeNested(c *format.Calls, name string, tags codec.Tags, types schema.TypeSet, s *schema.Schema) peg.Pattern {
	rule := "nested " + types.String()
	value, known := s.Field("")
	if value == nil || known || value.IsAny() {
		value = schema.Any()
	} else {
		rule += " " + name
	}
	return b.ref(rule, func() peg.Pattern {
		var alts peg.Choice
		any := func() peg.Pattern { return b.freeNested(c, name, tags, schema.AnyType, schema.Any()) }
		if types&schema.Object != 0 {
			key, inner := b.keyBut(tags), any()
			if !value.IsAny() {
				inner = b.strictNested(c, name+"-value", value, tags.Close)
			}
			entry := peg.Seq{peg.Space{}, peg.Lit{Text: tags.Open}, key, peg.Lit{Text: tags.Mid}, inner, peg.Lit{Text: tags.Close}, key, peg.Lit{Text: tags.CloseMid}}
			alts = append(alts, peg.Seq{peg.Rep{P: entry, Min: atLeast(types != schema.Object)}, peg.Space{}})
		}
		if types&schema.Array != 0 && tags.ItemOpen != "" {
			item := peg.Seq{peg.Space{}, peg.Lit{Text: tags.ItemOpen}, any(), peg.Lit{Text: tags.ItemClose}}
			alts = append(alts, peg.Seq{peg.Rep{P: item, Min: atLeast(types != schema.Array)}, peg.Space{}})
		}
		if types == schema.AnyType {
			stops := []peg.Stop{{Text: tags.Open}, {Text: tags.Close}}
			if tags.ItemOpen != "" {
				stops = append(stops, peg.Stop{Text: tags.ItemOpen}, peg.Stop{Text: tags.ItemClose})
			}
			alts = append(alts, peg.Until{Kind: Value, Stops: stops})
		}
		return alts
	})
}

// strictReasoning is the state inside reasoning: text up to its end, or up to a call. A call ends it, unless text follows that shows that the
// model only thinks about calls, or the end of reasoning does (E16). opened: it is the first thing in a block that the prompt opened, where a
// call is a call.
func (b *builder) strictReasoning(opened bool) peg.Pattern {
	closed := peg.Seq{b.closeReasoning(), b.content(false)}
	if !b.tolerated(LooseReasoning) { // nothing else ends it
		return peg.Seq{peg.Until{Kind: b.reasoningKind(), Stops: b.stops([]string{b.f.Reasoning.Close.Text}, b.endTexts())}, closed}
	}
	alts := append(peg.Choice{closed}, b.mayEnd(false)...)
	was := b.thinking
	b.thinking = true
	defer func() { b.thinking = was }()
	for i := range b.spellings {
		behind := peg.Choice{b.section(i)}
		if !opened {
			thought := peg.Choice{peg.Seq{peg.Set{Set: b.prose(i)}, b.ref("reasoning", b.reasoning)}}
			if b.closesThought(i) {
				thought = append(thought, closed)
			}
			behind = append(behind, append(b.sectionEnd(i), peg.Space{}, thought))
		}
		for _, o := range b.openings(i) {
			alts = append(alts, peg.Seq{b.wholeCall(i, o), behind})
		}
	}
	return peg.Seq{peg.Until{Kind: b.reasoningKind(), Stops: b.stops(append(b.interrupting(), b.f.Reasoning.Close.Text), b.endTexts())}, alts}
}

// sectionEnd matches what closes a section of calls.
func (b *builder) sectionEnd(i int) (seq peg.Seq) {
	c := &b.spellings[i]
	if c.Array {
		seq = append(seq, peg.Space{}, peg.Lit{Text: "]"})
	}
	if t := c.Section.Close.Text; t != "" {
		seq = append(seq, peg.Space{}, b.lit(t))
	}
	return seq
}

// followers returns the literals with which something can begin behind a call of a spelling that the parser takes for a further call, its
// separator, or the end.
func (b *builder) followers(i int) []string {
	c := &b.spellings[i]
	texts := append(append(b.interrupting(), b.endTexts()...), c.Section.Close.Text, c.Call.Close.Text, c.Sep.Text, c.Call.Open.Text)
	if c.Object != nil || c.Array {
		texts = append(texts, ",", "]", "[", "{")
	}
	if head := headLiteral(c).Text; head != "" {
		texts = append(texts, head)
	} else if c.Object == nil {
		for _, t := range b.tools {
			texts = append(texts, t.Name)
		}
	}
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}

// prose returns the bytes with which text can go on behind a call, so that it is text for the parser too: those with which no marker
// begins, nor a further call.
func (b *builder) prose(i int) peg.ByteSet {
	r := &b.f.Reasoning
	not := peg.Bytes(format.Space)
	for _, t := range append(b.followers(i), r.Open.Text, r.Close.Text, b.f.Content.Open.Text, b.f.Content.Close.Text) {
		for _, v := range variants(t) {
			if v != "" {
				not.Add(v[0])
			}
		}
	}
	if not.Meets(peg.Range(0x80, 0xff)) { // in a grammar all characters beyond ASCII are alike
		not = not.Or(peg.Range(0x80, 0xff))
	}
	return not.Not()
}

// closesThought says that the end of reasoning behind a call makes it a thought: it is not at once what makes a call of it.
func (b *builder) closesThought(i int) bool {
	return !slices.ContainsFunc(b.followers(i), func(t string) bool { return strings.HasPrefix(b.f.Reasoning.Close.Text, segments(t)[0]) })
}

// lastCalls is what the grammar has behind a call in what may be reasoning: further ones, and the end of the turn (E16).
func (b *builder) lastCalls() peg.Pattern {
	return peg.Seq{peg.Space{}, append(b.ends(), b.furtherCalls()...)}
}

// afterCalls is what the grammar has behind calls elsewhere: text, too, in which no call begins unless there may be several.
func (b *builder) afterCalls() peg.Pattern {
	if b.answer != nil {
		return b.lastCalls()
	}
	var not peg.ByteSet
	for i := range b.spellings {
		not = not.Or(b.prose(i).Not())
	}
	text := b.ref("after-text", func() peg.Pattern {
		return peg.Seq{peg.Until{Kind: Content, Stops: b.stops(b.markerTexts(false), b.endTexts())}, append(b.ends(), b.furtherCalls()...)}
	})
	return peg.Seq{peg.Space{}, append(append(b.ends(), b.furtherCalls()...), peg.Seq{peg.Set{Set: not.Not()}, text})}
}

// furtherCalls returns the alternatives for calls behind others.
func (b *builder) furtherCalls() (alts peg.Choice) {
	if !b.many() {
		return nil
	}
	for i := range b.spellings {
		for _, o := range b.openings(i) {
			alts = append(alts, peg.Seq{b.wholeCall(i, o), b.section(i)})
		}
	}
	return alts
}

// mayEnd returns the alternatives for the end of the turn, which a call or an answer in JSON that is still due rules out.
func (b *builder) mayEnd(done bool) peg.Choice {
	if b.strict && !done && (b.required() || b.answer != nil) {
		return nil
	}
	return b.ends()
}
