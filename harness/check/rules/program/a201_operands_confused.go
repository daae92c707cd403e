package program

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// OperandsConfused is the rule A201: an expression joins or compares other operands than its author
// saw.
var OperandsConfused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A201", Name: "operands-confused", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A condition compares a count from 0 with one from 1, a string with none, or the " +
			"marker of a beginning with that of an end; or text joined after `else` belongs to " +
			"that value alone.",
		Damage: "The last user message is never found, or another is taken for it; a value of a " +
			"switch has no effect; a heading is missing where the condition holds.",
		Fix: "Compare `loop.index0` with `loop.index0`, and a string with 'none'; write `(x if y " +
			"else z) ~ text` with the parentheses.",
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
				made, ok := flow.Filters[pair[0].Word]
				if ok && n.Is(edit.Compare, "==", "!=") && pair[0].Is(edit.Filter) &&
					made.Result&^flow.Strings == 0 &&
					(pair[1].Is(edit.Const) || pair[1].Is(edit.Int)) {
					find(probe.Offset(pair[0].From), "%s is a string, and never equal to %s",
						pair[0].Source, pair[1].Source)
				}
			}
		}
		begins := n.X
		if n.Is(edit.Logic, "and") && begins.Is(edit.Logic, "and") {
			begins = begins.Y
		}
		if mark := edge(begins, "startswith"); n.Is(edit.Logic, "and") && mark != "" &&
			mark == edge(n.Y, "endswith") && begins.X.X.Source == n.Y.X.X.Source {
			find(probe.Offset(n.Y.From), "%s is asked to begin and to end with the same marker, %s",
				n.Y.X.X.Source, probe.JSON(mark))
		}
		first := n.Y
		for first.Is(edit.Math, "+") {
			first = first.X
		}
		if n.Is(edit.Choice) && first != n.Y && first.Is(edit.Text) && first.Content() == "" {
			find(probe.Offset(first.From), "where the condition before \"else\" holds, the string "+
				"that is joined to the empty one after it is not written")
		}
	}
}

// edge is the marker that a method is asked for at an end of a string; "" where it is no such call.
func edge(n *edit.Node, method string) string {
	if n.Is(edit.Call) && n.X.Is(edit.Member, method) && len(n.Args) == 1 {
		if text := n.Args[0].Content(); strings.ContainsFunc(text, unicode.IsLetter) {
			return text
		}
	}
	return ""
}
