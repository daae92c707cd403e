package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// TextOptions control how [Report.Text] writes.
type TextOptions struct {
	Verbose bool          // passed results, known failures and old findings too
	Least   rule.Severity // of the findings that are listed; the others are counted
	Quiet   bool          // nothing is counted, and there is no last line where nothing failed
	Short   bool          // a line for each finding
	Color   bool
	Width   int // of the terminal, in characters; 0: only lines without quotes are broken, at 100
}

var statusWords = [...]string{"ok   ", "note ", "known", "not judged", "FAIL "}
var statusColors = [...]string{"\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[31m"}

// columns is how wide the lines below a finding are that have no quoted text in them.
const columns = 100

// maxLine bounds a line of a finding, in bytes. The machine-readable forms have all of it.
const maxLine = 600

// Colours of a terminal.
const (
	bold      = "\x1b[1m"
	red       = "\x1b[31m"
	green     = "\x1b[32m"
	plainText = "\x1b[0m"
)

var levelColors = [...]string{rule.Note: "\x1b[36m", rule.Warning: "\x1b[33m",
	rule.Error: "\x1b[1;31m"}

// Text writes findings as compilers do: "file:line:col: warning[A020]: the fault", then the line
// with carets and the evidence. Errors come before warnings and these before notes. Findings with
// one cause, which are of one rule at one place, are told once, with their number. Then come how
// many notes were left out, the conclusions, and [Report.Line].
//
// Text escapes the texts of others (package visible).
func (r *Report) Text(w io.Writer, o TextOptions) error {
	r = r.bounded()
	b := bufio.NewWriter(w)
	p := printer{Writer: b, TextOptions: o, report: r}
	var left [rule.Error]int
	unjudged := 0 // that are left out
	left[rule.Note], left[rule.Warning] = r.Noted, r.Warned
	for _, one := range r.causes() {
		switch res := one.Result; {
		case !res.News():
			if o.Verbose {
				p.print(one)
			}
		case res.Level() < o.Least && res.Status == rule.Unjudged:
			unjudged += one.times + len(one.more)
		case res.Level() < o.Least:
			left[res.Level()] += one.times
		default:
			p.print(one)
		}
	}
	if o.Quiet {
		if !r.OK() {
			fmt.Fprintln(b, cmp.Or(visible.Line(r.Verdict), r.Line()))
		}
		return b.Flush()
	}
	var hidden []string
	if found := tally(left[rule.Warning], left[rule.Note]); found != "" {
		hidden = append(hidden, found)
	}
	if unjudged > 0 {
		hidden = append(hidden, counted(unjudged, "check")+" that could not be judged")
	}
	if len(hidden) > 0 {
		fmt.Fprintf(b, "%s not shown; --notes lists them\n", strings.Join(hidden, " and "))
	}
	for _, line := range r.Conclusions {
		fmt.Fprintln(b, visible.Line(line))
	}
	fmt.Fprintln(b, cmp.Or(visible.Line(r.Verdict), r.Line()))
	return b.Flush()
}

// cause is a result that stands for all with its cause.
type cause struct {
	*rule.Result
	times int
	more  []string // of one not judged: the other rules that the same reason kept from it
}

// rules names the rules of a cause: all of a few, else the first ones and how many.
func (c cause) rules() string {
	const few = 4
	all := append([]string{c.Rule}, c.more...)
	if len(all) <= few {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:few-1], ", "), len(all)-few+1)
}

// causes are the results, those of one cause once, the worst first; those that are equally bad keep
// their order.
func (r *Report) causes() []cause {
	type key struct {
		suite, rule, text string
		place             rule.Place
		unjudged          bool
		severity          rule.Severity // of results that were not judged
	}
	var all []cause
	index := map[key]int{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Rule == "" || !res.News() {
			all = append(all, cause{Result: res, times: 1})
			continue
		}
		k := key{suite: res.Suite, rule: res.Rule, place: res.Place,
			unjudged: res.Status == rule.Unjudged}
		if res.Place.Line == 0 && res.Place.Part == "" {
			k.text, _, _ = strings.Cut(res.Text, "\n")
		}
		if res.Status == rule.Unjudged { // one reason keeps many rules from being judged
			k.rule, k.text, k.severity = "", res.Text, res.Severity
		}
		if at, known := index[k]; known && res.Status == rule.Unjudged {
			all[at].more = append(all[at].more, res.Rule)
			continue
		} else if known {
			all[at].times++
			continue
		}
		index[k] = len(all)
		all = append(all, cause{Result: res, times: 1})
	}
	slices.SortStableFunc(all, func(a, b cause) int { return cmp.Compare(b.weight(), a.weight()) })
	return all
}

