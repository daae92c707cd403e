package reasoning

import (
	"strings"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// EmptyReasoningPrinted is the rule A021: an answer without reasoning gets an empty reasoning block
// in the history.
var EmptyReasoningPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A021", Name: "empty-reasoning-printed", Severity: rule.Note, Harm: rule.Style,
		Short:  "An assistant message without reasoning gets an empty reasoning block.",
		Damage: "The model sees that it never thinks, and stops thinking.",
		Fix:    "Write the block only `{% if message.reasoning_content %}`.",
	},
	Find: checkEmptyReasoning,
}

func checkEmptyReasoning(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	if r.Open.Text == "" || r.Close.Text == "" {
		return
	}
	prompt, err := s.Fitted(sample.Talk(sample.User, sample.Answer, sample.LaterUser), false, false)
	_, history, _ := strings.Cut(prompt.Text, "USERNEEDLE")
	for rest := history; probe.Judged(find, err); {
		_, after, ok := strings.Cut(rest, r.Open.Text)
		if !ok {
			return
		}
		if strings.HasPrefix(strings.TrimSpace(after), r.Close.Text) {
			open := len(prompt.Text) - len(after) - len(r.Open.Text)
			find(prompt.At(open), "an assistant message without reasoning is written with an "+
				"empty reasoning block")
			if s.Template.Caps().Needs.ReasoningField == "" {
				find(prompt.At(open), "the reasoning block is always empty: the template reads "+
					"no reasoning")
			}
			return
		}
		rest = after
	}
}
