package content

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// DeveloperUnheard is the rule A137: a developer's message, unless the server renames its role,
// fails, vanishes or has no header as others have.
var DeveloperUnheard = &probe.Rule{
	Rule: rule.Rule{
		ID: "A137", Name: "developer-unheard", Severity: rule.Warning, Harm: rule.Lost,
		Short: "A developer message ends in an error, is left out or has no header of its own.",
		Damage: "Newer clients send their instructions so. Unless the server renames the role, " +
			"the model never sees them, or takes them for somebody else's text.",
		Fix: "Write a developer message as a system message: `{% if message.role in ['system', " +
			"'developer'] %}`, or raise an exception.",
	},
	Find: checkDeveloper,
}

// checkDeveloper renders unfitted: the engine renames the role where a template does not know it,
// and others do not.
func checkDeveloper(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().SystemRole {
		return
	}
	told := s.SystemTurn()
	system, err := s.Raw(sample.Talk(told, sample.User), false)
	if err != nil {
		return // A043 is about it
	}
	p, err := s.Raw(sample.Talk(told.With("role", ordered.Str("developer")), sample.User), false)
	switch {
	case err != nil && probe.Worded(err):
		return // a constraint that the template documents
	case err != nil:
		find(probe.Nowhere.Shown(p.In), "a message with the role developer ends the request in an "+
			"error: %w", err)
		return
	}
	before, _, there := strings.Cut(p.Text, "SYSTEMNEEDLE")
	if !there {
		find(system.Recognised(p.Near("SYSTEMNEEDLE")), "a message with the role developer "+
			"does not reach the prompt, and no error is raised\nsent by: clients of OpenAI's newer "+
			"models, in place of a system message")
		return
	}
	alike := p.Text == system.Text // as a system message
	q, ok := boundary.SequenceOf(s)
	if checkBesideTools(s, find, told, alike) || alike || !ok {
		return
	}
	switch at := strings.LastIndex(before, q.Opener); {
	case at < 0 || strings.Contains(before[at:], q.Closer):
		find(p.Of("SYSTEMNEEDLE"), "a message with the role developer has no header; others "+
			"begin with %s", probe.JSON(q.Opener))
	case len(q.Nameless()) == 0 &&
		!strings.ContainsFunc(before[at+len(q.Opener):], unicode.IsLetter):
		find(p.Of("SYSTEMNEEDLE"), "the header of a message with the role developer names no role")
	}
}

// checkBesideTools reports whether a developer's message is written as a system message with tools
// and not without them, or the other way round.
func checkBesideTools(s *probe.Subject, find probe.Finder, told ordered.Value, alike bool) bool {
	system, err1 := s.Raw(sample.Talk(told, sample.User), true)
	p, err2 := s.Raw(sample.Talk(told.With("role", ordered.Str("developer")), sample.User), true)
	if err1 != nil || err2 != nil || (p.Text == system.Text) == alike || !p.Has("SYSTEMNEEDLE") {
		return false
	}
	find(p.Of("SYSTEMNEEDLE"), "a message with the role developer is written as a system message "+
		"with tools or without any, and not in both")
	return true
}
