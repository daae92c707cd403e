package account

import (
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ValuesRunTogether is the rule A169: a value of a call, a tool or a document runs into the next
// one, or into a letter of the template's own, with nothing between.
var ValuesRunTogether = &probe.Rule{
	Rule: rule.Rule{
		ID: "A169", Name: "values-run-together", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A value of a tool call, a tool or a document runs into the next one, or into the " +
			"template's own text.",
		Damage: "The model reads the id call_7 and the result 18 degrees as call_718 degrees, or " +
			"two calls as one.",
		Fix: "Write a separator between the two: a line feed, a comma or a marker.",
	},
	Find: findValuesRunTogether,
}

// findValuesRunTogether looks at the joints of all entries; one finding for each place.
func findValuesRunTogether(s *probe.Subject, find probe.Finder) {
	seen := map[int]bool{}
	for _, e := range account.Entries.Of(s) {
		for _, j := range e.Joints() {
			at := e.At(j.Right.From)
			if seen[at.Off()] {
				continue
			}
			seen[at.Off()] = true
			find(at, "%s runs into %s, with nothing between them", j.Before, j.After)
		}
	}
}
