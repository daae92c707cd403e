package values

import (
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// NullAmbiguous is the rule A041: a null and the string that spells it are written the same, so
// that only the tool's schema tells them apart.
var NullAmbiguous = &probe.Rule{
	Rule: rule.Rule{
		ID: "A041", Name: "null-ambiguous", Severity: rule.Note, Harm: rule.Misread,
		Short: "A null and a string are written alike; only the tool's schema tells them apart.",
		Damage: "The string \"none\" becomes null, or an argument that is null becomes the " +
			"string \"None\".",
		Fix: "Leave out arguments that are null, or write strings in quotes.",
	},
	Find: checkNullAmbiguous,
}

func checkNullAmbiguous(s *probe.Subject, find probe.Finder) {
	calls := s.Template.Analysis().Format.Calls
	if len(calls) == 0 || calls[0].Body.Kind != format.BodyTagged {
		return
	}
	asNull, err := s.WithArguments(sample.Arguments.With("city", ordered.Value{}))
	for _, word := range []string{"null", "None", ""} {
		asString, again := s.WithArguments(sample.Arguments.With("city", ordered.Str(word)))
		if err == nil && probe.Judged(find, again) && asNull.Text == asString.Text {
			find(asNull.Near("city"), "in a tool call's arguments, the string %q and null are "+
				"written alike", word)
			return
		}
	}
}
