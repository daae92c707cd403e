package model

import (
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check/rule"
)

// TemplateMissing is the rule A053: the model has no chat template.
var TemplateMissing = &Rule{
	Rule: rule.Rule{
		ID: "A053", Name: "template-missing", Severity: rule.Error, Harm: rule.Crashed,
		Short:  "The model has no chat template.",
		Damage: "Chat requests are refused, or answered with the template of another model.",
		Fix: "Add the template that the model was trained with as chat_template.jinja; for a " +
			"GGUF use `assay retemplate`.",
	},
	Find: anywhere(checkMissing),
}

func checkMissing(s *Subject, find Finder) {
	if len(s.Templates) > 0 {
		return
	}
	if len(s.Unread) > 0 {
		find("no chat template was found; %d model files were not read", len(s.Unread))
		return
	}
	find("no chat template was found: neither %s, %s nor a GGUF has one%s",
		modeldir.JinjaFile, modeldir.TokenizerConfig, s.Hint())
}
