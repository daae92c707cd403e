package tokens_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/edit/train"
)

// attacks is how many texts are tried for a family; honest how many more without markers.
const attacks, honest = 1000, 100

// words are the words of honest text, some of them near to a marker.
var words = []string{
	"Hello", "Zürich", " ", "\n", "x <= 3", "<b>", "[0]", "|", "<|", "|>", "if a < b:", "日本", "</",
	">", "\t",
}

// hostile makes a text of markers, parts of them, and words.
func hostile(random *rand.Rand, markers []string) string {
	var b strings.Builder
	for range 1 + random.IntN(8) {
		m := markers[random.IntN(len(markers))]
		switch random.IntN(4) {
		case 0:
			b.WriteString(words[random.IntN(len(words))])
		case 1:
			b.WriteString(m[:random.IntN(len(m)+1)])
		case 2:
			b.WriteString(m[random.IntN(len(m)):])
		default:
			b.WriteString(m)
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// TestTokenizers has Hugging Face's tokenizers read prompts in pieces: the texts of people and
// tools give no added token of the template's, however they spell one, and honest text keeps its
// tokens. Where a conversation goes on at an added token, its tokens stay.
//
// Every other family's tool markers are added tokens that are not special.
func TestTokenizers(t *testing.T) {
	python := os.Getenv("ASSAY_PYTHON")
	if python == "" {
		return // make tokens runs it
	}
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded}
	var in bytes.Buffer
	out := json.NewEncoder(&in)
	n := 0
	for _, variant := range suite.Variants() {
		src, err := suite.Source(t.Context(), variant)
		if err != nil {
			t.Fatal(err)
		}
		plain := compiled(t, src.Source, nil)
		var special, rest []string
		var list []vocab.Token
		for i, token := range tokens.Made(plain.Analysis().Format).Tokens() {
			if token.Special = n%2 == 0 || i%2 == 0; token.Special {
				special = append(special, token.Text)
			} else {
				rest = append(rest, token.Text)
			}
			list = append(list, token)
		}
		if len(list) == 0 {
			continue
		}
		v := vocab.New(list, vocab.Config{})
		tmpl, err := engine.Compile(t.Context(), src.Source, engine.Options{Segments: true})
		if err != nil {
			t.Fatal(err)
		}
		say := func(text string) (engine.Prompt, bool) {
			r, err := chat.ParseRequest(ordered.ObjectOf(ordered.MemberOf("messages",
				ordered.ArrayOf(chat.MessageOf("user", ordered.Str(text))))))
			if err != nil {
				t.Fatal(err)
			}
			p, err := tmpl.Render(r)
			return p, err == nil
		}
		bare, ok := say("word")
		if !ok {
			continue
		}
		want := []string{}
		for _, m := range v.Scan(bare.Text) {
			want = append(want, m.Text)
		}
		if n++; n > 45 {
			break
		}
		out.Encode(map[string]any{"family": variant.Name, "special": append([]string{}, special...),
			"plain": append([]string{}, rest...)})
		for step := range train.Steps(tmpl, train.Inputs(tmpl, 1)) {
			if strings.HasPrefix(step.Is, step.Was) && step.Seam(v) == train.SeamKept {
				out.Encode(map[string]string{"was": step.Was, "is": step.Is})
			}
		}
		random := rand.New(rand.NewPCG(1, uint64(n)))
		markers := append(append([]string{}, special...), rest...)
		for i := range attacks + honest {
			text := ""
			if i < attacks {
				text = hostile(random, markers)
			} else {
				for range 1 + random.IntN(12) {
					text += words[random.IntN(len(words))]
				}
			}
			p, ok := say(text)
			if !ok {
				continue
			}
			pieces, err := p.Pieces(v)
			if err != nil {
				t.Fatal(err)
			}
			var cut [][2]any
			for _, piece := range pieces {
				cut = append(cut, [2]any{piece.Text, piece.Special})
			}
			out.Encode(map[string]any{"text": p.Text, "pieces": cut, "want": want,
				"honest": i >= attacks && len(pieces) == 1})
		}
	}
	cmd := exec.Command(python, filepath.Join("..", "..", "..", "ci", "tokens", "pieces.py"))
	cmd.Stdin = &in
	got, err := cmd.CombinedOutput()
	t.Logf("%s", got)
	if err != nil || n < 40 {
		t.Errorf("%d families: %v", n, err)
	}
}
