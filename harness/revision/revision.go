// Package revision compares two revisions of a chat template by what they do.
//
// # Model
//
// [Compare] looks at both through the same eyes: capabilities, format, the prompts of the standard battery, what each reads
// from the other's turns and from recorded outputs, the languages of their grammars, and the findings of the automatic checks.
// Every change has a rule (D001, ...) and is classed:
//
//	breaking   something that worked does not, or means something else (an error; it fails a gate)
//	risky      the model sees another prompt, or may be constrained to another spelling (a warning)
//	safe       something was added or mended (a note)
//
// A change that nobody can observe (comments, white space inside tags, names of variables) is none.
//
// # Errors
//
// There are none: a revision that does not compile is a change.
package revision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/script"
	"github.com/goassay/assay/harness/subject"
)

// comparison is one aspect by which revisions are compared.
type comparison struct {
	report.Rule
	run func(*pair, finder)
}

// finder takes the changes of an aspect: where in the new revision, and a sentence, with evidence on further lines.
type finder func(at report.Place, format string, args ...any)

// comparisons has all aspects in the order of their ids. Severity is the class: error is breaking, warning risky, note safe.
var comparisons = []comparison{
	{report.Rule{ID: "D001", Name: "no-longer-compiles", Severity: report.Error,
		Short: "The new revision does not compile, or renders nothing.", Damage: "Every request fails.", Fix: "The message has the place."}, compiles},
	{report.Rule{ID: "D002", Name: "capability-lost", Severity: report.Error,
		Short: "A capability is gone.", Damage: "Requests that worked are refused, or lose a part.", Fix: "Bring it back, or say so to users."}, capsLost},
	{report.Rule{ID: "D003", Name: "capability-gained", Severity: report.Note,
		Short: "A capability is new.", Damage: "None.", Fix: "Nothing to do."}, capsGained},
	{report.Rule{ID: "D004", Name: "format-changed", Severity: report.Error,
		Short:  "The spelling of answers has changed: markers, modes, fields or ids.",
		Damage: "Parsers made for the old revision do not read the new one; a model trained on the old spelling sees another one.",
		Fix:    "Keep the spelling that the model was trained on."}, formatChanged},
	{report.Rule{ID: "D005", Name: "format-spacing-changed", Severity: report.Warning,
		Short:  "Only white space beside markers has changed.",
		Damage: "The model sees other tokens than in training; strict parsers fail.",
		Fix:    "Keep the white space, unless the old one was wrong."}, spacingChanged},
	{report.Rule{ID: "D006", Name: "generation-prompt-changed", Severity: report.Error,
		Short:  "The generation prompt has changed.",
		Damage: "The answer starts in another state: with reasoning open or closed, or without the model's role.",
		Fix:    "Keep it, or change the servers that rely on it at the same time."}, generationChanged},
	{report.Rule{ID: "D007", Name: "prompt-refused", Severity: report.Error,
		Short: "A conversation that was rendered is refused.", Damage: "Requests that worked end in an error.", Fix: "Render it."}, promptRefused},
	{report.Rule{ID: "D008", Name: "prompt-changed", Severity: report.Warning,
		Short:  "The prompt of a conversation has changed.",
		Damage: "Answers change; cached prefixes are lost.", Fix: "Read the difference and decide."}, promptChanged},
	{report.Rule{ID: "D009", Name: "prompt-accepted", Severity: report.Note,
		Short: "A conversation that was refused is rendered.", Damage: "None.", Fix: "Nothing to do."}, promptAccepted},
	{report.Rule{ID: "D010", Name: "parse-changed", Severity: report.Error,
		Short:  "An output is read as another message.",
		Damage: "What models already put out means something else after the change.",
		Fix:    "Keep the format compatible."}, parseChanged},
	{report.Rule{ID: "D011", Name: "grammar-changed", Severity: report.Warning,
		Short:  "The grammars of the two revisions have different languages.",
		Damage: "Constrained decoding forces another spelling.", Fix: "Read the sample and decide."}, grammarChanged},
	{report.Rule{ID: "D012", Name: "error-introduced", Severity: report.Error,
		Short: "The automatic checks find an error that was not there.", Damage: "See the rule that it names.", Fix: "See the rule that it names."}, introduced(report.Error)},
	{report.Rule{ID: "D013", Name: "warning-introduced", Severity: report.Warning,
		Short: "The automatic checks warn of something that was not there.", Damage: "See the rule that it names.", Fix: "See the rule that it names."}, introduced(report.Warning)},
	{report.Rule{ID: "D014", Name: "finding-mended", Severity: report.Note,
		Short: "The automatic checks no longer find something.", Damage: "None.", Fix: "Nothing to do."}, mended},
	{report.Rule{ID: "D015", Name: "part-no-longer-written", Severity: report.Error,
		Short:  "A part of an answer is no longer written into the prompt: reasoning, content or a call.",
		Damage: "The model does not see what it said before, and goes on as if it had not.",
		Fix:    "Write the part, or say so to users."}, partLost},
}

