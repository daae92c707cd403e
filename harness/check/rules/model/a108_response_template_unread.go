package model

import (
	"path/filepath"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

// ResponseTemplateUnread is the rule A108: the response_template in tokenizer_config.json cannot be
// read.
var ResponseTemplateUnread = &Rule{
	Rule: rule.Rule{
		ID: "A108", Name: "response-template-unread", Severity: rule.Warning, Harm: rule.Misread,
		Short:  "The response_template in tokenizer_config.json cannot be read.",
		Damage: "transformers fails on every output, or a reader misunderstands a pattern.",
		Fix: "The message names the member. `assay emit response-template --into " +
			"tokenizer_config.json` writes one that can be read.",
	},
	Find: anywhere(checkResponseRead),
}

func checkResponseRead(s *Subject, find Finder) {
	if s.ResponseTemplate.IsNull() {
		return
	}
	if _, err := responsetemplate.Read(s.ResponseTemplate); err != nil {
		file := s.Path
		if filepath.Ext(file) != ".json" {
			file = filepath.Join(file, modeldir.TokenizerConfig)
		}
		find("the response_template cannot be used: %w",
			source.Errorf(source.New(file, ""), 0, "%v", err))
	}
}
