package compile

import (
	"context"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
)

// program is the template alone, without what the engine learns of it; the error is its fault as
// Jinja.
func program(s *probe.Subject) (*chattemplate.Template, error) {
	return chattemplate.Compile(context.Background(), source.New(s.Source.Name, s.Source.Text),
		s.Source.BOS, s.Source.EOS, subject.Now)
}
