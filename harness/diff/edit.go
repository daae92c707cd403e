package diff

import (
	"context"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
)

// Edit describes the change of a template since an earlier revision.
type Edit struct {
	Was     *subject.Source // nil: there is none
	Changes []rule.Result   // as `assay diff` finds them, without the checks' own findings
	// Findings are those of the checks in the earlier revision, where there is one that differs,
	// and in this one. The earlier ones have the name of this one, to be compared with them.
	Findings [2][]rule.Result
}

// Since compares a template with an earlier revision, nil where there is none, also by the cases of
// a family and by what the checks find in each. Both have one bound on their renders together, that
// of the options.
func Since(ctx context.Context, was *subject.Source, is subject.Source, cases []families.Case,
	o engine.Options, findings func(subject.Source) []rule.Result) Edit {
	e := Edit{Findings: [2][]rule.Result{1: findings(is)}}
	if was == nil {
		return e
	}
	e.Was = &subject.With(ctx, []subject.Source{*was}, o)[0]
	if was.Same(is) {
		return e
	}
	e.Findings[0] = findings(*e.Was)
	for i := range e.Findings[0] {
		e.Findings[0][i].Suite = is.Name
	}
	p := &pair{cases: cases, before: *e.Was, source: is,
		findings: func() [2][]rule.Result { return e.Findings }}
	e.Changes = slices.DeleteFunc(p.results(),
		func(res rule.Result) bool { return slices.Contains(OfFindings, res.Rule) })
	return e
}

// Class names the class of the edit, with its changes: new, identical, safe, risky, breaking or not
// compared. It is breaking where a check fails that did not at the base.
func (e Edit) Class(findings []rule.Result) string {
	switch {
	case e.Was == nil:
		return "new, so nothing is compared"
	case Incomparable(e.Changes):
		return NotCompared + ", because the limits ended the look at it"
	}
	changed := slices.Clone(e.Changes)
	for _, res := range findings {
		if res.Bad() {
			changed = append(changed, res)
		}
	}
	changed = slices.DeleteFunc(changed,
		func(res rule.Result) bool { return res.Status == rule.Passed })
	if len(changed) == 0 {
		return Identical
	}
	return summed(changed)
}
