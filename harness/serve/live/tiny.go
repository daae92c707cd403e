package live

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/gguf"
)

// The measures of the tiny model. Its context is as large as the battery's prompts are with a token
// for each byte.
const (
	tinyContext = 16384
	tinyWidth   = 64
	tinyLayers  = 2
	tinyHeads   = 4
	tinyHidden  = 128
)

// Logits that the tiny model adds to those of its random weights, so that its nonsense comes to an
// end: the close of a string, a value or a turn is likelier than a letter.
const (
	quoteLogit  = 4.5
	closeLogit  = 2.5
	markerLogit = 3
	endLogit    = 4
	byteLogit   = -7 // of a byte that is no character: control characters, parts of others
)

// tinyToken is a token of the vocabulary.
type tinyToken struct {
	text  string // as the file spells it
	kind  int32  // of enum llama_token_type
	logit float64
}

// The kinds of tokens that are used.
const (
	kindNormal  = 1
	kindControl = 3
	kindUser    = 4
)

// WriteTiny writes a model of the llama architecture with seeded random weights, a few hundred
// thousand of them. Its vocabulary are the bytes, pieces of two characters and pieces that straddle
// the ends of the markers, and the markers as special tokens, bos and eos among them. The template
// is the one that the file carries; "" for none.
func WriteTiny(w io.Writer, seed uint64, bos, eos string, markers []string, template string) error {
	tokens := tinyVocabulary(bos, eos, markers)
	return gguf.Create(w, nil, tinyPairs(tokens, bos, eos, template),
		tinyTensors(tokens, rand.New(rand.NewPCG(seed, 0))))
}

