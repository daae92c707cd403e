package inputs

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// PartsRefused is the rule A149: content that is a list of parts, as the protocol permits it, ends
// in an error, whatever the role of the message.
var PartsRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A149", Name: "parts-refused", Severity: rule.Note, Harm: rule.Crashed,
		Short: "Content parts end in an error, whatever the role of the message.",
		Damage: "A client that sends content parts gets an error, unless the server joins them " +
			"into one string first.",
		Fix: "Test `{% if message.content is string %}`, and write the text of each part " +
			"otherwise.",
	},
	Find: checkPartsRefused,
}

func checkPartsRefused(s *probe.Subject, find probe.Finder) {
	if other, err := partsRefused(s); err != nil && other == "" {
		find(probe.Nowhere, "a user message whose content comes in parts ends the request in an "+
			"error: %w", err)
	}
}
