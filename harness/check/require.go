package check

import (
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// ToolsRequired is the id of the rule that runs only where it is asked for, by [ToolCapable].
const ToolsRequired = "A097"

// requirements are conditions that somebody sets. Most templates need not meet them.
var requirements = []lookout{
	{Rule: rule.Rule{ID: ToolsRequired, Name: "tools-required", Severity: rule.Error,
		Short: "The template must serve tools (--require-tools) and does not: it is not " +
			"tool-capable, or not verified.",
		Damage: "Whoever serves the model for agents finds out by their failures.",
		Fix: "Describe the tools in the prompt and replay the calls; `assay caps` shows which " +
			"of the two is missing."},
		Group: groupLint, Find: checkToolCapable},
}

// ToolCapable runs the rule that demands support of tools.
func ToolCapable(src subject.Source, o Options) []rule.Result {
	s := newSubject(src, o)
	return requirements[0].Run(s,
		rule.Scope[where]{Suite: src.Name, File: src.File, Place: s.place})
}

func checkToolCapable(s *Subject, find finder) {
	if s.Template == nil {
		find(nowhere, "the template does not compile, so it supports nothing")
	} else if err := s.Template.Gate().Err(); err != nil {
		find(nowhere, "%w", err)
	}
}
