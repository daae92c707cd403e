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
		Short: "The template writes words of its own in some conversations and not in others, " +
			"and no reason tells which: neither the tools, the instructions, the last " +
			"message, images nor a variable of the request.",
		Damage: "A detail of a request, such as the number of messages, the type of an argument " +
			"or an empty answer, changes the model's instructions, and nobody expects it to.",
		Fix: "Write the words always, or let a variable of the request decide.",
	},
	Find: prompts.IfHeard(conditional.CheckHangs),
}
