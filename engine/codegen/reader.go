package codegen

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// reader makes the parser's tree: the states of a turn. A callReader makes those of a call, a
// routeReader those of addressed parts.
type reader struct {
	*sheet
	t     *turn
	calls []*callReader
}

func newReader(t *turn, s *sheet) *reader {
	r := &reader{sheet: s, t: t}
	for _, spelled := range t.calls {
		r.calls = append(r.calls, r.callReader(spelled))
	}
	return r
}

// root is the whole of a turn. Whatever happens, the rest is content (E20).
func (r *reader) root() peg.Pattern {
	root := r.turn()
	for _, c := range r.calls {
		c.prepare()
	}
	return peg.Seq{peg.Try{P: root, Else: peg.Seq{}}, peg.Until{Kind: Content}, peg.End{}}
}

func (r *reader) turn() peg.Pattern {
	if len(r.t.f.Routes) > 0 {
		routes := &routeReader{reader: r}
		return r.ref("next", routes.next)
	}
	start := r.start()
	prefill := r.t.o.Prefill
	if c := r.t.f.Content.Open; c.Text == "" && c.Before != "" &&
		(prefill == "" || strings.HasPrefix(prefill, c.Before)) {
		start = peg.Seq{r.trail(format.Marker{After: c.Before}), start}
	}
	if header := r.repeatedHeader(); header != nil {
		return peg.Seq{header, start}
	}
	if begun := r.t.begunMarker(); begun != "" && begun == strings.Trim(prefill, format.Space) {
		return append(r.keptOpener(begun),
			peg.Seq{peg.And{P: r.wholeMarker()}, peg.Cut{}, start},
			peg.Seq{peg.Hold{P: peg.Capture{Kind: Dropped, P: peg.Lit{Text: begun}}},
				r.mark(format.Marker{}), start})
	}
	return start
}

// keptOpener returns the alternative for an opener of reasoning that stays in the content (E22) and
// that the prompt has begun: the model's part of it stays.
func (r *reader) keptOpener(begun string) peg.Choice {
	rest, ok := strings.CutPrefix(r.t.f.Reasoning.Open.Text, begun)
	if !ok || rest == "" || !r.t.keepsReasoning() {
		return nil
	}
	return peg.Choice{peg.Seq{peg.Hold{P: peg.Seq{peg.Space{}, r.lit(begun), peg.Space{},
		peg.Capture{Kind: Content, P: r.lit(rest)}}}, peg.Cut{}, r.ref("reasoning", r.reasoning)}}
}

// lit matches the text of a marker, which has no white space at its edges.
func (r *reader) lit(text string) peg.Pattern {
	p := r.lits[text]
	if p == nil {
		ways := lists.Map(variants(text),
			func(v string) peg.Pattern { return r.apart(v, tokens(v)) })
		if p = peg.Choice(ways); len(ways) == 1 {
			p = ways[0]
		}
		r.lits[text] = p
	}
	return p
}

// marker matches a marker with the white space beside it.
func (r *reader) marker(m format.Marker) peg.Pattern {
	return peg.Seq{r.space(m.Before), r.lit(m.Text), r.space(m.After)}
}

// orStub matches a literal, or the beginning of it that the end of the output leaves.
func (r *reader) orStub(text string) peg.Pattern {
	return peg.Choice{r.lit(text), stub(text)}
}

// once matches a name or key once more, as much of it as the end of the input leaves.
func once(text string) peg.Pattern {
	return peg.Choice{peg.Lit{Text: text}, peg.Stub{Text: text}}
}

// wholeMarker matches the markers and heads with which reasoning, content and calls begin: the
// prompt has written the beginning of one, and it is no part of the answer where the model does not
// go on with it.
func (r *reader) wholeMarker() peg.Pattern {
	var alts peg.Choice
	for _, open := range literals([]string{r.t.f.Content.Open.Text,
		r.t.f.Reasoning.Open.Text}).firsts() {
		alts = append(alts, r.lit(open))
	}
	for _, c := range r.calls {
		for _, o := range c.s.openings {
			declared := peg.Seq{c.opening(o), c.recognised()} // whose name may hold any byte
			alts = append(alts, declared, r.mute(peg.Seq{c.opening(o), c.unknown()}))
		}
	}
	return alts
}

