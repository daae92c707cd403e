package codegen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
)

// opening is a way in which a call can begin: the markers from the outermost one that is there to the head.
type opening struct {
	first format.Marker // the literal that an Until looks for
	p     peg.Pattern   // from there to the head
	bare  bool          // the opening is the head itself
}

// openings returns the ways in which the first call of a section can begin. A wrapper may be missing where what follows it is distinctive
// (E21 T4).
func (b *builder) openings(i int) []opening {
	if b.opened == nil {
		b.opened = make([][]opening, len(b.spellings))
	}
	if b.opened[i] == nil {
		b.opened[i] = b.makeOpenings(i)
	}
	return b.opened[i]
}

func (b *builder) makeOpenings(i int) []opening {
	c := &b.spellings[i]
	sec, call := c.Section.Open, c.Call.Open
	array := peg.Pattern(peg.Seq{})
	if c.Array || c.Object != nil && b.on(OptionalWrapper) && (sec.Text != "" || call.Text != "") {
		array = peg.Seq{peg.Lit{Text: "["}, b.space("")}
		if b.on(OptionalWrapper) {
			array = peg.Opt{P: array}
		}
	}
	fence := peg.Pattern(peg.Seq{})
	if b.fenced(c) {
		fence = peg.Opt{P: peg.Seq{b.openFence(), peg.Space{}}}
	}
	head := headLiteral(c)
	optional := b.on(OptionalWrapper) && (c.Object != nil || distinctive(head.Text))
	inner := peg.Pattern(peg.Seq{})
	if call.Text != "" {
		inner = peg.Seq{b.lit(call.Text), b.space(call.After), fence}
		if optional {
			inner = peg.Opt{P: inner}
		}
	}
	var out []opening
	if sec.Text != "" {
		out = append(out, opening{first: sec, p: peg.Seq{b.first(sec.Text), b.space(sec.After), fence, array, inner}})
	}
	if call.Text != "" && (sec.Text == "" || b.on(OptionalWrapper) && distinctive(call.Text)) {
		p := peg.Seq{b.first(call.Text), b.space(call.After), fence}
		if sec.Text == "" {
			p = append(p, array)
		}
		out = append(out, opening{first: call, p: p})
	}
	if len(out) == 0 || b.on(OptionalWrapper) && distinctive(head.Text) {
		switch {
		case head.Text != "":
			out = append(out, opening{first: head, p: peg.Seq{}, bare: true})
		case c.Array:
			out = append(out, opening{first: format.Marker{Text: "["}, p: peg.Seq{peg.Lit{Text: "["}, b.space("")}, bare: true})
		case c.Object != nil && len(out) == 0:
			out = append(out, opening{first: format.Marker{Text: "{"}, p: peg.Seq{}, bare: true})
		case len(out) == 0:
			b.fail("spelling %d of tool calls (%q) has no literal before a function's name by which it could be recognised", i+1, c.Name)
		}
	}
	return out
}

// fenced says that the JSON of a call may stand in a fence (T7): between markers that are none themselves.
func (b *builder) fenced(c *format.Calls) bool {
	markers := c.Section.Open.Text + c.Call.Open.Text
	return c.Object != nil && !b.strict && b.on(Fences) && markers != "" && !strings.Contains(markers, fenceMark)
}

// openFence matches the beginning of a Markdown fence around JSON.
func (b *builder) openFence() peg.Pattern {
	return peg.Seq{peg.Lit{Text: fenceMark}, peg.Opt{P: peg.Lit{Text: "json"}}}
}

// closeFence matches the end of a fence around the JSON of a call, or nothing.
func (b *builder) closeFence(c *format.Calls) peg.Pattern {
	if !b.fenced(c) {
		return peg.Seq{}
	}
	return peg.Opt{P: peg.Seq{peg.Space{}, peg.Lit{Text: fenceMark}}}
}

const fenceMark = "```"

// headLiteral returns the literal with which a call's head begins, if it does.
func headLiteral(c *format.Calls) format.Marker {
	parts := c.Head
	if len(parts) > 0 && parts[0].Kind == format.SlotID && len(parts[0].Parts) > 0 {
		parts = parts[0].Parts
	}
	if len(parts) > 0 && parts[0].Kind == format.SlotLit {
		return parts[0].Text
	}
	return format.Marker{}
}

// openerTexts returns the literals with which calls begin.
func (b *builder) openerTexts() []string {
	if b.openers == nil {
		for i := range b.spellings {
			for _, o := range b.openings(i) {
				if !slices.Contains(b.openers, o.first.Text) {
					b.openers = append(b.openers, o.first.Text)
				}
			}
		}
	}
	return slices.Clip(b.openers)
}

// interrupting returns the literals that end the answer's text or reasoning, since a call may begin there. In a grammar these are all at which
// the parser would look for one: the text must not have calls in it that no schema has constrained.
func (b *builder) interrupting() []string {
	if b.strict {
		return slices.Clip(b.callTexts)
	}
	return b.openerTexts()
}

// tentative says that calls of a spelling are held until they are complete, since nothing in front of them is distinctive (E14): a brace, or a
// word that a text may have before a function's name.
func (b *builder) tentative(i int, o opening) bool {
	return b.spellings[i].Tentative || o.bare && (b.spellings[i].Object != nil || wordsOnly(o.first.Text))
}

// wordsOnly says that a literal is made of letters and blanks.
func wordsOnly(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' })
}

