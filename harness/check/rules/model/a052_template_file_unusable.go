package model

import (
	"github.com/goassay/assay/harness/check/rule"
)

// TemplateFileUnusable is the rule A052: a file that holds chat templates cannot be read, or
// contradicts another one.
var TemplateFileUnusable = &Rule{
	Rule: rule.Rule{
		ID: "A052", Name: "template-file-unusable", Severity: rule.Error, Harm: rule.Crashed,
		Short:  "A file with chat templates cannot be read, or contradicts another one.",
		Damage: "Engines refuse to load the model, or silently use another template.",
		Fix:    "The message names the place and what is expected there.",
	},
	Find: anywhere(checkFiles),
}

func checkFiles(s *Subject, find Finder) {
	for _, p := range s.Problems {
		find("a template file cannot be used: %w", p)
	}
	if why := s.Conflict(); why != "" {
		find("template files contradict each other: %s", why)
	}
}
