package rounds

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// AnswerNotPrompted is the rule A167: after the result of a tool the prompt does not begin an
// answer, though after a question it does, and answers to results have that header in the
// history.
var AnswerNotPrompted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A167", Name: "answer-not-prompted", Severity: rule.Error, Harm: rule.Misread,
		Short: "After a tool message, or a system message at the end, the generation prompt is " +
			"missing, though after a user message it is there.",
		Damage: "The model continues the tool's result, or makes a second one up.",
		Fix: "Write the generation prompt whenever add_generation_prompt is set, whatever the " +
			"last message is. Where the answer goes on in the turn of its tool messages, begin no " +
			"turn in the history either.",
	},
	Supersedes: []string{"A019"},
	Find:       checkAnswerNotPrompted,
}

func checkAnswerNotPrompted(s *probe.Subject, find probe.Finder) {
	if m, ok := round.Unasked(s.Template.ChatTemplate()); ok {
		if prompt, err := s.Render(m.Input); err == nil {
			few := probe.Weigh(find, rule.Warning) // send such a conversation
			few(prompt.At(m.Off-1), "after a system message at the end the prompt lacks the "+
				"%q that it has after a user message", m.Header)
		}
	}
	if !s.Template.Caps().ToolCalls {
		return // a client of such a model sends no tool messages
	}
	if m, ok := round.Unprompted(s.Template.ChatTemplate()); ok {
		prompt, err := s.Render(m.Input)
		if err != nil {
			return // it rendered a moment ago
		}
		end := prompt.At(len(prompt.Text) - 1)
		find(prompt.Cause(end, func(p string) bool {
			rest, ok := strings.CutPrefix(p, prompt.Text)
			return ok && strings.Contains(rest, m.Header)
		}), "after a tool message the prompt lacks the %q with which assistant messages there begin",
			m.Header)
	}
}
