package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/peg"
)

// This file builds the tree of a format whose parts are addressed by heads (format.Route). Its states are
//
//	part       a part begins: its head must come
//	route K    text of a part of route K
//	next       behind a part
//	loose      text without a head, which is content

// routed builds the root.
func (b *builder) routed() peg.Pattern {
	if b.strict {
		return b.strictRoutes()
	}
	return b.ref("next", b.nextPart)
}

// starts returns the markers that precede the heads of further parts.
func (b *builder) starts() []format.Marker {
	var out []format.Marker
	for _, r := range b.f.Routes {
		if r.Start.Text != "" && !slices.Contains(out, r.Start) {
			out = append(out, r.Start)
		}
	}
	return out
}

// closes returns the markers that end parts.
func (b *builder) closes() []format.Marker {
	var out []format.Marker
	for _, r := range b.f.Routes {
		for _, m := range r.Close {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// routeTexts returns all literals with which something other than text can begin.
func (b *builder) routeTexts() []string {
	var texts []string
	for _, m := range append(b.starts(), b.closes()...) {
		texts = append(texts, m.Text)
	}
	for _, r := range b.f.Routes {
		if len(r.Head) > 0 && r.Head[0].Kind == format.SlotLit && distinctive(r.Head[0].Text.Text) && !slices.Contains(texts, r.Head[0].Text.Text) {
			texts = append(texts, r.Head[0].Text.Text)
		}
	}
	return texts
}

// nextPart is the state between parts: a start, or straight a head.
func (b *builder) nextPart() peg.Pattern {
	var alts peg.Choice
	for _, m := range b.starts() {
		alts = append(alts, peg.Seq{b.lead(m), peg.Space{}, b.lit(m.Text), peg.Cut{}, b.ref("part", b.part0)})
	}
	return append(alts, b.ref("part", b.part0))
}

// part0 is the state in which a head must come.
func (b *builder) part0() peg.Pattern {
	alts := b.heads(true)
	alts = append(alts, b.mayEnd(false)...)
	if b.strict {
		return alts
	}
	return append(alts, b.ref("loose", b.loosePart))
}

// heads returns the alternatives for parts with their heads. all: heads that begin with a slot too.
func (b *builder) heads(all bool) peg.Choice {
	return b.headsOf(all, format.RouteContent, format.RouteReasoning, format.RouteCall, format.RouteDropped)
}

// headsOf is heads for some kinds of routes.
func (b *builder) headsOf(all bool, kinds ...format.RouteKind) peg.Choice {
	var alts peg.Choice
	for k := range b.f.Routes {
		r := &b.f.Routes[k]
		if len(r.Head) == 0 || !slices.Contains(kinds, r.Kind) || !all && (r.Head[0].Kind != format.SlotLit || !distinctive(r.Head[0].Text.Text)) {
			continue
		}
		switch r.Kind {
		case format.RouteCall:
			if len(b.tools) == 0 {
				continue
			}
			alts = append(alts, b.callRoute(k))
		case format.RouteDropped:
			if !b.strict {
				head := peg.Capture{Kind: Dropped, P: b.head(r.Head)}
				alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{b.mark(format.Marker{}), head}}, peg.Cut{}, b.ref(fmt.Sprint("route ", k+1), func() peg.Pattern { return b.routeText(k) })})
			}
		default:
			head := peg.Pattern(peg.Seq{b.mark(format.Marker{Before: r.Head[0].Text.Before}), b.head(r.Head), b.trail(r.Head[len(r.Head)-1].Text)})
			if r.Kind == format.RouteReasoning && b.keep {
				head = peg.Capture{Kind: Content, P: b.head(r.Head)}
			}
			if b.strict && r.Kind == format.RouteContent && b.required() {
				continue
			}
			alts = append(alts, peg.Seq{peg.Hold{P: head}, peg.Cut{}, b.ref(fmt.Sprint("route ", k+1), func() peg.Pattern { return b.routeText(k) })})
		}
	}
	return alts
}

// head matches the parts of a head.
func (b *builder) head(parts []format.Part) peg.Pattern {
	var seq peg.Seq
	for n, p := range parts {
		q := peg.Pattern(b.routeWord())
		if p.Kind == format.SlotLit {
			if !b.strict && n > 0 && parts[n-1].Kind != format.SlotLit { // the word has taken it
				p.Text.Before = ""
			}
			q = b.headLit(p)
		}
		if p.Opt {
			q = peg.Opt{P: q}
		}
		seq = append(seq, q)
	}
	return seq
}

