package content

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
)

// NullContentPrinted is the rule A012: content that is null beside a call is printed as a word, or
// refused.
var NullContentPrinted = &probe.Rule{
	Rule: rule.Rule{
		ID: "A012", Name: "null-content-printed", Severity: rule.Error, Harm: rule.Changed,
		Short: "Null content beside tool_calls is printed as a word, or ends in an error.",
		Damage: "Clients send null content with tool calls. The model reads that it said " +
			"\"None\", or every request after the first tool call fails.",
		Fix: "Print content only if there is some: `{% if message.content %}`.",
	},
	Find: probe.IfReplays(checkNull),
}

func checkNull(s *probe.Subject, find probe.Finder) {
	null := func(call ordered.Value) ordered.Value { return call.With("content", ordered.Value{}) }
	call, follows := sample.CallTurn, sample.LaterUser
	empty, err := s.Raw(sample.Talk(sample.User, call, follows), true)
	for _, form := range [...]struct{ arguments, follows ordered.Value }{
		{sample.ArgumentsText, sample.LaterUser}, {sample.Arguments, sample.Result},
		{sample.ArgumentsText, sample.Result}} {
		if err == nil {
			break
		}
		call, follows = sample.CallTurnWith(form.arguments), form.follows
		empty, err = s.Raw(sample.Talk(sample.User, call, follows), true)
	}
	if !probe.Judged(find, err) { // refused with an empty string too, so null is not the reason
		return
	}
	prompt, err := s.Raw(sample.Talk(sample.User, null(call), follows), true)
	if err == nil {
		findNull(s, find, "null content beside tool_calls", prompt, empty)
		return
	}
	// A template may write calls only where content is null, and refuse the form of their arguments
	// (A036).
	if _, again := s.Raw(sample.Talk(sample.User, null(sample.CallTurnWith(sample.ArgumentsText)),
		follows),
		true); again != nil {
		find(probe.Nowhere.Shown(prompt.In), "an assistant message with tool_calls and null "+
			"content ends the request in an error: %w%s", err, view.Hurt(prompt.Program, prompt.In,
			func(_ string, err error) bool { return err != nil }))
	}
}
