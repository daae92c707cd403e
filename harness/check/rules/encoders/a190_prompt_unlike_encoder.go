package encoders

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// PromptUnlikeEncoder is the rule A190: the template writes another prompt than the encoder that it
// is held to (--against).
var PromptUnlikeEncoder = &probe.Rule{
	Rule: rule.Rule{
		ID: "A190", Name: "prompt-unlike-encoder", Severity: rule.Error, Harm: rule.Changed,
		Short: "The template writes another prompt than the encoder it is compared with " +
			"(--against).",
		Damage: "The model was trained on the encoder's prompts. Servers that render the " +
			"template show it something else, and it answers worse.",
		Fix: "Write what the encoder writes. Where the encoder is wrong, have assay.toml ignore " +
			"the rule for this template.",
	},
	Find: checkUnlike,
}

func checkUnlike(s *probe.Subject, find probe.Finder) {
	c := Compared.Of(s)
	if !probe.Judged(find, c.Err) {
		return
	}
	for _, d := range c.Differences {
		t := d.Prompt
		at := report.Parting(t.Text, d.Text)
		find(d.At, "%s\n%s\nwhose: %s\n%s", d.Told(s.Encoder.String()),
			report.Sides("template", t.Text, "encoder", d.Text), whose(t, at), d.counted())
	}
}
