package values

import (
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ValuesAmbiguous is the rule A025: a string and a number are written the same, so that only the
// tool's schema tells them apart.
var ValuesAmbiguous = &probe.Rule{
	Rule: rule.Rule{
		ID: "A025", Name: "values-ambiguous", Severity: rule.Note, Harm: rule.Misread,
		Short:  "A string and a number are written alike; only the tool's schema tells them apart.",
		Damage: "Without a type in the schema the string \"02134\" comes back as the number 2134.",
		Fix:    "Declare the type of every parameter, or write strings in quotes.",
	},
	Find: checkAmbiguous,
}

func checkAmbiguous(s *probe.Subject, find probe.Finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 || calls[0].Body.Kind != format.BodyTagged {
		return
	}
	asNumber, err1 := s.WithArguments(sample.City(ordered.Num("2134")))
	asString, err2 := s.WithArguments(sample.City(ordered.Str("2134")))
	if probe.Judged(find, err1, err2) && asNumber.Text == asString.Text {
		find(asString.Of("2134"), "in a tool call's arguments, the string \"2134\" and the "+
			"number 2134 are written alike")
	}
}
