// Package rule holds the parts of every judgement: rules, their findings, and the results of these.
//
// # Model
//
// A [Rule] declares one kind of fault: an id that never changes its meaning, a severity, an example
// of the damage, a remedy. A [Check] joins it with the function that looks for the fault; a table
// of checks runs on one subject, each guarded, and every finding becomes a [Result] by
// [Rule.Results]. A program that comes upon the faults of several rules on its way gathers
// [Findings] for each, and makes results of them by the same method.
//
// Results of other kinds, cases and goldens, name no rule. Package report writes all of them.
//
// A [Book] explains the rules of a command: it is a page of docs, and `assay explain`.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package rule

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/report/visible"
)

// Severity is the weight of a finding.
type Severity uint8

// The severities. Only an error fails a run.
const (
	Note Severity = iota
	Warning
	Error
)

var severityNames = [...]string{"note", "warning", "error"}

func (s Severity) String() string { return severityNames[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Severity) UnmarshalText(text []byte) error {
	i, err := index("severity", severityNames[:], string(text))
	*s = Severity(i)
	return err
}

// Status is how a check went that found something of this severity.
func (s Severity) Status() Status {
	if s == Error {
		return Failed
	}
	return Found
}

// Rule is one kind of fault.
type Rule struct {
	ID       string   `json:"id"`             // "A012"; never used for anything else
	Name     string   `json:"name"`           // "null-content-printed"
	Severity Severity `json:"severity"`       // of its findings
	Harm     Harm     `json:"harm,omitempty"` // what the fault does to a request
	Short    string   `json:"short"`          // the meaning of a breach, one sentence
	Damage   string   `json:"damage"`         // an example of the damage that it does
	Fix      string   `json:"fix"`            // the remedy

	Example *Example `json:"-"` // nil: none yet
}

// Results makes results of the rule's findings: one for each finding, one with the reason why the
// rule was not judged, and one that passed where there is neither. The base has their common
// members; its place is that of a result that passed.
func (r Rule) Results(base Result, found *Findings) []Result {
	base.Rule = r.ID
	if base.Name == "" {
		base.Name = r.Name
	}
	if len(found.list)+len(found.unjudged) == 0 {
		return []Result{base}
	}
	base.Severity, base.harm = r.Severity, r.Harm
	var results []Result
	add := func(status Status, f Finding) {
		res := base
		res.Status, res.Place, res.Text = status, f.Place, f.told()
		if f.help != "" {
			const lead = "      = " // of a line in a terminal
			res.Text += "\n" + visible.Fold(advice[1:]+f.help, columns-len(lead), "  ")
		}
		if f.request != "" {
			res.Request = json.RawMessage(f.request)
		}
		results = append(results, res)
	}
	for _, f := range found.list {
		severity := r.Severity
		if f.weight != nil {
			severity = f.weight.Severity
		}
		add(severity.Status(), f)
		results[len(results)-1].Severity = severity
	}
	if found.more > 0 {
		results[len(results)-1].Add(fmt.Sprintf("and %d more", found.more))
	}
	if len(found.unjudged) > 0 {
		reason := found.unjudged[0]
		for _, other := range found.unjudged[1:] {
			reason.Text += "\nand: " + other.Text
		}
		add(Unjudged, reason)
	}
	return results
}

// Markdown describes the rule, as a section of a page, with its cases in public trackers.
func (r Rule) Markdown() string {
	kind := r.Severity.String()
	if r.Harm != 0 {
		kind += ", " + r.Harm.String()
	}
	text := fmt.Sprintf("## %s\n\n**%s** (%s). %s\n\n*Damage:* %s\n\n*Fix:* %s\n", r.ID, r.Name,
		kind, r.Short, r.Damage, r.Fix)
	for _, p := range pains() {
		if slices.Contains(p.Rules, r.ID) {
			text += fmt.Sprintf("\n*Seen* (%s): %s: %s.\n", p.ID, p.What, p.Seen)
		}
	}
	text = fold(text)
	if r.Example != nil {
		text += r.Example.Markdown()
	}
	return text
}

// Finding is one fault: where, and a sentence, with evidence on further lines.
type Finding struct {
	Place Place
	Text  string

	when    string   // begins the text: the condition under which the fault shows
	help    string   // the remedy of its rule
	request string   // that shows it, as JSON; "" where none is known
	weight  *Weighed // its own severity; nil: the rule's
}

// quoted matches what a text quotes.
var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// told is the text with its condition: at its beginning, or where that line would be too wide as
// the line below.
func (f Finding) told() string {
	first, more, _ := strings.Cut(f.Text+"\n", "\n")
	if f.when == "" || source.Cells(quoted.ReplaceAllString(f.when+first, "")) <= columns {
		return f.when + f.Text
	}
	return strings.TrimSuffix(first+"\nonly "+strings.TrimSuffix(f.when, ", ")+"\n"+more, "\n")
}

// Findings gathers the findings of a rule: each cause once, the first ones, and how many follow;
// and why it could not be judged, once for each reason.
type Findings struct {
	list     []Finding
	more     int
	unjudged []Finding
}

// NotJudged is an error with which a rule tells its [Finder] that a probe failed for a reason of
// its own: its answer is not known (E32).
type NotJudged struct{ Why error }

func (e NotJudged) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e NotJudged) Unwrap() error { return e.Why }

