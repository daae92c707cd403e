package report_test

import (
	"io"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// TestHostileText puts hostile text into every field that others write, and looks for it in every
// form.
func TestHostileText(t *testing.T) {
	const bad = "\x1b[31m\u202e<script>alert(1)</script>]]>\x00\ufffe\n::error::owned\n##[error]x|`*\\| %0A::error::"
	r := &report.Report{Command: "check" + bad, Version: bad,
		Rules: []rule.Rule{{ID: "A001" + bad, Name: bad, Severity: rule.Error, Short: bad,
			Damage: bad, Fix: bad}},
		Conclusions: []string{"gate: " + bad},
		Results: []rule.Result{
			{Suite: bad, Group: bad, Name: bad, Rule: bad, Status: rule.Failed,
				Severity: rule.Error, Place: rule.Place{File: bad, Line: -4, Col: -1}, Text: bad},
			{Suite: bad, Group: bad, Name: bad, Status: rule.Found, Text: bad,
				Details: []rule.Detail{{About: bad, Prompt: bad, Prefill: 1 << 40, Output: bad,
					Message: bad,
					Parts: []rule.Span{{Start: 5, End: 2}, {Start: -9, End: 7, Class: bad},
						{Start: 3, End: 1 << 40, Class: "marker"}},
					Timeline: []rule.Step{{Part: bad, From: -1 << 60, To: 1 << 60, Text: bad}}}}},
			{Suite: bad, Group: "g", Status: rule.Known, Text: bad},
		}}
	allForms(t, r)
	m := report.NewMatrix(bad, "g")
	m.Add(r.Results...)
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error {
			return r.Text(w,
				report.TextOptions{Verbose: true, Color: true, Width: 60})
		},
		"matrix": func(w io.Writer) error {
			_,
				err := io.WriteString(w, m.String())
			return err
		},
		"HTML":        r.HTML,
		"JUnit":       r.JUnit,
		"SARIF":       r.SARIF,
		"annotations": annotations(r),
		"summary":     func(w io.Writer) error { return r.Summary(w, rule.Note, 0) },
	} {
		got := text(t, write)
		for _, raw := range []string{"\x1b", "\u202e", "\x00", "\ufffe", "##["} {
			if strings.Contains(got, raw) {
				t.Errorf("%s has %q:\n%s", name, raw, got)
			}
		}
		for line := range strings.Lines(got) {
			if order, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(order,
				"::") && name != "annotations" || strings.HasPrefix(order, "::error::") {
				t.Errorf("%s gives an order: %q", name, line)
			}
		}
		if (name == "HTML" || name == "JUnit" || name == "summary") &&
			strings.Contains(got, "<script") {
			t.Errorf("%s has markup:\n%s", name, got)
		}
	}
}
