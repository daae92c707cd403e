package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/templates"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
)

var templatesCommand = command{
	group: judging, name: "templates", args: "FOLDER|MODEL.gguf|hf:OWNER/REPO[:FILE]",
	takes: arity{1, 1, "a model folder, a model file or a repository"}, files: modelFiles,
	short: "list a model's chat templates, and the one that each engine takes",
	long: `A model folder holds templates in chat_template.jinja, additional_chat_templates,
chat_template.json, processor_config.json, tokenizer_config.json and GGUF files. The command lists
all of them with the gate's verdict; then the one that transformers, vLLM and llama.cpp each take
for requests without and with tools, with the reason; then their differences (identical, white
space, not observable, safe, risky, breaking) with the changes as "assay diff" names them; then the
faults (rules A050 to A055; "assay check" of the folder has the faults of each template besides).
Exit status 1 means that a file cannot be used, or that there is no template. docs/models.md has
the engines' rules.

Of a repository on the Hub the command fetches only small files, and the header of the one GGUF file
that "assay pull" would choose; --all reads the headers of all of them.
` + hubHelp,
	setup: func(flags *flagSet) func(*call) error {
		l := new(listing)
		flags.BoolVar(&l.all, "all", false, "read every GGUF file of a repository")
		l.step, l.remote = new(step).flags(flags), remoteFlags(flags)
		return func(c *call) error {
			err := l.run(c)
			if err != nil && !errors.Is(err, errFailed) && l.json {
				fmt.Fprintf(c.data(), "%s\n", errorValue(c.args[0], err).
					Append(nil, ordered.Pretty))
			}
			return err
		}
	},
}

type listing struct {
	*step
	*remote
	all bool
}

func (l *listing) run(c *call) error {
	name := c.args[0]
	if strings.HasPrefix(name, hub.Scheme) {
		return l.onHub(c)
	}
	switch {
	case l.revision != "" || l.all:
		return fmt.Errorf("--revision and --all are for models on the "+
			"Hub, %sOWNER/REPO", hub.Scheme)
	case !subject.IsModel(name):
		return fmt.Errorf("%s is neither a model folder nor a .gguf file; `assay check` takes "+
			"single templates", name)
	}
	m, err := subject.OpenModel(name)
	if err != nil {
		return err
	}
	found := templates.Of(m.Limited(c.ctx, l.limits.Limits))
	return l.print(c, found, "", found.Value())
}

// onHub lists the templates of a repository.
func (l *listing) onHub(c *call) error {
	ref, err := l.ref(c.args[0])
	if err != nil {
		return err
	}
	repo, folder, err := l.folder(c, ref, l.all)
	if err != nil {
		return err
	}
	found := templates.Of(subject.NewModel(ref.String(), "", folder).Limited(c.ctx,
		l.limits.Limits))
	v := found.Value().With("repository", ordered.Str(repo.ID)).
		With("commit", ordered.Str(repo.Commit))
	return l.print(c, found, fmt.Sprintf("repository: %s\ncommit: %s\n", repo.ID, repo.Commit), v)
}

// print prints a survey as text after a head, or as JSON, and fails where it has errors.
func (l *listing) print(c *call, found *templates.Survey, head string,
	v ordered.Value) (err error) {
	for _, t := range found.Templates {
		if err := exhausted(t.Compiled); err != nil {
			return err
		}
	}
	if l.json {
		_, err = fmt.Fprintf(c.data(), "%s\n", v.Append(nil, ordered.Pretty))
	} else {
		err = l.text(c, found, head)
	}
	if err == nil && !found.OK() {
		err = errFailed
	}
	return err
}

// text prints a survey and the faults of the model.
func (l *listing) text(c *call, found *templates.Survey, head string) error {
	if err := c.printLines(head + found.String()); err != nil || len(found.Findings) == 0 {
		return err
	}
	if out, ok := c.stdout.(*visible.Writer); ok {
		if err := out.Flush(); err != nil { // the writer from here on makes texts visible itself
			return err
		}
	}
	findings := &report.Report{Command: "templates", Version: version(), Rules: check.Rules(),
		Results: found.Findings}
	// the evidence stands above, with the differences
	return findings.Text(c.raw, report.TextOptions{Short: true, Color: c.colors(c.raw)})
}
