package values

import (
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/probe"
)

// writes renders a call with arguments, given as an object, or as text where the template refuses
// objects.
func writes(s *probe.Subject, arguments ordered.Value) (probe.Rendering, error) {
	r, err := s.WithArguments(arguments)
	if err != nil {
		if text, again := s.WithArguments(ordered.Str(arguments.String())); again == nil {
			return text, nil
		}
	}
	return r, err
}
