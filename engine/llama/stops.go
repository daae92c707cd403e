package llama

import (
	"bytes"
	"strings"
)

// stopper cuts a text at the first stop that comes in it. Text that may be the beginning of a stop
// is held back: held is always a suffix of the text that was read, and shorter than the longest
// stop.
type stopper struct {
	stops []string
	held  []byte
}

func newStopper(stops []string) *stopper {
	s := new(stopper)
	for _, stop := range stops {
		if stop != "" {
			s.stops = append(s.stops, stop)
		}
	}
	return s
}

// write reads a piece and returns the text that may leave, which is valid until the next call, and
// the stop that ends it, if one does: the one that is complete first, and of several then the
// longest, so that it does not matter how the text is cut into pieces.
func (s *stopper) write(piece []byte) (text []byte, stop string) {
	s.held = append(s.held, piece...)
	end := -1
	for _, word := range s.stops {
		if i := bytes.Index(s.held, []byte(word)); i >= 0 {
			if e := i + len(word); end < 0 || e < end || e == end && len(word) > len(stop) {
				end, stop = e, word
			}
		}
	}
	if end >= 0 {
		text, s.held = s.held[:end-len(stop)], nil
		return text, stop
	}
	keep := 0
	for _, word := range s.stops {
		for n := min(len(word)-1, len(s.held)); n > keep; n-- {
			if strings.HasPrefix(word, string(s.held[len(s.held)-n:])) {
				keep = n
			}
		}
	}
	text = s.held[:len(s.held)-keep]
	s.held = append([]byte(nil), s.held[len(s.held)-keep:]...)
	return text, ""
}

// close returns the text that was held back.
func (s *stopper) close() []byte {
	text := s.held
	s.held = nil
	return text
}
