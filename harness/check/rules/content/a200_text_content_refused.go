package content

import (
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
)

// TextContentRefused is the rule A200: the template takes content as a list of parts alone.
var TextContentRefused = &probe.Rule{
	Rule: rule.Rule{
		ID: "A200", Name: "text-content-refused", Severity: rule.Warning, Harm: rule.Crashed,
		Short: "Content that is a string ends in an error, or is lost: the template takes " +
			"content parts alone.",
		Damage: "Most clients send strings. An engine that does not turn them into parts fails " +
			"on every request, or gives the model an empty message.",
		Fix: "Write the string `{% if message.content is string %}`, and otherwise the parts.",
	},
	Find: checkTextRefused,
}

// checkTextRefused renders a question as it came: the engine makes a list of its content where the
// template takes nothing else, and others do not.
func checkTextRefused(s *probe.Subject, find probe.Finder) {
	if c := s.Template.Caps(); !c.TypedOnly() {
		return
	}
	prompt, err := s.Raw(sample.Talk(sample.User), false)
	switch {
	case err != nil && probe.Worded(err):
		probe.Weigh(find, rule.Note)(probe.Nowhere.Shown(prompt.In), "a user message whose "+
			"content is a string, and not a list of parts, is refused: %w", err)
	case err != nil:
		find(probe.Nowhere.Shown(prompt.In), "a user message whose content is a string, as most "+
			"clients send it, ends the request in an error: %w\ncontent as a list of parts "+
			"reaches the prompt", err)
	case !prompt.Has("USERNEEDLE"):
		// servers that look how a template reads content make a list of it; a library's caller does
		probe.Weigh(find, rule.Note)(prompt.Near("USERNEEDLE"), "a user message whose content is "+
			"a string, as most clients send it, is lost\ncontent as a list of parts reaches the "+
			"prompt")
	}
}
