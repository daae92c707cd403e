package inputs

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// SystemRefused is the rule A043: the template refuses a system message.
var SystemRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A043", Name: "system-refused", Severity: rule.Warning, Harm: rule.Refused,
		Short: "The template refuses a system message.",
		Damage: "Clients that send one get an error, unless the server moves it into the first " +
			"user message.",
		Fix: "Write the system message, inside the first user message if the model was trained " +
			"without that role.",
	},
	Find: checkSystemRefused,
}

// checkSystemRefused renders unfitted: the engine moves the message where a template refuses it,
// and others do not.
func checkSystemRefused(s *probe.Subject, find probe.Finder) {
	if _, err := s.Raw(sample.Talk(sample.User), false); !probe.Judged(find, err) {
		return // refused without a system message too
	}
	// What it did not mean to raise is A066.
	told, err := s.Raw(sample.Talk(s.SystemTurn(), sample.User), false)
	if err != nil && probe.Worded(err) {
		find(probe.Nowhere.Shown(told.In), "a leading system message is refused: %w\n"+
			"sent by: Claude Code, cline, Codex, "+
			"opencode and pydantic-ai, with every request", err)
	}
}
