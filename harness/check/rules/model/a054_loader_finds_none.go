package model

import (
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
)

// LoaderFindsNone is the rule A054: an engine finds no template that it can take, though the model
// has some.
var LoaderFindsNone = &Rule{
	Rule: rule.Rule{
		ID: "A054", Name: "loader-finds-none", Severity: rule.Warning, Harm: rule.Changed,
		Short: "An engine finds no template that it can load, though the model has some.",
		Damage: "The engine refuses chat requests, or uses a built-in template that the model " +
			"was not trained with.",
		Fix: "Make one template the default, in chat_template.jinja.",
	},
	Find: anywhere(checkFound),
}

func checkFound(s *Subject, find Finder) {
	if len(s.Templates) == 0 {
		return // A053 says so
	}
	for _, p := range s.picks {
		// A processor may leave the template to its tokenizer, and who converts has no model file
		// yet.
		if p.Loader == modeldir.TransformersProcessor ||
			p.Of == modeldir.Conversion && len(s.Models) > 0 {
			continue
		}
		switch {
		case p.Plain.Template < 0 && p.Tools.Template < 0:
			find("%s finds no chat template: %s", p, p.Plain.Why)
		case p.Plain.Template < 0:
			find("%s finds no chat template for requests without tools: %s", p, p.Plain.Why)
		case p.Tools.Template < 0:
			find("%s finds no chat template for requests with tools: %s", p, p.Tools.Why)
		}
	}
}
