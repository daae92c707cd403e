package mutate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/mutate"
)

// The bars of the planted bugs: how many an error or a warning must notice that the original has
// not, and how many must fail the gate that has the original for its base. None of the harmless
// edits may do either.
const (
	plantedBar = 0.74
	gateBar    = 0.94
)

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
	type verdict struct{ loud, fails []string }
	verdicts := each(len(plants), func(i int) (v verdict) {
		p := plants[i]
		text, err := os.ReadFile(filepath.Join(hub, p.Template))
		if err != nil {
			t.Error(err)
			return v
		}
		edited, err := p.Apply(string(text))
		if err != nil {
			t.Error(err)
			return v
		}
		v.loud, v.fails = mutate.Gate(subject.New(p.Template, string(text)),
			subject.New(p.Template, edited))
		return v
	})
	type figures struct{ bugs, noticed, failed int }
	all, hands := figures{}, map[int]*figures{}
	for i, p := range plants {
		v := verdicts[i]
		if p.Kind != "bug" {
			var want []string
			if p.Kind == "dialect" { // llama.cpp lacks the filter, or a form of it
				want = []string{"A157"}
			}
			if !slices.Equal(v.loud, want) || !slices.Equal(v.fails, want) {
				t.Errorf("blamed by %v, failed by %v: hand %d, %s: %s", v.loud, v.fails, p.Hand,
					p.Template, p.What)
			}
			continue
		}
		if hands[p.Hand] == nil {
			hands[p.Hand] = new(figures)
		}
		for _, f := range []*figures{&all, hands[p.Hand]} {
			f.bugs++
			if len(v.loud) > 0 {
				f.noticed++
			}
			if len(v.fails) > 0 {
				f.failed++
			}
		}
		if len(v.loud) == 0 {
			t.Logf("silent: hand %d, %s: %s", p.Hand, p.Template, p.What)
		}
		if len(v.fails) == 0 {
			t.Logf("let through: hand %d, %s: %s", p.Hand, p.Template, p.What)
		}
	}
	for hand := range len(hands) {
		if f := hands[hand+1]; f != nil {
			t.Logf("hand %d: of %d bugs %d are noticed and %d fail the gate", hand+1, f.bugs,
				f.noticed, f.failed)
		}
	}
	t.Logf("%d of %d bugs are noticed (%.0f%%), %d fail the gate (%.0f%%)", all.noticed, all.bugs,
		100*float64(all.noticed)/float64(all.bugs), all.failed,
		100*float64(all.failed)/float64(all.bugs))
	if float64(all.noticed) < plantedBar*float64(all.bugs) {
		t.Errorf("fewer than %.0f%% of the planted bugs are noticed", 100*plantedBar)
	}
	if float64(all.failed) < gateBar*float64(all.bugs) {
		t.Errorf("fewer than %.0f%% of the planted bugs fail the gate", 100*gateBar)
	}
}
