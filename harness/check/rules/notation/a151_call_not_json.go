package notation

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallNotJSON is the rule A151: a call begins and ends as JSON does, and is not valid JSON: a
// comma, a colon, a quote or a value is missing.
var CallNotJSON = &probe.Rule{
	Rule: rule.Rule{
		ID: "A151", Name: "call-not-json", Severity: rule.Error, Harm: rule.Glued,
		Short: "A tool call that looks like JSON is not valid JSON: a comma, a colon, a quote or " +
			"a value is missing.",
		Damage: "The model learns to write JSON that no parser reads.",
		Fix: "Write what is missing, and compare with the instructions. `{{ call | tojson }}` " +
			"cannot leave anything out.",
	},
	Find: checkCallsJSON,
}

func checkCallsJSON(s *probe.Subject, find probe.Finder) {
	bare := sample.LaterCall.At("function").At("name").Text()
	for _, c := range []struct {
		name    string
		turn    ordered.Value
		needles []string
	}{
		{"a tool call", sample.CallTurn, []string{"CITYNEEDLE"}},
		{"a tool call with quotes and a line feed", sample.CallTurnWith(sample.City(ordered.Str(
			"CITYNEEDLE says \"yes\"\nand no"))), []string{"CITYNEEDLE"}},
		{"a tool call without arguments", sample.CallTurnOf(sample.LaterCall), []string{bare}},
		{"the second of two tool calls", sample.CallTurnOf(sample.Call, sample.LaterCall),
			[]string{"CITYNEEDLE", bare}},
	} {
		if notation(s, find, notated{c.name, chat.Request{
			Messages: sample.Talk(sample.User, c.turn), Tools: sample.Tools()},
			"USERNEEDLE", c.needles}) {
			return
		}
	}
}
