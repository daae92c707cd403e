package mutate

import (
	"slices"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// Found holds the findings of the checks in a template, and how often each rule has one.
type Found map[string]int

// Check runs the checks, and counts all findings, and those that are more than a note. A rule that
// could not be judged is no such one.
func Check(src subject.Source) (all, loud Found) {
	return Count(check.Template(src, check.Options{}))
}

// Count counts the findings among results, and those that are more than a note.
func Count(results []rule.Result) (all, loud Found) {
	all, loud = Found{}, Found{}
	for _, res := range results {
		if res.Status == rule.Passed {
			continue
		}
		all[res.Rule] += res.Causes()
		if res.Level() > rule.Note && res.Status != rule.Unjudged {
			loud[res.Rule] += res.Causes()
		}
	}
	return all, loud
}

// More returns the rules that find more than they did before, sorted.
func (f Found) More(before Found) []string {
	var more []string
	for id, n := range f {
		if n > before[id] {
			more = append(more, id)
		}
	}
	slices.Sort(more)
	return more
}
