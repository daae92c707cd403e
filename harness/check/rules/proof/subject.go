package proof

import (
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/probe"
)

// prepare prepares whatever can be prepared: the rules judge the result.
func prepare(s *probe.Subject, r chat.Request) (*engine.Plan, error) {
	return s.Template.Prepare(r,
		engine.PrepareOptions{Insist: true, Fallbacks: s.Options.Fallbacks})
}

// turnOf returns the text after the header in a rendering of a user's turn and an answer.
func turnOf(s *probe.Subject, text string) (string, bool) {
	_, turn, ok := strings.Cut(text, "USERNEEDLE")
	if !ok {
		return "", false
	}
	return s.Template.Analysis().CutTurn(turn)
}

// contentMarkers wraps an answer as the format does where nothing stands beside it.
func contentMarkers(s *probe.Subject, answer string) string {
	c := s.Template.Analysis().Format.Content
	if !c.Wraps(false, false) {
		return answer
	}
	return c.Open.Full() + answer + c.Close.Full()
}
