package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
	"github.com/goassay/assay/harness/report"
)

var auditCommand = command{
	group: judging, name: "audit", args: "[FILE|FOLDER|MODEL.gguf|hf:OWNER/REPO|http://SERVER...]",
	takes: arity{0, -1, "templates"}, files: templateFiles,
	short: "look for known faults in the templates that are here",
	long: `Each template is looked up in the published records of faults (docs/advisories.md), by
its text first and then by its behaviour: an edited copy of a faulty template that makes the same
prompts has the fault, too. For each fault the command says what happens, in which engines, and
what mends it. Folders are searched, the caches of programs included; --caches adds those of this
user. Of a server the template is read that its /props shows.

--fix mends what "assay fix" can mend: files in place, with the old text kept beside them, model
files as a copy; a file that a cache names by its digest stays as it is.

Exit status 1 means that there is a fault of at least the severity of --fail-on.
` + hubHelp,
	setup: func(flags *flagSet) func(*call) error {
		a := &auditing{failOn: choice{chosen: "warning", of: []string{"warning", "error"}}}
		flags.BoolVar(&a.caches, "caches", false, "look at the caches of Hugging Face and vLLM, "+
			"llama.cpp, Ollama and LM Studio as well")
		flags.StringArrayVar(&a.records, "records", nil, "look for the records of this `FOLDER` as "+
			"well; may be given again")
		flags.StringVar(&a.update, "update", "", "take a newer index of records from this `FILE` "+
			"or address first")
		flags.StringVar(&a.key, "key", "", "the public key in PEM, in this `FILE`, of who has "+
			"signed the index; default: that of Assay's publisher")
		flags.BoolVar(&a.fix, "fix", false, "mend what can be mended")
		flags.StringVar(&a.overrides, "overrides", ".", "where --fix puts the templates for files "+
			"of caches: in this `FOLDER`")
		flags.Var(&a.failOn, "fail-on", "fail for faults of this `SEVERITY`: warning, error; "+
			"default: warning")
		flags.completes("fail-on", func() []string { return a.failOn.of })
		a.remote = remoteFlags(flags)
		a.output = outputFlags(flags)
		a.limits = limitFlag(flags, edited)
		a.format.of = append(a.format.of, formOSV)
		return a.run
	},
}

const formOSV = "osv" // records, as osv-scanner lists them

type auditing struct {
	*remote
	*output
	*limits
	caches, fix bool
	update, key string
	overrides   string
	records     []string // folders with records of the user's own
	failOn      choice
}

func (a *auditing) run(c *call) error {
	stored, err := a.updated(c)
	if err != nil {
		return err
	}
	names := c.args
	if a.caches {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		names = append(names, audit.Caches(c.getenv, home, isFolder)...)
	}
	if len(names) == 0 {
		if a.update != "" {
			return nil
		}
		return usageError{errors.New("name what to look at, or give --caches")}
	}
	book, err := audit.Published(stored, a.records...)
	if err != nil {
		return err
	}
	var sources []subject.Source
	for _, name := range names {
		opened, err := a.open(c, name)
		if err != nil {
			return err
		}
		sources = append(sources, opened...)
	}
	var looked sync.Map // what is known, by the template: models share them
	found := audit.NewReport(book)
	return each(c, "templates", sources, func(src subject.Source) ([]audit.Match, error) {
		key := src.Source
		key.Name = ""
		look, _ := looked.LoadOrStore(key, sync.OnceValues(func() ([]audit.Match, error) {
			return book.Matches(c.ctx, src, a.Limits)
		}))
		return look.(func() ([]audit.Match, error))()
	}, func(src subject.Source, known []audit.Match, err error) error {
		if err != nil {
			c.warn("%s: not looked at: %v", src.Name, err)
			return nil
		}
		found.Add(src, known)
		if !a.fix {
			return nil
		}
		if done, err := audit.Repair(c.ctx, src, known, a.Limits, a.overrides); err != nil {
			c.warn("%s: not mended: %v", src.Name, err)
		} else if done != "" {
			c.note("%s", done)
		}
		return nil
	}, func(bool) error { return a.print(c, found) })
}

// updated takes a newer index, if one is given, and returns the file that has the newest one.
func (a *auditing) updated(c *call) (string, error) {
	stored := ""
	if dir, err := os.UserCacheDir(); err == nil {
		stored = filepath.Join(dir, "assay", "advisories.json")
	}
	switch {
	case a.update == "" && a.key != "":
		return "", usageError{errors.New("--key verifies the index of --update")}
	case a.update == "":
		return stored, nil
	case stored == "":
		return "", errors.New("there is no cache folder to keep an index in; set XDG_CACHE_HOME")
	}
	key := advisory.PublicKey
	if a.key != "" {
		var err error
		if key, err = readFile(a.key); err != nil {
			return "", err
		}
	}
	x, err := audit.Update(c.ctx, http.DefaultClient, a.update, stored, key)
	if err != nil {
		return "", &failure{err}
	}
	c.note("%d records, the youngest of %s", len(x.Records), x.Made)
	return stored, nil
}

// open opens the templates of an argument.
func (a *auditing) open(c *call, name string) ([]subject.Source, error) {
	switch {
	case strings.HasPrefix(name, hub.Scheme):
		m, err := a.model(c, name)
		if err != nil {
			return nil, err
		}
		return m.Distinct(), nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return audit.Serving(c.ctx, http.DefaultClient, name)
	case !isFolder(name):
		return audit.Open(name, c.stdin)
	}
	below, err := audit.Find(name)
	if err != nil {
		return nil, err
	}
	var all []subject.Source
	for _, name := range below {
		sources, err := audit.Open(name, c.stdin)
		if err != nil {
			c.warn("%v", err)
		}
		all = append(all, sources...)
	}
	return all, nil
}

// print writes what was found, and fails where a fault is as bad as --fail-on.
func (a *auditing) print(c *call, found *audit.Report) error {
	var err error
	if a.form(c) == formOSV {
		err = found.OSV(c.data())
	} else {
		err = a.output.write(c, &report.Report{Command: "audit", Version: version(),
			Rules: found.Rules(), Results: found.Results})
	}
	if err != nil && !errors.Is(err, errFailed) {
		return err
	}
	least := rule.Warning
	if a.failOn.chosen == "error" {
		least = rule.Error
	}
	if slices.ContainsFunc(found.Results, func(r rule.Result) bool {
		return r.Status != rule.Passed && r.Severity >= least
	}) {
		return errFailed
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
