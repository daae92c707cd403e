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

	"github.com/goassay/assay/harness/check/subject"
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
}

//go:embed fixes/fixes.jsonl
var list string

// fixes reads the list.
func fixes() ([]fix, error) {
	var all []fix
	lines := bufio.NewScanner(strings.NewReader(list))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one fix
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("fixes.jsonl: record %d: %w", len(all)+1, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func run(out io.Writer, page, date, folder string) error {
	if folder == "" {
		return errors.New("name the folder with the texts; `make real` fetches them")
	}
	all, err := fixes()
	if err != nil {
		return err
	}
	outcomes := make([]outcome, len(all))
	for i, one := range all {
		if outcomes[i], err = judge(one, folder); err != nil {
			return err
		}
	}
	text := table(outcomes, date)
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
	return outcome{one, was.More(is), is.More(was)}, nil
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
func table(all []outcome, date string) string {
	var b strings.Builder
	faults, seen := 0, 0
	for _, o := range all {
		if o.Class == "fault" {
			faults++
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
		"judges classed them before any check had run on them.\n\n", faults, seen,
		100*seen/max(faults, 1), date)
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
	b.WriteString("\n| pair | class | ended by the fix | brought by the fix |\n" +
		"| --- | --- | --- | --- |\n")
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.ID, b.ID) })
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", o.ID, o.Class, strings.Join(o.ended, " "),
			strings.Join(o.brought, " "))
	}
	return b.String()
}
