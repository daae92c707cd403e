package reasoning

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// SwitchIgnored is the rule A070: the template asks for the switch of thinking, and no prompt
// depends on its value.
var SwitchIgnored = &probe.Rule{
	Rule: rule.Rule{
		ID: "A070", Name: "switch-ignored", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "The template asks for the switch of thinking, and no prompt depends on its value.",
		Damage: "A client switches thinking off and nothing happens.",
		Fix:    "Use the value, or do not read the variable.",
	},
	Find: checkIgnored,
}

// checkIgnored renders all conversations that have the switch with the other value.
func checkIgnored(s *probe.Subject, find probe.Finder) {
	read := map[string]probe.Where{}
	for _, t := range prompts.All.Of(s) {
		for _, name := range []string{"enable_thinking", "thinking"} {
			if r, ok := t.Seen.Trace.Reading(name); ok && t.Err == nil && t.In.Generate {
				read[name] = probe.Offset(r.First).Shown(t.In)
				for _, m := range t.In.Kwargs {
					if m.Key != name || m.Value.Kind() != ordered.Bool {
						continue
					}
					other := t.In
					other.Kwargs = append([]ordered.Member{}, t.In.Kwargs...)
					for i := range other.Kwargs {
						if other.Kwargs[i].Key == name {
							other.Kwargs[i].Value = ordered.Boolean(!m.Value.Bool())
						}
					}
					if again, err := s.Render(other); err != nil || again.Text != t.Text {
						return
					}
				}
			}
		}
	}
	for _, name := range []string{"enable_thinking", "thinking"} {
		if at, ok := read[name]; ok {
			find(at, "%s has no effect: on and off give the same prompt for every request", name)
		}
	}
}
