package check

import (
	"errors"
	"path/filepath"

	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/responsetemplate"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// responseRules compare the response_template that a model ships with the template's own format.
var responseRules = []modelLookout{
	{Rule: rule.Rule{ID: "A108", Name: "response-template-unread", Severity: rule.Warning,
		Short: "The response_template in tokenizer_config.json cannot be read.",
		Damage: "transformers fails on every answer, or a pattern in it means something else in " +
			"another reader.",
		Fix: "The message names the member. `assay emit response-template --into " +
			"tokenizer_config.json` writes an object that can be read.",
	}, Group: groupLint, Find: anywhere(checkResponseRead)},
	{Rule: rule.Rule{ID: "A109", Name: "response-template-differs", Severity: rule.Error,
		Short: "The response_template in tokenizer_config.json misreads turns that the chat " +
			"template writes.",
		Damage: "transformers, and servers that read the object, lose calls or reasoning, or show " +
			"markers in the answer.",
		Fix: "`assay emit response-template --into tokenizer_config.json` writes one that reads " +
			"them; where it refuses, it names the part that no such object can express.",
	}, Group: groupLint, Find: anywhere(checkResponse)},
}

// Response runs the rules about the response_template that a tokenizer_config.json ships, where the
// other rules about models do not apply: on the file alone.
func Response(m *subject.Model, o Options) []rule.Result {
	return modelResults(m, o, responseRules)
}

func checkResponseRead(s *modelSubject, find modelFinder) {
	if s.ResponseTemplate.IsNull() {
		return
	}
	if _, err := responsetemplate.Read(s.ResponseTemplate); err != nil {
		file := s.Path
		if filepath.Ext(file) != ".json" {
			file = filepath.Join(file, modeldir.TokenizerConfig)
		}
		find("%w", source.Errorf(source.New(file, ""), 0, "%v", err))
	}
}

func checkResponse(s *modelSubject, find modelFinder) {
	if s.ResponseTemplate.IsNull() {
		return
	}
	read, err := responsetemplate.Read(s.ResponseTemplate)
	if err != nil {
		return // A108 says so
	}
	for _, src := range Distinct(s.Model) {
		t, err := src.Compile()
		if err != nil {
			continue
		}
		verdict, err := responsetemplate.Judge(read, t)
		if err != nil || len(verdict.Differences) == 0 {
			continue
		}
		find("it reads %d of the %d turns of %s as they are meant; %s\n%s", verdict.Read,
			verdict.Turns, src.Name, offer(t.Analysis().Format), verdict.Differences[0])
	}
}

// offer tells whether an object for a format can be emitted.
func offer(f format.Format) string {
	_, err := emit.ResponseTemplate(f)
	var refused *emit.Inexpressible
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return "`assay emit response-template` writes one for the format"
}
