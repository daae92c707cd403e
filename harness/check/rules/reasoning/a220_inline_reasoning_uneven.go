package reasoning

import (
	"cmp"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// InlineReasoningUneven is the rule A220: reasoning that comes within the content is taken out of
// the latest call and stays in older messages, or is taken out of answers and stays beside calls.
var InlineReasoningUneven = &probe.Rule{
	Rule: rule.Rule{
		ID: "A220", Name: "inline-reasoning-uneven", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Reasoning within the content is taken out of the latest call and stays in older " +
			"messages, or is taken out of answers and stays beside calls.",
		Damage: "The model loses the plan that it follows, or sees reasoning in some of its old " +
			"messages that training took out of all.",
		Fix: "Cut the content in one place, before the branches, and write what was cut; of the " +
			"messages after the last question keep the reasoning.",
	},
	Find: checkInlineUneven,
}

// checkInlineUneven renders one conversation with reasoning in the content of all messages.
func checkInlineUneven(s *probe.Subject, find probe.Finder) {
	r := s.Template.Analysis().Format.Reasoning
	open := cmp.Or(strings.TrimSpace(r.Open.Text), "<think>")
	shut := cmp.Or(strings.TrimSpace(r.Close.Text), "</think>")
	say := func(m ordered.Value, name string) ordered.Value {
		return sample.WithText(m, open+"\nTHOUGHT"+name+"NEEDLE\n"+shut+"\n\nTEXT"+name+"NEEDLE")
	}
	p, err := s.Raw(sample.Talk(sample.User, say(sample.Answer, "A"), sample.LaterUser,
		say(sample.CallTurn, "B"), sample.Result, say(sample.Answer, "C"), sample.User,
		say(sample.CallTurn, "D"), sample.Result), true)
	if err != nil || len(p.Lacks("TEXTANEEDLE", "TEXTBNEEDLE", "TEXTCNEEDLE", "TEXTDNEEDLE")) > 0 {
		return // other rules are about it
	}
	kept := func(name string) bool { return p.Has("THOUGHT" + name + "NEEDLE") }
	answers, older, latest := kept("A") && kept("C"), kept("B"), kept("D")
	switch {
	case answers && !latest:
		find(p.Of("TEXTDNEEDLE"), "reasoning within the content is taken out of the latest tool "+
			"call, and stays in an assistant message of an earlier turn\nthe model sees: %s",
			p.Quote("TEXTDNEEDLE"))
	case older && !kept("A") && !kept("C"):
		find(p.Of("THOUGHTBNEEDLE"), "reasoning in the content of earlier turns is cut from "+
			"answers, and stays beside tool calls\nthe model sees: %s",
			p.Quote("THOUGHTBNEEDLE"))
	}
}
