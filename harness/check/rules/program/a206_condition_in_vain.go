package program

import (
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// ConditionInVain is the rule A206: a condition decides nothing, since both of its branches are the
// same, a condition before it in the same row has asked the same, or the template itself has given
// a value to the variable that it looks for.
var ConditionInVain = &probe.Rule{
	Rule: rule.Rule{
		ID: "A206", Name: "condition-in-vain", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A condition decides nothing: both of its branches are the same, a condition " +
			"before it in the same row has asked the same, or it asks whether a variable is " +
			"there that has a default.",
		Damage: "The form of the value that needs another spelling gets the wrong one, or is " +
			"lost: arguments are encoded twice, a list is printed as Python, a second name of a " +
			"field is never read.",
		Fix: "Write in each branch what its form of the value needs, or ask for what was meant: " +
			"the other field, or the value of the variable and not whether it is there.",
	},
	Static: true,
	Find:   checkInVain,
}

func checkInVain(s *probe.Subject, find probe.Finder) {
	checkDefaulted(s, find)
	for n := range s.Source.Parts().All() {
		if !n.Is(edit.If) || n.Test == nil {
			continue
		}
		asked := map[string]int{spelt(n.Test): n.Test.From}
		for _, e := range n.Elif {
			if first, ok := asked[spelt(e.Test)]; ok {
				find(probe.Offset(e.Test.From).Mended("Ask for what was meant, or remove the "+
					"branch."), "this branch is never taken: %s has asked the "+
					"same before", line(s, first))
			} else {
				asked[spelt(e.Test)] = e.Test.From
			}
		}
		if len(n.Elif) == 0 && len(n.Bodies) == 2 && asksForm(n.Test) {
			if body := spelt(n.Bodies[0]...); body != "" && body == spelt(n.Bodies[1]...) {
				find(probe.Offset(n.Test.From), "the branch before else and the one after it are "+
					"the same, whatever the value is")
			}
		}
	}
}

// checkDefaulted looks for conditions that ask whether the request has a variable to which the
// template has given a value before: none, which counts as there, or one that leaves a branch out.
func checkDefaulted(s *probe.Subject, find probe.Finder) {
	given := map[string]*edit.Node{} // by the variable: its value where the request has none
	hidden := map[string]int{}       // by the parameter: where its macro ends
	for n := range s.Source.Parts().All() {
		for i := 0; n.Is(edit.Macro) && i < len(n.Args); i++ {
			hidden[n.Args[i].Word] = n.To
		}
		name, there := asked(n.Test)
		if value := given[name]; value != nil && n.Test.From > value.From &&
			n.From >= hidden[name] &&
			(n.Is(edit.Choice) || len(n.Elif) > 0 || len(n.Bodies) > 1 && len(n.Bodies[1]) > 0 ||
				strings.EqualFold(value.Source, "none")) {
			find(probe.Offset(n.Test.From), "this condition does not tell whether a request has "+
				"%s: %s gives it a value where there is none", name, line(s, value.From))
			return
		}
		if n.Up == nil && n.Is(edit.If) && name != "" && !there {
			for _, set := range n.Bodies[0] {
				if set.Is(edit.Set) && set.Target.Is(edit.Name, name) {
					given[name] = set.X
				}
			}
		} else if n.Up == nil && n.Is(edit.Set) && n.X.Is(edit.Choice) {
			if name, there := asked(n.X.Test); there && n.Target.Is(edit.Name, name) {
				given[name] = n.X.Y
			}
		}
	}
}

// asked is the variable of which a condition asks nothing but whether it is there, or is not; ""
// where it asks otherwise.
func asked(test *edit.Node) (name string, there bool) {
	there = true
	for ; test.Is(edit.Unary, "not"); test = test.X {
		there = !there
	}
	if test.Is(edit.Test, "defined", "undefined") && test.X.Is(edit.Name) {
		return test.X.Word, there == (test.Word == "defined")
	}
	return "", false
}

// asksForm reports whether a condition asks what sort of value there is. One that asks where a
// message stands may be left over from a change that somebody meant.
func asksForm(test *edit.Node) bool {
	return test.Has(edit.Test, "string", "mapping", "iterable", "sequence", "number", "none")
}

// spelt is the text of parts without what only lays it out.
func spelt(nodes ...*edit.Node) string {
	var b strings.Builder
	for _, n := range nodes {
		switch {
		case n.Is(edit.Data):
			b.WriteString(strings.TrimSpace(n.Word))
		case n.IsExpr():
			b.WriteString(strings.Join(strings.Fields(n.Source), " ") + "\x00")
		default:
			b.WriteString(string(rune(n.Kind)) + n.Word + "(" + spelt(n.Parts...) + ")")
		}
	}
	return b.String()
}
