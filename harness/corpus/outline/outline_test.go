package outline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/outline"
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

// FuzzReasons reads any list: every entry is in the text, below its reason.
func FuzzReasons(f *testing.F) {
	f.Add("# why\nit is so\n\ta b\n  c\n\nother\n\td\n")
	f.Add(" a\n")
	f.Add("a\n\x00\n\tb\r\n\tb")
	f.Fuzz(func(t *testing.T, text string) {
		reasons, err := outline.Reasons(source.New("list", text))
		if err != nil {
			var at *source.Error
			if !errors.As(err, &at) || at.Off < 0 || at.Off > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for item, reason := range reasons {
			if item == "" || reason == "" ||
				strings.Index(text, reason) > strings.LastIndex(text, item) {
				t.Errorf("%q: %q because of %q", text, item, reason)
			}
		}
	})
}
