package reasoning

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// AnswerLostWithReasoning is the rule A143: an answer that comes with its reasoning in the content
// loses its text.
var AnswerLostWithReasoning = &probe.Rule{
	Rule: rule.Rule{
		ID: "A143", Name: "answer-lost-with-reasoning", Severity: rule.Error, Harm: rule.Lost,
		Short: "Content with its reasoning inside (`<think>...</think>`) loses the text after it.",
		Damage: "Clients that keep what a server sent send the reasoning back so; the model does " +
			"not see what it said.",
		Fix: "Keep the text after the end of the reasoning: `content.split('</think>')[-1]`.",
	},
	Supersedes: []string{"A161", "A220"},
	Find:       checkInlineReasoning,
}

// checkInlineReasoning hands an answer back as a server without a parser sent it.
func checkInlineReasoning(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	if strings.TrimSpace(r.Open.Text) == "" || strings.TrimSpace(r.Close.Text) == "" {
		return
	}
	inline := sample.AnswerOf(r.Open.Text + "REASONNEEDLE" + r.Close.Text + "ANSWERNEEDLE")
	for _, after := range [][]ordered.Value{{sample.LaterUser}, {}} {
		plain, err := s.Raw(sample.Talk(append([]ordered.Value{sample.User, sample.Answer},
			after...)...), false)
		if err != nil || !plain.Has("ANSWERNEEDLE") {
			continue // A014 is about it
		}
		both, err := s.Raw(sample.Talk(append([]ordered.Value{sample.User, inline}, after...)...),
			false)
		if err == nil && !both.Has("ANSWERNEEDLE") {
			find(both.Of("USERNEEDLE"), "an assistant message that has its reasoning within its "+
				"content loses its text\nsent: %s", probe.JSON(inline.At("content").Text()))
			return
		}
	}
}
