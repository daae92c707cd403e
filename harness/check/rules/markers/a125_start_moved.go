package markers

import (
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// StartMoved is the rule A125: all prompts without tools begin with the same text of the template,
// and those with tools begin otherwise.
var StartMoved = &probe.Rule{
	Rule: rule.Rule{
		ID: "A125", Name: "start-moved", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "Prompts with tools do not begin with the text that all other prompts begin with.",
		Damage: "The tools stand before the token with which all training conversations begin.",
		Fix:    "Write the start of the prompt before the tools.",
	},
	Find: checkStart,
}

// beginsMarked reports whether a marker stands at the start of a prompt, after BOS.
func beginsMarked(t *prompts.Prompt) bool {
	text := strings.TrimLeft(strings.TrimPrefix(t.Text, t.Program.BOS), " \n")
	at, _, ok := markup.Next(text, 0)
	return ok && at == 0
}

// checkStart compares the starts of prompts.
func checkStart(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().Tools || !prompts.Heard(s, find) {
		return
	}
	start, n, marked := "", 0, true
	for t := range prompts.Rendered(s) {
		if len(t.In.Tools) > 0 {
			continue
		}
		if n++; n == 1 {
			start = t.Text
		}
		start = source.CommonPrefix(start, t.Text)
		marked = marked && beginsMarked(t)
	}
	if n >= prompts.Few && marked {
		for t := range prompts.Rendered(s) {
			if len(t.In.Tools) == 0 || t.Text == "" || beginsMarked(t) {
				continue
			}
			t.Show(s, find, 0, "with tools the prompt begins with plain text outside of "+
				"all messages, without tools with a marker")
			return
		}
	}
	if n < prompts.Few || start == "" {
		return
	}
	for t := range prompts.Rendered(s) {
		if len(t.In.Tools) == 0 || t.Text == "" {
			continue
		}
		bos := t.Program.BOS
		if source.CommonPrefix(start, t.Text) == "" ||
			strings.HasPrefix(start, bos) && !strings.HasPrefix(t.Text, bos) {
			t.Show(s, find, 0, "a prompt with tools begins with %s, and one without with %s",
				probe.JSON(firstWord(t.Text)), probe.JSON(start))
			return
		}
	}
}
