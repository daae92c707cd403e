package servetest

import (
	"iter"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
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
		for src := range script.EachOwn(all) {
			if name != AllFamilies && name != src.Name {
				continue
			}
			tm, err := src.Compile()
			if err == nil && tm.Gate().Err() == nil && !yield(src.Source, tm) {
				return
			}
		}
	}
}
