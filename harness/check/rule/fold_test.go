package rule

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	word := strings.Repeat("x", 40)
	for _, c := range []struct{ name, page, want string }{
		{"short", "a b\nc\n", "a b\nc\n"},
		{"wide", word + " " + word + " " + word + "\n", word + " " + word + "\n" + word + "\n"},
		{"an item", "* " + word + " " + word + " " + word, "* " + word + " " + word + "\n  " + word},
		{"a row", "| " + word + " " + word + " " + word + " |\n", "| " + word + " " + word + " " + word + " |\n"},
	} {
		if got := fold(c.page); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}
