package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// builder builds one tree.
type builder struct {
	f         format.Format
	o         Options
	loose     Tolerances // that are on; of a grammar none but FreeSpace, if that is
	strict    bool       // the tree is for a grammar
	keep      bool       // reasoning stays in the content
	tools     []chat.Tool
	schemas   []*schema.Schema // of the tools' arguments
	answer    *schema.Schema   // of a JSON answer
	spellings []format.Calls

	out         *Output
	rules       []peg.Rule
	known       map[string]bool
	lits        map[string]peg.Pattern
	opened      [][]opening // by spelling
	openers     []string    // the literals with which calls begin
	marks       map[MarkInfo]int
	values      map[ValueInfo]int
	nestedNames map[*schema.Schema]string
	lazy        bool     // the grammar begins at a trigger
	thinking    bool     // for a grammar: calls come where reasoning may be open
	callTexts   []string // for a grammar: all literals with which the parser lets calls begin
	dropTexts   []string // for a grammar: literals of what the parser drops from the answer's text
	silent      bool     // patterns log nothing: what looks like a call is read as content
	err         error
}

// on says that the tree that is built has a tolerance.
func (b *builder) on(t Tolerances) bool { return b.loose&t != 0 }

// tolerated says that the parser has a tolerance, whichever tree is built: what the grammar may leave to the model because the
// parser reads it.
func (b *builder) tolerated(t Tolerances) bool { return b.o.Tolerances&t != 0 }

func (b *builder) fail(format string, args ...any) peg.Pattern {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return peg.Seq{}
}

// ref returns a reference to a rule, which is built when it is first referred to.
func (b *builder) ref(name string, build func() peg.Pattern) peg.Pattern {
	if !b.known[name] {
		b.known[name] = true
		i := len(b.rules)
		b.rules = append(b.rules, peg.Rule{Name: name})
		p := build()
		b.rules[i].P = p
	}
	return peg.Ref{Name: name}
}

// shared is what build returns as a rule of the parser, so that it is there once, however often it is needed: what is not there need not be
// compiled for every request. A grammar has it in place, where it may depend on the tool.
func (b *builder) shared(name string, build func() peg.Pattern) peg.Pattern {
	switch {
	case b.strict:
		return build()
	case b.silent:
		name += " silent"
	}
	return b.ref(name, build)
}

// tree builds the whole.
func (b *builder) tree() *peg.Tree {
	b.rules, b.known, b.marks, b.values = nil, map[string]bool{}, map[MarkInfo]int{}, map[ValueInfo]int{}
	b.lits = map[string]peg.Pattern{}
	b.opened, b.openers = nil, nil
	b.out.HoldID = make([]bool, max(1, len(b.spellings)))
	for i := range b.spellings {
		c := &b.spellings[i]
		isID := func(p format.Part) bool { return p.Kind == format.SlotID }
		b.out.HoldID[i] = slices.ContainsFunc(c.Head, isID) || slices.ContainsFunc(c.Tail, isID) ||
			c.Object != nil && slices.ContainsFunc(c.Object.Fields, func(f format.Field) bool { return f.Slot == format.SlotID || f.Slot == format.SlotIndex })
	}
	root := b.root()
	if !b.strict { // whatever happens, what is left is content (E20)
		root = peg.Seq{peg.Try{P: root, Else: peg.Seq{}}, peg.Until{Kind: Content}, peg.End{}}
	}
	return &peg.Tree{Root: root, Rules: b.rules, Kinds: slices.Clone(kindNames[:])}
}

func (b *builder) root() peg.Pattern {
	if b.strict {
		return b.strictRoot()
	}
	if len(b.f.Routes) > 0 {
		return b.routed()
	}
	start := b.start()
	if c := b.f.Content.Open; c.Text == "" && c.Before != "" && (b.o.Prefill == "" || strings.HasPrefix(b.o.Prefill, c.Before)) {
		start = peg.Seq{b.trail(format.Marker{After: c.Before}), start}
	}
	if header := b.repeatedHeader(); header != nil {
		return peg.Seq{header, start}
	}
	if begun := b.begunMarker(); begun != "" && begun == strings.Trim(b.o.Prefill, format.Space) {
		return peg.Choice{
			peg.Seq{peg.And{P: b.wholeMarker()}, peg.Cut{}, start},
			peg.Seq{peg.Hold{P: peg.Capture{Kind: Dropped, P: peg.Lit{Text: begun}}}, b.mark(format.Marker{}), start},
		}
	}
	return start
}

