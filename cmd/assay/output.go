package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/config"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

// output has the flags of every command that ends in a report, and writes it.
type output struct {
	format                choice
	verbose, notes, quiet bool
	statistics            bool // print counts in place of findings
	all                   bool // keep results that passed, whatever is written
	// of the findings listed without --notes; a note counts as a warning
	least              rule.Severity
	failOn             string // the least severity that fails, or [config.Never]; "": error
	junit, sarif, html string
	shard              sharding
	// writes the page of --html, where it is not the report's own
	page func(io.Writer) error
}

// The forms of a report on standard output.
const (
	formLong   = "long"
	formShort  = "short"
	formBrief  = "brief"
	formJSON   = "json"
	formSARIF  = "sarif"
	formJUnit  = "junit"
	formGitHub = "github"
)

func outputFlags(flags *flagSet) *output {
	o := &output{format: choice{of: report.Forms}}
	flags.category("The report")
	flags.Var(&o.format, "format", "print it in this `FORM`: long, short (a line for each "+
		"finding), brief (a line for each template), json, sarif, junit, "+
		"github (annotations besides); default: long, in a workflow of GitHub github")
	flags.completes("format", func() []string { return o.format.of })
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "list passed checks as well")
	flags.BoolVar(&o.notes, "notes", false, "list notes as well")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "list errors only, and nothing "+
		"where there are none")
	flags.StringVar(&o.junit, "junit", "", "write JUnit XML to `FILE`, too")
	flags.StringVar(&o.sarif, "sarif", "", "write SARIF to `FILE`, too")
	flags.StringVar(&o.html, "html", "", "write a page that stands alone to `FILE`, too")
	o.shard.declare(flags)
	return o
}

// form is the form that was asked for, or fits the place where this runs.
func (o *output) form(c *call) string {
	switch {
	case o.format.chosen != "":
		return o.format.chosen
	case c.onGitHub():
		return formGitHub
	}
	return formLong
}

// write writes a report in every form asked for; it returns errFailed where something failed.
func (o *output) write(c *call, r *report.Report) error {
	located := r.Rebase(c.inRepository)
	page := r.HTML
	if o.page != nil {
		page = o.page
	}
	for _, f := range [...]struct {
		name  string
		write func(io.Writer) error
	}{{o.junit, located.JUnit}, {o.sarif, located.SARIF}, {o.html, page}} {
		if f.name == "" {
			continue
		}
		if err := c.files.Write(c.ctx, f.name, f.write); err != nil {
			return err
		}
	}
	if err := o.print(c, r, located); err != nil {
		return err
	}
	if o.fails(r) {
		return errFailed
	}
	return nil
}

// settings takes what was not given as a flag from settings.
func (o *output) settings(of *config.Settings) error {
	o.failOn = of.FailOn
	if o.format.chosen != "" || of.Format == "" {
		return nil
	}
	return o.format.Set(of.Format)
}

// failsFrom is the least severity of a finding that fails.
func (o *output) failsFrom() rule.Severity {
	least := rule.Error
	if o.failOn != "" && o.failOn != config.Never {
		least.UnmarshalText([]byte(o.failOn)) // a word of the vocabulary
	}
	return least
}

// fails reports whether a report fails the command.
func (o *output) fails(r *report.Report) bool {
	return o.failOn != config.Never && (!r.OK() || r.Has(o.failsFrom()))
}

// print writes the report to standard output. Forms that machines read name files as the repository
// does.
func (o *output) print(c *call, r, located *report.Report) error {
	options := report.TextOptions{Verbose: o.verbose, Least: o.listed(), Quiet: o.quiet,
		Color: c.colors(c.raw)}
	if terminal(c.raw) {
		options.Width = c.width()
	}
	form := o.form(c)
	if o.statistics {
		return r.WriteStatistics(c.data(), form == formJSON)
	}
	switch form {
	case formJSON:
		return r.JSON(c.data())
	case formSARIF:
		return located.SARIF(c.data())
	case formJUnit:
		return located.JUnit(c.data())
	case formBrief:
		return r.Brief(c.raw, options)
	case formGitHub:
		if err := o.github(c, located, options.Least); err != nil {
			return err
		}
	}
	options.Short = form == formShort
	return r.Text(c.raw, options) // the report makes texts visible itself
}

// listed is the least severity of the findings that people are shown.
func (o *output) listed() rule.Severity {
	switch {
	case o.quiet:
		return rule.Error
	case o.notes, o.verbose:
		return rule.Note
	}
	return max(o.least, rule.Warning)
}

// tells reports whether any form that was asked for has the whole text of a finding, and not its
// first line alone.
func (o *output) tells(c *call, res *rule.Result) bool {
	if o.junit != "" || o.sarif != "" || o.html != "" {
		return true
	}
	switch form := o.form(c); form {
	case formBrief, formShort:
		return false
	case formLong:
		return res.Level() >= o.listed()
	}
	return true
}

