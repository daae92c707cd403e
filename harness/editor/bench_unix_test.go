package editor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goassay/assay/harness/editor"
)

// BenchmarkKeystroke types into the largest template of ASSAY_HUB, else of the corpus, and measures
// how long the findings take: those of the text alone, and all.
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
	c := connect(b, editor.Options{})
	uri := "file://" + filepath.ToSlash(filepath.Join(b.TempDir(), "a.jinja"))
	c.open(uri, string(text))
	c.wait(uri, func(published) bool { return len(c.shown[uri]) == 2 })
	var first, all time.Duration
	n := 1
	for b.Loop() {
		n++
		began := time.Now()
		c.edit(uri, n, object{"range": at(0, 0, 0), "text": fmt.Sprintf("{# %d #}", n)})
		c.wait(uri, func(p published) bool {
			return p.Version == n && len(c.shown[uri]) == 2*n && !p.at.Before(began)
		})
		shown := c.shown[uri]
		first += shown[len(shown)-2].at.Sub(began)
		all += shown[len(shown)-1].at.Sub(began)
	}
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms-text/op")
	b.ReportMetric(float64(all.Milliseconds())/float64(b.N), "ms-all/op")
}
