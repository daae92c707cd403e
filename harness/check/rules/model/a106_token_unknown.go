package model

import (
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// TokenUnknown is the rule A106: the template writes text that looks like a special token, and the
// vocabulary has no such token.
var TokenUnknown = &Rule{
	Rule: rule.Rule{
		ID: "A106", Name: "token-unknown", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The template writes text like a special token that is not in the vocabulary.",
		Damage: "It is split into pieces that the model has hardly seen, and any text of a user " +
			"may spell them.",
		Fix: "Add the token to the tokeniser, or write one that it has.",
	},
	Find: anywhere(withVocabulary(checkUnknownTokens)),
}

func checkUnknownTokens(t *tokenised, find Finder) {
	seen := map[string]bool{}
	for _, mark := range [...][2]string{{"<|", "|>"}, {"<｜", "｜>"}} {
		rest := t.prompt
		for {
			_, after, ok := strings.Cut(rest, mark[0])
			inner, next, shut := strings.Cut(after, mark[1])
			if !ok || !shut {
				break
			}
			rest = next
			text := mark[0] + inner + mark[1]
			if strings.ContainsAny(inner, " \n<>|｜") || seen[text] {
				continue
			}
			seen[text] = true
			if _, known := t.v.Find(text); !known {
				find("%s writes %q, which is no token of the vocabulary", t.name, text)
			}
		}
	}
}
