package calls

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// ResultNamedTwice is the rule A208: the results of tools have two roles that the template takes
// for the same, and each gives the model another header.
var ResultNamedTwice = &probe.Rule{
	Rule: rule.Rule{
		ID: "A208", Name: "result-named-twice", Severity: rule.Warning, Harm: rule.Misread,
		Short: "The results of tools have two roles that the template takes for the same, and " +
			"each gives the model another header.",
		Damage: "A model is trained on one of the two. Clients send tool, and their results stand " +
			"under a role that the model does not know.",
		Fix: "Write the header that the model knows for both roles.",
	},
	Find: probe.IfReplays(checkResultNames),
}

// checkResultNames sends a result under each role that the template knows beside tool. It is the
// same thing to the template where a condition asks for both and for no other sort of message, or
// where the prompts are the same but for the name. A template that heads every message by its role
// takes no two for the same by that.
func checkResultNames(s *probe.Subject, find probe.Finder) {
	names, together := otherRoles(s)
	sent, err := s.Fitted(sample.Talk(sample.User, sample.CallTurn, sample.Result), true, true)
	last := len(sent.In.Messages) - 1
	if err != nil || len(names) == 0 || last < 0 || !sent.Has("RESULTNEEDLE") ||
		sent.In.Messages[last].At("role").Text() != "tool" {
		return
	}
	under := func(name string) (prompt probe.Rendering, alike bool) {
		in := sent.In
		in.Messages = append(slices.Clone(in.Messages[:last]),
			in.Messages[last].With("role", ordered.Str(name)))
		prompt, _ = s.Render(in) // no text where it fails
		return prompt, strings.ReplaceAll(prompt.Text, name, "tool") == sent.Text
	}
	_, every := under("ROLENEEDLE")
	for _, name := range names {
		other, alike := under(name)
		if other.Text == "" || other.Text == sent.Text || !together[name] && (every || !alike) {
			continue
		}
		at := report.Parting(sent.Text, other.Text)
		if !strings.Contains(sent.Text[:at], "USERNEEDLE") {
			continue // the tools are written for one of the two, say
		}
		find(sent.At(at), "a result with the role tool and one with %s have two headers, and "+
			"all else in common\n- tool: %s\n+ %[1]s: %[3]s", name,
			report.Quote(sent.Text, at), report.Quote(other.Text, at))
	}
}

// otherRoles returns the roles that the template asks for beside tool and those of other messages,
// and which of them it asks for together with tool; none where it does not ask for tool.
func otherRoles(s *probe.Subject) (names []string, together map[string]bool) {
	asks, together := false, map[string]bool{}
	for n := range s.Source.Parts().All() {
		roles := rolesIn(n)
		tool := slices.Contains(roles, "tool")
		asks = asks || tool
		others := slices.DeleteFunc(slices.Clone(roles), isStandard)
		alone := len(others) > 0 && !slices.ContainsFunc(roles, func(role string) bool {
			return role != "tool" && isStandard(role)
		})
		for _, role := range others {
			if !slices.Contains(names, role) {
				names = append(names, role)
			}
			together[role] = together[role] || tool && alone
		}
	}
	if !asks {
		return nil, nil
	}
	return names, together
}

func isStandard(role string) bool { return slices.Contains(probe.Roles, role) }

// rolesIn returns the roles that an expression asks for, of a comparison or of several of which one
// must hold.
func rolesIn(n *edit.Node) (all []string) {
	switch {
	case n.Is(edit.Logic, "or"):
		return append(rolesIn(n.X), rolesIn(n.Y)...)
	case n.Is(edit.Compare):
		key, _, _ := n.X.Field()
		if key == "role" || n.X.Is(edit.Name, "role") {
			for below := range n.Y.All() {
				if below.Is(edit.Text) {
					all = append(all, below.Word)
				}
			}
		}
	}
	return all
}
