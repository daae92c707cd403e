// Package reduce shrinks a failing case to one that a person can read: the output, the request and the split.
//
// # Model
//
// A [Case] fails if the engine panics on it or if a split of its output is parsed differently ([Failure]). [Case.Reduce] leaves out
// parts of the output, in ever smaller runs, and members and items of the request, as long as what is left fails in the same
// way, until nothing more can be left out. [Case.Script] is the result as a script that reproduces the failure.
//
// # Limits
//
// At most [MaxTries] cases are tried; then the smallest one so far is the result.
package reduce

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/split"
)

// MaxTries bounds the work of one reduction.
const MaxTries = 20_000

// Case is a request to a template and an output.
type Case struct {
	Template  *engine.Template
	Request   ordered.Value
	Fallbacks []string
	Output    string
	Cut       bool
}

// Failure is how a case fails: its kind, "panic" or "split", and the text.
type Failure struct{ Kind, Text string }

// Fails runs a case. The zero Failure means that it does not fail; an error, that the request cannot be prepared.
func (c Case) Fails() (f Failure, err error) {
	defer func() {
		if r := recover(); r != nil {
			f = Failure{"panic", fmt.Sprint("panic: ", r)}
		}
	}()
	r, err := chat.ParseRequest(c.Request)
	if err != nil {
		return Failure{}, err
	}
	plan, err := c.Template.Prepare(r, engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
	if err != nil {
		return Failure{}, err
	}
	if _, mismatch := split.Check(plan.NewParser(), c.Output, c.Cut); mismatch != nil {
		return Failure{"split", mismatch.Error()}, nil
	}
	return Failure{}, nil
}

// ErrHolds is returned for a case that does not fail.
var ErrHolds = errors.New("the case does not fail, so there is nothing to reduce")

// Reduce returns the smallest case that it finds to fail as c does.
func (c Case) Reduce() (Case, Failure, error) {
	failure, err := c.Fails()
	if err != nil {
		return c, failure, err
	}
	if failure.Kind == "" {
		return c, failure, ErrHolds
	}
	r := reducer{best: c, failure: failure}
	for r.output() || r.request() {
		continue
	}
	return r.best, r.failure, nil
}

type reducer struct {
	best    Case
	failure Failure
	tries   int
}

// try takes a smaller case if it fails in the same way.
func (r *reducer) try(c Case) bool {
	if r.tries++; r.tries > MaxTries {
		return false
	}
	f, err := c.Fails()
	if err != nil || f.Kind != r.failure.Kind {
		return false
	}
	r.best, r.failure = c, f
	return true
}

// output leaves out runs of the output, long ones first, and says whether it got shorter.
func (r *reducer) output() bool {
	before := len(r.best.Output)
	for size := before; size > 0; size /= 2 {
		for at := 0; at+size <= len(r.best.Output); {
			c := r.best
			c.Output = c.Output[:at] + c.Output[at+size:]
			if !r.try(c) {
				at += size
			}
		}
	}
	return len(r.best.Output) < before
}

// request leaves out members and items of the request, and says whether it could.
func (r *reducer) request() bool {
	changed := false
	for again := true; again; {
		again = false
		for smaller := range without(r.best.Request) {
			c := r.best
			c.Request = smaller
			if r.try(c) {
				changed, again = true, true
				break
			}
		}
	}
	return changed
}

// without yields a value with one member or item left out, the outermost first.
func without(v ordered.Value) func(yield func(ordered.Value) bool) {
	return func(yield func(ordered.Value) bool) {
		members, items := v.Members(), v.Items()
		for i := range members {
			if !yield(ordered.ObjectOf(cut(members, i)...)) {
				return
			}
		}
		for i := range items {
			if !yield(ordered.ArrayOf(cut(items, i)...)) {
				return
			}
		}
		for _, m := range members {
			for inner := range without(m.Value) {
				if !yield(v.With(m.Key, inner)) {
					return
				}
			}
		}
		for i := range items {
			for inner := range without(items[i]) {
				changed := append(cut(items, i), ordered.Value{})
				copy(changed[i+1:], changed[i:])
				changed[i] = inner
				if !yield(ordered.ArrayOf(changed...)) {
					return
				}
			}
		}
	}
}

// cut returns a copy without one element.
func cut[T any](list []T, i int) []T {
	return append(append(make([]T, 0, len(list)), list[:i]...), list[i+1:]...)
}

// Script returns a case as a script of the corpus that shows the failure.
func (c Case) Script(f Failure) string {
	head, _, _ := strings.Cut(f.Text, "\n")
	commands := "# " + head + "\ntemplate template.jinja\n"
	if len(c.Fallbacks) > 0 {
		commands += "fallback " + strings.Join(c.Fallbacks, " ") + "\n"
	}
	commands += "request request.json\nstream "
	if c.Cut {
		commands += "-cut "
	}
	commands += "output.txt message.json\n"
	return string(txtar.Format(&txtar.Archive{Comment: []byte(commands), Files: []txtar.File{
		{Name: "template.jinja", Data: []byte(c.Template.Source.Text)},
		{Name: "request.json", Data: c.Request.Append(nil, ordered.Pretty)},
		{Name: "output.txt", Data: []byte(c.Output + "\n")},
		{Name: "message.json", Data: []byte("{}\n")},
	}}))
}
