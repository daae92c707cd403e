package reasoning

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/account"
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

// checkLoopReasoning looks at all conversations, and at the plain requests in which one call
// follows the result of another.
func checkLoopReasoning(s *probe.Subject, find probe.Finder) {
	all := prompts.All.Of(s)
	for _, e := range account.Entries.Of(s) {
		thoughts := 0
		for _, m := range e.In.Messages {
			if conversation.KindOf(m) == conversation.Call && !m.At("reasoning_content").IsNull() {
				thoughts++
			}
		}
		if thoughts > 1 {
			t := prompts.Look(s, e.In)
			t.Name = e.Name
			all = append(all[:len(all):len(all)], t)
		}
	}
	for _, t := range all {
		if t.Err != nil {
			continue
		}
		gone := map[string]conversation.Leaf{} // by the field that it has
		found := t.Origins()
		for _, l := range t.Leaves() {
			switch {
			case l.Message < 0:
			case t.Kinds[l.Message] == conversation.Question:
				clear(gone)
			case l.Part == conversation.Reasoning && t.Kinds[l.Message] == conversation.Call:
				field := l.Path[strings.LastIndexByte(l.Path, '.'):]
				lost, ok := gone[field]
				if !prompts.Has(found, prompts.OriginOf(l)) {
					gone[field] = l
				} else if ok {
					find(t.Near(lost.Text), "the reasoning of message %d is dropped, that of "+
						"message %d is kept\nrequest: %s", lost.Message+1, l.Message+1, t.Name)
					return
				}
			}
		}
	}
}
