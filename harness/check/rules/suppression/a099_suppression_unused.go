package suppression

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// SuppressionUnused is the rule A099: a suppression silences nothing. It runs when all others have,
// since a suppression is used by the rule that it silences.
var SuppressionUnused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A099", Name: "suppression-unused", Severity: rule.Error, Harm: rule.Style,
		Short:  "A suppression hides nothing.",
		Damage: "The next finding of that rule will be hidden.",
		Fix:    "Remove the suppression.",
	},
	Unsuppressible: true,
	Find:           checkUnused,
}

func checkUnused(s *probe.Subject, find probe.Finder) {
	for _, sup := range s.Suppressions {
		if !sup.Used && sup.Reason != "" && s.Standing(sup.Rule) == probe.Suppressible {
			find(sup.At, "assay:ignore %s (%s) silences nothing", sup.Rule, sup.Reason)
		}
	}
}
