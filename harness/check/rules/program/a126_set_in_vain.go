package program

import (
	"fmt"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// SetInVain is the rule A126: a variable is set after the places that read it, in a loop at whose
// end the value is lost, or where the request gives it, over that value.
var SetInVain = &probe.Rule{
	Rule: rule.Rule{
		ID: "A126", Name: "set-in-vain", Severity: rule.Warning, Harm: rule.Changed,
		Short: "A variable is set too late, in a loop that loses the value, or over a value that " +
			"the request gives.",
		Damage: "The places that read it see the old value, or none: text is not cleaned, a flag " +
			"is never set; what the client asked for is lost.",
		Fix: "Set the variable before it is read, and only where it `is not defined`; carry a " +
			"value out of a loop with `namespace()`.",
	},
	Find: checkAssigned,
}

// checkAssigned goes through the places that set a variable.
func checkAssigned(s *probe.Subject, find probe.Finder) {
	m := s.Flow()
	for _, r := range m.Overwritten() {
		find(probe.Offset(r.Off()), "where the request gives %s, another value may be set over it",
			r.Name)
	}
	for _, r := range m.Fixed("add_generation_prompt", "messages", "tools") {
		find(probe.Offset(r.Off()), "every request gives %s, and another value is set over it", r.Name)
	}
	given := map[string]bool{}
	for _, t := range prompts.All.Of(s) {
		for _, m := range s.Template.ChatTemplate().Vars(t.In).Members() {
			given[m.Key] = true
		}
	}
	for _, v := range m.Chains() {
		for _, set := range v.Sets {
			if early := v.TooLate(set); early != nil {
				find(probe.Offset(set.Off()), "%s is set after the last place that reads it, at %s",
					v.Name, line(s, early.Off()))
			} else if late := v.Lost(set); late != nil {
				find(probe.Offset(set.Off()).Mended("Carry the value out of the loop with "+
					"`namespace()`."), "%s is set in a loop, and lost at its end: %s reads the value "+
					"from before the loop", v.Name, line(s, late.Off()))
			}
		}
		if read, set := v.Early(); read != nil && !given[v.Name] && !m.Asked[v.Name] {
			find(probe.Offset(read.Off()), "%s is read before it is set, at %s", v.Name,
				line(s, set.Off()))
		}
	}
}

// line shows a place of the template.
func line(s *probe.Subject, off int) string {
	at := s.Template.ChatTemplate().Source.Position(off)
	return fmt.Sprintf("line %d, column %d", at.Line, at.Col)
}
