// Package upstream has a server's raw completions as the back end of package serve: the prompt and
// the grammar go there as they are, and text comes back.
//
// # Dialects
//
// Servers agree on little of /v1/completions. A dialect knows how one of them is told to add no
// tokens to the prompt and to keep special tokens in its text, and the form of its grammars:
//
//	dialect       path              grammar                    tokens of a prompt
//	llama-server  /v1/completions   GBNF, with its triggers    /tokenize
//	vllm          /v1/completions   structural tag             /tokenize
//	sglang        /v1/completions   structural tag             by a completion of one token
//	ollama        /api/generate     none                       by a completion of one token
//	openai        /v1/completions   none                       by a completion of one token
//
// "openai" is the dialect of every other server; only the fields of OpenAI's
// former API are sent to it. [Detect] asks a server for the one that it speaks.
//
// # The first token
//
// Some servers put the token that begins a text before every prompt, and templates write it as
// well. [Open] asks the server; where it adds one, the template's own is left out.
//
// # Errors
//
// An error is a [wire.Refusal]: the upstream's refusal of a request keeps its text. Limits are
// those of package openai; redirects are not followed.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
)

// Backend is a server's raw completions.
type Backend struct {
	client *openai.Client
	speaks *dialect
	model  string // its name there
	bos    string // left out at the beginning of a prompt, since the server adds it
	forms  forms
}

// Options hold the facts that are known of an upstream.
type Options struct {
	Dialect string // "" or "auto": it is asked for
	Model   string // its name there; "": the first one that it lists
	BOS     string // the text of the token that begins a prompt; "" where there is none
}

// Open asks a server for its kind.
func Open(ctx context.Context, c *openai.Client, o Options) (*Backend, error) {
	name := o.Dialect
	var err error
	if name == "" || name == "auto" {
		if name, err = Detect(ctx, c); err != nil {
			return nil, err
		}
	}
	b := &Backend{client: c, model: o.Model}
	for i := range dialects {
		if dialects[i].name == name {
			b.speaks = &dialects[i]
		}
	}
	if b.speaks == nil {
		return nil, fmt.Errorf("no dialect is named %q; expected one of %s", name,
			strings.Join(Dialects(), ", "))
	}
	if b.model == "" {
		if b.model, err = c.FirstModel(ctx); err != nil {
			return nil, err
		}
	}
	if o.BOS != "" && b.speaks.adds != nil {
		adds, err := b.speaks.adds(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("does the server add a token before prompts? %w", err)
		}
		if adds {
			b.bos = o.BOS
		}
	}
	return b, nil
}

// Dialects names the dialects.
func Dialects() []string {
	names := []string{"auto"}
	for i := range dialects {
		names = append(names, dialects[i].name)
	}
	return names
}

// Detect asks a server for the dialect that it speaks, by a path that no other server has.
func Detect(ctx context.Context, c *openai.Client) (string, error) {
	for i := range dialects {
		d := &dialects[i]
		if d.sign == "" {
			continue
		}
		a, err := c.Get(ctx, d.sign)
		if err != nil {
			return "", err
		}
		if a.OK() && !a.JSON.At(d.signKey).IsNull() {
			return d.name, nil
		}
	}
	return "openai", nil
}

// Model is the name of the upstream's model.
func (b *Backend) Model() string { return b.model }

// Dialect is the name of the upstream's dialect.
func (b *Backend) Dialect() string { return b.speaks.name }

// Constrains reports whether the upstream takes a grammar.
func (b *Backend) Constrains() bool { return b.speaks.grammar != nil }

// Ready asks whether the upstream answers.
func (b *Backend) Ready(ctx context.Context) error {
	a, err := b.client.Get(ctx, b.speaks.alive)
	if err == nil && !a.OK() {
		err = errors.New(a.Fault())
	}
	return err
}

// prompt leaves the token out that the server adds.
func (b *Backend) prompt(text string) string { return strings.TrimPrefix(text, b.bos) }

