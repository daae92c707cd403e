package rule

import (
	"maps"
	"slices"
)

// Expect applies a list of known failures to all results that its keys can have: results whose key
// is listed must fail, or not be judged. Those that do are [Known], with the reason as their text;
// a listed key all of whose results passed is a failure of the list.
func Expect(results []Result, known map[string]string, key func(*Result) string) {
	failed := map[string]bool{}
	for i := range results {
		if k := key(&results[i]); results[i].Bad() {
			failed[k] = true
		}
	}
	for i := range results {
		res := &results[i]
		k := key(res)
		reason, listed := known[k]
		switch {
		case !listed:
		case res.Bad():
			res.Status, res.Severity, res.Text = Known, Note, reason
		case !failed[k]:
			res.Status, res.Severity = Failed, Error
			res.Text = "passes, but is listed as a " +
				"known failure (" + reason + "); remove it from the list"
		}
	}
}

// Accept makes known failures of what rules found whose ids are accepted, with the reasons.
func Accept(results []Result, accepted map[string]string) {
	for i := range results {
		res := &results[i]
		if reason, ok := accepted[res.Rule]; ok && res.News() {
			res.Status, res.Severity = Known, Note
			res.Text += "\nAccepted: " + reason
		}
	}
}

// Unused returns a failure for each listed key that no result has.
func Unused(results []Result, known map[string]string, key func(*Result) string) []Result {
	seen := map[string]bool{}
	for i := range results {
		seen[key(&results[i])] = true
	}
	var unused []Result
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if !seen[k] {
			unused = append(unused,
				Result{Suite: "known failures", Name: k, Status: Failed, Severity: Error,
					Text: "nothing of this name was checked; remove it from the list"})
		}
	}
	return unused
}
