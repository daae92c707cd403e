package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// implied are the rules whose findings often follow from one of a rule: where that is mended, there
// is none of them.
var implied = map[string][]string{
	"A003": {"A006"}, // the grammar is of the same format
	"A014": {"A158"},
	"A016": {"A155", "A164"},         // words about tools that are not there
	"A058": {"A019", "A088", "A167"}, // one boundary of turns, seen from both sides
	"A059": {"A163"},
	"A063": {"A083", "A088"}, // a text is not written twice without what stands around it
	"A066": {"A131"},
	"A128": {"A003"},         // values as Python writes them are no JSON
	"A146": {"A003", "A006"}, // a bracket too many is no JSON
	"A147": {"A003", "A006"},
}

// asked begins the line of a finding that tells its request in words.
const asked = "\nrequest: "

// Join tells the errors and warnings that one edit mends as one finding: the worst of them stays,
// of those that are as bad the first, and each other becomes a line of it. They have one cause
// where one condition of a template decides about them, or where one of a rule is known to follow
// from those of the other and their requests have the same roles, or one's has those of the other.
// Of those that are as bad a cause stays before what follows from it.
// It comes after whatever compares findings by their rules.
func Join(results []Result) []Result {
	implies := func(head, one *Result) bool {
		return slices.Contains(implied[head.Rule], one.Rule) && alike(one.roles(), head.roles())
	}
	follows := func(one, head *Result) bool {
		return one.Suite == head.Suite && (head.Fixable || !one.Fixable) &&
			(one.Place.Condition != "" && one.Place.sameCondition(head.Place) ||
				implies(head, one) || head.Level() > one.Level() && implies(one, head))
	}
	var order []*Result
	for i := range results {
		if res := &results[i]; res.News() && res.IsFinding() && res.Level() > Note {
			order = append(order, res)
		}
	}
	slices.SortStableFunc(order, func(a, b *Result) int {
		return cmp.Compare(b.Level(), a.Level())
	})
	joined := map[*Result]bool{}
	for len(order) > 0 {
		head := 0
		causes := func(one *Result) bool {
			return one.Suite == order[head].Suite && one.Level() == order[head].Level() &&
				implies(one, order[head])
		}
		for k := slices.IndexFunc(order, causes); k >= 0; k = slices.IndexFunc(order, causes) {
			head = k
		}
		group := []*Result{order[head]}
		order = slices.Delete(order, head, head+1)
		for k := 0; k < len(group); k++ { // what follows from a consequence, too
			order = slices.DeleteFunc(order, func(one *Result) bool {
				if joined[one] = follows(one, group[k]); joined[one] {
					group = append(group, one)
				}
				return joined[one]
			})
		}
		for _, one := range group[1:] {
			line, _ := one.Place.Position()
			group[0].Add(fmt.Sprintf("also %s, line %d: %s", one.Rule, line, firstLine(one.Text)))
		}
	}
	kept := make([]Result, 0, len(results))
	for i := range results {
		if !joined[&results[i]] {
			kept = append(kept, results[i])
		}
	}
	return kept
}

// sameCondition reports whether two places are in one condition.
func (p Place) sameCondition(other Place) bool {
	file := func(p Place) string { part, _, _ := strings.Cut(p.Part, ":"); return p.File + part }
	return p.Condition == other.Condition && file(p) == file(other)
}

// roles are those of the messages of a finding's request.
func (res *Result) roles() (all []string) {
	_, text, _ := strings.Cut(res.Text, asked)
	text, _, _ = strings.Cut(firstLine(text), ";")
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, ",", " ")) {
		if slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, word) {
			all = append(all, word)
		}
	}
	return all
}

// alike reports whether two lists have the same members, or one those of the other.
func alike(a, b []string) bool {
	in := func(list []string) func(string) bool {
		return func(x string) bool { return !slices.Contains(list, x) }
	}
	return !slices.ContainsFunc(a, in(b)) || !slices.ContainsFunc(b, in(a))
}
