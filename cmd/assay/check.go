package main

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/gonja"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/revision"
	"github.com/goassay/assay/harness/subject"
	"github.com/goassay/assay/harness/survey"
)

var checkCommand = command{
	name: "check", args: "TEMPLATE...",
	short: "run the automatic checks on templates, model folders and model files",
	long: `A template is a Jinja file, a tokenizer_config.json, or "-" for standard input; of a model folder or a GGUF file all templates
are checked, and which of them each engine takes (A050 to A055). Errors fail the check, warnings and notes do not; docs/rules.md and ` + "`assay explain`" + ` say what each rule means. {# assay:ignore A021 reason #} in a template
suppresses a rule there. With --base an edit is judged as well: templates that differ from that commit are compared with what they were
there, as "assay diff" does, under their old name where they were renamed.`,
	setup: func(flags *flag.FlagSet) func(*call) error {
		o := outputFlags(flags)
		commit := flags.String("base", "", "compare templates with their revision at this `COMMIT` of git, too")
		fallbacks := listFlag(flags, "fallback", "`NAME` of a fallback spelling that the checks allow; may be given again")
		return func(c *call) error {
			if err := c.want(1, -1, "templates"); err != nil {
				return err
			}
			if err := knownFallbacks(*fallbacks); err != nil {
				return err
			}
			o.notes = true
			return runCheck(c, o, *commit, *fallbacks)
		}
	},
}

func runCheck(c *call, o *output, commit string, fallbacks []string) error {
	second := new(gonja.Renderer)
	defer second.Close()
	options := check.Options{Renderer: second, Differ: survey.Differ, Fallbacks: fallbacks}
	r := &report.Report{Command: "check", Version: version(), Rules: check.Rules()}
	var since *base
	if commit != "" {
		var err error
		if since, err = openBase(commit); err != nil {
			return err
		}
		r.Rules = append(r.Rules, revision.Rules()...)
	}
	var checks []func() ([]report.Result, error)
	for _, name := range take(o.shard, c.args) {
		if subject.IsModel(name) {
			m, err := subject.OpenModel(name)
			if err != nil {
				return err
			}
			checks = append(checks, func() ([]report.Result, error) { return check.Model(m, options), nil })
			continue
		}
		src, err := subject.Open(name, c.stdin)
		if err != nil {
			return err
		}
		checks = append(checks, func() ([]report.Result, error) {
			results := check.Template(src, options)
			if since == nil || name == "-" {
				return results, nil
			}
			changes, err := since.judge(src)
			return append(results, changes...), err
		})
	}
	results := make([][]report.Result, len(checks))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, run := range checks {
		group.Go(func() (err error) {
			results[i], err = run()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range results {
		r.Results = append(r.Results, results[i]...)
	}
	return o.write(c, r)
}

var explainCommand = command{
	name: "explain", args: "RULE",
	short: "explain a rule: its damage and its fix",
	long:  "RULE is an id, such as A012 D004 of changes or S014 of servers, or a name, such as null-content-printed. \"all\" prints every rule.",
	setup: func(flags *flag.FlagSet) func(*call) error {
		json := flags.Bool("json", false, "print JSON")
		return func(c *call) error {
			if err := c.want(1, 1, "a rule"); err != nil {
				return err
			}
			return explain(c, *json)
		}
	},
}

func explain(c *call, json bool) error {
	all := slices.Concat(check.Rules(), revision.Rules(), live.Rules())
	if c.args[0] == "all" {
		if json {
			return writeJSON(c.stdout, all)
		}
		_, err := fmt.Fprint(c.stdout, check.Manual()+"\n"+revision.Manual()+"\n"+live.Manual())
		return err
	}
	for _, r := range all {
		if !strings.EqualFold(r.ID, c.args[0]) && r.Name != c.args[0] {
			continue
		}
		if json {
			return writeJSON(c.stdout, r)
		}
		_, err := fmt.Fprint(c.stdout, strings.TrimPrefix(r.Markdown(), "## "))
		return err
	}
	return fmt.Errorf("there is no rule %q; `assay explain all` lists them", c.args[0])
}