// repeatedHeader matches the end of the header where the model writes it once more (E21 T5): the
// part of it from a marker on.
func (r *reader) repeatedHeader() peg.Pattern {
	var alts peg.Choice
	for _, end := range r.t.headerEnds() {
		alts = append(alts, peg.Hold{P: peg.Capture{Kind: Dropped, P: r.lit(end)}})
	}
	if alts == nil {
		return nil
	}
	return peg.Choice{peg.Hold{P: peg.Seq{peg.Opt{P: peg.Hold{P: peg.Capture{Kind: Dropped,
		P: peg.Space{}}}}, alts, r.mark(format.Marker{})}}, peg.Seq{}}
}

// start returns the state in which the turn begins, which the prefill decides.
func (r *reader) start() peg.Pattern {
	reasoning := &r.t.f.Reasoning
	if reasoning.Open.Text != "" {
		if r.t.callsBlock() {
			return peg.Seq{peg.Space{}, r.openReasoning(), r.again(),
				r.ref("reasoning opened", r.openedReasoning)}
		}
		return r.answer()
	}
	if reasoning.Close.Text == "" {
		return r.answer()
	}
	// Delimiter reasoning (E17).
	content := r.answer()
	closed := slices.ContainsFunc(variants(reasoning.Close.Text),
		func(v string) bool { return strings.Contains(r.t.o.Prefill, v) })
	if closed || r.t.insideReasoning() {
		return r.ref("reasoning", r.reasoning)
	}
	if !r.t.mayDelimit() {
		return content
	}
	until := peg.Until{Kind: r.reasoningKind(),
		Stops: stops(append(r.t.openers(), reasoning.Close.Text), r.t.endTexts())}
	return peg.Choice{
		peg.Seq{peg.Hold{P: peg.Seq{until, r.closeReasoning()}}, peg.Cut{}, content},
		content,
	}
}

// The end of the turn.

// ends returns the alternatives for the end of the turn and of the input.
func (r *reader) ends() peg.Choice {
	var alts peg.Choice
	for _, end := range r.t.f.End {
		m := format.Mark(end)
		if m.Text == "" {
			continue
		}
		ended := r.ref("ended", func() peg.Pattern {
			end := peg.Seq{peg.Emit{Kind: EndOfTurn}, r.mark(format.Marker{})}
			dropped := peg.Seq{peg.Until{Kind: Dropped}, peg.End{}}
			if !r.t.on(TextAfterEnd) {
				return append(end, peg.Choice{r.closers().furtherEnds(), dropped})
			}
			// After the end a token begins nothing of the model's; words are its own.
			var open peg.Choice
			for _, bracket := range format.OpenBrackets {
				open = append(open, peg.Lit{Text: string(bracket)})
			}
			if r.t.o.marked() {
				open = append(open, peg.Seq{peg.Lit{Text: TokenMark},
					peg.Not{P: peg.Lit{Text: string([]byte{codec.Unmarked})}}})
			}
			token := peg.And{P: peg.Seq{peg.Space{}, open}}
			words := peg.Until{Kind: AfterEnd, Stops: stops(r.t.nextTurn(), nil)}
			return append(end, peg.Choice{r.closers().furtherEnds(),
				append(peg.Seq{token, peg.Cut{}}, dropped...),
				append(peg.Seq{words}, dropped...)})
		})
		alts = append(alts,
			peg.Seq{r.lead(m), r.lit(m.Text), peg.Cut{}, ended},
			peg.Seq{peg.Capture{Kind: EndStub, P: stub(m.Text)}, peg.Cut{}, r.lead(m)})
	}
	return append(alts, peg.Seq{peg.End{}})
}

