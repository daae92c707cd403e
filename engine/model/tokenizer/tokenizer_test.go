package tokenizer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/tokenizer"
)

// tokeniserFile writes a GGUF with a vocabulary and returns its path.
func tokeniserFile(t *testing.T, kind string, types []int32, tokens ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []gguf.Value
	for _, kind := range types {
		kinds = append(kinds, gguf.Of(kind))
	}
	list, err := gguf.ArrayOf(gguf.Int32, kinds...)
	if err != nil {
		t.Fatal(err)
	}
	err = gguf.Create(f, nil, []gguf.Pair{
		{Key: "tokenizer.ggml.model", Value: gguf.Text(kind)},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Texts(tokens...)},
		{Key: "tokenizer.ggml.token_type", Value: list},
	}, nil)
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	return path
}

// TestTexts reads the bytes of a GGUF's tokens: added ones stand for themselves.
func TestTexts(t *testing.T) {
	types := []int32{1, 3, 4, 6} // normal, control, defined by the model's maker, a byte
	for kind, want := range map[string]string{
		"gpt2":   "hi\xc3|<Ġ>|▁Ġ|<0xC3>",
		"llama":  "hiÃĠ|<Ġ>|▁Ġ|\xc3",
		"gemma4": "hiÃĠ|<Ġ>|▁Ġ|\xc3",
	} {
		spelt := []string{"hiÃ", "<Ġ>", "▁Ġ", "<0xC3>"}
		if kind != "gpt2" {
			spelt[0] = "hiÃĠ"
		}
		texts, err := tokenizer.Texts(tokeniserFile(t, kind, types, spelt...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for id := range types {
			b, _ := texts.Bytes(id)
			got = append(got, string(b))
		}
		if joined := strings.Join(got, "|"); joined != want {
			t.Errorf("%s: %q, want %q", kind, joined, want)
		}
	}
	for _, c := range []struct{ path, want string }{
		{tokeniserFile(t, "rwkv", types, "a", "b", "c", "d"), `tokenizer.ggml.model is "rwkv"`},
		{tokeniserFile(t, "gpt2", types, "a"), "1 tokens and 4 types"},
		{filepath.Join(t.TempDir(), "none.json"), "no such file"},
	} {
		if _, err := tokenizer.Texts(c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
