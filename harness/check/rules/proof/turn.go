package proof

import (
	"strings"

	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

// turn is the place of the template that writes an answer of a shape: the text where it has one,
// else its first call.
func turn(s *probe.Subject, shape verify.Shape) probe.Where {
	message, text := sample.CallTurn, "CITYNEEDLE"
	switch {
	case !shape.Tools:
		return s.Of("ANSWERNEEDLE")
	case strings.Contains(shape.Name, "content"):
		message = sample.CallTurn.With("content", sample.Answer.At("content"))
		text = "ANSWERNEEDLE"
	case strings.Contains(shape.Name, "without arguments"):
		message, text = sample.CallTurnOf(sample.LaterCall), "list_notes"
	}
	r, err := s.Fitted(sample.Talk(sample.User, message), true, true)
	if err == nil && r.Has(text) {
		return r.At(strings.LastIndex(r.Text, text))
	}
	return s.Of("CITYNEEDLE")
}
