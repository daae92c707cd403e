package proof

import (
	"slices"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ToolsIgnored is the rule A042: the template describes no tools, and writes no calls.
var ToolsIgnored = &probe.Rule{
	Rule: rule.Rule{
		ID: "A042", Name: "tools-ignored", Severity: rule.Note, Harm: rule.Lost,
		Short:  "The template writes neither the tools nor the tool calls of a request.",
		Damage: "Requests with tools are answered as if they had none.",
		Fix: "If the model can call tools, write them into the prompt as it was trained to read " +
			"them. Otherwise there is nothing to do.",
	},
	Find: checkToolsIgnored,
}

func checkToolsIgnored(s *probe.Subject, find probe.Finder) {
	c := s.Template.Caps()
	if !probe.Judged(find, c.WhyUnjudged(probe.DescribesTools), c.WhyUnjudged(probe.ReplaysCalls)) {
		return
	}
	if c.Tools || c.ToolCalls {
		return
	}
	at := probe.Nowhere
	if names := s.Template.ChatTemplate().Names(); slices.Contains(names, "tools") &&
		!s.Flow().Assigns("tools") { // it means to write them
		find = probe.Weigh(find, rule.Warning)
		for n := range s.Source.Parts().All() {
			if n.Is(edit.Name, "tools") && !at.Known() {
				at = probe.Offset(n.Off)
			}
		}
	}
	find(at, "a request's tools do not reach the prompt, and no error is raised")
}
