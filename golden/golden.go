// Package golden is the store of goldens: for every template, ours and the vendors', what it can do, its format, its
// grammar and its prompts, as text whose diff reads as a change of behaviour.
//
// # Files
//
// A template has a folder, own/<family> or vendor/<file>, with three files:
//
//	format.golden    caps, gate, modes, markers, ids, field order, how each field is known, and what verification said of each shape
//	grammar.golden   the grammar, triggers, stops and preserved tokens for the standard tools
//	prompts.golden   the prompts of the standard battery, each line behind a bar
//
// Tests compare them and rewrite them through goldie (`make golden`); `assay run` compares them with what it has embedded.
// A file that no template reads is a fault of the store. Prompts are blessed by Python's jinja2, not by us: `make oracle`.
//
// # Stability
//
// This package may change with every release; package engine says what is stable.
package golden

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/constraint"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/standard"
)

// FS has the goldens.
//
//go:embed all:own all:vendor
var FS embed.FS

// suffix is the ending of every golden, goldie's own.
const suffix = ".golden"

// Group is the group of the results of [Compare], a column of the matrix.
const Group = "golden"

// Text is one golden: its path in the store without the suffix, and what it should hold.
type Text struct{ Path, Text string }

// Own and Vendor name the folder of a template.
func Own(family string) string  { return "own/" + family }
func Vendor(file string) string { return "vendor/" + strings.TrimSuffix(file, ".jinja") }

// Texts returns the goldens of a template.
func Texts(folder string, t *engine.Template) []Text {
	return []Text{
		{folder + "/format", formatText(t)},
		{folder + "/grammar", grammarText(t)},
		{folder + "/prompts", promptsText(t)},
	}
}

func formatText(t *engine.Template) string {
	gate := t.Gate()
	var grounds strings.Builder
	for _, g := range t.Analysis().Grounds() {
		fmt.Fprintln(&grounds, g)
	}
	return fmt.Sprintf("# capabilities\n%stool-capable: %t\ngate: %s\n\n# format\n%s\n# evidence\n%s\n# verified\n%s", t.Caps(), gate.ToolCapable(), gate, t.Analysis().Format, &grounds, t.Verify())
}

func grammarText(t *engine.Template) string {
	plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		return comment(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# lazy: %t\n", plan.Lazy)
	for _, trigger := range plan.Triggers {
		fmt.Fprintf(&b, "# trigger: %s\n", constraint.TriggerText(trigger))
	}
	for _, stop := range plan.Stops {
		fmt.Fprintf(&b, "# stop: %q\n", stop)
	}
	for _, token := range plan.Preserved {
		fmt.Fprintf(&b, "# preserved: %q\n", token)
	}
	text, err := constraint.Text(plan.Output)
	if err != nil {
		return comment(err)
	}
	return b.String() + text
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
			b.WriteString(strings.TrimRight("| "+strings.ReplaceAll(line, "\r", "␍"), " ") + trailing(line) + "\n")
		}
	}
	return b.String()
}

// trailing makes spaces at the end of a line visible, so that no editor drops them.
func trailing(line string) string {
	return strings.Repeat("·", len(line)-len(strings.TrimRight(line, " ")))
}

// Conflict says what to do about a golden with a conflict marker of git.
const Conflict = "a conflict marker; take either side (git checkout --theirs golden), then `make golden` writes what is true"

// Compare compares a template with its goldens. A golden that is not there is a failure: `make golden` writes it.
func Compare(suite, folder string, t *engine.Template) []rule.Result {
	var results []rule.Result
	for _, text := range Texts(folder, t) {
		name := text.Path + suffix
		res := rule.Result{Suite: suite, Group: Group, Name: name, Place: rule.Place{File: "golden/" + name}}
		want, err := fs.ReadFile(FS, name)
		switch {
		case err != nil:
			res.Text = "no golden; `make golden` writes it"
		case report.ConflictMarker(string(want)) > 0:
			res.Place.Line = report.ConflictMarker(string(want))
			res.Text = Conflict
		case string(want) != text.Text:
			res.Text = "differs\n" + string(diff.Diff("golden", want, "found", []byte(text.Text)))
		}
		if res.Text != "" {
			res.Status, res.Severity = rule.Failed, rule.Error
		}
		results = append(results, res)
	}
	return results
}
