package jinja

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPython compares with Python. Each pair of lines of testdata/python.txt is an expression, or a
// template that begins with a tag, and beneath it what Python 3.11 with jinja2 3.1.6 makes of it: a
// quoted text, or the class of an error. The variables inf, ninf and nan are texts, since jinja2
// has no constants for these numbers. Left out are results that hang on addresses, on the folding
// of constants, or on what releases after 3.1.2 changed.
func TestPython(t *testing.T) {
	text, err := os.ReadFile("testdata/python.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		want := strings.TrimPrefix(lines[i+1], "\t")
		if !strings.HasPrefix(want, "error ") {
			if want, err = strconv.Unquote(want); err != nil {
				t.Fatalf("line %d: %v", i+2, err)
			}
		}
		if got := resultOf(t, lines[i], want); got != want {
			t.Errorf("line %d: %s\n got %q\nwant %q", i+1, lines[i], got, want)
		}
	}
}

// resultOf is what comes of an expression or a template; of an error the class, if one is wanted.
func resultOf(t *testing.T, text, want string) string {
	if !strings.HasPrefix(text, "{%") {
		text = "{{ " + text + " }}"
	}
	got := render(t, text, `{"big": 10, "inf": "inf", "ninf": "-inf", "nan": "nan"}`, Options{})
	if strings.HasPrefix(want, "error ") {
		got, _, _ = strings.Cut(got, ":")
	}
	return got
}
