package reasoning

import (
	"slices"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ReasoningOfSomeTurns is the rule A148: among the answers before the last question, some keep
// their reasoning and others of the same form lose it.
var ReasoningOfSomeTurns = &probe.Rule{
	Rule: rule.Rule{
		ID: "A148", Name: "reasoning-of-some-turns", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Among the answers before the last question, some keep their reasoning and others " +
			"of the same form lose it.",
		Damage: "Models are trained to see the reasoning since the last question, or all of it. " +
			"Here old reasoning stays in the prompt without a plan, and takes up room.",
		Fix: "Keep all reasoning, or that after the last question alone. To find this " +
			"question, go through the messages from the end, and stop at the first one of a " +
			"user.",
	},
	Group: probe.GroupLint,
	Find:  checkOlderReasoning,
}

// checkOlderReasoning puts the model's messages before and between questions. The template keeps
// the reasoning of all that stand before the last question, or of none of them.
func checkOlderReasoning(s *probe.Subject, find probe.Finder) {
	if s.Template.Caps().Needs.ReasoningField == "" {
		return
	}
	thoughts := [...]string{"THOUGHTONE", "THOUGHTTWO", "THOUGHTSIX"}
	answer := func(i int) []ordered.Value {
		return sample.Talk(sample.Answer.With("reasoning_content", ordered.Str(thoughts[i])))
	}
	call := func(i int) []ordered.Value {
		return sample.Talk(sample.CallTurn.With("reasoning_content", ordered.Str(thoughts[i])),
			sample.Result,
			sample.Answer)
	}
	for _, turn := range [...]func(i int) []ordered.Value{answer, call} {
		if len(turn(0)) > 1 && !s.Template.Caps().ToolCalls {
			return
		}
		for _, begin := range [][]ordered.Value{{}, {sample.User}} {
			for _, mode := range reason.ThinkingModes()[:2] {
				if keepsSome(s, find, slices.Concat(begin, turn(0), sample.Talk(sample.User),
					turn(1),
					sample.Talk(sample.User), turn(2), sample.Talk(sample.LaterUser)), thoughts[:],
					mode) {
					return
				}
			}
		}
	}
}

// keepsSome reports whether a prompt has some of the thoughts and not all.
func keepsSome(s *probe.Subject, find probe.Finder, messages []ordered.Value, thoughts []string,
	mode reason.ThinkingMode) bool {
	p, err := s.Ask(chat.Request{Messages: messages, Tools: sample.Tools(),
		EnableThinking: mode.On})
	if err != nil {
		return false
	}
	gone := p.Lacks(thoughts...)
	if len(gone) == 0 || len(gone) == len(thoughts) ||
		slices.Equal(gone, thoughts[:len(thoughts)-1]) { // the model's last message keeps it
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(thoughts), func(thought string) bool {
		return slices.Contains(gone, thought)
	})
	find(p.Of(kept[0]), "of three answers before the last question, %d lose their reasoning "+
		"and one keeps it\nthe model sees: %s", len(gone), p.Quote(kept[0]))
	return true
}
