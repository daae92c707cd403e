package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/outline"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/vector"
)

var verifyCommand = command{
	name: "verify", args: "VECTORS...",
	short: "run test vectors, JSON lines of the kinds render, jinja, parse, grammar, schema and caps",
	long: `A list of known failures has reasons on lines of their own and, indented below each, the ids of the vectors that
fail for it. These must fail: one that passes is a failure, until it leaves the list.`,
	setup: func(flags *flag.FlagSet) func(*call) error {
		v := verification{output: outputFlags(flags)}
		flags.StringVar(&v.templates, "templates", "", "`DIR` with the templates that vectors name")
		flags.StringVar(&v.only, "run", "", "run only vectors whose id contains `TEXT`")
		flags.BoolVar(&v.shrink, "minimize", false, "shrink the first vector of the kind parse that fails, and print a script that shows it")
		v.known = listFlag(flags, "known", "`FILE` with known failures; may be given again")
		return v.run
	},
}

type verification struct {
	output          *output
	templates, only string
	shrink          bool
	known           *list
}

func (v *verification) run(c *call) error {
	if err := c.want(1, -1, "files of vectors"); err != nil {
		return err
	}
	verifier, err := v.verifier()
	if err != nil {
		return err
	}
	known, err := readReasons(*v.known)
	if err != nil {
		return err
	}
	var all []vector.Vector
	for _, name := range c.args {
		vectors, err := readVectors(name)
		if err != nil {
			return err
		}
		all = append(all, vectors...)
	}
	chosen := take(v.output.shard, v.choose(all))
	if len(chosen) == 0 {
		return fmt.Errorf("no vector's id contains %q", v.only)
	}
	step, end := c.progress("vectors", len(chosen))
	results := verifier.Run(chosen, step)
	end()
	id := func(res *report.Result) string { return res.Name }
	report.Expect(results, known, id)
	if len(chosen) == len(all) {
		results = append(results, report.Unused(results, known, id)...)
	}
	if v.shrink {
		return v.minimize(c, verifier, chosen, results)
	}
	return v.output.write(c, &report.Report{Command: "verify", Version: version(), Results: results})
}

// minimize shrinks the first vector that fails.
func (v *verification) minimize(c *call, verifier *vector.Verifier, vectors []vector.Vector, results []report.Result) error {
	for i := range vectors {
		if results[i].Status != report.Failed || vectors[i].Kind != "parse" {
			continue
		}
		big, err := verifier.Case(&vectors[i])
		if err != nil {
			return fmt.Errorf("%s: %w", vectors[i].ID, err)
		}
		if holds, err := c.minimize(big); !holds {
			return err
		}
	}
	fmt.Fprintln(c.stderr, "no vector of the kind parse fails, so there is nothing to shrink")
	return nil
}

func (v *verification) choose(all []vector.Vector) []vector.Vector {
	if v.only == "" {
		return all
	}
	var chosen []vector.Vector
	for i := range all {
		if strings.Contains(all[i].ID, v.only) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen
}

func (v *verification) verifier() (*vector.Verifier, error) {
	verifier := new(vector.Verifier)
	if v.templates != "" {
		if info, err := os.Stat(v.templates); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fmt.Errorf("--templates %s is not a folder", v.templates)
		}
		verifier.Templates = os.DirFS(v.templates)
	}
	return verifier, nil
}

// readReasons reads lists of known failures.
func readReasons(files []string) (map[string]string, error) {
	all := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		known, err := outline.Reasons(source.New(name, string(text)))
		if err != nil {
			return nil, err
		}
		maps.Copy(all, known)
	}
	return all, nil
}

func readVectors(name string) ([]vector.Vector, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return vector.Read(name, f)
}
