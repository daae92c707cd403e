package rule

import (
	"slices"
	"strings"
)

// Settle marks as known the failures of now that were there before, and the unjudged ones that were
// not judged before either, of each rule in each suite as many as before had: first those that say
// the same in their first line, then any. A rule that failed before may go unjudged now; one that
// was not judged before and fails now is news. The rules of exempt must hold even where they failed
// before. It returns how many it marked.
func Settle(now, before []Result, reason string, exempt ...string) int {
	type key struct {
		suite, rule, text string
		unjudged          bool
	}
	of := func(res *Result) key {
		first, _, _ := strings.Cut(res.Text, "\n")
		return key{res.Suite, res.Rule, first, res.Status == Unjudged}
	}
	same, any := map[key]int{}, map[key]int{}
	for i := range before {
		res := &before[i]
		if (res.Bad() || res.Status == Known) && !slices.Contains(exempt, res.Rule) {
			k := of(res)
			same[k]++
			k.text = ""
			any[k]++
		}
	}
	settled := 0
	for _, exact := range [...]bool{true, false} {
		for i := range now {
			res := &now[i]
			if !res.Bad() || res.Rule == "" {
				continue
			}
			k := of(res)
			broad := k
			broad.text = ""
			if k.unjudged && any[broad] == 0 {
				k.unjudged, broad.unjudged = false, false
			}
			if any[broad] == 0 || exact && same[k] == 0 {
				continue
			}
			any[broad]--
			same[k]--
			res.Status, res.Severity = Known, Note
			res.Text += "\n" + reason
			settled++
		}
	}
	return settled
}
