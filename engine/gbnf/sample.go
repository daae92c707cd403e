package gbnf

import (
	"fmt"
	"math/rand"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/schema"
)

// maxSentence bounds how long the shortest and the longest sentence may be that [Minimal],
// [Maximal] and a [Sampler] write, in characters and choices.
const maxSentence = 1 << 22

// Sampler writes random sentences of a grammar. It always ends: once a sentence is longer than Max
// or nests deeper than sampleDepth, every choice is the one with the shortest way out.
type Sampler struct {
	Max int // characters after which a sentence is brought to its end; 0 is DefaultMax

	g     *Grammar
	index map[string]int
	costs []int
	rng   *rand.Rand
	pick  func(w *writer, alts []Alternate, depth int) int
	times func(w *writer, e Element, depth int) int
}

// DefaultMax is the length at which a sampled sentence is brought to its end, in characters.
const DefaultMax = 400

// sampleDepth is the nesting of rules at which a sampled sentence is brought to its end.
const sampleDepth = 60

// NewSampler returns a sampler that takes its choices from rng. Tokens given by number, or as all
// but one, have no text: a grammar with such elements may fail to be sampled.
func NewSampler(g *Grammar, rng *rand.Rand) (*Sampler, error) {
	s, err := newSampler(g)
	if err != nil {
		return nil, err
	}
	s.rng = rng
	s.pick = s.randomPick
	s.times = s.randomTimes
	return s, nil
}

func newSampler(g *Grammar) (*Sampler, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	s := &Sampler{g: g, index: make(map[string]int, len(g.Rules))}
	for i, r := range g.Rules {
		s.index[r.Name] = i
	}
	s.costs = sizes(g, s.index)
	if cost := s.costs[s.index[Root]]; cost > maxSentence {
		return nil, fmt.Errorf("grammar: the shortest sentence is longer "+
			"than %d characters", maxSentence)
	}
	return s, nil
}

// Sample returns a sentence.
func (s *Sampler) Sample() (string, error) { return s.write() }

// Minimal returns a shortest sentence, by characters and choices; where several are, the first
// alternative's.
func Minimal(g *Grammar) (string, error) {
	s, err := newSampler(g)
	if err != nil {
		return "", err
	}
	s.pick = func(_ *writer, alts []Alternate, _ int) int {
		_, which := cheapest(alts, s.index, s.costs)
		return which
	}
	s.times = func(_ *writer, e Element, _ int) int { return e.Min }
	return s.write()
}

// writer holds a sentence while it is written.
type writer struct {
	text  strings.Builder
	chars int
	err   error
}

func (s *Sampler) write() (string, error) {
	w := &writer{}
	s.alts(w, s.g.Rules[s.index[Root]].Alts, 0)
	return w.text.String(), w.err
}

func (s *Sampler) alts(w *writer, alts []Alternate, depth int) {
	for _, e := range alts[s.pick(w, alts, depth)] {
		if w.err != nil {
			return
		}
		if w.chars > 4*maxSentence {
			w.err = fmt.Errorf("grammar: a sentence grew beyond %d characters", 4*maxSentence)
			return
		}
		switch e.Kind {
		case Literal:
			w.text.WriteString(e.Text)
			w.chars += utf8.RuneCountInString(e.Text)
		case Class, Any:
			r := s.char(e)
			w.text.WriteRune(r)
			w.chars++
		case Ref:
			s.alts(w, s.g.Rules[s.index[e.Text]].Alts, depth+1)
		case Group:
			s.alts(w, e.Alts, depth)
		case Repeat:
			for range s.times(w, e, depth) {
				s.alts(w, e.Alts, depth)
				if w.err != nil {
					return
				}
			}
		case Token:
			if e.Negated || e.Text == "" {
				w.err = fmt.Errorf("grammar: the token %s has no text of its own", e)
				return
			}
			w.text.WriteString(e.Text)
			w.chars += utf8.RuneCountInString(e.Text)
		}
	}
}

// room is how much more a sentence may grow.
func (s *Sampler) room(w *writer, depth int) int {
	limit := s.Max
	if limit <= 0 {
		limit = DefaultMax
	}
	if depth > sampleDepth {
		return 0
	}
	return max(limit-w.chars, 0)
}

func (s *Sampler) randomPick(w *writer, alts []Alternate, depth int) int {
	room := s.room(w, depth)
	if room > 0 {
		which := s.rng.Intn(len(alts))
		if cost, _ := cheapest(alts[which:which+1], s.index, s.costs); cost <= room {
			return which
		}
	}
	_, which := cheapest(alts, s.index, s.costs)
	return which
}

// randomTimes is the least count and a few more: small numbers often, large ones sometimes.
func (s *Sampler) randomTimes(w *writer, e Element, depth int) int {
	cost, _ := cheapest(e.Alts, s.index, s.costs)
	more := s.room(w, depth)/(cost+1) - e.Min
	if e.Max != Unlimited {
		more = min(more, e.Max-e.Min)
	}
	if more <= 0 {
		return e.Min
	}
	few := 4
	if s.rng.Intn(8) == 0 {
		few = 40
	}
	return e.Min + s.rng.Intn(min(more, few)+1)
}

// char returns a character of a class: usually one that people write. Without a source of choices
// it is the first.
func (s *Sampler) char(e Element) rune {
	ranges := schema.NormalRanges(e.Ranges)
	if e.Negated || e.Kind == Any {
		ranges = complement(ranges)
	}
	if s.rng == nil {
		if schema.InRanges(ranges, 'a') {
			return 'a'
		}
		return ranges[0].Lo
	}
	if s.rng.Intn(8) > 0 {
		const usual = "abcxyzABZ0123456789 .,:;-_/<>{}[]()\"'\\|&=%#\n\té世😀"
		chars := []rune(usual)
		for range 6 {
			if r := chars[s.rng.Intn(len(chars))]; schema.InRanges(ranges, r) {
				return r
			}
		}
	}
	r := ranges[s.rng.Intn(len(ranges))]
	c := r.Lo + rune(s.rng.Int63n(int64(r.Hi-r.Lo)+1))
	if c >= 0xd800 && c < 0xe000 || c > unicode.MaxRune {
		return r.Lo // a class may span the surrogates, which no text contains
	}
	return c
}
