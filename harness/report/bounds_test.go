package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// TestBounds writes reports without an end, in every form.
func TestBounds(t *testing.T) {
	endless := strings.Repeat("1234567é", 4<<20)
	r := &report.Report{Command: "check", Verdict: endless, Conclusions: []string{endless},
		Results: []rule.Result{
			{Suite: endless, Group: endless, Name: endless, Rule: "A012", Status: rule.Failed,
				Severity: rule.Error, Text: endless,
				Place:   rule.Place{File: endless, Line: 1, Part: endless, Excerpt: endless},
				Details: []rule.Detail{{Prompt: endless, Output: endless}}},
			{Suite: "s", Group: "g", Name: "n", Text: "short"},
		}}
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, report.TextOptions{Verbose: true}) },
		"JSON": r.JSON, "JUnit": r.JUnit, "SARIF": r.SARIF,
		"HTML": r.HTML, "annotations": annotations(r),
		"summary": func(w io.Writer) error { return r.Summary(w, rule.Note, 0) },
		"brief":   func(w io.Writer) error { return r.Brief(w, report.TextOptions{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b.Len() > 400<<10 || !strings.Contains(b.String(), "bytes more)") && b.Len() > 4<<10 {
			t.Errorf("%s has %d bytes", name, b.Len())
		}
	}
	if len(r.Results[0].Text) != len(endless) {
		t.Error("the report itself was changed")
	}
}