// openCalls returns the alternatives for the first call of a section.
func (b *builder) openCalls(i int) peg.Choice {
	var alts peg.Choice
	for _, o := range b.openings(i) {
		if b.tentative(i, o) {
			alts = append(alts, peg.Seq{peg.Hold{P: b.wholeCall(i, o)}, peg.Cut{}, b.section(i)})
			continue
		}
		alts = append(alts, peg.Seq{b.lead(o.first), b.emit(Call, i, ""), o.p, b.guard(i, func(tool int) peg.Pattern {
			return peg.Seq{b.emit(Name, tool, ""), peg.Cut{}, b.announced(i, tool)}
		})})
	}
	return alts
}

// tentativeCalls returns the alternatives for a first call inside reasoning: it is held until it is complete and what follows it belongs behind a
// call (E16).
func (b *builder) tentativeCalls(i int) peg.Choice {
	var alts peg.Choice
	for _, o := range b.openings(i) {
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{b.wholeCall(i, o), peg.And{P: b.behindCall(i)}}}, peg.Cut{}, b.section(i)})
	}
	return alts
}

// wholeCall matches a first call from its opening to its end.
func (b *builder) wholeCall(i int, o opening) peg.Pattern {
	return peg.Seq{b.lead(o.first), b.emit(Call, i, ""), o.p, b.guard(i, func(tool int) peg.Pattern {
		return peg.Seq{b.emit(Name, tool, ""), b.rest(i, tool)}
	})}
}

// behindCall matches what may follow a call that closes reasoning (E16): a further call, or, perhaps behind the section's end, the end
// of the turn or of the output.
func (b *builder) behindCall(i int) peg.Pattern {
	c := &b.spellings[i]
	next := peg.Choice{peg.End{}}
	for _, t := range append(b.openerTexts(), b.endTexts()...) {
		next = append(append(next, b.lit(t)), b.stub(t)...)
	}
	seq := peg.Seq{peg.Space{}}
	if c.Array || c.Object != nil {
		seq = append(seq, peg.Opt{P: peg.Lit{Text: "]"}}, peg.Space{})
	}
	if t := c.Section.Close.Text; t != "" {
		seq = append(seq, peg.Opt{P: peg.Choice{b.lit(t), b.stub(t)}}, peg.Space{})
	}
	further := peg.Choice{append(seq, next)}
	if t := c.Section.Close.Text; t != "" && t == b.f.Reasoning.Close.Text { // calls are written in the block, and it closes behind them
		further = append(further, peg.Seq{peg.Space{}, b.lit(t)})
	}
	if c.Array || c.Object != nil {
		further = append(further, peg.Seq{peg.Space{}, peg.Lit{Text: ","}})
	}
	if t := c.Sep.Text; t != "" {
		further = append(further, peg.Seq{peg.Space{}, b.lit(t)})
	}
	if c.Section.Open.Text != "" && (c.Object == nil || !c.Array && c.Sep.Text == "") {
		silent := b.silent
		b.silent = true
		another := peg.Seq{peg.Space{}, b.guard(i, func(int) peg.Pattern { return peg.Seq{} })}
		if t := c.Call.Open.Text; t != "" {
			another = append(peg.Seq{peg.Space{}, peg.Opt{P: b.lit(t)}}, another...)
		}
		b.silent = silent
		further = append(further, another)
	}
	return further
}

// announced is the state behind a name, whatever follows it: a call that has been announced stays one (E14).
func (b *builder) announced(i, tool int) peg.Pattern {
	rest := b.rest(i, tool)
	if b.strict {
		return peg.Seq{rest, b.section(i)}
	}
	return b.ref("announced, "+rest.(peg.Ref).Name, func() peg.Pattern {
		broken := b.ref(fmt.Sprint("broken ", i+1), func() peg.Pattern { return b.broken(i) })
		return peg.Seq{peg.Try{P: rest, Else: broken}, b.section(i)}
	})
}

// broken is the state in which an announced call ends incomplete.
func (b *builder) broken(i int) peg.Pattern {
	var texts []string
	c := &b.spellings[i]
	for _, parts := range [...][]format.Part{c.Head, c.Body.Entry, c.Tail} {
		for _, p := range parts {
			if p.Kind == format.SlotLit {
				texts = append(texts, p.Text.Text)
			}
		}
	}
	texts = append(texts, c.Body.Open.Text, c.Body.Close.Text, c.Call.Close.Text, c.Section.Close.Text)
	cut := peg.Choice{}
	for _, t := range texts {
		if t != "" {
			cut = append(cut, b.stub(t)...)
		}
	}
	broken := peg.Seq{b.emit(CallBroken, 0, "")}
	if len(cut) > 0 { // a marker that the end of the output cuts off is no content
		broken = append(broken, peg.Opt{P: peg.Seq{peg.Space{}, cut}})
	}
	return broken
}

