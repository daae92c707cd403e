package rounds

import (
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// EscapePrinted is the rule A166: the template writes a backslash and a letter between messages,
// in place of a line feed or a tab.
var EscapePrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A166", Name: "escape-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The template writes a backslash and a letter between messages, in place of a " +
			"line feed or a tab.",
		Damage: "The prompt has the characters \\\\n where the model was trained on a new " +
			"line, in every turn.",
		Fix: "Write the line feed with one backslash in a literal of Jinja, or as a line " +
			"of the template.",
	},
	Find: checkEscapePrinted,
}

func checkEscapePrinted(s *probe.Subject, find probe.Finder) {
	if e, ok := round.Escaped(s.Template.ChatTemplate()); ok {
		prompt, err := s.Render(e.Input)
		if err != nil {
			return // it rendered a moment ago
		}
		find(prompt.At(e.Off), "an escape sequence is written as it is, not as the sign that "+
			"it stands for\nthe model sees: %s", report.Quote(prompt.Text,
			e.Off))
	}
}
