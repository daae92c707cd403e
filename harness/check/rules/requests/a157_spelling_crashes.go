package requests

import (
	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation/sent"
)

// SpellingCrashes is the rule A157: a request that clients send ends in an error, though a
// plainer one that says the same does not, or other engines render it.
var SpellingCrashes = &probe.Rule{
	Rule: rule.Rule{
		ID: "A157", Name: "spelling-crashes", Severity: rule.Error, Harm: rule.Crashed,
		Short: "A request that clients send ends in an error, though one with the same meaning, " +
			"or another engine, renders.",
		Damage: "A client sends a message back as its SDK gave it, with `\"tool_calls\": null`, " +
			"and every further request of the conversation is an error 500.",
		Fix: "Take the form that ends in the error. Test a value and not its presence: `{% if " +
			"message.tool_calls %}` instead of `{% if message.tool_calls is defined %}`. Join " +
			"content to a string only where it `is string`. Build new lists instead of changing " +
			"those of the request. Do without what the engine's Jinja lacks.",
	},
	Find: checkSpellingCrashes,
}

func checkSpellingCrashes(s *probe.Subject, find probe.Finder) {
	for _, c := range causes(s, func(f variant.Fault) bool {
		return f.Kind == variant.Crashed && f.In.Relation != sent.Later && !f.Sandboxed()
	}) {
		f := c.faults[0]
		find(c.at, "a request with %s ends in an error: %w\nwho: %s\n%s%s",
			f.In.Name, f.Err, view.Names(f.Views), c.others(), asked(s, f))
	}
}
