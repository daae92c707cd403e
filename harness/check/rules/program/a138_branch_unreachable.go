package program

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// BranchUnreachable is the rule A138: no request reaches a branch, a loop or a macro of the
// template.
var BranchUnreachable = &probe.Rule{
	Rule: rule.Rule{
		ID: "A138", Name: "branch-unreachable", Severity: rule.Note, Harm: rule.Style,
		Short:  "No request reaches a branch, a loop or a macro of the template.",
		Damage: "It was written for requests that exist; they take another branch.",
		Fix:    "Mend the condition, or remove the branch.",
	},
	Find: checkReached,
}

// unreached are the words about a part that no request reaches, before the reason.
var unreached = [...]string{
	reach.LoopBody:    "this loop is never entered: ",
	reach.BranchBody:  "this branch is never taken: ",
	reach.LaterBodies: "the branches after this one are never taken: ",
	reach.ValueBefore: "the value before this is never taken: ",
	reach.ValueAfter:  "the value after else is never taken: ",
}

func checkReached(s *probe.Subject, find probe.Finder) {
	var unused []reach.Part
	for _, p := range reach.Outermost(s.Source.Places(), s.Source.Unreachable()) {
		if p.Kind == reach.MacroBody {
			unused = append(unused, p)
		} else {
			find(probe.Offset(p.Off), "%s%s", unreached[p.Kind], p.Why)
		}
	}
	if len(unused) > 0 {
		var names []string
		for _, p := range unused {
			names = append(names, p.Why)
		}
		const few = 2 // of more the number is told
		rest := ""
		if len(names) > few {
			rest = fmt.Sprintf(" and %d more", len(names)-few)
		}
		find(probe.Offset(unused[0].Off), "nothing that is reached calls %s %s",
			map[bool]string{true: "the macro", false: "the macros"}[len(names) == 1],
			strings.Join(names[:min(len(names), few)], ", ")+rest)
	}
}
