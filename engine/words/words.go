// Package words draws the words that probes put into conversations.
//
// A template that knows the words of the probes could show them one face and its users another. So
// they are drawn from a seed, and look like people's texts: questions and remarks of common words
// about a town or a person with a rare name, functions named as programs name theirs. The same
// seed draws the same words; another seed draws others.
//
// A drawn text is its own: it does not occur in the texts that it shall avoid (a template's source,
// say), nor in another drawn text, nor does another occur in it, in capital letters or small ones.
// Wherever it turns up in a rendering, it came from where the probe put it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package words

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Source draws words. It is not safe for concurrent use.
type Source struct {
	rand  *rand.Rand
	avoid []string // in small letters, as are the drawn ones
	drawn []string
	all   strings.Builder // the drawn ones, each after a sign that no text has
	grams [1 << 8]uint64  // a bit for each four signs in a row that a drawn one has
}

// New returns a source for a seed. Nothing that it draws occurs in the texts to avoid.
func New(seed uint64, avoid ...string) *Source {
	s := &Source{rand: rand.New(rand.NewPCG(seed, 0x776f726473))}
	for _, text := range avoid {
		s.avoid = append(s.avoid, strings.ToLower(text))
	}
	return s
}

// tries is how often a draw is repeated that did not bring a text of its own; each draw has letters
// more than those before.
const tries = 64

// own draws until the text is its own. Draw gets the number of its calls so far, and makes the text
// longer with it, so that some draw is one.
func (s *Source) own(draw func(try int) string) string {
	for try := 0; ; try++ {
		text := draw(try)
		if small := strings.ToLower(text); try == tries || !s.met(small) {
			s.drawn = append(s.drawn, small)
			s.all.WriteString("\x00" + small)
			for i := range max(0, len(small)-3) {
				at, bit := gram(small[i:])
				s.grams[at] |= bit
			}
			return text
		}
	}
}

// met reports whether a text occurs in one that is to be avoided or was drawn, or one that was
// drawn in it.
func (s *Source) met(small string) bool {
	has := func(text string) bool { return strings.Contains(text, small) }
	if slices.ContainsFunc(s.avoid, has) || s.maybe(small) && has(s.all.String()) {
		return true
	}
	for _, text := range s.drawn {
		if len(text) < len(small) && strings.Contains(small, text) {
			return true
		}
	}
	return false
}

// gram is where the four signs that a text begins with are noted.
func gram(text string) (at int, bit uint64) {
	four := uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
	hash := four * 0x9e3779b1 >> 18
	return int(hash >> 6), 1 << (hash & 63)
}

// maybe reports whether a text may occur in a drawn one: whether all four signs in a row do.
func (s *Source) maybe(small string) bool {
	for i := range max(0, len(small)-3) {
		if at, bit := gram(small[i:]); s.grams[at]&bit == 0 {
			return false
		}
	}
	return true
}

// minWord is the least number of letters of a drawn word.
const minWord = 6

var (
	onsets = strings.Fields("b br c ch d dr f g gr h j k l m n p pr r s st t tr v w")
	vowels = strings.Fields("a e i o u a e i o ai ea ou")
	codas  = strings.Fields("l n r s t m nd rt st ck n l r")
)

// Word draws a rare word of six small letters or more: "ljubljana". It has nothing that any
// spelling would escape.
func (s *Source) Word() string { return s.own(s.word) }

// word draws the name of a town or of a person; where many are taken, letters that can be spoken.
func (s *Source) word(try int) string {
	if try < tries/2 {
		return s.pick(names)
	}
	var b strings.Builder
	for b.Len() < minWord+s.rand.IntN(3)+try/8 {
		b.WriteString(s.pick(onsets))
		b.WriteString(s.pick(vowels))
	}
	b.WriteString(s.pick(codas))
	return b.String()
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Question draws a user's question: "Do you know when Ljubljana opens on Sunday?". It is one line of
// letters, spaces and a question mark.
func (s *Source) Question() string { return s.sentence(questions) }

// Remark draws a statement of an assistant, a tool or a system message: "The road to Ljubljana is
// closed until the morning.".
func (s *Source) Remark() string { return s.sentence(remarks) }

// Rule draws a demand of a system message: "Keep your answers short and mention Ljubljana first.".
func (s *Source) Rule() string { return s.sentence(demands) }

// Thought draws an assistant's thought: "They want to know about Ljubljana, so I should look that
// up.".
func (s *Source) Thought() string { return s.sentence(thoughts) }

// sentence fills a pattern: NAME is a rare word, DAY and THING are common ones.
func (s *Source) sentence(patterns []string) string {
	return s.own(func(try int) string {
		name, day, thing := title(s.word(try)), s.pick(days), s.pick(things)
		text := strings.ReplaceAll(s.pick(patterns), "NAME", name)
		return strings.ReplaceAll(strings.ReplaceAll(text, "DAY", day), "THING", thing)
	})
}

// Function draws the name of a function: "find_recipe_ljubljana" where all that is common is taken,
// else "find_recipe".
func (s *Source) Function() string {
	return s.own(func(try int) string {
		name := s.pick(verbs) + "_" + s.pick(things)
		if try > tries/4 {
			name += "_" + s.word(try)
		}
		return name
	})
}

// Parameter draws the name of a parameter: "garden_size".
func (s *Source) Parameter() string {
	return s.own(func(try int) string {
		name := s.pick(things) + "_" + s.pick(measures)
		if try > tries/4 {
			name += "_" + s.word(try)
		}
		return name
	})
}

// ID draws nine letters and digits, the length and the signs that some templates demand of a call's
// id.
func (s *Source) ID() string {
	const signs = "abcdefghijkmnpqrstuvwxyz23456789"
	return s.own(func(int) string {
		var id [9]byte
		for i := range id {
			id[i] = signs[s.rand.IntN(len(signs))]
		}
		return string(id[:])
	})
}

func (s *Source) pick(from []string) string { return from[s.rand.IntN(len(from))] }

var (
	days  = strings.Fields("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
	verbs = strings.Fields("get find list store read update count book send search check " +
		"open close compare plan convert")
	measures = strings.Fields("size name count level kind date code limit price owner state length")
	things   = strings.Fields(`weather recipe garden ticket invoice note photo parcel route meeting window report song order booking table
		lamp river bridge market letter camera kitchen holiday budget station museum flight hotel project printer calendar contact`)

	questions = []string{
		"Do you know when NAME opens on DAY?", "Could you help me write to NAME about the THING?",
		"How far is it from NAME to the next THING?", "Why did NAME cancel the THING on DAY?",
		"Can you explain to me how the THING in NAME works?",
		"Which THING would you recommend for a trip to NAME?",
		"What should I bring to NAME on DAY?", "Is there anything new about the THING of NAME?",
	}
	remarks = []string{
		"The road to NAME is closed until DAY.",
		"I have asked NAME about the THING and will tell you on DAY.",
		"According to NAME the THING is ready to be used.",
		"There is a THING near NAME that opens on DAY.",
		"The THING that NAME sent arrives on DAY at noon.",
		"Most people in NAME would choose the other THING.",
	}
	demands = []string{
		"You work for NAME and answer questions about the THING.",
		"Keep your answers short, and mention NAME where it helps.",
		"You are the assistant of NAME. Be friendly and precise.",
		"Always remind people that NAME is closed on DAY.",
	}
	thoughts = []string{
		"They want to know about NAME, so I should look at the THING first.",
		"This is about NAME, and DAY is probably too late for it.",
		"The THING belongs to NAME, which makes the answer simple.",
		"I remember that NAME has a THING, but I should be careful.",
	}
)