// Generate implements [serve.Backend].
func (b *Backend) Generate(ctx context.Context, j serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	var result serve.Result
	body, err := b.body(j)
	if err != nil {
		return result, err
	}
	events, answer, err := b.client.Events(ctx, b.speaks.path, body)
	switch {
	case err != nil:
		return result, failure(ctx, err)
	case answer != nil:
		return result, refusal(answer)
	}
	defer events.Close()
	if err := take(serve.Piece{}); err != nil { // the upstream has begun
		return result, err
	}
	ended := false
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return result, nil
		case errors.Is(err, io.EOF):
			return result, broken("its stream ends without a reason")
		case err != nil:
			return result, failure(ctx, err)
		case event.Done:
			if !ended {
				return result, broken("its stream ends without a reason")
			}
			return result, nil
		}
		if e, ok := event.Data.Get("error"); ok && !e.IsNull() {
			message := e.At("message")
			if message.IsNull() {
				message = e
			}
			return result, broken(openai.Excerpt(message.Text()))
		}
		text, reason := b.speaks.read(event.Data)
		usage(event.Data, &result.Usage)
		if text != "" {
			piece := serve.Piece{Text: []byte(text), Prompt: result.Usage.Prompt,
				More: events.Buffered()}
			if err := take(piece); err != nil {
				return result, err
			}
		}
		if reason != "" {
			ended, result.Cut = true, reason == string(chat.FinishLength)
			if reason != string(chat.FinishLength) && reason != string(chat.FinishStop) {
				return result, broken("its answer ends with the reason " + openai.Excerpt(reason))
			}
		}
	}
}

// usage reads the counts of tokens that an event has.
func usage(v ordered.Value, u *chat.Usage) {
	for _, key := range [...]struct {
		v    ordered.Value
		into *int
	}{{v.At("usage", "prompt_tokens"), &u.Prompt},
		{v.At("usage", "completion_tokens"), &u.Completion},
		{v.At("prompt_eval_count"), &u.Prompt}, {v.At("eval_count"), &u.Completion}} {
		if n, err := strconv.Atoi(key.v.Text()); err == nil && n >= 0 {
			*key.into = n
		}
	}
}

// Count implements [serve.Backend].
func (b *Backend) Count(ctx context.Context, j serve.Job) (int, error) {
	if b.speaks.count != nil {
		return b.speaks.count(ctx, b, b.prompt(j.Prompt.Text))
	}
	// the prompt is read, and one token comes after it
	result, err := b.Generate(ctx, serve.Job{Prompt: j.Prompt, Output: j.Output, Max: 1},
		func(serve.Piece) error { return nil })
	if err == nil && result.Usage.Prompt == 0 {
		err = broken("it does not count the tokens of prompts")
	}
	return result.Usage.Prompt, err
}

// broken is the refusal of an answer that an upstream broke off.
func broken(why string) error {
	return &wire.Refusal{Reason: wire.Upstream, Message: "the upstream fails: " + why}
}

// failure is the refusal for an error of package openai; that of a caller who has gone is its own.
func failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, openai.ErrSilent), errors.Is(err, openai.ErrSlow):
		return &wire.Refusal{Reason: wire.Late, Message: "the upstream fails: " + err.Error()}
	case errors.Is(err, openai.ErrTruncated), errors.Is(err, openai.ErrEvent),
		errors.Is(err, openai.ErrTooLarge):
		return broken(err.Error())
	}
	return &wire.Refusal{Reason: wire.Unavailable, Message: "the upstream cannot be reached",
		Err: err}
}

// refusal makes a refusal of an answer that is no stream. A status from 400 to 499 is about the
// request, except where it is about this server's key or its rate; the client has then the
// upstream's own words, which clients search. Of all else it has the status alone.
func refusal(a *openai.Answer) error {
	r := &wire.Refusal{Reason: wire.Upstream, Err: errors.New(a.Fault()),
		Message: fmt.Sprintf("the upstream fails with HTTP status %d", a.Status)}
	switch {
	case a.OK():
		r.Message = "the upstream answers in one piece, where a stream was asked for"
	case a.Status == 429 || a.Status == 503:
		r.Reason = wire.Unavailable
	case a.Status == 400 || a.Status == 413 || a.Status == 422:
		r.Reason, r.Message = wire.Invalid, "the upstream refuses the request"
		if text := a.Message(); text != "" {
			r.Message = text
		}
		if beyondContext(a) {
			r.Code = wire.ContextLength
		}
	}
	return r
}

// beyondContext reports whether an upstream refuses a request since its prompt, or the prompt with
// the answer, is longer than the model's context: by OpenAI's code, by llama.cpp's type, or by the
// words that vLLM, SGLang and llama.cpp's descendants have for it.
func beyondContext(a *openai.Answer) bool {
	e := a.JSON.At("error")
	if e.At("code").Text() == wire.ContextLength ||
		e.At("type").Text() == "exceed_context_size_error" {
		return true
	}
	text := strings.ToLower(a.Message())
	return strings.Contains(text, "context length") || strings.Contains(text, "context size") ||
		strings.Contains(text, "context window")
}
