package main

import (
	"fmt"
	"os"

	"github.com/goassay/assay/harness/report"
)

var reportCommand = command{
	group: proving, name: "report", args: "[REPORT.json...]", takes: arity{0, -1, ""}, files: reportFiles,
	short: "write a page from reports, or from a run of the embedded corpus",
	long: `The reports are what other commands write with --json, "-" for standard input; several must come from the shards of one run.
Without arguments the embedded corpus runs, with prompt, output and timeline of every case. --html writes the page; what failed is
listed on standard output; --junit, --sarif and --json write the other forms.`,
	setup: func(flags *flagSet) func(*call) error {
		o := outputFlags(flags)
		return o.page
	},
}

func (o *output) page(c *call) error {
	if len(c.args) == 0 {
		r := &corpusRun{output: o, limits: &limits{lookedAt}}
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

func readReport(c *call, name string) (*report.Report, error) {
	in := c.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	r, err := report.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
