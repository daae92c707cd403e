package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/templates"
	"github.com/goassay/assay/harness/report"
)

var reportCommand = command{
	group: proving, name: "report", args: "[TEMPLATE|REPORT.json...]", takes: arity{0, -1, ""},
	files: reportFiles,
	short: "write a page about a template, from reports, or from a run of the embedded corpus",
	long: `Of a template the page has everything that "assay page" shows: the findings beside the
lines, prompts, the format, an output as it streams, the coverage. A report is the output of a
command with --json, "-" is standard input; several must come from the shards of one run.
Without arguments the embedded corpus runs, with prompt, output and timeline of every case. --merge
joins the results of "assay survey" in place of all this, and sums them up. --html
writes the page; failures are listed on standard output; --junit, --sarif and --json write the
other forms.`,
	setup: func(flags *flagSet) func(*call) error {
		flags.category("Results of a survey")
		m := merging{}
		flags.BoolVar(&m.on, "merge", false, "the arguments are results of `assay survey`, or "+
			"folders of them: join the shards, all of which must be there")
		flags.BoolVar(&m.partial, "partial", false, "with --merge, accept that shards are missing")
		flags.StringVar(&m.out, "out", "", "with --merge, write the joined results to `FILE`")
		flags.StringVar(&m.table, "table", "", "with --merge, write a row for each place to `FILE`: "+
			"JSON lines, or in the edition assay_cloud Parquet where its name ends in .parquet")
		flags.StringVar(&m.site, "site", "", "with --merge, write a static site to `DIR`; its history "+
			"of earlier surveys is kept")
		flags.StringVar(&m.date, "date", "", "with --site, the `DATE` of the survey, such as "+
			"2026-01-31")
		o := outputFlags(flags)
		return func(c *call) error {
			switch {
			case m.on && len(c.args) == 0:
				return errors.New("--merge needs the results of a survey")
			case m.on:
				return m.merge(c)
			case m.partial || m.out+m.table+m.site+m.date != "":
				return errors.New("--partial, --out, --table, --site and --date go with --merge")
			}
			return o.report(c)
		}
	},
}

func (o *output) report(c *call) error {
	if len(c.args) == 1 && !isReport(c.args[0]) {
		k := &checking{output: o, limits: &limits{Limits: lookedAt}, settings: newSettings(),
			remote:  &remote{retries: hub.DefaultRetries},
			options: check.Options{Differ: templates.Differ}}
		return k.run(c)
	}
	if len(c.args) == 0 {
		r := &corpusRun{output: o, limits: &limits{Limits: lookedAt}}
		r.suite.Details = true
		return r.run(c)
	}
	var shards []*report.Report
	for _, name := range c.args {
		shard, err := readReport(c, name)
		if err != nil {
			return err
		}
		shards = append(shards, shard)
	}
	merged, err := report.Merge(shards)
	if err != nil {
		return err
	}
	return o.write(c, merged)
}

// isReport reports whether an argument is a report, and no template: a JSON file whose name is not
// that of a configuration.
func isReport(name string) bool {
	switch filepath.Base(name) {
	case modeldir.TokenizerConfig, modeldir.ProcessorTemplate, modeldir.ProcessorConfig:
		return false
	}
	return name == "-" || strings.HasPrefix(filepath.Ext(name), ".json")
}

func readReport(c *call, name string) (*report.Report, error) {
	in := c.stdin
	if name != "-" {
		f, err := c.files.Open(c.ctx, name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	r, err := report.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", storage.Shown(name), err)
	}
	return r, nil
}
