package check

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/responsetemplate"
	"github.com/goassay/assay/harness/rule"
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

// maxConfig bounds tokenizer_config.json, in bytes. The largest, with all their added tokens, have
// a few megabytes.
const maxConfig = 64 << 20

// responseTemplate returns the object that a model ships, and the file that has it. ok is false
// where there is none.
func (s *modelSubject) responseTemplate() (object ordered.Value, file string, ok bool) {
	file = s.Path
	if info, err := os.Stat(file); err != nil {
		return object, "", false
	} else if info.IsDir() {
		file = filepath.Join(file, modeldir.TokenizerConfig)
	}
	info, err := os.Stat(file)
	if err != nil || filepath.Ext(file) != ".json" || info.Size() > maxConfig {
		return object, "", false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return object, "", false
	}
	config, err := ordered.Parse(text)
	if err != nil {
		return object, "", false // A052 says so
	}
	object, ok = config.Get("response_template")
	return object, file, ok && !object.IsNull()
}

func checkResponseRead(s *modelSubject, find modelFinder) {
	object, file, ok := s.responseTemplate()
	if !ok {
		return
	}
	if _, err := responsetemplate.Read(object); err != nil {
		find("%w", source.Errorf(source.New(file, ""), 0, "%v", err))
	}
}

func checkResponse(s *modelSubject, find modelFinder) {
	object, _, ok := s.responseTemplate()
	if !ok {
		return
	}
	read, err := responsetemplate.Read(object)
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
