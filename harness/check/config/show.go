package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/harness/check/config/document"
)

// String returns the settings as a file would have them, each with the line that sets it.
func (s *Settings) String() string {
	var b strings.Builder
	line := func(name, value string) {
		from := s.origins[name]
		if from != "" {
			from = "  # " + from
		}
		fmt.Fprintf(&b, "%s = %s%s\n", name, value, from)
	}
	selected := s.Select
	if len(selected) == 0 {
		selected = []string{allRules}
	}
	line("select", list(selected))
	line("ignore", list(s.Ignore))
	ignores := lists.Map(s.PerFileIgnores, func(i FileIgnores) string {
		return document.Quote(i.Pattern) + " = " + list(i.Rules)
	})
	line("per-file-ignores", table(ignores))
	line("exclude", list(slices.Concat(s.Exclude, s.excludedHere)))
	weights := lists.Map(slices.Sorted(maps.Keys(s.Severities)), func(id string) string {
		return id + " = " + document.Quote(s.Severities[id].String())
	})
	line("severities", table(weights))
	line("engines", list(s.Engines))
	line("clients", list(s.Clients))
	for _, w := range []struct{ name, value string }{{"base", s.Base}, {"baseline", s.Baseline}} {
		if w.value != "" {
			line(w.name, document.Quote(w.value))
		}
	}
	line("require-tools", fmt.Sprint(s.RequireTools))
	if s.Format != "" {
		line("format", document.Quote(s.Format))
	}
	fails := s.FailOn
	if fails == "" {
		fails = severities(nil)[0]
	}
	line("fail-on", document.Quote(fails))
	return b.String()
}

func list(texts []string) string {
	quoted := lists.Map(texts, document.Quote)
	return "[" + strings.Join(quoted, ", ") + "]"
}

func table(pairs []string) string {
	if len(pairs) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}
