package mutate_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/edit/mutate"
)

// judged is the result of an edit.
type judged struct {
	mutate.Edit
	mutate.Verdict
}

// judgeEdits makes edits to the templates of the corpus and judges those that were asked for, in
// the order of their digests. Each edit must apply.
func judgeEdits(t *testing.T, edits []mutate.Edit, compare bool) []judged {
	t.Helper()
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	of, texts := map[string]*mutate.Template{}, map[mutate.Edit]string{}
	for _, e := range edits {
		if of[e.Template] == nil {
			text, err := loaded.Text(e.Template)
			if err != nil {
				t.Fatalf("line %d: %v", e.Line, err)
			}
			if of[e.Template], err = mutate.NewTemplate(e.Template, text); err != nil {
				t.Fatal(err)
			}
		}
		if texts[e], err = e.Apply(of[e.Template].Text); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	if *edited > 0 {
		edits = slices.Clone(edits)
		slices.SortFunc(edits, func(a, b mutate.Edit) int {
			return cmp.Compare(digestOf(a), digestOf(b))
		})
		edits = edits[:min(*edited, len(edits))]
	}
	return each(len(edits), func(i int) judged {
		e := edits[i]
		return judged{e, of[e.Template].Judge(mutate.Mutant{Text: texts[e]}, compare)}
	})
}

func digestOf(e mutate.Edit) string { return digest(e.Class + e.Template + e.Why) }

// heldOut reports whether an edit belongs to the third that rules were not tuned by.
func heldOut(e mutate.Edit) bool {
	return number(digestOf(e))%3 == 0
}

func TestBugs(t *testing.T) {
	edits, err := mutate.Bugs()
	if err != nil {
		t.Fatal(err)
	}
	classes, templates := map[string]bool{}, map[string]bool{}
	for _, e := range edits {
		classes[e.Class], templates[e.Template] = true, true
	}
	noticed, classed, held, heldNoticed := 0, 0, 0, 0
	all := judgeEdits(t, edits, *compared)
	for _, j := range all {
		if !j.Changes {
			t.Errorf("line %d: %s: %s: no rendering changes", j.Line, j.Template, j.Why)
		}
		if heldOut(j.Edit) {
			held++
		}
		if j.Noticed != nil {
			noticed++
			if heldOut(j.Edit) {
				heldNoticed++
			}
		}
		if warned(j.Verdict) {
			classed++
		} else if *compared {
			t.Logf("diff: line %d: %s: %s: %s", j.Line, j.Template, j.Why, j.Verdict.Class)
		}
		if j.Noticed == nil && !heldOut(j.Edit) {
			t.Logf("line %d: %s: %s: %s", j.Line, j.Edit.Class, j.Template, j.Why)
		} else if testing.Verbose() && !heldOut(j.Edit) {
			t.Logf("noticed line %d by %s", j.Line, strings.Join(j.Noticed, " "))
		}
	}
	if len(edits) < 80 || len(classes) < 30 || len(templates) < 25 {
		t.Errorf("%d bugs in %d classes over %d templates", len(edits), len(classes),
			len(templates))
	}
	if 10*noticed < 9*len(all) {
		t.Error("fewer than 90% of the bugs are noticed")
	}
	if *compared && classed < len(all) {
		t.Error("not all bugs are called risky or breaking")
	}
	t.Logf("%d of %d bugs in %d classes over %d templates: %d noticed (%d of the %d held out), %d "+
		"classed", len(all), len(edits), len(classes), len(templates), noticed, heldNoticed, held,
		classed)
}

func TestHarmless(t *testing.T) {
	edits, err := mutate.Harmless()
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range judgeEdits(t, edits, false) {
		if j.Noticed != nil {
			t.Errorf("line %d: %s: %s: blamed by %v", j.Line, j.Template, j.Why, j.Noticed)
		}
	}
}
