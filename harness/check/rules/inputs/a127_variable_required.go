package inputs

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// VariableRequired is the rule A127: the template fails unless the request brings a variable that
// the protocol does not have.
var VariableRequired = &probe.Rule{
	Rule: rule.Rule{
		ID: "A127", Name: "variable-required", Severity: rule.Error, Harm: rule.Crashed,
		Short:  "The template fails unless the request has a variable that the API does not define.",
		Damage: "Every request fails until somebody finds out which variable is wanted.",
		Fix:    "Give the variable a default: `{{ x | default('') }}`.",
	},
	Find: checkBound,
}

// specialTokens are the variables beside BOS and EOS that transformers gives to templates, where a
// tokeniser has them.
var specialTokens = []string{"unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
	"additional_special_tokens"}

// checkBound names the variables without which the template fails on the plainest requests.
func checkBound(s *probe.Subject, find probe.Finder) {
	in := chattemplate.Input{Messages: sample.Talk(sample.User), Generate: true}
	o, err := s.Template.ChatTemplate().Observe(in)
	if err != nil && probe.Worded(err) {
		return // a constraint that the template documents
	}
	var names []string
	at := probe.Nowhere
	for _, m := range s.Template.Caps().Needs.Bound {
		if slices.Contains(specialTokens, m.Key) {
			continue
		}
		if r, ok := o.Trace.Reading(m.Key); ok && !at.Known() {
			at = probe.Offset(r.First).Shown(in)
		}
		names = append(names, m.Key)
	}
	switch {
	case len(names) == 1 && slices.ContainsFunc(s.Flow().Chains(), func(v *flow.Chain) bool {
		return v.Name == names[0]
	}):
		find(at, "a request with a user message alone ends in an error: %s is read and not set "+
			"there", names[0])
	case len(names) == 1:
		find(at, "requests end in an error without the variable %s, which no client sends", names[0])
	case names != nil:
		find(at, "requests end in an error without the variables %s, which no client sends",
			strings.Join(names, ", "))
	}
}
