package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// Filter applies settings to the results of a check.
type Filter struct {
	*Settings
	rules   map[string]rule.Rule
	ignored map[string]bool
}

// Filter returns the filter of settings for the results of some rules.
func (s *Settings) Filter(rules []rule.Rule) *Filter {
	f := &Filter{s, map[string]rule.Rule{}, map[string]bool{}}
	for _, r := range rules {
		f.rules[r.ID] = r
		selected := 1
		if len(s.Select) > 0 {
			selected = closest(s.Select, r)
		}
		f.ignored[r.ID] = closest(s.Ignore, r) >= max(1, selected) || selected == 0
	}
	return f
}

// Apply returns the results without those of ignored rules, and with the severities that are set.
func (f *Filter) Apply(results []rule.Result) []rule.Result {
	kept := results[:0:0]
	for _, res := range results {
		if !f.drops(&res) {
			f.weigh(&res)
			kept = append(kept, res)
		}
	}
	return kept
}

// drops reports whether a result is left out.
func (f *Filter) drops(res *rule.Result) bool {
	if f.ignored[res.Rule] {
		return true
	}
	r, known := f.rules[res.Rule]
	file := res.Place.File
	if file == "" {
		file, _, _ = strings.Cut(res.Suite, "#")
	}
	return known && slices.ContainsFunc(f.PerFileIgnores, func(i FileIgnores) bool {
		return closest(i.Rules, r) > 0 && matches(i.Pattern, relative(f.Dir, file))
	})
}

// weigh gives a finding the severity that is set for its rule. One that is known, or old, stays as
// it is.
func (f *Filter) weigh(res *rule.Result) {
	severity, set := f.Severities[res.Rule]
	switch {
	case !set || res.Old || res.Status == rule.Passed || res.Status == rule.Known:
	case res.Status == rule.Unjudged:
		res.Severity = severity
	default:
		res.Severity, res.Status = severity, severity.Status()
	}
}

// relative is the path of a file from a folder, with slashes; one that is no path of this machine
// stays as it is.
func relative(dir, file string) string {
	abs, err := filepath.Abs(file)
	if err == nil && dir != "" && !strings.Contains(file, "://") {
		if rel, err := filepath.Rel(dir, abs); err == nil {
			file = rel
		}
	}
	return filepath.ToSlash(filepath.Clean(file))
}
