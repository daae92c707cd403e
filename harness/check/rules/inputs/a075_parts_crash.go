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
		Short:  "Content parts end in an error in messages of one role, and not in others.",
		Damage: "Clients that send all content as parts get an error with such a message.",
		Fix:    "Write the content of every role with the same macro.",
	},
	Find: checkPartsCrash,
}

func checkPartsCrash(s *probe.Subject, find probe.Finder) {
	findCrashes(s, find, true)
	if other, err := partsRefused(s); err != nil && other != "" {
		find(probe.Nowhere, "a user message in parts ends in an error, though %s in parts "+
			"does not: %w", probe.Article(other), err)
	}
}
