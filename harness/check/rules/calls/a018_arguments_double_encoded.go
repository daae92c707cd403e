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
		find(prompt.Of(quoted), "a tool call's arguments that come as a JSON string, as OpenAI's "+
			"API sends them and data sets keep them, are encoded a second time\nwho: %s (%s parse "+
			"them first)", view.Names(others), view.Names(parse))
	}
}
