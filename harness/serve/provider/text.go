package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/visible"
	"github.com/goassay/assay/harness/serve/provider/stat"
)

// Result is a run, measured.
type Result struct {
	Table *Table
	Ref   *Table // nil: there is no reference
	Lines []Line
	Price Budget // for the cost of the run
	Seed  uint64 // of the tests
}

// answered counts the requests that have an answer, and those that had none.
func (t *Table) answered() (answered, failed int) {
	for i := range t.Outcomes {
		switch t.Outcomes[i].State {
		case Answered:
			answered++
		case Failed:
			failed++
		}
	}
	return answered, failed
}

// Missing is how many answers a run still lacks.
func (t *Table) Missing() int {
	answered, failed := t.answered()
	return len(t.Outcomes) - answered - failed
}

// number formats a value of a measure.
func (l *Line) number(v float64) string {
	if l.Count {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f%%", 100*v)
}

func (l *Line) interval(i *stat.Interval) string {
	return fmt.Sprintf("%s (%s to %s)", l.number(i.Value), l.number(i.Low), l.number(i.High))
}

// difference formats a difference, in points where the measure is a share.
func (l *Line) difference() string {
	if l.Count {
		return fmt.Sprintf("%+.1f (%+.1f to %+.1f)", l.Diff.Value, l.Diff.Low, l.Diff.High)
	}
	return fmt.Sprintf("%+.2f points (%+.2f to %+.2f)", 100*l.Diff.Value, 100*l.Diff.Low,
		100*l.Diff.High)
}

// verdict is the verdict with its reason.
func (l *Line) verdict() string {
	if l.Why != "" {
		return l.Verdict + ": " + l.Why
	}
	if l.Test == nil {
		return l.Verdict
	}
	return fmt.Sprintf("%s (p = %.2g, bound %.2g)", l.Verdict, l.Test.P, l.Bound)
}

// Text writes the run for people.
func (r *Result) Text(w io.Writer) error {
	t := r.Table
	answered, failed := t.answered()
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s at %s: %d requests", visible.Line(t.Model), visible.Line(t.Root), t.Requests)
	if t.Repeats > 1 {
		fmt.Fprintf(b, ", %d times each", t.Repeats)
	}
	if t.Send != Batch {
		fmt.Fprintf(b, ", sent as %s", t.Send)
	}
	fmt.Fprintf(b, "\n%d answers, %d without one, %d not asked; %d tries, %d sent again after a "+
		"run had ended\n%d tokens of prompts, %d of answers", answered, failed, t.Missing(),
		t.Spent.Requests, t.Again, t.Spent.Prompt, t.Spent.Completion)
	if c := r.Price.cost(t.Spent.Prompt, t.Spent.Completion); c > 0 {
		fmt.Fprintf(b, "; they cost %.4f", c)
	}
	fmt.Fprintf(b, "\ntests draw from seed %d\n\n", r.Seed)
	width := 0
	for i := range r.Lines {
		if r.Lines[i].Own != nil {
			width = max(width, len(r.Lines[i].Title))
		}
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Own == nil {
			continue
		}
		fmt.Fprintf(b, "%s  %-*s  %s\n", l.ID, width, l.Title, l.interval(l.Own))
		indent := strings.Repeat(" ", width+8)
		if l.Ref != nil {
			name := "reference"
			if l.ID == streamGap.ID {
				name = "in one piece"
			}
			fmt.Fprintf(b, "%s%s %s\n", indent, name, l.interval(l.Ref))
		}
		if l.Diff != nil {
			fmt.Fprintf(b, "%sdifference %s\n", indent, l.difference())
		}
		part := strings.HasPrefix(l.Why, "it is a part")
		if l.Verdict != VerdictNone || r.Ref != nil && !part {
			fmt.Fprintf(b, "%s%s\n", indent, l.verdict())
		}
	}
	r.misses(b)
	_, err := io.WriteString(w, b.String())
	return err
}

// misses lists the misses of all answers, by cause.
func (r *Result) misses(b *strings.Builder) {
	counts := r.Table.Misses.sorted()
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMisses, and where they come from:\n")
	for _, c := range counts {
		fmt.Fprintf(b, "%7d  %-20s  %s\n", c.Count, visible.Line(c.Kind), visible.Line(c.Cause))
		for _, e := range r.Table.Misses.Examples {
			if e.Kind == c.Kind && e.Cause == c.Cause {
				fmt.Fprintf(b, "         %s: %s\n           %s\n", visible.Line(e.Request),
					visible.Line(e.Why), visible.Line(e.How))
				break
			}
		}
	}
}

// MissCount is how often answers lack something for a cause.
type MissCount struct {
	Kind  string `json:"kind"`
	Cause string `json:"cause"`
	Count int    `json:"count"`
}

func (m *Misses) sorted() []MissCount {
	var list []MissCount
	for at, n := range m.Counts {
		list = append(list, MissCount{at[0], at[1], n})
	}
	slices.SortFunc(list, func(a, b MissCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Cause, b.Cause))
	})
	return list
}