// wholeMarker matches the markers and heads with which content and calls begin: the prompt has written the beginning of one, and it is
// no part of the answer where the model does not go on with it.
func (b *builder) wholeMarker() peg.Pattern {
	defer func(was bool) { b.silent = was }(b.silent)
	b.silent = true
	var alts peg.Choice
	if open := b.f.Content.Open.Text; open != "" {
		alts = append(alts, b.lit(open))
	}
	for i := range b.spellings {
		for _, o := range b.openings(i) {
			declared := b.guard(i, func(int) peg.Pattern { return peg.Seq{} }) // whose name may hold any byte
			alts = append(alts, peg.Seq{o.p, declared}, peg.Seq{o.p, b.unknownGuard(i)})
		}
	}
	return alts
}

// start returns the state in which the turn begins, which the prefill decides.
func (b *builder) start() peg.Pattern {
	r := &b.f.Reasoning
	if r.Open.Text != "" {
		if b.callsBlock() {
			return peg.Seq{peg.Space{}, b.openReasoning(), b.ref("reasoning opened", b.openedReasoning)}
		}
		return b.content(false)
	}
	if r.Close.Text == "" {
		return b.content(false)
	}
	// Delimiter reasoning (E17).
	content := b.content(false)
	if closed := containsAny(b.o.Prefill, variants(r.Close.Text)); closed || b.openAt(b.o.Prefill) {
		return b.ref("reasoning", b.reasoning)
	}
	if !b.mayDelimit() {
		return content
	}
	until := peg.Until{Kind: b.reasoningKind(), Stops: b.stops(append(b.openerTexts(), r.Close.Text), b.endTexts())}
	return peg.Choice{
		peg.Seq{peg.Hold{P: peg.Seq{until, b.closeReasoning()}}, peg.Cut{}, content},
		content,
	}
}

// callsBlock says that the prompt has just opened a block of reasoning that a call can begin and so close (E16).
func (b *builder) callsBlock() bool {
	return b.justOpened() && b.calling() && b.tolerated(LooseReasoning)
}

// mayDelimit says that text may turn out to have been reasoning, by the marker that ends it (E17).
func (b *builder) mayDelimit() bool {
	r := &b.f.Reasoning
	return r.Open.Text == "" && r.Close.Text != "" && strings.Trim(b.o.Prefill, format.Space) == "" && b.tolerated(LooseReasoning)
}

