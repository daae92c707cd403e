package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/encoder"
	"github.com/goassay/assay/harness/foreign/target"
)

var capsCommand = command{
	group: looking, name: "caps", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "print a template's capabilities, and the gate's verdict",
	long: `Tool-capable is a template that describes tools and replays calls. The gate passes one
that is also verified: the format that was found for it spells the template's turns, and reads them
back ("assay analyze --verify"). Exit status 1 if it fails.`,
	setup: func(flags *flagSet) func(*call) error {
		s := new(step).flags(flags)
		return func(c *call) error {
			t, err := s.template(c)
			if err != nil {
				return err
			}
			caps := t.Caps()
			gate := t.Gate()
			if s.json {
				err = writeJSON(c.stdout,
					map[string]any{"caps": caps.Value(), "tool_capable": gate.ToolCapable(),
						"gate": gate.String()})
			} else {
				_, err = fmt.Fprintf(c.stdout, "%stool-capable: %s\ngate: %s\n", caps,
					gate.Tools(), gate)
			}
			if err == nil && !gate.Pass() {
				err = errFailed
			}
			return err
		}
	},
}

var analyzeCommand = command{
	group: looking, name: "analyze", args: "[TEMPLATE]", takes: arity{0, 1, ""},
	files: templateFiles,
	short: "print the output format that a template shows",
	long: `--explain adds the findings of each comparison, --verify proves the format by round trip
(exit status 1 if a shape fails). --encoder looks at the prompts of a program in place of a template:
harmony, mistral-common VERSION, or an adapter (docs/reference/adapters.md).`,
	setup: func(flags *flagSet) func(*call) error {
		s := new(step)
		flags.BoolVar(&s.explain, "explain", false, "print the evidence: each "+
			"comparison and its finding")
		verify := flags.Bool("verify", false, "prove the format by round trip")
		command := flags.String("encoder", "", "learn the format of this `ENCODER`, and of no template")
		s.flags(flags)
		return func(c *call) error {
			if (*command == "") == (len(c.args) == 0) {
				return usageError{errors.New("takes one template, or --encoder in its place")}
			}
			e, err := encoder.Start(c.ctx, *command)
			if err != nil {
				return err
			}
			defer e.Close()
			compile := func() (*engine.Template, error) { return s.template(c) }
			if e != nil {
				o := engine.Options{Now: subject.Now, Limits: s.limits.Limits}
				compile = func() (*engine.Template, error) { return e.Template(o) }
			}
			t, err := compile()
			if err != nil {
				return err
			}
			return cmp.Or(s.analyze(c, t, *verify), e.Err())
		}
	},
}

func (s *step) analyze(c *call, t *engine.Template, verify bool) error {
	a := t.Analysis()
	if verify {
		t.Verify()
	}
	if err := exhausted(t); err != nil {
		return err
	}
	out := map[string]any{"format": target.Format(t)}
	if !s.json {
		fmt.Fprint(c.stdout, a.Format.String())
	}
	if s.explain {
		out["evidence"], out["grounds"] = a.Evidence, a.Grounds()
		for _, e := range a.Evidence {
			s.text(c, e.String())
		}
		for _, g := range a.Grounds() {
			s.text(c, g.String())
		}
	}
	if verify {
		out["verified"] = t.Verify().Shapes
		s.text(c, t.Verify().String())
	}
	if s.json {
		if err := writeJSON(c.stdout, out); err != nil {
			return err
		}
	}
	if verify && !t.Verify().OK() {
		return errFailed
	}
	return nil
}

// text prints a line unless JSON is wanted.
func (s *step) text(c *call, line string) {
	if !s.json {
		fmt.Fprintln(c.stdout, line)
	}
}

var programCommand = command{
	group: looking, name: "program", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "print the parser program made for a template and a request",
	long: "One instruction a line, with its address; \"assay parse --explain\" shows it at " +
		"work on an output.",
	setup: func(flags *flagSet) func(*call) error {
		s := new(step).flags(flags).requestFlags(flags)
		return func(c *call) error {
			plan, err := s.prepare(c)
			if err != nil {
				return err
			}
			if s.json {
				return writeJSON(c.stdout,
					map[string]any{"program": plan.Output.Program.String(),
						"prefill": plan.Prefill})
			}
			_, err = io.WriteString(c.stdout, plan.Output.Program.String())
			return err
		}
	},
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
