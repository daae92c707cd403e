package advisory_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/relatives"
	"github.com/goassay/assay/harness/edit/mutate"
	"github.com/goassay/assay/harness/hub/advisory"
)

// published loads the records of the corpus.
func published(t *testing.T) []*advisory.Record {
	t.Helper()
	records, err := advisory.Load(corpus.FS, "advisories")
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// The bounds of the records, and of the index of digests, which programs embed.
const (
	minRecords = 120
	minMended  = 60 // of them, by a text that somebody published
	maxAlike   = 3  // of a rule with one excerpt, or with one family as the nearest relative
	maxIndex   = 200 << 10
)

// TestRecords holds the records to what no schema says: there are enough of them, each names a rule
// that there is, no text is the mended and the faulty one, and the index stays small.
func TestRecords(t *testing.T) {
	t.Parallel()
	rules := map[string]bool{}
	for _, r := range check.Rules() {
		rules[r.ID] = true
	}
	records := published(t)
	index := advisory.NewIndex(records)
	judged, err := fs.ReadFile(corpus.FS, "advisories/candidates.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, mended, alike := 0, 0, map[string]int{}
	for _, r := range records {
		d := r.Template
		if r.Withdrawn == "" {
			all++
			alike[d.Rule+" with the excerpt "+d.Excerpt.Faulty]++
		}
		if r.Withdrawn == "" && d.Fixed != nil {
			mended++
		}
		if !rules[d.Rule] {
			t.Errorf("%s: there is no rule %s", r.ID, d.Rule)
		}
		if d.Fixed != nil && slices.Contains(index.IDs[d.Fixed.Exact], r.ID) {
			t.Errorf("%s: the mended text is the faulty one", r.ID)
		}
		if !slices.Contains(index.IDs[d.Text.Exact], r.ID) && r.Withdrawn == "" {
			t.Errorf("%s: the index has not its text", r.ID)
		}
		if d.Excerpt.Faulty == d.Excerpt.Fixed {
			t.Errorf("%s: the excerpt does not show the fault", r.ID)
		}
		onHub := slices.ContainsFunc(r.Affected, func(a advisory.Affected) bool {
			return a.Package == nil
		})
		if s := d.Survey; s == nil && onHub ||
			s != nil && (s.Day == "" || s.Repositories < max(1, len(s.Downloads))) {
			t.Errorf("%s: it does not say what the survey saw of its repositories", r.ID)
		}
		if d.Fixed == nil && d.Survey != nil && !strings.Contains(string(judged), "\n"+r.ID+" ") {
			t.Errorf("%s: candidates.txt has no reason for it", r.ID)
		}
		for _, w := range d.Witnesses {
			seen := map[string]bool{}
			for _, v := range ordered.MustParse(string(w.Variables)).Members() {
				if seen[v.Key] {
					t.Errorf("%s: a witness has two variables %s", r.ID, v.Key)
				}
				seen[v.Key] = true
			}
		}
	}
	if all < minRecords || mended < minMended {
		t.Errorf("%d records, %d with a mended text, are too few", all, mended)
	}
	fewAlike(t, alike)
	var text bytes.Buffer
	if err := index.Write(&text); err != nil || text.Len() > maxIndex {
		t.Errorf("the index has %d bytes; at most %d are allowed (%v)", text.Len(), maxIndex, err)
	}
}

// fewAlike demands that no cause has more than its share of the records.
func fewAlike(t *testing.T, alike map[string]int) {
	t.Helper()
	for what, n := range alike {
		if n > maxAlike {
			t.Errorf("%d records are of %s; at most %d may be", n, what, maxAlike)
		}
	}
}

// TestSchema holds the records to the schema of OSV in the file that ASSAY_OSV_SCHEMA names.
func TestSchema(t *testing.T) {
	t.Parallel()
	file := os.Getenv("ASSAY_OSV_SCHEMA")
	if file == "" {
		t.Skip("ASSAY_OSV_SCHEMA names no schema; make advisories fetches it")
	}
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range published(t) {
		text, err := corpus.FS.Open("advisories/" + r.ID + ".json")
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(text)
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}

var slice = flag.Bool("slice", false, "prove the records whose texts are there, and no others")

// TestProven proves the records on the texts that the folders of ASSAY_TEXTS have: the faulty text
// has the digests and the finding of the rule, and makes the faulty prompts; the mended one does
// not, or has a lesser one. The finding is no worse than the record says, and where the first
// witness ends in an error, it is about the line of that. A record of which no folder has the text
// fails.
func TestProven(t *testing.T) {
	t.Parallel()
	folders := filepath.SplitList(os.Getenv("ASSAY_TEXTS"))
	if len(folders) == 0 {
		t.Skip("ASSAY_TEXTS names no folder; make advisories fetches the texts")
	}
	texts := map[string]string{}
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
			texts[advisory.Digest(string(text))] = string(text)
		}
	}
	proved, alike := 0, map[string]int{}
	for _, r := range published(t) {
		faulty, there := texts[r.Template.Text.Exact]
		mended := ""
		if f := r.Template.Fixed; f != nil && there {
			mended, there = texts[f.Exact]
		}
		if !there && !*slice {
			t.Errorf("%s: no folder has its texts", r.ID)
		}
		if !there {
			continue
		}
		proved++
		kin := relatives.Find(subject.New(r.ID, faulty))
		if kin != nil && len(kin.Near) > 0 && r.Withdrawn == "" {
			alike[r.Template.Rule+" in relatives of "+kin.Nearest]++
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			if got := advisory.DigestsOf(faulty); got != r.Template.Text {
				t.Errorf("the digests are %v", got)
			}
			was, loud := proven(t, r, faulty, true)
			var is, less mutate.Found
			if r.Template.Fixed != nil {
				is, less = proven(t, r, mended, false)
			}
			if !slices.Contains(slices.Concat(was.More(is), loud.More(less)), r.Template.Rule) {
				t.Errorf("%s finds no more in the faulty text than in the mended one",
					r.Template.Rule)
			}
			pointed(t, r, faulty)
		})
	}
	fewAlike(t, alike)
	if proved == 0 {
		t.Error("no folder has the texts of any record")
	}
}

