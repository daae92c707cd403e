package requests

import (
	"slices"

	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
)

// SpellingChangesPrompt is the rule A159: two requests that say the same and are spelled
// otherwise give different prompts.
var SpellingChangesPrompt = &probe.Rule{
	Rule: rule.Rule{
		ID: "A159", Name: "spelling-changes-prompt", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Two requests with the same meaning, in different forms, give different prompts.",
		Damage: "With `\"tools\": []` the model is told that it has tools and is shown none; a " +
			"message with a member that is null loses its end.",
		Fix: "Write both forms alike: decide by the value of a member and not by its presence.",
	},
	Find: checkSpellingChangesPrompt,
}

func checkSpellingChangesPrompt(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return f.Kind == variant.Changed && says(f)
	}) {
		f, find := c.faults[0], find
		served := func(f variant.Fault) bool { return view.Served(f.Views) }
		find = probe.NoteIf(!slices.ContainsFunc(c.faults, served), find)
		find(c.at, "%s gives another prompt than without it\n%swho: %s\n%s%s",
			f.In.Name, excerpts(f), view.Names(f.Views), c.others(), asked(s, f))
	}
}
