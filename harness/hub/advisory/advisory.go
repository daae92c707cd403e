// Package advisory has records of faults of published chat templates, and finds them again.
//
// # Model
//
// A [Record] is one fault of one text that somebody published: what happens, to whom, since when,
// and which text mends it. It is written in the OSV format (https://ossf.github.io/osv-schema/);
// what that has no field for stands in its database_specific, a [Template]. A record holds no
// template, but SHA-256 digests of the faulty text and of the mended one, as they are and in their
// canonical form ([Canonical]).
//
// A text whose digests are unknown is known by its behaviour: a record has witnesses
// ([Witness]), inputs with the digest of the prompt that the faulty text makes of each. The
// mended text makes another prompt of some, and the same of the others, which show that a text
// writes its conversations as the faulty one does. A text that makes all prompts of the faulty one
// has its fault ([Record.Shown]).
//
// An [Index] has the digests, and what is said of each record in short, for programs that ask
// nothing but whether a text is known. It comes signed where it comes from elsewhere ([Verify]).
//
// # Errors
//
// A record that is none is an error with the name of its file.
//
// # Stability
//
// This package may change with every release; the records' format is in docs/advisories.md.
package advisory

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// Record is an advisory, in the OSV format.
type Record struct {
	SchemaVersion string      `json:"schema_version"`
	ID            string      `json:"id"` // "x_ASSAY-2026-0001"; x_ is OSV's prefix for ids that are not registered there
	Published     string      `json:"published,omitempty"`
	Modified      string      `json:"modified"`
	Withdrawn     string      `json:"withdrawn,omitempty"` // the record was wrong; Details say why
	Summary       string      `json:"summary"`             // what happens, one sentence
	Details       string      `json:"details,omitempty"`
	Affected      []Affected  `json:"affected"`
	References    []Reference `json:"references,omitempty"`
	Template      Template    `json:"database_specific"`
}

// Affected is a package or a repository that ships the faulty text.
type Affected struct {
	Package  *Package `json:"package,omitempty"` // nil: a repository, of which the range has the address
	Ranges   []Range  `json:"ranges"`
	Specific *Where   `json:"database_specific,omitempty"`
}

// Package is a package of a registry.
type Package struct {
	Ecosystem string `json:"ecosystem"` // "PyPI", "npm"
	Name      string `json:"name"`
}

// Where is the file of a package that has the faulty text.
type Where struct {
	Path string `json:"path"`
}

// Range is a range of versions, or of commits of the repository Repo.
type Range struct {
	Type   string  `json:"type"` // "ECOSYSTEM", "GIT"
	Repo   string  `json:"repo,omitempty"`
	Events []Event `json:"events"`
}

// Event is an end of a range. One of its members is set.
type Event struct {
	Introduced string `json:"introduced,omitempty"`
	Fixed      string `json:"fixed,omitempty"`
	Last       string `json:"last_affected,omitempty"`
}

// Reference is a page about the fault.
type Reference struct {
	Type string `json:"type"` // "REPORT", "FIX"
	URL  string `json:"url"`
}

// Template is what OSV has no field for.
type Template struct {
	Text     Digests       `json:"text"`   // of the faulty text
	Fixed    *Fixed        `json:"fixed"`  // nil: nobody published one
	Survey   *Survey       `json:"survey"` // nil: the last survey did not see the faulty text
	Rule     string        `json:"rule"`   // the rule of `assay check` that finds the fault
	Severity rule.Severity `json:"severity"`
	Engines  []string      `json:"engines"` // that show the fault; ["all"]: it needs none
	// Fixable reports whether `assay fix` mends the fault.
	Fixable   bool      `json:"assay_fix"`
	Excerpt   Excerpt   `json:"excerpt,omitzero"`
	Witnesses []Witness `json:"witnesses,omitempty"`
}

// Fixed is the text that mends the fault.
type Fixed struct {
	Digests
	Where string `json:"where"` // who publishes it, in words
}

// Survey is what the last survey of the Hub saw of a text.
type Survey struct {
	Day          string `json:"day"`          // such as 2026-01-31
	Repositories int    `json:"repositories"` // that ship the text
	// Downloads are those of the 30 days before, by repository; none where they were not counted.
	Downloads map[string]int64 `json:"downloads"`
}

// Excerpt is the piece of the first witness' prompt that shows the fault, or why there is none.
type Excerpt struct {
	Faulty string `json:"faulty"`
	Fixed  string `json:"fixed,omitempty"`
}

// Load reads the records of a folder, sorted by their ids.
func Load(fsys fs.FS, dir string) ([]*Record, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var records []*Record
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		r := new(Record)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := r.check(strings.TrimSuffix(path.Base(name), ".json")); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *Record) int { return strings.Compare(a.ID, b.ID) })
	return records, nil
}

// check finds what a record must have and has not.
func (r *Record) check(name string) error {
	t := &r.Template
	switch {
	case r.ID != name:
		return fmt.Errorf("the id is %q, and the file's name says %q", r.ID, name)
	case r.Summary == "" || r.Details == "" || !r.located():
		return fmt.Errorf("summary, details or affected, with a range and an event, is missing")
	case !t.Text.valid() || t.Fixed != nil && !t.Fixed.valid():
		return fmt.Errorf("a digest is not 64 hexadecimal digits")
	case !slices.ContainsFunc(t.Witnesses, func(w Witness) bool { return w.Faulty != w.Fixed }):
		return fmt.Errorf("no witness shows the fault")
	}
	return nil
}

// located reports whether a record says who ships the faulty text.
func (r *Record) located() bool {
	return len(r.Affected) > 0 && !slices.ContainsFunc(r.Affected, func(a Affected) bool {
		return len(a.Ranges) == 0 || len(a.Ranges[0].Events) == 0
	})
}
