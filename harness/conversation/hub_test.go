package conversation_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
)

// The bars of the coverage that conversations reach over many templates, as shares of the outcomes
// that count.
const (
	medianBar = 0.92
	tenthBar  = 0.75
)

var (
	tries = flag.Int("tries", conversation.UsualRenders, "try so many conversations with a "+
		"template")
	listing = flag.String("unreached", "", "write all outcomes that were not reached into this "+
		"`FILE`, those with the smallest digest first")
)

// unreached is an outcome that no conversation reached.
type unreached struct {
	digest, template string
	at               conversation.Decision
	outcome          flow.Outcome
	proof            string
}

// String writes the outcome as a row of docs/results/unreached.md begins.
func (u unreached) String() string {
	return fmt.Sprintf("| %s | %s | %d:%d %s | %s |", u.digest, u.template, u.at.Line, u.at.Col,
		u.at.Kind, u.outcome)
}

// explored is the exploration of a template, as far as the test needs it.
type explored struct {
	reached, all int
	missing      []unreached
	wrong        []string // proofs of outcomes that were reached
}

func explore(file string) explored {
	text, err := os.ReadFile(file)
	if err != nil {
		return explored{wrong: []string{err.Error()}}
	}
	name := strings.TrimSuffix(filepath.Base(file), ".jinja")
	compiled, err := subject.New(name, string(text)).Compile()
	if err != nil {
		return explored{} // a file that does not compile has no branches
	}
	tmpl := compiled.ChatTemplate()
	x := conversation.Explore(tmpl, conversation.Usual(), compiled.Caps().Needs.Bound, *tries, nil)
	var found explored
	found.reached, found.all = x.Counts()
	proofs := reach.Unreachable(tmpl.Source)
	for _, d := range x.Decisions() {
		for _, o := range d.Reached {
			key := reach.Outcome{Kind: d.Kind, Off: d.Off, Outcome: o}
			if why, ok := proofs[key]; ok && !strings.HasPrefix(why, reach.Clock) {
				found.wrong = append(found.wrong, fmt.Sprintf("%s:%d:%d: %s %s is reached: %s", name,
					d.Line, d.Col, d.Kind, o, why))
			}
		}
		for _, o := range d.Missing {
			if o == flow.Empty {
				continue
			}
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d:%d %s %s", name, d.Line, d.Col, d.Kind, o))
			found.missing = append(found.missing, unreached{hex.EncodeToString(sum[:4]), name, d, o,
				d.Proofs[o]})
		}
	}
	return found
}

// TestHub explores the templates of ASSAY_HUB, which `make sets` gives. No proof that an outcome is
// out of reach is of one that a conversation reached.
func TestHub(t *testing.T) {
	dir := os.Getenv("ASSAY_HUB")
	if dir == "" {
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s (%v)", dir, err)
	}
	var shares []float64
	var missing []unreached
	err = batch.Run(context.Background(), batch.Slice(files), explore,
		func(found explored) {
			if found.all > 0 {
				shares = append(shares, float64(found.reached)/float64(found.all))
			}
			missing = append(missing, found.missing...)
			for _, text := range found.wrong {
				t.Error(text)
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(shares)
	median, tenth := shares[len(shares)/2], shares[len(shares)/10]
	proven := 0
	for _, u := range missing {
		if u.proof != "" {
			proven++
		}
	}
	t.Logf("%d templates: median %.1f%%, tenth percentile %.1f%%; %d outcomes unreached, %d proven "+
		"out of reach", len(shares), 100*median, 100*tenth, len(missing), proven)
	if median < medianBar || tenth < tenthBar {
		t.Errorf("median %.3f, tenth percentile %.3f; "+
			"want %.2f and %.2f", median, tenth, medianBar, tenthBar)
	}
	slices.SortFunc(missing, func(a, b unreached) int { return cmp.Compare(a.digest, b.digest) })
	if *listing != "" {
		var b strings.Builder
		for _, u := range missing {
			fmt.Fprintln(&b, u, u.proof)
		}
		if err := os.WriteFile(*listing, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
