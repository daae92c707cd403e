package servetest

import (
	"context"
	"iter"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
)

// AllFamilies stands for every family in the name that [ToolFamilies] takes.
const AllFamilies = "all"

// ToolFamilies yields the own templates that serve tools: of the family of a name, or of all.
func ToolFamilies(t testing.TB, name string) iter.Seq2[engine.Source, *engine.Template] {
	return func(yield func(engine.Source, *engine.Template) bool) {
		all, err := families.Load(corpus.FS)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all.Families {
			f := &all.Families[i]
			if !f.Own || name != AllFamilies && name != f.Name {
				continue
			}
			text, err := all.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			src := engine.Source{Name: f.Name, Text: text, BOS: subject.BOS, EOS: subject.EOS}
			tm, err := engine.Compile(context.Background(), src, engine.Options{Now: subject.Now})
			if err == nil && tm.Gate().Err() == nil && !yield(src, tm) {
				return
			}
		}
	}
}
