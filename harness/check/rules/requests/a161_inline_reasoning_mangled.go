package requests

import (
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// InlineReasoningMangled is the rule A161: reasoning that comes within the content of an answer
// is lost, or doubled, or leaves a marker behind, though as a member of its own it is written
// well.
var InlineReasoningMangled = &probe.Rule{
	Rule: rule.Rule{
		ID: "A161", Name: "inline-reasoning-mangled", Severity: rule.Warning, Harm: rule.Lost,
		Short: "Reasoning inside the content is lost, is doubled or leaves a marker behind, " +
			"though reasoning_content is written well.",
		Damage: "A server that does not separate the reasoning sends it in the content, and the " +
			"client sends it back. The model sees its block closed twice, or loses its plan " +
			"between tool calls.",
		Fix: "Split the content at the last closing marker, take the reasoning from before it " +
			"and the text from after it, and write each once.",
	},
	Supersedes: []string{"A220"},
	Find:       checkInlineReasoningMangled,
}

func checkInlineReasoningMangled(s *probe.Subject, find probe.Finder) {
	type happening struct {
		kind variant.Kind
		text string
	}
	told := map[happening]int{} // the same text of an answer and of a call, at two places
	var all []cause
	for _, c := range causes(s, func(f variant.Fault) bool {
		return f.In.Relation == sent.Inline &&
			(f.Kind == variant.Lost || f.Kind == variant.Doubled)
	}) {
		this := happening{c.faults[0].Kind, c.faults[0].Text}
		if i, ok := told[this]; ok {
			all[i].faults = append(all[i].faults, c.faults...)
			continue
		}
		told[this] = len(all)
		all = append(all, c)
	}
	for _, c := range all {
		f := c.faults[0]
		happens := "is lost"
		if f.Kind == variant.Doubled {
			happens = "stays as text"
		}
		find(c.at, "in %s, %q %s\n%swho: %s\n%s", f.In.Name, f.Text, happens,
			excerpts(f), view.Names(f.Views), c.others())
	}
}
