package proof

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ToolsIgnored is the rule A042: the template describes no tools, and writes no calls.
var ToolsIgnored = &probe.Rule{
	Rule: rule.Rule{
		ID: "A042", Name: "tools-ignored", Severity: rule.Note, Harm: rule.Lost,
		Short: "The template writes neither tools nor calls.",
		Damage: "Requests with tools are answered as if they had none: the model has not been " +
			"told of them.",
		Fix: "If the model can call tools, write them into the prompt as it was trained to " +
			"read them; otherwise there is nothing to do.",
	},
	Find: checkToolsIgnored,
}

func checkToolsIgnored(s *probe.Subject, find probe.Finder) {
	c := s.Template.Caps()
	if !probe.Judged(find, c.WhyUnjudged(probe.DescribesTools), c.WhyUnjudged(probe.ReplaysCalls)) {
		return
	}
	if !c.Tools && !c.ToolCalls {
		find(probe.Nowhere, "a request's tools do not reach the prompt, and no error is "+
			"raised")
	}
}