// section is the state behind a call: another call of the section, the section's end, or neither.
func (b *builder) section(i int) peg.Pattern {
	c := &b.spellings[i]
	if c.Section.Close.Text == "" && !c.Array && c.Sep.Text == "" && c.Section.Open.Text == "" && (c.Object == nil || !b.on(OptionalWrapper)) {
		return peg.Seq{b.trail(c.Call.Close), b.afterCall()}
	}
	name := fmt.Sprint("section ", i+1)
	if b.thinking {
		name += " in reasoning"
	}
	return b.ref(name, func() peg.Pattern {
		var alts peg.Choice
		var between peg.Seq
		if sep := c.Sep.Text; sep != "" {
			between = peg.Seq{b.space(c.Sep.Before), b.lit(sep), b.space(c.Sep.After)}
		} else if c.Array || c.Object != nil && b.on(OptionalWrapper) {
			between = peg.Seq{b.space(""), peg.Lit{Text: ","}, b.space(" ")}
		}
		optional := peg.Pattern(between)
		if b.on(OptionalWrapper) && !c.Array && between != nil {
			optional = peg.Opt{P: between}
		}
		inner := peg.Pattern(peg.Seq{})
		open := c.Call.Open
		if open.Text != "" {
			inner = peg.Seq{b.space(open.Before), b.lit(open.Text), b.space(open.After)}
			if between != nil && b.on(OptionalWrapper) && (c.Object != nil || distinctive(headLiteral(c).Text)) {
				inner = peg.Opt{P: inner}
			}
		}
		next := peg.Seq{b.mark(format.Marker{}), b.emit(Call, i, ""), optional, b.space(""), inner}
		if b.many() {
			if b.tentative(i, opening{first: headLiteral(c), bare: open.Text == "" && c.Section.Open.Text == ""}) {
				whole := append(next, b.guard(i, func(tool int) peg.Pattern {
					return peg.Seq{b.emit(Name, tool, ""), b.rest(i, tool)}
				}))
				alts = append(alts, peg.Seq{peg.Hold{P: whole}, peg.Cut{}, peg.Ref{Name: name}})
			} else {
				alts = append(alts, append(next, b.guard(i, func(tool int) peg.Pattern {
					return peg.Seq{b.emit(Name, tool, ""), peg.Cut{}, b.announced(i, tool)}
				})))
			}
		}
		// The end: the array's bracket, the section's marker, or one of them. Python lets a comma stand before the bracket.
		trailing := peg.Pattern(peg.Space{})
		if between != nil && !b.strict && b.on(AnyLiteral) {
			trailing = peg.Seq{peg.Opt{P: between}, peg.Space{}}
		}
		var closers []string
		if c.Array || c.Object != nil && b.on(OptionalWrapper) {
			closers = append(closers, "]")
		}
		end := c.Section.Close
		if end.Text == "" {
			end = c.Call.Close
		}
		if end.Text != "" && (end == c.Section.Close || len(closers) > 0) {
			closers = append(closers, end.Text)
		}
		after := b.trail(end)
		if len(closers) == 2 {
			alts = append(alts, peg.Seq{trailing, b.lit(closers[0]), b.closeFence(c), peg.Space{}, peg.Choice{b.lit(closers[1]), b.stub(closers[1])}, peg.Cut{}, after, b.afterCall()})
		}
		for _, t := range closers {
			if b.strict && (len(closers) == 2 || c.Array && t == "]" && end.Text != "") {
				continue
			}
			fence := peg.Pattern(peg.Seq{})
			if t == "]" {
				fence = b.closeFence(c)
			}
			alts = append(alts, peg.Seq{trailing, peg.Choice{b.lit(t), b.stub(t)}, fence, peg.Cut{}, after, b.afterCall()})
		}
		if !b.strict || len(closers) == 0 {
			alts = append(alts, peg.Seq{after, b.afterCall()})
		}
		return alts
	})
}

// many says that a turn may have several calls.
func (b *builder) many() bool { return !b.strict || b.o.Parallel }

// named matches the function's name, then after, then what follows for the tool of that name.
func (b *builder) named(after peg.Pattern, body func(tool int) peg.Pattern) peg.Pattern {
	var words []string
	var bodies []peg.Pattern
	for i, t := range b.tools {
		if b.strict && !b.allowed(t.Name) || slices.Contains(words, t.Name) {
			continue
		}
		words = append(words, t.Name)
		bodies = append(bodies, body(i))
	}
	return peg.Dispatch{Words: words, After: after, Bodies: bodies}
}

// guard matches a call from its first byte to its name, then what follows for the tool of that name.
func (b *builder) guard(i int, body func(tool int) peg.Pattern) peg.Pattern {
	c := &b.spellings[i]
	if c.Object != nil {
		return b.namedObject(c.Object, body)
	}
	at := nameAt(c.Head)
	if at < 0 {
		return b.fail("spelling %d of tool calls has no slot for the function's name", i+1)
	}
	var seq peg.Seq
	for n := range at {
		seq = append(seq, b.part(c.Head, n, b.follow(c, n+1)))
	}
	if id := c.Head[at]; id.Kind == format.SlotID { // an id that contains the name
		inner := nameAt(id.Parts)
		seq = append(seq, b.beforeName(id.Parts[:inner]))
		after := b.behindName(c, at, id.Parts[inner+1:])
		return append(seq, b.named(after, func(tool int) peg.Pattern {
			return peg.Seq{b.emit(ID, 0, b.tools[tool].Name), body(tool)}
		}))
	}
	return append(seq, b.named(b.behindName(c, at, nil), body))
}

// nameAt returns the number of the part that is or contains the name, -1 without one.
func nameAt(parts []format.Part) int {
	return slices.IndexFunc(parts, func(p format.Part) bool {
		return p.Kind == format.SlotName || p.Kind == format.SlotID && nameAt(p.Parts) >= 0
	})
}

