package proof

import (
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TurnAmbiguous is the rule A057: an assistant message is written in a way that can be read as a
// different message.
var TurnAmbiguous = &probe.Rule{
	Rule: rule.Rule{
		ID: "A057", Name: "turn-ambiguous", Severity: rule.Warning, Harm: rule.Misread,
		Short: "An assistant message is written in a way that can be read as a different message.",
		Damage: "No parser can tell the two apart: content arrives as reasoning, or an argument " +
			"ends too early.",
		Fix: "Write parts differently: close the reasoning before the content, escape the end " +
			"of a string.",
	},
	Group: probe.GroupVerify,
	Find:  checkUnambiguous,
}

func checkUnambiguous(s *probe.Subject, find probe.Finder) {
	g, padded := grouped(s), grouped(s) // no reader cares for white space at the end of a text
	for _, shape := range s.Template.Verify().Shapes {
		of := g
		if shape.Note == verify.Padded {
			of = padded
		}
		if shape.Verdict == verify.Ambiguous {
			of.add(shape, shape.Note, "%s: two readings of %s\nthe template writes: %q\n"+
				"harm: no parser can tell the two apart", shape.Note, shape.Name, shape.Turn)
		}
	}
	at := func(shape verify.Shape) probe.Where { return turn(s, shape) }
	g.find(find, "the same", at)
	padded.find(probe.Weigh(find, rule.Note), "the same", at)
}
