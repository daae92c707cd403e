// Package local has a model file, run by llama.cpp, as the back end of package serve.
//
// # Model
//
// A [Backend] has a number of contexts, each of which answers one request at a time; requests wait
// for one. A context remembers the last conversation, so that one that goes on is not read again
// where it gets the same context.
//
// A prompt is tokenised in pieces (engine.Prompt.Pieces): a text of the request that spells a
// special token is text. An answer is read by the numbers of its tokens, and its grammar and its
// stops name the markers that are tokens: a text of the answer that spells one is text as well.
// Where a lazy grammar waits for a text with a marker in it that is more than the marker, the
// binding can wait only for its spelling, and all of such an answer is text.
//
// # Errors
//
// [Open] returns llama.ErrNotBuilt where the program was built without llama.cpp. A request that
// does not fit the context, or that asks for a penalty of tokens, which the binding does not have,
// gets a [wire.Refusal].
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
)

// Options describe how a model is run.
type Options struct {
	Model    llama.ModelOptions
	Context  llama.ContextOptions
	Contexts int // requests at once; 0: one
	// Seed gives the seed of a request that states none; nil: a random one.
	Seed func() uint32
}

// Backend is a model that is loaded.
type Backend struct {
	model      *llama.Model
	vocabulary *engine.Vocabulary
	free       chan *llama.Context
	seed       func() uint32
}

// Open loads a model, whose tokens the template was compiled with. The caller has asked the gate,
// and closes the back end.
func Open(ctx context.Context, path string, v *engine.Vocabulary, o Options) (*Backend, error) {
	m, err := llama.Load(ctx, path, o.Model)
	if err != nil {
		return nil, err
	}
	n := max(1, o.Contexts)
	b := &Backend{model: m, vocabulary: v, free: make(chan *llama.Context, n), seed: o.Seed}
	if b.seed == nil {
		b.seed = rand.Uint32
	}
	for range n {
		c, err := m.NewContext(o.Context)
		if err != nil {
			b.Close()
			return nil, err
		}
		b.free <- c
	}
	return b, nil
}

// Close frees the model. Nothing may run any more.
func (b *Backend) Close() error {
	for {
		select {
		case c := <-b.free:
			c.Close()
		default:
			return b.model.Close()
		}
	}
}

// Info is what /props says of the model.
func (b *Backend) Info() ordered.Value {
	info := b.model.Info()
	return ordered.Pairs("description", info.Description, "file_type", info.FileType,
		"parameters", ordered.Num(strconv.FormatUint(info.Parameters, 10)),
		"bytes", ordered.Num(strconv.FormatUint(info.Bytes, 10)), "training_context", info.Training,
		"layers", info.Layers, "vocabulary", info.Vocabulary)
}

// Constrains implements [serve.Backend].
func (*Backend) Constrains() bool { return true }

// Ready implements [serve.Backend].
func (*Backend) Ready(context.Context) error { return nil }

// Count implements [serve.Backend].
func (b *Backend) Count(_ context.Context, j serve.Job) (int, error) {
	tokens, err := b.tokenize(j.Prompt)
	return len(tokens), err
}

// tokenize splits a prompt piece by piece, so that no special token comes from the request.
func (b *Backend) tokenize(p engine.Prompt) ([]llama.Token, error) {
	pieces, err := p.Pieces(b.vocabulary)
	if err != nil {
		return nil, err
	}
	var all []llama.Token
	for _, piece := range pieces {
		tokens, err := b.model.Tokenize(piece.Text, piece.Special)
		if err != nil {
			return nil, err
		}
		all = append(all, tokens...)
	}
	return all, nil
}

