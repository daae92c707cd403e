package compile

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TooCostly is the rule A056: the renders of all checks together take more steps than allowed.
var TooCostly = &probe.Rule{
	Rule: rule.Rule{
		ID: probe.TooCostly, Name: "too-costly", Severity: rule.Error, Harm: rule.Crashed,
		Short: "Rendering the requests of all checks takes more steps than allowed.",
		Damage: "A request keeps the server busy for long. Nothing else is reported about this " +
			"template, since the check stopped.",
		Fix: "Look for loops inside loops. Templates usually take some ten thousand steps; " +
			"`--limit total=N` allows more.",
	},
	Unsuppressible: true,
	Find:           checkCost,
}

func checkCost(s *probe.Subject, find probe.Finder) {
	if err := s.Template.Exhausted(); err != nil {
		find(probe.Nowhere, "ordinary requests cost more to render than the limits allow: %w", err)
	}
}
