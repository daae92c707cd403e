// Package report holds the results of checks, and writes them for people and for machines.
//
// # Model
//
// A [Report] is a list of [Result]s. A result says what was checked (suite and name) and how it went; a result that a rule
// produced names the rule, and the report declares all rules of the run. Results are in an order that does not depend on how
// the work was scheduled, and carry no times, so that two runs give the same bytes.
//
// # Forms
//
// [Report.Text] is for terminals, [Report.JSON] for other programs and for [Merge], [Report.JUnit] and [Report.SARIF] for CI
// systems, [Report.Annotations] and [Report.Summary] for GitHub, [Report.HTML] is a page that stands alone.
package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goassay/assay/harness/visible"
)

// Severity says how bad a finding is.
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

// Status says how a check went.
type Status uint8

// The statuses. Found is a check that worked and has something to say: a finding below an error.
const (
	Passed Status = iota
	Found
	Known // failed, as a list of known failures says it must
	Failed
)

var statusNames = [...]string{"passed", "found", "known", "failed"}

func (s Status) String() string { return statusNames[s] }

// MarshalText implements [encoding.TextMarshaler].
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Status) UnmarshalText(text []byte) error {
	i, err := index("status", statusNames[:], string(text))
	*s = Status(i)
	return err
}

func index(what string, names []string, text string) (int, error) {
	if i := slices.Index(names, text); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%q is no %s; expected one of %q", text, what, names)
}

// Place is where in a file something is. The zero value is nowhere; Line 0 is the file as a whole.
type Place struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"` // 1-based
	Col  int    `json:"col,omitempty"`  // 1-based, in runes
	Part string `json:"part,omitempty"` // where in a template that the file has as a string: chat_template:3:5
}

func (p Place) String() string {
	switch {
	case p.Part != "":
		return p.File + "#" + p.Part
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Result is one check and how it went.
type Result struct {
	Suite    string   `json:"suite"` // a template, a family or a file of vectors
	Group    string   `json:"group"` // what kind of check: a column of the matrix
	Name     string   `json:"name"`  // a check, a script or a vector's id
	Status   Status   `json:"status"`
	Rule     string   `json:"rule,omitempty"` // the id of the rule that was broken
	Severity Severity `json:"severity"`
	Place    Place    `json:"place"`
	Text     string   `json:"text,omitempty"`    // what is wrong in a line; further lines are evidence
	Details  []Detail `json:"details,omitempty"` // of its cases, where a page is wanted
}

// Rule is a rule as reports declare it. Package check has them all.
type Rule struct {
	ID       string   `json:"id"`       // "A012"; never used for anything else
	Name     string   `json:"name"`     // "null-content-printed"
	Severity Severity `json:"severity"` // of its findings
	Short    string   `json:"short"`    // what it means to break the rule, one sentence
	Damage   string   `json:"damage"`   // an example of the damage that it does
	Fix      string   `json:"fix"`      // what to do about it
}

// visible returns the rule with texts that may be shown.
func (rule Rule) visible() Rule {
	for _, text := range []*string{&rule.ID, &rule.Name, &rule.Short, &rule.Damage, &rule.Fix} {
		*text = visible.Line(*text)
	}
	return rule
}

// Markdown describes the rule, as a section of a page, with what public trackers have of it.
func (rule Rule) Markdown() string {
	text := fmt.Sprintf("## %s\n\n**%s** (%s). %s\n\n*Damage:* %s\n\n*Fix:* %s\n", rule.ID, rule.Name, rule.Severity, rule.Short, rule.Damage, rule.Fix)
	for _, p := range pains {
		if slices.Contains(p.Rules, rule.ID) {
			text += fmt.Sprintf("\n*Seen* (%s): %s: %s.\n", p.ID, p.What, p.Seen)
		}
	}
	return text
}

// Pains returns the ids of the kinds of faults that the rule is there for.
func (rule Rule) Pains() []string {
	var ids []string
	for _, p := range pains {
		if slices.Contains(p.Rules, rule.ID) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Report is what a run found.
type Report struct {
	Command string   `json:"command"` // "check", "run", "verify", "diff"
	Version string   `json:"version"`
	Rules   []Rule   `json:"rules,omitempty"`
	Results []Result `json:"results"`
	// Passed, Noted and Warned count results that passed, or are notes or warnings, and are not among Results, since no form that was
	// asked for lists them: a run of a million vectors needs no memory for those.
	Passed int `json:"passed,omitempty"`
	Noted  int `json:"noted,omitempty"`
	Warned int `json:"warned,omitempty"`
	// Conclusions say in a line each what the results come to: the gate's verdict on a template, what an edit does.
	Conclusions []string `json:"conclusions,omitempty"`
}

// Counts returns the number of results of each status.
func (r *Report) Counts() (counts [Failed + 1]int) {
	counts[Passed], counts[Found] = r.Passed, r.Noted+r.Warned
	for i := range r.Results {
		counts[r.Results[i].Status]++
	}
	return counts
}

// warnings is how many of the results with the status Found are warnings; the others are notes.
func (r *Report) warnings() int {
	n := r.Warned
	for i := range r.Results {
		if r.Results[i].Status == Found && r.Results[i].Severity == Warning {
			n++
		}
	}
	return n
}

// OK says that nothing failed.
func (r *Report) OK() bool { return r.Counts()[Failed] == 0 }

// Rebase returns the report with every file under another name, such as relative to another folder.
func (r *Report) Rebase(name func(file string) string) *Report {
	out := *r
	out.Results = slices.Clone(r.Results)
	for i := range out.Results {
		if place := &out.Results[i].Place; place.File != "" {
			place.File = name(place.File)
		}
	}
	return &out
}

// Merge puts the shards of one run together: results in the order of suite and name, rules once.
func Merge(shards []*Report) (*Report, error) {
	if len(shards) == 0 {
		return nil, fmt.Errorf("nothing to merge")
	}
	merged := &Report{Command: shards[0].Command, Version: shards[0].Version}
	for _, s := range shards {
		if s.Command != merged.Command || s.Version != merged.Version {
			return nil, fmt.Errorf("the reports are of different runs: %q by version %q and %q by version %q",
				merged.Command, merged.Version, s.Command, s.Version)
		}
		merged.Results = append(merged.Results, s.Results...)
		merged.Passed += s.Passed
		merged.Noted += s.Noted
		merged.Warned += s.Warned
		merged.Conclusions = append(merged.Conclusions, s.Conclusions...)
		for _, rule := range s.Rules {
			if !slices.Contains(merged.Rules, rule) {
				merged.Rules = append(merged.Rules, rule)
			}
		}
	}
	slices.SortStableFunc(merged.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(merged.Conclusions)
	slices.SortFunc(merged.Rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return merged, nil
}
