package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Statistic is how often a rule found something that is news.
type Statistic struct {
	Rule     string `json:"rule"`
	Name     string `json:"name"`
	Severity string `json:"severity"` // the worst of its findings
	Findings int    `json:"findings"`
	Fixable  int    `json:"fixable"` // of these
}

// Statistics counts the findings of each rule, the most frequent first.
func (r *Report) Statistics() []Statistic {
	all := []Statistic{}
	for _, declared := range r.Fired() {
		s := Statistic{Rule: declared.ID, Name: declared.Name}
		worst := declared.Severity
		for i := range r.Results {
			res := &r.Results[i]
			if res.Rule != declared.ID || !res.News() || res.Old {
				continue
			}
			if s.Findings++; s.Findings == 1 || res.Level() > worst {
				worst = res.Level()
			}
			if res.Fixable {
				s.Fixable++
			}
		}
		if s.Severity = worst.String(); s.Findings > 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Statistic) int {
		return cmp.Compare(b.Findings, a.Findings)
	})
	return all
}

// WriteStatistics writes how often each rule found something, as a table or as JSON, and for people
// [Report.Line].
func (r *Report) WriteStatistics(w io.Writer, asJSON bool) error {
	all := r.Statistics()
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	for _, s := range all {
		line := fmt.Sprintf("%6d  %s  %-7s  %s", s.Findings, s.Rule, s.Severity, s.Name)
		if s.Fixable > 0 {
			line += fmt.Sprintf(" (%d can be fixed)", s.Fixable)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Line())
	return err
}
