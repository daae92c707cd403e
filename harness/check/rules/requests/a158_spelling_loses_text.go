package requests

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// SpellingLosesText is the rule A158: in one spelling of a request that clients send a text of it
// is lost or doubled, though in a plainer one that says the same it is there once.
var SpellingLosesText = &probe.Rule{
	Rule: rule.Rule{
		ID: "A158", Name: "spelling-loses-text", Severity: rule.Error, Harm: rule.Lost,
		Short: "Text is lost or doubled in one form of a request, though not in a plainer one " +
			"with the same meaning.",
		Damage: "A message that comes back with `\"tool_calls\": []` vanishes from the history: " +
			"the model does not know what it said.",
		Fix: "Decide by the value of a member, not by its presence, and write all content parts.",
	},
	Find: checkSpellingLosesText,
}

func checkSpellingLosesText(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return (f.Kind == variant.Lost || f.Kind == variant.Doubled) && !late(f) &&
			f.In.Relation != sent.Inline
	}) {
		f := c.faults[0]
		happens := "is lost"
		switch {
		case f.Kind == variant.Doubled && strings.Contains(f.Want, f.Text):
			happens = "is written twice"
		case f.Kind == variant.Doubled:
			happens = "is written as it came"
		}
		find(c.at, "for %s, the text %q %s (%s)\n%s%s", f.In.Name, f.Text, happens,
			view.Names(f.Views), excerpts(f), c.others())
	}
}
