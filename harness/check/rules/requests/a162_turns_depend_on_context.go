package requests

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/harness/check/fact/exploration"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
	"github.com/goassay/assay/harness/report"
)

// TurnsDependOnContext is the rule A162: the turns of a conversation are written otherwise where
// the request has tools that nobody calls, or instructions.
var TurnsDependOnContext = &probe.Rule{
	Rule: rule.Rule{
		ID: "A162", Name: "turns-depend-on-context", Severity: rule.Warning, Harm: rule.Changed,
		Short: "Messages are written differently where the request has a system message, or " +
			"tools that nobody calls.",
		Damage: "With tools every assistant message of the history stays open, or an index that " +
			"counts the system message is off by one: the model reads two turns as one.",
		Fix: "Write a message by its own members and its neighbours, and count from the first " +
			"message after the system message.",
	},
	Requires: []string{"A058"},
	Find:     checkTurnsDependOnContext,
}

func checkTurnsDependOnContext(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return f.Kind == variant.Changed && f.In.Relation == sent.Later && !folded(f) &&
			!f.Reordered()
	}) {
		// which says the same
		if slices.ContainsFunc(s.Findings("A058"), func(f rule.Fault[probe.Where]) bool {
			return f.At.Off() == c.at.Off()
		}) {
			continue
		}
		f, find := c.faults[0], find // which of the two is right cannot be told
		what := differently
		if rest := f.Got[f.Off:]; strings.HasPrefix(rest, "[{'type'") ||
			strings.HasPrefix(rest, "'}]") {
			find, what = probe.Weigh(find, rule.Error), "content in parts is printed as a list"
		} else if reframed(s, f) {
			find = probe.Weigh(find, rule.Note) // as publishers let models with tools think
		}
		at := c.at
		if what != differently {
			at = at.Mended("Write the text of each content part in this branch as well.")
		}
		find(at, "with %s, %s\nwith:    %s\n"+
			"without: %s\nwho: %s\n%s", f.In.Name, what, report.Quote(f.Got, f.Off),
			report.Quote(f.Want, f.WantOff), view.Names(f.Views), c.others())
	}
	checkVariables(s, find)
}

const differently = "later messages are written differently than without"

// checkVariables looks for a variable of the request with which the turns after instructions are
// written otherwise than without instructions, where they are alike without the variable.
func checkVariables(s *probe.Subject, find probe.Finder) {
	talk := sample.Talk(sample.User, sample.Answer, sample.LaterUser)
	got, err1 := s.Fitted(append(sample.Talk(s.SystemTurn()), talk...), false, true)
	want, err2 := s.Fitted(talk, false, true)
	turns := func(p probe.Rendering) string {
		return p.Text[max(0, strings.Index(p.Text, "USERNEEDLE")):]
	}
	if err1 != nil || err2 != nil || turns(got) != turns(want) {
		return // that is found above
	}
	for _, v := range exploration.Variables.Of(s) {
		got, err1 := s.With(got, v)
		want, err2 := s.With(want, v)
		with, without := turns(got), turns(want)
		if err1 == nil && err2 == nil && with != without && got.Has("SYSTEMNEEDLE") &&
			got.Has("USERNEEDLE") && want.Has("USERNEEDLE") {
			at := report.Parting(with, without)
			find(got.At(len(got.Text)-len(with)+at), "with %s = %s, messages after a system "+
				"message are written differently\nwith:    %s\nwithout: %s", v.Key, v.Value,
				report.Quote(with, at), report.Quote(without, at))
			return
		}
	}
}

// reframed reports whether all that differs is the markers of reasoning, and none of its text.
func reframed(s *probe.Subject, f variant.Fault) bool {
	r := s.Template.Analysis().Format.Reasoning
	before := min(f.Off, f.WantOff, len(r.Open.Text)+len(r.Close.Text)) // it may part in a marker
	got, want := f.Got[f.Off-before:], f.Want[f.WantOff-before:]
	return reason.Without(r, got) == reason.Without(r, want) &&
		reason.Without(format.Reasoning{}, got) != reason.Without(format.Reasoning{}, want)
}

// folded reports whether the instructions stand after the first question, as in templates that put
// them into the last one.
func folded(f variant.Fault) bool {
	for _, m := range f.In.Sent.At("messages").Items() {
		if m.At("role").Text() == "system" {
			told := strings.Index(f.Got, m.At("content").Text())
			return told < 0 || told > f.Off-len(m.At("content").Text())
		}
	}
	return false
}
