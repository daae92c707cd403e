package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// Forms are the names of the forms that a report is printed in.
var Forms = []string{"long", "short", "brief", "json", "sarif", "junit", "github"}

// visibleRule returns the rule with its texts made safe to show.
func visibleRule(r rule.Rule) rule.Rule {
	for _, text := range []*string{&r.ID, &r.Name, &r.Short, &r.Damage, &r.Fix} {
		*text = visible.Line(*text)
	}
	return r
}

// Report holds the results of a run.
type Report struct {
	Command string        `json:"command"` // "check", "run", "verify", "diff"
	Version string        `json:"version"`
	Rules   []rule.Rule   `json:"rules,omitempty"`
	Results []rule.Result `json:"results"`
	// Passed, Noted, Warned and Old count the results that passed, are notes or warnings, or are
	// findings that an earlier version has too, and that are left out of Results since no requested
	// form lists them. So a run of a million vectors needs no memory for those.
	Passed int `json:"passed,omitempty"`
	Noted  int `json:"noted,omitempty"`
	Warned int `json:"warned,omitempty"`
	Old    int `json:"old,omitempty"`
	// Templates is the number of templates that were judged, in which findings are counted. If it
	// is 0, checks are counted, which pass or fail.
	Templates int `json:"templates,omitempty"`
	// Conclusions sum the results up, in a line each: the gate's verdict on a template, the effect
	// of an edit.
	Conclusions []string `json:"conclusions,omitempty"`
	// Verdict is the last line for people, if it is not the number of passed and failed results.
	Verdict string `json:"verdict,omitempty"`
}

// Counts returns the number of results of each status.
func (r *Report) Counts() (counts [rule.Statuses]int) {
	counts[rule.Passed], counts[rule.Found] = r.Passed, r.Noted+r.Warned+r.Old
	for i := range r.Results {
		counts[r.Results[i].Status]++
	}
	return counts
}

// unjudged counts the results that were not judged: those that fail the run, and the others that
// are new.
func (r *Report) unjudged() (bad, others int) {
	for i := range r.Results {
		switch res := &r.Results[i]; {
		case res.Status != rule.Unjudged:
		case res.Bad():
			bad++
		case !res.Old:
			others++
		}
	}
	return bad, others
}

// findings counts the findings below an error: warnings and notes that are new, and all results
// that are old.
func (r *Report) findings() (warnings, notes, old int) {
	warnings, notes, old = r.Warned, r.Noted, r.Old
	for i := range r.Results {
		switch res := &r.Results[i]; {
		case res.Old:
			old++
		case res.Status != rule.Found:
		case res.Severity == rule.Warning:
			warnings++
		default:
			notes++
		}
	}
	return warnings, notes, old
}

// OK reports whether nothing failed, and no check that looks for errors was left unjudged.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Results, func(res rule.Result) bool { return res.Bad() })
}

// Has reports whether anything of a severity or worse is new.
func (r *Report) Has(least rule.Severity) bool {
	return least <= rule.Warning && r.Warned > 0 || least == rule.Note && r.Noted > 0 ||
		slices.ContainsFunc(r.Results,
			func(res rule.Result) bool { return res.News() && res.Level() >= least })
}

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

// ByWeight sorts findings: errors, warnings, notes, each in the order of suites and lines.
func ByWeight(findings []rule.Result) {
	slices.SortStableFunc(findings, func(a, b rule.Result) int {
		return cmp.Or(cmp.Compare(b.Level(), a.Level()), cmp.Compare(a.Suite, b.Suite),
			cmp.Compare(a.Place.Line, b.Place.Line))
	})
}

// Fired returns the rules with a result that has not passed, in the order of Rules.
func (r *Report) Fired() []rule.Rule {
	return slices.DeleteFunc(slices.Clone(r.Rules), func(declared rule.Rule) bool {
		return !slices.ContainsFunc(r.Results,
			func(res rule.Result) bool {
				return res.Rule == declared.ID && res.Status != rule.Passed
			})
	})
}

// Merge puts the shards of one run together: results in the order of suite and name, rules once.
func Merge(shards []*Report) (*Report, error) {
	if len(shards) == 0 {
		return nil, fmt.Errorf("nothing to merge")
	}
	merged := &Report{Command: shards[0].Command, Version: shards[0].Version}
	for _, s := range shards {
		if s.Command != merged.Command || s.Version != merged.Version {
			return nil, fmt.Errorf("the reports are of different runs: %q by version %q and "+
				"%q by version %q",
				merged.Command, merged.Version, s.Command, s.Version)
		}
		merged.Results = append(merged.Results, s.Results...)
		merged.Passed += s.Passed
		merged.Noted += s.Noted
		merged.Warned += s.Warned
		merged.Old += s.Old
		merged.Templates += s.Templates
		merged.Conclusions = append(merged.Conclusions, s.Conclusions...)
		for _, declared := range s.Rules {
			if !slices.Contains(merged.Rules, declared) {
				merged.Rules = append(merged.Rules, declared)
			}
		}
	}
	slices.SortStableFunc(merged.Results, func(a, b rule.Result) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(merged.Conclusions)
	slices.SortFunc(merged.Rules, func(a, b rule.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return merged, nil
}
