package model

import (
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// BOSByNone is the rule A101: the model has a BOS token; neither the template nor the tokeniser
// writes it.
var BOSByNone = &Rule{
	Rule: rule.Rule{
		ID: "A101", Name: "bos-by-none", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "Neither the template nor the tokeniser writes the model's BOS token.",
		Damage: "The model was trained with it, and answers worse without.",
		Fix:    "Begin the template with `{{ bos_token }}`.",
	},
	Find: anywhere(withVocabulary(checkBOSByNone)),
}

func checkBOSByNone(t *tokenised, find Finder) {
	if bos := t.v.BOS; bos != "" && t.v.AddsBOS != nil && !*t.v.AddsBOS &&
		!strings.HasPrefix(t.prompt, bos) {
		find("%s begins prompts without %q, and the tokeniser does not add it", t.name, bos)
	}
}
