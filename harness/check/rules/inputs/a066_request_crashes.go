package inputs

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// RequestCrashes is the rule A066: a request that the protocol permits ends in an error that the
// template did not mean to raise.
var RequestCrashes = &probe.Rule{
	Rule: rule.Rule{
		ID: "A066", Name: "request-crashes", Severity: rule.Error, Harm: rule.Crashed,
		Short: "A request that the API allows crashes the template.",
		Damage: "A client that leaves out a tool's description, or sends tool_calls without " +
			"content, gets status 500 in the middle of its work.",
		Fix: "Test that a member is there before using it: `{% if tool.description %}`. Make a " +
			"list of what `map` or `select` gives before `tojson`: `|list|tojson`. If the model " +
			"cannot do without, say so with `raise_exception`.",
	},
	Find: checkCrashes,
}

func checkCrashes(s *probe.Subject, find probe.Finder) {
	findCrashes(s, find, false)
	findCallCrashes(s, find)
}

// findCallCrashes reports why a call in the form of the protocol crashes, whatever the form of its
// arguments, in a template that looks at calls. The requests of the other rules are fitted to the
// template first: a name that it reads beside the function is put there, which no server does.
func findCallCrashes(s *probe.Subject, find probe.Finder) {
	_, asText := s.WithArguments(sample.ArgumentsText)
	r, err := s.WithArguments(sample.Arguments)
	if err == nil || asText == nil || probe.Worded(err) || probe.Worded(asText) {
		return
	}
	o, _ := r.Observe() // the trace is there even where rendering fails
	if _, looks := o.Trace.Reading("messages[1].tool_calls"); looks {
		find(probe.Nowhere, "a tool call ends in an error: %w", err)
	}
}
