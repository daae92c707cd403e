package survey

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/hub/results"
)

// Count is the number of templates that something is true of, of the places that hold them, and of
// their downloads.
type Count struct {
	Templates, Places int
	Downloads         int64
}

// Summary counts the findings of lines. Its memory grows with the rules, formats and publishers,
// and not with the lines.
type Summary struct {
	Header   results.Header
	All      Count
	Verdicts map[string]*Count
	Rules    map[Finding]*Count // by rule and severity; the rest of a finding is left out
	Formats  map[string]*Count  // by digest
	First    map[string]string  // of each format the place with the most downloads
	// Classes has the differences from the base and from the census before, by Comparison.With and
	// Class: here Templates are pairs of templates.
	Classes map[[2]string]*Count
	// Publishers has the places of each owner, and those that are not Pass or NoTools.
	Publishers, Blamed map[string]*Count
	// Changes are the places whose template changed the most, those with the most downloads first.
	Changes []Change

	loaded map[string]int64 // the downloads of First
}

// Change is a place whose template is another one than at the census before, or than its base's.
type Change struct {
	Where, With, Class string
	Downloads          int64
}

// weight orders classes: breaking changes come first.
func weight(class string) int {
	return slices.Index([]string{"breaking", diff.NotCompared, "risky", Unread, "safe"}, class)
}

// change keeps a change if it is among the first ones.
func (s *Summary) change(c Change) {
	if weight(c.Class) < 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(s.Changes, c, func(a, b Change) int {
		return cmp.Or(-cmp.Compare(a.With, b.With), cmp.Compare(weight(a.Class), weight(b.Class)),
			cmp.Compare(b.Downloads, a.Downloads), cmp.Compare(a.Where, b.Where))
	})
	if s.Changes = slices.Insert(s.Changes, at, c); len(s.Changes) > mostChanges {
		s.Changes = s.Changes[:mostChanges]
	}
}

// NewSummary returns a summary of a file with that header.
func NewSummary(h results.Header) *Summary {
	return &Summary{Header: h, Verdicts: map[string]*Count{}, Rules: map[Finding]*Count{},
		Formats: map[string]*Count{}, First: map[string]string{}, loaded: map[string]int64{},
		Classes:    map[[2]string]*Count{},
		Publishers: map[string]*Count{}, Blamed: map[string]*Count{}}
}

// add adds one template to the count of a key.
func add[K comparable](counts map[K]*Count, key K, one Count) {
	c := counts[key]
	if c == nil {
		c = new(Count)
		counts[key] = c
	}
	c.Templates += one.Templates
	c.Places += one.Places
	c.Downloads += one.Downloads
}

// Add counts a line.
func (s *Summary) Add(line Line) {
	one := Count{Templates: 1, Places: len(line.Entries)}
	downloads, owners := map[string]int64{}, map[string]bool{}
	for _, e := range line.Entries {
		one.Downloads += e.Downloads
		downloads[e.Where] += e.Downloads
		owner, _, _ := strings.Cut(e.Where, "/")
		place := Count{Places: 1, Downloads: e.Downloads}
		if !owners[owner] {
			place.Templates, owners[owner] = 1, true
		}
		add(s.Publishers, owner, place)
		if line.Verdict != Pass && line.Verdict != NoTools {
			add(s.Blamed, owner, place)
		}
	}
	s.All.Templates++
	s.All.Places += one.Places
	s.All.Downloads += one.Downloads
	add(s.Verdicts, line.Verdict, one)
	if line.Format != "" {
		add(s.Formats, line.Format, one)
		for _, e := range line.Entries {
			first, there := s.First[line.Format]
			if loaded := s.loaded[line.Format]; !there || e.Downloads > loaded ||
				e.Downloads == loaded && e.Where < first {
				s.First[line.Format], s.loaded[line.Format] = e.Where, e.Downloads
			}
		}
	}
	seen := map[Finding]bool{}
	for _, f := range line.Findings {
		key := Finding{Rule: f.Rule, Severity: f.Severity}
		if !seen[key] {
			add(s.Rules, key, one)
		}
		seen[key] = true
	}
	for _, c := range line.Against {
		pair := Count{Templates: 1, Places: len(c.Where)}
		for _, where := range c.Where {
			pair.Downloads += downloads[where]
			s.change(Change{Where: where, With: c.With, Class: c.Class,
				Downloads: downloads[where]})
		}
		add(s.Classes, [2]string{c.With, c.Class}, pair)
	}
}

// Unread returns how many templates could not be read.
func (s *Summary) Unread() int {
	if c := s.Verdicts[Unread]; c != nil {
		return c.Templates
	}
	return 0
}

// byDownloads returns the keys of counts, those with the most downloads first.
func byDownloads[K comparable](counts map[K]*Count, name func(K) string) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b].Downloads, counts[a].Downloads),
			cmp.Compare(counts[b].Places, counts[a].Places), cmp.Compare(name(a), name(b)))
	})
}

// most bounds the lines of each table of a text, mostChanges those that are kept.
const (
	most        = 20
	mostChanges = 500
)

// Text writes the summary for people.
func (s *Summary) Text(w io.Writer) error {
	t := &table{w: w}
	t.printf("manifest %.16s: %d templates in %d places, %d downloads\n", s.Header.Manifest,
		s.All.Templates, s.All.Places, s.All.Downloads)
	if len(s.Header.Parts) < s.Header.Of {
		t.printf("%d of %d shards\n", len(s.Header.Parts), s.Header.Of)
	}
	t.head("verdict")
	for _, v := range []string{Pass, NoTools, Fail, NotJudged, Unread} {
		if c := s.Verdicts[v]; c != nil {
			t.row(v, c)
		}
	}
	rows(t, "finding", s.Rules, func(f Finding) string { return f.Rule + " " + f.Severity })
	for _, with := range []struct{ word, title string }{{Base, "differs from its base"},
		{Before, "differs from before"}} {
		classes := map[string]*Count{}
		for key, c := range s.Classes {
			if key[0] == with.word {
				classes[key[1]] = c
			}
		}
		rows(t, with.title, classes, func(class string) string { return class })
	}
	if len(s.Changes) > 0 {
		t.printf("\n%-*s %s\n", nameWidth, "place", "differs from")
	}
	for _, c := range s.Changes[:min(most, len(s.Changes))] {
		t.printf("%-*s %s: %s\n", nameWidth, c.Where, c.With, c.Class)
	}
	rows(t, "format", s.Formats, func(digest string) string { return digest[:16] })
	rows(t, "publisher of templates that fail", s.Blamed, func(owner string) string {
		return fmt.Sprintf("%s (of %d)", owner, s.Publishers[owner].Places)
	})
	return t.err
}

// nameWidth is the width of the first column.
const nameWidth = 44

// table writes tables, and remembers the first error.
type table struct {
	w   io.Writer
	err error
}

func (t *table) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *table) head(title string) {
	t.printf("\n%-*s %9s %9s %12s\n", nameWidth, title, "templates", "places", "downloads")
}

func (t *table) row(name string, c *Count) {
	t.printf("%-*s %9d %9d %12d\n", nameWidth, name, c.Templates, c.Places, c.Downloads)
}

// rows writes a table of counts, those with the most downloads first. Without counts there is none.
func rows[K comparable](t *table, title string, counts map[K]*Count, name func(K) string) {
	if len(counts) == 0 {
		return
	}
	t.head(title)
	keys := byDownloads(counts, name)
	for _, key := range keys[:min(most, len(keys))] {
		t.row(name(key), counts[key])
	}
	if len(keys) > most {
		t.printf("and %d more\n", len(keys)-most)
	}
}
