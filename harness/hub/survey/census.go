// Package survey judges the templates of a manifest, each once, and joins the results of shards.
//
// # Model
//
// A [Plan] is one shard's part of a manifest: its templates, each with the entries that hold it. A
// [Judge] makes a [Line] of each. The lines of a shard, in the order of their digests, are a file
// of package results, which joins those of all shards. A [Summary] counts the lines' findings: by
// templates, by the places that hold them, by their downloads.
//
// An earlier census spares work: [Plan.Since] takes over the lines of templates that it judged
// with the same version of the program, and has every place whose template is another one since
// compared with the earlier one.
//
// # Limits
//
// A shard keeps its own entries in memory and no findings but those of the templates in flight.
//
// # Errors
//
// A template that cannot be read is a line with the verdict [Unread], since the other entries can
// be judged all the same.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package survey

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/hub/results"
)

// The verdicts of lines.
const (
	Pass      = "pass"       // tool-capable and verified
	Fail      = "fail"       // not verified, or a check that looks for errors found one
	NoTools   = "no tools"   // not tool-capable, and nothing else is wrong
	NotJudged = "not judged" // a limit or a fault of its own kept it from being judged
	Unread    = "unread"     // the file cannot be read, or holds another text; another try may help
)

// Line is a template with its findings.
type Line struct {
	Digest   string           `json:"digest"`
	Verdict  string           `json:"verdict"`
	Why      string           `json:"why,omitempty"`      // where the verdict is not Pass
	Format   string           `json:"format,omitempty"`   // the digest of its format; "": it has none
	Findings []Finding        `json:"findings,omitempty"` // in the order of the rules
	Against  []Comparison     `json:"against,omitempty"`
	Entries  []manifest.Entry `json:"entries"` // the places that hold it, by name
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
	switch {
	case !slices.Contains([]string{Pass, Fail, NoTools, NotJudged, Unread}, l.Verdict):
		return fmt.Errorf("verdict is %.80q, expected one that surveys have", l.Verdict)
	case l.Format != "" && !manifest.IsDigest(l.Format):
		return fmt.Errorf("format is %.80q, expected a SHA-256 in 64 hexadecimal digits", l.Format)
	}
	return results.CheckEntries(l.Digest, manifest.Template, l.Entries)
}

// Finding is one finding, in a line.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Line     int    `json:"line,omitempty"` // of the template
	Text     string `json:"text"`
}

// The templates that one is compared with.
const (
	Base   = "base"   // that of the model that it was made from
	Before = "before" // that which the same place had at the census before
)

// Comparison is how the template differs from another one, and for which places that matters.
type Comparison struct {
	With   string   `json:"with"` // [Base] or [Before]
	Digest string   `json:"digest"`
	Class  string   `json:"class"` // as `assay diff` has it; Unread where the other cannot be read
	Where  []string `json:"where"`

	other manifest.Entry // how to read the other one
}

// Task is a template to judge: its line without a verdict, or with the one of an earlier census.
type Task struct {
	Line
	known map[string]string // the classes of comparisons, by digest, from an earlier census
}

// Plan is a shard's part of a manifest.
type Plan struct {
	results.Header
	Tasks []*Task // in the order of their digests
	shard manifest.Shard
}

// NewPlan reads a manifest, which open opens, perhaps twice.
func NewPlan(open func() (io.ReadCloser, error), shard manifest.Shard,
	version string) (*Plan, error) {
	p := &Plan{shard: shard, Header: results.NewHeader(results.Survey, version, shard)}
	tasks := map[string]*Task{}
	bases := map[string]*manifest.Entry{}
	err := p.read(open, func(e manifest.Entry) error {
		if !shard.Has(e.Digest) {
			return nil
		}
		t := tasks[e.Digest]
		if t == nil {
			t = &Task{Line: Line{Digest: e.Digest}}
			tasks[e.Digest] = t
			p.Tasks = append(p.Tasks, t)
		}
		t.Entries = append(t.Entries, e)
		if e.Base != "" {
			bases[e.Base] = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(bases) > 0 {
		err = p.read(open, func(e manifest.Entry) error {
			if _, wanted := bases[e.Where]; wanted {
				bases[e.Where] = &e
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(p.Tasks, func(a, b *Task) int { return cmp.Compare(a.Digest, b.Digest) })
	for _, t := range p.Tasks {
		slices.SortStableFunc(t.Entries, func(a, b manifest.Entry) int {
			return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Revision, b.Revision))
		})
		for _, e := range t.Entries {
			if base := bases[e.Base]; base != nil && base.Digest != e.Digest {
				t.compare(Base, *base, e.Where)
			}
		}
	}
	return p, nil
}

func (p *Plan) read(open func() (io.ReadCloser, error), take func(manifest.Entry) error) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	p.Manifest, p.Entries, err = manifest.Read(r, manifest.Template, take)
	return err
}

// compare adds a place for which the template is to be compared with another one.
func (t *Task) compare(with string, other manifest.Entry, where string) {
	for i, c := range t.Against {
		if c.With == with && c.Digest == other.Digest {
			t.Against[i].Where = append(c.Where, where)
			return
		}
	}
	t.Against = append(t.Against, Comparison{With: with, Digest: other.Digest,
		Where: []string{where}, other: other})
}

// Since takes over the findings of an earlier census: the file of a whole manifest, which a survey
// or a merge wrote. Findings of another version of the program are found anew.
func (p *Plan) Since(r io.Reader) error {
	tasks := map[string]*Task{}
	places := map[string]*Task{}
	for _, t := range p.Tasks {
		tasks[t.Digest] = t
		for _, e := range t.Entries {
			places[e.Where] = t
		}
	}
	before, err := results.NewReader(r, results.Survey)
	if err != nil {
		return err
	}
	if before.Header.Of != 1 {
		return fmt.Errorf("it has %d of %d shards; `assay report --merge` joins them",
			len(before.Header.Parts), before.Header.Of)
	}
	for {
		line, err := results.Next[Line](before)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if t := tasks[line.Digest]; t != nil && line.Verdict != Unread &&
			before.Header.Version == p.Version {
			t.Verdict, t.Why, t.Format = line.Verdict, line.Why, line.Format
			t.Findings, t.known = line.Findings, map[string]string{}
			for _, c := range line.Against {
				if c.Class != Unread {
					t.known[c.Digest] = c.Class
				}
			}
		}
		for _, e := range line.Entries {
			if t := places[e.Where]; t != nil && t.Digest != e.Digest {
				t.compare(Before, e, e.Where)
			}
		}
	}
	for _, t := range p.Tasks {
		slices.SortStableFunc(t.Against, func(a, b Comparison) int {
			return cmp.Or(cmp.Compare(a.With, b.With), cmp.Compare(a.Digest, b.Digest))
		})
		for i := range t.Against {
			slices.Sort(t.Against[i].Where)
		}
	}
	return nil
}
