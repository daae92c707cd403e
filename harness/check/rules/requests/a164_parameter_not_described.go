package requests

import (
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ParameterNotDescribed is the rule A164: the template describes the parameters of tools, and its
// prompt is the same whichever of them are required, whatever type one has, or without one of them.
var ParameterNotDescribed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A164", Name: "parameter-not-described", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template describes the parameters of tools, but not which are required, not " +
			"their types, or not those with a certain name.",
		Damage: "The model leaves out an argument that the tool needs, or sends the wrong type.",
		Fix: "Write the whole schema of the parameters, or its required list and types beside " +
			"the descriptions. Skip no property for its name: `type` and `description` are " +
			"parameters, too.",
	},
	Find: checkParameterNotDescribed,
}

func checkParameterNotDescribed(s *probe.Subject, find probe.Finder) {
	for _, f := range variant.Faults.Of(s) {
		if f.Kind == variant.Ignored {
			find(s.Rendered(f.Got, f.Input).Of("How far ahead to look.").Losing(f.In.Name),
				"%s does not reach the prompt, though the parameters are described\n"+
					"sent by: %s", f.In.Name, f.In.By)
		}
	}
}
