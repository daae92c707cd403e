package reasoning

import (
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// SwitchIgnored is the rule A070: the template asks for the switch of thinking, and no prompt
// depends on its value, or none with tools.
var SwitchIgnored = &probe.Rule{
	Rule: rule.Rule{
		ID: "A070", Name: "switch-ignored", Severity: rule.Warning, Harm: rule.Lost,
		Short: "The template reads the switch for thinking, and its value changes no prompt, or " +
			"none with tools.",
		Damage: "A client switches thinking off and nothing happens.",
		Fix:    "Use the value, with tools as well, or do not read the variable.",
	},
	Find: checkIgnored,
}

// checkIgnored looks for a switch that works where it is given alone, with the same prompt for on
// and off, and for those that never work.
func checkIgnored(s *probe.Subject, find probe.Finder) {
	bare, err := s.Fitted(sample.Talk(sample.User), false, true)
	for _, name := range caps.ThinkingNames {
		on, err1 := s.With(bare, ordered.MemberOf(name, ordered.Boolean(true)))
		off, err2 := s.With(bare, ordered.MemberOf(name, ordered.Boolean(false)))
		if err == nil && err1 == nil && err2 == nil && on.Text == off.Text && on.Text != bare.Text {
			at := report.Parting(off.Text, bare.Text)
			find(off.At(at), "on and off give the same prompt: only whether %s is given has an "+
				"effect\n- off:   %s\n+ unset: %s", name, report.Quote(off.Text, at),
				report.Quote(bare.Text, at))
			return
		}
	}
	checkTogether(s, find)
	checkBesideTools(s, find)
}

// checkBesideTools looks for a switch that has an effect without tools, and none with them.
func checkBesideTools(s *probe.Subject, find probe.Finder) {
	bare, err1 := s.Fitted(sample.Talk(sample.User), false, true)
	tools, err2 := s.Fitted(sample.Talk(sample.User), true, true)
	if err1 != nil || err2 != nil || bare.Text == tools.Text {
		return
	}
	values := [][2]ordered.Member{{ordered.MemberOf("reasoning_effort", ordered.Str("low")),
		ordered.MemberOf("reasoning_effort", ordered.Str("high"))}}
	for _, name := range caps.ThinkingNames {
		values = append(values, [2]ordered.Member{ordered.MemberOf(name, ordered.Boolean(false)),
			ordered.MemberOf(name, ordered.Boolean(true))})
	}
	for _, v := range values {
		var each [4]probe.Rendering
		failed := false
		for i, of := range []probe.Rendering{bare, bare, tools, tools} {
			p, err := s.With(of, v[i%2])
			each[i], failed = p, failed || err != nil
		}
		if !failed && each[0].Text != each[1].Text && each[2].Text == each[3].Text {
			at := probe.Nowhere
			if seen, ok := each[0].Observe(); ok {
				if r, ok := seen.Trace.Reading(v[0].Key); ok {
					at = probe.Offset(r.First)
				}
			}
			find(at.Shown(tools.In), "with tools, %s has no effect, which it "+
				"has without them\nharm: a client that sets it for an agent is not told that it "+
				"is ignored", v[0].Key)
		}
	}
}

// checkTogether renders all conversations that have the switch with the other value.
func checkTogether(s *probe.Subject, find probe.Finder) {
	read := map[string]probe.Where{}
	for _, t := range prompts.All.Of(s) {
		for _, name := range caps.ThinkingNames {
			if r, ok := t.Seen.Trace.Reading(name); ok && t.Err == nil && t.In.Generate {
				read[name] = probe.Offset(r.First).Shown(t.In)
				for _, m := range t.In.Kwargs {
					if m.Key != name || m.Value.Kind() != ordered.Bool {
						continue
					}
					other := ordered.MemberOf(name, ordered.Boolean(!m.Value.Bool()))
					again, err := s.With(t.Rendering, other)
					if err != nil || again.Text != t.Text {
						return
					}
				}
			}
		}
	}
	for _, name := range caps.ThinkingNames {
		if at, ok := read[name]; ok {
			find(at, "%s has no effect: on and off give the same prompt for every request", name)
		}
	}
}