// headLit matches a literal of a head; white space in it ends a slot and so must be there.
func (b *builder) headLit(p format.Part) peg.Pattern {
	m := p.Text
	if m.Text == "" {
		return peg.Lit{Text: m.Before}
	}
	after := peg.Pattern(b.space(m.After))
	if strings.Contains(m.After, "\n") {
		after = peg.Seq{peg.Rep{P: peg.Set{Set: peg.Bytes(" \t\r")}}, peg.Lit{Text: "\n"}}
	}
	return peg.Seq{b.space(m.Before), b.lit(m.Text), after}
}

// routeWord matches a slot of a head that says nothing to us: a run that ends before any literal of a head and at the end of the
// line.
func (b *builder) routeWord() peg.Pattern {
	stops := []peg.Stop{{Text: "\n"}}
	seen := map[string]bool{}
	add := func(text string) {
		for _, f := range firsts(text) {
			if f != "" && !seen[f] {
				seen[f] = true
				stops = append(stops, peg.Stop{Text: f})
			}
		}
	}
	for _, r := range b.f.Routes {
		for _, p := range r.Head {
			add(p.Text.Text)
		}
	}
	for _, t := range append(b.routeTexts(), b.endTexts()...) {
		add(t)
	}
	if b.strict {
		separate(stops)
	}
	return peg.Until{Stops: stops}
}

// callRoute is the alternative for a call.
func (b *builder) callRoute(k int) peg.Pattern {
	r := &b.f.Routes[k]
	at := nameAt(r.Head)
	if at < 0 {
		return b.fail("route %d is for calls and has no slot for the function's name", k+1)
	}
	rest := b.head(r.Head[at+1:])
	if parts := r.Head[at+1:]; b.strict && len(parts) > 0 && parts[0].Kind != format.SlotLit { // or the word would go on with the name
		rest = peg.Seq{peg.Opt{P: peg.Seq{peg.Lit{Text: " "}, b.routeWord()}}, b.head(parts[1:])}
	}
	after := peg.Pattern(peg.Not{P: peg.Set{Set: nameBytes}})
	if at+1 < len(r.Head) && r.Head[at+1].Kind == format.SlotLit {
		after = peg.And{P: b.headLit(r.Head[at+1])}
	}
	return peg.Seq{peg.Hold{P: peg.Seq{b.mark(format.Marker{}), b.emit(Call, 0, ""), b.head(r.Head[:at])}}, b.named(after, func(tool int) peg.Pattern {
		return peg.Seq{b.emit(Name, tool, ""), peg.Hold{P: rest}, peg.Cut{}, b.routeCall(k, tool)}
	})}
}

// routeCall is the state of reading a call's arguments.
func (b *builder) routeCall(k, tool int) peg.Pattern {
	name := fmt.Sprint("call of route ", k+1)
	if b.strict {
		name += " " + b.tools[tool].Name
	}
	return b.ref(name, func() peg.Pattern {
		c := &format.Calls{Body: b.f.Routes[k].Body}
		done := peg.Seq{peg.Space{}, b.body(c, tool), b.emit(ArgsEnd, 0, ""), b.emit(CallEnd, 0, "")}
		if b.strict {
			return append(done, b.strictBehind(behindCall))
		}
		return peg.Seq{peg.Try{P: done, Else: b.emit(CallBroken, 0, "")}, b.mark(format.Marker{}), b.ref("loose", b.loosePart)}
	})
}

// loosePart is the state of text that has no head: behind a call, or where the model has left out the head.
func (b *builder) loosePart() peg.Pattern {
	return b.textOf("loose", Content, 0, b.undeclaredRoutes())
}

// undeclaredRoutes returns the alternatives for text that looks like the head of a call of a function that is not declared (E15).
func (b *builder) undeclaredRoutes() peg.Choice {
	var alts peg.Choice
	for k := range b.f.Routes {
		r := &b.f.Routes[k]
		if r.Kind != format.RouteCall || len(b.tools) == 0 || len(r.Head) == 0 || r.Head[0].Kind == format.SlotName {
			continue
		}
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{peg.Capture{Kind: Content, P: b.head(r.Head)}, peg.Emit{Kind: Undeclared}}}, peg.Cut{}, peg.Ref{Name: "loose"}})
	}
	return alts
}

// routeText is the state of reading the text of a part.
func (b *builder) routeText(k int) peg.Pattern {
	r := &b.f.Routes[k]
	kind, closeKind := Content, peg.Kind(0)
	switch {
	case r.Kind == format.RouteReasoning && !b.keep:
		kind = Reasoning
	case r.Kind == format.RouteReasoning:
		closeKind = Content
	case r.Kind == format.RouteDropped:
		kind, closeKind = Dropped, Dropped
	case b.answer != nil:
		json := peg.Label{Name: "answer", Value: Constraint{Name: "answer", Schema: b.answer}, P: peg.Scan{Kind: Content, Scanner: codec.Syntax{Strict: true}}}
		if b.strict {
			return peg.Seq{peg.Space{}, json, peg.Space{}, b.strictBehind(behindAnswer)}
		}
	}
	if b.strict {
		texts := b.routeTexts()
		for _, r := range b.f.Routes { // what belongs into a head is nothing to show
			for _, p := range r.Head {
				if p.Kind == format.SlotLit && distinctive(p.Text.Text) && !slices.Contains(texts, p.Text.Text) {
					texts = append(texts, p.Text.Text)
				}
			}
		}
		return peg.Seq{peg.Until{Kind: kind, Stops: b.stops(texts, b.endTexts())}, b.strictBehind(behindText)}
	}
	return b.textOf(fmt.Sprint("route ", k+1), kind, closeKind, nil)
}

