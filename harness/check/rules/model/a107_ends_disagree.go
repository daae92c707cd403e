package model

import (
	"slices"

	"github.com/goassay/assay/harness/check/rule"
)

// EndsDisagree is the rule A107: the tokeniser's EOS is none of the tokens at which
// generation_config.json stops.
var EndsDisagree = &Rule{
	Rule: rule.Rule{
		ID: "A107", Name: "ends-disagree", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "The tokeniser's EOS token is not one at which generation_config.json stops.",
		Damage: "Engines that read one of the files stop where those that read the other go on.",
		Fix:    "Add the id of eos_token to eos_token_id in generation_config.json.",
	},
	Find: anywhere(withVocabulary(checkEndsDisagree)),
}

func checkEndsDisagree(t *tokenised, find Finder) {
	eos, ok := t.v.Find(t.v.EOS)
	if ok && len(t.v.Stops) > 0 && !slices.Contains(t.v.Stops, eos.ID) {
		find("eos_token is %q, token %d; generations stop at %v", eos.Text, eos.ID, t.v.Stops)
	}
}
