package codegen

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// disorder makes the states of calls that are malformed, empty or of functions that are not
// declared.
type disorder struct{ *callReader }

func (c *callReader) disorder() disorder { return disorder{c} }

// broken is the state in which an announced call ends incomplete. The rest of the call is skipped,
// up to where the answer can go on (E30).
func (c disorder) broken() peg.Pattern {
	return c.ref(c.name("broken"), func() peg.Pattern {
		end := stops(c.s.resuming(), c.t.endTexts())
		for i := range end {
			end[i].Stub = false
		}
		end = append(end, c.further()...)
		var closers peg.Choice
		var tail peg.Seq
		for n := range c.s.Tail { // with the id, say, that it has
			tail = append(tail, c.part(c.s.Tail, n, c.s.inWordAfter(n+1)))
		}
		if len(tail) > 1 {
			closers = append(closers, c.mute(tail))
		}
		for _, text := range either(either(lists.Map(c.s.Tail, partShape)...),
			literal(c.s.Call.Close.Text)).firsts() {
			closers = append(closers, c.lit(text))
		}
		broken := peg.Seq{peg.Emit{Kind: CallBroken}, peg.Until{Kind: Skipped, Stops: end}}
		if len(closers) > 0 {
			broken = append(broken,
				peg.Rep{P: peg.Hold{P: peg.Capture{Kind: Skipped,
					P: peg.Seq{peg.Space{}, closers}}}})
		}
		return broken
	})
}

// further returns the stops at which a further call of a section begins where no marker of its own
// shows it: after a comma, a separator, a line break or an opener that may be text, each with the
// name of a tool after it.
func (c disorder) further() (stops []peg.Stop) {
	s := c.s
	add := func(text string, after peg.Pattern) {
		known := func(o peg.Stop) bool { return o.Text == text }
		if text != "" && !slices.ContainsFunc(stops, known) {
			stops = append(stops, peg.Stop{Text: text, After: after})
		}
	}
	known := peg.Seq{peg.Space{}, c.recognised()}
	if s.Call.Open.Text == "" {
		for _, sep := range append([]format.Marker{s.Sep}, s.also...) {
			if !distinctive(sep.Text) && !strings.Contains(sep.Text, "\n") {
				add(sep.Text, known)
			}
		}
		if s.listed() {
			add(",", known)
		}
		if s.Object != nil && s.Section.Open.Text != "" && s.Sep.Text == "" && !s.Array {
			// Of a run of line breaks the last one tells, so that the run is read once.
			line := peg.Rep{P: peg.Set{Set: peg.Bytes(" \t\r")}, Max: maxIndent}
			add("\n", peg.Seq{line, c.recognised()})
		}
	}
	for _, o := range s.openings {
		text := o.first.Text
		if distinctive(text) || s.Tentative || len(variants(text)) > 1 || len(tokens(text)) > 1 {
			continue
		}
		switch o.from {
		case atCall:
			add(text, peg.Seq{c.space(o.first.After), c.recognised()})
		case atHead:
			if s.Object == nil && s.name > 0 && s.Head[0].Kind == format.SlotLit {
				add(text, peg.Seq{c.space(o.first.After), c.mute(c.headFrom(1, c.known))})
			}
		}
	}
	return stops
}

// strange returns the alternative for an item of an array that calls a function which is not
// declared: it is content, and its siblings are read on (E15).
func (c disorder) strange() peg.Choice {
	between := c.separator()
	if between == nil || len(c.further()) == 0 || c.s.tentative(c.s.openings[0]) {
		return nil
	}
	text := peg.Capture{Kind: Content, P: c.mute(peg.Seq{between, peg.Space{}, c.unknown()})}
	held := peg.Hold{P: peg.Seq{text, peg.Emit{Kind: Undeclared}}}
	return peg.Choice{peg.Seq{held, peg.Cut{}, c.siblings()}}
}

// siblings is the state after the name of a function that is not declared: the rest of its call is
// content, up to where a further call of the section begins.
func (c disorder) siblings() peg.Pattern {
	next := c.further()
	if len(next) == 0 || c.separator() == nil && c.s.Section.Open.Text == "" {
		return c.refused()
	}
	return c.ref(c.name("siblings"), func() peg.Pattern {
		end := append(stops(c.s.resuming(), c.t.endTexts()), next...)
		return peg.Seq{peg.Until{Kind: Content, Stops: end}, peg.Choice{c.another(), c.refused()}}
	})
}

// empty returns the alternatives for markers around calls that have none between them, or something
// else, for those with which the output ends (E20, E30), and for an opener that is repeated. They
// are dropped; the text that they enclose is read on.
func (c disorder) empty() (alts peg.Choice) {
	s := c.s
	drop := func(m format.Marker, p peg.Pattern, next peg.Pattern) {
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{c.lead(m),
			peg.Capture{Kind: Dropped, P: peg.Seq{c.lit(m.Text), p}}}}, peg.Cut{}, next})
	}
	bracket := peg.Pattern(peg.Seq{})
	if s.listed() {
		bracket = peg.Opt{P: peg.Seq{peg.Lit{Text: "["}, peg.Space{}}}
	}
	for _, o := range s.openings {
		if !distinctive(o.first.Text) {
			continue
		}
		if c.t.on(RepeatedOpener) { // T10
			again := peg.Seq{peg.Space{}, c.mute(c.opening(o)), c.recognised()}
			drop(o.first, peg.And{P: again}, peg.Seq{peg.Space{}, c.open()})
		}
		if o.bare() { // the literal with which the head of a call begins
			drop(o.first, peg.Seq{peg.Space{}, peg.End{}}, peg.Seq{})
			continue
		}
		close := s.Section.Close
		if o.from == atCall {
			close = s.Call.Close
		}
		if distinctive(close.Text) {
			shut := peg.Seq{peg.Opt{P: peg.Seq{peg.Lit{Text: "]"}, peg.Space{}}}, c.lit(close.Text)}
			closed := peg.Choice{c.lit(close.Text), shut} // which may begin with a bracket itself
			drop(o.first, peg.Seq{peg.Space{}, peg.Choice{closed, peg.Seq{bracket, closed}}},
				peg.Seq{c.trail(close), c.afterCalls()})
		} else if s.listed() {
			brackets := peg.Seq{peg.Space{}, peg.Lit{Text: "["}, peg.Space{}, peg.Lit{Text: "]"}}
			drop(o.first, brackets, peg.Seq{c.trail(close), c.afterCalls()})
		}
		// noise before the first call
		if call := s.Call.Open.Text; o.from == atSection && distinctive(call) {
			noise := peg.Until{Stops: stops(append([]string{call, close.Text}, c.t.openers()...),
				c.t.endTexts())}
			drop(o.first, peg.Seq{noise, peg.And{P: c.lit(call)}}, c.section())
		}
		drop(o.first, peg.Seq{peg.Space{}, peg.End{}}, peg.Seq{})
	}
	return alts
}
