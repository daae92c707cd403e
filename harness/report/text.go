package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/visible"
)

// TextOptions say how [Report.Text] writes.
type TextOptions struct {
	Verbose bool // passed results too
	Color   bool
	Notes   bool // results with the status Found too
}

var statusWords = [...]string{"ok   ", "note ", "known", "FAIL "}
var statusColors = [...]string{"\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[31m"}

// Text writes the results that did not pass, one a paragraph, then "N passed, M failed", and the conclusions where there are any.
// Results that failed as known are counted apart. What others wrote is escaped (package visible).
func (r *Report) Text(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	for i := range r.Results {
		res := &r.Results[i]
		if res.Status == rule.Passed && !o.Verbose || res.Status == rule.Known && !o.Verbose || res.Status == rule.Found && !o.Notes {
			continue
		}
		word := statusWords[res.Status]
		if res.Status == rule.Found {
			word = res.Severity.String()
		}
		if o.Color {
			word = statusColors[res.Status] + word + "\x1b[0m"
		}
		fmt.Fprintf(b, "%s %s", word, visible.Line(title(res)))
		if res.Text != "" {
			fmt.Fprintf(b, ": %s", strings.ReplaceAll(visible.Text(res.Text), "\n", "\n    "))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(b, r.Line())
	for _, line := range r.Conclusions {
		fmt.Fprintln(b, visible.Line(line))
	}
	return b.Flush()
}

// Brief writes a line for each suite: how it went, and the rules that it broke, each with how often; then [Report.Line]. It needs the
// results that passed, too.
func (r *Report) Brief(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	for _, suite := range r.suites() {
		word := statusWords[suite.worst]
		if o.Color {
			word = statusColors[suite.worst] + word + "\x1b[0m"
		}
		fmt.Fprintf(b, "%s %s", word, visible.Line(suite.name))
		if len(suite.broken) > 0 {
			fmt.Fprintf(b, ": %s", strings.Join(suite.broken, ", "))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(b, r.Line())
	return b.Flush()
}

// suite is a suite's results in a line.
type suite struct {
	name   string
	worst  rule.Status
	broken []string // the rules, with their names and how often where that is more than once
}

// suites sums results up by their suites, in the order of the first result of each.
func (r *Report) suites() []*suite {
	var all []*suite
	byName := map[string]*suite{}
	times := map[[2]string]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Status == rule.Failed || res.Status == rule.Known {
			times[[2]string{res.Suite, res.Rule}]++
		}
	}
	for i := range r.Results {
		res := &r.Results[i]
		s := byName[res.Suite]
		if s == nil {
			s = &suite{name: res.Suite}
			byName[res.Suite] = s
			all = append(all, s)
		}
		if res.Status != rule.Found {
			s.worst = max(s.worst, res.Status)
		}
		if n := times[[2]string{res.Suite, res.Rule}]; n > 0 {
			text := strings.TrimSpace(res.Rule + " " + res.Name)
			if n > 1 {
				text += fmt.Sprintf(" (%d)", n)
			}
			s.broken = append(s.broken, text)
			delete(times, [2]string{res.Suite, res.Rule})
		}
	}
	return all
}

// title is the suite and name, the rule and the place, as far as they say something new.
func title(res *rule.Result) string {
	title := res.Suite
	if res.Name != "" && res.Name != res.Suite {
		title += " " + res.Name
	}
	if res.Rule != "" {
		title += " [" + res.Rule + "]"
	}
	if res.Place.Line > 0 || res.Place.Part != "" {
		title += " (" + res.Place.String() + ")"
	}
	return title
}

// Line sums a report up: "N passed, M failed", with the known failures and findings in brackets where there are any.
func (r *Report) Line() string {
	n := r.Counts()
	line := fmt.Sprintf("%d passed, %d failed", n[rule.Passed]+n[rule.Found], n[rule.Failed])
	var more []string
	if n[rule.Known] > 0 {
		more = append(more, fmt.Sprintf("%d known failures", n[rule.Known]))
	}
	warned := r.warnings()
	if warned > 0 {
		more = append(more, counted(warned, "warning"))
	}
	if noted := n[rule.Found] - warned; noted > 0 {
		more = append(more, counted(noted, "note"))
	}
	if len(more) > 0 {
		line += " (" + strings.Join(more, ", ") + ")"
	}
	return line
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// JSON writes the report as indented JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Read reads what [Report.JSON] wrote.
func Read(r io.Reader) (*Report, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	report := new(Report)
	if err := d.Decode(report); err != nil {
		return nil, fmt.Errorf("not a report of assay (--json writes one): %w", err)
	}
	if report.Passed < 0 || report.Noted < 0 || report.Warned < 0 {
		return nil, fmt.Errorf("not a report of assay (--json writes one): \"passed\" is %d, \"noted\" %d and \"warned\" %d", report.Passed, report.Noted, report.Warned)
	}
	return report, nil
}