// Generate implements [serve.Backend].
func (b *Backend) Generate(ctx context.Context, j serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	request, byID, err := b.request(j)
	if err != nil {
		return serve.Result{}, err
	}
	var c *llama.Context
	select {
	case c = <-b.free:
		defer func() { b.free <- c }()
	case <-ctx.Done():
		return serve.Result{}, context.Cause(ctx)
	}
	if err := take(serve.Piece{}); err != nil {
		return serve.Result{}, err
	}
	r, err := c.Generate(ctx, request, func(token llama.Token, piece []byte) error {
		return take(serve.Piece{Text: piece, ByID: byID, ID: int(token),
			Prompt: len(request.Prompt)})
	})
	switch {
	case errors.Is(err, llama.ErrFull):
		err = &wire.Refusal{Reason: wire.Invalid, Code: wire.ContextLength, Message: err.Error()}
	case errors.Is(err, llama.ErrGrammar):
		err = &wire.Refusal{Reason: wire.Internal, Message: err.Error()}
	}
	return serve.Result{Cut: r.End.Cut(),
		Usage: chat.Usage{Prompt: len(request.Prompt), Completion: r.Tokens}}, err
}

// request returns the model's task, and whether the answer is read by its tokens.
func (b *Backend) request(j serve.Job) (r llama.Request, byID bool, err error) {
	r = llama.Request{Max: j.Max}
	if r.Prompt, err = b.tokenize(j.Prompt); err != nil {
		return r, false, err
	}
	if r.Sampling, err = b.sampling(j.Sampling); err != nil {
		return r, false, err
	}
	byID = true
	if j.Constrain {
		if r.Grammar, byID, err = b.grammar(j); err != nil {
			return r, false, err
		}
	}
	for _, stop := range j.Output.Stops {
		if t, ok := b.vocabulary.Find(stop); ok && byID && b.vocabulary.Marker(t.ID) {
			r.Ends = append(r.Ends, llama.Token(t.ID))
		} else {
			r.Stops = append(r.Stops, stop)
		}
	}
	return r, byID, nil
}

// grammar returns the grammar of an answer, and whether it is one of tokens.
func (b *Backend) grammar(j serve.Job) (g *llama.Grammar, byID bool, err error) {
	g = &llama.Grammar{Lazy: j.Output.Lazy}
	byID = true
	for _, t := range j.Output.Triggers {
		trigger := llama.Trigger{Kind: llama.TriggerWord, Text: t.Text}
		switch {
		case t.Pattern:
			trigger.Kind = llama.TriggerPattern
			byID = false
		case b.isMarker(t.Text):
			trigger.Kind = llama.TriggerToken
		case b.hasMarker(t.Text):
			byID = false
		}
		g.Triggers = append(g.Triggers, trigger)
	}
	if !j.Output.Lazy {
		byID = true
	}
	grammar, err := j.Output.Grammar()
	if err != nil {
		return nil, false, err
	}
	if byID {
		grammar = emit.ByTokens(grammar, b.vocabulary)
	} else { // the spelling of a marker sets the grammar in as well
		for i := range g.Triggers {
			if g.Triggers[i].Kind == llama.TriggerToken {
				g.Triggers[i].Kind = llama.TriggerWord
			}
		}
	}
	g.Text = grammar.String()
	return g, byID, nil
}

// isMarker and hasMarker report whether a text is a marker that is a token, and whether it has one.
func (b *Backend) isMarker(text string) bool {
	t, ok := b.vocabulary.Find(text)
	return ok && b.vocabulary.Marker(t.ID)
}

func (b *Backend) hasMarker(text string) bool {
	return slices.ContainsFunc(b.vocabulary.Scan(text), func(m vocab.Match) bool {
		return b.vocabulary.Marker(m.ID)
	})
}

// sampling reads the settings of a request; those that it leaves out have the defaults of OpenAI's
// API.
func (b *Backend) sampling(v ordered.Value) (llama.Sampling, error) {
	s := llama.Sampling{Temperature: 1, Seed: b.seed()}
	for _, m := range v.Members() {
		n, err := strconv.ParseFloat(m.Value.Text(), 64)
		switch m.Key {
		case "temperature":
			s.Temperature = float32(n)
		case "top_p":
			s.TopP = float32(n)
		case "min_p":
			s.MinP = float32(n)
		case "top_k":
			s.TopK = max(0, int(n))
		case "seed":
			s.Seed = uint32(int64(n))
		default:
			if err != nil || n != 0 {
				return s, &wire.Refusal{Reason: wire.Invalid, Param: m.Key,
					Code:    "unsupported_parameter",
					Message: fmt.Sprintf("not supported: this server has no %s", m.Key)}
			}
		}
	}
	return s, nil
}
