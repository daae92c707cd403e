// Package audit looks for known faults in the templates that somebody has.
//
// # Model
//
// A [Book] is the published records (package advisory). [Book.Matches] looks a template up by its
// text, which renders nothing, and then by its behaviour: a text that nobody recorded, such as an
// edited copy, has the fault of a record where it makes the prompts of the faulty text. One that
// makes some of them is a relative, whose fault is mended as that of the record's text was. A text
// that a record names as mended has no match with that record.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/hub/advisory"
)

// Folder is the folder of the corpus with the records.
const Folder = "advisories"

// Book has the records that templates are held to.
type Book struct {
	Records []*advisory.Record
	index   *advisory.Index
	byID    map[string]*advisory.Record
}

// Published returns the records of the corpus, or those of the younger index that an [Update] has
// stored, with those of further folders.
func Published(stored string, folders ...string) (*Book, error) {
	records, err := advisory.Load(corpus.FS, Folder)
	if err != nil {
		return nil, err
	}
	newer, err := read(stored)
	if err != nil {
		return nil, err
	}
	if newer != nil {
		records = newer.Over(records)
	}
	for _, dir := range folders {
		own, err := advisory.Load(os.DirFS(dir), ".")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		records = append(records, own...)
	}
	return NewBook(records), nil
}

// NewBook returns the book of records.
func NewBook(records []*advisory.Record) *Book {
	b := &Book{Records: records, index: advisory.NewIndex(records),
		byID: map[string]*advisory.Record{}}
	for _, r := range records {
		b.byID[r.ID] = r
	}
	return b
}

// How says how a template was known.
type How uint8

// The ways, the surest first.
const (
	ByText      How = iota // it is the recorded text, to the byte
	ByCanonical            // it is the recorded text with other line ends or blank lines
	ByBehaviour            // it makes the same prompts
	ByRelation             // it makes some of them, and has the fault; the record's text was mended
)

// Match is a known fault of a template.
type Match struct {
	*advisory.Record
	How How
}

// Matches returns the known faults of a template, in the order of their ids. The error is that of a
// text that does not compile, or that runs into a limit; one that is known has none.
func (b *Book) Matches(ctx context.Context, src subject.Source, l engine.Limits) ([]Match, error) {
	digests := advisory.DigestsOf(src.Text)
	if ids := b.index.Lookup(src.Text); ids != nil {
		var all []Match
		for _, id := range ids {
			how := ByCanonical
			if b.byID[id].Template.Text.Exact == digests.Exact {
				how = ByText
			}
			all = append(all, Match{b.byID[id], how})
		}
		return all, nil
	}
	renders, err := advisory.NewRenders(ctx, src, l)
	if err != nil {
		return nil, err
	}
	src = src.Limited(ctx, l)
	finds, found := check.Finder(src), map[string]bool{}
	has := func(id string) bool { // prompts may be the same for another reason than the fault
		if _, asked := found[id]; !asked {
			found[id] = finds(id)
		}
		return found[id]
	}
	var all []Match
	var relatives []*advisory.Record // that somebody mended
	shared := map[*advisory.Record]int{}
	for _, r := range b.Records {
		if f := r.Template.Fixed; f != nil && f.Canonical == digests.Canonical {
			continue
		}
		switch n := r.Shared(renders); {
		case r.Shown(renders):
			if has(r.Template.Rule) {
				all = append(all, Match{r, ByBehaviour})
			}
		case r.Template.Fixed != nil && n > 0:
			relatives = append(relatives, r)
			shared[r] = n
		}
	}
	slices.SortStableFunc(relatives, func(a, b *advisory.Record) int {
		return cmp.Compare(shared[b], shared[a])
	})
	for _, r := range relatives {
		if all == nil && has(r.Template.Rule) {
			all = []Match{{r, ByRelation}}
		}
	}
	if err := renders.Exhausted(); err != nil {
		return nil, err
	}
	return distinct(all), nil
}

// distinct leaves out records that say the same: of a fault that several texts of a family share,
// the first record is named.
func distinct(all []Match) []Match {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(m Match) bool {
		key := m.Template.Rule + "\x00" + m.Template.Excerpt.Faulty
		was := seen[key]
		seen[key] = true
		return was
	})
}

