package notation

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// ListNotJSON is the rule A152: a tool's description or a result begins and ends as JSON does, and
// is not valid JSON.
var ListNotJSON = &probe.Rule{
	Rule: rule.Rule{
		ID: "A152", Name: "list-not-json", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A tool's description or result that looks like JSON is not valid JSON.",
		Damage: "The model cannot tell where a value ends, and may write such JSON in its tool " +
			"calls.",
		Fix: "Write a string with `tojson`, which adds the quotes; on the whole value it cannot " +
			"leave anything out.",
	},
	Requires: []string{"A121"},
	Find:     checkListsJSON,
}

func checkListsJSON(s *probe.Subject, find probe.Finder) {
	tools := sample.Tools()
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	if !s.Fires("A121") {
		notation(s, find, notated{"a tool", chat.Request{Messages: sample.Talk(sample.User),
			Tools: tools},
			"", names})
	}
	for _, text := range []string{"RESULTNEEDLE", "RESULTNEEDLE says \"yes\"\nand no"} {
		if notation(s, find, notated{"a tool message", chat.Request{Messages: sample.Talk(
			sample.User,
			sample.CallTurn, sample.WithText(sample.Result, text)), Tools: tools}, "CITYNEEDLE",
			[]string{"RESULTNEEDLE"}}) {
			return
		}
	}
}
