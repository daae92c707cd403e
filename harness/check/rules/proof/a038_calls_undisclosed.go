package proof

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// CallsUndisclosed is the rule A038: the template describes tools and never writes a call.
var CallsUndisclosed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A038", Name: "calls-undisclosed", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template describes tools but never writes a tool call.",
		Damage: "A server can only guess how the model writes tool calls, and the model does not " +
			"see those that it made.",
		Fix: "Write the tool_calls of assistant messages as the model was trained to.",
	},
	Find: checkDisclosed,
}

func checkDisclosed(s *probe.Subject, find probe.Finder) {
	if s.Template.Analysis().Format.Undisclosed {
		find(s.Of("ANSWERNEEDLE").Bare(), "tools are described, and the tool_calls of the "+
			"history are not written\nthe model never sees what it has called, and no engine can "+
			"learn how tool calls are written")
	}
}
