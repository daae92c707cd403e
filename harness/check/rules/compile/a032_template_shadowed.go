package compile

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TemplateShadowed is the rule A032: other templates stand beside this one and differ from it.
var TemplateShadowed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A032", Name: "template-shadowed", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "Other templates stand beside this one and differ from it.",
		Damage: "The server decides which one is used; a fix in one is missing in the other.",
		Fix:    "Keep one template, or make them equal.",
	},
	Find: checkShadowed,
}

func checkShadowed(s *probe.Subject, find probe.Finder) {
	for _, name := range s.Source.Shadowed {
		find(probe.Nowhere, "%q has another template than this file: the server decides "+
			"which one is used", name)
	}
}
