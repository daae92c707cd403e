package lists

import (
	"slices"
	"strings"

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
		Short:  "Part of a tool's description is left out of the prompt.",
		Damage: "The model guesses what a parameter means or which values it takes.",
		Fix:    "Print the whole tool: `{{ tool | tojson }}`.",
	},
	Find: checkToolText,
}

func checkToolText(s *probe.Subject, find probe.Finder) {
	if !s.Supports(find, probe.DescribesTools) || !prompts.Heard(s, find) {
		return
	}
	lost := losses.All.Of(s).Of(conversation.None, conversation.ToolName, conversation.Description,
		conversation.Parameter, conversation.Choice, conversation.Required)
	// the formats of few models have a place for them
	find = probe.NoteIf(!slices.ContainsFunc(lost,
		func(l losses.Lost) bool { return !alternative(l) }), find)
	losses.All.Of(s).FindLost(s, find, lost)
}

// alternative reports whether a text stands within one of several schemas of a parameter.
func alternative(l losses.Lost) bool {
	return strings.Contains(l.Path, "Of[")
}