// Rules declares the records as the rules of a report.
func (b *Book) Rules() []rule.Rule {
	var all []rule.Rule
	for _, r := range b.Records {
		all = append(all, rule.Rule{ID: r.ID, Name: r.Template.Rule, Severity: r.Template.Severity,
			Short: r.Summary, Damage: r.Details, Fix: mended(r)})
	}
	return all
}

// Result returns a match as the result of a template.
func (m Match) Result(src subject.Source) rule.Result {
	t := m.Template
	text := []string{m.Summary, fmt.Sprintf([]string{
		ByText:      "this is the text that %s ships",
		ByCanonical: "this is the text that %s ships, with other line ends",
		ByBehaviour: "it makes the same prompts as the text that %s ships",
		ByRelation: "it has the fault of the text that %s ships, its nearest relative that was " +
			"mended, and makes prompts of that",
	}[m.How], m.shippers())}
	if !slices.Equal(t.Engines, []string{"all"}) {
		text = append(text, "seen in: "+strings.Join(t.Engines, ", "))
	}
	if t.Excerpt.Faulty != "" {
		text = append(text, fmt.Sprintf("the model sees: %q", t.Excerpt.Faulty))
	}
	if t.Excerpt.Fixed != "" {
		text = append(text, fmt.Sprintf("mended:         %q", t.Excerpt.Fixed))
	}
	text = append(text, mended(m.Record))
	if _, err := os.Lstat(src.File); err == nil && t.Fixable {
		text = append(text, "command: assay audit --fix "+src.File)
	}
	for _, ref := range m.References {
		text = append(text, "see "+ref.URL)
	}
	status := rule.Found
	if t.Severity == rule.Error {
		status = rule.Failed
	}
	return rule.Result{Suite: src.Name, Group: "known", Name: t.Rule, Rule: m.ID, Status: status,
		Severity: t.Severity, Place: rule.Place{File: src.File}, Text: strings.Join(text, "\n")}
}

// shippers names who ships the faulty text, and how often it was fetched.
func (m Match) shippers() string {
	a := m.Affected[0]
	name := strings.TrimPrefix(a.Ranges[0].Repo, "https://huggingface.co/")
	if a.Package != nil {
		name = a.Package.Name + " " + a.Ranges[0].Events[0].Introduced
	}
	more, also := len(m.Affected)-1, ""
	if seen := m.Template.Survey; seen != nil {
		more = max(more, seen.Repositories-1)
		for _, of := range slices.Sorted(maps.Keys(seen.Downloads)) {
			also += fmt.Sprintf("; %d downloads in the month before %s", seen.Downloads[of], seen.Day)
		}
	}
	if more > 0 {
		also = fmt.Sprintf("; and %d more", more) + also
	}
	if also != "" {
		name += " (" + also[2:] + ")"
	}
	return name
}

// mended says how the fault of a record is mended.
func mended(r *advisory.Record) string {
	var ways []string
	if f := r.Template.Fixed; f != nil {
		ways = append(ways, "mended in "+f.Where)
	}
	if r.Template.Fixable {
		ways = append(ways, "`assay fix` mends it")
	}
	if ways == nil {
		return "nobody has published a mended text"
	}
	return strings.Join(ways, "; ")
}

// Caches returns the folders in which programs of this user keep models, those that are there: of
// Hugging Face (transformers and vLLM use it), llama.cpp, Ollama and LM Studio.
func Caches(getenv func(string) string, home string, isDir func(string) bool) []string {
	first := func(names ...string) string {
		i := slices.IndexFunc(names, func(name string) bool { return name != "" })
		return names[i]
	}
	under := func(dir, name string) string {
		if dir == "" {
			return ""
		}
		return path.Join(dir, name)
	}
	var dirs []string
	xdg := getenv("XDG_CACHE_HOME")
	for _, dir := range []string{
		first(getenv("HF_HUB_CACHE"), under(getenv("HF_HOME"), "hub"),
			under(xdg, "huggingface/hub"), path.Join(home, ".cache/huggingface/hub")),
		first(getenv("LLAMA_CACHE"), under(xdg, "llama.cpp"), path.Join(home, ".cache/llama.cpp")),
		path.Join(home, "Library/Caches/llama.cpp"),
		first(getenv("OLLAMA_MODELS"), path.Join(home, ".ollama/models")),
		"/usr/share/ollama/.ollama/models", // where it runs as a service of Linux
		path.Join(home, ".lmstudio/models"), path.Join(home, ".cache/lm-studio/models"),
	} {
		if isDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
