package proof

import (
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// TurnAmbiguous is the rule A057: the template writes a message in a way that means another one as
// well.
var TurnAmbiguous = &probe.Rule{
	Rule: rule.Rule{
		ID: "A057", Name: "turn-ambiguous", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The template writes a message in a way that means another one as well.",
		Damage: "No parser can tell the two apart: an answer arrives as reasoning, or an argument " +
			"ends where it should not.",
		Fix: "Write the parts of a message differently: close reasoning before content, escape " +
			"the end of a string.",
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
			of.add(shape, shape.Note, "an assistant message with %s can be read in two ways: "+
				"%s\nthe template writes: %q", shape.Name, shape.Note, shape.Turn)
		}
	}
	at := func(shape verify.Shape) probe.Where { return turn(s, shape) }
	g.find(find, "the same", at)
	padded.find(probe.Weigh(find, rule.Note), "the same", at)
}
