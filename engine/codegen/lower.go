package codegen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/peg"
)

// Grammar returns the grammar for decoding. It is made when it is first asked for.
func (o *Output) Grammar() (*gbnf.Grammar, error) { return o.grammar() }

// makeGrammar builds the tree again, strictly, and lowers it.
func (b builder) makeGrammar(lazy bool) (*gbnf.Grammar, error) {
	b.callTexts, b.dropTexts = b.openerTexts(), b.droppedTexts(lazy)
	b.strict, b.loose, b.out = true, b.loose&FreeSpace, &Output{}
	b.nestedNames = nil
	b.lazy = lazy
	tree := b.tree()
	if b.err != nil {
		return nil, b.err
	}
	l := lowering{b: gbnf.NewBuilder(), rules: map[string]peg.Pattern{}, refs: map[string]gbnf.Element{}}
	for _, r := range tree.Rules {
		l.rules[r.Name] = r.P
	}
	root := l.lower(tree.Root)
	if l.err != nil {
		return nil, l.err
	}
	return l.b.Grammar(root)
}

// strictRoot is the root of a grammar: the calls from the trigger on, or the state at which the prefill has arrived.
func (b *builder) strictRoot() peg.Pattern {
	if len(b.f.Routes) > 0 {
		return b.strictRoutes()
	}
	if b.lazy {
		return b.triggered()
	}
	if begun := b.begunMarker(); begun != "" {
		return b.goOn(begun)
	}
	if b.insideReasoning() && b.callsBlock() {
		return b.ref("reasoning opened", func() peg.Pattern { return b.strictReasoning(true) })
	}
	if b.insideReasoning() {
		return b.ref("reasoning", b.reasoning)
	}
	return b.content(false)
}

// closesReasoning says that a closing marker is that of reasoning, or its token.
func (b *builder) closesReasoning(m format.Marker) bool {
	return m.Text != "" && strings.HasSuffix(b.f.Reasoning.Close.Text, m.Text)
}

// droppedTexts returns, for a grammar, a literal of each marker that the parser drops from the answer's text (E20): closers of calls that
// close nothing, and the end of the header once more, where the output begins, which a lazy
// grammar does not see. Not the end of reasoning, which models write where there is none.
func (b *builder) droppedTexts(lazy bool) (texts []string) {
	add := func(text string) {
		parts := segments(text)
		texts = append(texts, parts[max(0, slices.IndexFunc(parts, distinctive))])
	}
	for _, m := range b.strayClosers(false) {
		if !b.closesReasoning(m) {
			add(m.Text)
		}
	}
	if ends := b.headerEnds(); len(ends) > 0 && !lazy { // of which each has the last one at its end
		add(ends[len(ends)-1])
	}
	return texts
}

// begunMarker returns the end of the prefill that is the beginning of a marker, as where calls and content begin alike and the prompt
// ends with that; empty if there is none.
func (b *builder) begunMarker() string {
	prefill := strings.TrimRight(b.o.Prefill, format.Space)
	best := ""
	for _, t := range append(b.openerTexts(), b.f.Content.Open.Text) {
		for n := min(len(t), len(prefill)); n > len(best); n-- {
			if strings.HasSuffix(prefill, t[:n]) && (n < len(t) || t != b.f.Content.Open.Text) {
				best = t[:n]
			}
		}
	}
	return best
}

// goOn is the root of a grammar where the prefill ends inside a marker.
func (b *builder) goOn(begun string) peg.Pattern {
	var alts peg.Choice
	add := func(first string, p peg.Pattern) {
		if rest, ok := without(p, begun); ok && strings.HasPrefix(first, begun) {
			alts = append(alts, rest)
		}
	}
	for i := range b.spellings {
		for _, o := range b.openings(i) {
			add(o.first.Text, peg.Seq{b.wholeCall(i, o), b.section(i)})
		}
	}
	if m := b.f.Content.Open; m.Text != "" {
		add(m.Text, peg.Seq{b.lit(m.Text), b.content(false)})
	}
	return alts
}

