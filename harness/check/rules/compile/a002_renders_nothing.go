package compile

import (
	"errors"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/conversation"
)

// RendersNothing is the rule A002: the template fails on the plainest conversation.
var RendersNothing = &probe.Rule{
	Rule: rule.Rule{
		ID: "A002", Name: "renders-nothing", Severity: rule.Error, Harm: rule.Crashed,
		Short:  "The template fails on the simplest request, one user message.",
		Damage: "Every request ends in an error.",
		Fix: "Render a single user message first. Give each variable that a request may lack a " +
			"default: `{{ x | default('') }}`.",
	},
	Group:          probe.GroupCompile,
	Unsuppressible: true,
	Find:           checkRenders,
}

// looked bounds the steps of the renders by which a template that fails is looked at.
const looked = 1_000_000

// checkRenders reports the reason why the engine cannot compile a template that is valid Jinja. One
// that refuses plain text in its own words is for other requests, such as those to translate; one
// that needs a variable which engines set to null fails where they do not.
func checkRenders(s *probe.Subject, find probe.Finder) {
	user := chattemplate.Input{Messages: sample.Talk(sample.User), Generate: true}
	if s.Err == nil {
		if t := *s.Template.ChatTemplate(); t.NullTools {
			t.NullTools = false
			user.Kwargs = s.Template.Caps().Needs.Bound
			if _, err := t.Render(user); err != nil {
				probe.Weigh(find, rule.Warning)(probe.Nowhere.Mended("Give the variable the value "+
					"that engines set: `{%- set tools = tools | default(none) %}`."), "a user message "+
					"fails where no variable tools is given: %w\nwho: programs that render the "+
					"template themselves; transformers, vLLM and SGLang set it to null", err)
			}
		}
		return
	}
	t, err := program(s)
	if err != nil && !errors.Is(s.Err, engine.ErrExhausted) {
		return // it is no valid Jinja, which is A001's
	}
	if class := jinja.Class(s.Err); err != nil || class == "" || class == "LimitError" {
		find(probe.Nowhere, "not even one user message can be rendered: %w", s.Err)
		return // it costs too much, and nothing more is tried
	}
	t.Bound(t.Limits, looked)
	if probe.Worded(s.Err) && conversation.Explore(t, s.Source.Grammar(), nil,
		conversation.UsualRenders, s.Source.Unreachable).Rendered != nil {
		probe.Weigh(find, rule.Warning)(probe.Nowhere.Mended("If the model takes such requests "+
			"alone, there is nothing to do: clients for chat cannot use it. Otherwise write the "+
			"message instead of calling `raise_exception`."), "a plain user message is refused: %w",
			s.Err)
		return
	}
	find(probe.Nowhere, "not even one user message can be rendered: %w", s.Err)
}
