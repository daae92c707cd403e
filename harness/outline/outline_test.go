package outline_test

import (
	"fmt"
	"testing"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/outline"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "# nothing\n\n", "[]"},
		{"groups", "# list\na: first\n\tx\n  y y\n\nb\n\tz\n", "[{a: first 2 [{x 3} {y y 4}]} {b 6 [{z 7}]}]"},
		{"orphan", "\tx\n", "list:1:1: an item without a heading; headings are not indented"},
		{"bare heading", "a\nb\n\tx\n", `list:2:1: the heading "a" has no items; items are indented`},
		{"bare last heading", "a\n\tx\nb\n", `list:4:1: the heading "b" has no items; items are indented`},
		{"twice", "a\n\tx\nb\n\tx\n", "list:4:1: x is listed twice, first in line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			groups, err := outline.Parse(source.New("list", c.text))
			got := fmt.Sprint(groups)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
