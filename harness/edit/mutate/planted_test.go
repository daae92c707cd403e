package mutate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/mutate"
)

// The bars of the planted bugs: how many an error or a warning must notice that the original has
// not. None of the harmless edits may bring one.
const plantedBar = 0.72

// TestPlanted judges bugs and harmless edits that others planted before they had read the rules. It
// needs the Hub's set (make planted).
func TestPlanted(t *testing.T) {
	hub := os.Getenv("ASSAY_HUB")
	if hub == "" {
		t.Skip("ASSAY_HUB names no folder with the Hub's templates: make planted")
	}
	plants, err := mutate.Plants()
	if err != nil {
		t.Fatal(err)
	}
	noticed := each(len(plants), func(i int) []string {
		p := plants[i]
		text, err := os.ReadFile(filepath.Join(hub, p.Template))
		if err != nil {
			t.Error(err)
			return nil
		}
		edited, err := p.Apply(string(text))
		if err != nil {
			t.Error(err)
			return nil
		}
		_, before := mutate.Check(subject.New(p.Template, string(text)))
		_, after := mutate.Check(subject.New(p.Template, edited))
		return after.More(before)
	})
	bugs, found := 0, 0
	for i, p := range plants {
		switch rules := noticed[i]; {
		case p.Kind == "bug":
			if bugs++; len(rules) > 0 {
				found++
			} else {
				t.Logf("silent: hand %d, %s: %s", p.Hand, p.Template, p.What)
			}
		case len(rules) > 0:
			t.Errorf("blamed by %v: hand %d, %s: %s", rules, p.Hand, p.Template, p.What)
		}
	}
	t.Logf("%d of %d bugs are noticed (%.0f%%)", found, bugs, 100*float64(found)/float64(bugs))
	if float64(found) < plantedBar*float64(bugs) {
		t.Errorf("fewer than %.0f%% of the planted bugs are noticed", 100*plantedBar)
	}
}
