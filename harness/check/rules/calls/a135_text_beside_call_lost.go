package calls

import (
	"slices"

	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TextBesideCallLost is the rule A135: the text of a message that has calls as well reaches the
// prompt in some conversations and not in others.
var TextBesideCallLost = &probe.Rule{
	Rule: rule.Rule{
		ID: "A135", Name: "text-beside-call-lost", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Content beside tool_calls is written in some conversations and not in others.",
		Damage: "The model told the user something before it called a tool, and sees it in some " +
			"messages and not in others.",
		Fix: "Write the content of a message before its tool calls, whatever else it has and " +
			"wherever it stands.",
	},
	Find: func(s *probe.Subject, find probe.Finder) {
		if !slices.ContainsFunc(s.Template.Verify().Shapes, func(shape verify.Shape) bool {
			return shape.Note == verify.Misplaced // it goes with the reasoning, which is A057's
		}) {
			checkBesideCalls(s, find, true)
		}
	},
}
