package content

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// NullAnswerPrinted is the rule A040: an answer whose content is null is printed as a word.
var NullAnswerPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A040", Name: "null-answer-printed", Severity: rule.Note, Harm: rule.Changed,
		Short: "An assistant message whose content is null is printed as a word.",
		Damage: "A message that was cut off, or is all reasoning, stands in the history as " +
			"\"None\", and the model learns to say it.",
		Fix: "Print content only if there is some: `{% if message.content %}`.",
	},
	Requires: []string{"A012"},
	Find:     checkNullAnswer,
}

func checkNullAnswer(s *probe.Subject, find probe.Finder) {
	answer := func(content ordered.Value) []ordered.Value {
		return sample.Talk(sample.User, chat.MessageOf("assistant", content), sample.LaterUser)
	}
	empty, err1 := s.Raw(answer(ordered.Str("")), false)
	prompt, err2 := s.Raw(answer(ordered.Value{}), false)
	if err2 != nil || !probe.Judged(find, err1) { // an answer that says nothing may well be refused
		return
	}
	told := map[int]bool{} // offsets that A012 names
	for _, f := range s.Findings("A012") {
		told[f.At.Off()] = true
	}
	findNull(s, func(at probe.Where, format string, args ...any) {
		if !told[at.Off()] {
			find(at, format, args...)
		}
	}, "null content of an assistant message", prompt, empty)
}
