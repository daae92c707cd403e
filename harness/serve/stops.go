package serve

import (
	"strings"

	"github.com/goassay/assay/engine/chat"
)

// stopper looks for a request's stops in the content of an answer. Content that may be the
// beginning of a stop is held back until it is known.
type stopper struct {
	stops []string
	held  string
	found string // the stop that came
}

// read takes a delta and returns it with the content that may leave. Content that was held back and
// comes before another part of the answer is returned apart.
func (s *stopper) read(d chat.Delta) (rest chat.Delta, before string) {
	if len(s.stops) == 0 {
		return d, ""
	}
	if d.Content == "" {
		before, s.held = s.held, ""
		return d, before
	}
	text := s.held + d.Content
	end, stop := -1, ""
	for _, word := range s.stops {
		if i := strings.Index(text, word); i >= 0 {
			// the one that is complete first, and of several the longest
			if e := i + len(word); end < 0 || e < end || e == end && len(word) > len(stop) {
				end, stop = e, word
			}
		}
	}
	if end >= 0 {
		d.Content, s.held, s.found = text[:end-len(stop)], "", stop
		return d, ""
	}
	keep := 0
	for _, word := range s.stops {
		for n := min(len(word)-1, len(text)); n > keep; n-- {
			if strings.HasSuffix(text, word[:n]) {
				keep = n
			}
		}
	}
	d.Content, s.held = text[:len(text)-keep], text[len(text)-keep:]
	return d, ""
}

// close returns the content that was held back.
func (s *stopper) close() string {
	text := s.held
	s.held = ""
	return text
}
