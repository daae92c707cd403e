package upstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/serve"
)

// dialect describes the API of one kind of server.
type dialect struct {
	name  string
	path  string
	alive string // a path that answers while the server is up

	sign, signKey string // a path that only it has, and a member of the answer

	fields func(b *Backend, j serve.Job) ordered.Value // of the request
	// grammar returns the fields that constrain the answer; nil: it takes no grammar
	grammar func(out *codegen.Output) (ordered.Value, error)
	// read returns an event's text, and the reason of the end: "stop", "length" or another
	read func(v ordered.Value) (text, reason string)
	// adds reports whether it puts a token before prompts; nil: it does not
	adds func(ctx context.Context, b *Backend) (bool, error)
	// count counts the tokens of a prompt; nil: it cannot be asked
	count func(ctx context.Context, b *Backend, prompt string) (int, error)
}

// dialects lists them all. Those that have a sign are tried in this order: Ollama answers at
// OpenAI's paths as well.
var dialects = [...]dialect{
	{name: "llama-server", path: "/v1/completions", alive: "/health", sign: "/props",
		signKey: "default_generation_settings", fields: llamaFields, grammar: gbnfFields,
		read: readChoice, adds: llamaAdds, count: llamaCount},
	{name: "ollama", path: "/api/generate", alive: "/api/version", sign: "/api/version",
		signKey: "version", fields: ollamaFields, read: readOllama, adds: ollamaAdds},
	{name: "sglang", path: "/v1/completions", alive: "/health", sign: "/get_model_info",
		signKey: "model_path", fields: sglangFields, grammar: sglangTag, read: readChoice,
		adds: tokenizerAdds},
	{name: "vllm", path: "/v1/completions", alive: "/health", sign: "/version",
		signKey: "version", fields: vllmFields, grammar: vllmTag, read: readChoice,
		count: vllmCount},
	{name: "openai", path: "/v1/completions", alive: "/v1/models", fields: completionFields,
		read: readChoice},
}

// body returns the request for a job, in JSON.
func (b *Backend) body(j serve.Job) ([]byte, error) {
	body := b.speaks.fields(b, j).Append(nil, ordered.Compact)
	if !j.Constrain {
		return body, nil
	}
	if b.speaks.grammar == nil {
		return nil, errors.New("the upstream takes no grammar")
	}
	form, err := b.forms.of(j.Output, func() ([]byte, error) {
		v, err := b.speaks.grammar(j.Output)
		return v.Append(nil, ordered.Compact), err
	})
	if err != nil {
		return nil, err
	}
	// two objects become one: no dialect has a field in both
	return append(append(body[:len(body)-1], ','), form[1:]...), nil
}

// join adds the members of one object to another.
func join(v, more ordered.Value) ordered.Value {
	for _, m := range more.Members() {
		v = v.With(m.Key, m.Value)
	}
	return v
}

// completionFields returns the fields of OpenAI's legacy completions API.
func completionFields(b *Backend, j serve.Job) ordered.Value {
	v := ordered.Pairs("model", b.model, "prompt", b.prompt(j.Prompt.Text), "stream", true,
		"stream_options", ordered.Pairs("include_usage", true))
	v = v.With("max_tokens", ordered.Value{}) // as many as fit
	if j.Max > 0 {
		v = v.With("max_tokens", ordered.Int(j.Max))
	}
	if len(j.Output.Stops) > 0 {
		v = v.With("stop", ordered.ListOf(j.Output.Stops, ordered.Str))
	}
	return join(v, j.Sampling)
}

// llamaFields adds the markers as preserved tokens: they are left out of the text otherwise.
func llamaFields(b *Backend, j serve.Job) ordered.Value {
	v := completionFields(b, j)
	if j.Max == 0 {
		v = v.With("max_tokens", ordered.Int(-1))
	}
	return v.With("preserved_tokens", ordered.ListOf(j.Output.Preserved, ordered.Str)).
		With("cache_prompt", ordered.Boolean(true))
}

// The types of llama-server's triggers.
const (
	triggerWord    = 1
	triggerPattern = 2
)

// gbnfFields returns the fields that carry llama-server's grammar.
func gbnfFields(out *codegen.Output) (ordered.Value, error) {
	grammar, err := out.Grammar()
	if err != nil {
		return ordered.Value{}, err
	}
	v := ordered.Pairs("grammar", grammar.String())
	if !out.Lazy {
		return v, nil
	}
	var triggers []ordered.Value
	for _, t := range out.Triggers {
		kind := triggerWord
		if t.Pattern {
			kind = triggerPattern
		}
		triggers = append(triggers, ordered.Pairs("type", kind, "value", t.Text))
	}
	return v.With("grammar_lazy", ordered.Boolean(true)).
		With("grammar_triggers", ordered.ArrayOf(triggers...)), nil
}

