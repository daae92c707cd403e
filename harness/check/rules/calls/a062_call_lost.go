package calls

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// CallLost is the rule A062: a call, its name or an argument does not reach the prompt in some form
// of message that clients send.
var CallLost = &probe.Rule{
	Rule: rule.Rule{
		ID: "A062", Name: "call-lost", Severity: rule.Error, Harm: rule.Lost,
		Short: "A tool call, its name or an argument is left out of the prompt for some messages " +
			"that clients send.",
		Damage: "The model sees the result of a call that it has not made, and calls again.",
		Fix:    "Write tool_calls whatever the content is: null, absent, an empty string or text.",
	},
	Find: checkCallsWritten,
}

func checkCallsWritten(s *probe.Subject, find probe.Finder) {
	if !s.Supports(find, probe.ReplaysCalls) || !prompts.Heard(s, find, conversation.Call) {
		return
	}
	all := losses.All.Of(s).Of(conversation.Call, conversation.CallName, conversation.Key,
		conversation.Argument)
	// A026 is about those
	if all = slices.DeleteFunc(all, func(l losses.Lost) bool { return l.Index > 0 }); len(all) > 0 {
		losses.All.Of(s).FindLost(s, find, all)
		return
	}
	// OpenAI's API permits letters, digits, underscores and dashes in the names of functions.
	writes := func(name, key string) (r probe.Rendering, changed string, err error) {
		r, err = s.Fitted(sample.Talk(sample.User, sample.CallTurnOf(chat.CallOf("callid001", name,
			ordered.Pairs(key, "CITYNEEDLE")))), true, false)
		return r, strings.Join(r.Lacks(name, key), " and "), err
	}
	if _, changed, err := writes("get_rain", "town"); err != nil || changed != "" {
		return // A003 is about it, or A066
	}
	if r, changed, err := writes("Get-Rain_V2", "Town-Name"); err == nil && changed != "" {
		find(r.Near("CITYNEEDLE"), "of a tool call %s is changed\nthe model sees: %s",
			changed, r.Quote("CITYNEEDLE"))
	}
}
