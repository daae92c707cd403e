package fix

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/rule"
)

// offerSteps bounds the search for patches that nobody asked for; 54 of 55 offers for vendors'
// templates take fewer steps.
const offerSteps = 1_500_000

// Offering returns the limits of a search that somebody waits for who did not ask for it.
func Offering(l engine.Limits) engine.Limits {
	if l.TotalSteps == 0 || l.TotalSteps > offerSteps {
		l.TotalSteps = offerSteps
	}
	return l
}

// Offers returns the ids of the rules for whose findings patches are looked for that nobody asked
// for.
func Offers() []string { return rulesOf(func(k kindOf) bool { return !k.asked }) }

// Mark notes at the findings that a patch does away with that it mends them, and what it writes.
func (m *Mended) Mark(results []*rule.Result) {
	for _, res := range results {
		i := slices.IndexFunc(m.Patches, func(p Patch) bool { return p.Mends(res) })
		if i >= 0 {
			res.Fixable = true
			res.Text += "\nhelp: `assay fix " + m.Source.File + "` writes\n" +
				inline(m.Patches[i].Diff(m.Source.Name))
		}
	}
}

// inline is the changed lines of a unified diff, the first ones of many.
func inline(diff string) string {
	const most = 6
	var lines []string
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if (strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+")) &&
			!strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "+++ ") {
			lines = append(lines, line)
		}
	}
	if len(lines) > most {
		lines = append(lines[:most], "  ...")
	}
	return strings.Join(lines, "\n")
}
