// Command real measures the checks on faults that vendors and maintainers really had to mend: each
// pair of revisions in fixes is checked, the old text and the new one.
//
//	go run ./harness/testkit/measure/real [-page FILE -date DAY] FOLDER
//
// FOLDER has the texts as <sha256>.jinja; ci/fetch/fixes.py fetches them (make real). A pair is
// noticed where the old text has an error or a warning of a rule more often than the new one. The
// classes of the pairs were given by two judges before any check ran on them.
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // the list
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	patch "github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/edit/mutate"
)

func main() {
	page := flag.String("page", "", "write the table into this `FILE`")
	date := flag.String("date", "", "the `DAY` that the page names, such as 2026-01-31")
	flag.Parse()
	if err := run(os.Stdout, *page, *date, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
}

// fix is a pair of revisions of a published template.
type fix struct {
	ID    string `json:"id"`
	Old   string `json:"old"` // SHA-256
	New   string `json:"new"`
	Was   string `json:"was"`   // what was wrong, in our words
	Class string `json:"class"` // fault, intent, policy, feature; frozen
}

// outcome is what the checks find in a pair.
type outcome struct {
	fix
	ended   []string // rules with an error or a warning that the fix ends
	brought []string // rules with one that the fix brings
	// raised are the errors and warnings in the old text of a fault, and patched those that `assay
	// fix` does away with.
	raised, patched int
}

// judgement is what a reader says of a finding that a fix brings.
type judgement struct {
	ID      string  `json:"id"` // of the pair
	Rule    string  `json:"rule"`
	Verdict verdict `json:"verdict"`
	Why     string  `json:"why"`
}

// verdict is what a finding is worth to somebody who uses the template.
type verdict string

const (
	cared  verdict = "true" // and a reader would defend it
	shrug  verdict = "slight"
	untrue verdict = "false"
	none   verdict = "not judged"
)

//go:embed fixes/fixes.jsonl
var list string

//go:embed fixes/brought.jsonl
var brought string

// records reads a list of records, a line each.
func records[T any](name, text string) ([]T, error) {
	var all []T
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", name, len(all)+1, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func run(out io.Writer, page, date, folder string) error {
	if folder == "" {
		return errors.New("name the folder with the texts; `make real` fetches them")
	}
	all, err := records[fix]("fixes.jsonl", list)
	if err != nil {
		return err
	}
	judged, err := records[judgement]("brought.jsonl", brought)
	if err != nil {
		return err
	}
	outcomes := make([]outcome, len(all))
	for i, one := range all {
		if outcomes[i], err = judge(one, folder); err != nil {
			return err
		}
	}
	text := table(outcomes, judged, date)
	if page != "" {
		return os.WriteFile(page, []byte(text), 0o666)
	}
	_, err = io.WriteString(out, text)
	return err
}

// judge checks both texts of a pair.
func judge(one fix, folder string) (outcome, error) {
	was, err := findings(folder, one.Old)
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", one.ID, err)
	}
	is, err := findings(folder, one.New)
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", one.ID, err)
	}
	o := outcome{fix: one, ended: was.More(is), brought: is.More(was)}
	if one.Class == "fault" {
		text, err := os.ReadFile(filepath.Join(folder, one.Old+".jinja"))
		if err != nil {
			return outcome{}, err
		}
		o.raised, o.patched = patches(subject.New(one.Old[:12], string(text)), was)
	}
	return o, nil
}

// patches returns how many errors and warnings a template has, and how many less with all patches.
func patches(src subject.Source, was mutate.Found) (raised, gone int) {
	m := patch.Mend(context.Background(), src, patch.Options{}, check.Options{})
	_, is := mutate.Check(src.WithText(m.Text))
	for id, n := range was {
		raised += n
		gone += max(0, n-is[id])
	}
	return raised, gone
}

