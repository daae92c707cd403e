package vector

import (
	"context"
	"fmt"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
)

func (v *Verifier) grammar(_ context.Context, vec *Vector) error {
	g, err := gbnf.Parse(source.New(vec.ID, vec.Value.At("grammar").Text()))
	if err != nil {
		return err
	}
	return expectLanguage(vec, g)
}

func (v *Verifier) schema(_ context.Context, vec *Vector) error {
	s, err := schema.Parse(vec.Value.At("schema"))
	if err != nil {
		return err
	}
	g, err := gbnf.FromSchema(s)
	if err != nil {
		return err
	}
	return expectLanguage(vec, g)
}

// expectLanguage demands that a grammar takes the texts of accept, and none of reject.
func expectLanguage(vec *Vector, g *gbnf.Grammar) error {
	for _, list := range [...]struct {
		name string
		want bool
	}{{"accept", true}, {"reject", false}} {
		for i, text := range stringsOf(vec.Value.At(list.name)) {
			if got, err := gbnf.Accepts(g, text); err != nil {
				return err
			} else if got != list.want {
				return fmt.Errorf("%s[%d]: the grammar must %s %s\n%s", list.name, i, list.name,
					ordered.Str(text), g)
			}
		}
	}
	return nil
}
