package inputs

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// RequestCrashes is the rule A066: a request that the protocol permits ends in an error that the
// template did not mean to raise.
var RequestCrashes = &probe.Rule{
	Rule: rule.Rule{
		ID: "A066", Name: "request-crashes", Severity: rule.Error, Harm: rule.Crashed,
		Short: "A request that the protocol permits ends in an error that the template did not " +
			"mean to raise.",
		Damage: "A client that leaves out a tool's description, or sends a call without content, " +
			"gets status 500 in the middle of its work.",
		Fix: "Ask whether a field is there before using it; where the model cannot do without " +
			"it, say so with raise_exception.",
	},
	Group: probe.GroupLint,
	Find:  checkCrashes,
}

func checkCrashes(s *probe.Subject, find probe.Finder) { findCrashes(s, find, false) }
