package content

import (
	"slices"

	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// LaterInstructionsDropped is the rule A061: instructions after the first message, or a second
// message of instructions, do not reach the prompt.
var LaterInstructionsDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A061", Name: "later-instructions-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short: "A system or developer message that is not the first message is left out.",
		Damage: "Agents add such messages while they work, or send a developer message after a " +
			"system message. The model never sees them, and nobody is told.",
		Fix: "Write every system message where it stands, or refuse it with `raise_exception`.",
	},
	Requires: []string{"A013"},
	Find:     checkLaterInstructions,
}

func checkLaterInstructions(s *probe.Subject, find probe.Finder) {
	if c := s.Template.Caps(); c.SystemRole && prompts.Heard(s, find, conversation.System) {
		told := s.Fires("A013") // of the first message
		later := slices.DeleteFunc(losses.All.Of(s).Of(conversation.System, conversation.Content),
			func(l losses.Lost) bool { return l.Alone() || told && l.Message == 0 })
		losses.All.Of(s).FindLost(s, find, later)
		losses.All.Of(s).FindLost(s, find,
			losses.All.Of(s).Of(conversation.Developer, conversation.Content))
	}
}
