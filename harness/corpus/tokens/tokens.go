// Package tokens checks that a message does not depend on the tokens in which its output comes, and
// reads outputs that are given in tokens.
//
// # Model
//
// A server gets an output token by token, or several of them at once where it speculates. [Check]
// parses an output in groups of 1 to 8 tokens and in seeded bursts and demands the same message
// each time, and deltas that keep to the protocol (E24). Where no tokeniser is at hand, [Made]
// makes a vocabulary of the markers of a format, and [Cut] cuts an output by it: markers are one
// token each, and all other text is cut anywhere, inside characters too. That is no tokeniser; it
// has every way to cut that one could have.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package tokens

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/harness/corpus/split"
)

// madeID is the id of the first token of a vocabulary that is made up.
const madeID = 100_000

// Markers returns the texts between brackets in a literal, brackets included, that have no white
// space in them.
func Markers(literal string) (texts []string) {
	for i, open := range literal {
		at := slices.Index([]rune(format.OpenBrackets), open)
		if at < 0 {
			continue
		}
		shut := string([]rune(format.ShutBrackets)[at])
		n := strings.Index(literal[i:], shut)
		if n < 0 {
			continue
		}
		text := literal[i : i+n+len(shut)]
		inner := strings.Trim(text, format.OpenBrackets+format.ShutBrackets+"|/")
		if inner != "" && !strings.ContainsFunc(text, unicode.IsSpace) &&
			strings.Count(text, string(open)) == 1 {
			texts = append(texts, text)
		}
	}
	return texts
}

// Text returns the text of tokens.
func Text(tokens []engine.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(t.Text)
	}
	return b.String()
}

// feeder is a parser that gets the tokens of the bytes that it is given.
type feeder struct {
	*engine.Parser
	tokens []engine.Token
	at     int
}

func (f *feeder) Reset() {
	f.Parser.Reset()
	f.at = 0
}

func (f *feeder) Write(chunk []byte) []chat.Delta {
	from := f.at
	for n := len(chunk); n > 0 && f.at < len(f.tokens); f.at++ {
		n -= len(f.tokens[f.at].Text)
	}
	return f.WriteTokens(f.tokens[from:f.at])
}

// bursts is the number of seeded schedules.
const bursts = 8

// Schedules yields the groups in which tokens are given: 1 to 8 at a time, and bursts of 1 to 5
// with now and then a long one, as a server has them that speculates. Each is the offsets, in
// bytes, at which a group ends.
func Schedules(tokens []engine.Token) iter.Seq[[]int] {
	ends := make([]int, len(tokens))
	at := 0
	for i, t := range tokens {
		at += len(t.Text)
		ends[i] = at
	}
	return func(yield func([]int) bool) {
		for size := 1; size <= 8; size++ {
			var cuts []int
			for i := size - 1; i < len(ends)-1; i += size {
				cuts = append(cuts, ends[i])
			}
			if !yield(cuts) {
				return
			}
		}
		for seed := range uint64(bursts) {
			random := rand.New(rand.NewPCG(seed, uint64(len(tokens))))
			var cuts []int
			for i := 0; i < len(ends)-1; i++ {
				cuts = append(cuts, ends[i])
				if i += random.IntN(5); random.IntN(8) == 0 {
					i += random.IntN(16)
				}
			}
			if !yield(cuts) {
				return
			}
		}
	}
}

// Check parses an output in all its tokens at once and in every group. It returns the answer of the
// one go, and the groups with the fewest cuts that give another one or break the protocol of
// deltas.
func Check(
	p *engine.Parser,
	tokens []engine.Token,
	reason chat.FinishReason,
) (split.Answer, *split.Mismatch) {
	tokens = slices.DeleteFunc(
		slices.Clone(tokens),
		func(t engine.Token) bool { return len(t.Text) == 0 },
	)
	return split.CheckSchedules(&feeder{Parser: p, tokens: tokens}, Text(tokens), reason,
		Schedules(tokens))
}

// Tokenizer is a tokeniser as far as an output is read with it.
type Tokenizer struct {
	Vocabulary *engine.Vocabulary
	// Texts returns the texts of tokens that are no added ones; it is called where one is needed.
	Texts func() (*vocab.Texts, error)
}

// Open returns the tokeniser that package model finds at a path.
func Open(path string) (Tokenizer, error) {
	v, err := tokenizer.Vocabulary(path)
	return Tokenizer{v, sync.OnceValues(func() (*vocab.Texts, error) {
		return tokenizer.Texts(path)
	})}, err
}

// With returns the tokeniser with the added tokens of another one, which replace its own.
func (t Tokenizer) With(other Tokenizer) Tokenizer {
	return Tokenizer{vocab.Merge(t.Vocabulary, other.Vocabulary), t.Texts}
}

// Tokens returns the tokens with ids.
func (t Tokenizer) Tokens(ids []int) ([]engine.Token, error) {
	out := make([]engine.Token, len(ids))
	for i, id := range ids {
		out[i].ID = id
		if added, ok := t.Vocabulary.ByID(id); ok {
			out[i].Text = []byte(added.Text)
			continue
		}
		texts, err := t.Texts()
		if err != nil {
			return nil, fmt.Errorf("token %d is no added token of the vocabulary, so that it "+
				"needs a text or bytes: %w", id, err)
		}
		text, ok := texts.Bytes(id)
		if !ok {
			return nil, fmt.Errorf("the tokeniser has no token %d", id)
		}
		out[i].Text = text
	}
	return out, nil
}

// Read reads the tokens of an output: JSON lines, each a token {"id": 1, "text": "..."}, or {"id":
// 1, "bytes": [226, 128]} where its bytes are no text of their own, or only {"id": 1} where the
// tokeniser has its text; or a list of ids.
func Read(name, text string, t Tokenizer) ([]engine.Token, error) {
	var out []engine.Token
	src := source.New(name, text)
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		if strings.TrimSpace(line) != "" {
			tokens, err := readLine(line, t)
			if err != nil {
				return nil, &source.Error{Src: src, Off: at, Msg: err.Error()}
			}
			out = append(out, tokens...)
		}
		at += len(line) + 1
	}
	return out, nil
}

func readLine(line string, t Tokenizer) ([]engine.Token, error) {
	var ids []int
	if json.Unmarshal([]byte(line), &ids) == nil && ids != nil {
		return t.Tokens(ids)
	}
	var record struct {
		ID    *int
		Text  *string
		Bytes []int
	}
	if err := json.Unmarshal([]byte(line), &record); err != nil || record.ID == nil {
		return nil, fmt.Errorf(`expected a token such as {"id": 1, "text": "Hi"} or ` +
			`{"id": 1, "bytes": [226, 128]}, one a line, or a list of ids`)
	}
	token := engine.Token{ID: *record.ID}
	switch {
	case record.Bytes != nil:
		for _, b := range record.Bytes {
			if b < 0 || b > 255 {
				return nil, fmt.Errorf("%d is no byte", b)
			}
			token.Text = append(token.Text, byte(b))
		}
	case record.Text != nil:
		token.Text = []byte(*record.Text)
	default:
		return t.Tokens([]int{token.ID})
	}
	return []engine.Token{token}, nil
}