// Content.

// answer is the state of reading the answer from its beginning on.
func (r *reader) answer() peg.Pattern {
	if r.t.o.HasJSONSchema {
		return r.ref("answer", r.jsonAnswer)
	}
	var alts peg.Choice
	for _, c := range r.calls {
		alts = append(alts, c.openAtStart()...)
	}
	alts = append(alts, r.closers().atStart()...)
	if len(alts) == 0 {
		return r.content()
	}
	return r.ref("start", func() peg.Pattern { return append(alts, r.content()) })
}

// content is the state of reading the answer's text, afterCalls the same once there was a call.
func (r *reader) content() peg.Pattern    { return r.contentOf(text{name: "content"}) }
func (r *reader) afterCalls() peg.Pattern { return r.contentOf(text{name: "after", after: true}) }

func (r *reader) contentOf(x text) peg.Pattern {
	return r.ref(x.name, func() peg.Pattern {
		around, loose, worded := r.t.on(ContentAround), r.t.on(LooseReasoning), r.wordedBeginnings()
		if around && loose && len(worded) == 0 {
			return r.text(x)
		}
		// Without the tolerances the reader takes calls and reasoning as such only at the
		// beginning.
		alts := worded
		if !around {
			alts = append(alts, r.callBeginnings()...)
		}
		if !loose {
			alts = append(alts, r.reasoningBeginnings()...)
		}
		if !around {
			alts = append(alts, r.undeclared()...)
		}
		return peg.Seq{peg.Capture{Kind: Content, P: peg.Space{}}, append(alts, r.begunText(x))}
	})
}

// wordedBeginnings returns the alternatives for markers made of words.
func (r *reader) wordedBeginnings() (alts peg.Choice) {
	if m := r.t.f.Content.Open; worded(m) {
		begun := r.begunText(text{name: "content"})
		alts = append(alts, peg.Seq{r.lead(m), r.lit(m.Text), peg.Cut{}, r.trail(m), begun})
	}
	if worded(r.t.f.Reasoning.Open) {
		alts = append(alts, r.thought())
	}
	return alts
}

func (r *reader) callBeginnings() (alts peg.Choice) {
	for _, c := range r.calls {
		alts = append(alts, c.open()...)
	}
	return alts
}

func (r *reader) reasoningBeginnings() peg.Choice {
	if m := r.t.f.Reasoning.Open; m.Text != "" && !worded(m) {
		return peg.Choice{r.thought()}
	}
	return nil
}

func (r *reader) thought() peg.Pattern {
	return peg.Seq{r.openReasoning(), peg.Cut{}, r.again(), r.ref("reasoning", r.reasoning)}
}

// again matches the opener of reasoning once more at the beginning of an open block: models write
// it although the prompt has (T10). In a block that has nothing else it is the text.
func (r *reader) again() peg.Pattern {
	open, close := r.t.f.Reasoning.Open, r.t.f.Reasoning.Close.Text
	if !r.t.on(RepeatedOpener) || r.t.keepsReasoning() || !distinctive(open.Text) {
		return peg.Seq{}
	}
	return peg.Opt{P: peg.Hold{P: peg.Seq{r.lead(open), peg.Space{},
		peg.Capture{Kind: Dropped, P: r.lit(open.Text)},
		peg.Not{P: peg.Seq{peg.Space{}, peg.Choice{peg.End{}, r.orStub(close)}}}, r.trail(open)}}}
}

// text describes how the answer's text is read: up to which literals, and with which interruptions.
type text struct {
	name string // of its state
	// calls and reasoning do not count that are recognised at the beginning only (T2, T3 switched
	// off)
	begun bool
	after bool // there was a call, so that its closing markers may still come (E31)
}

// begunText reads text that has begun.
func (r *reader) begunText(x text) peg.Pattern {
	x.name, x.begun = x.name+" text", true
	return r.ref(x.name, func() peg.Pattern { return r.text(x) })
}

