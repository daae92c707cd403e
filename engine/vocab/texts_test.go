package vocab_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine/vocab"
)

// TestTexts reads tokens of every kind of decoder that spells bytes.
func TestTexts(t *testing.T) {
	const added = `"added_tokens": [{"id": 3, "content": "<▁call>"}]`
	byteLevel := `{"type": "ByteLevel"}`
	sentencePiece := `{"type": "Sequence", "decoders": [
		{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
		{"type": "ByteFallback"}, {"type": "Fuse"},
		{"type": "Strip", "content": " ", "start": 1, "stop": 0}]}`
	for _, c := range []struct {
		name, decoder, table string
		want                 []string
	}{
		{"bytes", byteLevel, `{"Ġhi": 0, "Ã": 1, "Ċ": 2}`, []string{" hi", "\xc3", "\n"}},
		{"a character that spells no byte", byteLevel, `{"▁": 0}`, []string{"▁"}},
		{"SentencePiece", sentencePiece, `{"▁hi▁": 0, "<0xC3>": 1, "<0x>": 2}`,
			[]string{" hi ", "\xc3", "<0x>"}},
		{"Unigram", `{"type": "Metaspace", "replacement": "_"}`, `[["_hi", -1.5], ["a", -2], ["b", 0]]`,
			[]string{" hi", "a", "b"}},
		{"no decoder", "null", `{"a": 0, "b": 1, "c": 2}`, []string{"a", "b", "c"}},
	} {
		texts, err := vocab.ReadTexts(`{"decoder": ` + c.decoder + `, "model": {"vocab": ` +
			c.table + `}, ` + added + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for id, want := range append(c.want, "", "", "", "")[:4] {
			if id == 3 {
				want = "<▁call>" // an added token stands for itself
			}
			if got, ok := texts.Bytes(id); string(got) != want || ok != (want != "") {
				t.Errorf("%s: token %d is %q, %t; want %q", c.name, id, got, ok, want)
			}
		}
		for _, id := range []int{-1, 4, 1 << 40} {
			if got, ok := texts.Bytes(id); ok {
				t.Errorf("%s: token %d is %q", c.name, id, got)
			}
		}
	}
	for text, want := range map[string]string{
		`{`:                                    "expected",
		`{"model": {}}`:                        "no tokens",
		`{"model": {"vocab": {"a": "x"}}}`:     `"x" is no token id`,
		`{"model": {"vocab": {"a": 1e99}}}`:    "is no token id",
		`{"added_tokens": [{"content": "a"}]}`: "added_tokens[0] has no id",
		`{"decoder": {"type": "WordPiece"}}`:   `decoder: "WordPiece" is not known`,
		`{"decoder": {"type": "Metaspace"}}`:   "expected one character",
		`{"decoder": {"type": "Replace", "pattern": {"Regex": "a"}}}`: "regular expression",
	} {
		if _, err := vocab.ReadTexts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzTexts reads any tokenizer.json without a panic, and in bounded memory.
func FuzzTexts(f *testing.F) {
	f.Add(`{"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"a": 0}}}`)
	f.Add(`{"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}]},
		"model": {"vocab": [["<0x0A>", 0]]}, "added_tokens": [{"id": 16777216, "content": "x"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		texts, err := vocab.ReadTexts(text)
		if err != nil {
			return
		}
		for id := range 8 {
			texts.Bytes(id)
		}
	})
}
