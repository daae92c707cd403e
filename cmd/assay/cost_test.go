package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

// The bars of the processor time that `assay check` takes for a template.
const (
	medianCost = 60 * time.Millisecond
	mostCost   = 500 * time.Millisecond
)

// TestCheckCost measures `assay check` with each template of ASSAY_HUB, which `make sets` gives: one
// after the other in this process, by the time on the processor, garbage collection included. A
// template over the bar is measured again, because a collection may fall into anybody's time, and
// counts with the least.
func TestCheckCost(t *testing.T) {
	dir := os.Getenv("ASSAY_HUB")
	if dir == "" {
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s (%v)", dir, err)
	}
	defer batch.SetCollector()()
	type cost struct {
		name string
		time.Duration
	}
	measure := func(file string) time.Duration {
		run := &call{stdin: strings.NewReader(""), stdout: &bytes.Buffer{},
			stderr: &bytes.Buffer{}, getenv: func(string) string { return "" },
			ctx: context.Background()}
		start := bench.Clock()
		run.main([]string{"check", "--format", "brief", file})
		return bench.Clock() - start
	}
	measure(files[0]) // the first one makes the grammar that all share
	var costs []cost
	for _, file := range files {
		c := cost{filepath.Base(file), measure(file)}
		for try := 0; try < 2 && c.Duration > mostCost; try++ {
			c.Duration = min(c.Duration, measure(file))
		}
		costs = append(costs, c)
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.Duration, a.Duration) })
	for _, c := range costs[:min(10, len(costs))] {
		t.Logf("%6d ms %s", c.Milliseconds(), c.name)
	}
	median := costs[len(costs)/2].Duration
	t.Logf("%d templates: median %d ms, slowest %d ms", len(costs), median.Milliseconds(),
		costs[0].Milliseconds())
	if median > medianCost || costs[0].Duration > mostCost {
		t.Errorf("median %v, slowest %v; want at most %v and %v", median, costs[0].Duration,
			medianCost, mostCost)
	}
}
