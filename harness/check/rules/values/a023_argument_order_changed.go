package values

import (
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ArgumentOrderChanged is the rule A023: the arguments of a call in the history are not in the
// order in which the model wrote them.
var ArgumentOrderChanged = &probe.Rule{
	Rule: rule.Rule{
		ID: "A023", Name: "argument-order-changed", Severity: rule.Note, Harm: rule.Changed,
		Short: "The arguments of a tool call in the history are not in the model's order.",
		Damage: "The next prompt does not start with this one and the model's output; some " +
			"models then drop calls.",
		Fix: "Do not sort: `tojson` keeps the order, `dictsort` does not.",
	},
	Find: probe.IfReplays(checkOrder),
}

func checkOrder(s *probe.Subject, find probe.Finder) {
	prompt, err := writes(s, ordered.Pairs("zz", "NEEDLEONE", "mm", "NEEDLETWO",
		"aa", "NEEDLETHREE"))
	if !probe.Judged(find, err) {
		return
	}
	text := prompt.Text
	one, two, three := strings.Index(text, "NEEDLEONE"), strings.Index(text, "NEEDLETWO"),
		strings.Index(text, "NEEDLETHREE")
	if one >= 0 && two >= 0 && three >= 0 && !(one < two && two < three) {
		find(prompt.At(one), "the arguments of a tool call are written in another order than "+
			"they came in")
	}
}