// weight describes how early a result is told: failures, warnings, notes, those that are known or
// old, the rest.
func (c cause) weight() int {
	switch {
	case c.Status == rule.Passed:
		return 0
	case !c.News():
		return 1
	case c.Status == rule.Unjudged: // after the findings that are as bad
		return 2 + 2*int(c.Level())
	}
	return 3 + 2*int(c.Level())
}

// printer prints results for people.
type printer struct {
	*bufio.Writer
	TextOptions
	report *Report
}

// paint colours a text that has no colours itself.
func (p *printer) paint(color, text string) string {
	if !p.Color || text == "" {
		return text
	}
	return color + text + plainText
}

func (p *printer) print(c cause) {
	res := c.Result
	word, color := res.Level().String(), levelColors[res.Level()]
	status := res.Status
	if res.Old {
		status = rule.Known
	}
	if status == rule.Unjudged || !res.News() {
		word, color = strings.TrimSpace(statusWords[status]), statusColors[status]
	}
	text, evidence, _ := strings.Cut(visible.Text(res.Text), "\n")
	text = source.Cut(text, maxLine)
	if name := visible.Line(p.report.name(res)); name != "" {
		text = strings.TrimSuffix(name+": "+text, ": ")
	}
	if c.times > 1 {
		text += fmt.Sprintf(" (%d times)", c.times)
	}
	if res.Rule != "" {
		word += "[" + visible.Line(c.rules()) + "]"
	}
	place := visible.Line(subject(res))
	line := fmt.Sprintf("%s: %s: %s", place, word, text)
	if p.Width > 0 {
		line = visible.Fold(line, p.Width, "    ")
	}
	if head := place + ": " + word + ":"; p.Color && strings.HasPrefix(line, head) {
		line = p.paint(bold, place+":") + " " + p.paint(color, word+":") +
			strings.TrimPrefix(line, head)
	}
	fmt.Fprintln(p, line)
	if p.Short {
		return
	}
	if line, carets, ok := strings.Cut(res.Place.Excerpt, "\n"); ok {
		number := fmt.Sprintf("%5s", lineNumber(res.Place))
		first := strings.IndexByte(carets+"^", '^')
		line, carets := visible.Mark(line, under(line, first), under(line, len(carets)),
			p.Width-len(number)-len(" | "))
		fmt.Fprintf(p, "%[2]s |\n%[1]s | %[3]s\n%[2]s | %[4]s\n", number,
			strings.Repeat(" ", len(number)), line, p.paint(green, carets))
	}
	p.evidence(res, evidence)
	p.request(res)
}

// evidence prints the lines below a finding.
func (p *printer) evidence(res *rule.Result, evidence string) {
	if evidence == "" {
		return
	}
	lines := strings.Split(evidence, "\n")
	for i, line := range lines {
		line = source.Cut(line, maxLine)
		lead := "      = "
		switch {
		case res.Rule == "": // a log, or the diff of a case
			lead = "    "
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "+"),
			strings.HasPrefix(line, " "):
			lead = "        "
		}
		folded := lead + line
		width := p.Width
		if width == 0 && res.Rule != "" && !strings.Contains(line, `"`) {
			width = columns // what quotes nothing is in our words
		}
		if width > 0 {
			folded = visible.Fold(folded, width, strings.Repeat(" ", len(lead)+2))
		}
		switch {
		case strings.HasPrefix(line, "-"):
			folded = p.paint(red, folded)
		case strings.HasPrefix(line, "+"):
			folded = p.paint(green, folded)
		}
		fmt.Fprintln(p, folded)
		if folded == lead+line && i+1 < len(lines) {
			if mark := marked(line, lines[i+1]); mark != "" {
				fmt.Fprintln(p, strings.Repeat(" ", len(lead))+p.paint(green, mark))
			}
		}
	}
}

