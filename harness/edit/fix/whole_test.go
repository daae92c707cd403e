package fix

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
)

// row counts templates of a kind of fault.
type row struct{ found, mended int }

// TestWhole mends the templates of ASSAY_HUB and ASSAY_VENDOR, all of them, and tries every patch
// on conversations that the search has not seen. `make fixes` runs it.
func TestWhole(t *testing.T) {
	var files []string
	for _, set := range []string{"ASSAY_HUB", "ASSAY_VENDOR"} {
		dir := os.Getenv(set)
		if dir == "" {
			continue
		}
		found, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no templates in %s: %v", dir, err)
		}
		files = append(files, found...)
	}
	if os.Getenv("ASSAY_HUB") == "" {
		files = nil // a slice of them is in TestMend and TestCorpus
	}
	if files == nil {
		return
	}
	unseen := conversation.New(20261122)
	rows := map[string]*row{}
	var mu sync.Mutex
	count := func(name string, mended bool) {
		mu.Lock()
		defer mu.Unlock()
		if rows[name] == nil {
			rows[name] = new(row)
		}
		rows[name].found++
		if mended {
			rows[name].mended++
		}
	}
	work := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for file := range work {
				mendFile(t, file, unseen, count)
			}
		})
	}
	for _, file := range files {
		work <- file
	}
	close(work)
	workers.Wait()
	var table strings.Builder
	fmt.Fprintf(&table, "| fault | templates | mended | |\n| --- | ---: | ---: | ---: |\n")
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range rows {
			if !yield(name) {
				return
			}
		}
	})
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(&table, "| %s | %d | %d | %.0f%% |\n", name, r.found, r.mended,
			100*float64(r.mended)/float64(r.found))
	}
	t.Logf("%d templates\n%s", len(files), &table)
	for _, name := range []string{string(NullContent), string(BareTools),
		string(TextArguments) + ", written as JSON"} {
		if r := rows[name]; r == nil || 10*r.mended < 9*r.found {
			t.Errorf("%s: mended %+v, want 90%%", name, r)
		}
	}
}

// mendFile mends one template, and tests the result with conversations that were not seen.
func mendFile(t *testing.T, file string, unseen *conversation.Grammar, count func(string, bool)) {
	src, err := subject.Open(file, nil)
	if err != nil {
		t.Error(err)
		return
	}
	result := Mend(t.Context(), src, Options{}, check.Options{})
	for _, k := range append(slices.Clip(kinds), unclosed) {
		patched := slices.ContainsFunc(result.Patches,
			func(p Patch) bool { return p.Kind == k.kind })
		left := slices.IndexFunc(result.Left, func(l Left) bool { return l.Kind == k.kind })
		if !patched && left < 0 {
			continue
		}
		name := string(k.kind)
		if k.kind == TextArguments {
			if left >= 0 && strings.Contains(result.Left[left].Reason, "needs an object") {
				name += ", an object is needed"
			} else {
				name += ", written as JSON"
			}
		}
		count(name, left < 0)
		if left >= 0 {
			t.Logf("left: %s: %s: %s", filepath.Base(file), name, result.Left[left].Reason)
		}
	}
	if len(result.Patches) == 0 {
		return
	}
	before, err1 := src.Compile()
	after, err2 := src.WithText(result.Text).Compile()
	if err1 != nil || err2 != nil {
		if err2 != nil {
			t.Errorf("%s: %v", file, err2)
		}
		return
	}
	sameAsBefore(t, file, before, after, unseen, result)
}

// sameAsBefore renders conversations with both, as they came and fitted.
func sameAsBefore(
	t *testing.T,
	file string,
	before, after *engine.Template,
	unseen *conversation.Grammar,
	result *Mended,
) {
	m := &mender{result: &Mended{Source: result.Source, Text: result.Source.Text}}
	m.start(m.source(m.result.Text))
	turns, err := check.TurnsOf(m.source(m.now.text), m.check)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	for _, c := range unseen.Conversations {
		raw := c.Input(before.Caps().Needs.Bound)
		fitted := before.Caps().Fit(c.Request).Input
		for _, in := range []struct {
			name string
			kept
		}{{"as it came", kept{in: raw}}, {"fitted", kept{in: fitted}}} {
			was, err := before.ChatTemplate().Render(in.in)
			if err != nil {
				continue
			}
			is, err := after.ChatTemplate().Render(in.in)
			if err == nil && is == was || m.spoiled(kept{in: in.in, text: was}) {
				continue
			}
			if want, ok := asPython(in.in, was); err == nil && ok && is == want {
				continue
			}
			text, places, unread := turns.Unclosed(in.in)
			if err == nil && unread == nil && text == was {
				// A turn that was left open may end now; nothing else may change.
				l := leftOpen{in.kept, places}
				l.text = was
				if n, ok := l.filled(is); ok && n > 0 {
					continue
				}
			}
			t.Errorf("%s: %s, %s: %v\n%q\nwas\n%q", filepath.Base(file), c.Name, in.name, err, is,
				was)
			return
		}
	}
}
