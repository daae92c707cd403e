package main

import (
	"errors"
	"fmt"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check/subject"
)

var retemplateCommand = command{
	group: serving, name: "retemplate", args: "MODEL.gguf", takes: arity{1, 1, "one model file"},
	files: modelFiles,
	short: "copy a model file with another chat template",
	long: `The tensors are copied as they are. The copy appears whole or not at all: it is written
beside its place, flushed, read back, compared with the input, and renamed. An interrupted run
leaves nothing, and the part that a killed one left is used again. Of a split model give the first
part; all parts are copied. A template that does not compile, or renders no conversation, is refused
with exit status 1. The gate's verdict on the copy is printed; it may be a rejection.`,
	setup: func(flags *flagSet) func(*call) error {
		r := new(retemplate)
		flags.StringVar(&r.template, "template", "", "`FILE` with the template, or - "+
			"for standard input")
		flags.StringVar(&r.name, "name", "", "`NAME` of the template, such as tool_use; default: "+
			"the default template")
		flags.StringVarP(&r.out, "out", "o", "", "`FILE` to write")
		flags.BoolVar(&r.json, "json", false, "print JSON")
		flags.BoolVar(&r.force, "force", false, "replace FILE if it is there; the input is "+
			"never overwritten")
		r.limits = limitFlag(flags, lookedAt)
		return func(c *call) error {
			if r.template == "" || r.out == "" {
				return usageError{errors.New("needs --template FILE and --out FILE")}
			}
			return r.run(c)
		}
	},
}

type retemplate struct {
	template, name, out string
	force, json         bool
	limits              *limits
}

func (r *retemplate) run(c *call) error {
	src, err := c.open(r.template)
	if err != nil {
		return err
	}
	judged := engine.Options{Now: subject.Now, Limits: r.limits.Limits}
	m, err := model.Inspect(c.ctx, c.args[0], judged)
	if err != nil {
		return err
	}
	if _, err := src.WithTokens(m.Info.BOS.Text, m.Info.EOS.Text).Limited(c.ctx, r.limits.Limits).
		Compile(); err != nil {
		return &failure{err}
	}
	var step func(int)
	end := func() {}
	options := gguf.RetemplateOptions{Name: r.name, Force: r.force,
		Progress: func(done, total int64) {
			if step == nil {
				step, end = c.progress("copying and comparing, MiB", int(total>>20))
			}
			if step != nil {
				step(int(done >> 20))
			}
		}}
	err = gguf.RetemplateFile(c.ctx, c.args[0], r.out, src.Text, options)
	end()
	if err != nil && c.interrupted(err) {
		return fmt.Errorf("%w; nothing is left of the copy", errInterrupted)
	}
	if err != nil {
		return err
	}
	if m, err = model.Inspect(c.ctx, r.out, judged); err != nil {
		return err
	}
	verdict := m.Verdict()
	if r.json {
		return writeJSON(c.stdout, map[string]any{"file": r.out, "gate": verdict})
	}
	_, err = fmt.Fprintf(c.stdout, "%s: written\ngate: %s\n", r.out, verdict)
	return err
}
