package requests

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
)

// SpellingRefused is the rule A160: the template refuses, in its own words, a request that
// clients send, though it takes a plainer one that says the same.
var SpellingRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A160", Name: "spelling-refused", Severity: rule.Warning, Harm: rule.Refused,
		Short: "The template refuses a request that clients send, though it takes a plainer one " +
			"with the same meaning.",
		Damage: "An agent goes on with a conversation of another model, whose ids have another " +
			"form, and every request is refused.",
		Fix: "Refuse only what the model cannot take: test the value of a member, and write ids " +
			"as they come.",
	},
	Find: checkSpellingRefused,
}

func checkSpellingRefused(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return f.Kind == variant.Refused && says(f)
	}) {
		f, find := c.faults[0], find
		if strings.Contains(f.In.Name, `"tool_calls"`) { // it calls nothing
			find = probe.Weigh(find, rule.Error)
		}
		find(c.at, "a request with %s is refused in %s: %w\n%s%s",
			f.In.Name, view.Names(f.Views), f.Err, c.others(), asked(s, f))
	}
}
