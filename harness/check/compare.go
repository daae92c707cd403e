package check

import (
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/subject"
)

// RenderWith renders a request with another renderer, fitted as the engine fits it. The native
// engine renders it first: the other one only ever sees renders that end within the limits.
func RenderWith(renderer chattemplate.Renderer, t *engine.Template,
	r chat.Request) (string, error) {
	in := t.Caps().Fit(r).Input
	if _, err := t.ChatTemplate().Render(in); err != nil {
		return "", err
	}
	program, err := renderer.Compile(t.ChatTemplate().Source)
	if err != nil {
		return "", err
	}
	return program.Render(t.ChatTemplate().Vars(in), subject.Now)
}

// Unset compares the prompt of a question without a switch of thinking with those with one: "as
// on", "as off" or "neither as on nor as off"; "" where the switch changes nothing, or one of its
// values is refused.
func Unset(t *engine.Template) string {
	var texts [3]string
	yes, no := true, false
	for i, thinking := range []*bool{&yes, &no, nil} {
		text, err := t.ChatTemplate().Render(t.Caps().Fit(chat.Request{
			Messages: sample.Talk(sample.User), EnableThinking: thinking}).Input)
		if err != nil {
			return ""
		}
		texts[i] = text
	}
	switch on, off, unset := texts[0], texts[1], texts[2]; {
	case on == off:
		return ""
	case unset == on:
		return "as on"
	case unset == off:
		return "as off"
	}
	return "neither as on nor as off"
}
