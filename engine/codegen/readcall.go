package codegen

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/peg"
)

// callReader makes the states of the calls of one spelling. A pattern that has read a call up to
// the name ends with a peg.Switch; the linker puts the continuation for each tool there.
type callReader struct {
	*reader
	s    *spelling
	args *entryReader
}

func (r *reader) callReader(s *spelling) *callReader {
	return &callReader{r, s, newEntryReader(r, s)}
}

// name returns the name of a state of the spelling's calls.
func (c *callReader) name(state string) string { return state + " " + c.s.id }

// prepare makes the rules to which the parts linked for a tool refer.
func (c *callReader) prepare() {
	c.disorder().broken()
	c.section()
	if c.s.perTool() {
		c.rest(&tool{name: "any", schema: anyValue}) // whose parts are other tools' too
		if c.s.entry != nil {
			c.args.prepare()
		}
	} else {
		c.announced(nil)
	}
}

// opening matches the text before the head of a first call, from its first literal on.
func (c *callReader) opening(o opening) peg.Pattern {
	s := c.s
	section, call := s.Section.Open, s.Call.Open
	array := peg.Pattern(peg.Seq{})
	if s.Array || s.Object != nil && c.t.on(OptionalWrapper) &&
		(section.Text != "" || call.Text != "") {
		array = peg.Seq{peg.Lit{Text: "["}, c.space("")}
		if c.t.on(OptionalWrapper) {
			array = peg.Opt{P: array}
		}
	}
	fence := peg.Pattern(peg.Seq{})
	if s.fenced() {
		fence = peg.Opt{P: peg.Seq{openFence, peg.Space{}}}
	}
	switch o.from {
	case atSection:
		inner := peg.Pattern(peg.Seq{})
		if call.Text != "" {
			inner = peg.Seq{c.lit(call.Text), c.space(call.After), fence}
			if s.optionalCall() {
				inner = peg.Opt{P: inner}
			}
		}
		return peg.Seq{c.lit(section.Text), c.space(section.After), fence, array, inner}
	case atCall:
		p := peg.Seq{c.lit(call.Text), c.space(call.After), fence}
		if section.Text == "" {
			p = append(p, array)
		}
		return p
	case atArray:
		return peg.Seq{peg.Lit{Text: "["}, c.space("")}
	}
	return peg.Seq{}
}

// closeFence matches the end of a fence around the JSON of a call, or nothing.
func (c *callReader) closeFence() peg.Pattern {
	if !c.s.fenced() {
		return peg.Seq{}
	}
	return peg.Opt{P: peg.Seq{peg.Space{}, peg.Lit{Text: fenceMark}}}
}

// open returns the alternatives for the first call of a section.
func (c *callReader) open() peg.Choice {
	var alts peg.Choice
	for _, o := range c.s.openings {
		switch {
		case c.s.bracketsAlone(o): // in the middle of a text it is an example, as in a fence (E31)
			alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{c.whole(o), peg.And{P: c.ended()}}},
				peg.Cut{}, c.section()})
			continue
		case c.s.tentative(o):
			alts = append(alts, peg.Seq{peg.Hold{P: c.whole(o)}, peg.Cut{}, c.section()})
			continue
		}
		alts = append(alts, peg.Seq{c.lead(o.first), peg.Emit{Kind: Call, Arg: c.s.number - 1},
			c.opening(o), c.declared(announce)})
	}
	return alts
}

// openAtStart returns the alternatives for a first call at the start of the answer, where one is
// recognised that elsewhere would be text.
func (c *callReader) openAtStart() (alts peg.Choice) {
	for _, o := range c.s.openings {
		if c.s.bracketsAlone(o) {
			alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{peg.Space{}, c.whole(o)}}, peg.Cut{},
				c.section()})
		}
	}
	return append(alts, c.openBehindToken(peg.Seq{})...)
}

