package probe

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/sample"
)

// WithArguments renders a call with other arguments, unfitted.
func (s *Subject) WithArguments(arguments ordered.Value) (Rendering, error) {
	return s.Raw(sample.Talk(sample.User, sample.CallTurnWith(arguments), sample.Result), true)
}

// Of is the place that wrote a text in the first conversation that has it: one with reasoning,
// content and a call, or less.
func (s *Subject) Of(text string) Where {
	null := sample.CallTurn.With("content", ordered.Value{})
	for _, turn := range []ordered.Value{sample.FullTurn(sample.Call), sample.CallTurn, null,
		sample.Answer} {
		r, err := s.Fitted(sample.Talk(sample.User, turn), true, true)
		if err == nil && strings.Contains(r.Text, text) {
			return r.Of(text)
		}
	}
	return Nowhere
}

// Raw renders messages as they are, as a server does that fits nothing, where tools is true with
// the tools that they call; those are fitted, since their gaps do not concern messages.
func (s *Subject) Raw(messages []ordered.Value, tools bool) (Rendering, error) {
	in := chattemplate.Input{Messages: messages, Kwargs: s.Template.Caps().Needs.Bound}
	if tools {
		in.Tools = s.Tools()
	}
	return s.Render(in)
}

// Fitted renders messages as the engine does, fitted to the template; with tools also where tools
// is true, and with a generation prompt where generate is true.
func (s *Subject) Fitted(messages []ordered.Value, tools, generate bool) (Rendering, error) {
	r := chat.Request{Messages: messages, NoGeneration: !generate}
	if tools {
		r.Tools = sample.Tools()
	}
	return s.Ask(r)
}

// Tools are the called ones in the form that the template takes.
func (s *Subject) Tools() []ordered.Value {
	return s.Template.Caps().Fit(chat.Request{Tools: sample.Tools()}).Input.Tools
}

// SystemTurn is a system message in the form that the template takes.
func (s *Subject) SystemTurn() ordered.Value {
	if c := s.Template.Caps(); c.TypedOnly() {
		return sample.InParts(sample.System)
	}
	return sample.System
}
