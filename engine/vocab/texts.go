package vocab

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine/ordered"
)

// Texts has the bytes of the tokens of a tokeniser, by id. With them an output is read; nothing is
// encoded. It is immutable and safe for concurrent use.
type Texts struct{ of map[int]string }

// NewTexts returns the texts of tokens: that of id i at i, "" where there is none.
func NewTexts(texts []string) *Texts {
	t := &Texts{of: make(map[int]string, len(texts))}
	for id, text := range texts {
		t.of[id] = text
	}
	return t
}

// Bytes returns the bytes of the token with an id, which may be part of a character. It reports
// whether the tokeniser has the token.
func (t *Texts) Bytes(id int) ([]byte, bool) {
	text := t.of[id]
	return []byte(text), text != ""
}

// byteOf are the characters with which GPT-2's vocabulary spells bytes: those of Latin-1 that one
// can see stand for themselves, and the others follow from U+0100 on.
var byteOf = func() map[rune]byte {
	table := map[rune]byte{}
	hidden := rune(0x100)
	for b := range rune(0x100) {
		switch {
		case '!' <= b && b <= '~', 0xa1 <= b && b <= 0xac, 0xae <= b:
			table[b] = byte(b)
		default:
			table[hidden] = byte(b)
			hidden++
		}
	}
	return table
}()

// ByteLevel decodes the spelling of a token in a vocabulary over bytes (the decoder ByteLevel of
// tokenizers, the model "gpt2" of a GGUF). A character that spells no byte stands for itself.
func ByteLevel(spelling string) string {
	var b strings.Builder
	for _, r := range spelling {
		if c, ok := byteOf[r]; ok {
			b.WriteByte(c)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Block is the character with which SentencePiece spells a blank, U+2581.
const Block = "▁"

// SentencePiece decodes the spelling of a token in a vocabulary of SentencePiece: blocks are
// blanks, and <0x0A> is a byte.
func SentencePiece(spelling string) string {
	return byteFallback(strings.ReplaceAll(spelling, Block, " "))
}

// byteFallback decodes a byte that is spelt as <0x0A>.
func byteFallback(text string) string {
	if len(text) == len("<0x00>") && strings.HasPrefix(text, "<0x") && text[5] == '>' {
		if b, err := strconv.ParseUint(text[3:5], 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return text
}

// ReadTexts reads the tokens of a tokenizer.json. A decoder whose tokens have no bytes of their own
// is an error that names it.
func ReadTexts(tokenizer string) (*Texts, error) {
	v, err := object("tokenizer.json", tokenizer)
	if err != nil {
		return nil, err
	}
	decode, err := decoder(v.At("decoder"))
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: decoder: %w", err)
	}
	t := &Texts{of: map[int]string{}}
	table := v.At("model", "vocab")
	for _, m := range table.Members() {
		n, ok := id(m.Value)
		if !ok {
			return nil, fmt.Errorf("tokenizer.json: model.vocab: %s is no token id", m.Value)
		}
		t.of[n] = decode(m.Key)
	}
	for n, item := range table.Items() { // of the model Unigram: pairs of a text and a score
		if pair := item.Items(); len(pair) > 0 {
			t.of[n] = decode(pair[0].Text())
		}
	}
	for i, item := range v.At("added_tokens").Items() {
		n, ok := id(item.At("id"))
		if !ok {
			return nil, fmt.Errorf("tokenizer.json: added_tokens[%d] has no id", i)
		}
		t.of[n] = item.At("content").Text()
	}
	if len(t.of) == 0 {
		return nil, fmt.Errorf("tokenizer.json: there are no tokens in model.vocab")
	}
	return t, nil
}

// decoder returns the function that decodes one token. Steps that look at a whole text, such as the
// one that strips its first blank, have no part in it: an output goes on after a prompt.
func decoder(v ordered.Value) (func(string) string, error) {
	same := func(text string) string { return text }
	switch kind := v.At("type").Text(); kind {
	case "", "Fuse", "Strip":
		return same, nil
	case "ByteLevel":
		return ByteLevel, nil
	case "ByteFallback":
		return byteFallback, nil
	case "Metaspace":
		block := v.At("replacement").Text()
		if utf8.RuneCountInString(block) != 1 {
			return nil, fmt.Errorf("the replacement of Metaspace is %q; expected one character",
				block)
		}
		return func(text string) string { return strings.ReplaceAll(text, block, " ") }, nil
	case "Replace":
		from, to := v.At("pattern", "String").Text(), v.At("content").Text()
		if from == "" {
			return nil, fmt.Errorf("the pattern of Replace is no text; tokens have no bytes of " +
				"their own under a regular expression")
		}
		return func(text string) string { return strings.ReplaceAll(text, from, to) }, nil
	case "Sequence":
		var steps []func(string) string
		for _, item := range v.At("decoders").Items() {
			step, err := decoder(item)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		return func(text string) string {
			for _, step := range steps {
				text = step(text)
			}
			return text
		}, nil
	default:
		return nil, fmt.Errorf("%.40q is not known; known are ByteLevel, ByteFallback, Metaspace, "+
			"Replace and Sequence", kind)
	}
}
