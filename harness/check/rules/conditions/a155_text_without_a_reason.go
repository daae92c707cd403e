package conditions

import (
	"github.com/goassay/assay/harness/check/fact/conditional"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TextWithoutAReason is the rule A155: the template writes words of its own in some conversations
// and not in others, and no reason tells which: neither the tools, the instructions, the last
// message, images nor a variable of the request.
var TextWithoutAReason = &probe.Rule{
	Rule: rule.Rule{
		ID: "A155", Name: "text-without-a-reason", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The template adds text of its own because of an unrelated detail of the request.",
		Damage: "The number of messages, the type of an argument or an empty message changes the " +
			"model's instructions, and nobody expects it to.",
		Fix: "Write the text always, or let a variable of the request decide.",
	},
	Find: prompts.IfHeard(conditional.CheckHangs),
}
