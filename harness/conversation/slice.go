package conversation

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
)

// slice is the part of a template that a decision depends on, with its literals as values.
type slice struct {
	*flow.Slice
	values []ordered.Value // nearest first
}

// maxValues bounds the literals of a slice.
const maxValues = 24

// slice returns the slice of a decision.
func (s *searcher) slice(of flow.Decision) *slice {
	out := &slice{Slice: s.model.Slice(of)}
	for _, l := range out.Literals {
		if !l.IsNum {
			out.add(text(l.Text))
		} else if !l.IsInt {
			out.add(ordered.Num(l.Text))
		} else if n, err := strconv.Atoi(l.Text); err == nil { // and those beside it
			out.add(ordered.Int(n))
			out.add(ordered.Int(n + 1))
			out.add(ordered.Int(n - 1))
		}
	}
	return out
}

// add notes a literal.
func (s *slice) add(v ordered.Value) {
	if len(s.values) < maxValues && !slices.ContainsFunc(s.values,
		func(o ordered.Value) bool { return o.String() == v.String() }) {
		s.values = append(s.values, v)
	}
}
