package reasoning

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// ReasoningLostInLoop is the rule A072: while calls go on, the reasoning of an earlier step is
// dropped and that of a later one kept.
var ReasoningLostInLoop = &probe.Rule{
	Rule: rule.Rule{
		ID: "A072", Name: "reasoning-lost-in-loop", Severity: rule.Warning, Harm: rule.Lost,
		Short: "While calls go on, the reasoning of an earlier step is dropped and that of a " +
			"later one kept.",
		Damage: "The model forgets its plan between two calls, and each step changes the prompt " +
			"before it.",
		Fix: "Keep the reasoning of all steps since the last question, or of none.",
	},
	Group:      probe.GroupLint,
	Supersedes: []string{"A087", "A148", "A163"},
	Find:       checkLoopReasoning,
}

func checkLoopReasoning(s *probe.Subject, find probe.Finder) {
	for _, t := range prompts.All.Of(s) {
		if t.Err != nil {
			continue
		}
		var gone *conversation.Leaf
		found := t.Origins()
		leaves := t.Leaves()
		for i, l := range leaves {
			switch {
			case l.Message < 0:
			case t.Kinds[l.Message] == conversation.Question:
				gone = nil
			case l.Part == conversation.Reasoning && t.Kinds[l.Message] == conversation.Call &&
				reads(s, l.Path):
				if _, ok := found[prompts.OriginOf(l)]; !ok {
					gone = &leaves[i]
				} else if gone != nil {
					find(t.Near(gone.Text), "the reasoning of message %d is dropped, that of "+
						"message %d is kept\nrequest: %s", gone.Message+1, l.Message+1, t.Name)
					return
				}
			}
		}
	}
}

// reads reports whether a path ends in the field that the template reads reasoning from.
func reads(s *probe.Subject, path string) bool {
	field := s.Template.Caps().Needs.ReasoningField
	return field != "" && strings.HasSuffix(path, "."+field)
}