// Rules returns the declarations of all aspects.
func Rules() []report.Rule {
	rules := make([]report.Rule, len(comparisons))
	for i := range comparisons {
		rules[i] = comparisons[i].Rule
	}
	return rules
}

// Manual is docs/change-rules.md: every aspect, in the order of their ids.
func Manual() string {
	var b strings.Builder
	b.WriteString("# What a change of a template is held to\n\nThe rules of `assay diff` and `assay check --base`; [gate.md](gate.md) says how to run them. " +
		"An error is a breaking change and fails, a warning is a risky one, a note a safe one. Ids never change their meaning.\n" +
		"This page is written by `make update` from the code; `assay explain D004` prints a part of it.\n")
	for i := range comparisons {
		b.WriteString("\n" + comparisons[i].Markdown())
	}
	return b.String()
}

// pair is two revisions while they are compared.
type pair struct {
	was, is  *engine.Template
	source   subject.Source // of the new one
	err      error          // why it does not compile
	cases    []script.Case
	findings [2][]report.Result // of the automatic checks
	formats  [2]string
	respaced bool // the formats differ in white space only
	changed  bool // they differ in more
}

// oldBroken is the name of the result where the old revision does not compile.
const oldBroken = "old-does-not-compile"

// Compare compares two revisions. Cases are recorded outputs of the family; there may be none.
func Compare(was, is subject.Source, cases []script.Case) []report.Result {
	p := &pair{cases: cases, source: is}
	old, err := was.Compile()
	if err != nil {
		return []report.Result{{Suite: is.Name, Group: "diff", Name: oldBroken, Status: report.Found, Severity: report.Note,
			Place: report.Place{File: was.File}, Text: "the old revision does not compile, so there is nothing to compare with: " + err.Error()}}
	}
	p.was = old
	p.is, p.err = is.Compile()
	if p.err == nil {
		accepted := check.Suppressed(was.Text) // the new revision cannot silence what it introduces
		o := check.Options{Accepted: &accepted}
		p.findings = [2][]report.Result{check.Template(was, o), check.Template(is, o)}
		p.compareFormats()
	}
	var results []report.Result
	for i := range comparisons {
		if c := &comparisons[i]; p.err == nil || i == 0 {
			results = append(results, c.results(p)...)
		}
	}
	return results
}

func (c *comparison) results(p *pair) []report.Result {
	var results []report.Result
	c.run(p, func(at report.Place, format string, args ...any) {
		status := report.Found
		if c.Severity == report.Error {
			status = report.Failed
		}
		results = append(results, report.Result{Suite: p.source.Name, Group: "diff", Name: c.Name, Rule: c.ID, Status: status, Severity: c.Severity,
			Place: at, Text: Class(c.Severity) + ": " + fmt.Sprintf(format, args...)})
	})
	if results == nil {
		results = append(results, report.Result{Suite: p.source.Name, Group: "diff", Name: c.Name, Rule: c.ID, Place: p.file()})
	}
	return results
}