// without takes the beginning of what a pattern matches off its first literal.
func without(p peg.Pattern, begun string) (peg.Pattern, bool) {
	switch p := p.(type) {
	case peg.Lit:
		rest, ok := strings.CutPrefix(p.Text, begun)
		return peg.Lit{Text: rest}, ok
	case peg.Seq:
		for i, part := range p {
			switch part := part.(type) {
			case peg.Emit, peg.Space:
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

// maxGrammarSpace bounds white space beside markers in a grammar, in characters, so that a model cannot go on with it for ever.
const maxGrammarSpace = 40

// lowering turns a strict tree into a grammar. What decides and looks ahead falls away: a grammar has no order of choice.
type lowering struct {
	b     *gbnf.Builder
	rules map[string]peg.Pattern
	refs  map[string]gbnf.Element
	err   error
}

func (l *lowering) lower(p peg.Pattern) gbnf.Element {
	b := l.b
	switch p := p.(type) {
	case peg.Lit:
		return b.Lit(p.Text)
	case peg.Set:
		return b.Class(ranges(p.Set), false)
	case peg.Any:
		return b.Any()
	case peg.Space: // beside markers models write more than between JSON tokens
		return b.Rule("space", b.Repeat(b.Class([]gbnf.Range{{Lo: ' ', Hi: ' '}, {Lo: '\t', Hi: '\t'}, {Lo: '\n', Hi: '\n'}}, false), 0, maxGrammarSpace))
	case peg.Stub, peg.Rejected:
		return b.Never()
	case peg.End, peg.Before, peg.Cut, peg.And, peg.Not, peg.Emit:
		return b.Empty()
	case peg.Seq:
		return b.Seq(l.all(flatten(nil, p))...)
	case peg.Choice:
		return b.Alt(l.all(p)...)
	case peg.Rep:
		hi := p.Max
		if hi == 0 {
			hi = gbnf.Unlimited
		} else if set, ok := p.P.(peg.Set); ok && set.Set.Has(0xff) { // the parser counts bytes, a grammar characters
			hi = max(p.Min, hi/utf8.UTFMax)
		}
		return b.Repeat(l.lower(p.P), p.Min, hi)
	case peg.Opt:
		return b.Opt(l.lower(p.P))
	case peg.Hold:
		return l.lower(p.P)
	case peg.Try:
		return l.lower(p.P)
	case peg.Capture:
		return l.lower(p.P)
	case peg.Tolerance:
		return l.lower(p.Strict)
	case peg.Dispatch:
		after := b.Empty()
		if p.After != nil {
			after = l.lower(p.After)
		}
		var alts []gbnf.Element
		for i, word := range p.Words {
			body := b.Empty()
			if len(p.Bodies) > 0 {
				body = l.lower(p.Bodies[i])
			}
			alts = append(alts, b.Seq(b.Lit(word), after, body))
		}
		return b.Alt(alts...)
	case peg.Until:
		var stops []string
		for _, s := range p.Stops {
			stops = append(stops, s.Text)
		}
		return b.Until(stops...)
	case peg.Label:
		if c, ok := p.Value.(Constraint); ok {
			return b.Value(c.Name, c.Schema, c.Codec)
		}
		return l.lower(p.P)
	case peg.Ref:
		return l.ref(p.Name)
	}
	if l.err == nil {
		l.err = fmt.Errorf("a %T has no grammar", p)
	}
	return b.Never()
}

// flatten appends the parts of a sequence and of those in it; white space after white space is left out.
func flatten(dst []peg.Pattern, seq peg.Seq) []peg.Pattern {
	for _, p := range seq {
		switch p := p.(type) {
		case peg.Seq:
			dst = flatten(dst, p)
		case peg.Emit, peg.Cut:
		case peg.Space:
			if _, again := last(dst).(peg.Space); !again {
				dst = append(dst, p)
			}
		default:
			dst = append(dst, p)
		}
	}
	return dst
}

func (l *lowering) all(list []peg.Pattern) []gbnf.Element {
	out := make([]gbnf.Element, len(list))
	for i, p := range list {
		out[i] = l.lower(p)
	}
	return out
}

// ref lowers a rule when it is first referred to. A rule that matches nothing is replaced where it is used.
func (l *lowering) ref(name string) gbnf.Element {
	if e, ok := l.refs[name]; ok {
		return e
	}
	e := l.b.Declare(name)
	l.refs[name] = e
	l.b.Define(e, l.lower(l.rules[name]))
	return e
}

// ranges returns the characters of a set of bytes. Bytes beyond ASCII stand for all characters beyond it.
func ranges(set peg.ByteSet) []gbnf.Range {
	var out []gbnf.Range
	for c := 0; c < 0x80; c++ {
		if set.Has(byte(c)) {
			if n := len(out); n > 0 && out[n-1].Hi == rune(c-1) {
				out[n-1].Hi = rune(c)
			} else {
				out = append(out, gbnf.Range{Lo: rune(c), Hi: rune(c)})
			}
		}
	}
	if set.Has(0xff) {
		out = append(out, gbnf.Range{Lo: 0x80, Hi: 0x10ffff})
	}
	return out
}

// triggers says whether a grammar can wait, and for what (E23): for calls, and for reasoning's marker, since inside reasoning what looks like a
// call may be none (E16), which the grammar knows and a trigger does not. Where the prompt opened reasoning, the grammar waits for its
// end, and for a call at its very beginning. No trigger has a repetition without a bound: engines that match by recursion would exhaust
// their stack on a long text.
func (b *builder) triggers() (lazy bool, triggers []Trigger) {
	if b.answer != nil || !b.calling() || b.required() || len(b.f.Routes) > 0 {
		return false, nil
	}
	b.strict, b.loose, b.opened, b.openers = true, b.loose&FreeSpace, nil, nil
	if b.begunMarker() != "" {
		return false, nil
	}
	add := func(t Trigger) {
		if !slices.ContainsFunc(triggers, func(o Trigger) bool { return o.Text == t.Text }) {
			triggers = append(triggers, t)
		}
	}
	forced := b.insideReasoning()
	for i := range b.spellings {
		for _, o := range b.openings(i) {
			pattern, word := b.trigger(i, o)
			switch {
			case forced && word == "":
				return false, nil
			case forced && b.callsBlock() || !forced && !b.tolerated(ContentAround):
				add(Trigger{Pattern: true, Text: atBeginning(pattern), Call: true})
			case forced:
			case word != "":
				add(Trigger{Text: word, Call: true})
			default:
				add(Trigger{Pattern: true, Text: "(" + pattern + ")", Call: true})
			}
		}
	}
	if forced {
		add(Trigger{Text: b.f.Reasoning.Close.Text})
	} else if open := b.f.Reasoning.Open.Text; open != "" && (b.worded(b.f.Reasoning.Open) || !b.tolerated(LooseReasoning) || !b.tolerated(ContentAround)) {
		add(Trigger{Pattern: true, Text: atBeginning(regexp.QuoteMeta(open))})
	} else if open != "" {
		add(Trigger{Text: open})
	}
	return true, triggers
}

// atBeginning is the pattern of a trigger that counts where the output begins.
func atBeginning(pattern string) string { return "^" + someSpace + "(" + pattern + ")" }

// someSpace is white space in a trigger's pattern.
const someSpace = `\s{0,40}`

// triggered is the root of a grammar that begins with a trigger.
func (b *builder) triggered() peg.Pattern {
	r := &b.f.Reasoning
	forced := b.insideReasoning()
	var alts peg.Choice
	if !forced || b.callsBlock() {
		for i := range b.spellings {
			alts = append(alts, b.openCalls(i)...)
		}
	}
	if forced {
		alts = append(alts, peg.Seq{peg.Lit{Text: r.Close.Text}, b.content(false)})
	} else if r.Open.Text != "" {
		alts = append(alts, peg.Seq{peg.Lit{Text: r.Open.Text}, b.ref("reasoning", b.reasoning)})
	}
	return alts
}

// insideReasoning says that the prefill leaves reasoning open.
func (b *builder) insideReasoning() bool {
	return b.openAt(b.o.Prefill)
}

// preserved returns all markers.
func (b *builder) preserved() []string {
	var out []string
	add := func(m format.Marker) {
		if m.Text != "" && distinctive(m.Text) && !slices.Contains(out, m.Text) {
			out = append(out, m.Text)
		}
	}
	parts := func(list []format.Part) {
		for _, p := range list {
			if add(p.Text); p.Kind == format.SlotID {
				for _, q := range p.Parts {
					add(q.Text)
				}
			}
		}
	}
	add(b.f.Reasoning.Open)
	add(b.f.Reasoning.Close)
	add(b.f.Content.Open)
	add(b.f.Content.Close)
	for i := range b.spellings {
		c := &b.spellings[i]
		for _, m := range [...]format.Marker{c.Section.Open, c.Section.Close, c.Call.Open, c.Call.Close, c.Sep, c.Body.Open, c.Body.Close, c.Body.Sep} {
			add(m)
		}
		parts(c.Head)
		parts(c.Body.Entry)
		parts(c.Body.Item)
		parts(c.Tail)
		add(format.Marker{Text: c.Body.Codec.Quote})
	}
	for i := range b.f.Routes {
		r := &b.f.Routes[i]
		add(r.Start)
		parts(r.Head)
		for _, m := range r.Close {
			add(m)
		}
	}
	for _, t := range b.endTexts() {
		add(format.Marker{Text: t})
	}
	return out
}

func last(list []peg.Pattern) peg.Pattern {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}
