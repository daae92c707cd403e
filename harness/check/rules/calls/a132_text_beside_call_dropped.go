package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TextBesideCallDropped is the rule A132: the text of a message that has calls as well never
// reaches the prompt.
var TextBesideCallDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A132", Name: "text-beside-call-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Content beside tool_calls is never written.",
		Damage: "The model told the user something before it called a tool, and does not see it: " +
			"it says so again, or loses its plan.",
		Fix: "Write the content of a message before its tool calls, if the model was trained to " +
			"write text there.",
	},
	Find: func(s *probe.Subject, find probe.Finder) { checkBesideCalls(s, find, false) },
}