// openBehindToken returns the alternatives for a first call before which nothing stands in the
// format, and in the output a token: that is dropped (T5). The text after the call must match.
func (c *callReader) openBehindToken(after peg.Pattern) (alts peg.Choice) {
	for _, o := range c.s.openings {
		if c.s.bracketsAlone(o) && c.t.on(StrayClosers) {
			call := peg.Seq{c.lead(format.Marker{}), peg.Space{}, c.closers().foreignToken(),
				peg.Space{}, c.whole(o), after}
			alts = append(alts, peg.Seq{peg.Hold{P: call}, peg.Cut{}, c.section()})
		}
	}
	return alts
}

// openInReasoning returns the alternatives for a first call inside reasoning: it is held until it
// is complete and the next text is one that belongs after a call (E16).
func (c *callReader) openInReasoning() peg.Choice {
	var alts peg.Choice
	for _, o := range c.s.openings {
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{c.whole(o), peg.And{P: c.ended()}}},
			peg.Cut{}, c.section()})
	}
	return alts
}

// whole matches a first call from its opening to its end.
func (c *callReader) whole(o opening) peg.Pattern {
	return peg.Seq{c.lead(o.first), peg.Emit{Kind: Call, Arg: c.s.number - 1}, c.opening(o),
		c.declared(read)}
}

// ended matches the text that may follow a call that closes reasoning (E16): a further call, or,
// perhaps after the section's end, the end of the turn or of the output.
func (c *callReader) ended() peg.Pattern {
	s := c.s
	next := peg.Choice{peg.End{}}
	for _, t := range either(c.t.anyCall(), literals(c.t.endTexts())).firsts() {
		next = append(append(next, c.lit(t)), stub(t)...)
	}
	if c.t.bracketsAlone() && c.t.on(StrayClosers) {
		next = append(next, peg.Seq{c.mute(c.closers().foreignToken()), peg.Space{}, peg.End{}})
	}
	items := s.Array || s.Object != nil
	seq := peg.Seq{peg.Space{}}
	if items {
		bracket := c.closers().except(peg.Lit{Text: "]"}, "]", c.t.own())
		seq = append(seq, peg.Opt{P: bracket}, peg.Space{})
	}
	close := s.Section.Close.Text
	if close != "" {
		seq = append(seq, peg.Opt{P: c.orStub(close)}, peg.Space{})
	}
	further := peg.Choice{append(seq, next)}
	// calls are written in the block, and it closes after them
	if close != "" && close == c.t.f.Reasoning.Close.Text {
		further = append(further, peg.Seq{peg.Space{}, c.lit(close)})
	}
	if items {
		further = append(further, peg.Seq{peg.Space{}, peg.Lit{Text: ","}})
	}
	for _, sep := range append([]format.Marker{s.Sep}, s.also...) {
		if sep.Text != "" {
			further = append(further, peg.Seq{peg.Space{}, c.lit(sep.Text)})
		}
	}
	if s.Section.Open.Text != "" && (s.Object == nil || !s.Array && s.Sep.Text == "") {
		another := peg.Seq{peg.Space{}}
		if t := s.Call.Open.Text; t != "" {
			another = append(another, peg.Opt{P: c.lit(t)})
		}
		further = append(further, append(another, c.recognised()))
	}
	return further
}

// known matches the name of a tool, and reads nothing more.
func (c *callReader) known(after peg.Pattern) peg.Pattern {
	return peg.Switch{Name: c.name(know), After: after}
}

// separator matches the separator of calls; nil where there is none.
func (c *callReader) separator() peg.Pattern {
	var alts peg.Choice
	for _, sep := range append([]format.Marker{c.s.Sep}, c.s.also...) {
		if sep.Text != "" {
			alts = append(alts, peg.Seq{c.space(sep.Before), c.lit(sep.Text), c.space(sep.After)})
		}
	}
	if c.s.Sep.Text == "" && c.s.listed() {
		comma := c.closers().except(peg.Lit{Text: ","}, ",", c.t.own())
		alts = append(alts, peg.Seq{c.space(""), comma, c.space(" ")})
	}
	switch len(alts) {
	case 0:
		return nil
	case 1:
		return alts[0]
	}
	return alts
}

