package account

import (
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
)

// MarkerSpeltTwice is the rule A172: a marker has two spellings that look alike.
var MarkerSpeltTwice = &probe.Rule{
	Rule: rule.Rule{
		ID: "A172", Name: "marker-spelt-twice", Severity: rule.Warning, Harm: rule.Misread,
		Short: "A marker is written in two spellings that look alike.",
		Damage: "One of them is the special token. The other, with a bar of another width, is " +
			"split into plain text, and the model does not see where a turn begins.",
		Fix: "Write the marker everywhere as the tokeniser has it.",
	},
	Find: findMarkerSpeltTwice,
}

func findMarkerSpeltTwice(s *probe.Subject, find probe.Finder) {
	if m, ok := account.Twins(account.Entries.Of(s)); ok {
		find(m.In.At(m.Off), "%s is %s elsewhere", m.Rare, m.Usual)
	}
}
