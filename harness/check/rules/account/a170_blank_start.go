package account

import (
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// BlankStart is the rule A170: the prompt begins with white space before its first marker.
var BlankStart = &probe.Rule{
	Rule: rule.Rule{
		ID: "A170", Name: "blank-start", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The prompt begins with white space before its first marker.",
		Damage: "A token stands before the start token, or between two of them, with which no " +
			"conversation of the training began.",
		Fix: "Strip the white space after the blocks before the first text: end them with `-%}`.",
	},
	Find: findBlankStart,
}

func findBlankStart(s *probe.Subject, find probe.Finder) {
	b, ok := account.BlankStart(account.Entries.Of(s))
	if !ok {
		return
	}
	which := "every prompt begins"
	if b.Some {
		which = "the prompt of this request begins"
	}
	find(b.In.At(0), "%s with %q before its first marker", which, b.Text)
}