// proven holds the prompts of a text to the witnesses of a record, and returns its findings, with
// and without notes: a record weighs what happened to somebody, a rule what a server shows in
// general.
func proven(t *testing.T, r *advisory.Record, text string, faulty bool) (all, loud mutate.Found) {
	t.Helper()
	src := subject.New(r.ID, text)
	renders, err := advisory.NewRenders(t.Context(), src, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Shown(renders) != faulty {
		t.Errorf("the witnesses do not tell the texts apart")
	}
	return mutate.Check(src)
}

// pointed holds the findings of a record's rule in its text to the record's severity, and to the
// line in its excerpt.
func pointed(t *testing.T, r *advisory.Record, text string) {
	t.Helper()
	line := 0
	ends, _ := fmt.Sscanf(r.Template.Excerpt.Faulty, "(no prompt: line %d:", &line)
	there := ends == 0
	only := check.Options{Only: []string{r.Template.Rule}}
	for _, found := range check.Template(subject.New(r.ID, text), only) {
		if found.Rule != r.Template.Rule || found.Status == rule.Passed {
			continue
		}
		there = there || found.Place.Line == line
		if found.Level() > r.Template.Severity {
			t.Errorf("the severity is %s, and that of the finding %s", r.Template.Severity,
				found.Level())
		}
	}
	if !there {
		t.Errorf("no finding of %s is about line %d", r.Template.Rule, line)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	want := advisory.DigestsOf("{{ a }}\n{{ b }}").Canonical
	for _, text := range []string{"{{ a }}\r\n{{ b }}\r\n", "\ufeff{{ a }}\n\n  \n{{ b }}\n\n",
		"{{ a }}\r{{ b }}"} {
		if advisory.DigestsOf(text).Canonical != want {
			t.Errorf("%q has another canonical form", text)
		}
	}
	for _, text := range []string{"{{ a }}{{ b }}", " {{ a }}\n{{ b }}", "{{ a }}\n{{ B }}"} {
		if advisory.DigestsOf(text).Canonical == want {
			t.Errorf("%q has the same canonical form", text)
		}
	}
}