// justOpened says that the prompt has opened a block of reasoning and put nothing into it.
func (b *builder) justOpened() bool {
	open := b.f.Reasoning.Open.Text
	return open != "" && slices.Contains(variants(open), strings.Trim(b.o.Prefill, format.Space))
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// openAt says that a text leaves reasoning open.
func (b *builder) openAt(text string) bool {
	last := func(texts []string) int {
		at := -1
		for _, t := range texts {
			at = max(at, strings.LastIndex(text, t))
		}
		return at
	}
	r := &b.f.Reasoning
	if r.Close.Text == "" {
		return false
	}
	closed := last(variants(r.Close.Text))
	if r.Open.Text != "" {
		return last(variants(r.Open.Text)) > closed
	}
	return strings.Trim(text, format.Space) != "" && closed < 0 && b.o.Continue != chat.ContinueContent
}

// calling says that there may be calls.
func (b *builder) calling() bool {
	return len(b.spellings) > 0 || len(b.tools) > 0 && slices.ContainsFunc(b.f.Routes, func(r format.Route) bool { return r.Kind == format.RouteCall })
}

// repeatedHeader matches the end of the header where the model says it once more (E21 T5): the part of it from a marker
// on.
func (b *builder) repeatedHeader() peg.Pattern {
	var alts peg.Choice
	for _, end := range b.headerEnds() {
		alts = append(alts, peg.Hold{P: peg.Capture{Kind: Dropped, P: b.lit(end)}})
	}
	if alts == nil {
		return nil
	}
	return peg.Choice{peg.Hold{P: peg.Seq{peg.Opt{P: peg.Hold{P: peg.Capture{Kind: Dropped, P: peg.Space{}}}}, alts, b.mark(format.Marker{})}}, peg.Seq{}}
}

// headerEnds returns the ends of the header that a model may say once more, the longest first.
func (b *builder) headerEnds() (ends []string) {
	header := strings.Trim(b.f.Header, format.Space)
	if !b.on(StrayClosers) || b.o.Prefill != "" {
		return nil
	}
	for i, r := range header {
		if strings.ContainsRune(format.OpenBrackets, r) && distinctive(header[i:]) {
			ends = append(ends, header[i:])
		}
	}
	return ends
}

// White space and literals.

// space matches the white space beside a marker: any, or exactly what the template writes.
func (b *builder) space(exact string) peg.Pattern {
	if b.on(FreeSpace) {
		return peg.Space{}
	}
	return peg.Lit{Text: exact}
}

// variants returns the ways in which a marker is written: as it is, and with plain bars or underscores in place of the
// typographic ones.
func variants(text string) []string {
	out := []string{text}
	for _, r := range [...]*strings.Replacer{plainBars, plainBlanks} {
		for _, v := range out {
			if plain := r.Replace(v); plain != v {
				out = append(out, plain)
			}
		}
	}
	return out
}

var plainBars, plainBlanks = strings.NewReplacer("｜", "|"), strings.NewReplacer("▁", "_")

// segments cuts a literal at its line breaks, white space around them included: there a model's white space is free.
func segments(text string) []string {
	var parts []string
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return append(parts, text)
		}
		parts = append(parts, strings.TrimRight(text[:i], format.Space))
		text = strings.TrimLeft(text[i:], format.Space)
	}
}

// edge matches white space between a marker and a slot. In a grammar there is none where the template has none: a name is not to be set
// off by line breaks.
func (b *builder) edge(exact string) peg.Pattern {
	if b.strict && exact == "" {
		return peg.Seq{}
	}
	return b.space(exact)
}

// first is lit for the marker with which calls begin: the trigger of a lazy grammar, which must be exactly that.
func (b *builder) first(text string) peg.Pattern {
	if b.strict {
		return peg.Lit{Text: text}
	}
	return b.lit(text)
}

// lit matches the text of a marker, which has no white space at its edges. A grammar has it as the template does.
func (b *builder) lit(text string) peg.Pattern {
	p := b.lits[text]
	if p == nil {
		p = b.makeLit(text)
		b.lits[text] = p
	}
	return p
}

