package script

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
)

// Group is the group of the results, a column of the matrix.
const Group = "scripts"

// Suite is a corpus to run.
type Suite struct {
	Corpus   *families.Corpus
	Dir      string // where the corpus is on disk, to be updated
	Root     string // the corpus as results name its files; Dir if empty
	Vendors  string // the vendors' folder as results name its files
	Vendor   fs.FS  // the vendors' templates; nil where they are not at hand
	Update   bool   // rewrite the scripts' expectations
	Details  bool   // Results has prompt, output and timeline of every case
	Continue bool   // go on after a command that failed
	WorkDir  string // keep the scripts' folders below this one
	// Limits bound the cost of templates: each variant's own, and all others that a script compiles
	// together.
	Limits engine.Limits
}

// Variant is a template that the cases of a family run with.
type Variant struct {
	Name   string // the family for its own template, else the vendor template's file name
	Family *families.Family
	Vendor *families.Vendor // nil for the family's own template
}

// Variants returns the templates that have cases to run with, family by family, the own one first.
func (s *Suite) Variants() []Variant {
	var variants []Variant
	for i := range s.Corpus.Families {
		f := &s.Corpus.Families[i]
		if len(f.Cases) == 0 {
			continue
		}
		variants = append(variants, Variant{Name: f.Name, Family: f})
		if s.Vendor == nil || s.Update {
			continue
		}
		for j := range f.Vendors {
			variants = append(variants,
				Variant{Name: f.Vendors[j].Name, Family: f, Vendor: &f.Vendors[j]})
		}
	}
	return variants
}

// Known divides a variant's cases into those that must hold and those that known.txt lists, which
// must fail.
func (s *Suite) Known(v Variant) (must, known Variant) {
	must, known = v, v
	holds, fails := *v.Family, *v.Family
	must.Family, known.Family = &holds, &fails
	holds.Cases, fails.Cases = nil, nil
	for _, file := range v.Family.Cases {
		name := strings.TrimSuffix(path.Base(file), path.Ext(file))
		if _, listed := s.Corpus.Known[v.Name+" "+name]; listed {
			fails.Cases = append(fails.Cases, file)
		} else {
			holds.Cases = append(holds.Cases, file)
		}
	}
	return must, known
}

// Source returns the template of a variant. The end of ctx ends its renders.
func (s *Suite) Source(ctx context.Context, v Variant) (subject.Source, error) {
	var text string
	var err error
	if v.Vendor != nil {
		text, err = families.ReadVendor(s.Vendor, *v.Vendor)
	} else {
		text, err = s.Corpus.Text(v.Family.Name)
	}
	src := subject.New(v.Name, text).Limited(ctx, s.Limits)
	if v.Vendor != nil {
		src.File = filepath.Join(s.Vendors, v.Vendor.Name)
	} else {
		src.File = s.file(v.Family.Name + "/" + families.OwnTemplate)
	}
	return src, err
}

// limited returns the function that gives templates beside a variant's the limits that they have
// together.
func (s *Suite) limited(ctx context.Context) func(subject.Source) subject.Source {
	o := engine.Options{Limits: s.Limits}.Together()
	return func(src subject.Source) subject.Source {
		return subject.With(ctx, []subject.Source{src}, o)[0]
	}
}

// file names a file of the corpus for people.
func (s *Suite) file(name string) string {
	return filepath.Join(cmp.Or(s.Root, s.Dir), filepath.FromSlash(name))
}

// place returns where people find a line of a case. For a case that a kind makes this is the
// family's output, and where is the line of the kind's script.
func (s *Suite) place(file string, line int) (place rule.Place, where string) {
	o := s.Corpus.Origin(file)
	place = rule.Place{File: s.file(o.File), Line: line}
	if o.Kind == "" {
		return place, ""
	}
	place.Line = 0
	if text, err := fs.ReadFile(s.Corpus.FS, o.File); err == nil {
		place.Line = headerLine(string(text), o.Kind)
	}
	return place, fmt.Sprintf("%s:%d: ", s.file(o.Script), line-o.Shift)
}

// headerLine returns the line of the first file of a kind in an outputs file, or 0.
func headerLine(text, kind string) int {
	number := 0
	for line := range strings.Lines(text) {
		if number++; strings.HasPrefix(line, "-- "+kind+"/") {
			return number
		}
	}
	return 0
}

// Params tells testscript how the cases of a variant run; src is its template ([Suite.Source]).
// testscript reads scripts from the disk, so they are written into dir. A case that may not run is
// an error.
func (s *Suite) Params(ctx context.Context, v Variant, src subject.Source,
	dir string) (testscript.Params, error) {
	files := make([]string, len(v.Family.Cases))
	for i, name := range v.Family.Cases {
		text, err := fs.ReadFile(s.Corpus.FS, name)
		if err != nil {
			return testscript.Params{}, err
		}
		if _, err := readArchive(name, string(text)); err != nil {
			return testscript.Params{}, err
		}
		files[i] = filepath.Join(dir, path.Base(name))
		if err := os.WriteFile(files[i], text, 0o666); err != nil {
			return testscript.Params{}, err
		}
	}
	p := testscript.Params{
		Files: files,
		Cmds:  commands,
		// of the conditions there is one
		Condition:           func(string) (bool, error) { return v.Vendor != nil, nil },
		UpdateScripts:       s.Update,
		ContinueOnError:     s.Continue,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			r := &run{suite: s, variant: v, source: src, updates: map[string]string{},
				limited: s.limited(ctx)}
			env.Values[runKey{}] = r
			name := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			env.Defer(func() { r.writeUpdates(env.T(), v.Family.Name+"/"+name+".txtar") })
			return nil
		},
	}
	if s.WorkDir != "" {
		p.WorkdirRoot = filepath.Join(s.WorkDir, v.Name)
		return p, os.MkdirAll(p.WorkdirRoot, 0o777)
	}
	return p, nil
}
