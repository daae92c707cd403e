// Package golden is the store of goldens: for every template, ours and the vendors', its
// capabilities, its format, its grammar and its prompts, as text whose diff reads as a change of
// behaviour.
//
// # Files
//
// A template has a file, own/<family>.golden or vendor/<file>.golden, with three parts under
// headings as in a txtar archive:
//
//	format    caps, gate, modes, markers, ids, field order, the evidence for each field, and
//	          the result of verification for each shape
//	grammar   the grammar, triggers, stops and preserved tokens for the standard tools
//	prompts   the prompts of the standard battery, each line after a bar
//
// Tests compare them and rewrite them through goldie (`make golden`); `assay run` compares them
// with the embedded ones. A file that no template reads is a fault of the store. Prompts are
// blessed by Python's jinja2, not by us: `make oracle`.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package golden

import (
	"embed"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/embedded"
	"github.com/goassay/assay/harness/report"
)

//go:embed all:own all:vendor
var files embed.FS

// suffix is the ending of every golden, goldie's own.
const suffix = ".golden"

// Group is the group of the results of [Compare], a column of the matrix.
const Group = "golden"

// Own and Vendor name the golden of a template, a path in the store without the suffix.
func Own(family string) string  { return "own/" + family }
func Vendor(file string) string { return "vendor/" + strings.TrimSuffix(file, ".jinja") }

var parts = []struct {
	name string
	text func(*engine.Template) string
}{
	{"format", formatText},
	{"grammar", grammarText},
	{"prompts", promptsText},
}

func formatText(t *engine.Template) string {
	gate := t.Gate()
	var grounds strings.Builder
	for _, g := range t.Analysis().Grounds() {
		fmt.Fprintln(&grounds, g)
	}
	return fmt.Sprintf("# capabilities\n%stool-capable: %t\ngate: %s\n\n# format\n%s\n# "+
		"evidence\n%s\n# verified\n%s", t.Caps(), gate.ToolCapable(), gate, t.Analysis().
		Format, &grounds, t.Verify())
}

func grammarText(t *engine.Template) string {
	plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		return comment(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# lazy: %t\n", plan.Lazy)
	for _, trigger := range plan.Triggers {
		fmt.Fprintf(&b, "# trigger: %s\n", trigger)
	}
	for _, stop := range plan.Stops {
		fmt.Fprintf(&b, "# stop: %q\n", stop)
	}
	for _, token := range plan.Preserved {
		fmt.Fprintf(&b, "# preserved: %q\n", token)
	}
	grammar, err := plan.Grammar()
	if err != nil {
		return comment(err)
	}
	return b.String() + grammar
}

func comment(err error) string {
	return "# " + strings.ReplaceAll(err.Error(), "\n", "\n# ") + "\n"
}

func promptsText(t *engine.Template) string {
	var b strings.Builder
	for _, c := range standard.Battery() {
		prompt, err := t.Render(c.Request)
		fmt.Fprintf(&b, "== %s\n", c.Name)
		if err != nil {
			head, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(&b, "refused: %s\n", head)
			continue
		}
		for _, fit := range prompt.Fits {
			fmt.Fprintf(&b, "fitted: %s\n", fit)
		}
		for line := range strings.SplitSeq(prompt.Text, "\n") {
			b.WriteString(strings.TrimRight("| "+strings.ReplaceAll(line, "\r", "␍"), " ") +
				trailing(line) + "\n")
		}
	}
	return b.String()
}

// trailing makes spaces at the end of a line visible, so that no editor drops them.
func trailing(line string) string {
	return strings.Repeat("·", len(line)-len(strings.TrimRight(line, " ")))
}

// Conflict is the advice for a golden with a conflict marker of git.
const Conflict = "a conflict marker; take either side (git checkout --theirs golden), then `make " +
	"golden` writes the right one"

// Compare compares a template with its golden, a result for each part that differs. A golden that
// is not there is a failure: `make golden` writes it.
func Compare(suite, path string, t *engine.Template) []rule.Result {
	file := path + suffix
	failed := func(name string, line int, text string) rule.Result {
		return rule.Result{Suite: suite, Group: Group, Name: name, Status: rule.Failed,
			Severity: rule.Error,
			Place:    rule.Place{File: "golden/" + file, Line: line}, Text: text}
	}
	golden, err := (embedded.FS{Stored: &files}).ReadFile(file)
	if err != nil {
		return []rule.Result{failed(path, 0, "no golden; `make golden` writes it")}
	}
	if line := report.ConflictMarker(string(golden)); line > 0 {
		return []rule.Result{failed(path, line, Conflict)}
	}
	wanted := map[string]string{}
	for _, f := range txtar.Parse(golden).Files {
		wanted[f.Name] = string(f.Data)
	}
	var results []rule.Result
	for _, p := range parts {
		name := path + " " + p.name
		found := p.text(t)
		if want := wanted[p.name]; want != found {
			results = append(results, failed(name, 0,
				"differs\n"+string(diff.Diff("golden", []byte(want), "found", []byte(found)))))
			continue
		}
		results = append(results, rule.Result{Suite: suite, Group: Group, Name: name,
			Place: rule.Place{File: "golden/" + file}})
	}
	return results
}
