package proof

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallsWithoutTools is the rule A008: calls are replayed, but tools are never described to the
// model.
var CallsWithoutTools = &probe.Rule{
	Rule: rule.Rule{
		ID: "A008", Name: "calls-without-tools", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "The template writes tool calls, but never describes the request's tools.",
		Damage: "The model is to call functions that it has not been told about.",
		Fix: "Write the tools into the prompt as the model was trained to read them, such as `{% " +
			"if tools %}{{ tools | tojson }}{% endif %}`.",
	},
	Find: checkToolsDescribed,
}

func checkToolsDescribed(s *probe.Subject, find probe.Finder) {
	c := s.Template.Caps()
	if !probe.Judged(find, c.WhyUnjudged(probe.DescribesTools), c.WhyUnjudged(probe.ReplaysCalls)) {
		return
	}
	if c.ToolCalls && !c.Tools {
		told := probe.Nowhere // the tools belong beside the instructions
		r, err := s.Fitted(sample.Talk(s.SystemTurn(), sample.User, sample.CallTurn), true, true)
		if err == nil {
			told = r.Of("SYSTEMNEEDLE")
		}
		find(told.Beside("tool_calls printed", s.Of("CITYNEEDLE")),
			"the tools of a request are not described to the model, though tool_calls are "+
				"written\nsent by: every client with tools")
	}
}