// WriteTinyFile writes the model to a file of a temporary directory, and returns its path.
func WriteTinyFile(dir string, seed uint64, bos, eos string, markers []string,
	template string) (path string, err error) {
	f, err := os.CreateTemp(dir, "tiny-*.gguf")
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err = WriteTiny(&b, seed, bos, eos, markers, template); err == nil {
		_, err = f.Write(b.Bytes())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

func tinyVocabulary(bos, eos string, markers []string) []tinyToken {
	var tokens []tinyToken
	seen := map[string]bool{}
	add := func(text string, kind int32, logit float64) {
		if text != "" && !seen[text] {
			seen[text] = true
			tokens = append(tokens, tinyToken{text, kind, logit})
		}
	}
	piece := func(text string, logit float64) { add(byteSpelling(text), kindNormal, logit) }
	add(bos, kindControl, byteLogit)
	add(eos, kindControl, endLogit)
	for c := range 256 {
		logit := 0.0
		switch {
		case c == '"' || c == '\'':
			logit = quoteLogit
		case strings.ContainsRune("}])>", rune(c)):
			logit = closeLogit
		case c < ' ' && c != '\n' || c > '~':
			logit = byteLogit
		}
		piece(string([]byte{byte(c)}), logit)
	}
	for _, text := range []string{`",`, `"}`, `"]`, `"}}`, `"]}`, `": "`, `"` + "\n", "}\n", "}}\n", "]\n", "}]"} {
		piece(text, closeLogit)
	}
	for _, text := range []string{"th", "he", "in", "er", " a", "on", ", ", ": ", "{\"", "[{",
		"\n\n", "</", "<|", "\":", "\\n", "é", "日本"} {
		piece(text, 0)
	}
	for _, m := range markers { // pieces that begin or end within a marker
		half := len(m) / 2
		piece(m[half:], 0)
		piece(m[half:]+"\n", 0)
		piece("\n"+m[:half], 0)
		piece("\""+m[:1], closeLogit)
		piece(m[len(m)-1:]+"{", 0)
	}
	for _, m := range markers {
		add(m, kindUser, markerLogit)
	}
	return tokens
}

// byteSpelling spells bytes as the vocabularies of byte-level BPE do: printable bytes of Latin-1 as
// themselves, the others as the characters from U+0100 on, in order (the bytes_to_unicode of
// GPT-2's published encoder).
func byteSpelling(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(byteRune(c))
	}
	return b.String()
}

func byteRune(c byte) rune {
	switch {
	case c <= ' ':
		return 0x100 + rune(c)
	case c < 0x7f || c >= 0xa1 && c != 0xad:
		return rune(c)
	case c == 0xad:
		return 0x100 + 67
	}
	return 0x100 + 33 + rune(c-0x7f)
}

func tinyPairs(tokens []tinyToken, bos, eos, template string) []gguf.Pair {
	texts := make([]string, len(tokens))
	kinds := make([]gguf.Value, len(tokens))
	var merges []string
	for i, t := range tokens {
		texts[i], kinds[i] = t.text, gguf.Of(t.kind)
		if r := []rune(t.text); t.kind == kindNormal && len(r) == 2 {
			merges = append(merges, string(r[0])+" "+string(r[1]))
		}
	}
	types, err := gguf.ArrayOf(gguf.Int32, kinds...)
	if err != nil {
		panic(err) // every item was made as an int32
	}
	id := func(text string) gguf.Value { return gguf.Of(uint32(slices.Index(texts, text))) }
	pairs := []gguf.Pair{
		{Key: "general.architecture", Value: gguf.Text("llama")},
		{Key: "general.name", Value: gguf.Text("tiny random")},
		{Key: "general.file_type", Value: gguf.Of(uint32(0))},
		{Key: "llama.context_length", Value: gguf.Of(uint32(tinyContext))},
		{Key: "llama.embedding_length", Value: gguf.Of(uint32(tinyWidth))},
		{Key: "llama.block_count", Value: gguf.Of(uint32(tinyLayers))},
		{Key: "llama.feed_forward_length", Value: gguf.Of(uint32(tinyHidden))},
		{Key: "llama.attention.head_count", Value: gguf.Of(uint32(tinyHeads))},
		{Key: "llama.attention.layer_norm_rms_epsilon", Value: gguf.Of(float32(1e-5))},
		{Key: "llama.rope.dimension_count", Value: gguf.Of(uint32(tinyWidth / tinyHeads))},
		{Key: "tokenizer.ggml.model", Value: gguf.Text("gpt2")},
		{Key: "tokenizer.ggml.pre", Value: gguf.Text("gpt-2")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Texts(texts...)},
		{Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.merges", Value: gguf.Texts(merges...)},
		{Key: "tokenizer.ggml.bos_token_id", Value: id(bos)},
		{Key: "tokenizer.ggml.eos_token_id", Value: id(eos)},
		{Key: "tokenizer.ggml.add_bos_token", Value: gguf.Of(false)},
	}
	if template != "" {
		pairs = append(pairs, gguf.Pair{Key: "tokenizer.chat_template", Value: gguf.Text(template)})
	}
	return pairs
}

// bias is the first component of every embedding. No layer writes to it, so that after the last
// normalisation it is about biasAfter, and the first column of the output matrix adds the same to a
// token's logit everywhere.
const bias = 8

func tinyTensors(tokens []tinyToken, random *rand.Rand) []gguf.Content {
	biasAfter := bias / math.Sqrt((bias*bias+tinyWidth-1)/float64(tinyWidth))
	n := len(tokens)
	// tensor makes a tensor of rows x columns; value gives an element, in a row's order.
	tensor := func(name string, columns, rows int,
		value func(row, column int) float64) gguf.Content {
		data := make([]byte, 0, 4*columns*rows)
		for row := range rows {
			for column := range columns {
				data = binary.LittleEndian.AppendUint32(data,
					math.Float32bits(float32(value(row, column))))
			}
		}
		dims := []uint64{uint64(columns), uint64(rows)}
		if rows == 1 {
			dims = dims[:1]
		}
		return gguf.Content{Tensor: gguf.Tensor{Name: name, Type: gguf.F32, Dims: dims},
			Data: bytes.NewReader(data)}
	}
	one := func(int, int) float64 { return 1 }
	normal := func(scale float64) func(int, int) float64 {
		return func(int, int) float64 { return scale * random.NormFloat64() }
	}
	silent := func(scale float64) func(int, int) float64 { // writes nothing to the first component
		return func(row, _ int) float64 {
			if row == 0 {
				return 0
			}
			return scale * random.NormFloat64()
		}
	}
	all := []gguf.Content{
		tensor("token_embd.weight", tinyWidth, n, func(_, column int) float64 {
			if column == 0 {
				return bias
			}
			return random.NormFloat64()
		}),
		tensor("output_norm.weight", tinyWidth, 1, one),
		tensor("output.weight", tinyWidth, n, func(row, column int) float64 {
			if column == 0 {
				return tokens[row].logit / biasAfter
			}
			return 0.2 * random.NormFloat64()
		}),
	}
	for i := range tinyLayers {
		name := func(s string) string { return "blk." + string(rune('0'+i)) + "." + s + ".weight" }
		all = append(all,
			tensor(name("attn_norm"), tinyWidth, 1, one),
			tensor(name("attn_q"), tinyWidth, tinyWidth, normal(0.1)),
			tensor(name("attn_k"), tinyWidth, tinyWidth, normal(0.1)),
			tensor(name("attn_v"), tinyWidth, tinyWidth, normal(0.1)),
			tensor(name("attn_output"), tinyWidth, tinyWidth, silent(0.1)),
			tensor(name("ffn_norm"), tinyWidth, 1, one),
			tensor(name("ffn_gate"), tinyWidth, tinyHidden, normal(0.1)),
			tensor(name("ffn_up"), tinyWidth, tinyHidden, normal(0.1)),
			tensor(name("ffn_down"), tinyHidden, tinyWidth, silent(0.1)))
	}
	return all
}