// Weighed is an error with which a rule tells its [Finder] that a finding has a severity of its
// own: it is true and no server shows its damage, it is what the publisher of a model meant, or it
// is worse than others of the rule.
type Weighed struct {
	Severity Severity
	What     error
}

func (e *Weighed) Error() string { return e.What.Error() }

// Unwrap returns the finding.
func (e *Weighed) Unwrap() error { return e.What }

// MaxFindings bounds the findings of a rule that are kept of one look at a subject.
const MaxFindings = 20

// again begins the line of a finding that has the cause of the one above it; advice begins the last
// lines, which say what to do.
const (
	again  = "the same: "
	advice = "\nhelp: "
)

// Add adds a finding. One at the place of an earlier one, or with its first line, has the same
// cause: it becomes a line of that.
func (f *Findings) Add(at Place, text string) { f.add(Finding{Place: at, Text: text}) }

func (f *Findings) add(found Finding) {
	first := firstLine(found.Text)
	i := slices.IndexFunc(f.list, func(old Finding) bool {
		return old.severity() == found.severity() && (old.Place.Line+len(old.Place.Part) > 0 &&
			old.Place == found.Place || firstLine(old.Text) == first)
	})
	switch {
	case i >= 0:
		old := &f.list[i]
		if line := "\n" + again + first; firstLine(old.Text) != first &&
			strings.Count(old.Text, "\n"+again) < MaxFindings &&
			!strings.Contains(old.Text+"\n", line+"\n") {
			old.Text += line
		}
	case len(f.list) < MaxFindings:
		f.list = append(f.list, found)
	default:
		f.more++
	}
}

// Causes is how many findings a result stands for: itself, and those that became lines of it.
func (r *Result) Causes() int { return 1 + strings.Count(r.Text, "\n"+again) }

// severity is that of a finding which has its own; any other value than a severity where it has
// that of its rule.
func (f Finding) severity() Severity {
	if f.weight == nil {
		return Error + 1
	}
	return f.weight.Severity
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Unjudged adds a reason why the rule could not be judged.
func (f *Findings) Unjudged(at Place, why string) {
	reason := Finding{Place: at, Text: why}
	if len(f.unjudged) < MaxFindings && !slices.Contains(f.unjudged, reason) {
		f.unjudged = append(f.unjudged, reason)
	}
}

// String lists the texts of the findings, then why the rule could not be judged.
func (f *Findings) String() string {
	texts := lists.Map(f.list, func(found Finding) string { return found.Text })
	for _, reason := range f.unjudged {
		texts = append(texts, "not judged: "+reason.Text)
	}
	return strings.Join(texts, "\n")
}

// Book is the rules of a command, and how a page introduces them.
type Book struct {
	Title string
	Intro string // the purpose of the rules, and the meaning of their severities
	Rules []Rule // in the order of their ids
	Tail  string // comes after the rules
}

// Manual is the book as a page.
func (b *Book) Manual() string {
	var page strings.Builder
	page.WriteString(fold(fmt.Sprintf("# %s\n\n%s Ids never change their meaning.\nThis page is "+
		"written by `make update` "+
		"from the code; `assay explain %s` prints "+
		"a part of it.\n", b.Title, b.Intro, b.Rules[0].ID)))
	for _, r := range b.Rules {
		page.WriteString("\n" + r.Markdown())
	}
	page.WriteString(fold(b.Tail))
	return page.String()
}

// Lookup returns the rule of an id, in any case, or of a name.
func (b *Book) Lookup(name string) (Rule, bool) {
	i := slices.IndexFunc(b.Rules, func(r Rule) bool {
		return strings.EqualFold(r.ID, name) || r.Name == name
	})
	if i < 0 {
		return Rule{}, false
	}
	return b.Rules[i], true
}