// keep adds results to a report. Those that passed, and notes, are only counted unless a form lists
// them or their names are listed as known failures, so that a large run needs no memory for them.
func (o *output) keep(c *call, r *report.Report, known map[string]string, results ...rule.Result) {
	form := o.form(c)
	all := o.verbose || o.all || o.statistics || o.junit != "" || o.html != "" ||
		form == formJSON || form == formJUnit || form == formBrief
	notes := all || o.notes || o.sarif != "" || form == formSARIF
	warnings := notes || o.least < rule.Error
	for _, res := range results {
		_, listed := known[res.Name]
		switch {
		case res.Status == rule.Passed && !all && !listed:
			r.Passed++
		case res.Status == rule.Found && res.Old && !all && !listed:
			r.Old++
		case res.Status == rule.Found && res.Severity == rule.Note && !notes && !listed:
			r.Noted++
		case res.Status == rule.Found && res.Severity == rule.Warning && !warnings && !listed:
			r.Warned++
		default:
			r.Results = append(r.Results, res)
		}
	}
}

// choice is a flag whose value is one of a few words.
type choice struct {
	chosen string
	of     []string
}

func (c *choice) String() string { return c.chosen }

// Type implements pflag.Value.
func (c *choice) Type() string { return "choice" }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("expected one of %s", strings.Join(c.of, ", "))
	}
	c.chosen = text
	return nil
}

// onGitHub reports whether this is a step of a workflow, which takes annotations.
func (c *call) onGitHub() bool { return c.getenv("GITHUB_ACTIONS") == "true" }

// each does work for every item, on all cores, and hands the result, or the error, on in order;
// what names the items for people. An error that take returns ends it. So does an interrupt:
// finish, which ends the report, is told whether all was done.
func each[T, R any](c *call, what string, items []T, do func(T) (R, error),
	take func(T, R, error) error, finish func(complete bool) error) error {
	type one struct {
		item   T
		result R
		err    error
		cut    bool // an interrupt came before it was done: the result may lack something
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	step, end := c.progress(what, len(items))
	done := 0
	var failed error
	cut := false
	ended := batch.Run(ctx, batch.Slice(items), func(item T) one {
		result, err := do(item)
		return one{item, result, err, c.ctx.Err() != nil}
	}, func(x one) {
		if cut = cut || x.cut; cut || failed != nil {
			return
		}
		if failed = take(x.item, x.result, x.err); failed != nil {
			cancel()
			return
		}
		if done++; step != nil {
			step(done)
		}
	})
	end()
	if failed != nil {
		return failed
	}
	if ended == nil && cut {
		ended = context.Cause(c.ctx)
	}
	return c.ended(ended, finish(ended == nil), done, len(items), what)
}

// ended describes how far a run came that an interrupt ended, if one did; else it returns the run's
// own error.
func (c *call) ended(interrupt, err error, done, total int, what string) error {
	if interrupt == nil || err != nil && !errors.Is(err, errFailed) {
		return err
	}
	fmt.Fprintf(c.stderr, "interrupted: %d of %d %s were done\n", done, total, what)
	return errCut
}

// github writes annotations, and adds to the step's summary, the findings of a severity and worse.
func (o *output) github(c *call, r *report.Report, least rule.Severity) error {
	if err := r.Annotations(c.raw, least); err != nil {
		return err
	}
	name := c.getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	written, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		err = r.Summary(f, least, int(written))
	}
	return errors.Join(err, f.Close())
}

// inRepository names a file as CI systems want it: relative to the checkout where GitHub says where
// that is, since a step may run in a folder of it, and with slashes.
func (c *call) inRepository(file string) string {
	if root := c.getenv("GITHUB_WORKSPACE"); root != "" {
		if abs, err := filepath.Abs(file); err == nil {
			if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
				file = rel
			}
		}
	}
	return filepath.ToSlash(file)
}

// terminal reports whether a person is at the other end of a stream.
func terminal(stream any) bool {
	f := file(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// colors reports whether a person looks at w, who wants colours.
func (c *call) colors(w io.Writer) bool {
	return terminal(w) && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
}

// data is where a prompt, a grammar or JSON goes that another program reads: to the byte, unless a
// person looks at it.
func (c *call) data() io.Writer {
	if terminal(c.raw) {
		return c.stdout
	}
	return c.raw
}

// showsStatus reports whether there is a terminal for [call.status].
func (c *call) showsStatus() bool { return c.colors(c.rawErr) }

// status keeps a line on the terminal up to date; an empty one removes it.
func (c *call) status(text string) {
	if c.showsStatus() {
		fmt.Fprintf(c.rawErr, "\r\x1b[K%s", visible.Line(text))
	}
}

// progress returns a function that keeps a line on the terminal up to date, and one that removes
// it.
func (c *call) progress(what string, total int) (step func(done int), end func()) {
	if !c.showsStatus() || total < 50 {
		return nil, func() {}
	}
	step = func(done int) {
		if done%16 == 0 {
			c.status(fmt.Sprintf("%s %d/%d", what, done, total))
		}
	}
	return step, func() { c.status("") }
}
