package account

import (
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// StartMissing is the rule A171: the marker with which prompts begin is missing for some requests.
var StartMissing = &probe.Rule{
	Rule: rule.Rule{
		ID: "A171", Name: "start-missing", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The marker with which prompts begin is missing for some requests.",
		Damage: "A conversation without a system message, for example, lacks the token with " +
			"which every conversation of the training began.",
		Fix: "Write the marker before the loop over the messages, and before the first `{% if %}`.",
	},
	Requires: []string{"A125"},
	Find:     findStartMissing,
}

func findStartMissing(s *probe.Subject, find probe.Finder) {
	b, ok := account.StartMissing(account.Entries.Of(s))
	if !ok || s.Fires("A125") {
		return
	}
	find(b.In.At(0), "the prompt of this request does not begin with %s, as other prompts do"+
		"\nother request: %s",
		b.Marker, b.With.Name)
}
