package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
)

// ArgumentsDoubleEncoded is the rule A018: arguments that come as a string, as OpenAI's API sends
// them, are printed as a quoted string.
var ArgumentsDoubleEncoded = &probe.Rule{
	Rule: rule.Rule{
		ID: "A018", Name: "arguments-double-encoded", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Tool-call arguments that come as a string are printed as a quoted string.",
		Damage: "OpenAI's API sends arguments as a string. The model sees `\"{\\\"city\\\": " +
			"...}\"` in its history and writes the same.",
		Fix: "Quote only what is not a string: `{{ arguments if arguments is string else " +
			"arguments | tojson }}`.",
	},
	Find: probe.IfReplays(checkStringArguments),
}

func checkStringArguments(s *probe.Subject, find probe.Finder) {
	prompt, err := s.WithArguments(sample.ArgumentsText)
	if quoted := `\"city\"`; err == nil && prompt.Has(quoted) {
		parse, others := view.ByArguments()
		find(prompt.Of(quoted), "the arguments of a tool call, as the JSON string that OpenAI's API "+
			"sends, are encoded again\nwho: %s, and data sets that keep such strings (%s parse "+
			"them first)", view.Names(others), view.Names(parse))
	}
}
