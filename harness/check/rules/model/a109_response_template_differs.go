package model

import (
	"errors"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/foreign/responsetemplate"
)

// ResponseTemplateDiffers is the rule A109: the response_template in tokenizer_config.json misreads
// turns that the chat template writes.
var ResponseTemplateDiffers = &Rule{
	Rule: rule.Rule{
		ID: "A109", Name: "response-template-differs", Severity: rule.Error, Harm: rule.Misread,
		Short: "The response_template in tokenizer_config.json misreads the template's messages.",
		Damage: "transformers, and servers that read the object, lose tool calls or reasoning, " +
			"or leave markers in the content.",
		Fix: "`assay emit response-template --into tokenizer_config.json` writes one that reads " +
			"them, or names the part that no such object can express.",
	},
	Find: anywhere(checkResponse),
}

func checkResponse(s *Subject, find Finder) {
	if s.ResponseTemplate.IsNull() {
		return
	}
	read, err := responsetemplate.Read(s.ResponseTemplate)
	if err != nil {
		return // A108 says so
	}
	for _, src := range s.Distinct() {
		t, err := src.Compile()
		if err != nil {
			continue
		}
		verdict, err := responsetemplate.Judge(read, t)
		if err != nil || len(verdict.Differences) == 0 {
			continue
		}
		find("the response_template reads %d of %d assistant messages of %s as they are meant; %s"+
			"\n%s",
			verdict.Read, verdict.Turns, src.Name, offer(t), verdict.Differences[0])
	}
}

// offer tells whether an object for a template can be emitted.
func offer(t *engine.Template) string {
	_, err := responsetemplate.Emit(t)
	var refused *emit.Inexpressible
	if errors.As(err, &refused) {
		headline, _, _ := strings.Cut(refused.Error(), "\n")
		return headline
	}
	return "`assay emit response-template` writes one for the format"
}