// marked is the line below one that shows what the model sees, with carets where that differs from
// what it should see, which the next line shows; "" of another line.
func marked(line, next string) string {
	sees, ok := strings.CutPrefix(line, "the model sees:")
	should, two := strings.CutPrefix(next, "it should see:")
	if !ok || !two {
		return ""
	}
	sees, should = strings.TrimSpace(sees), strings.TrimSpace(should)
	from := Parting(sees, should)
	const again = 6 // bytes of both that are the same text again
	to := from
	for to+again <= len(sees) && !strings.Contains(should[from:], sees[to:to+again]) {
		to++
	}
	if to+again > len(sees) {
		to = len(sees)
	}
	return strings.Repeat(" ", source.Cells(line[:len(line)-len(sees)])+source.Cells(sees[:from])) +
		strings.Repeat("^", max(1, source.Cells(sees[from:to])))
}

// request prints the request that shows a finding, whole and as JSON, with a line for each message
// and tool.
func (p *printer) request(res *rule.Result) {
	if len(res.Request) == 0 {
		return
	}
	request, err := ordered.Parse(res.Request)
	if err != nil {
		return // it was written by a program that is newer than this one
	}
	fmt.Fprintln(p, "      = the request, which `assay render --as sent --request FILE` takes:")
	open := "{"
	for i, m := range request.Members() {
		if i > 0 {
			fmt.Fprintln(p, ",")
			open = " "
		}
		fmt.Fprintf(p, "        %s%s: ", open, visible.Line(ordered.Str(m.Key).String()))
		if len(m.Value.Items()) == 0 {
			fmt.Fprint(p, visible.Line(m.Value.String()))
			continue
		}
		for j, item := range m.Value.Items() {
			lead := ",\n           "
			if j == 0 {
				lead = "["
			}
			fmt.Fprint(p, lead, visible.Line(item.String()))
		}
		fmt.Fprint(p, "]")
	}
	fmt.Fprintln(p, "}")
}

// under is the byte of a line that stands above a cell of the line below it.
func under(line string, cells int) int {
	for i, r := range line {
		if cells <= 0 {
			return i
		}
		cells -= source.RuneCells(r)
	}
	return len(line)
}

// subject names the subject of a result, as the beginning of its line: the place, else the suite.
func subject(res *rule.Result) string {
	if res.Place.File == "" {
		return res.Suite
	}
	return res.Place.String()
}

// lineNumber is the number of a place's line, in a file's part too.
func lineNumber(p rule.Place) string {
	if p.Part == "" {
		return strconv.Itoa(p.Line)
	}
	parts := strings.Split(p.Part, ":")
	return visible.Line(parts[max(0, len(parts)-2)])
}