// findings are the errors and warnings in a text.
func findings(folder, digest string) (mutate.Found, error) {
	text, err := os.ReadFile(filepath.Join(folder, digest+".jinja"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; `make real` fetches it", err)
	} else if err != nil {
		return nil, err
	}
	_, loud := mutate.Check(subject.New(digest[:12], string(text)))
	return loud, nil
}

// table is the page: the figures by class, and a row a pair.
func table(all []outcome, judged []judgement, date string) string {
	var b strings.Builder
	faults, seen, raised, patched := 0, 0, 0, 0
	for _, o := range all {
		if o.Class == "fault" {
			faults++
			raised += o.raised
			patched += o.patched
			if len(o.ended) > 0 {
				seen++
			}
		}
	}
	fmt.Fprintf(&b, "# Faults that vendors had to mend\n\n"+
		"Of %d faults that vendors and maintainers had to mend, `assay check` notices %d (%d%%): the\n"+
		"old text has an error or a warning that the new one has not. `make real` fetches the texts\n"+
		"and writes this page; it was last written on %s.\n\n"+
		"The pairs of revisions are in harness/testkit/measure/real/fixes, without their texts. Two\n"+
		"judges classed them before any check had run on them. Rules have been mended with the pairs\n"+
		"in sight since, so that the share is no forecast for other templates.\n\n"+
		"The old texts of the faults have %d errors and warnings; `assay fix` does away with %d\n"+
		"(%d%%).\n\n", faults, seen, 100*seen/max(faults, 1), date, raised, patched,
		100*patched/max(raised, 1))
	b.WriteString("| class | pairs | noticed | the fix brings a finding |\n" +
		"| --- | --- | --- | --- |\n")
	for _, class := range []string{"fault", "intent", "policy", "feature"} {
		pairs, noticed, brings := 0, 0, 0
		for _, o := range all {
			if o.Class != class {
				continue
			}
			pairs++
			if len(o.ended) > 0 {
				noticed++
			}
			if len(o.brought) > 0 {
				brings++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d (%d%%) | %d |\n", class, pairs, noticed,
			100*noticed/max(pairs, 1), brings)
	}
	news(&b, all, judged)
	b.WriteString("\n## The pairs\n\n| pair | class | ended by the fix | brought by the fix |\n" +
		"| --- | --- | --- | --- |\n")
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.ID, b.ID) })
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", o.ID, o.Class, strings.Join(o.ended, " "),
			strings.Join(o.brought, " "))
	}
	return b.String()
}

// news writes what a reader says of the findings that the fixes of faults bring.
func news(b *strings.Builder, all []outcome, judged []judgement) {
	var rows []judgement
	bring, worse := 0, 0
	count := map[verdict]int{}
	for _, o := range all {
		if o.Class != "fault" || len(o.brought) == 0 {
			continue
		}
		bring++
		bad := false
		for _, id := range o.brought {
			row := judgement{ID: o.ID, Rule: id, Verdict: none}
			if i := slices.IndexFunc(judged, func(j judgement) bool {
				return j.ID == o.ID && j.Rule == id
			}); i >= 0 {
				row = judged[i]
			}
			count[row.Verdict]++
			bad = bad || row.Verdict != cared
			rows = append(rows, row)
		}
		if bad {
			worse++
		}
	}
	fmt.Fprintf(b, "\n## What the fixes bring\n\n"+
		"%d fixes of faults bring %d rules with an error or a warning that the old text had not,\n"+
		"since a fix writes what was lost before, and this has faults of its own. %d of the findings\n"+
		"are true, and a reader who uses the template would defend them; %d are true and slight, %d\n"+
		"are false, %d are not judged. %d fixes bring one that nobody would defend. The verdicts were\n"+
		"given by one of the authors, who had seen the pairs.\n\n", bring, len(rows),
		count[cared], count[shrug], count[untrue], count[none], worse)
	b.WriteString("| pair | rule | verdict | why |\n| --- | --- | --- | --- |\n")
	slices.SortStableFunc(rows, func(a, b judgement) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.ID, r.Rule, r.Verdict, r.Why)
	}
}
