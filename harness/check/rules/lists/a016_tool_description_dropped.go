package lists

import (
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// ToolDescriptionDropped is the rule A016: parts of a tool's description do not reach the prompt.
var ToolDescriptionDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A016", Name: "tool-description-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "Parts of a tool's description do not reach the prompt.",
		Damage: "The model guesses the meaning of a parameter, or which values it may have.",
		Fix:    "Print the tool as a whole with tojson.",
	},
	Group: probe.GroupLint,
	Find:  checkToolText,
}

func checkToolText(s *probe.Subject, find probe.Finder) {
	if s.Supports(find, probe.DescribesTools) && prompts.Heard(s, find) {
		losses.All.Of(s).FindLost(find, losses.All.Of(s).
			Of(conversation.None, conversation.ToolName, conversation.Description,
				conversation.Parameter, conversation.Choice, conversation.Required))
	}
}
