package model

import (
	"slices"

	"github.com/goassay/assay/harness/check/rule"
)

// EndIsNoStop is the rule A102: the token that ends a turn is none of those at which a generation
// stops.
var EndIsNoStop = &Rule{
	Rule: rule.Rule{
		ID: "A102", Name: "end-is-no-stop", Severity: rule.Error, Harm: rule.Misread,
		Short:  "The token that ends a turn is not one at which generation stops.",
		Damage: "The output does not end: the model makes up further turns, up to the limit.",
		Fix: "Add its id to eos_token_id in generation_config.json; in a GGUF set the " +
			"end-of-turn token.",
	},
	Find: anywhere(withVocabulary(checkEndStops)),
}

func checkEndStops(t *tokenised, find Finder) {
	ids, texts := t.ends()
	if len(t.v.Stops) == 0 || len(ids) == 0 || slices.Contains(t.v.Stops, ids[0]) {
		return
	}
	find("%s ends turns with %q, token %d; generations stop at %v", t.name, texts[0], ids[0],
		t.v.Stops)
}
