package proof

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ShapeDropped is the rule A037: the template does not write a part of some messages, so that
// nothing shows how the model spells it.
var ShapeDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A037", Name: "shape-dropped", Severity: rule.Note, Harm: rule.Lost,
		Short:  "Some assistant messages lose a part, so nothing shows how the model writes it.",
		Damage: "The history lacks what the model wrote, such as content beside tool_calls.",
		Fix: "Write every part of a message. If the part is left out on purpose, there is " +
			"nothing to do.",
	},
	Find: checkDropped,
}

func checkDropped(s *probe.Subject, find probe.Finder) {
	g := grouped(s)
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Dropped && (!shape.Tools || s.Template.Caps().ToolCalls) {
			g.add(shape, shape.Note, "%s for an assistant message with %s", shape.Note, shape.Name)
		}
	}
	g.find(find, "the same", func(shape verify.Shape) probe.Where { return near(s, shape.Tools) })
}

// near is the place that last looked at the part of a turn with calls, or with reasoning, that the
// prompt lacks.
func near(s *probe.Subject, tools bool) probe.Where {
	turn := sample.Thinking
	needles := []string{"REASONNEEDLE", "ANSWERNEEDLE"}
	if tools {
		turn = sample.FullTurn(sample.Call, chat.CallOf("callid001", "get_weather",
			sample.Arguments.With("city", ordered.Str("SECONDCITY"))))
		needles = []string{"CITYNEEDLE", "SECONDCITY", "REASONNEEDLE", "ANSWERNEEDLE"}
	}
	prompt, err := s.Fitted(sample.Talk(sample.User, turn), tools, false)
	if gone := prompt.Lacks(needles...); err == nil && gone != nil {
		return prompt.Near(gone[0])
	}
	return probe.Nowhere
}
