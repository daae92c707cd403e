package bench_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goassay/assay/harness/testkit/measure/bench"
)

func TestTable(t *testing.T) {
	table := new(bench.Table)
	table.Add("what", "took")
	table.Add("a thing", bench.Took(1500*time.Microsecond))
	table.Add("µ", bench.Took(12*time.Nanosecond))
	const want = `| what    |    took |
| ------- | ------: |
| a thing | 1.50 ms |
| µ       |   12 ns |
`
	if got := table.String(); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

func TestPublish(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n<!-- x -->\nold\n<!-- end x -->\nbehind\n")
	for range 2 { // twice is once
		if err := bench.Publish(page, "x", "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n<!-- x -->\n\nnew\n\n<!-- end x -->\nbehind\n"; string(got) != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	write("nothing\n")
	if err := bench.Publish(page, "x", "new\n"); err == nil {
		t.Error("a page without a place was taken")
	}
}

func TestSample(t *testing.T) {
	if got := bench.NewSample([]time.Duration{5, 1, 9, 3, 7}); got != (bench.Sample{Min: 1,
		Median: 5, Max: 9}) {
		t.Errorf("got %v", got)
	}
}
