package calls

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// CallEscaped is the rule A076: the quotes of a call are written as HTML entities where its
// arguments come as an object.
var CallEscaped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A076", Name: "call-escaped", Severity: rule.Error, Harm: rule.Changed,
		Short: "The quotes of a tool call become HTML entities where its arguments are an object.",
		Damage: "A server that passes objects, as transformers does, shows the model " +
			"`{&#34;name&#34;: ...}`, and the model writes the same.",
		Fix: "Mark nothing as `safe`: jinja2 escapes all text that is joined with such a value, " +
			"the template's own as well.",
	},
	Find: probe.IfReplays(checkEscapedCalls),
}

// checkEscapedCalls compares the two forms of arguments: entities that only objects bring are no
// model's spelling.
func checkEscapedCalls(s *probe.Subject, find probe.Finder) {
	asString, err1 := s.WithArguments(sample.ArgumentsText)
	asObject, err2 := s.WithArguments(sample.Arguments)
	if err2 != nil {
		return // no object is written, with entities or without
	}
	for _, entity := range []string{"&#34;", "&#39;"} {
		if asObject.Has(entity) && probe.Judged(find, err1) && !asString.Has(entity) {
			find(asObject.Of(entity), "quotes in a tool call's arguments become HTML entities "+
				"where these come as an object")
			return
		}
	}
}
