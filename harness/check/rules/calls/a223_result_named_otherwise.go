package calls

import (
	"regexp"
	"strings"

	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ResultNamedOtherwise is the rule A223: a call names its function with the space that it is in,
// and the result comes from a function without it, or the other way round.
var ResultNamedOtherwise = &probe.Rule{
	Rule: rule.Rule{
		ID: "A223", Name: "result-named-otherwise", Severity: rule.Warning, Harm: rule.Changed,
		Short: "The function of a call is written as `functions.name`, that of its result as " +
			"`name`, or the other way round.",
		Damage: "The model sees a result of a function that it has not called.",
		Fix:    "Write the same words before the name in both places.",
	},
	Find: checkNames,
}

// space matches what a template writes right before a name that belongs to it. Before a colon or a
// slash a label may stand.
var space = regexp.MustCompile(`\w+\.$`)

func checkNames(s *probe.Subject, find probe.Finder) {
	name := sample.Call.At("function", "name").Text()
	talk := sample.Talk(sample.User, sample.CallTurn, sample.Result)
	t, err := prompts.Observe(s, talk, true, true)
	if err != nil {
		return
	}
	user, city := strings.Index(t.Text, "USERNEEDLE"), strings.Index(t.Text, "CITYNEEDLE")
	result := strings.Index(t.Text, "RESULTNEEDLE")
	if user < 0 || city < user || result < city {
		return
	}
	call, answer := strings.LastIndex(t.Text[:city], name), strings.LastIndex(t.Text[:result], name)
	if call < user { // it follows the arguments
		call = city + max(0, strings.Index(t.Text[city:result], name))
	}
	if answer <= call || answer < city {
		return
	}
	own := t.Own()
	before, after := space.FindString(own[:call]), space.FindString(own[:answer])
	if before != after && (before == "" || after == "") {
		find(t.At(answer), "the call names %s%s, and the result %s%s\nthe model sees: %s", before, name,
			after, name, t.Quote(t.Text[answer-len(after):answer]+name))
	}
}
