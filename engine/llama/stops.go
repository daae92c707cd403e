package llama

import (
	"bytes"
	"strings"
)

// NoToken stands for a token of which a stop has left a part.
const NoToken Token = -1

// stopper cuts an answer at the first stop that comes in its text. Tokens whose text may be the
// beginning of a stop are held back: held is the text of these tokens.
type stopper struct {
	stops  []string
	held   []byte
	tokens []heldToken
}

// heldToken is a token and the number of its bytes.
type heldToken struct {
	token Token
	size  int
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

// write reads a token, sends those that may leave, and returns the stop that ends the text, if one
// does: the one that is complete first, and of several then the longest, so that it does not matter
// how the text is cut into tokens.
func (s *stopper) write(token Token, piece []byte,
	send func(Token, []byte) error) (stop string, err error) {
	s.held = append(s.held, piece...)
	s.tokens = append(s.tokens, heldToken{token, len(piece)})
	end := -1
	for _, word := range s.stops {
		if i := bytes.Index(s.held, []byte(word)); i >= 0 {
			if e := i + len(word); end < 0 || e < end || e == end && len(word) > len(stop) {
				end, stop = e, word
			}
		}
	}
	if end >= 0 {
		n, err := s.release(end-len(stop), send)
		if err == nil && n < end-len(stop) {
			err = send(NoToken, s.held[n:end-len(stop)])
		}
		s.held, s.tokens = nil, nil
		return stop, err
	}
	keep := 0
	for _, word := range s.stops {
		for n := min(len(word)-1, len(s.held)); n > keep; n-- {
			if strings.HasPrefix(word, string(s.held[len(s.held)-n:])) {
				keep = n
			}
		}
	}
	n, err := s.release(len(s.held)-keep, send)
	s.held = append(s.held[:0], s.held[n:]...)
	return "", err
}

// release sends the tokens that end within a number of bytes, and returns how many bytes they have.
func (s *stopper) release(size int, send func(Token, []byte) error) (sent int, err error) {
	n := 0
	for ; n < len(s.tokens) && sent+s.tokens[n].size <= size && err == nil; n++ {
		t := s.tokens[n]
		if t.size > 0 {
			err = send(t.token, s.held[sent:sent+t.size])
		}
		sent += t.size
	}
	s.tokens = append(s.tokens[:0], s.tokens[n:]...)
	return sent, err
}

// close sends the tokens that were held back.
func (s *stopper) close(send func(Token, []byte) error) error {
	_, err := s.release(len(s.held), send)
	s.held = s.held[:0]
	return err
}
