package proof

import (
	"github.com/goassay/assay/harness/check/probe"
)

// turn is the place that writes a turn: its call, where it has one, else its content.
func turn(s *probe.Subject, tools bool) probe.Where {
	if tools {
		return s.Of("CITYNEEDLE")
	}
	return s.Of("ANSWERNEEDLE")
}