// behindName looks ahead to what must follow a name: a literal, or what no name goes on with.
func (b *builder) behindName(c *format.Calls, at int, inID []format.Part) peg.Pattern {
	var alts peg.Choice
	if len(inID) > 0 && inID[0].Kind == format.SlotLit {
		if alts = append(alts, b.lit(inID[0].Text.Text)); !b.on(OptionalWrapper) {
			return peg.And{P: peg.Seq{b.space(inID[0].Text.Before), alts}}
		}
	}
	if at+1 < len(c.Head) && !b.on(FreeSpace) { // its white space is a part of it, by which another spelling may differ
		if p := c.Head[at+1]; p.Kind == format.SlotLit && p.Text.Text != "" && !p.Opt {
			return peg.And{P: append(alts, b.part(c.Head, at+1, nil))}
		}
	}
	for _, t := range b.follow(c, at+1) {
		alts = append(alts, b.lit(t))
	}
	if e, ok := b.takeApart(c.Body.Entry); ok && c.Body.Open.Text == "" && e.open.Text.Text == "" && e.mid.Text.Text != "" && onlySpace(c.Head[at+1:]) {
		alts = append(alts, b.entryAhead(e)) // nothing but a key behind the name
	}
	if len(alts) == 0 {
		return peg.Not{P: peg.Set{Set: nameBytes}}
	}
	return peg.And{P: peg.Seq{peg.Space{}, alts}}
}

// onlySpace says that parts are literals of nothing but white space.
func onlySpace(parts []format.Part) bool {
	return !slices.ContainsFunc(parts, func(p format.Part) bool { return p.Kind != format.SlotLit || p.Text.Text != "" })
}

// nameBytes are the bytes that names are made of when nothing else says where one ends.
var nameBytes = peg.Range('a', 'z').Or(peg.Range('A', 'Z')).Or(peg.Range('0', '9')).Or(peg.Bytes("_-.")).Or(peg.Range(0x80, 0xff))

// follow returns the literals that may stand where part n of the head would: those of the first part that must be there, and of
// optional ones before it.
func (b *builder) follow(c *format.Calls, n int) []string {
	var out []string
	add := func(t string) bool {
		if t != "" {
			out = append(out, t)
		}
		return t != ""
	}
	for ; n < len(c.Head); n++ {
		p := c.Head[n]
		if p.Kind != format.SlotLit {
			if p.Opt {
				continue
			}
			return out
		}
		if add(p.Text.Text); p.Text.Text != "" && !p.Opt {
			return out
		}
	}
	if add(c.Body.Open.Text) && !b.on(OptionalWrapper) {
		return out
	}
	switch c.Body.Kind {
	case format.BodyJSON, format.BodyDict:
		add("{")
	case format.BodyTagged, format.BodyKwargs:
		if len(c.Body.Entry) > 0 && c.Body.Entry[0].Kind == format.SlotLit {
			add(c.Body.Entry[0].Text.Text)
		}
	}
	add(c.Body.Close.Text)
	for _, p := range c.Tail {
		if p.Kind == format.SlotLit {
			add(p.Text.Text)
		}
	}
	for _, m := range [...]format.Marker{c.Call.Close, c.Sep, c.Section.Close} {
		add(m.Text)
	}
	return out
}

// part matches one part of a head or tail that is not the name. follow are the literals that end a slot.
func (b *builder) part(parts []format.Part, n int, follow []string) peg.Pattern {
	p := parts[n]
	var out peg.Pattern
	switch p.Kind {
	case format.SlotLit:
		if p.Text.Text == "" {
			if b.strict && 0 < n && n+1 < len(parts) { // it alone parts two slots
				return peg.Lit{Text: p.Text.Before}
			}
			return b.edge(p.Text.Before)
		}
		alts := peg.Choice{b.lit(p.Text.Text)}
		for _, t := range p.Alts {
			alts = append(alts, b.lit(strings.Trim(t, format.Space)))
		}
		side := func(n int, exact string) peg.Pattern {
			if 0 <= n && n < len(parts) && parts[n].Kind != format.SlotLit {
				return b.edge(exact)
			}
			return b.space(exact)
		}
		out = peg.Seq{side(n-1, p.Text.Before), alts, side(n+1, p.Text.After)}
	case format.SlotID:
		var seq peg.Seq
		if len(p.Parts) > 0 {
			for _, q := range p.Parts {
				seq = append(seq, b.inID(q))
			}
		} else {
			if len(follow) > 0 {
				follow = append(follow[:len(follow):len(follow)], " ") // the white space before a literal is no part of the id
			}
			seq = peg.Seq{b.capture(ID, b.word(follow))}
		}
		out = append(seq, b.emit(IDEnd, 0, ""))
	case format.SlotIndex, format.SlotNumber:
		out = peg.Rep{P: peg.Set{Set: digits}, Min: 1, Max: 20}
	case format.SlotName: // once more
		out = b.word(follow)
	default:
		out = b.word(follow)
	}
	if p.Opt {
		return peg.Opt{P: peg.Hold{P: out}}
	}
	return out
}

var digits = peg.Range('0', '9')

// beforeName and afterName match the parts of an id beside the function's name, which models leave out: the name is what tells (T4). What has begun
// behind the name is the id's, wherever it breaks off.
func (b *builder) beforeName(parts []format.Part) peg.Pattern {
	if len(parts) == 0 || !b.on(OptionalWrapper) {
		return b.partsOfID(parts)
	}
	return peg.Opt{P: peg.Hold{P: b.partsOfID(parts)}}
}

func (b *builder) afterName(parts []format.Part) peg.Pattern {
	if len(parts) == 0 || parts[0].Kind != format.SlotLit || !b.on(OptionalWrapper) {
		return b.partsOfID(parts)
	}
	return peg.Opt{P: b.partsOfID(parts)}
}

func (b *builder) partsOfID(parts []format.Part) peg.Seq {
	var seq peg.Seq
	for _, p := range parts {
		seq = append(seq, b.inID(p))
	}
	return seq
}

