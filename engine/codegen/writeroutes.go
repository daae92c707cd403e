package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/peg"
)

// routeWriter makes the states of a turn whose parts are addressed by heads.
type routeWriter struct{ *writer }

// whole is the state at which the prefill has arrived.
func (w *routeWriter) whole() peg.Pattern {
	text := w.o.Prefill
	for _, m := range w.starts() {
		if i := strings.LastIndex(text, m.Text); i >= 0 {
			text = text[i+len(m.Text):]
		}
	}
	if strings.Trim(text, format.Space) == "" {
		return w.part()
	}
	for k := range w.f.Routes {
		if r := &w.f.Routes[k]; r.Kind != format.RouteCall && headOf(r.Head, text) {
			return w.routeText(k)
		}
	}
	return w.behind(behindText)
}

// headOf reports whether text begins with a head.
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

// part is the state in which a head must come.
func (w *routeWriter) part() peg.Pattern {
	return w.ref("part", func() peg.Pattern {
		return append(w.heads(format.RouteContent, format.RouteReasoning, format.RouteCall),
			w.mayEnd()...)
	})
}

// heads returns the alternatives for parts of some kinds, with their heads.
func (w *routeWriter) heads(kinds ...format.RouteKind) (alts peg.Choice) {
	for k := range w.f.Routes {
		r := &w.f.Routes[k]
		switch {
		case len(r.Head) == 0 || !slices.Contains(kinds, r.Kind):
		case r.Kind == format.RouteCall && len(w.list) > 0:
			alts = append(alts, w.call(k))
		case r.Kind == format.RouteCall || r.Kind == format.RouteContent && w.required():
		default:
			alts = append(alts, peg.Seq{w.head(r.Head),
				w.ref(fmt.Sprint("route ", k+1), func() peg.Pattern { return w.routeText(k) })})
		}
	}
	return alts
}

// head matches the parts of a head.
func (w *routeWriter) head(parts []format.Part) peg.Pattern {
	var seq peg.Seq
	for _, p := range parts {
		q := w.word()
		if p.Kind == format.SlotLit {
			q = headLit(w.sheet, w.spelled(p.Text.Text), p.Text)
		}
		if p.Opt {
			q = peg.Opt{P: q}
		}
		seq = append(seq, q)
	}
	return seq
}

func (w *routeWriter) word() peg.Pattern { return peg.Until{Stops: separated(headStops(w.turn))} }

// call is the alternative for a call.
func (w *routeWriter) call(k int) peg.Pattern {
	head := w.f.Routes[k].Head
	at := nameAt(head)
	if at < 0 {
		return w.fail("route %d is for calls and has no slot for the function's name", k+1)
	}
	parts := head[at+1:]
	rest := w.head(parts)
	if len(parts) > 0 && parts[0].Kind != format.SlotLit { // or the word would go on with the name
		rest = peg.Seq{peg.Opt{P: peg.Seq{peg.Lit{Text: " "}, w.word()}}, w.head(parts[1:])}
	}
	d := peg.Dispatch{}
	for _, t := range w.callable() {
		d.Words = append(d.Words, t.name)
		d.Bodies = append(d.Bodies, peg.Seq{rest, w.arguments(k, t)})
	}
	return peg.Seq{w.head(head[:at]), d}
}

// arguments is the state of writing a call's arguments.
func (w *routeWriter) arguments(k int, t *tool) peg.Pattern {
	return w.ref(fmt.Sprint("call of route ", k+1, " ", t.name), func() peg.Pattern {
		body := (&entryWriter{w.writer, routeSpelling(w.turn, k)}).body(t)
		return peg.Seq{peg.Space{}, body, w.behind(behindCall)}
	})
}

// routeText is the state of writing the text of a part.
func (w *routeWriter) routeText(k int) peg.Pattern {
	if w.f.Routes[k].Kind == format.RouteContent && w.request.answer != nil {
		return peg.Seq{peg.Space{}, w.jsonText(), peg.Space{}, w.behind(behindAnswer)}
	}
	var heads []string
	for _, text := range either(lists.Map(w.f.Routes,
		func(r format.Route) shape { return row(lists.Map(r.Head, partShape)...) })...).all(nil) {
		if distinctive(text) { // text that belongs into a head is not shown
			heads = append(heads, text)
		}
	}
	return peg.Seq{w.until(either(literals(w.routeTexts()), literals(heads))), w.behind(behindText)}
}

// part of a turn after which something stands.
type behindWhat string

const (
	behindText   behindWhat = "after"
	behindCall   behindWhat = "after-call"
	behindAnswer behindWhat = "after-answer" // in JSON, which is all of the answer
)

// after is the state after a part: the end, or a further part.
func (w *routeWriter) behind(what behindWhat) peg.Pattern {
	return w.ref(string(what), func() peg.Pattern {
		ends := w.ends()
		if what == behindText {
			ends = w.mayEnd()
		}
		alts := slices.Clip(ends)
		for _, m := range w.closers(what) {
			close := peg.Seq{peg.Space{}, w.spelled(m.Text)}
			if ends != nil {
				alts = append(alts, close)
			}
			for _, start := range w.further(what) {
				alts = append(alts, append(slices.Clip(close), start...))
			}
		}
		for _, start := range w.further(what) {
			alts = append(alts, start)
		}
		return alts
	})
}

// closers returns the markers that end a part, whichever of the calls or of the texts it is.
func (w *routeWriter) closers(what behindWhat) []format.Marker {
	ended := func(r format.Route) bool {
		switch what {
		case behindCall:
			return r.Kind == format.RouteCall
		case behindAnswer:
			return r.Kind == format.RouteContent
		}
		return r.Kind != format.RouteCall
	}
	return slices.DeleteFunc(w.closes(), func(m format.Marker) bool {
		return slices.ContainsFunc(w.f.Routes,
			func(r format.Route) bool { return ended(r) && !slices.Contains(r.Close, m) })
	})
}

// further returns the patterns of further parts, from their start on.
func (w *routeWriter) further(what behindWhat) (parts []peg.Seq) {
	if what == behindAnswer || what == behindCall && !w.parallel {
		return nil
	}
	part := w.part
	if what == behindCall && w.request.answer != nil { // either the answer or calls (E22)
		part = func() peg.Pattern {
			return w.ref("part-call", func() peg.Pattern { return w.heads(format.RouteCall) })
		}
	}
	for _, s := range w.starts() {
		parts = append(parts, peg.Seq{peg.Space{}, w.spelled(s.Text), part()})
	}
	return parts
}
