package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

func sample() *report.Report {
	return &report.Report{Command: "check", Version: "v1",
		Rules: []rule.Rule{{ID: "A001", Name: "broken", Severity: rule.Error, Short: "It broke.",
			Damage: "Harm.", Fix: "Mend it."}},
		Results: []rule.Result{
			{Suite: "a.jinja", Group: "lint", Name: "fine"},
			{Suite: "a.jinja", Group: "lint", Name: "broken", Rule: "A001", Status: rule.Failed,
				Severity: rule.Error,
				Place:    rule.Place{File: "a.jinja", Line: 2, Col: 3},
				Text:     "it, broke: 100% <b>\x01\nevidence"},
			{Suite: "a.jinja", Group: "verify", Name: "odd", Rule: "A002", Status: rule.Found, Severity: rule.Warning, Text: "it is odd"},
			{Suite: "b.jinja", Group: "verify", Name: "old", Status: rule.Known, Text: "it never worked"},
		}}
}

func text(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func expect(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestText(t *testing.T) {
	const counts = "4 passed, 1 failed (1 known failure, 1 warning, 2 notes)\n"
	for _, c := range []struct {
		name string
		edit func(*report.Report)
		o    report.TextOptions
		want string
	}{
		{"long", nil, report.TextOptions{Least: rule.Warning},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\n      |\n    2 | {{ broken }}\n      |    ^^^^^^\n      = evidence\n        - was: \"a\"\n        + is:  \"b\"\n" +
				"a.jinja: warning[A002]: odd: it is odd\n2 notes not shown; --notes lists " +
				"them\nsupports tools: a.jinja: yes\\u0001\n" + counts},
		{"short", nil, report.TextOptions{Least: rule.Warning, Short: true},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\na.jinja: warning[A002]: odd: it is odd\n2 notes not shown; --notes lists them\n" +
				"supports tools: a.jinja: yes\\u0001\n" + counts},
		{"errors", nil, report.TextOptions{Least: rule.Error, Short: true},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\n1 warning, 2 notes not shown; --notes lists them\nsupports tools: a.jinja: yes\\u0001\n" + counts},
		{"not judged", func(r *report.Report) {
			r.Results = []rule.Result{{Suite: "a.jinja", Rule: "A003", Status: rule.Unjudged},
				{Suite: "a.jinja", Rule: "A004", Status: rule.Unjudged}}
			r.Conclusions = nil
		}, report.TextOptions{Least: rule.Warning},
			"2 notes and 2 checks that could not be judged not shown; --notes lists them\n" +
				"2 passed, 0 failed (2 notes, 2 not judged)\n"},
		{"quiet", nil, report.TextOptions{Least: rule.Error, Short: true, Quiet: true},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\n" + counts},
		{"quiet and well", func(r *report.Report) { r.Results = r.Results[:1] }, report.TextOptions{Least: rule.Error, Quiet: true}, ""},
		{"the worst first, one cause once", func(r *report.Report) {
			r.Results = []rule.Result{r.Results[2], r.Results[2], r.Results[1], r.Results[0],
				r.Results[1]}
			r.Noted, r.Conclusions, r.Verdict = 0, nil, "rejected"
		}, report.TextOptions{Short: true, Verbose: true},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001 (2 times)\na.jinja: warning[A002]: odd: it is odd (2 times)\na.jinja: ok: fine\nrejected\n"},
		{"a narrow terminal", func(r *report.Report) {
			r.Results, r.Noted,
				r.Conclusions = r.Results[1:2], 0, nil
		}, report.TextOptions{Short: true, Width: 30},
			"a.jinja:2:3: error[A001]: it,\n    broke: 100% <b>\\u0001\n0 passed, 1 failed\n"},
		{"templates", func(r *report.Report) {
			r.Results[1].Fixable, r.Conclusions, r.Templates = true, nil, 2
		}, report.TextOptions{Least: rule.Error, Short: true},
			"a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\n1 warning, 2 notes not shown; " +
				"--notes lists them\n1 error, 1 warning, 2 notes in 2 templates (1 known failure); " +
				"1 can be fixed with `assay fix`\n"},
	} {
		r := sample()
		r.Results[1].Place.Excerpt = "{{ broken }}\n   ^^^^^^"
		r.Results[1].Text += "\n- was: \"a\"\n+ is:  \"b\""
		r.Noted, r.Conclusions = 2, []string{"supports tools: a.jinja: yes\x01"}
		if c.edit != nil {
			c.edit(r)
		}
		if got := text(t, func(w io.Writer) error { return r.Text(w, c.o) }); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	r := sample()
	r.Results[1].Text += "\n- was: \"a\"\n+ is:  \"b\""
	got := text(t, func(w io.Writer) error { return r.Text(w, report.TextOptions{Color: true}) })
	expect(t, got, "\x1b[1ma.jinja:2:3:\x1b[0m \x1b[1;31merror[A001]:\x1b[0m it, broke", "\x1b[31m        - was: \"a\"\x1b[0m\n\x1b[32m        + is:  \"b\"\x1b[0m\n")
}

func TestBrief(t *testing.T) {
	r := sample()
	r.Results = append(r.Results, r.Results[1], rule.Result{Suite: "c\x01.jinja", Name: "fine"})
	got := text(t, func(w io.Writer) error { return r.Brief(w, report.TextOptions{}) })
	want := "FAIL  a.jinja: A001 broken (2)\nknown b.jinja: old\nok    c\\u0001.jinja\n3 passed, " +
		"2 failed (1 known failure, 1 warning)\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestForms(t *testing.T) {
	r := sample()
	junit := text(t, r.JUnit)
	if err := xml.Unmarshal([]byte(junit), new(any)); err != nil {
		t.Error(err)
	}
	expect(t, junit, `<testsuites name="assay check" tests="4" failures="1" errors="0" skipped="1">`, `line="2"`, `it, broke: 100% &lt;b&gt;`, `<skipped message="it never worked">`)

	sarif := text(t, r.SARIF)
	if !json.Valid([]byte(sarif)) {
		t.Errorf("not JSON: %s", sarif)
	}
	expect(t, sarif, `"ruleId": "A001"`, `"startLine": 2`, `"id": "A001"`, `"assay/v1": "`, `"level": "warning"`)

	expect(t, text(t, annotations(r)), "::error file=a.jinja,line=2,col=3,title=broken [A001]::it, broke: 100%25 <b>\\u0001%0Aevidence\n", "::warning title=")
	r.Conclusions = []string{"gate: <a>: accepted"}
	expect(t, text(t, r.HTML), "<li>gate: &lt;a&gt;: accepted</li>")
	expect(t, text(t, func(w io.Writer) error { return r.Summary(w, rule.Note, 0) }), "* gate: &lt;a&gt;: accepted\n\n| | item", "### assay check: 2 passed, 1 failed", `| error | a.jinja broken \[A001]`, "it, broke: 100% &lt;b&gt;")
	expect(t, text(t, r.HTML), "<title>Assay check: 2 passed", ">error<", "it, broke: 100% &lt;b&gt;", `id="A001"`)
	m := report.NewMatrix("lint", "verify")
	m.Add(r.Results...)
	expect(t, m.String(), "template  lint    verify\na.jinja   1 FAIL  1 "+
		"noted\nb.jinja   -       1 known\n0 of 2 templates pass everything\n")
}

// TestOld has findings that an earlier version has: every form counts them, and those that tell
// news leave them out.
func TestOld(t *testing.T) {
	r := sample()
	r.Old = 2
	r.Results[2].Old = true
	r.Results = append(r.Results, rule.Result{Suite: "a.jinja", Name: "lesser", Rule: "A003",
		Status: rule.Unjudged, Severity: rule.Note, Text: "nobody knows", Old: true})
	const line = "4 passed, 1 failed (1 known failure, 4 known findings)"
	if got := r.Line(); got != line {
		t.Errorf("got %q, want %q", got, line)
	}
	told := text(t, func(w io.Writer) error {
		return r.Text(w, report.TextOptions{Least: rule.Note, Short: true})
	})
	if want := "a.jinja:2:3: error[A001]: it, broke: 100% <b>\\u0001\n" + line + "\n"; told != want {
		t.Errorf("got %q, want %q", told, want)
	}
	expect(t, text(t, func(w io.Writer) error {
		return r.Text(w, report.TextOptions{Least: rule.Note, Short: true, Verbose: true})
	}), "a.jinja: known[A002]: odd: it is odd\n", "a.jinja: known[A003]: lesser: nobody knows\n")
	for name, form := range map[string]string{"annotations": text(t, annotations(r)),
		"SARIF": text(t, r.SARIF)} {
		if strings.Contains(form, "odd") || strings.Contains(form, "nobody") {
			t.Errorf("%s tell what is old:\n%s", name, form)
		}
	}
	expect(t, text(t, r.JUnit), `tests="5" failures="1"`)
	expect(t, text(t, r.JSON), `"old": true`, `"old": 2`)
}

// TestAnnotations wants one for all findings of a cause, and a title that does not repeat the
// place.
func TestAnnotations(t *testing.T) {
	finding := func(text string, place rule.Place) rule.Result {
		return rule.Result{Suite: "m/config.json#tool_use", Name: "broken", Rule: "A001",
			Status: rule.Failed, Severity: rule.Error, Place: place, Text: text}
	}
	at := rule.Place{File: "m/config.json", Part: "tool_use:3:5"}
	r := &report.Report{Results: []rule.Result{finding("first", at), finding("second", at),
		finding("other", rule.Place{File: "m/config.json", Line: 7, Col: 2}),
		{Suite: "hermes", Name: "no call", Status: rule.Failed, Severity: rule.Error, Text: "bare"}}}
	const want = "::error file=m/config.json,title=broken [A001] (tool_use%3A3%3A5) (2 times)::first\n" +
		"::error file=m/config.json,line=7,col=2,title=broken [A001]::other\n" +
		"::error title=hermes no call::bare\n"
	if got := text(t, annotations(r)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFingerprint demands that moving a finding to another line leaves its fingerprint alone.
func TestFingerprint(t *testing.T) {
	prints := func(r *report.Report) (all []string) {
		for line := range strings.Lines(text(t, r.SARIF)) {
			if strings.Contains(line, "assay/v1") {
				all = append(all, strings.TrimSpace(line))
			}
		}
		return all
	}
	moved := sample()
	moved.Results[1].Place.Line = 99
	if a, b := fmt.Sprint(prints(sample())), fmt.Sprint(prints(moved)); a != b {
		t.Errorf("%s became %s", a, b)
	}
}

func TestMerge(t *testing.T) {
	whole := sample()
	one, two := *whole, *whole
	one.Results, two.Results = whole.Results[2:], whole.Results[:2]
	merged, err := report.Merge([]*report.Report{&one, &two})
	if err != nil {
		t.Fatal(err)
	}
	if got := merged.Counts(); got != whole.Counts() || len(merged.Rules) != 1 {
		t.Errorf("merged: %v results, %d rules", got, len(merged.Rules))
	}
	back, err := report.Read(strings.NewReader(text(t, merged.JSON)))
	if err != nil || back.Line() != whole.Line() {
		t.Errorf("read back: %v, %v", back, err)
	}
	other := sample()
	other.Command = "verify"
	if _, err := report.Merge([]*report.Report{whole, other}); err == nil {
		t.Error("reports of different runs were merged")
	}
	if _, err := report.Merge(nil); err == nil {
		t.Error("nothing was merged")
	}
}

// TestLimits keeps to GitHub's limits: ten annotations of a level, a summary of a mebibyte.
func TestLimits(t *testing.T) {
	r := sample()
	for i := range 20_000 {
		r.Results = append(r.Results, r.Results[1])
		r.Results[len(r.Results)-1].Place.Line += 1 + i // each has a cause of its own
	}
	if got := text(t, annotations(r)); strings.Count(got, "::error ") != 10 ||
		!strings.Contains(got, "and 19991 more of the level error") {
		t.Errorf("%d annotations", strings.Count(got, "::error "))
	}
	for _, written := range []int{0, 1<<20 - 5000} {
		got := text(t, func(w io.Writer) error { return r.Summary(w, rule.Note, written) })
		if written+len(got) > 1<<20 || !strings.Contains(got, " more\n") {
			t.Errorf("a summary of %d bytes after %d", len(got), written)
		}
	}
	r.Results = r.Results[1:2]
	r.Results[0].Text = strings.Repeat("ü", 1<<16)
	if got := text(t, annotations(r)); len(got) > 5000 || !utf8.ValidString(got) {
		t.Errorf("an annotation of %d bytes", len(got))
	}
}

func TestExpect(t *testing.T) {
	r := sample()
	key := func(res *rule.Result) string { return res.Suite + " " + res.Name }
	known := map[string]string{"a.jinja broken": "why", "a.jinja fine": "why not", "c gone": "lost"}
	rule.Expect(r.Results, known, key)
	if r.Results[1].Status != rule.Known || r.Results[0].Status != rule.Failed {
		t.Errorf("statuses %v and %v", r.Results[1].Status, r.Results[0].Status)
	}
	if unused := rule.Unused(r.Results, known, key); len(unused) != 1 ||
		unused[0].Name != "c gone" {
		t.Errorf("unused: %v", unused)
	}
}

// FuzzRead reads any report; a report that is read can be written in every form, and each is valid
// in its form.
func FuzzRead(f *testing.F) {
	f.Add(text(f, sample().JSON))
	hostile := sample()
	hostile.Results[1].Suite, hostile.Results[1].Text = "\x1b[31m\u202e::error::", "\u0000<script>\r\n::set-output name=a::b\ud7ff\ufffe"
	f.Add(text(f, hostile.JSON))
	f.Add(`{"command": "run", "version": "", "results": [{"suite": "a", "detail": {"prompt": "", "output": "ab", "marks": [{"start": 1, "end": 9}, {"start": -1, "end": 0}], "timeline": [{"part": "x", "from": 9, "to": -9}]}}]}`)
	f.Fuzz(func(t *testing.T, input string) {
		r, err := report.Read(strings.NewReader(input))
		if err != nil {
			return
		}
		merged, err := report.Merge([]*report.Report{r, r})
		if err != nil || merged.Passed != 2*r.Passed ||
			merged.Counts()[rule.Failed] != 2*r.Counts()[rule.Failed] {
			t.Fatalf("merged with itself: %v, %v", merged.Counts(), err)
		}
		allForms(t, r)
	})
}

// allForms writes a report in every form and checks that each is well formed.
func allForms(t *testing.T, r *report.Report) {
	t.Helper()
	if again, err := report.Read(strings.NewReader(text(t, r.JSON))); err != nil ||
		len(again.Results) != len(r.Results) {
		t.Fatalf("read back: %v", err)
	}
	if !json.Valid([]byte(text(t, r.SARIF))) {
		t.Error("SARIF is no JSON")
	}
	d := xml.NewDecoder(strings.NewReader(text(t, r.JUnit)))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("JUnit is no XML: %v", err)
		}
	}
	text(t, r.HTML)
	text(t, func(w io.Writer) error { return r.Summary(w, rule.Note, 0) })
	for line := range strings.Lines(text(t, annotations(r))) {
		if i := strings.IndexFunc(strings.NewReplacer("\n", "", "\t", "").Replace(line),
			unicode.IsControl); i >= 0 {
			t.Errorf("an annotation has a control character: %q", line)
		}
	}
	for line := range strings.Lines(text(t,
		func(w io.Writer) error {
			return r.Text(w,
				report.TextOptions{Verbose: true, Width: 60})
		})) {
		if i := strings.IndexFunc(strings.NewReplacer("\n", "", "\t", "").Replace(line),
			unicode.IsControl); i >= 0 {
			t.Errorf("a line for the terminal has a control character: %q", line)
		}
	}
}

// annotations writes a report's annotations, those of notes as well.
func annotations(r *report.Report) func(io.Writer) error {
	return func(w io.Writer) error { return r.Annotations(w, rule.Note) }
}

// TestMarked holds that what the model sees is marked where it is not as it should be.
func TestMarked(t *testing.T) {
	for _, c := range []struct{ sees, should, want string }{
		{`"<|a|>[]<|end|><|b|>"`, `"<|a|>Hello<|end|>"`, "^^"},
		{`"<|a|><|end|>"`, `"<|a|>Hello<|end|>"`, "^"},
		{`"<|a|>Hi"`, `"<|a|>Hello there"`, `^^`},
	} {
		r := sample()
		r.Results[1].Text = "lost\nthe model sees: " + c.sees + "\nit should see:  " + c.should
		got := text(t, func(w io.Writer) error { return r.Text(w, report.TextOptions{}) })
		_, below, _ := strings.Cut(got, "the model sees: ")
		_, below, _ = strings.Cut(below, "\n")
		carets, _, _ := strings.Cut(below, "\n")
		if at := strings.Index(carets, "^"); strings.TrimSpace(carets) != c.want ||
			at != len("      = the model sees: ")+report.Parting(c.sees, c.should) {
			t.Errorf("%s for %s is marked with\n%q\nexpected %s", c.sees, c.should, carets, c.want)
		}
	}
}
