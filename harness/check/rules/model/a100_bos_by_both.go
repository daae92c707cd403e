package model

import (
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// BOSByBoth is the rule A100: the template writes BOS, and the tokeniser adds one of its own
// accord.
var BOSByBoth = &Rule{
	Rule: rule.Rule{
		ID: "A100", Name: "bos-by-both", Severity: rule.Warning, Harm: rule.Doubled,
		Short: "The template and the tokeniser both write the BOS token.",
		Damage: "Prompts begin with two BOS tokens, which the model never saw, wherever text is " +
			"tokenised as usual.",
		Fix: "Leave bos_token out of the template, or set add_bos_token to false.",
	},
	Find: anywhere(withVocabulary(checkBOSByBoth)),
}

func checkBOSByBoth(t *tokenised, find Finder) {
	if bos := t.v.BOS; bos != "" && t.v.AddsBOS != nil && *t.v.AddsBOS &&
		strings.HasPrefix(t.prompt, bos) {
		find("%s begins prompts with %q, which the tokeniser adds as well", t.name, bos)
	}
}
