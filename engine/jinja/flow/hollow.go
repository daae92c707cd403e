package flow

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// Hollow is a body of an if or a loop without a statement, a text or a comment in it.
type Hollow struct {
	Off  int    // of the tag before it
	Next string // the tag after it
}

// Hollows returns the bodies of a template that have nothing in them. A chain of several conditions
// may well skip one of its cases; the bodies of such a chain are left out.
func Hollows(src *source.Source) (all []Hollow) {
	tree, spans, err := syntax.ParseSpans(src)
	if err != nil {
		return nil
	}
	for n := range tree.All() {
		var bodies [][]syntax.Stmt
		switch n := n.(type) {
		case *syntax.If:
			if n.Elif == nil {
				bodies = [][]syntax.Stmt{n.Body, n.Else}
			}
		case *syntax.For:
			bodies = [][]syntax.Stmt{n.Body, n.Else}
		}
		if bodies == nil {
			continue
		}
		tags := spans.Tags(n.(syntax.Stmt))
		for i := range len(tags) - 1 {
			between := src.Text[tags[i].To:tags[i+1].From]
			if len(bodies[i]) == 0 && strings.TrimSpace(between) == "" {
				all = append(all, Hollow{tags[i].From, src.Text[tags[i+1].From:tags[i+1].To]})
			}
		}
	}
	return all
}
