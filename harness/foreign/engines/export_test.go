package engines

import (
	"github.com/goassay/assay/harness/corpus/families"
)

// Stale returns the families, each with an engine, whose template the corpus has no more.
func (p *Published) Stale(c *families.Corpus) []string {
	var stale []string
	for _, engine := range p.Engines() {
		for _, name := range p.familiesOf(engine) {
			if _, ok := p.families[engine][name].source(c); !ok {
				stale = append(stale, engine+"/"+name)
			}
		}
	}
	return stale
}
