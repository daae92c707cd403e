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
	"cmp"
	"context"
	_ "embed" // the list
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/diff"
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
	twins           [twins]int // of the requests that show the latter
}

// twin is how a patch of `assay fix` compares with the vendor's fix, on a request that shows the
// fault.
type twin uint8

const (
	unmended twin = iota // the patch is for another request
	equal                // the same prompt
	better               // the vendor's text still has the fault
	worse                // the patched text does
	spaced               // they differ in white space
	other                // both write all parts, or neither does
	twins
)

var twinTexts = [...]string{equal: "the same prompt",
	better: "better: the vendor's text refuses the request, loses a part of it or left it as it was",
	worse:  "worse: the patched text refuses the request or loses a part that the vendor's writes",
	spaced: "the same but for blanks and line feeds, which the patch leaves as they were",
	other:  "both write all parts; the vendor also changed what stands around them"}

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
var list []byte

//go:embed fixes/brought.jsonl
var brought []byte

func run(out io.Writer, page, date, folder string) error {
	if folder == "" {
		return errors.New("name the folder with the texts; `make real` fetches them")
	}
	all, err := mutate.Records[fix]("fixes.jsonl", list)
	if err != nil {
		return err
	}
	judged, err := mutate.Records[judgement]("brought.jsonl", brought)
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
	var texts [2]subject.Source
	var results [2][]rule.Result
	var loud [2]mutate.Found
	for i, digest := range [...]string{one.Old, one.New} {
		text, err := os.ReadFile(filepath.Join(folder, digest+".jinja"))
		if err != nil {
			return outcome{}, fmt.Errorf("%s: %w; `make real` fetches it", one.ID, err)
		}
		texts[i] = subject.New(digest[:12], string(text))
		results[i] = check.Template(texts[i], check.Options{Requests: true})
		_, loud[i] = mutate.Count(results[i])
	}
	o := outcome{fix: one, ended: loud[0].More(loud[1]), brought: loud[1].More(loud[0])}
	if one.Class != "fault" {
		return o, nil
	}
	m := patch.Mend(context.Background(), texts[0], patch.Options{}, check.Options{})
	ours := texts[0].WithText(m.Text)
	_, is := mutate.Check(ours)
	for id, n := range loud[0] {
		o.raised += n
		o.patched += max(0, n-is[id])
	}
	for _, res := range results[0] {
		if res.Level() == rule.Note || is[res.Rule] >= loud[0][res.Rule] {
			continue
		}
		if request, err := ordered.Parse(res.Request); err == nil {
			o.twins[likeness(texts[0], ours, texts[1], request)]++
		}
	}
	return o, nil
}

// likeness compares what a patched template and the vendor's make of a request; unmended where the
// patch changes nothing in it.
func likeness(was, ours, theirs subject.Source, request ordered.Value) twin {
	in, _ := (view.View{}).Serve(nil).Input(request)
	var texts [3]string
	var errs [3]error
	var serves [3]bool
	for i, src := range [...]subject.Source{was, ours, theirs} {
		t, err := src.Compile()
		if err != nil {
			errs[i] = err
			continue
		}
		texts[i], errs[i] = t.ChatTemplate().Render(in)
		serves[i] = diff.Serves(t, in)
	}
	switch old, mine, vendor := texts[0], texts[1], texts[2]; {
	case mine == old:
		return unmended
	case errs[1] == nil && errs[2] == nil && mine == vendor:
		return equal
	case errs[2] != nil, serves[1] && !serves[2], vendor == old:
		return better
	case errs[1] != nil, serves[2] && !serves[1]:
		return worse
	case strings.Join(strings.Fields(mine), "") == strings.Join(strings.Fields(vendor), ""):
		return spaced
	}
	return other
}

// table is the page: the figures by class, and a row a pair.
func table(all []outcome, judged []judgement, date string) string {
	var b strings.Builder
	faults, seen, raised, patched := 0, 0, 0, 0
	var like [twins]int
	for _, o := range all {
		for i, n := range o.twins {
			like[i] += n
		}
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
		"(%d%%). The requests that show these, with the patched text and with the vendor's:\n\n",
		faults, seen, 100*seen/max(faults, 1), date, raised, patched,
		100*patched/max(raised, 1))
	b.WriteString("| `assay fix` and the vendor | requests |\n| --- | --- |\n")
	for i := equal; i < twins; i++ {
		fmt.Fprintf(&b, "| %s | %d |\n", twinTexts[i], like[i])
	}
	b.WriteString("\n| class | pairs | noticed | the fix brings a finding |\n" +
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
