package calls

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// ResultUnnamed is the rule A129: a tool's result without the function's name, as OpenAI's API has
// it, is refused, or its call's id or a word stands for the name.
var ResultUnnamed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A129", Name: "result-unnamed", Severity: rule.Error, Harm: rule.Refused,
		Short: "A tool message without a name is refused, or shows an id or a word as its name.",
		Damage: "Clients send the tool_call_id alone, as OpenAI's API has it: the model reads " +
			"the result of a function that does not exist.",
		Fix: "Look the name up: it is in the call before whose id is the tool_call_id.",
	},
	Find: probe.IfReplays(checkResultNamed),
}

// checkResultNamed renders unfitted: the engine gives a result its name, and others do not.
func checkResultNamed(s *probe.Subject, find probe.Finder) {
	nameless := sample.Result.Without("name")
	for _, arguments := range []ordered.Value{sample.Arguments, sample.ArgumentsText} {
		call := sample.CallTurnWith(arguments)
		named, err := s.Raw(sample.Talk(sample.User, call, sample.Result), true)
		if err != nil {
			continue
		}
		without, err := s.Raw(sample.Talk(sample.User, call, nameless), true)
		at := report.Parting(named.Text, without.Text)
		_, after, called := strings.Cut(named.Text, "CITYNEEDLE")
		switch {
		case err != nil:
			find(probe.Nowhere.Shown(without.In), "a tool message without a name, as OpenAI's "+
				"API sends it, is refused: %w\nsent by: every client of OpenAI's API that calls "+
				"tools", err)
		case !called || strings.Contains(after, "callid001"): // it tells which call it is of
		case strings.HasPrefix(named.Text[at:], "get_weather"):
			probe.Weigh(find, rule.Warning)(without.At(at), "a tool message without a name, as "+
				"OpenAI's API sends it, is written without the name of its call\n%s",
				report.Sides("named", named.Text, "without", without.Text))
		}
		return
	}
}