func (b *builder) makeLit(text string) peg.Pattern {
	ways := variants(text)
	if b.strict {
		ways = ways[:1]
	}
	var alts peg.Choice
	for _, v := range ways {
		var seq peg.Seq
		for i, s := range segments(v) {
			if i > 0 {
				if !b.on(FreeSpace) {
					seq = peg.Seq{peg.Lit{Text: v}}
					break
				}
				seq = append(seq, peg.Space{})
			}
			seq = append(seq, peg.Lit{Text: s})
		}
		if len(seq) == 1 {
			alts = append(alts, seq[0])
		} else {
			alts = append(alts, seq)
		}
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return alts
}

// marker matches a marker with the white space beside it.
func (b *builder) marker(m format.Marker) peg.Pattern {
	return peg.Seq{b.space(m.Before), b.lit(m.Text), b.space(m.After)}
}

// firsts returns the literals with which the ways of writing a marker begin, as an Until looks for them.
func firsts(text string) []string {
	var out []string
	for _, v := range variants(text) {
		out = append(out, segments(v)[0])
	}
	return out
}

// stub matches the beginning of a marker, at least a byte of it, that the end of the input cuts off.
func (b *builder) stub(texts ...string) peg.Choice {
	var alts peg.Choice
	for _, text := range texts {
		for _, v := range variants(text) {
			var lead peg.Seq
			for i, s := range segments(v) {
				if i > 0 {
					alts = append(alts, append(lead[:len(lead):len(lead)], peg.End{}))
				}
				alts = append(alts, append(lead[:len(lead):len(lead)], peg.Stub{Text: s}))
				lead = append(lead, peg.Lit{Text: s}, peg.Space{})
			}
		}
	}
	return alts
}

// stops returns the stops for texts; those of ends also end the text where the end of the input cuts them off.
func (b *builder) stops(texts, ends []string) []peg.Stop {
	var stops []peg.Stop
	seen := map[string]int{}
	add := func(text string, isEnd bool) {
		for _, first := range firsts(text) {
			if first == "" {
				continue
			}
			if i, ok := seen[first]; ok {
				stops[i].Stub = stops[i].Stub || isEnd
				continue
			}
			seen[first] = len(stops)
			stops = append(stops, peg.Stop{Text: first, Stub: isEnd})
		}
	}
	for _, t := range texts {
		add(t, false)
	}
	for _, t := range ends {
		add(t, true)
	}
	if b.strict {
		separate(stops)
	}
	return stops
}

// separate shortens the stops of a grammar's text that the text and another stop behind it could make together, so that a parser, which takes
// the first one, sees the same one: where "<|end|>" and ">>>" are stops, the text has no "<|end|".
func separate(stops []peg.Stop) {
	texts := make([]string, len(stops))
	for i, s := range stops {
		texts[i] = s.Text
	}
	for i, text := range texts {
		for n := len(text) - 1; n > 0; n-- {
			if slices.ContainsFunc(texts, func(t string) bool {
				return t != text && (strings.HasPrefix(t, text[n:]) || strings.HasPrefix(text[n:], t))
			}) {
				stops[i].Text = text[:n]
			}
		}
	}
}

const brackets = format.OpenBrackets + format.ShutBrackets

// distinctive says that a literal does not occur by chance: it looks like a tag or a token.
func distinctive(text string) bool {
	return len(text) >= 4 && strings.ContainsAny(text, brackets+"|｜") && strings.Trim(text, brackets+"(){}|/`\"' ") != ""
}

// mark logs a marker's place.
func (b *builder) mark(m format.Marker) peg.Pattern {
	return b.markInfo(MarkInfo{Before: m.Before, After: m.After, Free: b.on(FreeSpace)})
}

func (b *builder) markInfo(info MarkInfo) peg.Pattern {
	if b.silent {
		return peg.Seq{}
	}
	i, ok := b.marks[info]
	if !ok {
		i = len(b.out.Marks)
		b.marks[info] = i
		b.out.Marks = append(b.out.Marks, info)
	}
	return peg.Emit{Kind: Mark, Arg: i}
}

// value returns the number of a kind of value.
func (b *builder) value(v ValueInfo) int {
	i, ok := b.values[v]
	if !ok {
		i = len(b.out.Values)
		b.values[v] = i
		b.out.Values = append(b.out.Values, v)
	}
	return i
}

// emit logs an event, unless the builder is silent.
func (b *builder) emit(kind peg.Kind, arg int, text string) peg.Pattern {
	if b.silent {
		return peg.Seq{}
	}
	return peg.Emit{Kind: kind, Arg: arg, Text: text}
}

func (b *builder) capture(kind peg.Kind, p peg.Pattern) peg.Pattern {
	if b.silent {
		return p
	}
	return peg.Capture{Kind: kind, P: p}
}

func (b *builder) kind(kind peg.Kind) peg.Kind {
	if b.silent {
		return 0
	}
	return kind
}

// The end of the turn.

// endTexts returns the texts that end a turn, without white space. A text of white space alone ends nothing.
func (b *builder) endTexts() []string {
	var texts []string
	for _, end := range b.f.End {
		if text := strings.Trim(end, format.Space); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// turnEnds returns those of the texts that end nothing but a turn: one with which a part of the turn begins or ends is no reason to
// stop.
func (b *builder) turnEnds() []string {
	var markers []string
	add := func(list ...format.Marker) {
		for _, m := range list {
			markers = append(markers, m.Text)
		}
	}
	add(b.f.Reasoning.Open, b.f.Reasoning.Close, b.f.Content.Open, b.f.Content.Close)
	for _, c := range b.f.Calls {
		add(c.Section.Open, c.Section.Close, c.Call.Open, c.Call.Close, headLiteral(&c))
	}
	for _, r := range b.f.Routes {
		add(r.Start)
	}
	return slices.DeleteFunc(b.endTexts(), func(end string) bool {
		return slices.ContainsFunc(markers, func(m string) bool { return strings.HasPrefix(m, end) })
	})
}

// ends returns the alternatives for the end of the turn and of the input.
func (b *builder) ends() peg.Choice {
	var alts peg.Choice
	for _, end := range b.f.End {
		m := format.Mark(end)
		if m.Text == "" {
			continue
		}
		ended := peg.Pattern(peg.Space{})
		if !b.strict {
			ended = b.ref("ended", func() peg.Pattern {
				return peg.Seq{peg.Emit{Kind: EndOfTurn}, peg.Until{Kind: Dropped}, peg.End{}}
			})
		}
		alts = append(alts,
			peg.Seq{b.lead(m), peg.Capture{Kind: Dropped, P: b.lit(m.Text)}, peg.Cut{}, ended},
			peg.Seq{peg.Capture{Kind: EndStub, P: b.stub(m.Text)}, peg.Cut{}, b.lead(m)})
	}
	return append(alts, peg.Seq{peg.End{}})
}

// lead logs the mark before a marker.
func (b *builder) lead(m format.Marker) peg.Pattern { return b.mark(format.Marker{Before: m.Before}) }

// trail logs the mark behind a marker.
func (b *builder) trail(m format.Marker) peg.Pattern { return b.mark(format.Marker{After: m.After}) }

// Content.

// content returns the state of reading the answer. after: there was a call, behind which a JSON answer is no longer due.
func (b *builder) content(after bool) peg.Pattern {
	if b.answer != nil && !after {
		return b.ref("answer", b.jsonAnswer)
	}
	return b.ref("content", func() peg.Pattern {
		around, loose, worded := b.tolerated(ContentAround), b.tolerated(LooseReasoning), b.wordedBeginnings()
		if around && loose && len(worded) == 0 {
			return b.text("content", false, false)
		}
		alts, lead := worded, peg.Pattern(peg.Space{})
		// Without the tolerances calls and reasoning are only taken for what they are at the beginning.
		alts = append(alts, b.beginnings(!around, !loose || b.strict)...)
		if b.strict {
			lead = b.space("")
		}
		if b.textless() {
			return peg.Seq{lead, alts}
		}
		if !around {
			alts = append(alts, b.undeclared()...)
		}
		return peg.Seq{peg.Capture{Kind: Content, P: lead}, append(alts, b.begunText())}
	})
}

// begunText is the state of reading the answer's text behind its beginning.
func (b *builder) begunText() peg.Pattern {
	const begun = "content text"
	return b.ref(begun, func() peg.Pattern { return b.text(begun, false, true) })
}

// worded says that a marker that opens content or reasoning is made of words, such as "Answer:". Any text may hold that, so that it
// opens something only where text begins. A grammar keeps them out of text elsewhere.
func (b *builder) worded(m format.Marker) bool {
	letters := peg.Range('a', 'z').Or(peg.Range('A', 'Z'))
	return m.Text != "" && letters.Has(m.Text[0]) && !distinctive(m.Text)
}

// textless says that a grammar has no text in the answer: a call is due, and text would rule it out.
func (b *builder) textless() bool {
	return b.strict && b.required() && !b.tolerated(ContentAround)
}

// wordedBeginnings returns the alternatives for such markers.
func (b *builder) wordedBeginnings() (alts peg.Choice) {
	if m := b.f.Content.Open; b.worded(m) && !b.textless() {
		alts = append(alts, peg.Seq{b.lead(m), b.lit(m.Text), peg.Cut{}, b.trail(m), b.begunText()})
	}
	if b.worded(b.f.Reasoning.Open) {
		alts = append(alts, peg.Seq{b.openReasoning(), peg.Cut{}, b.ref("reasoning", b.reasoning)})
	}
	return alts
}

// refused is the state behind an opener that has just been taken as text, so that the closer that belongs to it is text as well.
func (b *builder) refused() peg.Pattern {
	return b.ref("refused", func() peg.Pattern {
		if b.worded(b.f.Content.Open) || b.worded(b.f.Reasoning.Open) {
			return b.text("content text", true, true)
		}
		return b.text("content", true, false)
	})
}

// beginnings returns the alternatives for calls and for reasoning.
func (b *builder) beginnings(calls, reasoning bool) (alts peg.Choice) {
	if calls && b.calling() {
		for i := range b.spellings {
			alts = append(alts, b.openCalls(i)...)
		}
	}
	if reasoning && b.f.Reasoning.Open.Text != "" && !b.worded(b.f.Reasoning.Open) {
		alts = append(alts, peg.Seq{b.openReasoning(), peg.Cut{}, b.ref("reasoning", b.reasoning)})
	}
	return alts
}

// markerTexts returns the literals with which what interrupts the answer's text begins. In a grammar that is also what would be text if it has begun.
func (b *builder) markerTexts(begun bool) []string {
	var texts []string
	if !begun || b.strict || b.on(ContentAround) {
		texts = append(texts, b.interrupting()...)
	}
	if m := b.f.Reasoning.Open; b.strict || (!begun || b.on(LooseReasoning)) && !b.worded(m) {
		texts = append(texts, m.Text)
	}
	texts = append(texts, b.dropTexts...)
	for _, m := range b.strayClosers(begun) {
		texts = append(texts, m.Text)
	}
	if m := b.f.Content.Open; b.strict || !b.worded(m) {
		texts = append(texts, m.Text)
	}
	texts = append(texts, b.f.Content.Close.Text)
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}

// text is the state, named self, of reading the answer's text up to a marker. refused: closing markers are text. begun: of calls and reasoning,
// those count no more that are recognised only at the beginning (T2, T3 switched off).
func (b *builder) text(self string, refused, begun bool) peg.Pattern {
	next := peg.Ref{Name: self}
	var alts peg.Choice
	for _, m := range b.strayClosers(begun) {
		if refused && !b.opensToo(m) {
			alts = append(alts, peg.Seq{peg.Capture{Kind: Content, P: b.lit(m.Text)}, peg.Cut{}, next})
		} else if !b.mayBeText(m) {
			stray := b.markInfo(MarkInfo{Free: true, Stray: true})
			alts = append(alts, peg.Seq{stray, peg.Capture{Kind: Dropped, P: b.lit(m.Text)}, peg.Cut{}, stray, next})
		}
	}
	at := b.ref(self+" marker", func() peg.Pattern { return b.markers(next, begun) })
	return peg.Seq{peg.Until{Kind: Content, Stops: b.stops(b.markerTexts(begun), b.endTexts())}, append(alts, at)}
}

// mayBeText says that a closing marker is not known for one where it begins.
func (b *builder) mayBeText(m format.Marker) bool { return b.opensToo(m) || len(segments(m.Text)) > 1 }

// opensToo says that calls begin as a closing marker does.
func (b *builder) opensToo(m format.Marker) bool {
	return slices.ContainsFunc(b.openerTexts(), func(t string) bool { return strings.HasPrefix(t, m.Text) })
}

// markers is the state at a marker in the answer's text, or at what looks like one.
func (b *builder) markers(next peg.Ref, begun bool) peg.Pattern {
	alts := b.beginnings(!begun || b.tolerated(ContentAround),
		!begun || b.tolerated(LooseReasoning) && (!b.strict || b.tolerated(ContentAround))) // what follows reasoning may be a call
	c := &b.f.Content
	for i, m := range [...]format.Marker{c.Open, c.Close} {
		if m.Text != "" && (i > 0 || !b.worded(m)) {
			alts = append(alts, peg.Seq{b.lead(m), b.lit(m.Text), peg.Cut{}, b.trail(m), next})
		}
	}
	for _, m := range b.strayClosers(begun) {
		if b.mayBeText(m) {
			stray := b.markInfo(MarkInfo{Free: true, Stray: true})
			alts = append(alts, peg.Seq{stray, peg.Capture{Kind: Dropped, P: b.lit(m.Text)}, peg.Cut{}, stray, next})
		}
	}
	alts = append(alts, b.mayEnd(false)...)
	if !begun || b.on(ContentAround) { // what is nothing else may be a call of something else
		alts = append(alts, b.undeclared()...)
	}
	alts = append(alts, b.shifts(b.markerTexts(begun), next)...)
	rejected := peg.Pattern(next)
	if b.calling() && !begun && !b.strict {
		rejected = b.refused()
	}
	return append(alts, peg.Seq{peg.Rejected{Kind: Content}, rejected})
}

// shifts returns the alternatives for refused markers that end as they begin, such as ">>>": the text goes on not behind them but where the
// next one can begin.
func (b *builder) shifts(texts []string, next peg.Pattern) peg.Choice {
	if b.strict {
		return nil
	}
	var alts peg.Choice
	for _, t := range texts {
		for _, text := range firsts(t) {
			n := len(text) - 1
			for n > 0 && text[:n] != text[len(text)-n:] {
				n--
			}
			if n > 0 {
				alts = append(alts, peg.Seq{peg.And{P: peg.Lit{Text: text}}, peg.Capture{Kind: Content, P: peg.Lit{Text: text[:len(text)-n]}}, peg.Cut{}, next})
			}
		}
	}
	return alts
}

// afterCall is the state behind the last of some calls.
func (b *builder) afterCall() peg.Pattern {
	switch {
	case b.strict && (b.thinking || !b.tolerated(ContentAround)):
		return b.ref("last", b.lastCalls)
	case b.strict:
		return b.ref("after", b.afterCalls)
	}
	return b.content(true)
}

// strayClosers returns the closing markers that are dropped where they close nothing (E21 T5); begun as for text.
func (b *builder) strayClosers(begun bool) []format.Marker {
	if !b.on(StrayClosers) {
		return nil
	}
	var out []format.Marker
	var add func(m format.Marker)
	add = func(m format.Marker) {
		if i := strings.IndexAny(m.Text, format.OpenBrackets); i > 0 { // the token of a marker such as "]</calls>" alone
			add(format.Marker{Text: m.Text[i:]})
		}
		if distinctive(m.Text) && !slices.ContainsFunc(out, func(o format.Marker) bool { return o.Text == m.Text }) {
			out = append(out, m)
		}
	}
	if !b.keep {
		add(b.f.Reasoning.Close)
	}
	for i := range b.spellings {
		if begun && !b.on(ContentAround) { // then calls are text
			break
		}
		c := &b.spellings[i]
		add(c.Section.Close)
		add(c.Call.Close)
		for _, p := range c.Tail {
			if p.Kind == format.SlotLit {
				add(p.Text)
			}
		}
	}
	return out
}

// Reasoning.

func (b *builder) reasoningKind() peg.Kind {
	if b.keep {
		return Content
	}
	return Reasoning
}

// openReasoning and closeReasoning read reasoning's markers, which are content where reasoning stays in it.
func (b *builder) openReasoning() peg.Pattern {
	m := b.f.Reasoning.Open
	if b.keep {
		return peg.Capture{Kind: Content, P: b.lit(m.Text)}
	}
	return peg.Seq{b.lead(m), b.lit(m.Text), b.trail(m)}
}

func (b *builder) closeReasoning() peg.Pattern {
	m := b.f.Reasoning.Close
	if b.keep {
		return peg.Capture{Kind: Content, P: b.lit(m.Text)}
	}
	return peg.Seq{b.lead(m), b.lit(m.Text), b.trail(m)}
}

// reasoning is the state inside reasoning. A call there is tentative (E16).
func (b *builder) reasoning() peg.Pattern {
	if b.strict {
		return b.strictReasoning(false)
	}
	texts := []string{b.f.Reasoning.Close.Text}
	if b.on(LooseReasoning) {
		texts = append(texts, b.openerTexts()...)
	}
	alts := peg.Choice{peg.Seq{b.closeReasoning(), peg.Cut{}, b.content(false)}}
	if b.on(LooseReasoning) {
		for i := range b.spellings {
			alts = append(alts, b.tentativeCalls(i)...)
		}
	}
	alts = append(alts, b.ends()...)
	alts = append(alts, peg.Seq{peg.Rejected{Kind: b.reasoningKind()}, peg.Ref{Name: "reasoning"}})
	return peg.Seq{peg.Until{Kind: b.reasoningKind(), Stops: b.stops(texts, b.endTexts())}, alts}
}

// openedReasoning is the beginning of a block that the prompt opened: an opener there closes the block (E16).
func (b *builder) openedReasoning() peg.Pattern {
	var alts peg.Choice
	for i := range b.spellings {
		for _, alt := range b.openCalls(i) {
			alts = append(alts, peg.Seq{peg.Space{}, alt})
		}
	}
	return append(alts, b.ref("reasoning", b.reasoning))
}

// jsonAnswer is the state in which the answer is JSON, in a fence perhaps (E22, T7), or begins a call.
func (b *builder) jsonAnswer() peg.Pattern {
	var alts peg.Choice
	r := &b.f.Reasoning
	if r.Open.Text != "" {
		alts = append(alts, peg.Seq{b.openReasoning(), peg.Cut{}, b.ref("reasoning", b.reasoning)})
	}
	if c := &b.f.Content; c.Open.Text != "" {
		alts = append(alts, peg.Seq{b.mark(c.Open), b.lit(c.Open.Text), peg.Cut{}, peg.Ref{Name: "answer"}})
	}
	if !b.keep && r.Close.Text != "" && b.on(StrayClosers) {
		alts = append(alts, peg.Seq{b.mark(r.Close), peg.Capture{Kind: Dropped, P: b.lit(r.Close.Text)}, peg.Cut{}, peg.Ref{Name: "answer"}})
	}
	for i := range b.spellings {
		alts = append(alts, b.openCalls(i)...)
	}
	json := peg.Label{Name: "answer", Value: Constraint{Name: "answer", Schema: b.answer}, P: peg.Scan{Kind: Content, Scanner: codec.Syntax{Strict: true}}}
	rest := b.content(true)
	if b.strict {
		rest = peg.Seq{peg.Space{}, b.ends()}
		if m := b.f.Content.Close; m.Text != "" {
			rest = peg.Seq{peg.Space{}, peg.Opt{P: b.lit(m.Text)}, rest}
		}
	}
	if b.tolerated(Fences) {
		alts = append(alts, peg.Seq{
			b.mark(format.Marker{}), peg.Capture{Kind: Dropped, P: b.openFence()}, peg.Cut{}, b.mark(format.Marker{}), peg.Capture{Kind: Content, P: peg.Space{}},
			peg.Try{P: json, Else: peg.Seq{}},
			peg.Opt{P: peg.Hold{P: peg.Seq{b.mark(format.Marker{}), peg.Capture{Kind: Content, P: peg.Space{}}, peg.Capture{Kind: Dropped, P: peg.Choice{peg.Lit{Text: fenceMark}, b.stub(fenceMark)}}, b.mark(format.Marker{})}}},
			rest,
		})
	}
	alts = append(alts, peg.Seq{peg.Try{P: json, Else: peg.Seq{}}, rest})
	return peg.Seq{peg.Capture{Kind: Content, P: peg.Space{}}, alts}
}