// name begins the text of a result's line: the suite where the place does not show it, and the
// check where no rule names it.
func (r *Report) name(res *rule.Result) string {
	var parts []string
	if res.Suite != "" && !strings.HasPrefix(subject(res), res.Suite) &&
		!strings.HasSuffix(res.Place.File, res.Suite) {
		parts = append(parts, res.Suite)
	}
	declared := slices.ContainsFunc(r.Rules,
		func(d rule.Rule) bool { return d.ID == res.Rule && d.Name == res.Name })
	if res.Name != "" && res.Name != res.Suite && (!declared || res.Status == rule.Passed) {
		parts = append(parts, res.Name)
	}
	return strings.Join(parts, ": ")
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

// Brief writes a line for each suite: how it went, and the rules that it broke, each with how
// often; then [Report.Line]. It needs the results that passed, too.
func (r *Report) Brief(w io.Writer, o TextOptions) error {
	r = r.bounded()
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
		if res.Bad() || res.Status == rule.Known {
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
		if res.Bad() || res.Status == rule.Known {
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

// Line sums a report up. Of templates it counts the findings: "3 errors, 1 warning in 4 templates;
// 2 can be fixed with `assay fix`". Of other checks it is "N passed, M failed", and "K not judged" where checks that look for errors
// were not. A run is fine where M is 0 and K is not there. In brackets stand the results that fail
// no run: known failures and findings, findings that are news, and lesser checks that were not
// judged.
func (r *Report) Line() string {
	n := r.Counts()
	line := fmt.Sprintf("%d passed, %d failed", n[rule.Passed]+n[rule.Found], n[rule.Failed])
	warnings, notes, old := r.findings()
	if r.Templates > 0 {
		line = strings.Replace(counted(n[rule.Failed], "error"), "0 ", "no ", 1)
		if found := tally(warnings, notes); found != "" {
			line += ", " + found
		}
		warnings, notes = 0, 0
	}
	unjudged, others := r.unjudged()
	if unjudged > 0 {
		line += fmt.Sprintf(", %d not judged", unjudged)
	}
	if r.Templates > 0 {
		line += " in " + counted(r.Templates, "template")
	}
	var more []string
	if n[rule.Known] > 0 {
		more = append(more, counted(n[rule.Known], "known failure"))
	}
	if old > 0 {
		more = append(more, counted(old, "known finding"))
	}
	if found := tally(warnings, notes); found != "" {
		more = append(more, found)
	}
	if others > 0 {
		more = append(more, fmt.Sprintf("%d not judged", others))
	}
	if len(more) > 0 {
		line += " (" + strings.Join(more, ", ") + ")"
	}
	if fixable := r.fixable(); fixable > 0 {
		line += fmt.Sprintf("; %d can be fixed with `assay fix`", fixable)
	}
	return line
}

// fixable counts the findings that are news and have a patch.
func (r *Report) fixable() (n int) {
	for i := range r.Results {
		if res := &r.Results[i]; res.Fixable && res.News() {
			n++
		}
	}
	return n
}

// tally counts warnings and notes; "" where there are none.
func tally(warnings, notes int) string {
	var parts []string
	if warnings > 0 {
		parts = append(parts, counted(warnings, "warning"))
	}
	if notes > 0 {
		parts = append(parts, counted(notes, "note"))
	}
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// JSON writes the report as indented JSON.
func (r *Report) JSON(w io.Writer) error {
	r = r.bounded()
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Read reads a report that [Report.JSON] wrote. It takes its lists one by one: package json goes on
// after an item of the wrong form, and makes two hundred bytes of three.
func Read(r io.Reader) (*Report, error) {
	report, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("not a report of assay (--format json writes one): %w", err)
	}
	if min(report.Passed, report.Noted, report.Warned, report.Old, report.Templates) < 0 {
		return nil, fmt.Errorf("not a report of assay (--format json writes one): \"passed\" is "+
			"%d, \"noted\" %d, \"warned\" %d, \"old\" %d and \"templates\" %d", report.Passed,
			report.Noted, report.Warned, report.Old, report.Templates)
	}
	return report, nil
}

func read(r io.Reader) (*Report, error) {
	type plain Report
	report := struct {
		*plain
		Rules   json.RawMessage `json:"rules"`
		Results json.RawMessage `json:"results"`
	}{plain: new(plain)}
	if err := strictly(r).Decode(&report); err != nil {
		return nil, err
	}
	err := items("rules", report.Rules, func(r *rule.Rule) (string, error) {
		report.plain.Rules = append(report.plain.Rules, *r)
		return r.ID, nil
	})
	if err != nil {
		return nil, err
	}
	type result rule.Result
	type detailed struct {
		result
		Details json.RawMessage `json:"details"`
	}
	err = items("results", report.Results, func(r *detailed) (string, error) {
		err := items("details", r.Details, func(d *rule.Detail) (string, error) {
			r.result.Details = append(r.result.Details, *d)
			return d.About + d.Prompt + d.Output, nil
		})
		report.plain.Results = append(report.plain.Results, rule.Result(r.result))
		return r.Suite + r.Name, err
	})
	return (*Report)(report.plain), err
}

// items reads a list, up to the first item that has no name or is none.
func items[T any](list string, text json.RawMessage, named func(*T) (string, error)) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	d := strictly(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return fmt.Errorf("%q is no list", list)
	}
	for n := 1; d.More(); n++ {
		var item T
		err := d.Decode(&item)
		name := ""
		if err == nil {
			name, err = named(&item)
		}
		if err == nil && name == "" {
			err = errors.New("it has no name")
		}
		if err != nil {
			return fmt.Errorf("item %d of %q: %w", n, list, err)
		}
	}
	return nil
}

// strictly reads JSON without members that nobody knows.
func strictly(r io.Reader) *json.Decoder {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return d
}
