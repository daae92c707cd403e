package engines

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/report/safefile"
)

// Matrix holds results by engine, case and cut. Its zero value is empty.
type Matrix struct{ results map[string]Result }

// ReadMatrix reads results from JSON lines. No name is an empty matrix.
func ReadMatrix(name string) (*Matrix, error) {
	m := &Matrix{results: map[string]Result{}}
	if name == "" {
		return m, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxAnswer)
	for n := 1; in.Scan(); n++ {
		var r Result
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: not a result of `assay engines run`: %w", name, n, err)
		}
		m.Add(r)
	}
	return m, in.Err()
}

// Add adds results; one of the same engine, case and cut replaces the one before.
func (m *Matrix) Add(results ...Result) {
	for _, r := range results {
		m.results[r.key()] = r
	}
}

// Replace adds the results of a run. Those of an earlier run of the same cases in the same engines
// go, also those of cuts that are not made any more.
func (m *Matrix) Replace(results ...Result) {
	again := map[[2]string]bool{}
	for _, r := range results {
		again[[2]string{r.Engine, r.Case}] = true
	}
	maps.DeleteFunc(m.results, func(_ string, r Result) bool {
		return again[[2]string{r.Engine, r.Case}]
	})
	m.Add(results...)
}

// Results returns the results in order of engine, case and cut.
func (m *Matrix) Results() []Result {
	return slices.SortedFunc(maps.Values(m.results), func(a, b Result) int {
		return cmp.Compare(a.key(), b.key())
	})
}

