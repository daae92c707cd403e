package calls

import (
	"slices"

	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// ToolResultDropped is the rule A015: the result of a tool does not reach the prompt.
var ToolResultDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A015", Name: "tool-result-dropped", Severity: rule.Error, Harm: rule.Lost,
		Short:  "The content of a tool message is left out of the prompt.",
		Damage: "The model calls the tool again and again, or makes the result up.",
		Fix:    "Write the content of messages whose role is tool.",
	},
	Find: checkResult,
}

func checkResult(s *probe.Subject, find probe.Finder) {
	if s.Supports(find, probe.ReplaysCalls) && prompts.Heard(s, find, conversation.Result) {
		gone := losses.All.Of(s).Of(conversation.Result, conversation.Content)
		// without an id it is anybody's guess whose result it is
		losses.All.Of(s).FindLost(s, find, slices.DeleteFunc(gone, func(l losses.Lost) bool {
			return l.In.In.Messages[l.Message].At("tool_call_id").Text() == ""
		}))
	}
}
