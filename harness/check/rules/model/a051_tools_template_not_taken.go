package model

import (
	"slices"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// ToolsTemplateNotTaken is the rule A051: for requests with tools an engine takes a template
// without tool support, though the model has one with it.
var ToolsTemplateNotTaken = &Rule{
	Rule: rule.Rule{
		ID: "A051", Name: "tools-template-not-taken", Severity: rule.Warning, Harm: rule.Lost,
		Short: "For requests with tools an engine loads a template without tool support, though " +
			"the model has one with it.",
		Damage: "On that engine the model is never told about its tools; elsewhere it is.",
		Fix: "Make the default template support tools, or put the one that does where that " +
			"engine looks.",
	},
	Find: anywhere(checkToolsTaken),
}

// gate asks the gate about a template; one that does not compile is rejected.
func gate(src subject.Source) error {
	t, err := src.Compile()
	if err != nil {
		return err
	}
	return t.Gate().Err()
}

func checkToolsTaken(s *Subject, find Finder) {
	able := slices.IndexFunc(s.Sources, func(src subject.Source) bool { return gate(src) == nil })
	if able < 0 {
		return
	}
	for _, p := range s.picks {
		if at := p.Tools.Template; at >= 0 && gate(s.Sources[at]) != nil {
			find("%s takes %s, and %s is the one that "+
				"supports tools%s", p, s.Templates[at].ID, s.Templates[able].ID, because(p.Tools))
		}
	}
}

// because is the rule after a choice, for the end of a sentence.
func because(c modeldir.Choice) string {
	if c.Why == "" {
		return ""
	}
	return " (" + c.Why + ")"
}
