package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// endRules compare the turns of the model with each other.
var endRules = []lookout{
	{Rule: rule.Rule{ID: "A142", Name: "end-missing", Severity: rule.Warning,
		Short: "An answer and a message with calls end differently: one of them lacks the end of " +
			"a turn.",
		Damage: "The model has seen turns of this kind that nothing ends, and goes on past its " +
			"answer or its call.",
		Fix: "Write the end of a turn after answers and after calls."},
		Group: groupLint, Find: checkEnds},
}

// checkEnds looks for the end of a turn after all answers and after all calls. Results may stand
// within the model's turn, which then ends after a later answer; the answer to them has a header
// where they do not.
func checkEnds(s *Subject, find finder) {
	f := s.Template.Analysis().Format
	header := strings.TrimSpace(f.Header)
	var ends []string
	for _, end := range f.End {
		if end = strings.TrimSpace(end); end != "" {
			ends = append(ends, end)
		}
	}
	if header == "" || len(ends) == 0 {
		return
	}
	var answers, calls []turnEnd
	leaves := false // the results of calls stand outside of the model's turn
	for _, t := range s.talks() {
		for i := range t.spans[:max(0, len(t.spans)-1)] {
			if t.err != nil || t.spans[i].to == 0 || t.spans[i+1].to == 0 ||
				t.spans[i].from > t.spans[i+1].from {
				continue
			}
			e := turnEnd{t, i, t.framed()[t.spans[i].from:t.spans[i+1].from]}
			switch before, after := t.kinds[i], t.kinds[i+1]; {
			case before == conversation.Answer && after == conversation.Question:
				answers = append(answers, e)
			case before == conversation.Call && after == conversation.Result:
				calls = append(calls, e)
			case before == conversation.Result && after == conversation.Answer:
				leaves = leaves || strings.Contains(e.text, header)
			}
		}
	}
	if len(answers) == 0 || len(calls) == 0 || !leaves {
		return
	}
	lacks := func(turns []turnEnd) bool {
		return !slices.ContainsFunc(turns, func(e turnEnd) bool {
			return slices.ContainsFunc(ends, func(end string) bool {
				return strings.Contains(e.text, end)
			})
		})
	}
	tell := func(e turnEnd, of, other string) {
		at := e.in.spans[e.message+1].from - 1
		find(e.in.at(at), "%s before %s does not end with %s, as %s does: %s\nconversation: %s",
			of, article(e.in.kinds[e.message+1].String()), jsonString(ends[0]), other,
			report.Quote(e.in.text, at), e.in.Name)
	}
	switch noAnswer, noCall := lacks(answers), lacks(calls); {
	case noAnswer && !noCall:
		tell(answers[0], "an answer", "a call")
	case noCall && !noAnswer && !stops(f.Calls):
		tell(calls[0], "a call", "an answer")
	}
}

// turnEnd is a message of the model that another one follows.
type turnEnd struct {
	in      *talked
	message int
	text    string // the template's own, from the message's beginning to the beginning of the next
}

// stops reports whether calls end with a marker that closes nothing: a model stops there.
func stops(spellings []format.Calls) bool {
	for _, c := range spellings {
		last := cmp.Or(strings.TrimSpace(c.Section.Close.Text),
			strings.TrimSpace(c.Call.Close.Text))
		if last == "" {
			for _, p := range c.Tail {
				last += p.Text.Text
			}
		}
		if end, ok := lastMarker(last); ok && markersOf(end)[0].side == alone {
			return true
		}
	}
	return false
}
