package rule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
)

var odd = rule.Rule{ID: "A900", Name: "odd", Severity: rule.Error, Short: "It is odd.",
	Damage: "Harm.", Fix: "Make it even."}

// run runs a check of numbers, whose places are lines.
func run(find func(int, rule.Finder[int]), suppressed func(string) (bool, string)) []rule.Result {
	c := rule.Check[int, int]{Rule: odd, Group: "g", Find: find}
	return c.Run(3, rule.Scope[int]{Suite: "s", File: "f", Suppressed: suppressed,
		Place: func(line int, err error) (rule.Place, string) {
			return rule.Place{File: "f", Line: line}, err.Error()
		}})
}

func TestRun(t *testing.T) {
	if got := run(func(int, rule.Finder[int]) {}, nil); len(got) != 1 ||
		got[0].Status != rule.Passed || got[0].Rule != "A900" ||
		got[0].Name != "odd" || got[0].Suite != "s" || got[0].Group != "g" ||
		got[0].Place.File != "f" {
		t.Errorf("nothing found: %+v", got)
	}
	got := run(func(n int, find rule.Finder[int]) {
		find(n, "%d: %w", n, errors.New("so"))
		find(n, "%d: %w", n, errors.New("so"))
		find(7, "other")
	}, nil)
	if len(got) != 2 || got[0].Status != rule.Failed || got[0].Severity != rule.Error ||
		got[0].Text != "3: so\nhelp: Make it even." || got[0].Place.Line != 3 ||
		got[1].Place.Line != 7 {
		t.Errorf("found twice, one of them again: %+v", got)
	}
	got = run(func(_ int, find rule.Finder[int]) {
		for i := range 100 {
			find(i, "%d", i)
		}
	}, nil)
	if len(got) != rule.MaxFindings ||
		!strings.HasSuffix(got[rule.MaxFindings-1].Text,
			fmt.Sprintf("\nand %d more\nhelp: Make it even.", 100-rule.MaxFindings)) {
		t.Errorf("a hundred findings give %d results: %+v", len(got), got[len(got)-1])
	}
	silence := func(id string) (bool, string) { return id == "A900", "" }
	if got := run(func(n int, find rule.Finder[int]) { find(n, "so") }, silence); len(got) != 1 ||
		got[0].Status != rule.Passed {
		t.Errorf("suppressed: %+v", got)
	}
	unjudged := func(n int, find rule.Finder[int]) {
		find(n, "%w", rule.NotJudged{Why: errors.New("no filter")})
		find(n, "%w", rule.NotJudged{Why: errors.New("no filter")})
		find(n, "the second: %w", rule.NotJudged{Why: errors.New("cut off")})
	}
	got = run(unjudged, nil)
	if len(got) != 1 || got[0].Status != rule.Unjudged || got[0].Severity != rule.Error ||
		!got[0].Bad() ||
		got[0].Text != "no filter\nand: the second: cut off" || got[0].Place.Line != 3 {
		t.Errorf("not judged: %+v", got)
	}
	if got := run(unjudged, silence); len(got) != 1 || got[0].Status != rule.Passed {
		t.Errorf("not judged, and suppressed: %+v", got)
	}
	got = run(func(n int, find rule.Finder[int]) { unjudged(n, find); find(n, "so") }, nil)
	if len(got) != 2 || got[0].Status != rule.Failed || got[1].Status != rule.Unjudged {
		t.Errorf("a finding, and not judged besides: %+v", got)
	}
	got = run(func(int, rule.Finder[int]) { panic("at the disco") }, silence)
	if len(got) != 1 || got[0].Status != rule.Failed ||
		!strings.HasPrefix(got[0].Text, "internal error: panic: at the disco\n") {
		t.Errorf("a panic, which nothing suppresses: %+v", got)
	}
}

// TestFindings has one result for a cause: for findings at one place, and for those that say the
// same; and a severity of its own where a finding has one.
func TestFindings(t *testing.T) {
	c := rule.Check[int, int]{Rule: rule.Rule{ID: "A900", Severity: rule.Warning}}
	c.Find = func(_ int, find rule.Finder[int]) {
		find(3, "lost in one\nhere")
		find(3, "lost in two\nthere")
		find(4, "lost in one\nelsewhere")
		find(3, "%w", &rule.Weighed{Severity: rule.Note, What: errors.New("lost in three")})
		find(0, "somewhere")
		find(0, "anywhere")
		find(5, "%w", &rule.Weighed{Severity: rule.Error, What: errors.New("lost in four")})
	}
	got := ""
	for _, res := range c.Run(0, rule.Scope[int]{
		Place: func(line int, err error) (rule.Place, string) {
			return rule.Place{Line: line}, err.Error()
		}}) {
		got += fmt.Sprintf("%v %v %d %q\n", res.Status, res.Severity, res.Place.Line, res.Text)
	}
	if want := `found warning 3 "lost in one\nhere\nthe same: lost in two"
found note 3 "lost in three"
found warning 0 "somewhere"
found warning 0 "anywhere"
failed error 5 "lost in four"
`; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestBook(t *testing.T) {
	b := rule.Book{Title: "Numbers", Intro: "All that is odd.", Rules: []rule.Rule{odd},
		Tail: "\nThe end.\n"}
	page := b.Manual()
	if !strings.HasPrefix(page, "# Numbers\n\nAll that is odd. Ids never") ||
		!strings.Contains(page, odd.Markdown()) || !strings.HasSuffix(page, "\nThe end.\n") {
		t.Error(page)
	}
	for _, name := range []string{"A900", "a900", "odd"} {
		if r, ok := b.Lookup(name); !ok || r != odd {
			t.Errorf("there is no %s", name)
		}
	}
	if _, ok := b.Lookup("even"); ok {
		t.Error("there is a rule even")
	}
}

// TestClose has findings of one rule; those that fail afterwards are news, warnings, and do a harm
// that no edit may bring.
func TestClose(t *testing.T) {
	for _, c := range []struct {
		severity rule.Severity
		harm     rule.Harm
		old      bool
		fails    bool
	}{
		{rule.Warning, rule.Lost, false, true},
		{rule.Warning, rule.Doubled, false, true},
		{rule.Warning, rule.Glued, false, true},
		{rule.Warning, rule.Refused, false, true},
		{rule.Warning, rule.Crashed, false, true},
		{rule.Warning, rule.Lost, true, false},
		{rule.Warning, rule.Changed, false, false},
		{rule.Warning, rule.Misread, false, false},
		{rule.Warning, rule.Style, false, false},
		{rule.Note, rule.Lost, false, false},
		{rule.Error, rule.Style, false, true},
	} {
		var found rule.Findings
		found.Add(rule.Place{}, "it is so")
		results := rule.Rule{ID: "A900", Severity: c.severity, Harm: c.harm}.Results(rule.Result{},
			&found)
		results[0].Old = c.old
		rule.Close(results, "It is new.")
		if fails := results[0].Status == rule.Failed; fails != c.fails {
			t.Errorf("%v, %v, old %v: fails %v, want %v", c.severity, c.harm, c.old, fails, c.fails)
		}
	}
}
