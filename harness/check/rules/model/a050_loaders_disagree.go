package model

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
)

// LoadersDisagree is the rule A050: inference engines take templates from this model that do not do
// the same.
var LoadersDisagree = &Rule{
	Rule: rule.Rule{
		ID: "A050", Name: "loaders-disagree", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Inference engines load templates from this model that behave differently.",
		Damage: "A fix in chat_template.jinja never reaches those who read tokenizer_config.json " +
			"or an older GGUF; a model tested with one engine fails in another.",
		Fix: "Keep one template in chat_template.jinja, and named ones in " +
			"additional_chat_templates. Convert GGUF files again, or `assay retemplate` them.",
	},
	Find: anywhere(checkLoaders),
}

// disagreement is two templates that are taken for the same requests, and by whom the second one
// is.
type disagreement struct {
	first, second int
	loaders       []string
}

func checkLoaders(s *Subject, find Finder) {
	var found [2][]disagreement
	for kind := range found {
		found[kind] = s.disagreements(kind == 1)
	}
	for kind, requests := range [...]string{"for requests without tools",
		"for requests with tools"} {
		for _, d := range found[kind] {
			equal := func(o disagreement) bool {
				return o.first == d.first && o.second == d.second &&
					slices.Equal(o.loaders, d.loaders)
			}
			if slices.ContainsFunc(found[1-kind], equal) {
				if kind == 1 {
					continue
				}
				requests = "for all requests"
			}
			class, evidence := s.options.Differ(s.Sources[d.first], s.Sources[d.second])
			if class != "" {
				find("%s %s takes %s, "+
					"and %s %s: %s\n%s", requests, s.picks[0], s.Templates[d.first].ID,
					strings.Join(d.loaders, ", "),
					s.Templates[d.second].ID, class, evidence)
			}
		}
	}
}

func choice(p modeldir.Pick, tools bool) modeldir.Choice {
	if tools {
		return p.Tools
	}
	return p.Plain
}
