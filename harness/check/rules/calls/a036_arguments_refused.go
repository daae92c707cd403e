package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
)

// ArgumentsRefused is the rule A036: arguments of one of the two forms, string or object, end in an
// error.
var ArgumentsRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A036", Name: "arguments-refused", Severity: rule.Warning, Harm: rule.Crashed,
		Short:  "Tool-call arguments in one of their two forms, string or object, end in an error.",
		Damage: "The template works on the server that it was written for and fails on the next.",
		Fix: "Where arguments are one JSON value: `{{ arguments if arguments is string else " +
			"arguments | tojson }}`. Where each is written by itself: `{% if arguments is mapping " +
			"%}`, and the string as it is otherwise.",
	},
	Find: probe.IfReplays(checkArgumentForms),
}

func checkArgumentForms(s *probe.Subject, find probe.Finder) {
	text, asString := s.WithArguments(sample.ArgumentsText)
	object, asObject := s.WithArguments(sample.Arguments)
	if asString != nil && asObject != nil {
		probe.Unjudged(find, asObject)
	}
	parse, others := view.ByArguments()
	// A refusal in the template's own words is a constraint that it documents.
	if asString != nil && asObject == nil && !probe.Worded(asString) {
		find(probe.Nowhere.Shown(text.In), "a tool call whose arguments come as a JSON string, "+
			"as OpenAI's API sends them, ends in an error: %w\nwho: %s (%s parse them first)",
			asString, view.Names(others), view.Names(parse))
	}
	if asObject != nil && asString == nil && !probe.Worded(asObject) {
		probe.Weigh(find, rule.Error)(probe.Nowhere.Shown(object.In), "a tool call whose "+
			"arguments come as an object ends in an error: %w\nwho: %s, for every request with "+
			"tool_calls in its history", asObject, view.Names(parse))
	}
}
