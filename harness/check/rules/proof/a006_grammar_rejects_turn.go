package proof

import (
	"strings"

	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// GrammarRejectsTurn is the rule A006: the grammar does not take a call as the template itself
// writes it.
var GrammarRejectsTurn = &probe.Rule{
	Rule: rule.Rule{
		ID: "A006", Name: "grammar-rejects-turn", Severity: rule.Error, Harm: rule.Misread,
		Short: "The grammar for tool calls rejects a tool call as the template writes it.",
		Damage: "A server that constrains the output keeps the model from the form that it was " +
			"trained on, or fails.",
		Fix: "Mend what the template writes where the grammar stops: a marker that one branch " +
			"opens and does not close, a letter too many. If that is as it should be, this is a " +
			"bug of Assay: please report it with the template.",
	},
	Group: probe.GroupGrammar,
	Find:  checkGrammarTakes,
}

func checkGrammarTakes(s *probe.Subject, find probe.Finder) {
	g := grouped(s)
	for _, shape := range s.Template.Verify().Shapes {
		for _, fault := range shape.Faults {
			if fault.Proof == verify.Grammar {
				_, expected, _ := strings.Cut(fault.Text, "\nit expects ")
				g.add(shape, expected, "an assistant message with %s departs from the form of a "+
					"tool call\n%s\nthe template writes: %q", shape.Name, fault.Text, shape.Turn)
			}
		}
	}
	g.find(find, "the same", func(shape verify.Shape) probe.Where { return turn(s, shape) })
}
