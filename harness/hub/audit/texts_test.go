package audit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/mutate"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/audit"
)

// texts returns the templates in the folders of ASSAY_TEXTS, each text once, in the order of their
// digests.
func texts(t *testing.T) []string {
	t.Helper()
	folders := filepath.SplitList(os.Getenv("ASSAY_TEXTS"))
	if len(folders) == 0 {
		t.Skip("ASSAY_TEXTS names no folder; make advisories fetches the texts")
	}
	var all []string
	for _, dir := range folders {
		names, err := filepath.Glob(filepath.Join(dir, "*.jinja"))
		if err != nil || names == nil {
			t.Fatalf("%s has no templates (%v)", dir, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return strings.Compare(advisory.Digest(a), advisory.Digest(b))
	})
	return slices.Compact(all)
}

func published(t *testing.T) *audit.Book {
	t.Helper()
	b, err := audit.Published("")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// matches returns the ids of the records that a text matches.
func matches(t *testing.T, b *audit.Book, text string) (ids []string, how audit.How) {
	t.Helper()
	known, err := b.Matches(t.Context(), subject.New("t", text), engine.Limits{})
	if err != nil {
		return nil, 0 // a text that does not compile
	}
	for _, m := range known {
		ids, how = append(ids, m.ID), m.How
	}
	return ids, how
}

// TestKnown looks each recorded text up as it is and as loaders change it. No text that a record
// has as mended is named by that record.
func TestKnown(t *testing.T) {
	t.Parallel()
	all, b := texts(t), published(t)
	found := 0
	for _, text := range all {
		digests := advisory.DigestsOf(text)
		for _, r := range b.Records {
			if f := r.Template.Fixed; f != nil && f.Canonical == digests.Canonical {
				if ids, _ := matches(t, b, text); slices.Contains(ids, r.ID) {
					t.Errorf("%s names the text that it has as mended", r.ID)
				}
			}
			if r.Template.Text != digests {
				continue
			}
			found++
			for _, changed := range []string{text, "\ufeff" + text, text + "\n\n", text + " ",
				strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(text, "\n", "\n\n")} {
				if ids, how := matches(t, b, changed); !slices.Contains(ids, r.ID) ||
					how == audit.ByBehaviour {
					t.Errorf("%s does not name its text: %v", r.ID, ids)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no folder has the text of a record")
	}
	t.Logf("%d of %d records have their texts here", found, len(b.Records))
}

// The sample of the test below.
const (
	edited      = 40
	mostMissed  = 2 // of the edited ones
	allRelative = 200
)

// TestEdited makes one edit that changes no prompt in each of forty faulty texts, drawn by their
// digests: they are known by behaviour.
func TestEdited(t *testing.T) {
	t.Parallel()
	all, b := texts(t), published(t)
	n, missed := 0, 0
	kinds := map[mutate.Operator]int{}
	for _, text := range all {
		i := slices.IndexFunc(b.Records, func(r *advisory.Record) bool {
			return r.Template.Text.Exact == advisory.Digest(text)
		})
		if i < 0 || n == edited {
			continue
		}
		edits, err := mutate.Rewrites(text)
		if err != nil {
			t.Fatal(err)
		}
		edits = slices.DeleteFunc(edits, func(m mutate.Mutant) bool { // of the kind seen least
			return slices.ContainsFunc(edits, func(o mutate.Mutant) bool {
				return kinds[o.Operator] < kinds[m.Operator]
			})
		})
		if len(edits) == 0 {
			continue
		}
		n++
		edit := edits[len(edits)/2]
		kinds[edit.Operator]++
		ids, how := matches(t, b, edit.Text)
		if ids == nil || how != audit.ByBehaviour {
			missed++
			t.Logf("missed: %s, %s: %q becomes %q", b.Records[i].ID, edit.Operator, edit.Was,
				edit.Is)
		}
	}
	t.Logf("%d of %d texts are found after an edit: %v", n-missed, n, kinds)
	if n < edited && len(all) > 800 || missed > mostMissed {
		t.Errorf("%d of %d are missed; at most %d of %d may be", missed, n, mostMissed, edited)
	}
}

// TestRelatives draws two hundred templates by their digests which make a prompt as a faulty one
// does and have no such finding: no record names them.
func TestRelatives(t *testing.T) {
	t.Parallel()
	all, b := texts(t), published(t)
	n := 0
	for _, text := range all {
		src := subject.New("t", text)
		renders, err := advisory.NewRenders(t.Context(), src, engine.Limits{})
		if err != nil || n == allRelative {
			continue
		}
		var near []*advisory.Record
		for _, r := range b.Records {
			if r.Template.Text.Canonical != advisory.DigestsOf(text).Canonical &&
				slices.ContainsFunc(r.Template.Witnesses, func(w advisory.Witness) bool {
					return w.Faulty != advisory.Refused && renders.Outcome(w.Variables) == w.Faulty
				}) {
				near = append(near, r)
			}
		}
		if near == nil {
			continue
		}
		var rules []string
		for _, r := range near {
			rules = append(rules, r.Template.Rule)
		}
		finds := map[string]bool{}
		for _, r := range check.Template(src, check.Options{Only: rules}) {
			finds[r.Rule] = finds[r.Rule] || r.Status != rule.Passed
		}
		named, _ := matches(t, b, text)
		healthy := false
		for _, r := range near {
			if finds[r.Template.Rule] {
				continue
			}
			healthy = true
			if slices.Contains(named, r.ID) {
				t.Errorf("%s names %s, which has no finding of %s", r.ID, advisory.Digest(text),
					r.Template.Rule)
			}
		}
		if healthy {
			n++
		}
	}
	t.Logf("%d relatives", n)
	if n < allRelative && len(all) > 800 {
		t.Errorf("%d relatives are too few", n)
	}
}

// BenchmarkLookup looks a million digests up in an index of a million, in each round.
func BenchmarkLookup(b *testing.B) {
	x := advisory.NewIndex(nil)
	digests := make([]string, 1_000_000)
	for i := range digests {
		digests[i] = advisory.Digest(strconv.Itoa(i))
		x.IDs[digests[i]] = []string{"x"}
	}
	for b.Loop() {
		for _, d := range digests {
			if x.IDs[d] == nil {
				b.Fatal("it is not known")
			}
		}
	}
}
