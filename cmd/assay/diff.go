package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/relatives"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/diff/commit"
	"github.com/goassay/assay/harness/report"
)

var diffCommand = command{
	group: judging, name: "diff", args: "OLD NEW", takes: arity{2, 2, "two revisions"},
	files: templateFiles,
	short: "compare the behaviour of two revisions of a template",
	long: `A revision is a file, or git:REV:PATH for a file of a commit. Every change is safe, risky
or breaking (note, warning, error), with the evidence; the last line sums them up, and exit status 1
means that one is breaking, or that the limits kept the two from being compared. The outputs of the
cases beside NEW (*.txtar in its folder) are parsed with both; --cases names another folder. Where
the edit brings OLD nearer to the family of the corpus that it behaves most like, or away from it,
lines before the last tell in what; --format short leaves them out.`,
	setup: func(flags *flagSet) func(*call) error {
		cases := flags.String("cases", "", "`DIR` with the cases whose outputs are parsed "+
			"with both revisions")
		o, limits := outputFlags(flags), limitFlag(flags, lookedAt)
		return func(c *call) error {
			return runDiff(c, o, limits.Limits, *cases)
		}
	},
}

func runDiff(c *call, o *output, limits engine.Limits, dir string) error {
	was, err := openRevision(c, c.args[0])
	if err != nil {
		return err
	}
	is, err := openRevision(c, c.args[1])
	if err != nil {
		return err
	}
	if dir == "" && !strings.HasPrefix(c.args[1], "git:") {
		dir = filepath.Dir(c.args[1])
	}
	cases, err := readCases(dir)
	if err != nil {
		return err
	}
	both := subject.Limited(c.ctx, []subject.Source{was, is}, limits)
	was, is = both[0], both[1]
	results := diff.Compare(was, is, cases)
	if err := context.Cause(c.ctx); err != nil { // nothing is judged by an interrupt
		return &failure{err}
	}
	o.notes = true // a safe change is one
	if o.html != "" {
		view, err := c.service(check.Options{Requests: true}, limits).EditView(was, is, results)
		if err != nil {
			return err
		}
		o.page = view.HTML
	}
	r := &report.Report{Command: "diff", Version: version(), Rules: diff.Rules(),
		Results: results, Verdict: diff.Conclusion(was, is, results)}
	if o.form(c) != formShort {
		r.Conclusions = relatives.Edit(was, is)
	}
	return o.write(c, r)
}

// openRevision opens a file, or a file of a commit.
func openRevision(c *call, name string) (subject.Source, error) {
	if !strings.HasPrefix(name, commit.Scheme) {
		return c.open(name)
	}
	all, err := commit.Templates(name)
	if err != nil {
		return subject.Source{}, err
	}
	c.noteShadowed(name, all[0])
	return all[0], nil
}

// readCases reads the cases of a folder: scripts, and the outputs of a family.
func readCases(dir string) ([]families.Case, error) {
	if dir == "" {
		return nil, nil
	}
	fsys, files, err := families.Folder(dir)
	if err != nil {
		return nil, err
	}
	all, err := script.ReadAll(fsys, files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return all, nil
}
