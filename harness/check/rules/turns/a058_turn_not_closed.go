package turns

import (
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// TurnNotClosed is the rule A058: a turn is opened while the one before it is still open.
var TurnNotClosed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A058", Name: "turn-not-closed", Severity: rule.Error, Harm: rule.Glued,
		Short:  "A turn begins while the one before it is still open.",
		Damage: "The model reads two messages as one, such as a tool message and its own next one.",
		Fix: "Write the end of the turn in this branch as well. Where tool messages share a turn, " +
			"write its header once.",
	},
	Find: checkClosed,
}

func checkClosed(s *probe.Subject, find probe.Finder) {
	if !prompts.Heard(s, find) || findUnclosed(s, find) {
		return
	}
	if q, ok := boundary.SequenceOf(s); ok {
		for _, t := range boundary.FirstOfKinds(q.Unclosed()) {
			small, off := t.In.Around(s, t.To-1)
			find(small.Instead(off+1, q.Closer, small.At(off)), "%s is not closed before the next "+
				"message begins with %s\nit should end with: %s", t.Name(), probe.JSON(q.Opener),
				probe.JSON(q.Closer))
		}
	}
}

// findUnclosed reports whether a turn of the frame is left open.
func findUnclosed(s *probe.Subject, find probe.Finder) bool {
	gaps := boundary.Gaps.Of(s)
	f, ok := boundary.FrameOf(s)
	if !ok {
		return false
	}
	var unclosed boundary.Faults
	for _, g := range gaps {
		if f.LeftOpen(gaps, g) {
			unclosed.Add(g)
		}
	}
	for _, kind := range unclosed.Kinds {
		g := unclosed.Gaps[kind][0]
		_, at := g.Of(f.Header(g))
		small, off := g.In.Around(s, at)
		closing, reached := boundary.Closing(s, gaps, f, g), ""
		place, whose := undecided(f, g, closing), speaker(s, small, off)
		if kind == conversation.None {
			place, whose = small.At(off-1), "the template's own instructions"
		}
		if place.Off() == closing.Off() {
			reached = "\nwhat closes other turns is underlined, and not reached here"
		}
		find(place.Shown(small.In), "the turn of %s is not closed before %s\nthe model sees: %s\n"+
			"it should end with: %s%s\nrequest: %s",
			whose, boundary.Followers(unclosed.Gaps[kind]),
			report.Quote(small.Text, off), probe.JSON(f.Closer), reached, small.Name)
	}
	return len(unclosed.Kinds) > 0
}

// speaker names the message before an offset, with what sets it apart from a plain one of its role.
func speaker(s *probe.Subject, t *prompts.Prompt, off int) string {
	last := 0
	for i, span := range t.Spans {
		if span.To > 0 && span.To <= off {
			last = i
		}
	}
	return probe.Message(s.Told(chattemplate.Input{Messages: t.In.Messages[last : last+1]}))
}

// undecided is where the template decides that a turn stays open: the condition whose other outcome
// writes its end before the next header, or between tool messages, which may share a turn, no
// header.
func undecided(f boundary.Frame, g boundary.Gap, closing probe.Where) probe.Where {
	header := f.Header(g)
	_, at := g.Of(header)
	return g.In.Cause(closing, func(prompt string) bool {
		rest, same := goesOn(prompt, g.In.Text[:at])
		return same && (strings.HasPrefix(rest, f.Closer) || shared(g) &&
			!strings.HasPrefix(rest, strings.TrimLeft(header, " \n")) &&
			strings.HasSuffix(rest, g.In.Text[g.To:]))
	})
}

// goesOn is the rest of a prompt after its beginning, white space between them apart.
func goesOn(prompt, beginning string) (rest string, same bool) {
	rest, same = strings.CutPrefix(prompt, strings.TrimRight(beginning, " \n"))
	return strings.TrimLeft(rest, " \n"), same
}

// shared reports whether the messages around a gap may stand in one turn.
func shared(g boundary.Gap) bool {
	return g.Before == conversation.Result && g.After == conversation.Result
}
