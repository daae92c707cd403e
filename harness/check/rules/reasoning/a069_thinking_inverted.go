package reasoning

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
)

// ThinkingInverted is the rule A069: with thinking off the prompt opens reasoning, and with
// thinking on, or without the switch, it does not.
var ThinkingInverted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A069", Name: "thinking-inverted", Severity: rule.Error, Harm: rule.Changed,
		Short: "With thinking off the prompt opens the reasoning block; with thinking on, or by " +
			"default, it does not.",
		Damage: "A client that switches thinking off pays for it, and one that switches it on " +
			"does not get it.",
		Fix: "Exchange the two branches.",
	},
	Find: checkInverted,
}

// checkInverted asks which setting of thinking leaves reasoning open at the end of the prompt.
func checkInverted(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	if r.Open.Text == "" || r.Close.Text == "" {
		return
	}
	yes, no := true, false
	on, err1 := reason.PlainQuestion(s, &yes, true)
	off, err2 := reason.PlainQuestion(s, &no, true)
	for _, err := range []error{err1, err2} {
		if err != nil && !probe.Worded(err) { // else the switch is refused, which inverts nothing
			probe.Unjudged(find, err)
		}
	}
	if err1 != nil || err2 != nil {
		return
	}
	opened := func(p probe.Rendering) bool {
		return strings.LastIndex(p.Text, r.Open.Text) > strings.LastIndex(p.Text, r.Close.Text)
	}
	if unset, err := reason.PlainQuestion(s, nil, true); err == nil && opened(off) &&
		!opened(unset) {
		at := report.Parting(off.Text, unset.Text)
		find(off.At(at), "with thinking off the prompt opens reasoning, and without the "+
			"switch it does not\n- off:   %s\n+ unset: %s", report.Quote(off.Text, at),
			report.Quote(unset.Text, at))
		return
	}
	if on.Text == off.Text {
		return
	}
	closed := func(p probe.Rendering) bool {
		return strings.LastIndex(p.Text, r.Close.Text) > strings.LastIndex(p.Text, "USERNEEDLE")
	}
	if opened(off) && !opened(on) || closed(on) && !closed(off) {
		at := report.Parting(on.Text, off.Text)
		find(on.At(at), "the switch for thinking works the wrong way\n- on:  %s\n+ off: %s",
			report.Quote(on.Text, at), report.Quote(off.Text, at))
	}
}
