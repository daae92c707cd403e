package encoders

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// UnknownToEncoder is the rule A192: the template writes a conversation that the encoder refuses
// (--against).
var UnknownToEncoder = &probe.Rule{
	Rule: rule.Rule{
		ID: "A192", Name: "unknown-to-encoder", Severity: rule.Note, Harm: rule.Changed,
		Short: "The template writes a conversation that the encoder refuses (--against).",
		Damage: "The format has no prompt for the conversation, so the model was not trained on " +
			"the one that the template writes.",
		Fix: "Refuse it in words that tell the client what to send, or leave it: many servers " +
			"would rather answer.",
	},
	Find: checkUnknown,
}

func checkUnknown(s *probe.Subject, find probe.Finder) {
	c := Compared.Of(s)
	if !probe.Judged(find, c.Err) {
		return
	}
	for _, d := range c.Unknown {
		find(d.At, "the template writes a conversation that %s refuses: %s\ntemplate: %s\n%s",
			s.Encoder, d.Text, report.Quote(d.Prompt.Text, len(d.Prompt.Text)), d.counted())
	}
}
