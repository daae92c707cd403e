package proof

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/split"
)

// NotEscapable is the rule A011: an argument that contains the format's own closing markers cannot
// be told from the end of the argument.
var NotEscapable = &probe.Rule{
	Rule: rule.Rule{
		ID: "A011", Name: "not-escapable", Severity: rule.Note, Harm: rule.Misread,
		Short:  "An argument that contains the text that ends a tool call is cut off there.",
		Damage: "A model that writes code about tool calls silently loses part of an argument.",
		Fix: "Escape the values of arguments (as JSON, CDATA or entities), or end a tool call " +
			"with a special token.",
	},
	Find: checkEscapable,
}

// checkEscapable writes into an argument the text that the template writes after it.
func checkEscapable(s *probe.Subject, find probe.Finder) {
	const needle = "VALUENEEDLE"
	call := func(value string) (probe.Rendering, error) {
		args := sample.Arguments.With("city", ordered.Str(value))
		return s.Fitted(sample.Talk(sample.User, sample.CallTurnWith(args)), true, false)
	}
	plain, err := call(needle)
	_, tail, ok := strings.Cut(plain.Text, needle)
	if s.Template.Caps().ToolCalls && !probe.Judged(find, err) || !ok {
		return
	}
	plan, err := plan(s, codegen.Options{Tools: standard.ToolRequest().Tools, Parallel: true})
	if !probe.Judged(find, err) {
		return
	}
	read := func(text probe.Rendering, value string) (message chat.Message, back, ok bool) {
		turn, ok := turnOf(s, text.Text)
		if !ok {
			return message, false, false
		}
		message = split.Feed(stream.NewParser(plan), turn, nil, chat.FinishStop).Message
		return message, len(message.ToolCalls) == 1 &&
			strings.Contains(message.ToolCalls[0].Arguments, probe.JSON(value)), true
	}
	if _, back, _ := read(plain, needle); !back {
		return // not even the plain value is read, which is no matter of escapes
	}
	value := "before " + strings.TrimSpace(tail) + " after"
	text, err := call(value)
	if !probe.Judged(find, err) {
		return
	}
	message, back, ok := read(text, value)
	if back || !ok {
		return
	}
	find(plain.Of(needle), "an argument that holds the text of the format's own markers is "+
		"cut there\nthe argument: %q\nit is read as: %s", value, message.Value())
}