// inID matches a part of an id, all of which is the id's text.
func (b *builder) inID(p format.Part) peg.Pattern {
	switch p.Kind {
	case format.SlotLit:
		return b.capture(ID, b.lit(p.Text.Full()))
	case format.SlotIndex:
		return b.capture(ID, peg.Rep{P: peg.Set{Set: digits}, Min: 1, Max: 20})
	}
	return b.capture(ID, b.word(nil))
}

// word matches a run of bytes that ends before any of the literals: a name or an id that is not known beforehand. Without literals, and
// in a grammar, it is a run of name bytes. A literal may be empty, being white space and nothing else.
func (b *builder) word(follow []string) peg.Pattern {
	set := nameBytes
	if len(follow) > 0 && !b.strict {
		not := peg.Bytes("\n")
		for _, t := range follow {
			for _, v := range variants(t) {
				if v != "" {
					not.Add(v[0])
				}
			}
		}
		set = not.Not()
	}
	return peg.Rep{P: peg.Set{Set: set}, Min: 1, Max: MaxName}
}

// rest is the state behind a name: what remains of the head, the arguments, the tail and the call's closing marker.
func (b *builder) rest(i, tool int) peg.Pattern {
	c := &b.spellings[i]
	name := fmt.Sprint("rest ", i+1)
	if b.strict || c.Object == nil && c.Body.Kind != format.BodyJSON && c.Body.Kind != format.BodyDict && c.Body.Kind != format.BodyNone || repeatsName(c) {
		name += " " + b.tools[tool].Name
	}
	return b.ref(name, func() peg.Pattern {
		var seq peg.Seq
		if c.Object != nil {
			seq = b.objectRest(c.Object, tool)
			seq = append(seq, b.closeFence(c))
		} else {
			at := nameAt(c.Head)
			if id := c.Head[at]; id.Kind == format.SlotID {
				seq = append(seq, b.afterName(id.Parts[nameAt(id.Parts)+1:]), b.emit(IDEnd, 0, ""))
			}
			for n := at + 1; n < len(c.Head); n++ {
				seq = append(seq, b.again(c.Head, n, tool, b.follow(c, n+1)))
			}
			seq = append(seq, b.body(c, tool), b.emit(ArgsEnd, 0, ""))
		}
		tail := peg.Pattern(nil)
		if repeatsName(c) {
			tail = b.tail(c, tool)
		} else {
			tail = b.ref(fmt.Sprint("tail ", i+1), func() peg.Pattern { return b.tail(c, tool) })
		}
		return append(seq, tail, b.emit(CallEnd, 0, ""))
	})
}

// repeatsName says that a call has its name once more behind the arguments.
func repeatsName(c *format.Calls) bool {
	at := nameAt(c.Head)
	return slices.ContainsFunc(c.Tail, func(p format.Part) bool { return p.Kind == format.SlotName }) ||
		at >= 0 && slices.ContainsFunc(c.Head[at+1:], func(p format.Part) bool { return p.Kind == format.SlotName })
}

// again is part for a place behind the name, where the name's slots read as the name did.
func (b *builder) again(parts []format.Part, n, tool int, follow []string) peg.Pattern {
	if parts[n].Kind == format.SlotName {
		return b.once(b.tools[tool].Name)
	}
	return b.part(parts, n, follow)
}

