package compile

import (
	"context"
	"errors"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
)

// syntax is the fault of the template as Jinja. One that the limits ended shows none.
func syntax(s *probe.Subject) error {
	if s.Err == nil || errors.Is(s.Err, engine.ErrExhausted) {
		return nil
	}
	_, err := parsed(s)
	return err
}

// parsed is a template alone, without what the engine learns of it.
func parsed(s *probe.Subject) (*chattemplate.Template, error) {
	return chattemplate.Compile(context.Background(), source.New(s.Source.Name, s.Source.Text),
		s.Source.BOS, s.Source.EOS, subject.Now)
}
