package program

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// StateNeverChanges is the rule A144: a field of a namespace is read and never set, and a variable
// of its name is set instead.
var StateNeverChanges = &probe.Rule{
	Rule: rule.Rule{
		ID: "A144", Name: "state-never-changes", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A field of a namespace is read and never set; a variable of the same name is set " +
			"instead.",
		Damage: "A counter stays at its first value, a flag is never raised: what depends on it " +
			"never happens, or always does.",
		Fix: "Set the field: `{% set ns.field = ... %}`.",
	},
	Static: true,
	Find:   checkState,
}

// checkState looks for a field of a namespace that nothing sets after the namespace is made.
func checkState(s *probe.Subject, find probe.Finder) {
	if read, set := s.Flow().Unset(); read != nil {
		find(probe.Offset(set.Off()), "%s is set, but %s is read, at %s, and nothing sets that",
			set.Name, read.Name, line(s, read.Off()))
	}
}
