// Package config holds the settings of a check: those of assay.toml, or of [tool.assay] in
// pyproject.toml, found upwards from the file that is judged.
//
// # Model
//
// [Settings] are one file's settings. A [Finder] finds the file for a template, once for each
// folder, and reads it: the table of settings in this package is the decoder's and the schema's
// ([Schema]) alike. A [Filter] applies settings to the results of a check.
//
// # Patterns
//
// exclude and the keys of per-file-ignores are patterns of paths relative to the folder of the
// settings: * stands for a part of a name, ** for any number of folders. A pattern without a slash
// is one of a name, of the file's or of a folder above it. A pattern that matches a folder matches
// all below it.
//
// # Errors
//
// Every wrong setting is a [source.Error]: where it stands, what is expected there, and the likely
// meaning of a misspelt word. [Errors] has all those of a file.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package config

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/clients"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/report"
)

// The files that hold settings.
const (
	FileName  = "assay.toml"
	Pyproject = "pyproject.toml" // in its table tool.assay
)

// The values of fail-on beside the severities.
const Never = "never" // whatever is found

// Settings are the settings of the templates in a folder and below it. The zero value has the
// defaults.
type Settings struct {
	Select         []string // selectors of the rules that run; empty: all
	Ignore         []string // selectors of the rules whose findings are left out
	PerFileIgnores []FileIgnores
	Exclude        []string // patterns of files that are not judged
	Severities     map[string]rule.Severity
	Engines        []string // those that the templates are for; empty: all
	Clients        []string // those whose requests are tried
	Base           string   // a commit to compare with
	Baseline       string   // the path of the file of accepted findings
	RequireTools   bool
	Format         string
	FailOn         string // the least severity that fails, or Never; "": error

	File string // where they stand; "": nowhere, they are the defaults
	Dir  string // the folder that patterns are relative to, absolute

	origins      map[string]string // where each is set that is: "assay.toml:3", or a flag
	excludedHere []string          // patterns relative to the working folder
	baselineHere bool              // the path of the baseline is relative to it, too
}

// FileIgnores are the rules whose findings are left out of some files.
type FileIgnores struct {
	Pattern string
	Rules   []string // selectors
}

// Vocabulary has the words that settings may hold.
type Vocabulary struct {
	Rules                     []rule.Rule
	Engines, Clients, Formats []string
}

// Words returns the words of this program.
func Words() *Vocabulary {
	v := &Vocabulary{Rules: slices.Concat(check.Rules(), diff.Rules()), Formats: report.Forms,
		Clients: append(clients.Names(), AllClients)}
	for _, one := range view.Views() {
		if !slices.Contains(v.Engines, one.Engine) {
			v.Engines = append(v.Engines, one.Engine)
		}
	}
	return v
}

// AllClients is the client that means every client.
const AllClients = "all"

// named are the words that select rules.
func (v *Vocabulary) named() []string {
	var names []string
	for _, r := range v.Rules {
		names = append(names, r.ID, r.Name)
	}
	return append(names, allRules)
}

// allRules is the selector of every rule.
const allRules = "all"

// Selects reports how closely a selector names a rule: 0 not at all, 1 with all others, more the
// more of its id it has. A selector is an id, the beginning of one, a name, or "all".
func Selects(selector string, r rule.Rule) int {
	switch {
	case strings.EqualFold(selector, allRules):
		return 1
	case selector == r.Name || strings.EqualFold(selector, r.ID):
		return 2 + len(r.ID)
	case selector != "" && len(selector) < len(r.ID) &&
		strings.EqualFold(selector, r.ID[:len(selector)]):
		return 1 + len(selector)
	}
	return 0
}

// closest is how closely the best of some selectors names a rule.
func closest(selectors []string, r rule.Rule) int {
	best := 0
	for _, s := range selectors {
		best = max(best, Selects(s, r))
	}
	return best
}

// Chosen returns the ids of the rules that run: those that are selected more closely than ignored.
// nil stands for all.
func (s *Settings) Chosen(rules []rule.Rule) []string {
	if len(s.Select) == 0 {
		return nil
	}
	ids := []string{}
	for _, r := range rules {
		if by := closest(s.Select, r); by > 0 && by > closest(s.Ignore, r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Excludes reports whether a file, or a folder, is not to be judged, and by which pattern.
func (s *Settings) Excludes(file string) (pattern string, excluded bool) {
	first := func(patterns []string, dir string) (string, bool) {
		name := relative(dir, file)
		i := slices.IndexFunc(patterns, func(p string) bool { return matches(p, name) })
		if i < 0 {
			return "", false
		}
		return patterns[i], true
	}
	if pattern, excluded = first(s.Exclude, s.Dir); excluded {
		return pattern, true
	}
	return first(s.excludedHere, here())
}

// matches reports whether a pattern matches a path with slashes, or a folder above it.
func matches(pattern, name string) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	for name != "." && name != "/" && name != "" {
		part := name
		if !strings.Contains(pattern, "/") {
			part = path.Base(name)
		}
		if ok, err := doublestar.Match(pattern, part); ok && err == nil {
			return true
		}
		name = path.Dir(name)
	}
	return false
}

// Origin is where a setting is set: a line of a file, or a flag; "" where it is not.
func (s *Settings) Origin(name string) string { return s.origins[name] }

// Errors are the wrong settings of a file.
type Errors []*source.Error

// most bounds the errors that are told of one file.
const most = 20

func (e Errors) Error() string {
	var texts []string
	for i, one := range e {
		if i == most {
			texts = append(texts, "and more")
			break
		}
		texts = append(texts, one.Detail())
	}
	return strings.Join(texts, "\n")
}
