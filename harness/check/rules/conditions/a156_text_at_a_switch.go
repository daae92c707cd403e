package conditions

import (
	"github.com/goassay/assay/harness/check/fact/conditional"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TextAtASwitch is the rule A156: a variable of the request that is no text decides whether the
// template writes words of its own.
var TextAtASwitch = &probe.Rule{
	Rule: rule.Rule{
		ID: "A156", Name: "text-at-a-switch", Severity: rule.Note, Harm: rule.Changed,
		Short: "A variable of the request decides whether the template adds text of its own.",
		Damage: "Usually none: this is how clients ask for effort and thinking. Prompts of tests " +
			"that do not set the variable lack the text.",
		Fix: "Read the text under each value of the variable.",
	},
	Find: prompts.IfHeard(conditional.CheckSwitched),
}