// Class is the word for a severity of a change.
func Class(s report.Severity) string {
	return [...]string{"safe", "risky", "breaking"}[s]
}

// excerpt shows two texts where they part.
func excerpt(was, is string) string {
	at := report.Parting(was, is)
	return "was: " + report.Quote(was, at) + "\nis:  " + report.Quote(is, at)
}

// The classes of differences beside those of changes.
const (
	Identical  = "identical"
	WhiteSpace = "white space"
	Unseen     = "not observable"
	Broken     = "neither can be used" // there is nothing to compare
)

// Difference is how two templates of one model differ.
type Difference struct {
	Class   string          // one of those above, or "safe", "risky", "breaking"
	Changes []report.Result // what can be observed, the worst first
}

// Between classes how two templates differ, by the class of the worst change from one to the other. Equal texts with other special
// tokens may differ as well. A template that does not compile differs from one that does in a way that breaks.
func Between(was, is subject.Source) Difference {
	if was.Text == is.Text && was.BOS == is.BOS && was.EOS == is.EOS {
		return Difference{Class: Identical}
	}
	if _, err := was.Compile(); err != nil {
		if _, err := is.Compile(); err != nil {
			return Difference{Class: Broken}
		}
		was, is = is, was
	}
	d := Difference{Class: Unseen}
	if strings.Join(strings.Fields(was.Text), "") == strings.Join(strings.Fields(is.Text), "") {
		d.Class = WhiteSpace
	}
	for _, res := range Compare(was, is, nil) {
		if res.Status != report.Passed {
			d.Changes = append(d.Changes, res)
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b report.Result) int { return cmp.Compare(b.Severity, a.Severity) })
	if len(d.Changes) > 0 {
		d.Class = Class(d.Changes[0].Severity)
	}
	return d
}

// Lines lists the changes, a line for each rule: class, rule and the first that it found, without the evidence.
func (d Difference) Lines() []string {
	var lines []string
	for i, res := range d.Changes {
		same := func(r report.Result) bool { return r.Rule == res.Rule }
		if slices.ContainsFunc(d.Changes[:i], same) {
			continue
		}
		class := Class(res.Severity)
		text, _, _ := strings.Cut(strings.TrimPrefix(res.Text, class+": "), "\n")
		line := fmt.Sprintf("%s %s %s: %s", class, res.Rule, res.Name, text)
		more := 0
		for _, r := range d.Changes[i+1:] {
			if same(r) {
				more++
			}
		}
		if more > 0 {
			line += fmt.Sprintf(" (and %d more)", more)
		}
		lines = append(lines, line)
	}
	return lines
}

// Conclusion is what the results of [Compare] come to, in a line: the class of the worst change and the names of all, the worst first, or that
// nothing changed.
func Conclusion(was, is subject.Source, results []report.Result) string {
	from := was.Name + " and " + is.Name
	if was.Text == is.Text && was.BOS == is.BOS && was.EOS == is.EOS {
		return Identical + ": " + from + " are the same template"
	}
	var changes []report.Result
	for _, res := range results {
		switch {
		case res.Name == oldBroken:
			return "not compared: " + was.Name + " does not compile"
		case res.Status != report.Passed:
			changes = append(changes, res)
		}
	}
	if changes == nil {
		return Unseen + ": " + from + " do the same"
	}
	slices.SortStableFunc(changes, func(a, b report.Result) int { return cmp.Compare(b.Severity, a.Severity) })
	var names []string
	for _, res := range changes {
		if !slices.Contains(names, res.Name) {
			names = append(names, res.Name)
		}
	}
	return Class(changes[0].Severity) + ": " + strings.Join(names, ", ")
}
