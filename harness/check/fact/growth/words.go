package growth

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/chattemplate"
)

// learn notes the words of the template's own in a prompt.
func (g *Growth) learn(o chattemplate.Observation) {
	var buf []byte // for the keys, most of which are known, and so are their words
	for words := range OwnWords(o) {
		if buf = AppendKey(buf[:0], words); g.known[string(buf)] {
			continue
		}
		g.known[string(buf)] = true
		for _, w := range words {
			g.known[w.text] = true
		}
	}
}

// news returns where a prompt has words of the template's own that follow each other nowhere else:
// the first that is new itself, if one is.
func (g *Growth) news(o chattemplate.Observation) (int, bool) {
	var buf []byte // for the keys, most of which are known
	for words := range OwnWords(o) {
		if buf = AppendKey(buf[:0], words); g.known[string(buf)] {
			continue
		}
		for _, w := range words {
			if !g.known[w.text] {
				return w.Off, true
			}
		}
		return words[0].Off, true
	}
	return 0, false
}

// ownWord is a word of a prompt that is the template's own. All numbers are one word.
type ownWord struct {
	text string
	Off  int
}

// AppendKey appends the key of words that follow each other.
func AppendKey(key []byte, words []ownWord) []byte {
	for _, w := range words {
		key = append(append(key, w.text...), ' ')
	}
	return key
}

// OwnWords yields three words after each other of each stretch of a prompt that is the template's
// own; all words of a stretch that has fewer.
func OwnWords(o chattemplate.Observation) iter.Seq[[]ownWord] {
	return func(yield func([]ownWord) bool) {
		var words []ownWord
		stretch := func(from, to int) bool {
			words = words[:0]
			text := o.String[from:to]
			for i := 0; i < len(text); {
				r, n := utf8.DecodeRuneInString(text[i:])
				w := ownWord{text[i : i+n], from + i}
				switch {
				case isDigit(r):
					n = spanOf(text[i:], isDigit)
					w.text = "0"
				case isLetter(r):
					n = spanOf(text[i:], isLetter)
					w.text = text[i : i+n]
				}
				if i += n; isDigit(r) || unicode.IsLetter(r) {
					words = append(words, w)
				}
			}
			for i := range max(len(words)-2, min(len(words), 1)) {
				if !yield(words[i:min(i+3, len(words))]) {
					return false
				}
			}
			return true
		}
		from := 0
		for at, r := range o.All() {
			if !chattemplate.IsOwn(r.Origin) {
				if !stretch(from, at) {
					return
				}
				from = at + r.Len
			}
		}
		stretch(from, len(o.String))
	}
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// spanOf is the length of the beginning of a text all of which is of a kind.
func spanOf(text string, kind func(rune) bool) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return !kind(r) }); i >= 0 {
		return i
	}
	return len(text)
}
