package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
)

// everyMarker returns the markers of all formats of the corpus, for servers whose template is not
// known. The names of functions are none.
var everyMarker = sync.OnceValue(func() []string {
	all, err := families.Load(corpus.FS)
	if err != nil {
		panic(err) // the corpus is part of this program
	}
	var markers []string
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own {
			continue
		}
		text, err := all.Text(f.Name)
		if err != nil {
			continue
		}
		t, err := engine.Compile(context.Background(), engine.Source{Name: f.Name, Text: text},
			engine.Options{Now: func() time.Time { return time.Time{} }})
		if err != nil {
			continue
		}
		plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
		if err != nil {
			continue
		}
		for _, m := range plan.Preserved {
			if tag.MatchString(m) {
				markers = append(markers, m)
			}
		}
	}
	slices.Sort(markers)
	return slices.Compact(markers)
})
