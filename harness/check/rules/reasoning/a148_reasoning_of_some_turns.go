package reasoning

import (
	"github.com/goassay/assay/harness/check/fact/contrast"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ReasoningOfSomeTurns is the rule A148: among messages that stand alike, such as the answers
// before the last question, some keep their reasoning and others lose it.
var ReasoningOfSomeTurns = &probe.Rule{
	Rule: rule.Rule{
		ID: "A148", Name: "reasoning-of-some-turns", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Some assistant messages keep their reasoning, and others like them lose it.",
		Damage: "Models are trained to see all reasoning, or only that since the last user " +
			"message. Here old reasoning stays in the prompt without a plan, and takes up room.",
		Fix: "Keep all reasoning, or only that after the last user message. To find this " +
			"message, go backwards and stop at the first whose role is user.",
	},
	Find: checkOlderReasoning,
}

// checkOlderReasoning looks at all messages but those of a running loop, which are A072's.
func checkOlderReasoning(s *probe.Subject, find probe.Finder) {
	all := contrast.All.Of(s)
	kept, lost, ok := all.Split(contrast.Older, contrast.Past, contrast.Cut, contrast.Last,
		contrast.Answered)
	if !ok {
		kept, lost, ok = all.Pair(contrast.Older, contrast.Last)
	}
	if ok {
		findContrast(find, kept, lost)
	}
}
