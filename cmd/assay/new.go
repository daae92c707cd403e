package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/report/safefile"
)

var newCommand = command{
	group: proving, name: "new", args: "TEMPLATE", takes: arity{1, 1, "one template"},
	files: templateFiles,
	short: "write a family folder for a template, with first outputs from its analysis",
	long: `The folder is CORPUS/FAMILY; the outputs are the template's own turns for answers,
reasoning and calls, whole and cut off, with the messages they mean: one at least of every kind that
a family of the corpus has. Read them, change them, add outputs of real models, then run "assay
run CORPUS". A folder that exists already is left alone.`,
	setup: func(flags *flagSet) func(*call) error {
		dir := flags.String("corpus", "corpus", "`DIR` of the corpus")
		family := flags.String("family", "", "`NAME` of the family; default: the file's "+
			"name in lower case")
		json := flags.Bool("json", false, "print JSON")
		limits := limitFlag(flags, lookedAt)
		return func(c *call) error {
			return scaffold(c, limits.Limits, *dir, *family, *json)
		}
	},
}

var familyName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

func scaffold(c *call, limits engine.Limits, dir, family string, json bool) error {
	src, err := c.open(c.args[0])
	if err != nil {
		return err
	}
	if family == "" {
		base := filepath.Base(c.args[0])
		family = strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	}
	if !familyName.MatchString(family) {
		return fmt.Errorf("%q is no name for a family: small letters, digits, points and "+
			"hyphens; --family gives another", family)
	}
	t, err := src.Limited(c.ctx, limits).Compile()
	if err != nil {
		return &failure{err}
	}
	folder := filepath.Join(dir, family)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already; remove it or choose another --family", folder)
	}
	kinds, err := readKinds(dir)
	if err != nil {
		return err
	}
	cases, missing := script.Scaffold(kinds, family, t)
	if err := exhausted(t); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	wrote := []string{}
	for _, f := range []script.File{{Name: families.OwnTemplate, Text: src.Text}, cases} {
		name := filepath.Join(folder, f.Name)
		if err := safefile.Write(name, safefile.Text(f.Text)); err != nil {
			return errors.Join(err, os.RemoveAll(folder))
		}
		wrote = append(wrote, name)
	}
	if json {
		return writeJSON(c.stdout,
			map[string]any{"family": family, "wrote": wrote,
				"left_out": append([]string{}, missing...)})
	}
	for _, name := range wrote {
		fmt.Fprintln(c.stdout, "wrote", name)
	}
	for _, line := range missing {
		fmt.Fprintln(c.stdout, "left out:", line)
	}
	fmt.Fprintf(c.stdout, "next: go run ./cmd/assay run --run %s %s\n", family, dir)
	return nil
}

// readKinds reads the kinds of the corpus in a folder, which need not be there yet.
func readKinds(dir string) (*families.Kinds, error) {
	fsys, err := openCorpus(dir)
	if errors.Is(err, fs.ErrNotExist) {
		fsys, err = corpus.FS, nil
	}
	if err != nil {
		return nil, err
	}
	return families.ReadKinds(fsys)
}