// section is the state after a call: another call of the section, the section's end, or neither.
func (c *callReader) section() peg.Pattern {
	if !c.s.sections() {
		return peg.Seq{c.trail(c.s.Call.Close), c.afterCalls()}
	}
	return c.ref(c.name("section"), func() peg.Pattern {
		further := append(peg.Choice{c.another()}, c.disorder().strange()...)
		return append(further, c.sectionEnds()...)
	})
}

// another is the alternative for a further call of a section.
func (c *callReader) another() peg.Pattern {
	s, between := c.s, c.separator()
	optional := peg.Pattern(peg.Seq{})
	if between != nil {
		if optional = between; c.t.on(OptionalWrapper) && !s.Array {
			optional = peg.Opt{P: between}
		}
	}
	inner := peg.Pattern(peg.Seq{})
	if open := s.Call.Open; open.Text != "" {
		inner = peg.Seq{c.space(open.Before), c.lit(open.Text), c.space(open.After)}
		if between != nil && s.optionalCall() {
			inner = peg.Opt{P: inner}
		}
	}
	next := peg.Seq{c.mark(format.Marker{}), peg.Emit{Kind: Call, Arg: s.number - 1}, optional,
		c.space(""), inner}
	if s.tentative(s.further()) && !s.Array { // a further item of an array is a call for sure
		whole := append(next, c.declared(read))
		return peg.Seq{peg.Hold{P: whole}, peg.Cut{}, peg.Ref{Name: c.name("section")}}
	}
	return append(next, c.declared(announce))
}

// sectionEnds returns the alternatives for the end of a section: the array's bracket, the section's
// marker, or one of them. Python lets a comma stand before the bracket.
func (c *callReader) sectionEnds() (alts peg.Choice) {
	s, between := c.s, c.separator()
	trailing := peg.Pattern(peg.Space{})
	if between != nil && c.t.on(AnyLiteral) {
		trailing = peg.Seq{peg.Opt{P: between}, peg.Space{}}
	}
	var closers []string
	if s.listed() {
		closers = append(closers, "]")
	}
	end := s.Section.Close
	if end.Text == "" {
		end = s.Call.Close
	}
	if end.Text != "" && (end == s.Section.Close || len(closers) > 0) {
		closers = append(closers, end.Text)
	}
	after := c.trail(end)
	if len(closers) == 2 {
		both := peg.Seq{trailing, c.lit(closers[0]), c.closeFence(), peg.Space{}}
		alts = append(alts, append(both, c.orStub(closers[1]), peg.Cut{}, after, c.afterCalls()))
	}
	for _, t := range closers {
		closer, fence := c.orStub(t), peg.Pattern(peg.Seq{})
		if t == "]" {
			closer, fence = c.closers().except(closer, t, c.t.own()), c.closeFence()
		}
		alts = append(alts, peg.Seq{trailing, closer, fence, peg.Cut{}, after, c.afterCalls()})
	}
	return append(alts, peg.Seq{after, c.afterCalls()})
}

// The head.

// The switches after a name.
const (
	announce = "announce" // the call is announced, and read
	read     = "read"     // it is read; it must be complete
	know     = "know"     // the name is one of the tools', and nothing is read
)

// declared matches a call from its first byte to its name, then the linker's part for the tool of
// that name.
func (c *callReader) declared(name string) peg.Pattern {
	return c.head(func(after peg.Pattern) peg.Pattern {
		cuts, logs := name == announce, name != know
		named := peg.Switch{Name: c.name(name), After: after, Cuts: cuts, Logs: logs}
		if !c.t.qualified {
			return named
		}
		return peg.Seq{c.qualifiers(after), named}
	})
}

