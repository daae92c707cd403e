package engines

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// A cut is a way to hand an output to an engine.
type cut string

// The cuts.
const (
	whole  cut = "whole"  // in one go
	tokens cut = "tokens" // in seeded chunks of one to four pieces as a tokeniser would make them
	runes  cut = "runes"  // rune by rune, except for special tokens
	prompt cut = "prompt" // no output: a prompt is rendered
)

var cuts = []cut{whole, tokens, runes}

// chunks cuts an output; nil is in one go. No special token is cut.
func (c cut) chunks(output string, special []string, seed uint64) []string {
	if c == whole {
		return nil
	}
	pieces := pieces(output, special, c == runes)
	if c == runes || len(pieces) == 0 {
		return pieces
	}
	random := rand.New(rand.NewPCG(seed, 1))
	var chunks []string
	for i := 0; i < len(pieces); {
		n := min(1+random.IntN(4), len(pieces)-i)
		chunks = append(chunks, strings.Join(pieces[i:i+n], ""))
		i += n
	}
	return chunks
}

// pieces cuts a text at special tokens, and the text between them into runes, or into words with
// the white space before them.
func pieces(text string, special []string, single bool) []string {
	var out []string
	for text != "" {
		n := 0
		for _, t := range special {
			if strings.HasPrefix(text, t) {
				n = max(n, len(t))
			}
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(text)
			for !single && n < len(text) && n < 8 && isLetter(text[n-1]) && isLetter(text[n]) {
				n++
			}
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ' ' }
