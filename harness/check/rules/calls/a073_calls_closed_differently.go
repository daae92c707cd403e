package calls

import (
	"strings"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/conversation"
)

// CallsClosedDifferently is the rule A073: a message with one call ends otherwise than a message
// with several.
var CallsClosedDifferently = &probe.Rule{
	Rule: rule.Rule{
		ID: "A073", Name: "calls-closed-differently", Severity: rule.Error, Harm: rule.Glued,
		Short: "A message with one tool call ends differently from a message with several.",
		Damage: "The section of tool calls stays open where there is only one, and the model " +
			"never learns to close it.",
		Fix: "Close the section after the loop over tool_calls.",
	},
	Find: checkCallsClosed,
}

func checkCallsClosed(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().ParallelToolCalls {
		return
	}
	ends := map[bool]string{} // by whether there is one call
	some := map[bool]boundary.Gap{}
	for _, g := range boundary.Gaps.Of(s) {
		if g.Before != conversation.Call || g.After != conversation.None || g.Asked ||
			strings.Contains(g.Text, boundary.Hole) {
			continue
		}
		calls := g.In.In.Messages[len(g.In.In.Messages)-1].At("tool_calls").Items()
		last := calls[len(calls)-1].At("function", "arguments")
		if len(last.Members()) == 0 && len(last.Text()) <= len("{}") {
			continue // without arguments a call may end earlier
		}
		one := len(calls) == 1
		if _, ok := some[one]; ok {
			ends[one] = source.CommonSuffix(ends[one], g.Text)
			continue
		}
		ends[one], some[one] = g.Text, g
	}
	one, several := strings.TrimSpace(ends[true]), strings.TrimSpace(ends[false])
	if len(some) < 2 || strings.HasSuffix(one, several) || strings.HasSuffix(several, one) {
		return
	}
	g := some[false]
	find(g.In.At(len(g.In.Text)-1), "a single tool call ends with %s, several calls end with %s\n"+
		"requests: %s; %s", probe.JSON(one), probe.JSON(several), some[true].In.Name,
		g.In.Name)
}
