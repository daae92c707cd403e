package script_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

// TestScaffold writes first cases for every family's own template and runs them. Where nothing was
// left out, they show everything that a family's cases must.
func TestScaffold(t *testing.T) {
	corpus, err := families.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range corpus.Families {
		t.Run(f.Name, func(t *testing.T) {
			text, err := corpus.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			src := subject.New(f.Name, text)
			template, err := src.Compile()
			if err != nil {
				t.Fatal(err)
			}
			outputs, missing := script.Scaffold(corpus.Kinds, f.Name, template)
			root := t.TempDir()
			files := []script.File{outputs, {Name: families.OwnTemplate, Text: text}}
			if err := os.Mkdir(filepath.Join(root, f.Name), 0o777); err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if err := os.WriteFile(filepath.Join(root, f.Name, file.Name), []byte(file.Text),
					0o666); err != nil {
					t.Fatal(err)
				}
			}
			written, err := families.Load(os.DirFS(root))
			if err != nil {
				t.Fatal(err)
			}
			family := written.Families[0]
			if len(family.Cases) < minCases {
				t.Errorf("%d cases, want at least "+
					"%d; left out: %s", len(family.Cases), minCases, strings.Join(missing, "; "))
			}
			var samples []sample
			for _, file := range family.Cases {
				for _, s := range read(t, written, template, file) {
					if !strings.Contains(file, "malformed") {
						s.faults = nil // a parser may note the end of a template's turn
					}
					samples = append(samples, s)
				}
			}
			for _, k := range kinds {
				if len(missing) == 0 && (k.of == nil || k.of(script.ShownBy(template))) &&
					!slices.ContainsFunc(samples, k.is) {
					t.Errorf("nothing is left out, and there is no case of %s", k.name)
				}
			}
			suite := script.Suite{Corpus: written, Dir: root}
			results, err := suite.Results(t.Context(), script.Variant{Name: f.Name,
				Family: &family}, src, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range results {
				if res.Status != rule.Passed {
					t.Errorf("%s: %s", res.Name, res.Text)
				}
			}
		})
	}
}
