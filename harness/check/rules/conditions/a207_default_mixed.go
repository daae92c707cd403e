package conditions

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// DefaultMixed is the rule A207: a request that does not set a switch gets what one value of the
// switch brings at one place of the prompt, and what another value brings at the next.
var DefaultMixed = &probe.Rule{
	Rule: rule.Rule{
		ID: "A207", Name: "default-mixed", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A request that does not set a switch gets what one value of the switch brings at " +
			"one place of the prompt, and what another value brings at the next.",
		Damage: "The prompt contradicts itself: the instructions ask for no thinking, and its end " +
			"opens it. No value of the switch gives such a prompt, and no training had it.",
		Fix: "Give the switch its default once, at the top: {%- set enable_thinking = " +
			"enable_thinking | default(true) %}.",
	},
	Find: checkMixed,
}

// checkMixed compares prompts without a switch with those that have one of its values. A template
// may write something for each value and nothing without one: then the prompt without it is the
// shortest.
func checkMixed(s *probe.Subject, find probe.Finder) {
	if s.Template.Caps().Needs.Bound != nil {
		return
	}
	var plain []probe.Rendering
	for _, talk := range [][]ordered.Value{sample.Talk(sample.User),
		sample.Talk(sample.System, sample.User),
		sample.Talk(sample.User, sample.Thinking, sample.LaterUser)} {
		if unset, err := s.Fitted(talk, false, true); err == nil {
			plain = append(plain, unset)
		}
	}
	for _, v := range growth.SwitchesOf(s) {
		for _, unset := range plain {
			if findMixed(s, find, v, unset) {
				break
			}
		}
	}
}

func findMixed(s *probe.Subject, find probe.Finder, values []ordered.Member,
	unset probe.Rendering) bool {
	var texts []string
	for _, v := range values {
		with, _ := s.With(unset, v) // no text where it fails
		texts = append(texts, with.Text)
	}
	if slices.Contains(texts, unset.Text) {
		return false
	}
	for i, a := range texts {
		for j, b := range texts {
			if at := seam(unset.Text, a, b); at >= 0 {
				find(unset.At(at), "without %s the prompt begins as with the value %[2]s and goes "+
					"on as with %[3]s\nthe model sees: %[4]s\nwith %[2]s: %[5]s\nwith %[3]s: %[6]s",
					values[i].Key, values[i].Value, values[j].Value, report.Quote(unset.Text, at),
					report.Quote(a, at), report.Quote(b, max(0, len(b)-len(unset.Text)+at)))
				return true
			}
		}
	}
	return false
}

// seam is where a text that begins as another one and ends as a third is no longer as the first of
// them; -1 where it is not made of the two. What all have in common is more than a blank.
func seam(text, a, b string) int {
	same, end := len(source.CommonPrefix(text, a)), len(source.CommonSuffix(text, b))
	if len(text) <= min(len(a), len(b)) || same+end <= len(text) ||
		len(strings.TrimSpace(text[len(text)-end:same])) < leastCommon {
		return -1
	}
	return same
}

// leastCommon bounds from below what two prompts have in common between two places at which they
// differ: less may be chance.
const leastCommon = 6
