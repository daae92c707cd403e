package train

import (
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
)

// Marked returns the spans that the tags of a template mark in a conversation.
func Marked(t *engine.Template, in chattemplate.Input) ([]Span, error) {
	m, err := marksOf(t)
	if err != nil {
		return nil, err
	}
	return m.of(in)
}
