package source_test

import (
	"testing"

	"github.com/goassay/assay/engine/source"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text                string
		most                int
		cut, front, between string
	}{
		{"short", 5, "short", "short", "short"},
		{"longer", 4, "long... (2 bytes more)", "...nger", "lo...er"},
		{"日本語", 4, "日... (6 bytes more)", "...語", "..."},
		{"日本語", 8, "日本... (3 bytes more)", "...本語", "日...語"},
		{"日本語", 9, "日本語", "日本語", "日本語"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80... (5 bytes more)", "...\x80", "..."},
		{"", 0, "", "", ""},
	} {
		for _, f := range []struct {
			name string
			of   func(string, int) string
			want string
		}{{"Cut", source.Cut, c.cut}, {"CutFront", source.CutFront, c.front},
			{"CutMiddle", source.CutMiddle, c.between}} {
			if got := f.of(c.text, c.most); got != f.want {
				t.Errorf("%s of %q at %d: %q, want %q", f.name, c.text, c.most, got, f.want)
			}
		}
	}
}
