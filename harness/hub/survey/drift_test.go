package survey_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/batch"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/edit/mutate"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/results"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/survey"
	"github.com/goassay/assay/harness/hub/templates"
)

// every and rest choose the families of TestDrift: each of so many; 1 takes all. The parts of all
// rests are all families.
var (
	every = flag.Int("every", 12, "TestDrift takes one of so many families")
	rest  = flag.Int("rest", 0, "TestDrift takes the families whose number leaves this rest")
)

const (
	broken    = "{% endif %}"
	refuses   = "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
	short     = "{% if messages|length > 4 %}{{ raise_exception('no') }}{% endif %}"
	withNotes = "Answer in one sentence.\n"
)

// edit is a seeded edit: the text of one day and of the next, and the class of the change.
type edit struct{ name, was, is, class string }

// edits makes edits of every class of a template, where its text has a place for them.
func edits(t *testing.T, text string) []edit {
	all := []edit{
		{"nothing", text, text, ""},
		{"a comment", text, "{# a note #}" + text, diff.Unseen},
		{"an error that is mended", text + broken, text, "safe"},
		{"a sentence before the prompt", text, withNotes + text, "risky"},
		{"an error", text, text + broken, "breaking"},
		{"long conversations refused", text, short + text, "breaking"},
		{"long conversations accepted", short + text, text, "safe"},
		{"nothing but an error", text + broken, text + broken + broken, diff.Broken},
	}
	add := func(name, was, is, class string) {
		if was != is {
			all = append(all, edit{name, was, is, class})
		}
	}
	add("a space in a tag", text, strings.Replace(text, "{%- if ", "{%-  if ", 1),
		diff.WhiteSpace)
	add("no generation prompt", text, strings.ReplaceAll(text, "add_generation_prompt", "false"),
		"breaking")
	rewrites, err := mutate.Rewrites(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(rewrites) / 2, len(rewrites) - 1} {
		if at >= 0 && at < len(rewrites) {
			class := diff.Unseen
			if bare(rewrites[at].Text) == bare(text) {
				class = diff.WhiteSpace
			}
			add("another spelling: "+string(rewrites[at].Operator), text, rewrites[at].Text, class)
		}
	}
	e, err := engine.Compile(t.Context(), engine.Source{Text: text}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	caps := e.Caps()
	if caps.SystemRole {
		add("the system's message refused", text, refuses+text, "breaking")
		// What was refused is rendered, and nobody who was served is served otherwise; unless the
		// refusal hid a fault that requests without instructions show.
		class := "safe"
		_, hidden := mutate.Check(subject.New("t", refuses+text))
		results := check.Template(subject.New("t", text), check.Options{Requests: true})
		_, shown := mutate.Count(slices.DeleteFunc(results, func(r rule.Result) bool {
			return bytes.Contains(r.Request, []byte(`"system"`)) ||
				bytes.Contains(r.Request, []byte(`"developer"`))
		}))
		if len(shown.More(hidden)) > 0 {
			class = "risky"
		}
		add("the system's message accepted", refuses+text, text, class)
	}
	if caps.Tools {
		add("the tools ignored", text, "{% set tools = none %}"+text, "breaking")
		add("the marker of a call", text, strings.ReplaceAll(text, "tool_call>", "tool_use>"),
			"breaking")
	}
	return all
}

// bare is a text without its white space.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// TestDrift seeds edits of every class between two manifests, and demands that of each class at
// least 95% are classed rightly. It prints the table.
func TestDrift(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var days [2][]manifest.Entry
	want := map[string]string{}
	own := 0
	for i := range loaded.Families {
		f := &loaded.Families[i]
		if !f.Own {
			continue
		}
		if own++; own%*every != *rest%*every {
			continue
		}
		text, err := loaded.Text(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits(t, text) {
			where := f.Name + "/" + e.name
			want[where] = e.class
			for day, text := range [2]string{e.was, e.is} {
				digest, err := manifest.Keep(t.Context(), new(storage.Store), dir, text)
				if err != nil {
					t.Fatal(err)
				}
				days[day] = append(days[day], manifest.Entry{What: manifest.Template, Where: where,
					Digest: digest})
			}
		}
	}
	var before []byte
	for day, entries := range days {
		before = surveyed(t, dir, fmt.Sprint(day), entries, before)
	}
	r, err := results.NewReader(bytes.NewReader(before), results.Survey)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for {
		line, err := results.Next[survey.Line](r)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range line.Against {
			for _, where := range c.Where {
				found[where] = c.Class
			}
		}
	}
	table, right := map[[2]string]int{}, 0
	for where, class := range want {
		table[[2]string{class, found[where]}]++
		if found[where] == class {
			right++
		} else {
			t.Logf("%s: %q, expected %q", where, found[where], class)
		}
	}
	classes := []string{"", diff.WhiteSpace, diff.Unseen, "safe", "risky", "breaking",
		diff.Broken}
	head := fmt.Sprintf("%-20s", "seeded, found:")
	for _, is := range classes {
		head += fmt.Sprintf("%20q", is)
	}
	t.Log(head)
	for _, was := range classes {
		row, sum := fmt.Sprintf("%-20q", was), 0
		for _, is := range classes {
			row += fmt.Sprintf("%20d", table[[2]string{was, is}])
			sum += table[[2]string{was, is}]
		}
		t.Log(row)
		switch same := table[[2]string{was, was}]; {
		case sum == 0:
			t.Errorf("no edit of the class %q was seeded", was)
		case same*100 < 95*sum:
			t.Errorf("%d of %d edits of the class %q are classed rightly, expected 95%%", same,
				sum, was)
		}
	}
	t.Logf("%d of %d edits are classed rightly", right, len(want))
}

// surveyed judges a manifest, and returns the file with the results.
func surveyed(t *testing.T, dir, name string, entries []manifest.Entry, before []byte) []byte {
	t.Helper()
	var list bytes.Buffer
	if err := manifest.Write(&list, entries); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), list.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	plan, err := survey.NewPlan(func() (io.ReadCloser, error) {
		return os.Open(filepath.Join(dir, name))
	}, manifest.Shard{}, "test")
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		if err := plan.Since(bytes.NewReader(before)); err != nil {
			t.Fatal(err)
		}
	}
	judge := &survey.Judge{Folder: dir,
		Options: check.Options{Differ: templates.Differ, Accepted: new([]string)}}
	var lines []survey.Line
	if err := batch.Run(t.Context(), batch.Slice(plan.Tasks),
		func(task *survey.Task) survey.Line { return judge.Line(t.Context(), task) },
		func(line survey.Line) { lines = append(lines, line) }); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = results.Write(&out, plan.Header, func() (survey.Line, error) {
		if len(lines) == 0 {
			return survey.Line{}, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
