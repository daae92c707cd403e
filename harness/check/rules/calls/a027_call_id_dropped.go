package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallIDDropped is the rule A027: the ids of calls do not reach the prompt.
var CallIDDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A027", Name: "call-id-dropped", Severity: rule.Note, Harm: rule.Lost,
		Short:  "The ids of calls do not reach the prompt.",
		Damage: "With several calls the model cannot tell which result belongs to which.",
		Fix:    "Write the id with the call and with the result, if the model was trained so.",
	},
	Find: probe.IfReplays(checkIDs),
}

func checkIDs(s *probe.Subject, find probe.Finder) {
	prompt, err := s.Fitted(sample.Talk(sample.User, sample.CallTurn, sample.Result), true, true)
	if probe.Judged(find, err) && !prompt.Has("callid001") {
		find(prompt.Near("callid001"), "the ids of calls are written neither with the call "+
			"nor with its result")
	}
}
