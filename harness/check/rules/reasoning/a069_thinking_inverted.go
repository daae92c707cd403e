package reasoning

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/fact/reason"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// ThinkingInverted is the rule A069: with thinking off the prompt opens reasoning, and with
// thinking on, or without the switch, it does not; or a switch whose name says that it keeps old
// reasoning drops it, or the other way round.
var ThinkingInverted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A069", Name: "thinking-inverted", Severity: rule.Error, Harm: rule.Changed,
		Short: "With thinking off the prompt opens the reasoning block; with thinking on, or by " +
			"default, it does not; or a switch that is named after keeping old reasoning drops " +
			"it, or the other way round.",
		Damage: "A client that switches thinking off pays for it, and one that switches it on " +
			"does not get it.",
		Fix: "Exchange the two branches.",
	},
	Supersedes: []string{"A070"},
	Find:       checkInverted,
}

// checkInverted asks which setting of thinking leaves reasoning open at the end of the prompt.
func checkInverted(s *probe.Subject, find probe.Finder) {
	checkKept(s, find)
	checkBranches(s, find)
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

// checkBranches looks for a switch whose two values change places where the request has tools, or
// instructions: what one of them writes there the other one writes elsewhere.
func checkBranches(s *probe.Subject, find probe.Finder) {
	for _, v := range growth.SwitchesOf(s) {
		var first [2]string // what the values write in the plainest request
		for _, told := range [][]ordered.Value{sample.Talk(sample.User),
			sample.Talk(s.SystemTurn(), sample.User)} {
			for _, tools := range []bool{false, true} {
				bare, err := s.Fitted(told, tools, false)
				on, err1 := s.With(bare, v[0])
				off, err2 := s.With(bare, v[1])
				if err != nil || err1 != nil || err2 != nil || on.Text == off.Text {
					continue
				}
				at := report.Parting(on.Text, off.Text)
				rest := len(source.CommonSuffix(on.Text[at:], off.Text[at:]))
				these := [2]string{on.Text[at : len(on.Text)-rest],
					off.Text[at : len(off.Text)-rest]}
				if first == [2]string{} {
					first = these
				}
				if first[0] == these[1] && first[1] == these[0] {
					find(on.At(at), "%s works the other way round than in other requests\n"+
						"- true:  %s\n+ false: %s", v[0].Key, report.Quote(on.Text, at),
						report.Quote(off.Text, at))
					return
				}
			}
		}
	}
}

// The words in the names of switches by which old reasoning is kept, and by which it is dropped.
var (
	keeping  = []string{"keep", "preserve", "preserved", "retain", "include"}
	dropping = []string{"clear", "drop", "truncate", "remove", "strip", "discard", "omit"}
)

// checkKept asks which value of a switch keeps the reasoning of an earlier message, where the name
// of the switch says which.
func checkKept(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	inline := ordered.Str(r.Open.Text + "REASONNEEDLE" + r.Close.Text + "ANSWERNEEDLE")
	talks := [][]ordered.Value{sample.Talk(sample.User, sample.Thinking, sample.LaterUser),
		sample.Talk(sample.User, sample.FullTurn(sample.Call), sample.Result, sample.LaterUser),
		sample.Talk(sample.User, sample.CallTurn.With("content", inline), sample.Result,
			sample.LaterUser)}
	for _, v := range growth.SwitchesOf(s) {
		name := v[0].Key
		words := strings.Split(strings.ToLower(name), "_")
		named := func(list []string) bool {
			return slices.ContainsFunc(list, func(w string) bool {
				return slices.Contains(words, w)
			})
		}
		keeps := named(keeping)
		if keeps == named(dropping) {
			continue
		}
		for i, talk := range talks {
			bare, err := s.Fitted(talk, i > 0, true)
			on, err1 := s.With(bare, ordered.MemberOf(name, ordered.Boolean(true)))
			off, err2 := s.With(bare, ordered.MemberOf(name, ordered.Boolean(false)))
			if err != nil || err1 != nil || err2 != nil || on.Has("REASONNEEDLE") == keeps ||
				off.Has("REASONNEEDLE") != keeps {
				continue
			}
			at := report.Parting(on.Text, off.Text)
			find(on.At(at), "%s works the wrong way\n- true:  %s\n+ false: %s", name,
				report.Quote(on.Text, at), report.Quote(off.Text, at))
			break
		}
	}
}
