package conditions

import (
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TextAtARepetition is the rule A154: the template adds words of its own once equal messages or
// calls have come a number of times, and does not where as many differ.
var TextAtARepetition = &probe.Rule{
	Rule: rule.Rule{
		ID: "A154", Name: "text-at-a-repetition", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The template adds text of its own once a message or a tool call has been " +
			"repeated a number of times.",
		Damage: "A model that repeats a call for a good reason, such as to see whether a job has " +
			"ended, is told to stop by text that nobody sent. Short tests do not show it.",
		Fix: "Let the client stop a model that repeats itself, or write the text only where a " +
			"variable of the request asks for it.",
	},
	Unsuppressible: true,
	Sized:          true,
	Find:           prompts.IfHeard(checkRepetition),
}

func checkRepetition(s *probe.Subject, find probe.Finder) {
	if found := growth.Requests.Of(s).Repeated; found.Text != "" {
		find(found.At, "%s", found.Text)
	}
}
