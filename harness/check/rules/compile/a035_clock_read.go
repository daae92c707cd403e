package compile

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/report"
)

// ClockRead is the rule A035: the prompt depends on the time.
var ClockRead = &probe.Rule{
	Rule: rule.Rule{
		ID: "A035", Name: "clock-read", Severity: rule.Note, Harm: rule.Style,
		Short: "The prompt depends on the time.",
		Damage: "Cached prompts are lost when the date changes, and tests that compare prompts " +
			"fail the day after.",
		Fix: "Let the client pass the date as a variable.",
	},
	Find: checkClock,
}

// checkClock renders every conversation on two days.
func checkClock(s *probe.Subject, find probe.Finder) {
	native := chattemplate.Native{Limits: s.Template.ChatTemplate().Limits}
	program, err := native.Compile(s.Template.ChatTemplate().Source)
	if !probe.Judged(find, err) {
		return
	}
	inputs := []chattemplate.Input{
		s.Template.Caps().Fit(chat.Request{Messages: sample.Talk(sample.User)}).Input}
	all := 1
	for t := range prompts.Rendered(s) {
		if all++; t.Seen.Clock {
			inputs = append(inputs, t.In)
		}
	}
	changed, first, now, later := 0, inputs[0], "", ""
	for i, in := range inputs {
		vars := s.Template.ChatTemplate().Vars(in)
		one, err1 := program.Render(vars, subject.Now)
		other, err2 := program.Render(vars, subject.Later)
		if i == 0 && !probe.Judged(find, err1, err2) || err1 != nil || err2 != nil || one == other {
			continue
		}
		if changed++; changed == 1 {
			first, now, later = in, one, other
		}
	}
	if changed > 0 {
		at := report.Parting(now, later)
		written := s.Rendered(now, first)
		find(written.At(at), "the prompt changes with the date, in %d of %d requests\n- one "+
			"day: %s\n+ another: %s", changed, all, report.Quote(now, at), report.Quote(later, at))
	}
}
