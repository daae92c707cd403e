package conversation

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words draws words that look like those of some language, each once.
type words struct {
	rand *rand.Rand
	used map[string]bool
}

func newWords(r *rand.Rand) *words { return &words{r, map[string]bool{}} }

const (
	consonants = "bdfgklmnprstvz"
	vowels     = "aeiou"
)

// word returns a new word. All words have one length, so that none is a part of another.
func (w *words) word() string {
	for {
		var b strings.Builder
		for range 3 {
			b.WriteByte(consonants[w.rand.IntN(len(consonants))])
			b.WriteByte(vowels[w.rand.IntN(len(vowels))])
		}
		b.WriteByte(consonants[w.rand.IntN(len(consonants))])
		if s := b.String(); !w.used[s] {
			w.used[s] = true
			return s
		}
	}
}

// sentence returns three new words as a sentence with an end mark.
func (w *words) sentence(end string) string {
	first := w.word()
	r, n := utf8.DecodeRuneInString(first)
	return string(unicode.ToUpper(r)) + first[n:] + " " + w.word() + " " + w.word() + end
}

// name returns the name of a function.
func (w *words) name() string { return w.word() + "_" + w.word() }

// awkward returns text with everything in it that careless code changes: quotes, markup, other scripts, blank lines and
// indentation inside.
func (w *words) awkward() string {
	return w.word() + " <b>\"" + w.word() + "\"</b> & it's ü日本\n\n    " + w.word() + `  C:\` + w.word() + " {x}"
}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// id returns n random letters and digits.
func (w *words) id(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphanumeric[w.rand.IntN(len(alphanumeric))]
	}
	return string(b)
}
