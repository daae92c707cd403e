package reasoning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/fact/contrast"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ReasoningLostInLoop is the rule A072: while calls go on, reasoning is dropped that is kept in
// another step, in an older turn or in the last answer.
var ReasoningLostInLoop = &probe.Rule{
	Rule: rule.Rule{
		ID: "A072", Name: "reasoning-lost-in-loop", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "Reasoning is dropped between tool calls, though other assistant messages keep it.",
		Damage: "The model forgets its plan, and each call changes the prompt before it.",
		Fix: "Keep the reasoning of every assistant message since the last user message, " +
			"whatever else it has.",
	},
	Supersedes: []string{"A087", "A148", "A162", "A163"},
	Find:       checkLoopReasoning,
}

// checkLoopReasoning looks for a call whose reasoning has another fate than that of a comparable
// message. A template may drop the reasoning of older turns, but not that of the running one alone.
func checkLoopReasoning(s *probe.Subject, find probe.Finder) {
	all := contrast.All.Of(s)
	kept, lost, ok := all.Split(contrast.Running)
	for _, other := range []contrast.Stage{contrast.Answered, contrast.Past, contrast.Cut,
		contrast.Older, contrast.Last} {
		if !ok {
			kept, lost, ok = all.Pair(other, contrast.Running)
		}
	}
	if ok {
		findContrast(find, kept, lost)
	}
}

// findContrast reports reasoning that is lost, beside some that is kept.
func findContrast(find probe.Finder, kept, lost contrast.Leaf) {
	path := fmt.Sprintf("messages[%d].reasoning_content", lost.Message)
	happens := fmt.Sprintf("the reasoning of %s is lost in one request and kept in another",
		lost.Stage)
	switch {
	case kept.Stage != lost.Stage:
		happens = fmt.Sprintf("the reasoning of %s is dropped, and that of %s is kept", lost.Stage,
			kept.Stage)
	case null(lost) && !null(kept):
		happens = fmt.Sprintf("the reasoning of %s is dropped where its content is null", lost.Stage)
	default:
		alone := slices.DeleteFunc(strings.Split(lost.Name(), ", "), func(m string) bool {
			return slices.Contains(strings.Split(kept.Name(), ", "), m)
		})
		if len(alone) == 1 {
			happens = fmt.Sprintf("the reasoning of %s is dropped where there is %s",
				lost.Stage, probe.Message(alone[0]))
		}
	}
	find(lost.In.Lost(path, lost.Text).Bare(), "%s\ndropped: in message %d of: %s\n"+
		"kept: in message %d of: %s", happens, lost.Message+1, told(lost), kept.Message+1,
		told(kept))
}

// told is the conversation of a leaf in words. Those do not tell null content from an empty text.
func told(l contrast.Leaf) string {
	if null(l) {
		return l.Name() + "; its content is null"
	}
	return l.Name()
}

// null reports whether the content of a leaf's message is null.
func null(l contrast.Leaf) bool {
	content, there := l.In.In.Messages[l.Message].Get("content")
	return there && content.IsNull()
}