// Write writes the results as JSON lines to a fresh file, which then takes the name.
func (m *Matrix) Write(name string) error {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	for _, r := range m.Results() {
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return safefile.Write(name, safefile.Text(b.String()))
}

// tally counts the cases of a cell: a case counts once, with the worst that any cut showed.
type tally struct {
	cases, right, policy, fault, unsupported int
	parser                                   Parser
	worst                                    []Result // of the cases that are not right
}

var badness = map[Verdict]int{Equal: 0, Spaced: 1, Unsupported: 2, Policy: 3, NoParser: 4, Fault: 5}

// A part is a part of the results with tables of its own.
type part struct {
	title, about, first, kinds string
	has                        func(*Result) bool
}

// parts are the parts, in the order of the page.
var parts = []part{
	{"Outputs", "A cell counts cases: right of all; after a plus sign those that differ by " +
		"policy, after a question mark those that the engine has no parser for.", "family",
		"cases with", func(r *Result) bool { return r.Cut != prompt }},
	{"Prompts", "A cell counts prompts: those that equal jinja2's to the byte, of all.",
		"prompts of", "prompts with", func(r *Result) bool { return r.Cut == prompt }},
}

// cells returns the tallies of a part by family and engine, with the engines and families in order.
func (m *Matrix) cells(p part) (cells map[[2]string]*tally, families, engines []string,
	versions map[string]string) {
	cells, versions = map[[2]string]*tally{}, map[string]string{}
	worst := map[[2]string]Result{}
	for _, r := range m.Results() {
		if !p.has(&r) {
			continue
		}
		key := [2]string{r.Engine, r.Case}
		was, ok := worst[key]
		if !ok || badness[r.Verdict] > badness[was.Verdict] &&
			!(r.Verdict == Unsupported && r.Cut != whole) {
			worst[key] = r
		}
		versions[r.Engine] = r.Version
	}
	for _, r := range worst {
		key := [2]string{r.Family, r.Engine}
		t := cells[key]
		if t == nil {
			t = &tally{}
			cells[key] = t
		}
		t.cases++
		t.parser = r.Parser
		switch r.Verdict {
		case Equal, Spaced:
			t.right++
			continue
		case Policy:
			t.policy++
		case Unsupported, NoParser:
			t.unsupported++
		default:
			t.fault++
		}
		t.worst = append(t.worst, r)
	}
	for key, t := range cells {
		if !slices.Contains(families, key[0]) {
			families = append(families, key[0])
		}
		if !slices.Contains(engines, key[1]) {
			engines = append(engines, key[1])
		}
		slices.SortFunc(t.worst, func(a, b Result) int { return cmp.Compare(a.Case, b.Case) })
	}
	slices.Sort(families)
	slices.Sort(engines)
	return cells, families, engines, versions
}

// String returns "13/16" and the rest: policies after a plus sign, parts that the engine does not
// do after a question mark.
func (t *tally) String() string {
	if t == nil {
		return ""
	}
	if t.unsupported == t.cases {
		return "none"
	}
	text := fmt.Sprintf("%d/%d", t.right, t.cases)
	if t.policy > 0 {
		text += fmt.Sprintf(" +%d", t.policy)
	}
	if t.unsupported > 0 {
		text += fmt.Sprintf(" ?%d", t.unsupported)
	}
	return text
}

// Markdown returns the tables of families by engines, and the kinds of faults and policies by
// engine: those of outputs, then those of prompts.
func (m *Matrix) Markdown() string {
	var b strings.Builder
	for _, p := range parts {
		cells, families, engines, versions := m.cells(p)
		if len(engines) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		head := "| " + p.first + " |"
		rule := "| --- |"
		for _, e := range engines {
			head += fmt.Sprintf(" %s %s |", e, versions[e])
			rule += " --- |"
		}
		fmt.Fprintf(&b, "%s\n%s\n", head, rule)
		for _, f := range families {
			fmt.Fprintf(&b, "| %s |", f)
			for _, e := range engines {
				fmt.Fprintf(&b, " %s |", cells[[2]string{f, e}])
			}
			b.WriteString("\n")
		}
		b.WriteString("| **all** |")
		for _, e := range engines {
			var sum tally
			for _, f := range families {
				if t := cells[[2]string{f, e}]; t != nil {
					sum.cases += t.cases
					sum.right += t.right
					sum.policy += t.policy
					sum.unsupported += t.unsupported
				}
			}
			fmt.Fprintf(&b, " **%s** |", &sum)
		}
		b.WriteString("\n\n")
		m.kinds(&b, p, engines)
	}
	return b.String()
}

// kinds writes how many cases each kind of fault and policy has, by engine.
func (m *Matrix) kinds(b *strings.Builder, p part, engines []string) {
	counts := map[string]map[string]int{}
	seen := map[string]bool{}
	for _, r := range m.Results() {
		if !p.has(&r) || r.Verdict != Fault && r.Verdict != Policy {
			continue
		}
		kind := string(r.Verdict) + ": " + r.Kind
		key := kind + "\x00" + r.Engine + "\x00" + r.Case
		if seen[key] {
			continue
		}
		seen[key] = true
		if counts[kind] == nil {
			counts[kind] = map[string]int{}
		}
		counts[kind][r.Engine]++
	}
	b.WriteString("| " + p.kinds + " |")
	for _, e := range engines {
		b.WriteString(" " + e + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(engines)) + "\n")
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "| %s |", k)
		for _, e := range engines {
			if n := counts[k][e]; n > 0 {
				fmt.Fprintf(b, " %d |", n)
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
}

// Summary returns a line about a family for each engine in the results.
func Summary(family string, choice Choice, results []Result) []string {
	m := Matrix{results: map[string]Result{}}
	m.Add(results...)
	var lines []string
	for _, p := range parts {
		cells, _, engines, _ := m.cells(p)
		for _, e := range engines {
			t := cells[[2]string{family, e}]
			line := fmt.Sprintf("%-24s %-14s %s %s", family, t, e, strings.ToLower(p.title))
			if p := t.parser; p != (Parser{}) {
				line += fmt.Sprintf(" tool %s, reasoning %s", cmp.Or(p.Tool, "none"),
					cmp.Or(p.Reasoning, "none"))
				if d := choice.Detected; d != nil && *d != choice.Best {
					line += fmt.Sprintf(" (its own choice: %s, %s)", cmp.Or(d.Tool, "none"),
						cmp.Or(d.Reasoning, "none"))
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Unexpected compares results with a list of known faults, engine and case with the reason, and
// returns a line for each fault that is not on it, for each entry that is no fault any more, and
// for each that names no case that was run.
func Unexpected(results []Result, known map[string]string) []string {
	faults, ran := map[string]Result{}, map[string]bool{}
	for _, r := range results {
		id := r.Engine + "/" + r.Case
		ran[id] = true
		if _, ok := faults[id]; r.Verdict == Fault && !ok {
			faults[id] = r
		}
	}
	var lines []string
	for id, r := range faults {
		if _, ok := known[id]; !ok {
			lines = append(lines, fmt.Sprintf("%s (%s): %s: %s", id, r.Cut, r.Kind, r.Text))
		}
	}
	for id, reason := range known {
		switch {
		case !ran[id]:
			lines = append(lines, id+": known to be a fault, and was not run")
		case faults[id].Engine == "":
			lines = append(lines, id+": listed as a fault and no longer one; take "+
				"it off the list ("+reason+")")
		}
	}
	slices.Sort(lines)
	return lines
}
