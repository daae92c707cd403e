package compile

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// RendersNothing is the rule A002: the template fails on the plainest conversation.
var RendersNothing = &probe.Rule{
	Rule: rule.Rule{
		ID: "A002", Name: "renders-nothing", Severity: rule.Error, Harm: rule.Crashed,
		Short:  "The template fails on the plainest conversation.",
		Damage: "Every request ends in an error.",
		Fix: "Render one user message and nothing else; give variables that may be missing a " +
			"default.",
	},
	Group:          probe.GroupCompile,
	Unsuppressible: true,
	Find:           checkRenders,
}

// checkRenders reports the reason why the engine cannot compile a template that is valid Jinja.
func checkRenders(s *probe.Subject, find probe.Finder) {
	if s.Err != nil && syntax(s) == nil {
		find(probe.Nowhere, "not even one user message can be rendered: %w", s.Err)
	}
}
