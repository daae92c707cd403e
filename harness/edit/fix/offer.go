package fix

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/source"
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

// Mark notes at the findings that a patch does away with that it mends them, and what it writes, in
// place of what the rule says to do.
func (m *Mended) Mark(results []*rule.Result) {
	for _, res := range results {
		i := slices.IndexFunc(m.Patches, func(p Patch) bool { return p.Mends(res) })
		if i >= 0 {
			res.Fixable = true
			res.Advise("`assay fix " + m.Source.File + "` writes\n" +
				inline(m.Patches[i].Diff(m.Source.Name)))
		}
	}
}

// inline is the changed lines of a unified diff, the first ones of many. Of a long line that is
// changed in place it has what stands around the change: templates of one line are common.
func inline(diff string) string {
	const most = 12
	var lines []string
	var was, is []string
	flush := func() {
		if len(was) == len(is) {
			var before, after []string
			for i := range was {
				one, other := around(was[i], is[i])
				if one[1:] != other[1:] { // the diff repeats lines that others are like
					before, after = append(before, one), append(after, other)
				}
			}
			was, is = before, after
		}
		lines = append(append(lines, was...), is...)
		was, is = nil, nil
	}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "),
			strings.HasPrefix(line, `\ No newline`):
		case strings.HasPrefix(line, "-"):
			if len(is) > 0 {
				flush()
			}
			was = append(was, line)
		case strings.HasPrefix(line, "+"):
			is = append(is, line)
		default:
			flush()
		}
	}
	flush()
	if len(lines) > most {
		lines = append(lines[:most], "  ...")
	}
	return strings.Join(lines, "\n")
}

// around cuts two lines of a diff, of which one replaces the other, down to where they differ.
func around(was, is string) (string, string) {
	const long, beside, changed = 90, 30, 300 // bytes
	if max(len(was), len(is)) <= long {
		return was, is
	}
	head := source.CommonPrefix(was[1:], is[1:])
	tail := source.CommonSuffix(was[1+len(head):], is[1+len(head):])
	end := source.Head(tail, beside)
	if len(end) < len(tail) {
		end += "..."
	}
	cut := func(line string) string {
		middle := line[1+len(head) : len(line)-len(tail)]
		return line[:1] + source.CutFront(head, beside) + source.CutMiddle(middle, changed) + end
	}
	return cut(was), cut(is)
}
