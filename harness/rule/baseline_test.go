package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/rule"
)

// TestSettle has results as words: suite, rule and text of failures, or "ok" and the suite.
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
			if len(words) > 3 {
				res.Status = rule.Unjudged
			}
			results = append(results, res)
		}
		return results
	}
	for _, c := range []struct{ now, before, failing string }{
		{"a R1 x", "ok a", "a R1 x"},
		{"a R1 x", "a R1 x", ""},
		{"a R1 x", "b R1 x", "a R1 x"},
		{"a R1 x", "a R2 x", "a R1 x"},
		{"a R1 moved", "a R1 x", ""},
		{"a R1 new, a R1 x", "a R1 x", "a R1 new"},
		{"a R1 x, a R1 new", "a R1 x, a R1 y", ""},
		{"a R1 x, a R1 x", "a R1 x", "a R1 x"},
		{"a R9 x", "a R9 x", "a R9 x"},
		{"a R1 x unjudged", "a R1 x unjudged", ""},
		{"a R1 x unjudged", "a R1 y", ""},
		{"a R1 x", "a R1 x unjudged", "a R1 x"},
		{"a R1 x, a R1 y unjudged", "a R1 y unjudged", "a R1 x"},
	} {
		now := read(c.now)
		settled := rule.Settle(now, read(c.before), "It was there.", "R9")
		var failing []string
		for _, res := range now {
			switch res.Status {
			case rule.Failed:
				text, _, _ := strings.Cut(res.Text, "\n")
				failing = append(failing, fmt.Sprintf("%s %s %s", res.Suite, res.Rule, text))
			case rule.Known:
				settled--
				if !strings.HasSuffix(res.Text, "\nevidence\nIt was there.") {
					t.Errorf("%q", res.Text)
				}
			}
		}
		if got := strings.Join(failing, ", "); got != c.failing || settled != 0 {
			t.Errorf("%q after %q: %q fail, want %q", c.now, c.before, got, c.failing)
		}
	}
}
