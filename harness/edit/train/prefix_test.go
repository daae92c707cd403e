package train_test

import (
	"testing"

	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/edit/train"
)

// TestSeam looks at the places at which a text goes on.
func TestSeam(t *testing.T) {
	v := vocab.New([]vocab.Token{{ID: 1, Text: "<s>"}, {ID: 2, Text: "<l>", LStrip: true},
		{ID: 3, Text: "<r>", RStrip: true}}, vocab.Config{})
	for _, c := range []struct {
		was, more string
		want      train.Seam
	}{
		{"a", "b", train.SeamOpen},
		{"a<s>", "b", train.SeamKept},
		{"a", "<s>b", train.SeamKept},
		{"a<", "s>b", train.SeamBroken},
		{"a<s>\n", "b", train.SeamOpen},
		{"a<r>", "b", train.SeamKept},
		{"a<r>", " b", train.SeamBroken},
		{"a ", "<l>", train.SeamBroken},
		{"a", "<l>", train.SeamKept},
		{"a", "", train.SeamKept},
		{"", "a", train.SeamOpen},
	} {
		if got := (train.Step{Was: c.was, Is: c.was + c.more}).Seam(v); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.was, c.more, got, c.want)
		}
	}
}
