package script

import (
	"io/fs"
	"iter"
	"maps"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
)

// Own returns a family's own template, under the name of its file.
func Own(c *families.Corpus, family string) (subject.Source, error) {
	text, err := c.Text(family)
	return subject.New(family+"/"+families.OwnTemplate, text), err
}

// EachOwn yields the own template of each family that has one, under the name of the family.
func EachOwn(c *families.Corpus) iter.Seq[subject.Source] {
	return func(yield func(subject.Source) bool) {
		for i := range c.Families {
			f := &c.Families[i]
			text, err := c.Text(f.Name)
			if f.Own && err == nil && !yield(subject.New(f.Name, text)) {
				return
			}
		}
	}
}

// Markers returns the markers of the formats of a corpus' own templates, each once. A corpus that
// cannot be read has none.
func Markers(corpus fs.FS) []string {
	c, err := families.Load(corpus)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for src := range EachOwn(c) {
		t, err := src.Compile()
		if err != nil {
			continue
		}
		plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
		if err != nil {
			continue
		}
		for _, m := range plan.Preserved {
			found[m] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
