package rule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
)

// TestSettle has results as words: suite, rule and text of failures, or "ok" and the suite. It
// lists those that are news afterwards.
func TestSettle(t *testing.T) {
	read := func(lines string) (results []rule.Result) {
		for _, line := range strings.Split(lines, ", ") {
			words := strings.Fields(line)
			if len(words) < 3 {
				results = append(results, rule.Result{Suite: words[len(words)-1], Rule: "R1"})
				continue
			}
			res := rule.Result{Suite: words[0], Rule: words[1], Text: words[2] + "\nevidence",
				Status: rule.Failed, Severity: rule.Error}
			if slices.Contains(words, "folded") { // another finding is a line of it
				res.Text = words[2] + "\nthe same: another\nevidence"
			}
			if slices.Contains(words, "unjudged") {
				res.Status = rule.Unjudged
			}
			if slices.Contains(words, "warning") {
				res.Severity = rule.Warning
				if res.Status == rule.Failed {
					res.Status = rule.Found
				}
			}
			results = append(results, res)
		}
		return results
	}
	for _, c := range []struct{ now, before, news string }{
		{"a R1 x", "ok a", "a R1 x"},
		{"a R1 x", "a R1 x", ""},
		{"a R1 x", "b R1 x", "a R1 x"},
		{"a R1 x", "a R2 x", "a R1 x"},
		{"a R1 moved", "a R1 x", ""},
		{"a R1 new, a R1 x", "a R1 x", "a R1 new"},
		{"a R1 x, a R1 new", "a R1 x, a R1 y", ""},
		{"a R1 x, a R1 x", "a R1 x", "a R1 x"},
		{"a R9 x", "a R9 x", "a R9 x"},
		{"a R1 x folded", "a R1 x", "a R1 x"},
		{"a R1 x folded", "a R1 x folded", ""},
		{"a R1 x", "a R1 x folded", ""},
		{"a R1 x folded, a R1 y", "a R1 x, a R1 y", "a R1 x"},
		{"a R1 x folded", "a R1 y, a R1 z", ""},
		{"a R1 x unjudged", "a R1 x unjudged", ""},
		{"a R1 x unjudged", "a R1 y", ""},
		{"a R1 x", "a R1 x unjudged", "a R1 x"},
		{"a R1 x, a R1 y unjudged", "a R1 y unjudged", "a R1 x"},
		{"a R1 x warning", "a R1 x warning", ""},
		{"a R1 moved warning, a R2 x warning", "a R1 x warning", "a R2 x"},
		{"a R1 x warning, a R1 y warning", "a R1 x warning", "a R1 y"},
		{"a R1 x", "a R1 x warning", "a R1 x"},
		{"a R1 x warning", "a R1 x", "a R1 x"},
		{"a R1 x unjudged warning", "a R1 x unjudged warning", ""},
		{"a R1 x unjudged warning", "a R1 y warning", ""},
		{"a R1 x warning", "a R1 x unjudged warning", "a R1 x"},
		{"a R1 x unjudged", "a R1 x unjudged warning", "a R1 x"},
	} {
		now := read(c.now)
		rule.Settle(now, read(c.before), "It was there.", "R9")
		var news []string
		for _, res := range now {
			if res.News() {
				text, _, _ := strings.Cut(res.Text, "\n")
				news = append(news, fmt.Sprintf("%s %s %s", res.Suite, res.Rule, text))
			}
			if known := strings.HasSuffix(res.Text, "\nevidence\nIt was there."); known !=
				(res.Status == rule.Known) || known && res.Old {
				t.Errorf("%q after %q: %+v", c.now, c.before, res)
			}
		}
		if got := strings.Join(news, ", "); got != c.news {
			t.Errorf("%q after %q: %q is news, want %q", c.now, c.before, got, c.news)
		}
	}
}
