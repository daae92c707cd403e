package codegen

import (
	"github.com/goassay/assay/engine/chat"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// writer makes the grammar's tree: the states of a turn as a model is to write it. Its patterns log
// nothing, look nowhere ahead and choose in no order; where the parser takes whatever comes, the
// grammar has the template's own text and the schemas' values.
type writer struct {
	*demand
	*sheet
	calls   []*callWriter
	dropped []string // literals that the parser drops from the answer's text
}

// Constraint is the value of a label: the grammar's part in place of the labelled pattern.
type Constraint struct {
	Name   string // the name from which its rules take theirs
	Schema *schema.Schema
	Codec  gbnf.Codec
}

// maxBeside bounds each text before, between and after calls that are required, in steps of
// [gbnf.Builder.Brief]: about as many characters. Clients mean a call, and a model that may talk
// without end before it may never come to one; a sentence or two about the call that follows is
// what models are trained to write there, and no reason to refuse it. Reasoning is not bounded.
const maxBeside = 400

// bound is the value of a label around a text of a grammar: the steps it has at most.
type bound int

// surroundings says where calls stand.
type surroundings uint8

const (
	inAnswer  surroundings = iota
	inThought              // in text that may be reasoning
)

func newWriter(d *demand, dropped []string) *writer {
	w := &writer{demand: d, sheet: newSheet(d.turn), dropped: dropped}
	for _, s := range d.turn.calls {
		w.calls = append(w.calls, &callWriter{w, s})
	}
	return w
}

// whole is the root of a grammar of all of an output: the state at which the prefill has arrived.
func (w *writer) whole() peg.Pattern {
	if len(w.f.Routes) > 0 {
		return (&routeWriter{w}).whole()
	}
	if begun := w.begunMarker(); begun != "" {
		return w.goOn(begun)
	}
	if w.insideReasoning() && w.callsBlock() {
		return w.ref("reasoning opened", w.openedReasoning)
	}
	if w.insideReasoning() {
		return w.ref("reasoning", w.reasoning)
	}
	return w.answer()
}

// armed is the root of a grammar that begins with a trigger.
func (w *writer) armed() peg.Pattern {
	r := &w.f.Reasoning
	forced := w.insideReasoning()
	var alts peg.Choice
	if !forced || w.callsBlock() {
		alts = append(alts, w.callBeginnings()...)
	}
	if forced {
		alts = append(alts, peg.Seq{peg.Lit{Text: r.Close.Text}, w.answer()})
	} else if r.Open.Text != "" {
		alts = append(alts, peg.Seq{peg.Lit{Text: r.Open.Text}, w.ref("reasoning", w.reasoning)})
	}
	return alts
}

// goOn is the root of a grammar where the prefill ends inside a marker.
func (w *writer) goOn(begun string) peg.Pattern {
	var alts peg.Choice
	add := func(first string, p peg.Pattern) {
		if rest, ok := without(p, begun); ok && strings.HasPrefix(first, begun) {
			alts = append(alts, rest)
		}
	}
	for _, c := range w.calls {
		o := c.s.openings[0]
		add(o.first.Text, peg.Seq{c.whole(), c.section(inAnswer)})
	}
	if m := w.f.Content.Open; m.Text != "" {
		add(m.Text, peg.Seq{w.spelled(m.Text), w.answer()})
	}
	if m := w.f.Reasoning.Open; m.Text != "" {
		add(m.Text, peg.Seq{w.spelled(m.Text), w.ref("reasoning", w.reasoning)})
	}
	return alts
}

// without takes the beginning of a pattern's match off its first literal.
func without(p peg.Pattern, begun string) (peg.Pattern, bool) {
	switch p := p.(type) {
	case peg.Lit:
		rest, ok := strings.CutPrefix(p.Text, begun)
		return peg.Lit{Text: rest}, ok
	case peg.Seq:
		for i, part := range p {
			switch part := part.(type) {
			case peg.Space:
				continue
			case peg.Seq:
				if len(part) == 0 {
					continue
				}
			}
			rest, ok := without(part, begun)
			return append(peg.Seq{rest}, p[i+1:]...), ok
		}
	case peg.Choice:
		var alts peg.Choice
		for _, alt := range p {
			if rest, ok := without(alt, begun); ok {
				alts = append(alts, rest)
			}
		}
		return alts, len(alts) > 0
	}
	return nil, false
}

// White space and literals.

// marker matches a marker with the white space beside it.
func (w *writer) marker(m format.Marker) peg.Pattern {
	return peg.Seq{w.space(m.Before), w.spelled(m.Text), w.space(m.After)}
}

// edge matches white space between a marker and a slot: none where the template has none, since a
// name is not to be set off by line breaks.
func (w *writer) edge(exact string) peg.Pattern {
	if exact == "" {
		return peg.Seq{}
	}
	return w.space(exact)
}

// separated returns the stops of texts, shortened where the text and another stop after it could
// make one together, so that a parser, which takes the first one, sees the same one: where
// "<|end|>" and ">>>" are stops, the text has no "<|end|".
func separated(stops []peg.Stop) []peg.Stop {
	texts := lists.Map(stops, func(s peg.Stop) string { return s.Text })
	for i, text := range texts {
		for n := len(text) - 1; n > 0; n-- {
			if slices.ContainsFunc(texts, func(t string) bool {
				return t != text && (strings.HasPrefix(t, text[n:]) ||
					strings.HasPrefix(text[n:], t))
			}) {
				stops[i].Text = text[:n]
			}
		}
	}
	return stops
}

// until matches text without any of some literals, or an end of the turn.
func (w *writer) until(texts shape) peg.Pattern {
	return peg.Until{Kind: Content, Stops: separated(stops(texts.firsts(), w.endTexts()))}
}

// beside matches text of the answer up to all at which the parser would look for something else.
// Where a call is required it is bounded.
func (w *writer) beside() peg.Pattern {
	text := w.until(w.interruptions())
	if w.required() {
		return peg.Label{Name: "beside", Value: bound(maxBeside), P: text}
	}
	return text
}

// The end of the turn.

// ends returns the alternatives for the end of the turn and of the output. An end text may stop at
// a line break, since the text after it is a token of its own, and before a token: a server keeps
// the one at which the model stops.
func (w *writer) ends() (alts peg.Choice) {
	for _, end := range w.f.End {
		m := format.Mark(end)
		if m.Text == "" {
			continue
		}
		alts = append(alts, peg.Seq{w.spelled(m.Text), peg.Space{}})
		seq := peg.Seq{}
		for _, part := range tokens(m.Text) {
			if len(seq) > 0 {
				alts = append(alts, slices.Clip(seq))
			}
			seq = append(seq, peg.Lit{Text: part}, peg.Space{})
		}
	}
	return append(alts, peg.Seq{})
}

// mayEnd is ends where no call and no answer in JSON is still due.
func (w *writer) mayEnd() peg.Choice {
	if w.required() || w.request.answer != nil {
		return nil
	}
	return w.ends()
}

// Content.

// answer is the state of writing the answer.
func (w *writer) answer() peg.Pattern {
	if w.request.answer != nil {
		return w.ref("answer", w.jsonAnswer)
	}
	return w.ref("content", func() peg.Pattern {
		around, loose, worded := w.on(ContentAround), w.on(LooseReasoning), w.wordedBeginnings()
		if around && loose && len(worded) == 0 {
			return w.text("content", false)
		}
		alts := worded
		if !around {
			alts = append(alts, w.callBeginnings()...)
		}
		alts = append(alts, w.reasoningBeginnings()...)
		if w.textless() {
			return peg.Seq{w.space(""), alts}
		}
		return peg.Seq{w.space(""), append(alts, w.begunText())}
	})
}

func (w *writer) begunText() peg.Pattern {
	return w.ref("content text", func() peg.Pattern { return w.text("content text", true) })
}

// textless reports whether the answer has no text: a call is due, and text would rule it out.
func (w *writer) textless() bool { return w.required() && !w.on(ContentAround) }

func (w *writer) wordedBeginnings() (alts peg.Choice) {
	if m := w.f.Content.Open; worded(m) && !w.textless() {
		alts = append(alts, peg.Seq{w.spelled(m.Text), w.begunText()})
	}
	if m := w.f.Reasoning.Open; worded(m) {
		alts = append(alts, peg.Seq{w.spelled(m.Text), w.ref("reasoning", w.reasoning)})
	}
	return alts
}

func (w *writer) callBeginnings() (alts peg.Choice) {
	for _, c := range w.calls {
		alts = append(alts, c.open()...)
	}
	return alts
}

func (w *writer) reasoningBeginnings() peg.Choice {
	if m := w.f.Reasoning.Open; m.Text != "" && !worded(m) {
		return peg.Choice{peg.Seq{w.spelled(m.Text), w.ref("reasoning", w.reasoning)}}
	}
	return nil
}

// interruptions is the shape of all at which the parser would look for something other than text:
// the text must not have calls in it that no schema has constrained.
func (w *writer) interruptions() shape {
	return either(w.anyCall(), literal(w.f.Reasoning.Open.Text), literals(w.dropped),
		literal(w.f.Content.Open.Text), literal(w.f.Content.Close.Text))
}

// text is a state of writing the answer's text up to a marker. Where it has begun, some markers
// count no more (T2, T3 switched off).
func (w *writer) text(name string, begun bool) peg.Pattern {
	return peg.Seq{w.beside(), w.ref(name+" marker", func() peg.Pattern {
		var alts peg.Choice
		if !begun || w.on(ContentAround) {
			alts = append(alts, w.callBeginnings()...)
		}
		// a call may follow reasoning
		if !begun || w.on(LooseReasoning) && w.on(ContentAround) {
			alts = append(alts, w.reasoningBeginnings()...)
		}
		c := &w.f.Content
		for i, m := range [...]format.Marker{c.Open, c.Close} {
			if m.Text != "" && (i > 0 || !worded(m)) {
				alts = append(alts, peg.Seq{w.spelled(m.Text), peg.Ref{Name: name}})
			}
		}
		return append(alts, w.mayEnd()...)
	})}
}

// jsonAnswer is the state in which the answer is JSON, in a fence perhaps (E22, T7), or begins a
// call.
func (w *writer) jsonAnswer() peg.Pattern {
	var alts peg.Choice
	if m := w.f.Reasoning.Open; m.Text != "" {
		alts = append(alts, peg.Seq{w.spelled(m.Text), w.ref("reasoning", w.reasoning)})
	}
	if m := w.f.Content.Open; m.Text != "" {
		alts = append(alts, peg.Seq{w.spelled(m.Text), peg.Ref{Name: "answer"}})
	}
	alts = append(alts, w.callBeginnings()...)
	json := w.jsonText()
	rest := peg.Seq{peg.Space{}, w.ends()}
	if m := w.f.Content.Close; m.Text != "" {
		rest = append(peg.Seq{peg.Space{}, peg.Opt{P: w.spelled(m.Text)}}, rest...)
	}
	if w.on(Fences) {
		alts = append(alts, append(peg.Seq{openFence, peg.Space{}, json,
			peg.Opt{P: peg.Seq{peg.Space{}, peg.Lit{Text: fenceMark}}}}, rest...))
	}
	alts = append(alts, append(peg.Seq{json}, rest...))
	return peg.Seq{peg.Space{}, alts}
}

// jsonText matches an answer in JSON.
func (w *writer) jsonText() peg.Pattern {
	return peg.Label{Name: "answer", Value: Constraint{Name: "answer", Schema: w.request.answer},
		P: peg.Scan{Kind: Content, Scanner: codec.Syntax{Strict: true}}}
}

// Reasoning.

// reasoning is the state inside reasoning: text up to its end, or up to a call. A call ends it,
// unless text follows that shows that the model only thinks about calls, or the end of reasoning
// does (E16).
func (w *writer) reasoning() peg.Pattern {
	if !w.on(LooseReasoning) {
		return w.onlyReasoning()
	}
	closed := w.closedReasoning()
	alts := append(peg.Choice{closed}, w.mayEnd()...)
	for _, c := range w.calls {
		behind := peg.Choice{c.section(inThought)}
		thought := peg.Choice{peg.Seq{peg.Set{Set: w.prose(c)}, w.ref("reasoning", w.reasoning)}}
		if w.closesThought(c) {
			thought = append(thought, closed)
		}
		behind = append(behind, append(c.sectionEnd(), peg.Space{}, thought))
		alts = append(alts, peg.Seq{c.whole(), behind})
	}
	return peg.Seq{w.until(w.thoughtEnds()), alts}
}

// openedReasoning is reasoning at the beginning of a block that the prompt opened, where a call is
// a call.
func (w *writer) openedReasoning() peg.Pattern {
	if !w.on(LooseReasoning) {
		return w.onlyReasoning()
	}
	alts := append(peg.Choice{w.closedReasoning()}, w.mayEnd()...)
	for _, c := range w.calls {
		alts = append(alts, peg.Seq{c.whole(), peg.Choice{c.section(inThought)}})
	}
	return peg.Seq{w.until(w.thoughtEnds()), alts}
}

// onlyReasoning is reasoning that nothing but its marker ends.
func (w *writer) onlyReasoning() peg.Pattern {
	ends := literal(w.f.Reasoning.Close.Text)
	if w.on(RepeatedOpener) {
		ends = either(ends, literal(w.f.Reasoning.Open.Text))
	}
	return peg.Seq{w.until(ends), w.closedReasoning()}
}

func (w *writer) closedReasoning() peg.Pattern {
	return peg.Seq{w.spelled(w.f.Reasoning.Close.Text), w.answer()}
}

// thoughtEnds is the shape of all that the text of reasoning cannot hold: its end, calls, and its
// beginning, where the parser drops that.
func (w *writer) thoughtEnds() shape {
	ends := either(w.anyCall(), literal(w.f.Reasoning.Close.Text))
	if w.on(RepeatedOpener) {
		ends = either(ends, literal(w.f.Reasoning.Open.Text))
	}
	if w.answersOpenly() {
		ends = either(ends, literal(w.f.Content.Open.Text))
	}
	return ends
}

// follow is the shape of all that the parser takes for a further call after one, for its separator
// or for an end.
func (w *writer) follow(c *callWriter) shape {
	return either(w.anyCall(), literals(w.endTexts()),
		c.s.another(lists.Map(w.list, func(t chat.Tool) string { return t.Name })))
}

// prose returns the bytes with which text can go on after a call, so that it is text for the parser
// too: those with which no marker begins, nor a further call.
func (w *writer) prose(c *callWriter) peg.ByteSet {
	not := peg.Bytes(format.Space)
	markers := literals([]string{w.f.Reasoning.Open.Text, w.f.Reasoning.Close.Text,
		w.f.Content.Open.Text, w.f.Content.Close.Text})
	for _, t := range either(w.follow(c), markers).firsts() {
		for _, v := range variants(t) {
			not.Add(v[0])
		}
	}
	if not.Meets(peg.Range(0x80, 0xff)) { // in a grammar all characters beyond ASCII are alike
		not = not.Or(peg.Range(0x80, 0xff))
	}
	return not.Not()
}

// closesThought reports whether the end of reasoning after a call makes it a thought, and does not
// at the same time make it a call.
func (w *writer) closesThought(c *callWriter) bool {
	return !slices.ContainsFunc(w.follow(c).firsts(),
		func(t string) bool { return strings.HasPrefix(w.f.Reasoning.Close.Text, segments(t)[0]) })
}

// After calls.

// after is the state after the last of some calls.
func (w *writer) after(where surroundings) peg.Pattern {
	if where == inThought || !w.on(ContentAround) {
		return w.ref("last", w.lastCalls)
	}
	return w.ref("after", w.afterCalls)
}

// lastCalls is the text after a call where it may be reasoning: further ones, and the end of the
// turn (E16).
func (w *writer) lastCalls() peg.Pattern {
	return peg.Seq{peg.Space{}, append(w.ends(), w.furtherCalls(inThought)...)}
}

// afterCalls is the text after calls elsewhere. It may be content, in which no call begins unless
// there may be several.
func (w *writer) afterCalls() peg.Pattern {
	further := append(w.ends(), w.furtherCalls(inAnswer)...)
	if w.request.answer != nil {
		return peg.Seq{peg.Space{}, further}
	}
	var not peg.ByteSet
	for _, c := range w.calls {
		not = not.Or(w.prose(c).Not())
	}
	text := w.ref("after-text", func() peg.Pattern {
		return peg.Seq{w.beside(), further}
	})
	return peg.Seq{peg.Space{},
		append(slices.Clip(further), peg.Seq{peg.Set{Set: not.Not()}, text})}
}

// furtherCalls returns the alternatives for calls after others.
func (w *writer) furtherCalls(where surroundings) (alts peg.Choice) {
	if !w.parallel {
		return nil
	}
	for _, c := range w.calls {
		alts = append(alts, peg.Seq{c.whole(), c.section(where)})
	}
	return alts
}
