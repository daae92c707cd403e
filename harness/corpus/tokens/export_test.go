package tokens

import (
	"math/rand/v2"
	"slices"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/vocab"
)

// Made returns a vocabulary in which each text between brackets that a format's literals have is a
// special token.
func Made(f format.Format) *engine.Vocabulary {
	var tokens []vocab.Token
	f.Literals(func(literal string) string {
		for _, text := range Markers(literal) {
			if !slices.ContainsFunc(tokens, func(t vocab.Token) bool { return t.Text == text }) {
				tokens = append(tokens,
					vocab.Token{ID: madeID + len(tokens), Text: text, Special: true})
			}
		}
		return literal
	})
	return vocab.New(tokens, vocab.Config{})
}

// Cut cuts a text: a marker of the vocabulary is a token, and other text is cut into pieces of 1 to
// 6 bytes, by the seed.
func Cut(v *engine.Vocabulary, text string, seed uint64) []engine.Token {
	var out []engine.Token
	at := 0
	for _, m := range v.Scan(text) {
		if v.Marker(m.ID) {
			out = append(out, Ordinary(text[at:m.Off], seed)...)
			out = append(out, engine.Token{ID: m.ID, Text: []byte(m.Text)})
			at = m.End()
		}
	}
	return append(out, Ordinary(text[at:], seed)...)
}

// Ordinary cuts a text into tokens that stand for text, whatever it spells.
func Ordinary(text string, seed uint64) (out []engine.Token) {
	random := rand.New(rand.NewPCG(seed, uint64(len(text))))
	for text != "" {
		n := min(1+random.IntN(6), len(text))
		out = append(out, engine.Token{ID: n, Text: []byte(text[:n])})
		text = text[n:]
	}
	return out
}
