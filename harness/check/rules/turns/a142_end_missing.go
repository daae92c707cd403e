package turns

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/exploration"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// EndMissing is the rule A142: some messages of the model lack the end of a turn that others have.
var EndMissing = &probe.Rule{
	Rule: rule.Rule{
		ID: "A142", Name: "end-missing", Severity: rule.Warning, Harm: rule.Glued,
		Short: "Some assistant messages lack the end of the turn that others have.",
		Damage: "The model goes on past its own message or its tool call; trained on such texts, " +
			"it does not learn to stop.",
		Fix: "Write the end of the turn after content and after tool_calls.",
	},
	Find: checkEnds,
}

// checkEnds looks for the end of a turn after all answers and after all calls. Results may stand
// within the model's turn, which then ends after a later answer; the answer to them has a header
// where they do not. The token that ends all sequences is told from other ends by its name.
func checkEnds(s *probe.Subject, find probe.Finder) {
	checkLast(s, find)
	f := s.Template.Analysis().Format
	header := strings.TrimSpace(f.Header)
	var ends []string
	for _, end := range s.Template.Analysis().OwnEnds() {
		if end = strings.TrimSpace(end); end != "" {
			ends = append(ends, end)
		}
	}
	eos := s.Template.ChatTemplate().EOS
	if eos != "" && !slices.ContainsFunc(ends, func(end string) bool { return end != eos }) {
		checkEOS(s, find, eos)
	}
	if header == "" || len(ends) == 0 {
		return
	}
	var answers, calls []turnEnd
	leaves := false // the results of calls stand outside of the model's turn
	for _, t := range prompts.All.Of(s) {
		for i := range t.Spans[:max(0, len(t.Spans)-1)] {
			if t.Err != nil || t.Spans[i].To == 0 || t.Spans[i+1].To == 0 ||
				t.Spans[i].From > t.Spans[i+1].From {
				continue
			}
			e := turnEnd{t, i, t.Framed()[t.Spans[i].From:t.Spans[i+1].From]}
			switch before, after := t.Kinds[i], t.Kinds[i+1]; {
			case before == conversation.Answer && after == conversation.Question:
				answers = append(answers, e)
			case before == conversation.Call && after == conversation.Result:
				calls = append(calls, e)
			case before == conversation.Result && after == conversation.Answer:
				leaves = leaves || strings.Contains(e.text, header)
			}
		}
	}
	if len(answers) == 0 || len(calls) == 0 || !leaves && !slices.Contains(ends, eos) {
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
		at := e.in.Spans[e.message].To
		find(e.in.Instead(at, ends[0], e.in.At(at-1)), "%s before %s does not end with %s, as %s "+
			"does", of, probe.Article(e.in.Kinds[e.message+1].String()), probe.JSON(ends[0]), other)
	}
	switch noAnswer, noCall := lacks(answers), lacks(calls); {
	case noAnswer && !noCall:
		tell(answers[0], "an assistant message", "a tool call")
	case noCall && !noAnswer && !stops(f.Calls):
		tell(calls[0], "a tool call", "an assistant message")
	}
}

// checkLast looks for the end that an answer has before a question after one that nothing follows:
// such texts are what a model is trained on.
func checkLast(s *probe.Subject, find probe.Finder) {
	last, err1 := s.Fitted(sample.Talk(sample.User, sample.Answer), false, false)
	more, err2 := s.Fitted(sample.Talk(sample.User, sample.Answer, sample.LaterUser, sample.Answer),
		false, false)
	before, _, asked := strings.Cut(last.Text, "USERNEEDLE")
	_, end, answered := strings.Cut(last.Text, "ANSWERNEEDLE")
	_, rest, ok := strings.Cut(more.Text, "ANSWERNEEDLE")
	gap, _, also := strings.Cut(rest, "SECONDNEEDLE")
	markers := markup.In(gap)
	if err1 != nil || err2 != nil || !asked || !answered || !ok || !also || len(markers) == 0 ||
		strings.TrimSpace(end) != "" {
		return
	}
	if checkGoesOn(s, find, gap) {
		return
	}
	m := markers[0]
	for _, v := range exploration.Variables.Of(s) { // such as one that says what the text is for
		if with, err := s.With(last, v); err == nil && strings.HasSuffix(
			strings.TrimSpace(with.Text), gap[m.At:m.To]) {
			return
		}
	}
	if header := source.CommonSuffix(gap, before); m.At < len(gap)-len(header) {
		find(last.At(len(last.Text)-1), "at the end of a conversation an assistant message "+
			"lacks the %s that one before a user message has\nwho: those who train a model on "+
			"such texts",
			probe.JSON(gap[m.At:m.To]))
	}
}

// checkGoesOn reports a prompt for an answer that follows an answer which is left open, so that
// its header stands where the end of a message is missing: gap is what stands before a question
// there.
func checkGoesOn(s *probe.Subject, find probe.Finder, gap string) bool {
	asked, err := s.Fitted(sample.Talk(sample.User, sample.Answer), false, true)
	_, header, _ := strings.Cut(asked.Text, "ANSWERNEEDLE")
	end := strings.TrimSpace(boundary.UsualEnd(boundary.Gaps.Of(s), conversation.Question))
	eos := s.Template.ChatTemplate().EOS
	open := err == nil && end != "" && strings.Contains(gap, end) && len(markup.In(header)) > 0 &&
		!strings.Contains(header, end) && (eos == "" || !strings.Contains(header, eos))
	if open {
		find(asked.At(len(asked.Text)-1), "where a conversation ends with an assistant message, "+
			"the prompt opens the next one without %s between the two", probe.JSON(end))
	}
	return open
}

// checkEOS looks for the token that ends all sequences after some answers, where others lack an
// end: nothing but the header of a question follows them.
func checkEOS(s *probe.Subject, find probe.Finder, eos string) {
	var with, without *boundary.Gap
	gaps := boundary.Gaps.Of(s)
	first := "" // before a question at the start
	for i, g := range gaps {
		if g.Before == conversation.None && g.After == conversation.Question && first == "" {
			first = strings.TrimSpace(g.Text)
		}
		if g.Before != conversation.Answer && g.Before != conversation.Call {
			continue
		}
		if ends := strings.Contains(g.Text, eos); ends && with == nil {
			with = &gaps[i]
		} else if !ends && g.Before == conversation.Answer && g.After == conversation.Question &&
			without == nil && strings.HasSuffix(first, strings.TrimSpace(g.Text)) {
			without = &gaps[i]
		}
	}
	if with != nil && without != nil {
		small, at := without.In.Around(s, without.At)
		find(small.Instead(at, eos, small.At(max(at-1, 0))), "an assistant message before a user "+
			"message does not end with %s, as other messages of the model do\nother request: %s",
			probe.JSON(eos), with.In.Name)
	}
}

// turnEnd is a message of the model that another one follows.
type turnEnd struct {
	in      *prompts.Prompt
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
		if end, ok := markup.Last(last); ok && markup.In(end)[0].Side == markup.Alone {
			return true
		}
	}
	return false
}
