package program

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// BranchEmpty is the rule A139: a condition or a loop has nothing in it.
var BranchEmpty = &probe.Rule{
	Rule: rule.Rule{
		ID: "A139", Name: "branch-empty", Severity: rule.Note, Harm: rule.Style,
		Short:  "A condition or a loop has nothing in it.",
		Damage: "The text or the statement that belongs there is missing, and nobody is told.",
		Fix:    "Write it, or turn the condition around. A comment says that nothing is meant.",
	},
	Static: true,
	Find:   checkEmptied,
}

func checkEmptied(s *probe.Subject, find probe.Finder) {
	for _, h := range s.Source.Parts().Hollows() {
		find(probe.Offset(h.Off), "this branch is empty: nothing stands before the next "+
			"statement, %s",
			probe.JSON(h.Next))
	}
}
