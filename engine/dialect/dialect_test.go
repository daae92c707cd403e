package dialect_test

import (
	"slices"
	"testing"

	"github.com/goassay/assay/engine/dialect"
)

func TestSpellings(t *testing.T) {
	names := dialect.Names()
	for _, want := range []string{"kimi-k2", "hermes", "xml", "deepseek-r1", "pythonic"} {
		if !slices.Contains(names, want) {
			t.Errorf("no spelling %q in %q", want, names)
		}
	}
	for i, name := range names {
		if slices.Index(names, name) != i {
			t.Errorf("two spellings are called %q", name)
		}
		s, ok := dialect.Lookup(name)
		empty := len(s.Calls) == 0 && !s.InMarkers && !s.Qualified
		if !ok || s.Name != name || s.Doc == "" || empty {
			t.Errorf("spelling %q: %+v", name, s)
		}
	}
	if _, ok := dialect.Lookup("no such"); ok {
		t.Error("a spelling that does not exist was found")
	}
	if len(dialect.Undisclosed()) == 0 {
		t.Error("no spelling for undisclosed calls")
	}
}

// TestCopies checks that a caller may change its copy.
func TestCopies(t *testing.T) {
	a := dialect.Formats()
	a[0].Routes[0].Head[0].Text.Text = "changed"
	if dialect.Formats()[0].Routes[0].Head[0].Text.Text == "changed" {
		t.Error("the formats share memory")
	}
}
