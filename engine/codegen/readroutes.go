package codegen

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// routeReader makes the states of a turn whose parts are addressed by heads (format.Route):
//
//	part       a part begins: its head must come
//	route K    text of a part of route K
//	next       after a part
//	loose      text without a head, which is content
type routeReader struct{ *reader }

// next is the state between parts: a start, or straight a head.
func (r *routeReader) next() peg.Pattern {
	var alts peg.Choice
	for _, m := range r.t.starts() {
		alts = append(alts, peg.Seq{r.lead(m), peg.Space{}, r.lit(m.Text), peg.Cut{}, r.part()})
	}
	return append(alts, r.part())
}

// part is the state in which a head must come.
func (r *routeReader) part() peg.Pattern {
	return r.ref("part", func() peg.Pattern {
		alts := append(r.heads(), r.begun()...)
		alts = append(alts, r.ends()...)
		return append(alts, r.loose())
	})
}

// heads returns the alternatives for parts with their heads.
func (r *routeReader) heads() (alts peg.Choice) {
	for k := range r.t.f.Routes {
		alts = append(alts, r.headed(k)...)
	}
	return alts
}

// evident returns those whose heads cannot be text.
func (r *routeReader) evident() (alts peg.Choice) {
	for k := range r.t.f.Routes {
		if head := r.t.f.Routes[k].Head; len(head) > 0 && head[0].Kind == format.SlotLit &&
			distinctive(head[0].Text.Text) {
			alts = append(alts, r.headed(k)...)
		}
	}
	return alts
}

// begun returns the alternatives for heads that the end of the output cuts off, after their first
// literal.
func (r *routeReader) begun() (alts peg.Choice) {
	for _, route := range r.t.f.Routes {
		if len(route.Head) < 2 || route.Head[0].Kind != format.SlotLit {
			continue
		}
		rest := peg.Pattern(peg.Seq{})
		for n := len(route.Head) - 1; n > 0; n-- {
			rest = peg.Opt{P: peg.Seq{r.head(route.Head[n : n+1]), rest}}
		}
		head := peg.Capture{Kind: Dropped, P: peg.Seq{r.head(route.Head[:1]), rest}}
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{r.mark(format.Marker{}), head, peg.End{}}},
			peg.Cut{}})
	}
	return alts
}

// headed returns the alternative for a part of a route, if it has a head and may come.
func (r *routeReader) headed(k int) peg.Choice {
	route := &r.t.f.Routes[k]
	if len(route.Head) == 0 {
		return nil
	}
	text := func() peg.Pattern {
		return r.ref(fmt.Sprint("route ", k+1), func() peg.Pattern { return r.routeText(k) })
	}
	switch head := r.head(route.Head); {
	case route.Kind == format.RouteCall && !r.t.tools:
		return nil
	case route.Kind == format.RouteCall:
		return peg.Choice{r.call(k)}
	case route.Kind == format.RouteDropped:
		return peg.Choice{peg.Seq{peg.Hold{P: peg.Seq{r.mark(format.Marker{}),
			peg.Capture{Kind: Dropped, P: head}}}, peg.Cut{}, text()}}
	case route.Kind == format.RouteReasoning && r.t.keepsReasoning():
		return peg.Choice{peg.Seq{peg.Hold{P: peg.Capture{Kind: Content, P: head}}, peg.Cut{},
			text()}}
	default:
		marked := peg.Seq{r.mark(format.Marker{Before: route.Head[0].Text.Before}), head,
			r.trail(route.Head[len(route.Head)-1].Text)}
		return peg.Choice{peg.Seq{peg.Hold{P: marked}, peg.Cut{}, text()}}
	}
}

// head matches the parts of a head.
func (r *routeReader) head(parts []format.Part) peg.Pattern {
	var seq peg.Seq
	for n, p := range parts {
		q := peg.Pattern(r.word())
		if p.Kind == format.SlotLit {
			if n > 0 && parts[n-1].Kind != format.SlotLit { // the word has taken it
				p.Text.Before = ""
			}
			q = headLit(r.sheet, r.lit(p.Text.Text), p.Text)
		}
		if p.Opt {
			q = peg.Opt{P: q}
		}
		seq = append(seq, q)
	}
	return seq
}

// headLit matches a literal of a head; white space in it ends a slot and so must be there.
func headLit(s *sheet, text peg.Pattern, m format.Marker) peg.Pattern {
	if m.Text == "" {
		return peg.Lit{Text: m.Before}
	}
	after := s.space(m.After)
	if strings.Contains(m.After, "\n") {
		after = peg.Seq{peg.Rep{P: peg.Set{Set: peg.Bytes(" \t\r")}}, peg.Lit{Text: "\n"}}
	}
	return peg.Seq{s.space(m.Before), text, after}
}

// word matches a slot of a head that says nothing to us.
func (r *routeReader) word() peg.Pattern { return peg.Until{Stops: headStops(r.t)} }

// headStops ends such a slot: before any literal of a head and at the end of the line.
func headStops(t *turn) []peg.Stop {
	list := []peg.Stop{{Text: "\n"}}
	for _, s := range stops(t.headTexts(), nil) {
		if s.Text != "\n" {
			list = append(list, s)
		}
	}
	return list
}

// call is the alternative for a call.
func (r *routeReader) call(k int) peg.Pattern {
	head := r.t.f.Routes[k].Head
	at := nameAt(head)
	if at < 0 {
		return r.fail("route %d is for calls and has no slot for the function's name", k+1)
	}
	after := peg.Pattern(peg.Not{P: peg.Set{Set: nameBytes}})
	if at+1 < len(head) && head[at+1].Kind == format.SlotLit {
		after = peg.And{P: headLit(r.sheet, r.lit(head[at+1].Text.Text), head[at+1].Text)}
	}
	r.arguments(k)
	return peg.Seq{peg.Hold{P: peg.Seq{r.mark(format.Marker{}), peg.Emit{Kind: Call},
		r.head(head[:at])}},
		peg.Switch{Name: fmt.Sprint("route ", k+1), After: after, Cuts: true, Logs: true}}
}

