package model

import (
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/harness/conversation/standard"
)

// tokenised is a template of a model with the model's vocabulary.
type tokenised struct {
	*engine.Template
	v      *engine.Vocabulary
	name   string
	prompt string
}

// withVocabulary makes of a function one for a model that has a vocabulary; where there is none, or
// no template that compiles, it finds nothing.
func withVocabulary(look func(*tokenised, Finder)) func(*Subject, Finder) {
	return func(s *Subject, find Finder) {
		v, err := tokenizer.Vocabulary(s.Path)
		if err != nil || len(v.Tokens()) == 0 {
			return
		}
		for _, src := range s.Distinct() {
			t, err := src.Compile()
			if err != nil {
				continue
			}
			prompt, err := t.Render(standard.Battery()[0].Request)
			if err == nil {
				look(&tokenised{t, v, src.Name, prompt.Text}, find)
			}
		}
	}
}

// ends returns the added tokens with which the template ends a turn.
func (t *tokenised) ends() (ids []int, texts []string) {
	for _, end := range t.Analysis().Format.End {
		if found := t.v.Scan(strings.Trim(end, format.Space)); len(found) > 0 {
			ids, texts = append(ids, found[0].ID), append(texts, found[0].Text)
		}
	}
	return ids, texts
}