// refused is the state after an opener that has been taken as text: the closers that belong to it
// are text as well (E31), until it reads anything else.
func (r *reader) refused() peg.Pattern {
	x := text{name: "content"}
	if worded(r.t.f.Content.Open) || worded(r.t.f.Reasoning.Open) {
		x = text{name: "content text", begun: true}
	}
	return r.ref("refused", func() peg.Pattern {
		next := peg.Ref{Name: x.name}
		var alts peg.Choice
		for _, m := range r.t.strays(x.begun) {
			if !r.t.opensToo(m) {
				alts = append(alts, peg.Seq{peg.Capture{Kind: Content, P: r.lit(m)}, peg.Cut{},
					peg.Ref{Name: "refused"}})
			} else if !r.mayBeText(m) {
				alts = append(alts, peg.Seq{r.closers().stray(m), next})
			}
		}
		return r.textUp(x, alts)
	})
}

// text is a state of reading the answer's text up to a marker.
func (r *reader) text(x text) peg.Pattern {
	var alts peg.Choice
	for _, m := range r.t.strays(x.begun) {
		if !r.mayBeText(m) {
			alts = append(alts, r.closers().lone(m, x)...)
		}
	}
	return r.textUp(x, alts)
}

func (r *reader) textUp(x text, alts peg.Choice) peg.Pattern {
	at := r.ref(x.name+" marker", func() peg.Pattern { return r.markers(x) })
	return peg.Seq{peg.Until{Kind: Content,
		Stops: stops(r.interruptions(x).firsts(), r.t.endTexts())}, append(alts, at)}
}

// mayBeText reports whether a closing marker is not known for one where it begins.
func (r *reader) mayBeText(text string) bool { return r.t.opensToo(text) || len(tokens(text)) > 1 }

// interruptions is the shape of all that can interrupt the answer's text.
func (r *reader) interruptions(x text) shape {
	var parts []shape
	if !x.begun || r.t.on(ContentAround) {
		parts = append(parts, r.t.anyCall())
	}
	if m := r.t.f.Reasoning.Open; (!x.begun || r.t.on(LooseReasoning)) && !worded(m) {
		parts = append(parts, literal(m.Text))
	}
	parts = append(parts, literals(r.t.strays(x.begun)))
	if m := r.t.f.Content.Open; !worded(m) {
		parts = append(parts, literal(m.Text))
	}
	if r.t.foreignTokens(x.begun) || x.after && r.t.on(StrayClosers) {
		parts = append(parts, literal(tokenOpen))
	}
	return either(append(parts, literal(r.t.f.Content.Close.Text))...)
}

// markers is the state at a marker in the answer's text, or at text that looks like one.
func (r *reader) markers(x text) peg.Pattern {
	var alts peg.Choice
	next := peg.Ref{Name: x.name}
	if !x.begun || r.t.on(ContentAround) {
		alts = append(alts, r.callBeginnings()...)
	}
	if !x.begun || r.t.on(LooseReasoning) {
		alts = append(alts, r.reasoningBeginnings()...)
	}
	c := &r.t.f.Content
	for i, m := range [...]format.Marker{c.Open, c.Close} {
		if m.Text != "" && (i > 0 || !worded(m)) {
			alts = append(alts, peg.Seq{r.lead(m), r.lit(m.Text), peg.Cut{}, r.trail(m), next})
		}
	}
	if !x.begun || r.t.on(ContentAround) { // a text that is no call may be one of something else
		alts = append(alts, r.undeclared()...)
		for _, c := range r.calls {
			alts = append(alts, c.disorder().empty()...)
		}
	}
	for _, m := range r.t.strays(x.begun) {
		if r.mayBeText(m) {
			alts = append(alts, r.closers().lone(m, x)...)
		}
	}
	if r.t.foreignTokens(x.begun) {
		for _, c := range r.calls {
			alts = append(alts, c.openBehindToken(peg.And{P: c.ended()})...)
		}
	}
	// before calls that open with a name in brackets, as an end is
	alts = append(alts, r.ends()...)
	if x.after && r.t.on(StrayClosers) {
		alts = append(alts, r.closers().foreignEnd())
	}
	alts = append(alts, r.shifts(r.interruptions(x).firsts(), next)...)
	if r.t.calling() && !x.begun {
		return append(alts, peg.Seq{peg.Rejected{Kind: Content}, r.refused()})
	}
	return append(alts, peg.Seq{peg.Rejected{Kind: Content}, next})
}

