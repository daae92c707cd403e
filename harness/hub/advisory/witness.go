package advisory

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
)

// Refused takes the place of a prompt's digest where the template writes no prompt: it fails, or
// refuses.
const Refused = "refused"

// Witness is an input of a template, with the digests of the prompts that the faulty and the fixed
// text render for it, or [Refused]. The special tokens are "<s>" and "</s>"; the clock is that of
// package subject.
type Witness struct {
	// Variables are the template's variables: messages, tools, add_generation_prompt, and others.
	Variables json.RawMessage `json:"variables"`
	Faulty    string          `json:"faulty_sha256"`
	Fixed     string          `json:"fixed_sha256,omitempty"`
}

// Renders renders a template, and remembers the outcome for each set of variables.
type Renders struct {
	template *chattemplate.Template
	outcomes map[string]string
}

// NewRenders compiles a template's text, to be rendered within limits.
func NewRenders(ctx context.Context, src subject.Source, l engine.Limits) (*Renders, error) {
	t, err := chattemplate.Compile(ctx, source.New(src.Name, src.Text), subject.BOS, subject.EOS,
		subject.Now)
	if err != nil {
		return nil, err
	}
	t.Bound(l.Render, l.TotalSteps)
	return &Renders{t, map[string]string{}}, nil
}

// Outcome returns the digest of the prompt for some variables, or [Refused] where the template
// fails, refuses or reaches a limit; "" where the variables are not JSON or the context ended.
func (r *Renders) Outcome(variables json.RawMessage) string {
	if got, done := r.outcomes[string(variables)]; done {
		return got
	}
	got := Refused
	switch text, err := r.Prompt(variables); {
	case err == nil:
		got = Digest(text)
	case jinja.Class(err) == "":
		got = ""
	}
	r.outcomes[string(variables)] = got
	return got
}

// Prompt returns the prompt for some variables.
func (r *Renders) Prompt(variables json.RawMessage) (string, error) {
	v, err := ordered.ParseString(string(variables))
	if err != nil {
		return "", err
	}
	in := chattemplate.Input{Kwargs: v.Without("messages").Without("add_generation_prompt").
		Members(), Messages: v.At("messages").Items(),
		Generate: v.At("add_generation_prompt").Bool()}
	return r.template.RenderImmutable(in)
}

// Exhausted returns an error if the budget of all renders is used up or the context has ended; nil
// otherwise.
func (r *Renders) Exhausted() error { return r.template.Exhausted() }

// Shown reports whether a template renders all witnesses of a record as the faulty text does. No
// template shows a record that is withdrawn, or that has none, such as one in short.
func (r *Record) Shown(by *Renders) bool {
	return r.near(by) && !slices.ContainsFunc(r.Template.Witnesses, func(w Witness) bool {
		return by.Outcome(w.Variables) != w.Faulty
	})
}

// near reports whether a template renders the smallest witness of a record as the faulty text does.
// Nearly all records have it in common, and it tells most texts apart.
func (r *Record) near(by *Renders) bool {
	if r.Withdrawn != "" || len(r.Template.Witnesses) == 0 {
		return false
	}
	w := slices.MinFunc(r.Template.Witnesses, func(a, b Witness) int {
		return len(a.Variables) - len(b.Variables)
	})
	return by.Outcome(w.Variables) == w.Faulty
}

// Shared returns how many prompts of witnesses a template renders as the faulty text does; 0 where
// the smallest is not among them, or none with the fault.
func (r *Record) Shared(by *Renders) (n int) {
	if !r.near(by) {
		return 0
	}
	fault := false
	for _, w := range r.Template.Witnesses {
		if w.Faulty != Refused && by.Outcome(w.Variables) == w.Faulty {
			n++
			fault = fault || w.Faulty != w.Fixed
		}
	}
	if fault {
		return n
	}
	return 0
}
