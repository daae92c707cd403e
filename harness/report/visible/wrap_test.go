package visible_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/report/visible"
)

// TestFold breaks lines by the cells that they take, and no escape in two.
func TestFold(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"short", "short"},
		{"some words to break", "some words\n  to break"},
		{`"aaaaaaaa\nbbb"`, "\"aaaaaaaa\n  \\nbbb\""},
		{"日本語日本語日本語", "日本語日本\n  語日本語"},
	} {
		if got := visible.Fold(c.line, 10, "  "); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}

// TestMark keeps the caret under its place, whatever stands before it and however narrow the
// terminal is.
func TestMark(t *testing.T) {
	long := strings.Repeat("a", 50) + "X" + strings.Repeat("b", 50)
	for _, c := range []struct {
		line          string
		at, to, width int
		want, bar     string
	}{
		{"ab X", 3, 4, 0, "ab X", "   ^"},
		{"ab XY Z", 3, 5, 0, "ab XY Z", "   ^^"},
		{"\u200bX", 3, 4, 0, `\u200bX`, "      ^"},
		{"日\tX", 4, 5, 0, `日\tX`, "    ^"},
		{long, 50, 51, 30, "...aaaaaaaaaaaaaaaaaXbbbbbb...", "                    ^"},
		{long, 50, 90, 30, "...aaaaaaaaaaaaaaaaaXbbbbbb...", "                    ^^^^^^^"},
		{long, 2, 3, 20, "aaaaaaaaaaaaaaaaa...", "  ^"},
	} {
		got, bar := visible.Mark(c.line, c.at, c.to, c.width)
		if got != c.want || bar != c.bar {
			t.Errorf("%q at %d in %d:\n%s\n%s\nwant\n%s\n%s", c.line, c.at, c.width, got, bar,
				c.want, c.bar)
		}
		for width := 13; width < 120; width++ {
			got, bar := visible.Mark(c.line, c.at, c.to, width)
			under := strings.Index(bar, "^")
			if source.Cells(got) > width || under >= width {
				t.Errorf("%q at %d is %d cells wide in %d, the caret at %d", c.line, c.at,
					source.Cells(got), width, under)
			}
			if c.at == 50 && got[under] != 'X' {
				t.Errorf("the caret of %q in %d stands under %q", c.line, width, got[under])
			}
		}
	}
}
