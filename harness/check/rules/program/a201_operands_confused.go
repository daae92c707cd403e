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
		Short: "A condition compares a count from 0 with one from 1, or text is joined to the " +
			"`else` value of a choice alone.",
		Damage: "The last user message is never found, or another is taken for it; a heading is " +
			"missing where the condition holds.",
		Fix: "Compare `loop.index0` with `loop.index0`; write `(x if y else z) ~ text` with the " +
			"parentheses.",
	},
	Static: true,
	Find:   checkOperands,
}

func checkOperands(s *probe.Subject, find probe.Finder) {
	counted := map[string]string{} // what a variable is counted by
	for n := range s.Source.Parts().All() {
		if n.Is(edit.Set) && n.X.Is(edit.Member, "index", "index0") {
			counted[n.Target.Source] += n.X.Source
		}
	}
	other := map[string]string{"loop.index": "loop.index0", "loop.index0": "loop.index"}
	for n := range s.Source.Parts().All() {
		if n.Is(edit.Compare) && n.X != nil && n.Y != nil {
			for _, pair := range [][2]*edit.Node{{n.X, n.Y}, {n.Y, n.X}} {
				if by := other[pair[0].Source]; by != "" && counted[pair[1].Source] == by {
					find(probe.Offset(pair[0].From), "%s is compared with %s, which has values "+
						"of %s", pair[0].Source, pair[1].Source, by)
				}
			}
		}
		first := n.Y
		for first.Is(edit.Math, "+") {
			first = first.X
		}
		if n.Is(edit.Choice) && first != n.Y && first.Is(edit.Text) && first.Content() == "" {
			find(probe.Offset(first.From), "where the condition before \"else\" holds, the text "+
				"that is joined to the empty one after it is not written")
		}
	}
}