// behindTail returns the literals that may stand where part n of the tail would.
func (b *builder) behindTail(c *format.Calls, n int) []string {
	out := []string{" "}
	for _, p := range c.Tail[n:] {
		if p.Kind == format.SlotLit && p.Text.Text != "" {
			return append(out, p.Text.Text)
		}
	}
	for _, m := range [...]format.Marker{c.Call.Close, c.Sep, c.Section.Close} {
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return append(append(out, b.openerTexts()...), b.endTexts()...)
}

// once matches a name or key once more, as much of it as the end of the input leaves.
func (b *builder) once(text string) peg.Pattern {
	return peg.Choice{peg.Lit{Text: text}, peg.Stub{Text: text}}
}

// tail matches what closes a call. Behind arguments whose end shows, all of it may be missing (T4); where the output ends inside
// it, the call is complete.
func (b *builder) tail(c *format.Calls, tool int) peg.Pattern {
	var inner, outer peg.Seq
	var texts []string
	slots, ends := false, b.selfDelimiting(c)
	closer := func(m format.Marker) peg.Seq {
		texts = append(texts, m.Text)
		return peg.Seq{b.space(m.Before), b.lit(m.Text)}
	}
	for n, p := range c.Tail {
		switch {
		case p.Kind != format.SlotLit:
			slots = true
			inner = append(inner, b.again(c.Tail, n, tool, b.behindTail(c, n+1)))
		case p.Text.Text != "":
			inner = append(inner, closer(p.Text)...)
		}
		if p.Kind == format.SlotLit && n+1 < len(c.Tail) {
			gap := p.Text.After
			if p.Text.Text == "" {
				gap = p.Text.Before
			}
			inner = append(inner, b.edge(gap))
		}
	}
	if m := c.Call.Close; m.Text != "" {
		outer = closer(m)
	}
	both := append(inner[:len(inner):len(inner)], outer...)
	if b.strict || len(both) == 0 || !b.on(OptionalWrapper) {
		return both
	}
	var alts peg.Choice
	if len(inner) > 0 {
		alts = append(alts, peg.Hold{P: append(inner[:len(inner):len(inner)], peg.Opt{P: outer})})
	}
	switch {
	case slots: // an id, say, must be read
		return append(inner, peg.Opt{P: outer})
	case len(outer) > 0:
		alts = append(alts, peg.Hold{P: outer})
	}
	if ends {
		return append(alts, peg.Seq{peg.Space{}, b.stub(texts...)}, peg.Seq{})
	}
	return alts
}

// selfDelimiting says that the arguments show themselves where they end.
func (b *builder) selfDelimiting(c *format.Calls) bool {
	return b.on(OptionalWrapper) && (c.Object != nil || c.Body.Kind == format.BodyJSON || c.Body.Kind == format.BodyDict ||
		c.Body.Close.Text != "")
}

// Calls that are JSON objects.

// quote matches the quote of a key or a name.
func (b *builder) quote(o *format.Object) peg.Pattern {
	if b.on(AnyLiteral) {
		return peg.Set{Set: peg.Bytes(`"'`)}
	}
	return peg.Lit{Text: string(quoteOf(o))}
}

func quoteOf(o *format.Object) byte {
	if o.Quote == '\'' {
		return '\''
	}
	return '"'
}

// quotedKeys returns the ways in which a key is written.
func (b *builder) quotedKeys(o *format.Object, key string) []string {
	text := string(ordered.AppendEscaped(nil, key, false))
	if b.on(AnyLiteral) {
		return []string{`"` + text + `"`, "'" + text + "'"}
	}
	q := string(quoteOf(o))
	return []string{q + text + q}
}

func (b *builder) colon() peg.Pattern {
	return peg.Seq{peg.Space{}, peg.Lit{Text: ":"}, peg.Space{}}
}

// namePath returns the keys from the call's object down to the name.
func namePath(o *format.Object) []string {
	for _, f := range o.Fields {
		if f.Slot == format.SlotName {
			return f.Path
		}
	}
	return nil
}

// namedObject matches an object up to its name, then what follows for the tool of that name. A grammar has the whole once for each tool
// where the arguments come first.
func (b *builder) namedObject(o *format.Object, body func(tool int) peg.Pattern) peg.Pattern {
	if !b.strict || !argsFirst(o) {
		return b.objectGuard(o, -1, func(after peg.Pattern) peg.Pattern { return b.named(after, body) })
	}
	var alts peg.Choice
	for tool, t := range b.tools {
		if b.allowed(t.Name) {
			alts = append(alts, b.objectGuard(o, tool, func(after peg.Pattern) peg.Pattern {
				return peg.Seq{peg.Lit{Text: t.Name}, after, body(tool)}
			}))
		}
	}
	return alts
}

// argsFirst says that the arguments precede the name.
func argsFirst(o *format.Object) bool {
	for _, f := range o.Fields {
		if f.Slot == format.SlotName || f.Slot == format.SlotArgs {
			return f.Slot == format.SlotArgs && !o.NameIsKey
		}
	}
	return false
}

// objectGuard matches an object up to its name; arguments may precede it (E14): those of the tool, where that is known.
func (b *builder) objectGuard(o *format.Object, tool int, named func(after peg.Pattern) peg.Pattern) peg.Pattern {
	closing := peg.Pattern(b.quote(o))
	if o.NameIsKey {
		return peg.Seq{peg.Lit{Text: "{"}, peg.Space{}, b.quote(o), named(peg.Seq{closing, b.colon()})}
	}
	path := namePath(o)
	if len(path) == 0 {
		return b.fail("a tool call that is an object has no field for the function's name")
	}
	return peg.Seq{b.shared(fmt.Sprint("object ", b.objectNumber(o)), func() peg.Pattern { return b.upToName(o, path, tool) }), named(closing)}
}

// upToName matches an object from its brace to the quote before the name.
func (b *builder) upToName(o *format.Object, path []string, tool int) peg.Pattern {
	var seq peg.Seq
	for level := range path {
		seq = append(seq, peg.Lit{Text: "{"}, peg.Space{})
		var keys peg.Choice
		for _, k := range b.quotedKeys(o, path[level]) {
			keys = append(keys, peg.Lit{Text: k})
		}
		if b.on(AnyLiteral) {
			key := peg.Seq{keys, b.colon()}
			seq = append(seq, peg.Rep{P: peg.Hold{P: peg.Seq{peg.Not{P: key}, b.member(o, path[:level], tool), peg.Space{}, peg.Lit{Text: ","}, peg.Space{}}}})
		} else {
			for _, f := range b.before(o, path, level) {
				seq = append(seq, b.fixedMember(o, f, level, tool), peg.Space{}, peg.Lit{Text: ","}, peg.Space{})
			}
		}
		seq = append(seq, keys, b.colon())
	}
	return peg.Hold{P: append(seq, b.quote(o))}
}

// objectNumber returns the number of the spelling with an object, from 1.
func (b *builder) objectNumber(o *format.Object) int {
	return 1 + slices.IndexFunc(b.spellings, func(c format.Calls) bool { return c.Object == o })
}

// under returns the fields of an object below a path, in order, one for each key at that level.
func under(o *format.Object, path []string) []format.Field {
	var out []format.Field
	for _, f := range o.Fields {
		if len(f.Path) <= len(path) || !slices.Equal(f.Path[:len(path)], path) {
			continue
		}
		if slices.ContainsFunc(out, func(g format.Field) bool { return g.Path[len(path)] == f.Path[len(path)] }) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// before and behind return the fields at a level of the name's path that precede and follow the key on the path.
func (b *builder) before(o *format.Object, path []string, level int) []format.Field {
	fields := under(o, path[:level])
	return fields[:b.place(fields, path, level)]
}

func (b *builder) behind(o *format.Object, path []string, level int) []format.Field {
	fields := under(o, path[:level])
	return fields[b.place(fields, path, level)+1:]
}

func (b *builder) place(fields []format.Field, path []string, level int) int {
	return slices.IndexFunc(fields, func(f format.Field) bool { return f.Path[level] == path[level] })
}

// fixedMember matches a member where the template has it.
func (b *builder) fixedMember(o *format.Object, f format.Field, level, tool int) peg.Pattern {
	key := peg.Seq{peg.Lit{Text: b.quotedKeys(o, f.Path[level])[0]}, b.colon()}
	if len(f.Path) == level+1 {
		return append(key, b.slotValue(o, f, tool))
	}
	seq := append(key, peg.Lit{Text: "{"}, peg.Space{})
	for n, inner := range under(o, f.Path[:level+1]) {
		if n > 0 {
			seq = append(seq, peg.Space{}, peg.Lit{Text: ","}, peg.Space{})
		}
		seq = append(seq, b.fixedMember(o, inner, level+1, tool))
	}
	return append(seq, peg.Space{}, peg.Lit{Text: "}"})
}

// member matches any member of the object at a path: a slot, an object that contains some, or what nobody asked for.
func (b *builder) member(o *format.Object, path []string, tool int) peg.Pattern {
	return b.shared(fmt.Sprintf("member %d %q", b.objectNumber(o), path), func() peg.Pattern { return b.makeMember(o, path, tool) })
}

func (b *builder) makeMember(o *format.Object, path []string, tool int) peg.Pattern {
	var words []string
	var bodies []peg.Pattern
	for _, f := range under(o, path) {
		var body peg.Pattern
		if len(f.Path) == len(path)+1 {
			body = b.slotValue(o, f, tool)
		} else {
			body = b.members(o, f.Path[:len(path)+1], tool)
		}
		for _, k := range b.quotedKeys(o, f.Path[len(path)]) {
			words = append(words, k)
			bodies = append(bodies, peg.Seq{peg.Cut{}, body})
		}
	}
	any := peg.Scan{Scanner: codec.Syntax{}}
	unknown := peg.Pattern(peg.Seq{
		b.capture(Dropped, peg.Seq{peg.And{P: b.quote(o)}, any, b.colon()}),
		peg.Choice{
			peg.Seq{peg.And{P: peg.Lit{Text: "{"}}, peg.Cut{}, b.emit(Spare, 0, ""), peg.Scan{Kind: b.kind(SpareText), Scanner: codec.Syntax{}}},
			b.capture(Dropped, any),
		},
	})
	if len(words) == 0 {
		return unknown
	}
	return peg.Choice{peg.Dispatch{Words: words, After: b.colon(), Bodies: bodies}, unknown}
}

// members matches a whole object at a path.
func (b *builder) members(o *format.Object, path []string, tool int) peg.Pattern {
	m := b.member(o, path, tool)
	return peg.Seq{peg.Lit{Text: "{"}, peg.Space{},
		peg.Choice{peg.Seq{peg.Lit{Text: "}"}}, peg.Seq{m, peg.Space{}, peg.Rep{P: peg.Seq{peg.Lit{Text: ","}, peg.Space{}, m, peg.Space{}}}, peg.Lit{Text: "}"}}}}
}

// objectRest matches an object behind its name.
func (b *builder) objectRest(o *format.Object, tool int) peg.Seq {
	if o.NameIsKey {
		return peg.Seq{b.arguments(tool, false, quoteOf(o)), b.emit(ArgsEnd, 0, ""), peg.Space{}, peg.Lit{Text: "}"}}
	}
	path := namePath(o)
	var seq peg.Seq
	for level := len(path) - 1; level >= 0; level-- {
		if b.on(AnyLiteral) {
			seq = append(seq, peg.Space{}, peg.Rep{P: peg.Seq{peg.Lit{Text: ","}, peg.Space{}, b.member(o, path[:level], tool), peg.Space{}}})
		} else {
			for _, f := range b.behind(o, path, level) {
				seq = append(seq, peg.Space{}, peg.Lit{Text: ","}, peg.Space{}, b.fixedMember(o, f, level, tool))
			}
			seq = append(seq, peg.Space{})
		}
		seq = append(seq, peg.Lit{Text: "}"})
	}
	return append(seq, b.emit(ArgsEnd, 0, ""))
}

// slotValue matches the value of a member.
func (b *builder) slotValue(o *format.Object, f format.Field, tool int) peg.Pattern {
	any := peg.Scan{Scanner: codec.Syntax{}}
	switch f.Slot {
	case format.SlotArgs:
		return peg.Seq{b.arguments(tool, f.Text, quoteOf(o)), b.emit(ArgsEnd, 0, "")}
	case format.SlotID, format.SlotIndex: // a generated number is an id too
		between := func(quote byte, not string) peg.Pattern {
			mark := peg.Lit{Text: string(quote)}
			char := peg.Pattern(peg.Set{Set: peg.Bytes(not + `\`).Or(peg.Range(0, 0x1f)).Not()})
			if !b.strict {
				char = peg.Choice{char, peg.Seq{peg.Lit{Text: `\`}, peg.Set{Set: peg.Range(0, 0x1f).Not()}}}
			}
			return peg.Hold{P: peg.Seq{mark, b.capture(ID, peg.Rep{P: char, Max: MaxName}), mark, b.emit(IDEnd, int(quote), "")}}
		}
		quoted := between(quoteOf(o), `"'`)
		number := peg.Hold{P: peg.Seq{b.capture(ID, peg.Rep{P: peg.Set{Set: digits}, Min: 1, Max: 20}), b.emit(IDEnd, 0, "")}}
		id := peg.Choice{quoted, number}
		if b.on(AnyLiteral) { // an id between quotes may hold the other quote
			id = peg.Choice{between('"', `"`), between('\'', "'"), number}
		}
		switch {
		case b.strict && f.Slot == format.SlotIndex && !f.Text:
			return number
		case b.strict:
			return quoted
		}
		return append(id, any)
	case format.SlotNumber:
		number := peg.Choice{peg.Lit{Text: "0"}, peg.Seq{peg.Set{Set: peg.Range('1', '9')}, peg.Rep{P: peg.Set{Set: digits}, Max: 19}}}
		if b.strict && f.Text {
			return peg.Seq{b.quote(o), number, b.quote(o)}
		} else if b.strict {
			return number
		}
	case format.SlotLit:
		if b.strict {
			return peg.Lit{Text: f.Const}
		}
	}
	return any
}

// freeSpace is the regular expression for the white space of a marker, if it has any.
func (b *builder) freeSpace(s string) string {
	if s == "" || !b.on(FreeSpace) {
		return s
	}
	return someSpace
}

// undeclared returns the alternatives for calls of functions that are not declared: content, and a diagnostic (E15).
func (b *builder) undeclared() peg.Choice {
	if b.strict || !b.calling() {
		return nil
	}
	var alts peg.Choice
	var dropped []bool
	b.silent = true
	for i := range b.spellings {
		for _, o := range b.openings(i) {
			if b.tentative(i, o) {
				continue
			}
			kind := Content
			if b.addressed(o) {
				kind = Dropped
			}
			text := peg.Capture{Kind: kind, P: peg.Seq{o.p, b.unknownGuard(i)}}
			alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{text, peg.Emit{Kind: Undeclared}}}, peg.Cut{}})
			dropped = append(dropped, kind == Dropped)
		}
	}
	b.silent = false
	for n, alt := range alts {
		if dropped[n] { // all of the part is
			alts[n] = append(alt.(peg.Seq), b.ref("dropped part", func() peg.Pattern {
				texts := append(b.openerTexts(), b.f.Content.Open.Text, b.f.Reasoning.Open.Text)
				return peg.Seq{peg.Until{Kind: Dropped, Stops: b.stops(texts, b.endTexts())}, b.mark(format.Marker{}), b.content(false)}
			}))
			continue
		}
		alts[n] = append(alt.(peg.Seq), b.refused())
	}
	return alts
}

// addressed says that calls and content begin alike, with a marker and a name that says to whom they go: a part that goes to somebody
// else is dropped (E20).
func (b *builder) addressed(o opening) bool {
	content := b.f.Content.Open.Text
	return b.f.Content.Mode == format.ContentWrapped && o.first.Text != "" && content != o.first.Text && strings.HasPrefix(content, o.first.Text)
}

// unknownGuard is guard with any name.
func (b *builder) unknownGuard(i int) peg.Pattern {
	c := &b.spellings[i]
	if c.Object != nil {
		name := peg.Rep{P: peg.Set{Set: peg.Bytes(`"'\`).Or(peg.Range(0, 0x1f)).Not()}, Min: 1, Max: MaxName}
		return b.objectGuard(c.Object, -1, func(after peg.Pattern) peg.Pattern { return peg.Seq{name, after} })
	}
	at := nameAt(c.Head)
	if at < 0 {
		return peg.Seq{}
	}
	var seq peg.Seq
	for n := range at {
		seq = append(seq, b.part(c.Head, n, b.follow(c, n+1)))
	}
	if id := c.Head[at]; id.Kind == format.SlotID {
		inner := nameAt(id.Parts)
		seq = append(seq, b.beforeName(id.Parts[:inner]))
		return append(seq, b.word(nil), b.behindName(c, at, id.Parts[inner+1:]))
	}
	return append(seq, b.word(nil), b.behindName(c, at, nil))
}

// trigger returns the regular expression for the beginning of an opening, and, where that is a distinctive literal, the literal.
func (b *builder) trigger(i int, o opening) (pattern, word string) {
	c := &b.spellings[i]
	if !b.tentative(i, o) && distinctive(o.first.Text) || o.first == c.Section.Open || o.first == c.Call.Open {
		return regexp.QuoteMeta(o.first.Text), o.first.Text
	}
	var names []string
	for _, tool := range b.tools {
		names = append(names, regexp.QuoteMeta(tool.Name))
	}
	name := "(?:" + strings.Join(names, "|") + ")"
	if c.Array {
		pattern = `\[` + someSpace
	}
	if c.Object == nil {
		parts := c.Head
		if parts[0].Kind == format.SlotID {
			parts = parts[0].Parts
		}
		for _, p := range parts {
			if p.Kind != format.SlotLit {
				if p.Kind == format.SlotName {
					pattern += name
				}
				break
			}
			pattern += b.freeSpace(p.Text.Before) + regexp.QuoteMeta(p.Text.Text) + b.freeSpace(p.Text.After)
		}
		return strings.TrimLeft(strings.TrimPrefix(pattern, someSpace), format.Space), ""
	}
	pattern += `\{` + someSpace
	if c.Object.NameIsKey {
		return pattern + `["']` + name + `["']`, ""
	}
	first := c.Object.Fields[0]
	pattern += regexp.QuoteMeta(b.quotedKeys(c.Object, first.Path[0])[0]) + someSpace + ":" + someSpace
	if first.Slot == format.SlotName && len(first.Path) == 1 {
		pattern += `["']` + name + `["']`
	}
	return pattern, ""
}
