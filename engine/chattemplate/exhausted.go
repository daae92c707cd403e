package chattemplate

import (
	"context"
	"errors"
	"fmt"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/source"
)

// bytesPerStep is how many bytes that a look at a template keeps or goes through cost as much as a
// step of a render.
const bytesPerStep = 16

// Charge takes so many bytes that a look at the template keeps or goes through from its budget.
func (t *Template) Charge(bytes int) { t.Budget.Spend(int64(bytes) / bytesPerStep) }

// ErrExhausted is wrapped by the errors of [Template.Exhausted].
var ErrExhausted = errors.New("the look at the template is incomplete")

// incomplete is an error with a text of its own that wraps others.
type incomplete struct {
	text  string
	wraps []error
}

func (e *incomplete) Error() string   { return e.text }
func (e *incomplete) Unwrap() []error { return e.wraps }

// Exhausted returns why renders were refused, nil where none was: the budget is used up, or the
// context is done.
func (t *Template) Exhausted() error { return Exhausted(t.Source.Name, t.Context, t.Budget) }

// Exhausted returns why a template of a name is refused under a context and a budget, each of which
// may be nil; nil where it is not.
func Exhausted(name string, ctx context.Context, budget *jinja.Budget) error {
	if ctx != nil && ctx.Err() != nil {
		cause := context.Cause(ctx)
		return &incomplete{fmt.Sprintf("%s: the look at it was broken off: %v", name, cause),
			[]error{ErrExhausted, cause}}
	}
	if budget == nil || budget.Left() > 0 {
		return nil
	}
	why := "all renders of the template together need more steps than allowed"
	meant := "it loops, or is meant to keep its reader busy"
	if reason := budget.Reason(); reason != "" {
		why, meant = reason, "it is meant to keep its reader busy"
	}
	return &incomplete{fmt.Sprintf("%s: %s, so that the findings about it are incomplete; %s",
		name, why, meant), []error{ErrExhausted}}
}

// Fits returns the error of a source that has more bytes than allowed, nil where it has not; 0: all
// that [Compile] takes are allowed.
func Fits(src *source.Source, most int) error {
	if most == 0 || len(src.Text) <= most {
		return nil
	}
	return &incomplete{fmt.Sprintf("%s: the template has %d bytes, more than the %d that the "+
		"limit source allows", src.Name, len(src.Text), most), []error{ErrExhausted}}
}
