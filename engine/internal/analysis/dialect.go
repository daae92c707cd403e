package analysis

import (
	"github.com/goassay/assay/engine/internal/observe"
	"strings"

	"github.com/goassay/assay/engine/format"
)

// findDialect takes a hand-written format instead of the analysed one where the dialect's routes
// spell the probes' turns: every literal between the header and a slot is the head of the route
// that carries the slot's kind (E10). Prose and source are never looked at.
func findDialect(a state, dialects []format.Format) state {
	for _, d := range dialects {
		if !a.speaks(d) {
			continue
		}
		d.Header = a.proper
		for _, end := range a.format.End {
			d.End = append(d.End[:len(d.End):len(d.End)], end)
		}
		a.format = d
		a.gave("E10", strings.Join(d.Fields(), " "), format.Observed, "the probes are spelled as "+
			"the dialect %q has it", d.Name)
		break
	}
	return a
}

// speaks reports whether content stands after the head of a content route, reasoning, where it is
// shown, after one of a reasoning route, and a call, where one is shown, after one of a call route.
func (a *state) speaks(d format.Format) bool {
	lead, at := observe.Before(a.plain.body, observe.Content)
	if at < 0 || !heads(d, format.RouteContent, lead) {
		return false
	}
	for _, t := range []turn{a.thought, a.acted} {
		if t.observation == nil {
			continue
		}
		if lead, at := observe.Before(t.body, observe.Reasoning); at >= 0 &&
			!heads(d, format.RouteReasoning, lead) {
			return false
		}
	}
	if a.called.observation == nil {
		return true
	}
	i := len(a.called.body)
	for j, at := range a.called.body {
		if at.Kind == observe.Structure || at.Kind == observe.ArgKey ||
			at.Kind == observe.ArgValue {
			i = j
			break
		}
	}
	return heads(d, format.RouteCall, observe.Text(a.called.body[:i]))
}

// heads reports whether a literal is the head of one of a dialect's routes, word slots and
// recipients standing for any text.
func heads(d format.Format, kind format.RouteKind, lead string) bool {
	for _, r := range d.Routes {
		if r.Kind == kind && matchParts(r.Head, lead) {
			return true
		}
	}
	return false
}

// matchParts reports whether a text is spelled by parts from its first to its last byte, white
// space beside literals left free.
func matchParts(parts []format.Part, text string) bool {
	text = strings.TrimLeft(text, format.Space)
	if len(parts) == 0 {
		return text == ""
	}
	p, rest := parts[0], parts[1:]
	if p.Opt && matchParts(rest, text) {
		return true
	}
	if p.Kind != format.SlotLit {
		for n := 1; n <= len(text); n++ {
			if matchParts(rest, text[n:]) {
				return true
			}
		}
		return false
	}
	for _, lit := range append([]string{p.Text.Text}, p.Alts...) {
		if after, ok := strings.CutPrefix(text, strings.Trim(lit, format.Space)); ok &&
			matchParts(rest, after) {
			return true
		}
	}
	return false
}
