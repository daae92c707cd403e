package program

import (
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// OperandsConfused is the rule A201: an expression joins or compares other operands than its author
// saw.
var OperandsConfused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A201", Name: "operands-confused", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A number that is counted from 1 is compared with one that is counted from 0, or " +
			"text after \"else\" is joined to an empty text, so that it belongs to that value alone.",
		Damage: "The last question is never found, or another message is taken for it; a heading " +
			"is missing where the condition holds.",
		Fix: "Compare loop.index0 with loop.index0; put parentheses around the whole " +
			"x if y else z.",
	},
	Static: true,
	Find:   checkOperands,
}

func checkOperands(s *probe.Subject, find probe.Finder) {
	from := map[string]string{} // what a variable is counted by, "" where that is not known
	for n := range s.Source.Parts().All() {
		if n.Is(edit.Set) && n.Target != nil && n.X != nil && !n.X.IsLiteral() && !n.X.Is(edit.Unary) {
			if by, again := from[n.Target.Source]; again && by != n.X.Source {
				from[n.Target.Source] = ""
			} else {
				from[n.Target.Source] = n.X.Source
			}
		}
	}
	for n := range s.Source.Parts().All() {
		switch {
		case n.Is(edit.Compare) && n.X != nil && n.Y != nil:
			for _, pair := range [][2]*edit.Node{{n.X, n.Y}, {n.Y, n.X}} {
				loop, by := pair[0].Source, from[pair[1].Source]
				if loop == "loop.index" && by == "loop.index0" ||
					loop == "loop.index0" && by == "loop.index" {
					find(probe.Offset(pair[0].From), "%s is compared with %s, which has values of %s",
						loop, pair[1].Source, by)
				}
			}
		case n.Is(edit.Choice) && n.Y != nil:
			first := n.Y
			for first.Is(edit.Math, "+") {
				first = first.X
			}
			if first.Is(edit.Concat) {
				first = first.Parts[0]
			}
			if first != n.Y && first.Is(edit.Text) && first.Content() == "" {
				find(probe.Offset(first.From), "where the condition before \"else\" holds, the text "+
					"that is joined to the empty one after it is not written")
			}
		}
	}
}
