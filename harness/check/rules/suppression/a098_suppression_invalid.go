package suppression

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// SuppressionInvalid is the rule A098: a suppression names no rule or one that cannot be
// suppressed, or gives no reason.
var SuppressionInvalid = &probe.Rule{
	Rule: rule.Rule{
		ID: "A098", Name: "suppression-invalid", Severity: rule.Error, Harm: rule.Style,
		Short:  "A suppression names no rule or one that cannot be suppressed, or gives no reason.",
		Damage: "A finding is hidden and nobody remembers why, or it is not hidden at all.",
		Fix:    "Write `{# assay:ignore A021 and then why #}`.",
	},
	Unsuppressible: true,
	Find:           checkSuppressions,
}

func checkSuppressions(s *probe.Subject, find probe.Finder) {
	for _, sup := range s.Suppressions {
		switch standing := s.Standing(sup.Rule); {
		case standing == probe.OfModel:
			find(sup.At, "assay:ignore names %s, which is about the model that the template "+
				"belongs to; a template cannot suppress it", sup.Rule)
		case standing == probe.Unsuppressible:
			find(sup.At, "assay:ignore names %s, which cannot be suppressed", sup.Rule)
		case standing == probe.Unknown:
			find(sup.At, "assay:ignore names %q, which is no rule", sup.Rule)
		case sup.Reason == "":
			find(sup.At, "assay:ignore %s gives no reason", sup.Rule)
		}
	}
}
