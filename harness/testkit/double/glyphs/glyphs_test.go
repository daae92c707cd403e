package glyphs_test

import (
	"flag"
	"runtime"
	"sync"
	"testing"

	"github.com/goassay/assay/harness/testkit/double/glyphs"
)

var number = flag.Uint64("glyphs", 200, "draw this many templates")

// accepted is the share of the templates that must be accepted, in percent. Of the first 3,000
// seeds 2,998 are.
const accepted = 99

// TestMarkers draws templates: none may be accepted and wrong, and few refused. `go test
// ./harness/testkit/double/glyphs -args -glyphs=1000` draws more.
func TestMarkers(t *testing.T) {
	verdicts := make([]glyphs.Verdict, *number)
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		wait.Go(func() {
			for i := range next {
				verdicts[i] = glyphs.Draw(uint64(i)).Judge()
			}
		})
	}
	for i := range verdicts {
		next <- i
	}
	close(next)
	wait.Wait()
	right := 0
	for seed, v := range verdicts {
		switch {
		case v.Wrong != "":
			t.Errorf("seed %d is accepted "+
				"and wrong: %s\n%s", seed, v.Wrong, glyphs.Draw(uint64(seed)).Text)
		case v.Accepted:
			right++
		default:
			t.Logf("seed %d is refused: %s", seed, v.Reason)
		}
		if !v.Accepted && v.Reason == "" {
			t.Errorf("seed %d is refused without a reason", seed)
		}
	}
	t.Logf("%d of %d templates are accepted and right", right, len(verdicts))
	if right*100 < len(verdicts)*accepted {
		t.Errorf("%d of %d templates are accepted, want %d%%", right, len(verdicts), accepted)
	}
}

// FuzzMarkers looks for a template that is accepted and wrong.
func FuzzMarkers(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		if v := glyphs.Draw(seed).Judge(); v.Wrong != "" {
			t.Errorf("accepted and wrong: %s\n%s", v.Wrong, glyphs.Draw(seed).Text)
		}
	})
}
