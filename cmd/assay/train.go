package main

import (
	"errors"
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/edit/train"
)

var trainCommand = command{
	group: serving, name: "train", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "make a template fit for training",
	long: `Prints a unified diff that puts {% generation %} and {% endgeneration %} around exactly
the text that the model has to write: content, reasoning, calls and the end of the turn. It is
offered only where every conversation renders the same bytes with it. Other facts for training are
printed on stderr: which form of arguments and content the template takes, whether the end of the
turn is trained, and whether a conversation's rendering begins with those of its beginnings. The
exit status is 1 where tags are placed in part: the places are named with their lines.
docs/tokens.md has more.`,
	setup: func(flags *flagSet) func(*call) error {
		tr := &training{step: new(step)}
		flags.BoolVar(
			&tr.check,
			"check",
			false,
			"print no diff; exit status 1 where tags are missing",
		)
		flags.BoolVar(&tr.write, "write", false, "write the file in place of a diff")
		flags.BoolVar(&tr.keep, "keep", false, "patch the template to keep earlier turns after "+
			"a switch instead")
		flags.StringVar(&tr.spans, "spans", "", "print the spans of a conversation, `FILE` with "+
			"a request, as JSON")
		flags.Uint64Var(&tr.seed, "seed", 1, "draw the conversations from this `NUMBER`")
		flags.BoolVar(&tr.json, "json", false, "print JSON")
		tr.tokenizerFlag(flags)
		tr.limits = limitFlag(flags, edited)
		return tr.run
	},
}

type training struct {
	*step
	check, write, keep bool
	spans              string
	seed               uint64
}

func (tr *training) run(c *call) error {
	if tr.check && (tr.write || tr.keep) {
		return usageError{errors.New("--check changes nothing; leave out --write and --keep")}
	}
	src, err := c.open(c.args[0])
	if err != nil {
		return err
	}
	src = subject.With(c.ctx, []subject.Source{src}, engine.Options{Limits: tr.limits.Limits})[0]
	t, err := src.Compile()
	if err != nil {
		return &failure{err}
	}
	if tr.spans != "" {
		return tr.printSpans(c, t)
	}
	if tr.keep {
		return tr.keepTurns(c, src)
	}
	var vocabulary *engine.Vocabulary
	if tr.tokenizer != "" {
		if vocabulary, err = tokenizer.Vocabulary(tr.tokenizer); err != nil {
			return err
		}
	}
	report, err := train.Look(src, vocabulary, tr.seed)
	if err != nil {
		return &failure{err}
	}
	if tr.json {
		if err := writeJSON(c.data(), report.Value()); err != nil {
			return err
		}
	} else {
		fmt.Fprint(c.stderr, report)
	}
	if report.Err != nil {
		return &failure{report.Err}
	}
	switch {
	case report.Tagged.Tags:
		return nil
	case tr.check:
		return errFailed
	case !tr.json || tr.write:
		if err := tr.deliver(c, report.Tagged.Mended()); err != nil {
			return err
		}
	}
	if report.Tagged.Status() == train.Partial {
		return errFailed
	}
	return nil
}

// keepTurns adds the switch that keeps the turns of a conversation.
func (tr *training) keepTurns(c *call, src subject.Source) error {
	kept, err := train.Keep(src, tr.seed)
	if err != nil {
		return &failure{err}
	}
	fmt.Fprintf(c.stderr, "%s: without %s every conversation renders as before; with it turns "+
		"are kept in %d of %d steps (%d before), prompts in %d of %d (%d before)\n",
		src.Name, train.Switch,
		kept.After.Turns.Whole(), kept.After.Turns.Steps, kept.Before.Turns.Whole(),
		kept.After.Prompts.Whole(), kept.After.Prompts.Steps, kept.Before.Prompts.Whole())
	return tr.deliver(c, kept.Mended)
}

// deliver prints a patch, or writes it.
func (tr *training) deliver(c *call, m *fix.Mended) error {
	if tr.write {
		return rewrite(m)
	}
	_, err := fmt.Fprint(c.data(), m.Diff())
	return err
}

// printSpans prints the model's text in a conversation.
func (tr *training) printSpans(c *call, t *engine.Template) error {
	tr.request = tr.spans
	r, err := tr.readRequest(c)
	if err != nil {
		return err
	}
	rendering, err := train.Render(t, t.Caps().Fit(r).Input)
	if err != nil {
		return &failure{err}
	}
	spans := ordered.ListOf(rendering.Written, func(s train.Span) ordered.Value {
		return ordered.ArrayOf(ordered.Int(s.From), ordered.Int(s.To))
	})
	return writeJSON(c.stdout, ordered.Pairs("text", rendering.String, "spans", spans))
}
