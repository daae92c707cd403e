package history

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// StepRewritten is the rule A087: while calls go on, the next step changes the prompt before it.
var StepRewritten = &probe.Rule{
	Rule: rule.Rule{
		ID: "A087", Name: "step-rewritten", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Each step of a series of tool calls changes the prompt before it.",
		Damage: "At each step the server processes everything since the user message again, and " +
			"the model sees another history than it wrote.",
		Fix: "Write a tool call and its result the same wherever they stand.",
	},
	Find: probe.IfReplays(checkSteps),
}

// checkSteps renders a loop of calls step by step. Each prompt, and each with the answer to it, is
// the beginning of the next one. No server is sent a request that ends in calls: where such a
// render does not begin with the prompt that the calls answer, and the next one does, it says
// nothing.
func checkSteps(s *probe.Subject, find probe.Finder) {
	thinking := sample.CallTurn.With("reasoning_content", ordered.Str("REASONNEEDLE"))
	call2 := sample.CallTurnOf(sample.LaterCall).With("reasoning_content",
		ordered.Str("SECONDNEEDLE"))
	type step struct {
		name     string
		messages []ordered.Value
		generate bool
	}
	steps := []step{
		{"the user message", sample.Talk(sample.User), true},
		{"a tool call", sample.Talk(sample.User, thinking), false},
		{"the tool message", sample.Talk(sample.User, thinking, sample.Result), true},
		{"a second tool call", sample.Talk(sample.User, thinking, sample.Result, call2), false},
		{"the second tool message", sample.Talk(sample.User, thinking, sample.Result, call2,
			sample.LaterResult), true},
	}
	var prompt, before *probe.Rendering // the last that was sent, and that with its answer
	for _, st := range steps {
		r := chat.Request{Messages: st.messages, NoGeneration: !st.generate, Tools: sample.Tools()}
		p, err := s.Ask(r)
		if !probe.Judged(find, err) {
			return
		}
		if before != nil && !strings.HasPrefix(p.Text, before.Text) &&
			(strings.HasPrefix(before.Text, prompt.Text) ||
				!strings.HasPrefix(p.Text, prompt.Text)) {
			at := report.Parting(before.Text, p.Text)
			if last := lastNeedle(before.Text); at < last {
				r := s.Template.Analysis().Format.Reasoning
				// models are trained so
				find := probe.NoteIf(strings.HasPrefix(reason.Without(r, p.Text),
					reason.Without(r, before.Text)), find)
				find(p.Instead(at, before.Text[at:], before.At(at)), "%s changes the prompt "+
					"before it: caches are lost\n%s", st.name,
					report.Sides("before", before.Text, "after", p.Text))
				return
			}
		}
		if !st.generate {
			before = &p
		} else {
			prompt, before = &p, nil
		}
	}
}

// lastNeedle is where the last text of a step that the model wrote ends in a prompt.
func lastNeedle(text string) int {
	last := -1
	for _, needle := range []string{"REASONNEEDLE", "CITYNEEDLE", "SECONDNEEDLE", "list_notes"} {
		if at := strings.LastIndex(text, needle); at >= 0 {
			last = max(last, at+len(needle))
		}
	}
	return last
}
