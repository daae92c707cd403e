package check

import (
	"errors"
	"slices"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/rule"
)

// A rule is not judged where a probe that it rests on fails for a reason of its own: an unknown
// filter, a bound, a refusal, a tool that lacks something (E32). It is judged where the failure
// answers its question: a template that refuses null does not print it.

// unjudged tells that a rule is not judged, and why.
func unjudged(find finder, why error) { find(nowhere, "%w", rule.NotJudged{Why: why}) }

// judged reports whether probes rendered; where one did not, the rule is not judged.
func judged(find finder, probes ...error) bool {
	for _, err := range probes {
		if err != nil {
			unjudged(find, err)
			return false
		}
	}
	return true
}

// supports reports whether the template has a capability that a rule is about; where that is not
// known, the rule is not judged.
func (s *Subject) supports(find finder, capability string) bool {
	c := s.Template.Caps()
	if err := c.WhyUnjudged(capability); err != nil {
		unjudged(find, err)
		return false
	}
	has, _ := c.Supports(capability)
	return has
}

const (
	describesTools = "supports_tools"
	replaysCalls   = "supports_tool_calls"
)

// worded reports whether the template refused in its own words.
func worded(err error) bool { return jinja.Class(err) == "TemplateError" }

// heard reports whether some conversation rendered in which a message of one of the kinds speaks,
// any kind where none is named; where none did, the rule is not judged.
func (s *Subject) heard(find finder, kinds ...conversation.Kind) bool {
	var why error
	for _, t := range s.talks() {
		has := func(k conversation.Kind) bool { return slices.Contains(t.kinds, k) }
		switch {
		case len(kinds) > 0 && !slices.ContainsFunc(kinds, has):
		case t.err == nil:
			return true
		case why == nil:
			why = t.err
		}
	}
	if why != nil {
		unjudged(find, why)
	}
	return why == nil
}

// errCut is why nothing is judged of a template whose renders were cut off.
var errCut = errors.New("the look at the template was cut off, see " + TooCostly)

// cutOff are the results of a rule that a bound kept from being judged.
func cutOff(l *lookout, scope rule.Scope[where]) []rule.Result {
	cut := lookout{Rule: l.Rule, Group: l.Group,
		Find: func(_ *Subject, find finder) { unjudged(find, errCut) }}
	return cut.Run(nil, scope)
}
