package turns

import (
	"strings"

	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// BOSDoubled is the rule A017: the prompt starts with two BOS tokens.
var BOSDoubled = &probe.Rule{
	Rule: rule.Rule{
		ID: "A017", Name: "bos-doubled", Severity: rule.Error, Harm: rule.Doubled,
		Short: "The prompt starts with two BOS tokens.",
		Damage: "The model was trained with one, and answers worse for no visible reason. Some " +
			"servers add a third.",
		Fix: "Write bos_token once.",
	},
	Find: checkBOS,
}

func checkBOS(s *probe.Subject, find probe.Finder) {
	prompt, err := s.Fitted(sample.Talk(sample.User), false, true)
	if bos := s.Template.ChatTemplate().BOS; probe.Judged(find, err) && bos != "" &&
		strings.HasPrefix(prompt.Text, bos+bos) {
		find(prompt.At(len(bos)).Beside("the first", prompt.At(0)),
			"the prompt begins with the start token twice: %q", bos+bos)
	}
}
