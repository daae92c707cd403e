package conversation_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/observe"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/subject"
)

// The bars of the coverage that conversations reach over many templates, as shares of the outcomes
// that count.
const (
	medianBar = 0.92
	tenthBar  = 0.75
)

// TestHub explores the templates of ASSAY_HUB, which `make sets` gives.
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
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := chattemplate.Compile(source.New(filepath.Base(file), string(text)),
			subject.BOS, subject.EOS, subject.Now)
		if err != nil {
			continue // a text that is no template has no branches
		}
		var bound []ordered.Member
		if o, err := observe.New(tmpl); err == nil {
			bound = o.Facts.Needs.Bound
		}
		if reached, all := conversation.Explore(tmpl, conversation.Usual(), bound,
			conversation.UsualRenders).Counts(); all > 0 {
			shares = append(shares, float64(reached)/float64(all))
		}
	}
	slices.Sort(shares)
	median, tenth := shares[len(shares)/2], shares[len(shares)/10]
	t.Logf("%d templates: median %.1f%%, tenth "+
		"percentile %.1f%%", len(shares), 100*median, 100*tenth)
	if median < medianBar || tenth < tenthBar {
		t.Errorf("median %.3f, tenth percentile %.3f; "+
			"want %.2f and %.2f", median, tenth, medianBar, tenthBar)
	}
}
