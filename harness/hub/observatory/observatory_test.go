package observatory_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/hub/results"

	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/observatory"
	"github.com/goassay/assay/harness/hub/storage"
	"github.com/goassay/assay/harness/hub/survey"
)

const hostile = `o/<script>alert(1)</script>` + "\u202e\x1b[31m"

var lines = []survey.Line{
	{Digest: manifest.Digest("a"), Verdict: survey.Pass, Format: manifest.Digest("f"),
		Findings: []survey.Finding{{Rule: "A001", Severity: "warning", Text: "x"},
			{Rule: "A001", Severity: "warning", Text: "y"}, {Rule: "A002", Severity: "error"}},
		Against: []survey.Comparison{{With: survey.Base, Class: "risky", Where: []string{"o/b"}},
			{With: survey.Before, Class: "breaking", Where: []string{hostile, "o/b"}}},
		Entries: []manifest.Entry{{What: manifest.Template, Where: "o/b", Revision: "1",
			Downloads: 5,
			Base:      "o/c"}, {What: manifest.Template, Where: hostile, Downloads: 7}}},
	{Digest: manifest.Digest("b"), Verdict: survey.Fail, Why: "no", Entries: []manifest.Entry{
		{What: manifest.Template, Where: "p/q#m.gguf", Downloads: 1}}},
}

// written writes the lines as a table by the name of a file.
func written(t *testing.T, name string) *bytes.Buffer {
	t.Helper()
	out := new(bytes.Buffer)
	table, err := observatory.NewTable(out, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if err := table.Add(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// want are the rows of the lines.
var want = []observatory.Row{
	{Where: "o/b", Owner: "o", Revision: "1", Downloads: 5, Digest: lines[0].Digest,
		Verdict: survey.Pass, Format: lines[0].Format, Base: "o/c", FromBase: "risky",
		Before: "breaking", Errors: []string{"A002"}, Warnings: []string{"A001"},
		Notes: []string{}},
	{Where: hostile, Owner: "o", Downloads: 7, Digest: lines[0].Digest, Verdict: survey.Pass,
		Format: lines[0].Format, Before: "breaking", Errors: []string{"A002"},
		Warnings: []string{"A001"}, Notes: []string{}},
	{Where: "p/q#m.gguf", Owner: "p", Downloads: 1, Digest: lines[1].Digest,
		Verdict: survey.Fail, Why: "no", Errors: []string{}, Warnings: []string{},
		Notes: []string{}},
}

// TestTable reads a table of JSON lines back.
func TestTable(t *testing.T) {
	var rows []observatory.Row
	for d := json.NewDecoder(written(t, "a.jsonl")); d.More(); {
		var row observatory.Row
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("JSON lines have\n%+v\nexpected\n%+v", rows, want)
	}
}

// TestSite writes a site twice: a day is added to its history, and a day that is there is replaced.
// Names of strangers are shown and do nothing.
func TestSite(t *testing.T) {
	summary := survey.NewSummary(results.Header{Version: "1", Manifest: manifest.Digest("m"),
		Entries: 3, Of: 1, Parts: []int{1}})
	for _, line := range lines {
		summary.Add(line)
	}
	dir := filepath.Join(t.TempDir(), "site")
	for _, date := range []string{"2026-01-02", "2026-01-01", "2026-01-02"} {
		site := observatory.Site{Folder: dir, Date: date, Summary: summary}
		if err := site.Write(t.Context(), new(storage.Store)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if days := strings.Split(strings.TrimSpace(read("history.jsonl")), "\n"); len(days) != 2 ||
		!strings.Contains(days[0], "2026-01-01") {
		t.Errorf("the history is %q", days)
	}
	for _, name := range []string{"index.html", "families.html", "publishers.html",
		"findings.html", "drift.html"} {
		text := read(name)
		if strings.Contains(text, "<script") || strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("%s has a stranger's markup or invisible characters", name)
		}
	}
	for name, want := range map[string]string{
		"families.html": manifest.Digest("f")[:16], "publishers.html": ">o<",
		"findings.html": "A002", "index.html": "Fail",
		"drift.html": `<a href="https://huggingface.co/o/b">o/b</a>`,
	} {
		if !strings.Contains(read(name), want) {
			t.Errorf("%s has not %q", name, want)
		}
	}
	site := observatory.Site{Folder: dir, Date: "yesterday", Summary: summary}
	if err := site.Write(t.Context(), new(storage.Store)); err == nil {
		t.Error("a date that is none is accepted")
	}
	if err := os.WriteFile(filepath.Join(dir, "history.jsonl"), []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	site.Date = "2026-01-03"
	err := site.Write(t.Context(), new(storage.Store))
	if err == nil || !strings.Contains(err.Error(), "history.jsonl:1") {
		t.Errorf("a broken history: %v", err)
	}
}