// textOf is a state of reading text until something else begins.
func (b *builder) textOf(name string, kind, closeKind peg.Kind, more peg.Choice) peg.Pattern {
	var alts peg.Choice
	for _, m := range b.closes() {
		close := peg.Pattern(b.lit(m.Text))
		if closeKind != 0 {
			close = peg.Capture{Kind: closeKind, P: close}
		}
		lead, trail := b.lead(m), b.trail(m)
		if closeKind == Content {
			lead, trail = peg.Seq{}, peg.Seq{}
		}
		alts = append(alts, peg.Seq{lead, close, peg.Cut{}, trail, b.ref("next", b.nextPart)})
	}
	for _, m := range b.starts() {
		start := peg.Seq{b.lead(m), b.lit(m.Text)}
		if distinctive(m.Text) {
			alts = append(alts, append(start, peg.Cut{}, b.ref("part", b.part0)))
			continue
		}
		for _, head := range b.heads(true) { // a start that may be text must be followed by a head
			alts = append(alts, append(start[:len(start):len(start)], head))
		}
	}
	alts = append(alts, b.heads(false)...)
	alts = append(alts, more...)
	alts = append(alts, b.ends()...)
	alts = append(alts, peg.Seq{peg.Capture{Kind: kind, P: peg.Any{}}, peg.Ref{Name: name}})
	return peg.Seq{peg.Until{Kind: kind, Stops: b.stops(b.routeTexts(), b.endTexts())}, alts}
}

// strictRoutes is the root of a grammar: the state at which the prefill has arrived.
func (b *builder) strictRoutes() peg.Pattern {
	text := b.o.Prefill
	for _, m := range b.starts() {
		if i := strings.LastIndex(text, m.Text); i >= 0 {
			text = text[i+len(m.Text):]
		}
	}
	if strings.Trim(text, format.Space) == "" {
		return b.ref("part", b.part0)
	}
	for k := range b.f.Routes {
		if r := &b.f.Routes[k]; r.Kind != format.RouteCall && headOf(r.Head, text) {
			return b.routeText(k)
		}
	}
	return b.strictBehind(behindText)
}

// headOf says that text begins with a head.
func headOf(parts []format.Part, text string) bool {
	if len(parts) == 0 {
		return true
	}
	p, rest := parts[0], parts[1:]
	if p.Opt && headOf(rest, text) {
		return true
	}
	if p.Kind == format.SlotLit {
		text, ok := strings.CutPrefix(strings.TrimLeft(text, format.Space), p.Text.Text)
		return ok && headOf(rest, strings.TrimLeft(text, format.Space))
	}
	for n := 1; n <= min(len(text), MaxName); n++ {
		if headOf(rest, text[n:]) {
			return true
		}
	}
	return false
}

// behindWhat says behind which part of a turn something stands.
type behindWhat string

const (
	behindText   behindWhat = "behind"
	behindCall   behindWhat = "behind-call"
	behindAnswer behindWhat = "behind-answer" // in JSON, which is all of the answer
)

// strictBehind is what the grammar has behind a part: the end, or a further part.
func (b *builder) strictBehind(what behindWhat) peg.Pattern {
	return b.ref(string(what), func() peg.Pattern {
		done := what != behindText
		further := what == behindText || what == behindCall && b.o.Parallel
		part := func() peg.Pattern {
			if what == behindCall && b.answer != nil { // either the answer or calls (E22)
				return b.ref("part-call", func() peg.Pattern { return b.headsOf(true, format.RouteCall) })
			}
			return b.ref("part", b.part0)
		}
		alts := b.mayEnd(done)
		for _, m := range b.closes() {
			close := peg.Seq{peg.Space{}, b.lit(m.Text)}
			if b.mayEnd(done) != nil {
				alts = append(alts, close)
			}
			if further {
				for _, s := range b.starts() {
					alts = append(alts, append(slices.Clone(close), peg.Space{}, b.lit(s.Text), part()))
				}
			}
		}
		if further {
			for _, s := range b.starts() {
				alts = append(alts, peg.Seq{peg.Space{}, b.lit(s.Text), part()})
			}
		}
		return alts
	})
}
