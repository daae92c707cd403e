package golden_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/golden"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/report"
)

// TestGolden compares every template with its goldens; -update rewrites them. ASSAY_VENDOR is the
// folder of the vendors' templates (make test sets it); without it only our own templates are
// compared.
func TestGolden(t *testing.T) {
	for _, s := range sources(t) {
		t.Run(s.path, func(t *testing.T) {
			t.Parallel()
			compiled, err := s.source.Compile()
			if err != nil {
				t.Fatal(err)
			}
			g := goldie.New(t, goldie.WithFixtureDir("."),
				goldie.WithDiffEngine(goldie.ClassicDiff))
			if !conflicts(t, s.path+".golden") { // which is nobody's to overwrite
				g.Assert(t, s.path, []byte(golden.Text(compiled)))
			}
		})
	}
}

// conflicts reports a conflict marker in a file.
func conflicts(t *testing.T, file string) bool {
	t.Helper()
	old, err := os.ReadFile(file)
	line := report.ConflictMarker(string(old))
	if err == nil && line > 0 {
		t.Errorf("golden/%s:%d: %s", file, line, golden.Conflict)
	}
	return err == nil && line > 0
}

type source struct {
	path   string // of the golden, without its suffix
	source subject.Source
}

// sources are the templates at hand.
func sources(t *testing.T) []source {
	c := load(t)
	var vendor fs.FS
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		vendor = os.DirFS(dir)
	}
	var all []source
	for _, f := range c.Families {
		if f.Own {
			text, err := c.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source{golden.Own(f.Name), subject.New(f.Name, text)})
		}
		for _, v := range f.Vendors {
			if vendor != nil {
				text, err := families.ReadVendor(vendor, v)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, source{golden.Vendor(v.Name), subject.New(v.Name, text)})
			}
		}
	}
	return all
}

func load(t *testing.T) *families.Corpus {
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// updating reports whether goldie's -update is set.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

// TestStore demands that every golden is read by some template, and has no conflict marker.
// Updating removes the others.
func TestStore(t *testing.T) {
	used := map[string]bool{}
	for _, f := range load(t).Families {
		if f.Own {
			used[golden.Own(f.Name)] = true
		}
		for _, v := range f.Vendors {
			used[golden.Vendor(v.Name)] = true
		}
	}
	for _, root := range []string{"own", "vendor"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch name, golden := strings.CutSuffix(filepath.ToSlash(path), ".golden"); {
			case golden && used[name]:
				conflicts(t, path)
				return nil
			case updating():
				return os.Remove(path)
			}
			t.Errorf("%s: no template reads this file any more; remove it", path)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestGrounds asks of every template how each field of its format is known.
func TestGrounds(t *testing.T) {
	for _, s := range sources(t) {
		compiled, err := s.source.Compile()
		if err != nil {
			t.Fatal(err)
		}
		a := compiled.Analysis()
		known := map[string]bool{}
		for _, g := range a.Grounds() {
			known[g.Field] = true
		}
		for _, field := range a.Format.Fields() {
			if !known[field] {
				t.Errorf("%s: no comparison says that it gave %s", s.path, field)
			}
		}
	}
}