// qualifiers matches the words with dots that qualify a declared name, as many as there are before
// one. A name that has dots itself is looked for first.
func (c *callReader) qualifiers(after peg.Pattern) peg.Pattern {
	word := peg.Rep{P: peg.Set{Set: wordBytes}, Min: 1, Max: maxQualifier}
	qualifier := peg.Seq{peg.Not{P: c.known(after)}, word, peg.Lit{Text: "."}}
	return peg.Hold{P: peg.Rep{P: qualifier, Max: maxQualifiers}}
}

// recognised matches a call from its first byte to the name of a tool, and logs nothing.
func (c *callReader) recognised() peg.Pattern {
	return c.mute(c.declared(know))
}

// unknown matches a call from its first byte to its name, whatever that is.
func (c *callReader) unknown() peg.Pattern {
	name := wordBefore(nil)
	if c.s.Object != nil {
		name = word(peg.Bytes(`"'\`).Or(peg.Range(0, 0x1f)).Not())
	}
	return c.head(func(after peg.Pattern) peg.Pattern { return peg.Seq{name, after} })
}

// head matches a call from its first byte to its name.
func (c *callReader) head(named func(after peg.Pattern) peg.Pattern) peg.Pattern {
	if c.s.Object != nil {
		return c.object().upToName(named)
	}
	return c.headFrom(0, named)
}

// headFrom is head without its first parts.
func (c *callReader) headFrom(from int, named func(after peg.Pattern) peg.Pattern) peg.Pattern {
	s := c.s
	var seq peg.Seq
	for n := from; n < s.name; n++ {
		seq = append(seq, c.part(s.Head, n, s.afterHead(n+1).firsts()))
	}
	if id := s.Head[s.name]; id.Kind == format.SlotID { // an id that contains the name
		inner := nameAt(id.Parts)
		return append(seq, c.beforeName(id.Parts[:inner]), named(c.behindName(id.Parts[inner+1:])))
	}
	return append(seq, named(c.behindName(nil)))
}

// behindName looks ahead to the text that must follow a name: a literal, or a byte that no name
// goes on with.
func (c *callReader) behindName(inID []format.Part) peg.Pattern {
	s := c.s
	var alts peg.Choice
	if len(inID) > 0 && inID[0].Kind == format.SlotLit {
		if alts = append(alts, c.lit(inID[0].Text.Text)); !c.t.on(OptionalWrapper) {
			return peg.And{P: peg.Seq{c.space(inID[0].Text.Before), alts}}
		}
	}
	// its white space is a part of it, by which another spelling may differ
	if s.name+1 < len(s.Head) && !c.t.on(FreeSpace) {
		if p := s.Head[s.name+1]; p.Kind == format.SlotLit && p.Text.Text != "" && !p.Opt {
			return peg.And{P: append(alts, c.part(s.Head, s.name+1, nil))}
		}
	}
	for _, t := range s.afterHead(s.name + 1).firsts() {
		alts = append(alts, c.lit(t))
	}
	if tag, ok := s.selfClosing(); ok {
		alts = append(alts, c.selfClosing(tag))
	}
	if e := s.entry; e != nil && s.Body.Open.Text == "" && e.open.Text.Text == "" &&
		e.mid.Text.Text != "" && onlySpace(s.Head[s.name+1:]) {
		alts = append(alts, c.args.ahead()) // nothing but a key after the name
	}
	if len(alts) == 0 {
		return peg.Not{P: peg.Set{Set: nameBytes}}
	}
	return peg.And{P: peg.Seq{peg.Space{}, alts}}
}

// onlySpace reports whether parts are literals of nothing but white space.
func onlySpace(parts []format.Part) bool {
	return !slices.ContainsFunc(parts, func(p format.Part) bool {
		return p.Kind != format.SlotLit || p.Text.Text != ""
	})
}

// part matches one part of a head or tail that is not the name. follow are the literals that end a
// slot.
func (c *callReader) part(parts []format.Part, n int, follow []string) peg.Pattern {
	p := parts[n]
	var out peg.Pattern
	switch p.Kind {
	case format.SlotLit:
		if p.Text.Text == "" {
			return c.space(p.Text.Before)
		}
		alts := peg.Choice{c.lit(p.Text.Text)}
		for _, t := range p.Alts {
			alts = append(alts, c.lit(strings.Trim(t, format.Space)))
		}
		out = peg.Seq{c.space(p.Text.Before), alts, c.space(p.Text.After)}
	case format.SlotID:
		var seq peg.Seq
		if len(p.Parts) > 0 {
			seq = c.inID(p.Parts)
		} else {
			if len(follow) > 0 {
				// the white space before a literal is no part of the id
				follow = append(slices.Clip(follow), " ")
			}
			seq = peg.Seq{peg.Capture{Kind: ID, P: wordBefore(follow)}}
		}
		out = append(seq, peg.Emit{Kind: IDEnd})
	case format.SlotIndex, format.SlotNumber:
		out = number
	default:
		out = wordBefore(follow)
	}
	if p.Opt {
		return peg.Opt{P: peg.Hold{P: out}}
	}
	return out
}

// beforeName and afterName match the parts of an id beside the function's name, which models leave
// out: the name is enough to tell a call (T4). A part that has begun after the name is the id's,
// wherever it breaks off.
func (c *callReader) beforeName(parts []format.Part) peg.Pattern {
	if len(parts) == 0 || !c.t.on(OptionalWrapper) {
		return c.inID(parts)
	}
	return peg.Opt{P: peg.Hold{P: c.inID(parts)}}
}

func (c *callReader) afterName(parts []format.Part) peg.Pattern {
	if len(parts) == 0 || parts[0].Kind != format.SlotLit || !c.t.on(OptionalWrapper) {
		return c.inID(parts)
	}
	return peg.Opt{P: c.inID(parts)}
}

// inID matches parts of an id, all of which is the id's text.
func (c *callReader) inID(parts []format.Part) peg.Seq {
	var seq peg.Seq
	for _, p := range parts {
		text := wordBefore(nil)
		switch p.Kind {
		case format.SlotLit:
			text = c.lit(p.Text.Full())
		case format.SlotIndex:
			text = number
		}
		seq = append(seq, peg.Capture{Kind: ID, P: text})
	}
	return seq
}

// After the name.

// The states after a name are rules of their own; where they are another one for each tool, its
// name is in theirs. tool is nil where they are not.

func (c *callReader) toolName(state string, tool *tool) string {
	json := c.s.Object == nil && c.s.Body.Kind == format.BodyJSON
	if c.s.perTool() || json && tool.text() != "" {
		return c.name(state) + " " + tool.name
	}
	return c.name(state)
}

// announced is the state after a name, whatever follows it: a call that has been announced stays
// one (E14).
func (c *callReader) announced(tool *tool) peg.Pattern {
	return c.ref(c.toolName("announced", tool), func() peg.Pattern {
		return peg.Seq{peg.Try{P: c.rest(tool), Else: c.disorder().broken()}, c.section()}
	})
}

// rest is the state after a name: the rest of the head, the arguments, the tail and the call's
// closing marker.
func (c *callReader) rest(tool *tool) peg.Pattern {
	s := c.s
	return c.ref(c.toolName("rest", tool), func() peg.Pattern {
		if s.Object != nil {
			return append(c.object().rest(), c.closeFence(), c.tail(tool))
		}
		body := c.args.body
		if s.envelope != nil {
			body = c.envelope
		}
		rest := peg.Seq{c.perTool("head end", tool, c.headEnd), body(tool), c.tail(tool)}
		if tag, ok := s.selfClosing(); ok {
			return peg.Choice{peg.Seq{c.ref(c.name("self-closing"),
				func() peg.Pattern { return c.selfClosing(tag) }), peg.Cut{}, c.noArguments()},
				rest}
		}
		return rest
	})
}

func (c *callReader) selfClosing(tag string) peg.Pattern {
	return peg.Seq{peg.Space{}, c.lit(tag), peg.Space{}, peg.Lit{Text: "/>"}}
}

// noArguments reports whether a call has no arguments.
func (c *callReader) noArguments() peg.Pattern {
	return c.ref("no arguments", func() peg.Pattern {
		return peg.Seq{peg.Emit{Kind: Open}, peg.Emit{Kind: Close}, peg.Emit{Kind: ArgsEnd},
			peg.Emit{Kind: CallEnd}}
	})
}

// headEnd matches the rest of the head.
func (c *callReader) headEnd(tool *tool) peg.Pattern {
	s := c.s
	var seq peg.Seq
	if id := s.Head[s.name]; id.Kind == format.SlotID {
		seq = append(seq, c.afterName(id.Parts[nameAt(id.Parts)+1:]), peg.Emit{Kind: IDEnd})
	}
	for n := s.name + 1; n < len(s.Head); n++ {
		p := c.again(s.Head, n, tool, s.afterHead(n+1).firsts())
		if s.optionalID(n) {
			n++
			p = peg.Choice{peg.Hold{P: peg.Seq{p, c.part(s.Head, n, s.afterHead(n+1).firsts())}},
				peg.Emit{Kind: IDEnd}}
		}
		seq = append(seq, p)
	}
	return seq
}

// perTool makes a pattern for each tool where a call repeats its name, else one rule for all.
func (c *callReader) perTool(state string, t *tool, build func(*tool) peg.Pattern) peg.Pattern {
	if c.s.repeatsName() {
		return build(t)
	}
	return c.ref(c.name(state), func() peg.Pattern { return build(nil) })
}

// again is part for a place after the name, where the name's slots read as the name did.
func (c *callReader) again(parts []format.Part, n int, tool *tool, follow []string) peg.Pattern {
	if parts[n].Kind == format.SlotName {
		return once(tool.name)
	}
	return c.part(parts, n, follow)
}

// tail is the state in which a call is closed.
func (c *callReader) tail(of *tool) peg.Pattern {
	return c.perTool("tail", of, func(t *tool) peg.Pattern {
		return peg.Seq{peg.Emit{Kind: ArgsEnd}, c.closing(t), peg.Emit{Kind: CallEnd}}
	})
}

// closing matches the close of a call. After arguments whose end shows, the whole close may be
// missing (T4); where the output ends inside it, the call is complete.
func (c *callReader) closing(tool *tool) peg.Pattern {
	s := c.s
	var inner, outer peg.Seq
	var texts []string
	slots := false
	closer := func(m format.Marker) peg.Seq {
		texts = append(texts, m.Text)
		return peg.Seq{c.space(m.Before), c.lit(m.Text)}
	}
	for n, p := range s.Tail {
		switch {
		case p.Kind != format.SlotLit:
			slots = true
			inner = append(inner, c.again(s.Tail, n, tool, s.inWordAfter(n+1)))
		case p.Text.Text != "":
			inner = append(inner, closer(p.Text)...)
		}
		if p.Kind == format.SlotLit && n+1 < len(s.Tail) {
			gap := p.Text.After
			if p.Text.Text == "" {
				gap = p.Text.Before
			}
			inner = append(inner, c.space(gap))
		}
	}
	if m := s.Call.Close; m.Text != "" {
		outer = closer(m)
	}
	both := append(slices.Clip(inner), outer...)
	if len(both) == 0 || !c.t.on(OptionalWrapper) {
		return both
	}
	var alts peg.Choice
	if len(inner) > 0 {
		alts = append(alts, peg.Hold{P: append(slices.Clip(inner), peg.Opt{P: outer})})
	}
	switch {
	case slots: // an id, say, must be read
		return append(inner, peg.Opt{P: outer})
	case len(outer) > 0:
		alts = append(alts, peg.Hold{P: outer})
	}
	if s.selfDelimiting() {
		return append(alts, peg.Seq{peg.Space{}, stub(texts...)}, peg.Seq{})
	}
	return alts
}