// shifts returns the alternatives for refused markers that end as they begin, such as ">>>": the
// text goes on not after them but where the next one can begin.
func (r *reader) shifts(texts []string, next peg.Pattern) (alts peg.Choice) {
	for _, t := range texts {
		for _, text := range heads(t) {
			if n := border(text); n > 0 {
				alts = append(alts, peg.Seq{peg.And{P: peg.Lit{Text: text}},
					peg.Capture{Kind: Content, P: peg.Lit{Text: text[:len(text)-n]}}, peg.Cut{},
					next})
			}
		}
	}
	return alts
}

// border returns the length of the longest text that another one both begins and ends with, itself
// apart: the prefix function of Knuth, Morris and Pratt.
func border(text string) int {
	if text == "" {
		return 0
	}
	borders := make([]int, len(text)) // of text[:i+1]
	for i := 1; i < len(text); i++ {
		n := borders[i-1]
		for n > 0 && text[i] != text[n] {
			n = borders[n-1]
		}
		if text[i] == text[n] {
			n++
		}
		borders[i] = n
	}
	return borders[len(text)-1]
}

// undeclared returns the alternatives for calls of functions that are not declared: content, and a
// diagnostic (E15).
func (r *reader) undeclared() (alts peg.Choice) {
	for _, c := range r.calls {
		for _, o := range c.s.openings {
			if c.s.tentative(o) {
				continue
			}
			kind := Content
			if c.s.addressed(o) {
				kind = Dropped
			}
			text := peg.Capture{Kind: kind, P: r.mute(peg.Seq{c.opening(o), c.unknown()})}
			alt := append(r.noEnd(o.first.Text),
				peg.Hold{P: peg.Seq{text, peg.Emit{Kind: Undeclared}}}, peg.Cut{})
			if kind == Dropped { // all of the part is
				alts = append(alts, append(alt, r.ref("dropped part", r.droppedPart)))
			} else {
				alts = append(alts, append(alt, c.disorder().siblings()))
			}
		}
	}
	return alts
}

// noEnd matches nothing, where no end of the turn stands that begins with an opener: in a format
// whose calls open with a name in brackets, <end> is no call of a function "end".
func (r *reader) noEnd(opener string) (seq peg.Seq) {
	for _, end := range r.t.endTexts() {
		if len(end) > len(opener) && strings.HasPrefix(end, opener) {
			seq = append(seq, peg.Not{P: r.lit(end)})
		}
	}
	return seq
}

// droppedPart is the state of reading a part that is addressed to somebody who is not declared.
func (r *reader) droppedPart() peg.Pattern {
	texts := either(r.t.anyCall(), literal(r.t.f.Content.Open.Text),
		literal(r.t.f.Reasoning.Open.Text)).firsts()
	return peg.Seq{peg.Until{Kind: Dropped, Stops: stops(texts, r.t.endTexts())},
		r.mark(format.Marker{}), r.answer()}
}

// Reasoning.

func (r *reader) reasoningKind() peg.Kind {
	if r.t.keepsReasoning() {
		return Content
	}
	return Reasoning
}

// openReasoning and closeReasoning read reasoning's markers, which are content where reasoning
// stays in it.
func (r *reader) openReasoning() peg.Pattern  { return r.reasoningMarker(r.t.f.Reasoning.Open) }
func (r *reader) closeReasoning() peg.Pattern { return r.reasoningMarker(r.t.f.Reasoning.Close) }

