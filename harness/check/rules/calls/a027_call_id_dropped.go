package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallIDDropped is the rule A027: the ids of calls do not reach the prompt.
var CallIDDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A027", Name: "call-id-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "The ids of tool calls are left out, or are written with the results alone.",
		Damage: "With several calls the model cannot tell which result belongs to which call.",
		Fix:    "Write the id with the call and with its result, if the model was trained on ids.",
	},
	Find: probe.IfReplays(checkIDs),
}

// checkIDs looks for the id of a call. Many models know none; a result may not name one that its
// call has not.
func checkIDs(s *probe.Subject, find probe.Finder) {
	ask := func(result string) (probe.Rendering, error) {
		return s.Fitted(sample.Talk(sample.User, sample.CallTurn,
			sample.ResultOf(result, "RESULTNEEDLE")), true, true)
	}
	prompt, err := ask("callid001")
	if !probe.Judged(find, err) {
		return
	}
	if !prompt.Has("callid001") {
		probe.Weigh(find, rule.Note)(prompt.Near("callid001"), "the ids of tool_calls are "+
			"written neither with the call nor with its tool message\nharm: with several calls "+
			"the model cannot tell which result belongs to which")
		return
	}
	other, err := ask("callid009") // to tell its id from the call's
	if err == nil && other.Has("callid009") && !other.Has("callid001") {
		find(prompt.Of("callid001"), "the tool message names the id of its call, and the call is "+
			"written without it\nharm: with several calls the model cannot tell which result "+
			"belongs to which")
	}
}
