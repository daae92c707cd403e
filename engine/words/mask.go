package words

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
)

// needles are the words that probes are written with: easy to read in evidence, and easy to know
// for a template.
var needles = regexp.MustCompile(`[A-Z0-9]*NEEDLE[A-Z0-9]*|SECONDCITY|Vq[a-z]+[0-9]*|vq_[a-z]+|vqcall[0-9]+|Hello there|Weather`)

// parts are texts of which each needle has one. To look for them costs much less than the
// expression does, and most texts have none.
var parts = [...]string{"NEEDLE", "SECONDCITY", "Vq", "vq", "Hello there", "Weather"}

// mayHave reports whether a text may have a needle.
func mayHave(text string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Mask puts drawn words in the place of the needles of probes before a template sees them, and the
// needles back into its text. So probes and evidence read the same under every seed, and no
// template can know by a word that it is looked at. A drawn text is as long as its needle, so that
// offsets stay. A mask is safe for concurrent use.
type Mask struct {
	seed  uint64
	avoid string // in small letters

	mu     sync.Mutex
	drawn  map[string]string // of a needle
	hidden map[string]string // of a text with needles
	begins [1 << 10]uint64   // the set of two bytes with which something of back begins
	back   map[uint16][]pair // by its first two bytes
}

// pair is a text that a template may write, and the one that stands for it in evidence.
type pair struct{ drawn, needle string }

// NewMask returns a mask. Nothing that it draws occurs in a text, which is the template's source.
func NewMask(seed uint64, avoid string) *Mask {
	return &Mask{seed: seed, avoid: strings.ToLower(avoid), drawn: map[string]string{},
		hidden: map[string]string{}, back: map[uint16][]pair{}}
}

// Hide returns a text with drawn words in the place of needles.
func (m *Mask) Hide(text string) string {
	if !mayHave(text) {
		return text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	hidden, ok := m.hidden[text]
	if !ok {
		hidden = needles.ReplaceAllStringFunc(text, m.draw)
		m.hidden[text] = hidden // probes are few, and say the same again and again
	}
	return hidden
}

// Show returns a text that a template wrote with the needles in their places.
func (m *Mask) Show(text string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	from := 0
	for i := 1; i < len(text); i++ {
		two := uint16(text[i-1])<<8 | uint16(text[i])
		if m.begins[two>>6]>>(two&63)&1 == 0 {
			continue
		}
		for _, p := range m.back[two] {
			if strings.HasPrefix(text[i-1:], p.drawn) {
				b.WriteString(text[from : i-1])
				b.WriteString(p.needle)
				from = i - 1 + len(p.drawn)
				i = from
				break
			}
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

func (m *Mask) draw(needle string) string {
	if text, ok := m.drawn[needle]; ok {
		return text
	}
	// a generator of its own for each needle, so that the order in which they come does not count
	stream := uint64(0)
	for _, c := range []byte(needle) {
		stream = stream*31 + uint64(c)
	}
	s := Source{rand: rand.New(rand.NewPCG(m.seed, stream))}
	text := ""
	for try := 0; ; try++ {
		text = s.like(needle)
		if try == tries || !m.met(strings.ToLower(text)) {
			break
		}
	}
	m.drawn[needle] = text
	for _, p := range []pair{{text, needle}, {strings.ToUpper(text), strings.ToUpper(needle)},
		{strings.ToLower(text), strings.ToLower(needle)}} {
		two := uint16(p.drawn[0])<<8 | uint16(p.drawn[1])
		m.begins[two>>6] |= 1 << (two & 63)
		m.back[two] = append(m.back[two], p)
	}
	return text
}

// met reports whether a text occurs in the source or in a drawn one, or one of those in it.
func (m *Mask) met(small string) bool {
	if strings.Contains(m.avoid, small) {
		return true
	}
	for _, text := range m.drawn {
		if text = strings.ToLower(text); strings.Contains(text, small) ||
			strings.Contains(small, text) {
			return true
		}
	}
	return false
}

// leads are how short remarks begin.
var leads = []string{"ask ", "for ", "see ", "call ", "tell ", "near ", "visit ", "about ",
	"write "}

// like draws a text that is as long as a needle, and of its kind: the name of a function, an id, a
// word, or a remark of words.
func (s *Source) like(needle string) string {
	n := len(needle)
	switch {
	case strings.HasPrefix(needle, "vq_"):
		return s.letters(n-4) + "_" + s.letters(3)
	case strings.HasPrefix(needle, "vqcall"):
		return s.letters(n-3) + string([]byte{s.digit(), s.digit(), s.digit()})
	case strings.HasPrefix(needle, "Vq") || n < 10:
		return title(s.letters(n))
	}
	lead := s.pick(leads)
	return lead + title(s.letters(n-len(lead)))
}

func (s *Source) digit() byte { return byte('0' + s.rand.IntN(10)) }

// clusters begin the syllables of a mask's words. No word of a conversation has one before a vowel,
// so that no conversation has a drawn text in it, be that as short as "Dza".
var clusters = strings.Fields("cz dz fj gj kz pf tz vl zd zh zl zv")

// letters draws n letters that can be spoken.
func (s *Source) letters(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(s.pick(clusters))
		b.WriteString(s.pick(vowels))
	}
	return b.String()[:n]
}
