package account

import (
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// IndentationPrinted is the rule A173: the indentation of a line of the template stands between
// two turns of the prompt.
var IndentationPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A173", Name: "indentation-printed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The indentation of the template's own lines is printed between two turns.",
		Damage: "Every turn begins with blanks that the training did not have, and every prompt " +
			"costs tokens for them.",
		Fix: "Strip the white space around blocks: write `{%-` and `{{-`.",
	},
	Find: findIndentationPrinted,
}

func findIndentationPrinted(s *probe.Subject, find probe.Finder) {
	i, ok := account.Indented(account.Entries.Of(s))
	if !ok {
		return
	}
	at := i.In.At(i.Off - 1)
	for n := range s.Source.Parts().All() {
		if n.Is(edit.Data) && n.Covers(at.Off()) {
			find(i.In.At(i.Off), "the indentation of the template is printed between turns")
			return
		}
	}
	find(at.Mended("Remove the blanks, if training had none."), "blanks follow a message")
}
