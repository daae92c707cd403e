package notation

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// BracketsUnbalanced is the rule A146: a call opens brackets and does not close them, or closes
// more than it opens.
var BracketsUnbalanced = &probe.Rule{
	Rule: rule.Rule{
		ID: "A146", Name: "brackets-unbalanced", Severity: rule.Error, Harm: rule.Glued,
		Short:  "A tool call opens brackets and does not close them, or closes more than it opens.",
		Damage: "The model learns to write JSON that no parser reads.",
		Fix:    "Close each bracket; `{{ call | tojson }}` never forgets one.",
	},
	Supersedes: []string{"A151"},
	Find:       checkCallsBalanced,
}

func checkCallsBalanced(s *probe.Subject, find probe.Finder) {
	weigh(s, find, weighed{"a tool call",
		chat.Request{Messages: sample.Talk(sample.User, sample.CallTurn), Tools: sample.Tools()},
		chat.Request{Messages: sample.Talk(sample.User, sample.Answer), Tools: sample.Tools()},
		"CITYNEEDLE"})
}
