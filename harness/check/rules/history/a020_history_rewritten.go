package history

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// HistoryRewritten is the rule A020: a turn is rendered differently once another one follows it.
var HistoryRewritten = &probe.Rule{
	Rule: rule.Rule{
		ID: "A020", Name: "history-rewritten", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A message is written differently once another message follows it.",
		Damage: "Every message changes the prompt near its start: the server's cache is lost, " +
			"and long conversations slow down.",
		Fix: "Write a message the same wherever it stands. Where reasoning alone is left out, " +
			"let the client do that.",
	},
	Find: checkRewritten,
}

func checkRewritten(s *probe.Subject, find probe.Finder) {
	for _, c := range [...]struct {
		name   string
		answer ordered.Value
	}{{"an assistant message", sample.Answer},
		{"an assistant message with reasoning", sample.Thinking}} {
		last, err1 := s.Fitted(sample.Talk(sample.User, c.answer), false, false)
		then, err2 := s.Fitted(sample.Talk(sample.User, c.answer, sample.LaterUser), false, true)
		if !probe.Judged(find, err1, err2) || strings.HasPrefix(then.Text, last.Text) {
			continue
		}
		at := report.Parting(last.Text, then.Text)
		if at >= strings.LastIndex(last.Text, "ANSWERNEEDLE")+len("ANSWERNEEDLE") {
			continue // only the end of the turn changes
		}
		if losses.IsTask(then.Text, "SECONDNEEDLE") {
			return // which depends on who spoke last
		}
		// models are trained so
		find := probe.NoteIf(thoughtGone(s, last.Text, then.Text), find)
		find(then.Instead(at, last.Text[at:], last.At(at)), "after %s, the next user message "+
			"changes the prompt before it\n%s\nharm: prefix caches end there", c.name,
			report.Sides("before", last.Text, "after", then.Text))
		return
	}
}

// thoughtGone reports whether nothing but reasoning, or its empty block, went from a turn: without
// one stretch between the question and the answer the turn is as before.
func thoughtGone(s *probe.Subject, last, then string) bool {
	before, long, ok1 := between(last)
	same, short, ok2 := between(then)
	if !ok1 || !ok2 || before != same || len(short) >= len(long) {
		return false
	}
	for from := report.Parting(long, short); from >= 0; from-- { // it may begin as what follows it
		gone := long[from : from+len(long)-len(short)]
		if long[:from]+long[from+len(gone):] != short {
			return false
		}
		if strings.Contains(gone, "REASONNEEDLE") || onlyReasoning(s, gone) {
			return true
		}
	}
	return false
}

// between returns the text of a prompt up to the question, and from there to the answer.
func between(prompt string) (before, gap string, ok bool) {
	before, rest, asked := strings.Cut(prompt, "USERNEEDLE")
	gap, _, answered := strings.Cut(rest, "ANSWERNEEDLE")
	return before, gap, asked && answered
}

// onlyReasoning reports whether a text has nothing but markers of reasoning and white space.
func onlyReasoning(s *probe.Subject, text string) bool {
	return reason.Without(s.Template.Analysis().Format.Reasoning, text) == ""
}
