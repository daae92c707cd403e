// Package baseline keeps the findings that a project accepts for now, by path and rule, so that a
// check fails on new ones alone.
//
// # Model
//
// A [Baseline] is a file of TOML: a table for each template, named by its path from the folder of
// the file, with the number of findings of each rule, or the number with the reason:
//
//	["models/one/chat_template.jinja"]
//	A013 = 2
//	A021 = { count = 1, reason = "the model was trained so" }
//
// [Baseline.Settle] marks that many findings as no news. A number that is too high is an error, so
// that the file says what is there and only shrinks.
//
// # Errors
//
// Wrong entries are [source.Error]s, with their places.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package baseline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/config/document"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/spelling"
)

// Baseline holds the accepted findings of templates.
type Baseline struct {
	File    string // its path, as it is named
	entries map[key]entry
}

// key is what findings are accepted by.
type key struct{ path, rule string }

// entry is how many are accepted, and why.
type entry struct {
	count  int
	reason string
	place  rule.Place
}

// New returns an empty baseline that is to be a file.
func New(file string) *Baseline { return &Baseline{File: file, entries: map[key]entry{}} }

// Parse reads the text of a baseline. Its rules are some of those given.
func Parse(src *source.Source, rules []rule.Rule) (*Baseline, error) {
	root, err := document.Parse(src)
	if err != nil {
		return nil, err
	}
	b := New(src.Name)
	book := rule.Book{Rules: rules}
	for _, file := range root.Keys {
		if file.Value.Kind != document.Table {
			return nil, source.Errorf(src, file.Off, "%s is %s, expected a table named by the path "+
				"of a template, with numbers of findings by rules", file.Name, file.Value.Kind)
		}
		for _, of := range file.Value.Keys {
			r, ok := book.Lookup(of.Name)
			if !ok {
				ids := lists.Map(rules, func(r rule.Rule) string { return r.ID })
				return nil, source.Errorf(src, of.Off, "there is no rule %q%s", of.Name,
					spelling.Meant(of.Name, ids))
			}
			e, err := entryOf(src, of)
			if err != nil {
				return nil, err
			}
			e.place = rule.At(src.Name, src, of.Off)
			b.entries[key{file.Name, r.ID}] = e
		}
	}
	return b, nil
}

// entryOf reads what a file says of a rule.
func entryOf(src *source.Source, of document.Key) (e entry, err error) {
	count := of.Value
	if of.Value.Kind == document.Table {
		count = of.Value.Field("count")
		for _, k := range of.Value.Keys {
			switch {
			case k.Name == "count":
			case k.Name == "reason" && k.Value.Kind == document.Text:
				e.reason = k.Value.Text
			default:
				return e, source.Errorf(src, k.Off, "%s: expected count = NUMBER and reason = "+
					"\"TEXT\", found %s", of.Name, k.Name)
			}
		}
	}
	if count == nil {
		return e, source.Errorf(src, of.Off, "%s: the count is missing", of.Name)
	}
	if e.count, err = strconv.Atoi(count.Text); count.Kind != document.Number || err != nil ||
		e.count < 1 {
		return e, source.Errorf(src, count.Off, "%s: expected a number of findings from 1, or "+
			"{ count = NUMBER, reason = \"TEXT\" }", of.Name)
	}
	return e, nil
}

// Path is how the baseline names a template: by its path from the folder of the file, with slashes.
// What is no file of this machine keeps its name.
func (b *Baseline) Path(suite string) string {
	if strings.HasPrefix(suite, "hf:") || strings.Contains(suite, "://") || suite == "-" {
		return suite
	}
	from, err := filepath.Abs(filepath.Dir(b.File))
	if err != nil {
		return suite
	}
	to, err := filepath.Abs(suite)
	if err != nil {
		return suite
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(suite)
}

// Settle marks accepted findings as known, or as old where they do not fail, and returns an error
// for each entry that accepts more than there are, of the templates that were judged. The rules of
// exempt must hold whatever the file says.
func (b *Baseline) Settle(results []rule.Result, exempt ...string) []rule.Result {
	left := map[key]int{}
	judged, unjudged := map[key]bool{}, map[key]bool{}
	for i := range results {
		res := &results[i]
		k := key{b.Path(res.Suite), res.Rule}
		e, accepted := b.entries[k]
		if !accepted || slices.Contains(exempt, res.Rule) {
			continue
		}
		if !judged[k] {
			judged[k], left[k] = true, e.count
		}
		unjudged[k] = unjudged[k] || res.Status == rule.Unjudged
		if res.News() && left[k] > 0 {
			left[k]--
			b.settle(res, e)
		}
	}
	var stale []rule.Result
	for k, e := range b.entries {
		if judged[k] && left[k] > 0 && !unjudged[k] {
			stale = append(stale, rule.Result{Suite: b.File, Group: "baseline", Name: k.rule,
				Status: rule.Failed, Severity: rule.Error, Place: e.place,
				Text: fmt.Sprintf("of %s in %s, %d of the %d findings that the baseline accepts "+
					"are gone; write it anew (--write-baseline %s)", k.rule, k.path, left[k],
					e.count, b.File)})
		}
	}
	slices.SortFunc(stale, func(x, y rule.Result) int {
		return strings.Compare(x.Text, y.Text)
	})
	return stale
}

// settle marks a finding that is accepted.
func (b *Baseline) settle(res *rule.Result, e entry) {
	if !res.Bad() {
		res.Old = true
		return
	}
	res.Status, res.Severity = rule.Known, rule.Note
	if e.reason != "" {
		res.Text = e.reason
	} else {
		res.Text += "\nThe baseline has it."
	}
}

// Take makes the entries of the templates that were judged say what was found, from a severity on;
// reasons stay.
func (b *Baseline) Take(results []rule.Result, least rule.Severity, exempt ...string) {
	found := map[key]entry{}
	for i := range results {
		res := &results[i]
		k := key{b.Path(res.Suite), res.Rule}
		if res.Rule == "" || slices.Contains(exempt, res.Rule) {
			continue
		}
		e := found[k]
		if res.Status != rule.Passed && (res.Bad() || res.Level() >= least) {
			e.count++
		}
		e.reason = b.entries[k].reason
		found[k] = e
	}
	for k, e := range found {
		if delete(b.entries, k); e.count > 0 {
			b.entries[k] = e
		}
	}
}

// Counts returns how many findings of how many templates the baseline accepts.
func (b *Baseline) Counts() (findings, templates int) {
	paths := map[string]bool{}
	for k, e := range b.entries {
		findings += e.count
		paths[k.path] = true
	}
	return findings, len(paths)
}

// String is the text of the file.
func (b *Baseline) String() string {
	var text strings.Builder
	text.WriteString("# Findings that `assay check` accepts: of each template by its path from here, " +
		"how many of\n# each rule. `assay check --write-baseline` writes this file.\n")
	keys := make([]key, 0, len(b.entries))
	for k := range b.entries {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y key) int {
		return strings.Compare(x.path+"\x00"+x.rule, y.path+"\x00"+y.rule)
	})
	for i, k := range keys {
		if i == 0 || keys[i-1].path != k.path {
			fmt.Fprintf(&text, "\n[%s]\n", document.Quote(k.path))
		}
		if e := b.entries[k]; e.reason == "" {
			fmt.Fprintf(&text, "%s = %d\n", k.rule, e.count)
		} else {
			fmt.Fprintf(&text, "%s = { count = %d, reason = %s }\n", k.rule, e.count,
				document.Quote(e.reason))
		}
	}
	return text.String()
}
