package calls

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ResultAsQuestion is the rule A089: a tool's result is written exactly as a user's message would
// be.
var ResultAsQuestion = &probe.Rule{
	Rule: rule.Rule{
		ID: "A089", Name: "result-as-question", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "A tool message is written exactly as a user message would be.",
		Damage: "The model cannot tell a web page that a tool read from what the user wants.",
		Fix:    "Give tool messages a role or a marker of their own.",
	},
	Find: probe.IfReplays(checkResultRole),
}

// checkResultRole writes the same text as a result and as a question.
func checkResultRole(s *probe.Subject, find probe.Finder) {
	result, err1 := s.Fitted(sample.Talk(sample.User, sample.CallTurn, sample.Result), true, true)
	question, err2 := s.Fitted(sample.Talk(sample.User, sample.CallTurn, chat.User("RESULTNEEDLE")),
		true, true)
	if probe.Judged(find, err1) && err2 == nil && result.Has("RESULTNEEDLE") &&
		result.Text == question.Text {
		find(result.Of("RESULTNEEDLE"), "a tool message is written as if the user had said it")
	}
}
