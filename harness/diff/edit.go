package diff

import (
	"context"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
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
	o engine.Options, find func(subject.Source) []rule.Result) Edit {
	if was == nil {
		return Edit{Findings: [2][]rule.Result{1: find(is)}}
	}
	e := Edit{Was: &subject.With(ctx, []subject.Source{*was}, o)[0]}
	if was.Same(is) {
		e.Findings[1] = find(is)
		return e
	}
	e.Findings = ofBoth(*e.Was, is, find)
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

// ofBoth returns what the checks find in two revisions. A new finding counts for the old revision
// as well where that does not serve the request that shows it.
func ofBoth(was, is subject.Source, find func(subject.Source) []rule.Result) [2][]rule.Result {
	all := [2][]rule.Result{1: find(is)}
	all[0] = find(was)
	old, err := was.Compile()
	if err != nil {
		return all
	}
	more := brought(all)
	for _, res := range all[1] {
		request, err := ordered.Parse(res.Request)
		if res.Status == rule.Passed || res.Level() == rule.Note || err != nil ||
			slices.ContainsFunc(all[0], func(r rule.Result) bool { return r.Same(&res) }) {
			continue
		}
		in, _ := (view.View{}).Serve(nil).Input(request)
		if Serves(old, in) {
			continue
		}
		n := min(res.Causes(), more[res.Rule])
		more[res.Rule] -= n
		res.Text, _, _ = strings.Cut(res.Text, "\n")
		all[0] = append(all[0], slices.Repeat([]rule.Result{res}, max(n, 0))...)
	}
	return all
}

// brought is how many more causes each rule finds in the new revision, of two.
func brought(findings [2][]rule.Result) map[string]int {
	count := map[string]int{}
	for i, results := range findings {
		for _, res := range results {
			if res.Status != rule.Passed && res.Level() > rule.Note {
				count[res.Rule] += (2*i - 1) * res.Causes()
			}
		}
	}
	return count
}

// Serves reports whether a revision renders a request and writes all that is said in it. What it
// refuses or loses is no reference for another revision.
func Serves(t *engine.Template, in chattemplate.Input) bool {
	in.Kwargs = slices.Concat(t.Caps().Needs.Bound, in.Kwargs)
	o, err := t.ChatTemplate().Observe(in)
	return err == nil && newAccount(o, in.Generate).has(in)
}
