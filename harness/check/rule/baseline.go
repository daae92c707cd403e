package rule

import (
	"slices"
	"strings"
)

// Settle marks what now has of the results that were there before, of each rule in each suite as
// many causes as before had: first those that say the same in their first line, then any. Failures,
// and checks for errors that were not judged, are known then; findings, and lesser checks that were
// not judged, are old. A rule that failed before may go unjudged now; one that was not judged
// before and fails now is news. The rules of exempt must hold even where they failed before.
func Settle(now, before []Result, reason string, exempt ...string) {
	type key struct {
		suite, rule, text string
		bad, unjudged     bool
	}
	of := func(res *Result) key {
		first, _, _ := strings.Cut(res.Text, "\n")
		return key{res.Suite, res.Rule, first, res.Bad() || res.Status == Known,
			res.Status == Unjudged}
	}
	same, any := map[key]int{}, map[key]int{}
	for i := range before {
		res := &before[i]
		if res.Status != Passed && !slices.Contains(exempt, res.Rule) {
			k := of(res)
			same[k] += res.Causes()
			k.text = ""
			any[k] += res.Causes()
		}
	}
	for _, exact := range [...]bool{true, false} {
		for i := range now {
			res := &now[i]
			if !res.News() || res.Rule == "" {
				continue
			}
			k := of(res)
			broad := k
			broad.text = ""
			if k.unjudged && any[broad] == 0 {
				k.unjudged, broad.unjudged = false, false
			}
			n := res.Causes()
			if any[broad] < n || exact && same[k] < n {
				continue
			}
			any[broad] -= n
			same[k] -= n
			if res.Bad() {
				res.Status, res.Severity = Known, Note
				res.Add(reason)
			} else {
				res.Old = true
			}
		}
	}
}
