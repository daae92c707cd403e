package calls

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallDropped is the rule A026: of two calls in a message only one is written, or the message is
// refused.
var CallDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A026", Name: "call-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "Of two tool calls in a message only one is written, or the message is refused.",
		Damage: "Agents that call tools in parallel lose calls, or get an error.",
		Fix:    "Write all calls: `{% for call in message.tool_calls %}`.",
	},
	Supersedes: []string{"A165"},
	Find:       probe.IfReplays(checkCalls),
}

// parallel says who sends such messages.
const parallel = "\nsent by: agents that call tools in parallel"

func checkCalls(s *probe.Subject, find probe.Finder) {
	turn := sample.CallTurnOf
	with := func(calls ...ordered.Value) (probe.Rendering, error) {
		return s.Fitted(sample.Talk(sample.User, turn(calls...), sample.Result, sample.LaterResult,
			sample.LaterUser), false, false)
	}
	one, err1 := s.Fitted(sample.Talk(sample.User, turn(sample.Call), sample.Result,
		sample.LaterUser), false, false)
	if err1 == nil && !one.Has("get_weather") {
		turn = func(calls ...ordered.Value) ordered.Value { // beside a text it is lost (A062)
			return sample.CallTurnOf(calls...).With("content", ordered.Value{})
		}
	}
	prompt, err := with(sample.Call, sample.LaterCall)
	if err != nil && err1 != nil {
		return // it is no matter of how many there are
	}
	if err != nil {
		find(probe.Nowhere.Shown(prompt.In), "an assistant message with two tool_calls is "+
			"refused: %w", err)
		return
	}
	// A name may be written changed: a call is missing if the prompt is the same without it.
	var gone []string
	for _, call := range [...]struct {
		name  string
		other ordered.Value
	}{{"get_weather", sample.LaterCall}, {"list_notes", sample.Call}} {
		if without, err := with(call.other); !prompt.Has(call.name) && err == nil &&
			without.Text == prompt.Text {
			gone = append(gone, call.name)
		}
	}
	switch len(gone) {
	case 1:
		find(prompt.Near(gone[0]), "of two tool_calls in one assistant message that of %s "+
			"does not reach the prompt%s", gone[0], parallel)
	case 2:
		find(prompt.Near(gone[0]), "of two tool_calls in one assistant message neither "+
			"reaches the prompt%s", parallel)
	}
}
