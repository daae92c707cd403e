package model

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/check/rule"
)

// StopEndsNoTurn is the rule A103: no token at which a generation stops ends a turn in the
// template.
var StopEndsNoTurn = &Rule{
	Rule: rule.Rule{
		ID: "A103", Name: "stop-ends-no-turn", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "No token at which generation stops ends an assistant message in the template.",
		Damage: "A model that is trained with the template never learns to stop.",
		Fix:    "Write such a token at the end of assistant messages.",
	},
	Find: anywhere(withVocabulary(checkStopsEnd)),
}

func checkStopsEnd(t *tokenised, find Finder) {
	const answer = "SECONDNEEDLE"
	prompt, err := t.Render(chat.Request{NoGeneration: true, Messages: []ordered.Value{
		chat.MessageOf("user", ordered.Str("FIRSTNEEDLE")),
		chat.MessageOf("assistant", ordered.Str(answer)),
	}})
	_, rest, written := strings.Cut(prompt.Text, answer)
	if err != nil || !written || len(t.v.Stops) == 0 {
		return
	}
	stops := func(m vocab.Match) bool { return slices.Contains(t.v.Stops, m.ID) }
	if ids, _ := t.ends(); !slices.ContainsFunc(t.v.Scan(rest), stops) &&
		(len(ids) == 0 || slices.Contains(t.v.Stops, ids[0])) {
		find("%s writes %q after an assistant message; generations stop at %v", t.name, rest,
			t.v.Stops)
	}
}
