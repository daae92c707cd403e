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
		Short: "The template writes another prompt than the encoder that it is held to " +
			"(--against).",
		Damage: "The model was trained on the encoder's prompts. Servers that render the template " +
			"show it something else, and it answers worse.",
		Fix: "Write what the encoder writes. Where the encoder is wrong, have assay.toml ignore " +
			"the rule for this template.",
	},
	Group: probe.GroupLint,
	Find:  checkUnlike,
}

func checkUnlike(s *probe.Subject, find probe.Finder) {
	c := Compared.Of(s)
	if !probe.Judged(find, c.Err) {
		return
	}
	for _, d := range c.differences {
		t := d.prompt
		at := report.Parting(t.Text, d.text)
		find(d.at, "the model is shown %s where %s writes %s\n%s\nwhose: %s\n%s",
			glimpse(t.Text, at), s.Encoder, glimpse(d.text, at),
			report.Sides("template", t.Text, "encoder", d.text), whose(t, at), d.counted())
	}
}
