// Package fleet puts the models of a manifest through batteries, each once, and sums them up by
// family, model and device.
//
// # Model
//
// A [Plan] is one shard's part of a manifest of models. The caller runs them: it makes a
// [Line] of each, with the provenance, since that depends on the machine. A model that cannot be
// loaded is a line as any other. The lines are a file of package results, which joins those of all
// shards. A [Table] has a row for each family, model and device.
//
// # Errors
//
// A model file that cannot be read, or holds something else than the manifest has, is a line with
// the outcome [Unread]: another try may help.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package fleet

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/results"
)

// The outcomes of models.
const (
	Ran      = "ran"      // through the battery
	Rejected = "rejected" // the gate rejects its template
	Failed   = "failed"   // it could not be loaded or run
	Unread   = "unread"   // the file cannot be read, or is another one; another try may help
)

// Line is a model with its results.
type Line struct {
	Digest     string           `json:"digest"` // of the file
	Outcome    string           `json:"outcome"`
	Why        string           `json:"why,omitempty"` // where the outcome is not Ran
	Provenance *Provenance      `json:"provenance,omitempty"`
	Families   []Family         `json:"families,omitempty"` // in the order in which they ran
	Entries    []manifest.Entry `json:"entries"`            // the places that hold it, by name
}

// Key implements [results.Line].
func (l Line) Key() string {
	if len(l.Entries) == 0 {
		return ""
	}
	return l.Digest
}

// Places implements [results.Line].
func (l Line) Places() int { return len(l.Entries) }

// Check implements [results.Line].
func (l Line) Check() error {
	if !slices.Contains([]string{Ran, Rejected, Failed, Unread}, l.Outcome) {
		return fmt.Errorf("outcome is %.80q, expected one that fleets have", l.Outcome)
	}
	return results.CheckEntries(l.Digest, manifest.Model, l.Entries)
}

// Provenance is how the results came about.
type Provenance struct {
	Device      string  `json:"device"` // with its driver, as llama.cpp names it
	LlamaCpp    string  `json:"llama_cpp"`
	FileType    string  `json:"file_type"` // the quantisation
	Assay       string  `json:"assay"`
	Seed        uint64  `json:"seed"`
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k,omitempty"`
	TopP        float64 `json:"top_p,omitempty"`
	MinP        float64 `json:"min_p,omitempty"`
	Context     int     `json:"context"`
	GPULayers   int     `json:"gpu_layers"`
}

// Family is a battery with one template.
type Family struct {
	Name     string    `json:"name"` // of the template
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Unjudged int       `json:"not_judged,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is a run that did not pass.
type Finding struct {
	Scenario string `json:"scenario"`
	Rule     string `json:"rule,omitempty"`
	Text     string `json:"text"`
}

// maxText bounds the text of a finding and of a reason, in bytes.
const maxText = 300

// Add counts the results of a battery, by their templates.
func (l *Line) Add(all []rule.Result) {
	for _, res := range all {
		i := slices.IndexFunc(l.Families, func(f Family) bool { return f.Name == res.Suite })
		if i < 0 {
			i = len(l.Families)
			l.Families = append(l.Families, Family{Name: res.Suite})
		}
		f := &l.Families[i]
		switch {
		case res.Status == rule.Unjudged:
			f.Unjudged++
		case res.Bad():
			f.Failed++
		default:
			f.Passed++
			continue
		}
		f.Findings = append(f.Findings, Finding{Scenario: res.Name, Rule: res.Rule,
			Text: source.Cut(res.Text, maxText)})
	}
}

// Fail makes an outcome of an error.
func (l *Line) Fail(outcome string, err error) {
	l.Outcome, l.Why = outcome, source.Cut(err.Error(), maxText)
}

// Plan is a shard's part of a manifest of models.
type Plan struct {
	results.Header
	Tasks []Line // without an outcome, in the order of their digests
}

// NewPlan reads a manifest.
func NewPlan(r io.Reader, shard manifest.Shard, version string) (*Plan, error) {
	p := &Plan{Header: results.NewHeader(results.Fleet, version, shard)}
	at := map[string]int{}
	var err error
	p.Manifest, p.Entries, err = manifest.Read(r, manifest.Model, func(e manifest.Entry) error {
		if !shard.Has(e.Digest) {
			return nil
		}
		i, there := at[e.Digest]
		if !there {
			i = len(p.Tasks)
			at[e.Digest] = i
			p.Tasks = append(p.Tasks, Line{Digest: e.Digest})
		}
		p.Tasks[i].Entries = append(p.Tasks[i].Entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(p.Tasks, func(a, b Line) int { return cmp.Compare(a.Digest, b.Digest) })
	for _, t := range p.Tasks {
		slices.SortStableFunc(t.Entries, func(a, b manifest.Entry) int {
			return cmp.Compare(a.Where, b.Where)
		})
	}
	return p, nil
}

// Table sums lines up. Its memory grows with the models.
type Table struct {
	rows     []row
	outcomes map[string]int
	models   int
}

// row is a family, a model and a device.
type row struct {
	family, model, device string
	passed, all           int
	rest                  string
}

// Count adds a line.
func (t *Table) Count(line Line) {
	if t.outcomes == nil {
		t.outcomes = map[string]int{}
	}
	t.models++
	t.outcomes[line.Outcome]++
	device := ""
	if line.Provenance != nil {
		device = line.Provenance.Device
	}
	model := line.Entries[0].Where
	for _, f := range line.Families {
		rest := ""
		if f.Unjudged > 0 {
			rest = fmt.Sprintf("%d not judged", f.Unjudged)
		}
		t.rows = append(t.rows, row{f.Name, model, device, f.Passed,
			f.Passed + f.Failed + f.Unjudged, rest})
	}
	if line.Outcome != Ran {
		t.rows = append(t.rows, row{"-", model, device, 0, 0, line.Outcome + ": " + line.Why})
	}
}

// OK reports whether every model ran, and every run passed.
func (t *Table) OK() bool {
	return t.outcomes[Ran] == t.models &&
		!slices.ContainsFunc(t.rows, func(r row) bool { return r.passed < r.all })
}

// Unread returns how many models could not be read.
func (t *Table) Unread() int { return t.outcomes[Unread] }

// Text writes the table for people.
func (t *Table) Text(w io.Writer) error {
	slices.SortStableFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.model, b.model),
			cmp.Compare(a.device, b.device))
	})
	_, err := fmt.Fprintf(w, "%d models: %d ran, %d rejected, %d failed, %d unread\n\n%-24s %-44s "+
		"%-32s %s\n", t.models, t.outcomes[Ran], t.outcomes[Rejected], t.outcomes[Failed],
		t.outcomes[Unread], "family", "model", "device", "passed")
	for _, r := range t.rows {
		if err != nil {
			return err
		}
		last := r.rest
		if r.all > 0 {
			last = strings.TrimRight(fmt.Sprintf("%d of %d %s", r.passed, r.all, r.rest), " ")
		}
		_, err = fmt.Fprintf(w, "%-24s %-44s %-32s %s\n", r.family, r.model, r.device, last)
	}
	return err
}
