package rounds

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// EscapePrinted is the rule A166: the template writes a backslash and a letter between messages,
// in place of a line feed or a tab, or a control character in place of a backslash and a letter.
var EscapePrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A166", Name: "escape-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A line feed or tab is written as a backslash and a letter, or a backslash and a " +
			"letter as a control character.",
		Damage: "The prompt has a backslash and an n where the model was trained on a new line, " +
			"in every turn.",
		Fix: "Write the line feed with one backslash in a Jinja string, or as a line of the " +
			"template. Write a backslash that is meant as such, as in `\\boxed{}`, twice.",
	},
	Find: checkEscapePrinted,
}

func checkEscapePrinted(s *probe.Subject, find probe.Finder) {
	for n := range s.Source.Parts().All() {
		text := n.Content()
		if at := strings.IndexAny(text, "\a\b\f\v\x00"); at >= 0 && !n.Up.Is(edit.Call) &&
			!n.Up.Is(edit.Compare) {
			shown := strings.ReplaceAll(text, text[at:at+1], fmt.Sprintf("<U+%04X>", text[at]))
			find(probe.Offset(n.From), "a backslash and a letter in a string become a control "+
				"character, U+%04X\nthe model sees: %s", text[at], report.Quote(shown, at))
		}
	}
	if e, ok := round.Escaped(s.Template.ChatTemplate()); ok {
		prompt, err := s.Render(e.Input)
		if err != nil {
			return // it rendered a moment ago
		}
		find(prompt.At(e.Off), "%q is printed as a backslash and a letter: it stands outside of "+
			"a string", prompt.Text[e.Off:min(e.Off+2, len(prompt.Text))])
	}
}
