package reasoning

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ReasoningNeverAsked is the rule A136: the generation prompt closes reasoning whatever the request
// asks for, though the template writes the reasoning of earlier turns.
var ReasoningNeverAsked = &probe.Rule{
	Rule: rule.Rule{
		ID: "A136", Name: "reasoning-never-asked", Severity: rule.Note, Harm: rule.Style,
		Short: "The generation prompt closes the reasoning block whatever the request asks for, " +
			"though the history has reasoning.",
		Damage: "A client that switches thinking on gets none, and nobody is told.",
		Fix:    "Close the block only where thinking is switched off, if the model can think.",
	},
	Find: checkAsksForNone,
}

// checkAsksForNone asks under which settings of thinking the generation prompt closes reasoning.
func checkAsksForNone(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	open, end := strings.TrimSpace(r.Open.Text), strings.TrimSpace(r.Close.Text)
	if open == "" || end == "" {
		return
	}
	var closed probe.Rendering
	for _, mode := range reason.ThinkingModes() {
		asked, err := reason.PlainQuestion(s, mode.On, true)
		if err != nil {
			return // A066 and A069 are about it
		}
		_, tail, _ := strings.Cut(asked.Text, "USERNEEDLE")
		at := strings.LastIndex(tail, open)
		if at < 0 || strings.TrimSpace(tail[at+len(open):]) != end {
			return
		}
		closed = asked
	}
	for _, history := range [...]struct {
		messages []ordered.Value
		tools    bool
	}{{sample.Talk(sample.User, sample.Thinking), false},
		{sample.Talk(sample.User, sample.FullTurn(sample.Call), sample.Result), true}} {
		if written, err := s.Fitted(history.messages, history.tools, false); err == nil &&
			written.Has("REASONNEEDLE") {
			find(closed.At(len(closed.Text)-1), "the model is never asked to think: the prompt "+
				"closes reasoning, even with thinking on")
			return
		}
	}
}
