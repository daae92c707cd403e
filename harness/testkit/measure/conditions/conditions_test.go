package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoted holds what counts as a condition, and that the rewritten source is Go.
func TestNoted(t *testing.T) {
	const src = `package p

func f(a, b bool, n int) bool {
	if !(a && n > 1) || b {
		return n == 2
	}
	for n < 3 {
	}
	switch {
	case a, b && func() bool { return n >= 4 }():
	}
	switch n {
	case 5:
	}
	return f(a, n == 6 || b, 7)
}
`
	out, found, err := noted([]byte(src), 10)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range found {
		texts = append(texts, c.text)
	}
	want := "a | n > 1 | b | n == 2 | n < 3 | a | b | func() bool { return n >= 4 }() | n >= 4 | " +
		"n == 6 | b"
	if got := strings.Join(texts, " | "); got != want {
		t.Errorf("the conditions are\n%s\nexpected\n%s", got, want)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", out, 0); err != nil {
		t.Errorf("%v in\n%s", err, out)
	}
	const nested = `conditionAt(17, func() bool { return conditionAt(18, n >= 4) }())`
	if !strings.Contains(string(out), nested) {
		t.Errorf("expected %s in\n%s", nested, out)
	}
}

// TestMisses measures a small module: a condition that tests decide one way, one that none
// reaches, and one whose turn no test notices.
func TestMisses(t *testing.T) {
	folder := filepath.Join("testdata", "small")
	var out strings.Builder
	list := filepath.Join(t.TempDir(), "list")
	for _, x := range []struct {
		negate bool
		want   []string
	}{
		{false, []string{"n > 100: never true", "n == 7: never decided"}},
		{true, []string{"n == 7: never decided", "n == 0: turned round, 1 tests pass"}},
	} {
		a := asked{of: "./" + folder, tests: []string{"./" + folder}, list: list, negate: x.negate}
		if err := run(&out, a); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(got) != len(x.want) {
			t.Errorf("negate %t: the misses are\n%s\nexpected %q", x.negate, text, x.want)
			continue
		}
		for i, want := range x.want {
			if !strings.HasSuffix(got[i], want) {
				t.Errorf("negate %t: %s\nexpected %s", x.negate, got[i], want)
			}
		}
	}
}
