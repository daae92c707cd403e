package compile

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ToolsRequired is the rule A097: the template must serve tools (--require-tools) and does not: it
// is not tool-capable, or not verified.
var ToolsRequired = &probe.Rule{
	Rule: rule.Rule{
		ID: "A097", Name: "tools-required", Severity: rule.Error, Harm: rule.Refused,
		Short:  "The template must serve tools (--require-tools) and does not.",
		Damage: "Whoever serves the model for agents finds out by their failures.",
		Fix: "Describe the tools in the prompt, and write the tool_calls of the history so that " +
			"they can be read back. `assay caps` shows what is missing.",
	},
	Unsuppressible: true,
	Find:           checkToolCapable,
}

func checkToolCapable(s *probe.Subject, find probe.Finder) {
	if s.Template == nil {
		find(probe.Nowhere, "the template cannot serve tools: it does not compile")
	} else if err := s.Template.Gate().Err(); err != nil {
		find(probe.Nowhere, "the template cannot serve tools: %w", err)
	}
}
