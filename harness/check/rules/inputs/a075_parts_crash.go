package inputs

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// PartsCrash is the rule A075: content in parts ends in an error in the messages of one role,
// though in those of another it may come so.
var PartsCrash = &probe.Rule{
	Rule: rule.Rule{
		ID: "A075", Name: "parts-crash", Severity: rule.Warning, Harm: rule.Crashed,
		Short: "Content in parts ends in an error in the messages of one role, though in those " +
			"of another it may come so.",
		Damage: "Clients that send all content in parts fail with a system message, with a " +
			"question, or in the second turn.",
		Fix: "Write the content of every role by the same macro.",
	},
	Find: checkPartsCrash,
}

func checkPartsCrash(s *probe.Subject, find probe.Finder) {
	findCrashes(s, find, true)
	if other, err := partsRefused(s); err != nil && other != "" {
		find(probe.Nowhere, "a user message whose content comes in parts ends in an error, "+
			"though that of %s does not: %w", probe.Article(other), err)
	}
}
