package values

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// NumberChanged is the rule A024: a number in the arguments of a call is written with other digits.
var NumberChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A024", Name: "number-changed", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "A number in tool-call arguments is written with other digits.",
		Damage: "An id of 19 digits becomes another id.",
		Fix:    "Print numbers with `tojson`, not with `round`, `int` or `float`.",
	},
	Find: probe.IfReplays(checkNumbers),
}

func checkNumbers(s *probe.Subject, find probe.Finder) {
	const digits = "9007199254740993"
	prompt, err := writes(s, sample.Arguments.With("days", ordered.Num(digits)))
	if probe.Judged(find, err) && prompt.Has("CITYNEEDLE") && !prompt.Has(digits) {
		find(prompt.Near("days"), "a number among a tool call's arguments is changed: %s is not "+
			"written as it came", digits)
	}
}
