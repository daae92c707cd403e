package content

import (
	"slices"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/exploration"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// SystemTextDropped is the rule A013: a system message does not reach the prompt, and nobody is
// told.
var SystemTextDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A013", Name: "system-text-dropped", Severity: rule.Error, Harm: rule.Lost,
		Short:  "A system message is silently left out of the prompt.",
		Damage: "The model never sees the client's instructions.",
		Fix:    "Write the system message, or refuse it with `raise_exception`.",
	},
	Find: checkSystem,
}

func checkSystem(s *probe.Subject, find probe.Finder) {
	prompt, err := s.Raw(sample.Talk(s.SystemTurn(), sample.User), false)
	if err == nil && !prompt.Has("SYSTEMNEEDLE") {
		find(prompt.Near("SYSTEMNEEDLE"), "the system message does not reach the prompt, and "+
			"no error is raised")
		return
	}
	if c := s.Template.Caps(); c.SystemRole && prompts.Heard(s, find, conversation.System) {
		first := slices.DeleteFunc(losses.All.Of(s).Of(conversation.System, conversation.Content),
			func(l losses.Lost) bool { return !l.Alone() })
		losses.All.Of(s).FindLost(s, find, first)
		if err == nil && len(first) == 0 {
			checkSystemBeside(s, find, prompt)
		}
	}
}

// checkSystemBeside looks for a variable of the request beside which the system message, which is
// written otherwise, is not. A variable that is instructions itself may take their place.
func checkSystemBeside(s *probe.Subject, find probe.Finder, plain probe.Rendering) {
	for _, v := range exploration.Variables.Of(s) {
		prompt, err := s.With(plain, v)
		if err != nil || !prompt.Has("USERNEEDLE") || prompt.Has("SYSTEMNEEDLE") {
			continue
		}
		text, err := s.With(plain, ordered.MemberOf(v.Key, ordered.Str("VALUENEEDLE")))
		if err != nil || !text.Has("VALUENEEDLE") {
			find(prompt.Near("SYSTEMNEEDLE"), "with %s = %s the system message does not reach the "+
				"prompt", v.Key, v.Value)
			return
		}
	}
}
