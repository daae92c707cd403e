package chattemplate

import (
	"context"
	"errors"
	"fmt"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/source"
)

// bytesPerStep is how many bytes that are kept or scanned to examine a template cost as much as one
// step of a render.
const bytesPerStep = 16

// Charge takes from the budget what it costs to keep or scan so many bytes to examine the template.
func (t *Template) Charge(bytes int) { charge(t.Budget, bytes) }

func charge(budget *jinja.Budget, bytes int) { budget.Spend(int64(bytes) / bytesPerStep) }

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
func (t *Template) Exhausted() error { return exhausted(t.ctx, t.Source.Name, t.Budget) }

func exhausted(ctx context.Context, name string, budget *jinja.Budget) error {
	if ctx.Err() != nil {
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

// Fits returns an error if a source has more than most bytes, nil if it fits. If most is 0, all
// that [Compile] takes fits.
func Fits(src *source.Source, most int) error {
	if most == 0 || len(src.Text) <= most {
		return nil
	}
	return &incomplete{fmt.Sprintf("%s: the template has %d bytes, more than the %d that the "+
		"limit source allows", src.Name, len(src.Text), most), []error{ErrExhausted}}
}

// Admit charges a budget for reading a source, before it is compiled. So many sources use the
// budget up even if none of them compiles, and then no more are read. It fails if the source does
// not fit, or if the context or the budget refuses it.
func Admit(ctx context.Context, src *source.Source, most int, budget *jinja.Budget) error {
	if err := Fits(src, most); err != nil {
		return err
	}
	charge(budget, len(src.Text))
	return exhausted(ctx, src.Name, budget)
}