// named is the part after the name of a call.
func (r *routeReader) named(k int, tool *tool) peg.Pattern {
	head := r.t.f.Routes[k].Head
	args := r.arguments(k)
	if free := newEntryReader(r.reader, routeSpelling(r.t, k)).freely(tool, r.left()); free != nil {
		args = r.ref(fmt.Sprintf("call of route %d of %s", k+1, tool.name), func() peg.Pattern {
			return r.argumentsAs(append(free, r.body(k)))
		})
	}
	return peg.Seq{peg.Emit{Kind: Name, Arg: tool.number},
		peg.Hold{P: r.head(head[nameAt(head)+1:])}, peg.Cut{}, args}
}

// arguments is the state of reading a call's arguments.
func (r *routeReader) arguments(k int) peg.Pattern {
	return r.ref(fmt.Sprint("call of route ", k+1),
		func() peg.Pattern { return r.argumentsAs(r.body(k)) })
}

func (r *routeReader) body(k int) peg.Pattern {
	return newEntryReader(r.reader, routeSpelling(r.t, k)).body(nil)
}

// argumentsAs reads arguments as a body does, and what comes after them.
func (r *routeReader) argumentsAs(body peg.Pattern) peg.Pattern {
	done := peg.Seq{peg.Space{}, body, peg.Emit{Kind: ArgsEnd}, peg.Emit{Kind: CallEnd}}
	broken := peg.Seq{peg.Emit{Kind: CallBroken}, peg.Until{Kind: Skipped,
		Stops: stops(r.left(), r.t.endTexts())}}
	return peg.Seq{peg.Try{P: done, Else: broken}, r.mark(format.Marker{}), r.loose()}
}

// left are the literals that end a call's part.
func (r *routeReader) left() []string {
	return either(literals(lists.Map(r.t.starts(), markerText)),
		literals(lists.Map(r.t.closes(), markerText))).firsts()
}

// routeSpelling is how the calls of a route are spelled, their head apart.
func routeSpelling(t *turn, k int) *spelling {
	return &spelling{Calls: &format.Calls{Body: t.f.Routes[k].Body}, t: t, id: "0", name: -1}
}

// loose is the state of text that has no head: after a call, or where the model has left out the
// head.
func (r *routeReader) loose() peg.Pattern {
	return r.ref("loose",
		func() peg.Pattern { return r.textOf("loose", r.t.closes(), Content, 0, r.undeclared()) })
}

// undeclared returns the alternatives for text that looks like the head of a call of a function
// that is not declared (E15).
func (r *routeReader) undeclared() (alts peg.Choice) {
	for _, route := range r.t.f.Routes {
		if route.Kind != format.RouteCall || !r.t.tools || len(route.Head) == 0 ||
			route.Head[0].Kind == format.SlotName {
			continue
		}
		alts = append(alts, peg.Seq{peg.Hold{P: peg.Seq{peg.Capture{Kind: Content,
			P: r.head(route.Head)}, peg.Emit{Kind: Undeclared}}}, peg.Cut{},
			peg.Ref{Name: "loose"}})
	}
	return alts
}

// routeText is the state of reading the text of a part.
func (r *routeReader) routeText(k int) peg.Pattern {
	name, closers := fmt.Sprint("route ", k+1), r.t.f.Routes[k].Close
	switch kind := r.t.f.Routes[k].Kind; {
	case kind == format.RouteReasoning && !r.t.keepsReasoning():
		return r.textOf(name, closers, Reasoning, 0, nil)
	case kind == format.RouteReasoning:
		return r.textOf(name, closers, Content, Content, nil)
	case kind == format.RouteDropped:
		return r.textOf(name, closers, Dropped, Dropped, nil)
	}
	return r.textOf(name, closers, Content, 0, nil)
}

// textOf is a state of reading text of a kind until something else begins. The marker that ends it
// is text of another kind; 0: of none.
func (r *routeReader) textOf(name string, closers []format.Marker, kind, closeKind peg.Kind,
	more peg.Choice) peg.Pattern {
	var alts peg.Choice
	next := r.ref("next", r.next)
	for _, m := range closers {
		switch close := r.lit(m.Text); closeKind {
		case 0:
			alts = append(alts, peg.Seq{r.lead(m), close, peg.Cut{}, r.trail(m), next})
		case Content:
			alts = append(alts, peg.Seq{peg.Capture{Kind: Content, P: close}, peg.Cut{}, next})
		default:
			alts = append(alts, peg.Seq{r.lead(m), peg.Capture{Kind: closeKind, P: close},
				peg.Cut{}, r.trail(m), next})
		}
	}
	for _, m := range r.t.starts() {
		start := peg.Seq{r.lead(m), r.lit(m.Text)}
		if distinctive(m.Text) {
			alts = append(alts, append(start, peg.Cut{}, r.part()))
			continue
		}
		for _, head := range r.heads() { // a start that may be text must be followed by a head
			alts = append(alts, append(start[:len(start):len(start)], head))
		}
	}
	alts = append(alts, r.evident()...)
	alts = append(alts, more...)
	alts = append(alts, r.ends()...)
	alts = append(alts, peg.Seq{peg.Capture{Kind: kind, P: peg.Any{}}, peg.Ref{Name: name}})
	return peg.Seq{peg.Until{Kind: kind, Stops: stops(r.t.routeTexts(), r.t.endTexts())}, alts}
}
