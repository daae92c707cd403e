package conditions

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/harness/check/fact/conditional"
	"github.com/goassay/assay/harness/check/fact/exploration"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// ThresholdNotExercised is the rule A141: a condition on a number had the same outcome in all
// requests that were tried, long ones too, or none of these wrote a sentence that the template
// chooses as a value.
var ThresholdNotExercised = &probe.Rule{
	Rule: rule.Rule{
		ID: "A141", Name: "threshold-not-exercised", Severity: rule.Warning, Harm: rule.Style,
		Short: "No request that was tried decides a condition on a number both ways, or brings " +
			"one of the template's texts.",
		Damage: "Nobody has seen the prompt beyond the threshold, or with that text.",
		Fix: "Read the lines that the condition guards, and try a request of that size. `assay " +
			"coverage` shows what reaches them.",
	},
	Sized: true,
	Find:  prompts.IfHeard(checkThresholds),
}

// checkThresholds looks for conditions on numbers that no request decided both ways: those of the
// grammar, long ones, and where these miss one those of the search. A comparison in no condition
// tells nobody how it went.
func checkThresholds(s *probe.Subject, find probe.Finder) {
	thresholds := thresholds(s)
	coverage := &growth.Requests.Of(s).Coverage
	missed := func() (all []threshold) {
		for _, t := range thresholds {
			if t.site >= 0 && onlyWay(s, coverage, t) != "" {
				all = append(all, t)
			}
		}
		return all
	}
	if len(missed()) > 0 {
		coverage.Add(&exploration.Reached.Of(s).Coverage)
	}
	for _, t := range missed() {
		find(t.at, "%s: read what it decides\ntried: up to %d messages, calls and tools, texts "+
			"of %d bytes", onlyWay(s, coverage, t), growth.ManyOf, growth.LongText)
	}
	if texts := unwritten(s); len(texts) > 0 {
		var places []probe.Where
		for _, c := range texts {
			places = append(places, probe.Offset(c.Off))
		}
		find := probe.NoteIf(hasVariable(s, texts[0].Off), find)
		find(probe.Offset(texts[0].Off),
			"no request that was tried makes the template write this text: see what it waits for\n"+
				"the text: %s%s",
			report.Quote(texts[0].Text, conditional.Lead),
			conditional.Others(s, places))
	}
	if growth.Requests.Of(s).Cut {
		probe.Weigh(find, rule.Note)(probe.Nowhere, "the template compares more numbers than "+
			"requests were tried: read what they decide")
	}
	for _, t := range thresholds {
		if t.site < 0 {
			find(t.at, "no request that was tried shows the effect of this comparison with a number: "+
				"read what it decides")
		}
	}
}

// unwritten returns the sentences that the template chooses as values, and that neither the
// conversations of the grammar nor those of the search make it write.
func unwritten(s *probe.Subject) (all []flow.String) {
	t := s.Template.ChatTemplate()
	sites := map[int]int{}
	for i, site := range t.Sites() {
		if site.Kind == flow.SiteText {
			sites[site.Off] = i
		}
	}
	if len(sites) == 0 {
		return nil
	}
	var wanted []flow.String
	for c := range s.Flow().Strings() {
		if _, ok := sites[c.Off]; ok && isSentence(c.Text) {
			wanted = append(wanted, c)
		}
	}
	var written jinja.Coverage
	missed := func(c flow.String) bool {
		return !written.Reached(sites[c.Off], flow.Written)
	}
	for _, talk := range prompts.All.Of(s) {
		if !slices.ContainsFunc(wanted, missed) {
			return nil
		}
		var one jinja.Coverage
		_, _ = t.Cover(talk.In, &one, &written)
		written.Add(&one)
	}
	written.Add(&exploration.Reached.Of(s).Coverage)
	proofs := s.Source.Unreachable()
	for _, c := range wanted {
		_, proven := proofs[reach.Outcome{Kind: flow.SiteText, Off: c.Off, Outcome: flow.Written}]
		if missed(c) && !proven {
			all = append(all, c)
		}
	}
	return all
}

// hasVariable reports whether a variable that this template alone has decides whether a text is
// written: whoever uses the template knows its values.
func hasVariable(s *probe.Subject, off int) bool {
	names := s.Flow().Slice(flow.Decision{Kind: flow.SiteText, Off: off}).Names
	return slices.ContainsFunc(s.Template.ChatTemplate().Names(), func(name string) bool {
		return names[name] && !slices.Contains(probe.Variables, name)
	})
}

// isSentence reports whether a text has a phrase in one of its lines.
func isSentence(text string) bool {
	for line := range strings.Lines(text) {
		if len(conditional.PhrasesOf(line)) > 0 {
			return true
		}
	}
	return false
}

// onlyWay describes how a decision went for all requests; "" where it went both ways.
func onlyWay(s *probe.Subject, coverage *jinja.Coverage, t threshold) string {
	yes, no := coverage.Reached(t.site, flow.True), coverage.Reached(t.site, flow.False)
	if s.Template.ChatTemplate().Sites()[t.site].Kind == flow.SiteFor {
		if coverage.Reached(t.site, flow.Entered) {
			return ""
		}
		return "no request that was tried enters this loop over a part that a number names"
	}
	switch {
	case yes && no:
		return ""
	case yes:
		return "this condition on a number was true in all requests that were tried"
	case no:
		return "this condition on a number was false in all requests that were tried"
	}
	return "no request that was tried reaches this condition on a number"
}

// threshold is a comparison with a number.
type threshold struct {
	site int // the decision that it is in the condition of; -1: none
	at   probe.Where
}

// thresholds returns the decisions whose condition names a number that short requests may not come
// to, and the comparisons with such a number that are in no condition.
func thresholds(s *probe.Subject) (all []threshold) {
	conditions, loose := s.Flow().Thresholds(growth.LeastNumber)
	for _, off := range loose {
		all = append(all, threshold{-1, probe.Offset(off)})
	}
	for i, site := range s.Template.ChatTemplate().Sites() {
		if conditions[site.Test] {
			all = append(all, threshold{i, probe.Offset(site.Off)})
		}
	}
	return all
}