func (r *reader) reasoningMarker(m format.Marker) peg.Pattern {
	if r.t.keepsReasoning() {
		return peg.Capture{Kind: Content, P: r.lit(m.Text)}
	}
	return peg.Seq{r.lead(m), r.lit(m.Text), r.trail(m)}
}

// reasoning is the state inside reasoning. A call there is tentative (E16).
func (r *reader) reasoning() peg.Pattern {
	texts := literal(r.t.f.Reasoning.Close.Text)
	alts := peg.Choice{peg.Seq{r.closeReasoning(), peg.Cut{}, r.answer()}}
	if r.t.on(LooseReasoning) {
		texts = either(texts, r.t.anyCall())
		for _, c := range r.calls {
			alts = append(alts, c.openInReasoning()...)
		}
		if m := r.t.f.Content.Open; r.t.answersOpenly() {
			texts = either(texts, literal(m.Text))
			begins := peg.Seq{r.lead(m), r.lit(m.Text), peg.Cut{}, r.trail(m)}
			alts = append(alts, append(begins, r.content()))
		}
	}
	alts = append(alts, r.ends()...)
	alts = append(alts, peg.Seq{peg.Rejected{Kind: r.reasoningKind()}, peg.Ref{Name: "reasoning"}})
	return peg.Seq{peg.Until{Kind: r.reasoningKind(), Stops: stops(texts.firsts(), r.t.endTexts())},
		alts}
}

// openedReasoning is the beginning of a block that the prompt opened: an opener there closes the
// block (E16).
func (r *reader) openedReasoning() peg.Pattern {
	alts := lists.Map(r.callBeginnings(), func(alt peg.Pattern) peg.Pattern {
		return peg.Seq{peg.Space{}, alt}
	})
	return append(peg.Choice(alts), r.ref("reasoning", r.reasoning))
}

// jsonAnswer is the state in which the answer is JSON, in a fence perhaps (E22, T7), or begins a
// call.
func (r *reader) jsonAnswer() peg.Pattern {
	var alts peg.Choice
	reasoning, content := &r.t.f.Reasoning, &r.t.f.Content
	if reasoning.Open.Text != "" {
		alts = append(alts, r.thought())
	}
	if content.Open.Text != "" {
		alts = append(alts, peg.Seq{r.mark(content.Open), r.lit(content.Open.Text), peg.Cut{},
			peg.Ref{Name: "answer"}})
	}
	if !r.t.keepsReasoning() && reasoning.Close.Text != "" && r.t.on(StrayClosers) {
		alts = append(alts, peg.Seq{r.mark(reasoning.Close),
			peg.Capture{Kind: Dropped, P: r.lit(reasoning.Close.Text)}, peg.Cut{},
			peg.Ref{Name: "answer"}})
	}
	alts = append(alts, r.callBeginnings()...)
	json := answerText()
	rest := r.content()
	if r.t.on(Fences) {
		alts = append(alts, peg.Seq{
			r.mark(format.Marker{}), peg.Capture{Kind: Dropped, P: openFence}, peg.Cut{},
			r.mark(format.Marker{}), peg.Capture{Kind: Content, P: peg.Space{}},
			peg.Try{P: json, Else: peg.Seq{}},
			peg.Opt{P: peg.Hold{P: peg.Seq{r.mark(format.Marker{}),
				peg.Capture{Kind: Content, P: peg.Space{}},
				peg.Capture{Kind: Dropped,
					P: peg.Choice{peg.Lit{Text: fenceMark}, stub(fenceMark)}},
				r.mark(format.Marker{})}}},
			rest,
		})
	}
	alts = append(alts, peg.Seq{peg.Try{P: json, Else: peg.Seq{}}, rest})
	return peg.Seq{peg.Capture{Kind: Content, P: peg.Space{}}, alts}
}

// answerText matches an answer in JSON.
func answerText() peg.Pattern {
	return peg.Label{Name: "answer",
		P: peg.Scan{Kind: Content, Scanner: codec.Syntax{Strict: true}}}
}
