//go:build unix

package editor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/editor"
)

// moment is a time on the wall, and the processor time of the process until then.
type moment struct {
	wall time.Time
	used time.Duration
}

func now(b *testing.B) moment {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return moment{time.Now(), time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}

// BenchmarkKeystroke types into the largest template of ASSAY_HUB, else of the corpus, and measures
// how long the findings take: those of the text alone, the same for a key that ends a check under
// way, and all. Beside the time on the wall stands that of the processor, client included.
func BenchmarkKeystroke(b *testing.B) {
	pattern := "../../corpus/*/template.jinja"
	if hub := os.Getenv("ASSAY_HUB"); hub != "" {
		pattern = filepath.Join(hub, "*.jinja")
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		b.Fatal(err)
	}
	var text []byte
	for _, name := range names {
		if one, err := os.ReadFile(name); err == nil && len(one) > len(text) {
			text = one
		}
	}
	defer batch.SetCollector()() // as the command does
	c := connect(b, editor.Options{})
	uri := "file://" + filepath.ToSlash(filepath.Join(b.TempDir(), "a.jinja"))
	c.open(uri, string(text))
	c.wait(uri, func(published) bool { return len(c.shown[uri]) == 2 })
	version := 1
	spent := map[string]time.Duration{}
	// typed types a key, and waits until findings have come n times.
	typed := func() (until func(n int, what string)) {
		version++
		before := len(c.shown[uri])
		began := now(b)
		c.edit(uri, version, object{"range": at(0, 0, 0), "text": fmt.Sprintf("{# %d #}", version)})
		return func(n int, what string) {
			c.wait(uri, func(p published) bool { return len(c.shown[uri]) == before+n })
			ended := now(b)
			spent["ms-"+what+"/op"] += ended.wall.Sub(began.wall)
			spent["cpu-ms-"+what+"/op"] += ended.used - began.used
		}
	}
	for b.Loop() {
		until := typed()
		until(1, "text")
		time.Sleep(200 * time.Millisecond) // a check has begun
		until = typed()
		until(1, "text-beside")
		until(2, "all")
	}
	for unit, d := range spent {
		b.ReportMetric(float64(d.Microseconds())/1000/float64(b.N), unit)
	}
}
