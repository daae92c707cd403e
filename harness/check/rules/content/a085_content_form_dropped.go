package content

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/view"
)

// ContentFormDropped is the rule A085: content reaches the prompt in one of its two forms, text or
// parts, and vanishes silently in the other.
var ContentFormDropped = &probe.Rule{
	Rule: rule.Rule{
		ID: "A085", Name: "content-form-dropped", Severity: rule.Warning, Harm: rule.Lost,
		Short:  "Content in one of its two forms, string or parts, is silently left out.",
		Damage: "Clients send either form. With one of them the model sees an empty message.",
		Fix:    "Test `{% if message.content is string %}` and write both forms.",
	},
	Find: checkForms,
}

// checkForms renders unfitted: the engine gives the form that the template takes, and others do
// not.
func checkForms(s *probe.Subject, find probe.Finder) {
	argumentForms(s, find)
	forms := [...]struct {
		name    string
		message ordered.Value
	}{{"a string", sample.User}, {"parts", sample.UserInParts}}
	var arrives [2]bool
	var prompts [2]probe.Rendering
	for i, form := range forms {
		p, err := s.Raw(sample.Talk(form.message), false)
		if err != nil {
			return // refused aloud
		}
		arrives[i], prompts[i] = p.Has("USERNEEDLE"), p
	}
	for i := range forms {
		if n := strings.Count(prompts[i].Text, "USERNEEDLE"); n > 1 &&
			strings.Count(prompts[1-i].Text, "USERNEEDLE") == 1 {
			find(prompts[i].Near("USERNEEDLE"), "a user message whose content comes as %s is "+
				"written %d times, and once as %s", forms[i].name, n, forms[1-i].name)
		}
		if !arrives[i] && arrives[1-i] {
			find := probe.NoteIf(forms[i].name == "parts" && !looksIntoParts(prompts[i]), find)
			find(prompts[i].Near("USERNEEDLE"),
				"a user message whose content comes as %s is lost without an error; as %s it is "+
					"kept", forms[i].name, forms[1-i].name)
		}
	}
}

// looksIntoParts reports whether a template looks at a part of a content in parts. One that does
// not gets a text from every server, which joins the parts.
func looksIntoParts(p probe.Rendering) bool {
	o, _ := p.Observe()
	return slices.ContainsFunc(o.Trace.Reads(), func(r jinja.Read) bool {
		return strings.HasPrefix(r.Path, "messages[0].content[0]")
	})
}

// argumentForms asks the same of arguments.
func argumentForms(s *probe.Subject, find probe.Finder) {
	if !s.Template.Caps().ToolCalls {
		return
	}
	forms := [...]struct {
		name      string
		arguments ordered.Value
	}{{"an object", sample.Arguments}, {"a string", sample.ArgumentsText}}
	var prompts [2]probe.Rendering
	for i, form := range forms {
		p, err := s.WithArguments(form.arguments)
		if err != nil {
			return // refused, which is A036
		}
		prompts[i] = p
	}
	parsed, asText := view.ByArguments()
	for i, hurt := range [...][]view.View{parsed, asText} {
		if !prompts[i].Has("CITYNEEDLE") && prompts[1-i].Has("CITYNEEDLE") {
			find(prompts[i].Near("CITYNEEDLE"),
				"a tool call's arguments that come as %s are lost without an error; as %s they "+
					"are kept\nwho: %s", forms[i].name, forms[1-i].name, view.Names(hurt))
		}
	}
}