// vllmFields tells vLLM not to add tokens to the prompt, to leave none out of the text, and to send
// the counts with every event.
func vllmFields(b *Backend, j serve.Job) ordered.Value {
	return completionFields(b, j).With("add_special_tokens", ordered.Boolean(false)).
		With("skip_special_tokens", ordered.Boolean(false)).
		With("spaces_between_special_tokens", ordered.Boolean(false)).
		With("stream_options", ordered.Pairs("include_usage", true, "continuous_usage_stats", true))
}

// vllmTag returns the field that carries vLLM's grammar.
func vllmTag(out *codegen.Output) (ordered.Value, error) {
	tag, err := emit.StructuralTag(out)
	return ordered.Pairs("structured_outputs", ordered.Pairs("structural_tag", tag.String())), err
}

// sglangMax is the most tokens of an answer from SGLang where the request states no bound: its
// completions API has no value that means as many as fit.
const sglangMax = 4096

// sglangFields tells SGLang to leave no tokens out of the text.
func sglangFields(b *Backend, j serve.Job) ordered.Value {
	if j.Max == 0 {
		j.Max = sglangMax
	}
	return completionFields(b, j).With("skip_special_tokens", ordered.Boolean(false))
}

// sglangTag returns the field that carries SGLang's grammar.
func sglangTag(out *codegen.Output) (ordered.Value, error) {
	tag, err := emit.StructuralTag(out)
	return ordered.Pairs("response_format", tag), err
}

// readChoice reads an event of /v1/completions.
func readChoice(v ordered.Value) (string, string) {
	choices := v.At("choices").Items()
	if len(choices) == 0 {
		return "", ""
	}
	return choices[0].At("text").Text(), choices[0].At("finish_reason").Text()
}

// ollamaFields returns the fields of Ollama's raw mode.
func ollamaFields(b *Backend, j serve.Job) ordered.Value {
	options := ordered.ObjectOf()
	if j.Max > 0 {
		options = options.With("num_predict", ordered.Int(j.Max))
	} else {
		options = options.With("num_predict", ordered.Int(-1))
	}
	if len(j.Output.Stops) > 0 {
		options = options.With("stop", ordered.ListOf(j.Output.Stops, ordered.Str))
	}
	return ordered.Pairs("model", b.model, "prompt", b.prompt(j.Prompt.Text), "raw", true,
		"stream", true, "options", join(options, j.Sampling))
}

// readOllama reads a line of an answer from Ollama.
func readOllama(v ordered.Value) (string, string) {
	reason := ""
	if v.At("done").Bool() {
		if reason = v.At("done_reason").Text(); reason == "" {
			reason = "stop"
		}
	}
	return v.At("response").Text(), reason
}

// tokens asks the server for the tokens of a text.
func (b *Backend) tokens(ctx context.Context, body ordered.Value) ([]ordered.Value, error) {
	a, err := b.client.Post(ctx, "/tokenize", body.Append(nil, ordered.Compact))
	switch {
	case err != nil:
		return nil, failure(ctx, err)
	case !a.OK():
		return nil, fmt.Errorf("/tokenize: %s", a.Fault())
	case a.JSON.At("tokens").Kind() != ordered.Array:
		return nil, fmt.Errorf("/tokenize gives no tokens")
	}
	return a.JSON.At("tokens").Items(), nil
}

func llamaTokens(text string, add bool) ordered.Value {
	return ordered.Pairs("content", text, "add_special", add, "parse_special", true)
}

func llamaAdds(ctx context.Context, b *Backend) (bool, error) {
	bare, err := b.tokens(ctx, llamaTokens("a", false))
	if err != nil {
		return false, err
	}
	with, err := b.tokens(ctx, llamaTokens("a", true))
	return len(with) > len(bare), err
}

func llamaCount(ctx context.Context, b *Backend, prompt string) (int, error) {
	tokens, err := b.tokens(ctx, llamaTokens(prompt, true))
	return len(tokens), err
}

func promptTokens(b *Backend, text string, add bool) ordered.Value {
	return ordered.Pairs("model", b.model, "prompt", text, "add_special_tokens", add)
}

func vllmCount(ctx context.Context, b *Backend, prompt string) (int, error) {
	tokens, err := b.tokens(ctx, promptTokens(b, prompt, false))
	return len(tokens), err
}

func tokenizerAdds(ctx context.Context, b *Backend) (bool, error) {
	bare, err := b.tokens(ctx, promptTokens(b, "a", false))
	if err != nil {
		return false, err
	}
	with, err := b.tokens(ctx, promptTokens(b, "a", true))
	return len(with) > len(bare), err
}

// ollamaAdds asks Ollama for the flag in the model's file.
func ollamaAdds(ctx context.Context, b *Backend) (bool, error) {
	body := ordered.Pairs("model", b.model)
	a, err := b.client.Post(ctx, "/api/show", body.Append(nil, ordered.Compact))
	switch {
	case err != nil:
		return false, failure(ctx, err)
	case !a.OK():
		return false, fmt.Errorf("/api/show: %s", a.Fault())
	}
	return a.JSON.At("model_info", "tokenizer.ggml.add_bos_token").Bool(), nil
}
