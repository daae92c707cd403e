package rule

import "strings"

// Settle marks as known the failures of now that were there before, of each rule in each suite as many as before had: first those that say
// the same in their first line, then any. The rules of exempt must hold whatever was before. It returns how many it marked.
func Settle(now, before []Result, reason string, exempt ...string) int {
	type key struct{ suite, rule, text string }
	of := func(res *Result) key {
		first, _, _ := strings.Cut(res.Text, "\n")
		return key{res.Suite, res.Rule, first}
	}
	same, any := map[key]int{}, map[key]int{}
	for i := range before {
		res := &before[i]
		if res.Status == Failed || res.Status == Known {
			k := of(res)
			same[k]++
			k.text = ""
			any[k]++
		}
	}
	for _, id := range exempt {
		for k := range any {
			if k.rule == id {
				delete(any, k)
			}
		}
	}
	settled := 0
	for _, exact := range [...]bool{true, false} {
		for i := range now {
			res := &now[i]
			if res.Status != Failed || res.Rule == "" {
				continue
			}
			k := of(res)
			broad := key{k.suite, k.rule, ""}
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
