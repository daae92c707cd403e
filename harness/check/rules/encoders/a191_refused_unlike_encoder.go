package encoders

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// RefusedUnlikeEncoder is the rule A191: the template refuses a conversation that the encoder
// writes (--against).
var RefusedUnlikeEncoder = &probe.Rule{
	Rule: rule.Rule{
		ID: "A191", Name: "refused-unlike-encoder", Severity: rule.Warning, Harm: rule.Refused,
		Short: "The template refuses a conversation that the encoder writes (--against).",
		Damage: "The request ends in an error on servers that render the template, though the " +
			"format has a prompt for it.",
		Fix: "Write what the encoder writes for it, which the finding shows.",
	},
	Find: checkRefused,
}

func checkRefused(s *probe.Subject, find probe.Finder) {
	c := Compared.Of(s)
	if !probe.Judged(find, c.Err) {
		return
	}
	for _, d := range c.Refused {
		find(d.At, "%s writes a conversation that the template refuses: %w\nencoder: %s\n%s",
			s.Encoder, d.Prompt.Err, report.Quote(d.Text, len(d.Text)), d.counted())
	}
}
