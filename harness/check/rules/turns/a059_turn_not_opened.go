package turns

import (
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// TurnNotOpened is the rule A059: a turn is closed, and the next message follows without a header.
var TurnNotOpened = &probe.Rule{
	Rule: rule.Rule{
		ID: "A059", Name: "turn-not-opened", Severity: rule.Error, Harm: rule.Glued,
		Short:  "A turn is closed, and the next message follows without a role header.",
		Damage: "The message belongs to nobody; the model was never trained on such text.",
		Fix:    "Write the header in this branch as well, or do not close the turn before.",
	},
	Requires: []string{"A058"},
	Find:     checkOpened,
}

func checkOpened(s *probe.Subject, find probe.Finder) {
	if !prompts.Heard(s, find) || findUnopened(s, find) || findEndedEarly(s, find) {
		return
	}
	if q, ok := boundary.SequenceOf(s); ok && !s.Fires("A058") {
		for _, t := range boundary.FirstOfKinds(q.Unopened()) {
			t.In.Show(s, find, t.From, "%s begins without a header\nit should begin with: %s",
				t.Name(), probe.JSON(q.Opener))
		}
	}
}

// findEndedEarly reports whether the marker that ends answers stands between the text of a message
// and its calls, with no header after it.
func findEndedEarly(s *probe.Subject, find probe.Finder) bool {
	end, ok := markup.Last(boundary.UsualEnd(boundary.Gaps.Of(s), conversation.Answer))
	if !ok {
		return false
	}
	headers := map[string]bool{} // keys of the markers between a question and its answer
	for m := range markup.Each(boundary.Asked(s)) {
		headers[m.Key] = true
	}
	for t := range prompts.Rendered(s) {
		text := -1 // where the text of a message ends
		of := -1   // whose it is
		for from, r := range t.Seen.All() {
			at := from + r.Len
			i := prompts.MessageOf(r)
			if i < 0 || i >= len(t.Kinds) || t.Kinds[i] != conversation.Call {
				continue
			}
			if prompts.Spoken.MatchString(r.Path) {
				text, of = at, i
				continue
			}
			if of != i || !strings.Contains(r.Path, ".tool_calls[") {
				continue
			}
			if i := strings.Index(t.Own()[text:from], end); i >= 0 {
				rest := t.Own()[text+i+len(end) : from]
				if !slices.ContainsFunc(markup.In(rest), func(m markup.Marker) bool {
					return headers[m.Key]
				}) {
					t.Show(s, find, text+i, "an assistant message is closed before its tool_calls")
					return true
				}
			}
			of = -1
		}
	}
	return false
}

// findUnopened reports whether a turn of the frame lacks its header.
func findUnopened(s *probe.Subject, find probe.Finder) bool {
	gaps := boundary.Gaps.Of(s)
	f, ok := boundary.FrameOf(s)
	if !ok {
		return false
	}
	var unopened, strayed boundary.Faults
	// kinds that stand somewhere without a closer before them
	known := map[conversation.Kind]bool{}
	for _, g := range gaps {
		if g.Before != conversation.None && g.After == conversation.Result &&
			!strings.Contains(g.Text, f.Closer) {
			known[g.After] = true
		}
	}
	start := f.Start()
	for _, g := range gaps {
		if g.Before == conversation.None && boundary.Plain(g.After) && f.Bare(s, g) {
			unopened.Add(g)
			continue
		}
		if g.Before == conversation.None && f.Strays(g) {
			strayed.Add(g)
			continue
		}
		rest, ok := f.After(g)
		others := f.Headers[conversation.Question] != "" && f.Headers[conversation.Answer] != ""
		named := f.Headers[g.After] != "" ||
			others && g.After == conversation.Result && !known[g.After]
		bare := strings.TrimSpace(strings.ReplaceAll(rest, boundary.Hole, ""))
		if ok && (bare == "" && named || g.After == conversation.Result && start != "" &&
			bare != "" && !strings.HasPrefix(bare, start)) {
			unopened.Add(g)
		}
	}
	for _, kind := range strayed.Kinds {
		g := strayed.Gaps[kind][0]
		at := strings.LastIndex(g.In.Text[g.At:g.To], f.Headers[g.After]) + g.At
		g.In.Show(s, find, max(at-1, 0), "text stands outside of all messages, between the end of "+
			"one and the header of the next")
	}
	for _, kind := range unopened.Kinds {
		g := unopened.Gaps[kind][0]
		if kind == conversation.None {
			g.In.Show(s, find, g.To, "%s at the start of the prompt has an end and no header",
				boundary.Followers(unopened.Gaps[kind]))
			continue
		}
		_, at := g.Of(f.Closer)
		header := "user and assistant messages have one"
		if own := f.Headers[g.After]; own != "" {
			header = "elsewhere " + probe.JSON(own) + " opens it"
		}
		small, at := g.In.Around(s, at)
		place := small.At(at)
		if own := f.Headers[g.After]; own != "" {
			before, after := small.Text[:at], small.Text[at+len(f.Closer):]
			place = small.Cause(place, func(prompt string) bool {
				if rest, closed := goesOn(prompt, before+f.Closer); closed {
					return strings.HasPrefix(rest, strings.TrimLeft(own, " \n"))
				}
				rest, same := goesOn(prompt, before)
				return shared(g) && same && rest == strings.TrimLeft(after, " \n")
			})
		}
		find(place.Needing(), "after %s, %s follows without a header\n%s",
			probe.Article(kind.String()), boundary.Followers(unopened.Gaps[kind]), header)
	}
	return len(strayed.Kinds)+len(unopened.Kinds) > 0
}
