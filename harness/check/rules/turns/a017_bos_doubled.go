package turns

import (
	"strings"

	"github.com/goassay/assay/harness/check/fact/markup"
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
	bos := s.Template.ChatTemplate().BOS
	if probe.Judged(find, err) && bos != "" && strings.HasPrefix(prompt.Text, bos+bos) {
		find(prompt.At(len(bos)).Beside("the first is written", prompt.At(0)),
			"the prompt begins with the start token twice: %q", bos+bos)
	}
	talk, err := s.Fitted(sample.Talk(sample.User, sample.Answer, sample.LaterUser), false, true)
	rest, ok := strings.CutPrefix(talk.Text, bos)
	if marks := markup.In(rest); err == nil && bos != "" && ok && len(marks) > 2 &&
		marks[0].At == 0 && marks[1].At == marks[0].To {
		first, header := rest[:marks[0].To], rest[marks[1].At:marks[1].To]
		if strings.Count(rest, first) == 1 && strings.Count(rest, header) > 1 {
			find(talk.At(len(bos)), "%s follows the start token, and stands nowhere else: it is "+
				"the start token once more, by its name", probe.JSON(first))
		}
	}
}