// The lines of [Result.JSONLines].
type (
	lineJSON struct {
		Measure    string         `json:"measure"`
		Name       string         `json:"name"`
		Of         float64        `json:"of"`
		Requests   int            `json:"requests"`
		Own        *stat.Interval `json:"own,omitempty"`
		Reference  *stat.Interval `json:"reference,omitempty"`
		Difference *stat.Interval `json:"difference,omitempty"`
		P          *float64       `json:"p,omitempty"`
		Bound      *float64       `json:"bound,omitempty"`
		Verdict    string         `json:"verdict"`
		Why        string         `json:"why,omitempty"`
	}
	runJSON struct {
		Run        *Header     `json:"run"`
		Answered   int         `json:"answered"`
		Failed     int         `json:"failed"`
		Missing    int         `json:"missing"`
		Again      int         `json:"sent_again"`
		Spent      Spent       `json:"spent"`
		Confidence float64     `json:"confidence"`
		Level      float64     `json:"level"`
		Seed       uint64      `json:"seed"`
		Misses     []MissCount `json:"misses"`
		Examples   []Example   `json:"examples"`
	}
)

// JSONLines writes the run as JSON: a line about it, and one for each measure.
func (r *Result) JSONLines(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	answered, failed := r.Table.answered()
	err := out.Encode(runJSON{Run: &r.Table.Header, Answered: answered, Failed: failed,
		Missing: r.Table.Missing(), Again: r.Table.Again, Spent: r.Table.Spent,
		Confidence: Confidence, Level: Level, Seed: r.Seed,
		Misses:   r.Table.Misses.sorted(),
		Examples: r.Table.Misses.Examples})
	for i := range r.Lines {
		l := &r.Lines[i]
		if err != nil {
			return err
		}
		line := lineJSON{Measure: l.ID, Name: l.Name, Of: l.Of, Requests: l.Requests,
			Own: l.Own, Reference: l.Ref, Difference: l.Diff,
			Verdict: l.Verdict, Why: l.Why}
		if l.Test != nil {
			line.P, line.Bound = &l.Test.P, &l.Bound
		}
		err = out.Encode(line)
	}
	return err
}

// Report is the run as a report: a result for each rule.
func (r *Result) Report(version string) *report.Report {
	rep := &report.Report{Command: "provider", Version: version, Rules: Rules()}
	answered, failed := r.Table.answered()
	place := rule.Place{File: r.Table.Root}
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Verdict == VerdictNone {
			continue // not judged: neither well nor badly
		}
		found := new(rule.Findings)
		if l.Broken() {
			text := fmt.Sprintf("%s: %s, %s than the reference", l.Title, l.number(l.Own.Value),
				l.Verdict)
			switch {
			case l.ID == streamGap.ID:
				text = fmt.Sprintf("streams are right as often as %s, and answers in one piece "+
					"as %s", l.number(l.Own.Value), l.number(l.Ref.Value))
			case l.Verdict == VerdictWrong:
				text = fmt.Sprintf("%s: %s, and all have to be", l.Title, l.number(l.Own.Value))
			case l.Verdict == VerdictDifferent:
				text = fmt.Sprintf("%s: %s, and the reference has %s", l.Title,
					l.number(l.Own.Value), l.number(l.Ref.Value))
			}
			found.Add(place, text+"\n"+l.evidence())
		}
		rep.Results = append(rep.Results, l.Rule.Results(rule.Result{Suite: r.Table.Model,
			Group: "measures", Place: place}, found)...)
	}
	rep.Conclusions = append(rep.Conclusions, fmt.Sprintf("%d answers, %d without one, %d not "+
		"asked", answered, failed, r.Table.Missing()))
	if r.Ref == nil {
		rep.Conclusions = append(rep.Conclusions, "without --reference nothing but streams is "+
			"judged")
	}
	return rep
}

// evidence is the numbers of a line, for further lines of a finding.
func (l *Line) evidence() string {
	if l.Test == nil {
		return "here " + l.interval(l.Own)
	}
	return fmt.Sprintf("here %s\nthere %s\ndifference %s\n%s", l.interval(l.Own),
		l.interval(l.Ref), l.difference(), l.verdict())
}
