package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Overrides are settings that a command line gives for every file.
type Overrides struct {
	Select       []string // in the place of select and ignore
	Ignore       []string // beside ignore
	Exclude      []string // beside exclude, relative to the working folder
	Clients      []string // in the place of clients
	Base         string
	Format       string
	FailOn       string
	Baseline     string
	RequireTools bool
}

// added are the settings that a command line adds to.
var added = []string{"ignore", "exclude"}

// With returns the settings with those of a command line.
func (s *Settings) With(o Overrides) *Settings {
	n := *s
	n.origins = maps.Clone(s.origins)
	if n.origins == nil {
		n.origins = map[string]string{}
	}
	by := func(name string, given bool) bool {
		if before := n.origins[name]; given && before != "" && slices.Contains(added, name) {
			n.origins[name] = before + ", --" + name
		} else if given {
			n.origins[name] = "--" + name
		}
		return given
	}
	if by("select", len(o.Select) > 0) {
		n.Select, n.Ignore = o.Select, nil
		delete(n.origins, "ignore")
	}
	if by("ignore", len(o.Ignore) > 0) {
		n.Ignore = slices.Concat(n.Ignore, o.Ignore)
	}
	if by("clients", len(o.Clients) > 0) {
		n.Clients = o.Clients
	}
	if by("baseline", o.Baseline != "") {
		n.Baseline, n.baselineHere = o.Baseline, true
	}
	if by("exclude", len(o.Exclude) > 0) {
		n.excludedHere = o.Exclude
	}
	n.RequireTools = by("require-tools", o.RequireTools) || n.RequireTools
	for _, w := range []struct {
		name, value string
		set         *string
	}{{"base", o.Base, &n.Base}, {"format", o.Format, &n.Format},
		{"fail-on", o.FailOn, &n.FailOn}} {
		if by(w.name, w.value != "") {
			*w.set = w.value
		}
	}
	return &n
}

// BaselineFile is the path of the baseline, "" where there is none.
func (s *Settings) BaselineFile() string {
	if s.Baseline == "" || s.baselineHere || filepath.IsAbs(s.Baseline) {
		return s.Baseline
	}
	file := filepath.Join(s.Dir, filepath.FromSlash(s.Baseline))
	if rel, err := filepath.Rel(here(), file); err == nil {
		return rel
	}
	return file
}

// Check returns an error where a selector of a command line names no rule, or a pattern is none.
func (v *Vocabulary) Check(o Overrides) error {
	for _, flag := range []struct {
		name  string
		words []string
		of    vocable
	}{{"--select", o.Select, ruleWord}, {"--ignore", o.Ignore, ruleWord},
		{"--exclude", o.Exclude, pattern}} {
		for _, text := range flag.words {
			if err := v.wrong(flag.name, text, flag.of); err != nil {
				return err
			}
		}
	}
	return nil
}

// here is the working folder, which the patterns of a command line are relative to.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
