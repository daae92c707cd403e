package content

import (
	"slices"

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
		Short:  "A system message does not reach the prompt, and nobody is told.",
		Damage: "Instructions are ignored silently.",
		Fix:    "Write the system message, or raise an exception.",
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
	}
}
