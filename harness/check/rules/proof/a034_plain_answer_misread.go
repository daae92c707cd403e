package proof

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// PlainAnswerMisread is the rule A034: a plain answer is not read as content under every setting of
// thinking.
var PlainAnswerMisread = &probe.Rule{
	Rule: rule.Rule{
		ID: "A034", Name: "plain-answer-misread", Severity: rule.Error, Harm: rule.Misread,
		Short:  "Plain content is not parsed as content under some setting of thinking.",
		Damage: "The text arrives in reasoning_content and content is null.",
		Fix:    "Let the generation prompt close the reasoning block when thinking is off.",
	},
	Group:      probe.GroupVerify,
	Supersedes: []string{"A161"},
	Find:       checkPlainAnswer,
}

// checkPlainAnswer parses a plain answer with thinking as it comes, on and off.
func checkPlainAnswer(s *probe.Subject, find probe.Finder) {
	for _, mode := range reason.ThinkingModes() {
		r := chat.Request{Messages: sample.Talk(sample.User), EnableThinking: mode.On}
		if mode.On != nil && refused(s, r) {
			// that thinking cannot be switched so is the template's own choice, and no answer is
			// misread
			continue
		}
		plan, err := prepare(s, r)
		if err != nil {
			find(probe.Nowhere, "%s, no parser can be made: %w", mode.Name, err)
			continue
		}
		output := plainOutput(s, plan.Prefill)
		message := plan.Parse(output, chat.FinishStop).Message
		if strings.TrimRight(message.Content, format.Space) != plainAnswer ||
			strings.Contains(message.Reasoning, plainAnswer) {
			written, _ := s.Ask(r)
			find(written.At(len(plan.Prompt.Text)-len(plan.Prefill)), "%s, an assistant message "+
				"of plain text is not parsed as content\nthe model writes %q after %q\nit is "+
				"read as: %s", mode.Name, output, plan.Prefill, message.Value())
		}
	}
}

// refused reports whether the template itself refuses a request, by raise_exception.
func refused(s *probe.Subject, r chat.Request) bool {
	_, err := s.Ask(r)
	return jinja.Class(err) == "TemplateError"
}

const plainAnswer = "It is a plain answer."

// plainOutput is a model's output for a plain answer: the template's text after the prefill or,
// where the prompt opened reasoning, the end of reasoning and the answer.
func plainOutput(s *probe.Subject, prefill string) string {
	text, err := s.Fitted(sample.Talk(sample.User, sample.AnswerOf(plainAnswer)), false, false)
	if turn, ok := turnOf(s, text.Text); err == nil && ok {
		turn = unasked(s, turn)
		output, ok := strings.CutPrefix(turn, prefill)
		if ok && strings.Contains(output, plainAnswer) &&
			strings.Contains(output, reason.Opened(s, prefill)) {
			return output
		}
	}
	return reason.Opened(s, prefill) + contentMarkers(s, plainAnswer)
}

// unasked is a turn without the header of the next answer, where the template writes that whether a
// generation prompt is asked for or not: A071 is about it, and no model writes it.
func unasked(s *probe.Subject, turn string) string {
	question := sample.Talk(sample.User)
	asked, err1 := s.Fitted(question, false, true)
	plain, err2 := s.Fitted(question, false, false)
	_, end, ok := strings.Cut(turn, plainAnswer)
	if err1 != nil || err2 != nil || asked.Text != plain.Text || !ok {
		return turn
	}
	return turn[:len(turn)-len(source.CommonSuffix(end, asked.Text))]
}
