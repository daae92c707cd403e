package diff

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
)

// Edit describes the change of a template since an earlier revision.
type Edit struct {
	Was     *subject.Source // nil: there is none
	Changes []rule.Result   // as `assay diff` finds them, without the checks' own findings
}

// Since compares a template with an earlier revision, nil where there is none, also by the cases of
// a family. Both have one bound on
// their renders together, that of the options.
func Since(ctx context.Context, was *subject.Source, is subject.Source, cases []families.Case,
	o engine.Options) Edit {
	if was == nil {
		return Edit{}
	}
	e := Edit{Was: &subject.With(ctx, []subject.Source{*was}, o)[0]}
	if was.Same(is) {
		return e
	}
	e.Changes = slices.DeleteFunc(Compare(*e.Was, is, cases),
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
	slices.SortStableFunc(changed,
		func(a, b rule.Result) int { return cmp.Compare(b.Level(), a.Level()) })
	var names []string
	for _, res := range changed {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return Class(changed[0].Level()) + ": " + strings.Join(names, ", ")
}
