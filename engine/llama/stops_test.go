package llama

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestStopper cuts texts in every way in two, and at random: the output does not depend on the
// cuts.
func TestStopper(t *testing.T) {
	for _, c := range []struct {
		stops      []string
		text       string
		want, stop string
	}{
		{nil, "abc", "abc", ""},
		{[]string{""}, "abc", "abc", ""},
		{[]string{"</s>"}, "abc</s>def", "abc", "</s>"},
		{[]string{"</s>"}, "abc</s", "abc</s", ""},
		{[]string{"</s>"}, "</</s></", "</", "</s>"},
		{[]string{"aab"}, "aaaab", "aa", "aab"},
		{[]string{"b", "abc"}, "xabc", "xa", "b"},
		{[]string{"c", "abc"}, "xabc", "x", "abc"},
		{[]string{"ab", "abc"}, "xab", "x", "ab"},
		{[]string{"世界"}, "世世界", "世", "世界"},
	} {
		check := func(pieces ...string) {
			s := newStopper(c.stops)
			var got strings.Builder
			send := func(token Token, text []byte) error {
				if token != NoToken && string(text) != pieces[token] || len(text) == 0 {
					t.Errorf("%q at %q: token %d comes as %q", c.stops, pieces, token, text)
				}
				got.Write(text)
				return nil
			}
			for i, p := range pieces {
				stop, err := s.write(Token(i), []byte(p), send)
				if err != nil {
					t.Fatal(err)
				}
				if stop != "" {
					if got.String() != c.want || stop != c.stop {
						t.Errorf("%q at %q: %q, stopped by "+
							"%q; want %q, %q", c.stops, pieces, got.String(), stop, c.want, c.stop)
					}
					return
				}
			}
			if err := s.close(send); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want || c.stop != "" {
				t.Errorf("%q at %q: %q without a "+
					"stop; want %q, %q", c.stops, pieces, got.String(), c.want, c.stop)
			}
		}
		for i := range len(c.text) + 1 {
			check(c.text[:i], c.text[i:])
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			var pieces []string
			for rest := c.text; rest != ""; {
				n := 1 + random.IntN(len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			check(pieces...)
		}
	}
}
