package model

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/harness/check/rule"
)

// MarkerInPieces is the rule A104: a marker falls into several tokens, and a special token is
// spelled nearly alike.
var MarkerInPieces = &Rule{
	Rule: rule.Rule{
		ID: "A104", Name: "marker-in-pieces", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "A marker is split into several tokens; a special token is spelt almost like it.",
		Damage: "The model was trained with the special token and reads the marker as plain text.",
		Fix:    "Spell the marker as the tokeniser does.",
	},
	Find: anywhere(withVocabulary(checkMarkerPieces)),
}

// bare is a marker without its easily mistaken characters.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" |｜_▁-", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

func checkMarkerPieces(t *tokenised, find Finder) {
	seen := map[string]bool{}
	t.Analysis().Format.Literals(func(literal string) string {
		text := strings.Trim(literal, format.Space)
		if _, known := t.v.Find(text); known || seen[text] || len(t.v.Scan(text)) > 0 ||
			bare(text) == "" {
			return literal
		}
		seen[text] = true
		for _, token := range t.v.Tokens() {
			if token.Special && bare(token.Text) == bare(text) {
				find("%s writes %q, and the vocabulary has the token %q", t.name, text, token.Text)
			}
		}
		return literal
	})
}
