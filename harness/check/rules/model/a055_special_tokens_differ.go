package model

import (
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
)

// SpecialTokensDiffer is the rule A055: two files of the model give different texts for the BOS or
// EOS token.
var SpecialTokensDiffer = &Rule{
	Rule: rule.Rule{
		ID: "A055", Name: "special-tokens-differ", Severity: rule.Warning, Harm: rule.Changed,
		Short:  "Two files of the model give different texts for the BOS or EOS token.",
		Damage: "The same template renders different prompts, and an engine may not stop.",
		Fix:    "Make the files agree; convert a GGUF again.",
	},
	Find: anywhere(checkTokens),
}

func checkTokens(s *Subject, find Finder) {
	for _, token := range []struct {
		name string
		of   func(modeldir.Tokens) string
	}{{"BOS", func(t modeldir.Tokens) string { return t.BOS }},
		{"EOS", func(t modeldir.Tokens) string { return t.EOS }}} {
		first, text := "", ""
		for _, t := range s.Tokens {
			switch is := token.of(t); {
			case is == "":
			case text == "":
				first, text = t.File, is
			case is != text:
				find("%s is %q in %s and %q in %s", token.name, text, first, is, t.File)
			}
		}
	}
}
