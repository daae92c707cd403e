package reasoning

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ReasoningPreopened is the rule A022: the generation prompt opens the reasoning block.
var ReasoningPreopened = &probe.Rule{
	Rule: rule.Rule{
		ID: "A022", Name: "reasoning-preopened", Severity: rule.Note, Harm: rule.Style,
		Short: "The generation prompt opens the reasoning block.",
		Damage: "The output has the end of the block and no start. Servers that look for both " +
			"lose the reasoning or show the marker.",
		Fix: "Nothing, if the server parses the output together with the end of the prompt, " +
			"which `assay render --explain` shows.",
	},
	Find: checkPreopened,
}

func checkPreopened(s *probe.Subject, find probe.Finder) {
	ask := chat.Request{Messages: sample.Talk(sample.User)}
	prompt, err := s.Template.Render(ask)
	if !probe.Judged(find, err) {
		return
	}
	if prefill, err := prompt.Prefill(); probe.Judged(find, err) &&
		reason.Opens(prefill, s.Template.Analysis().Format.Reasoning) {
		written, _ := s.Ask(ask)
		find(written.At(len(prompt.Text)-len(prefill)), "the prompt itself opens the reasoning: "+
			"parsers must know that the output starts in it\nthe prompt ends with: %q", prefill)
	}
}
