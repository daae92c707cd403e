package rounds

import (
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ResultMisattributed is the rule A165: of two results the second is written under the name or id
// of the other call.
var ResultMisattributed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A165", Name: "result-misattributed", Severity: rule.Error, Harm: rule.Misread,
		Short:  "The second of two tool messages is written under the other call's name or id.",
		Damage: "With parallel calls the model takes the forecast for the timetable.",
		Fix:    "Look the call up by the tool_call_id of the tool message, and write its name.",
	},
	Find: checkResultMisattributed,
}

func checkResultMisattributed(s *probe.Subject, find probe.Finder) {
	if m, ok := round.Attribute(s.Template.ChatTemplate()); ok {
		prompt := s.Rendered(m.Prompt, m.Input)
		find(prompt.At(m.NameOff).Beside("tool message printed", prompt.At(m.Off)), "where tool "+
			"messages come in another order than calls, %q is written under the other call, %q",
			m.Result, m.Name)
	}
}
