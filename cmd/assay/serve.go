package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/local"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/serve/upstream"
)

// The environment variables of the server's secrets. Files are named by flags.
const (
	serveKeysVariable   = "ASSAY_SERVE_KEYS"   // API keys of clients, between commas or lines
	upstreamKeyVariable = "ASSAY_UPSTREAM_KEY" // the upstream's API key
	sealKeyVariable     = "ASSAY_SEAL_KEY"     // the key that seals reasoning
)

var serveCommand = command{
	group: serving, name: "serve", args: "[MODEL.gguf]",
	takes: arity{0, 1, "a model file, where there is no --upstream"},
	files: modelFiles,
	short: "serve chat completions, Responses and Messages before any server's raw completions",
	long: `Prompt, grammar, parsing and protocols are this program's; the model runs in another server
(--upstream) or, by llama.cpp, in this process (a model file; needs the build tag llama). Only a
template that passes the gate is served. docs/servers.md has the purposes of this server.

API keys come from --keys or ` + serveKeysVariable + `, the upstream's key from ` +
		upstreamKeyVariable + `, the key that reasoning is sealed under from --seal-key or ` +
		sealKeyVariable + `; without one it is sealed under a key that ends with the process.`,
	setup: func(flags *flagSet) func(*call) error {
		v := new(served)
		flags.category("The model")
		flags.StringVar(&v.upstream, "upstream", "", "the `URL` of a server with raw completions")
		flags.StringVar(&v.dialect, "dialect", "auto", "the `KIND` of server that the upstream "+
			"is: "+strings.Join(upstream.Dialects(), ", "))
		flags.completes("dialect", upstream.Dialects)
		flags.StringVar(&v.upstreamModel, "upstream-model", "", "the model's `NAME` there "+
			"(default: the first one that it lists)")
		flags.StringVar(&v.template, "template", "", "the model's `TEMPLATE`, best with its "+
			"special tokens, as a tokenizer_config.json has it (default: the model file's, or "+
			"the one that the upstream gives)")
		flags.StringVar(&v.bos, "bos", "", "the `TEXT` of the token that begins a prompt")
		flags.StringVar(&v.eos, "eos", "", "the `TEXT` of the token that ends a turn")
		flags.StringSliceVar(&v.names, "model", nil, "the `NAME` of the model in requests; may "+
			"be repeated (default: its name there, or that of the file)")
		flags.IntVar(&v.layers, "gpu-layers", -1, "of a model file, offload the last `N` layers; "+
			"negative: all")
		flags.IntVar(&v.context.Size, "context", 16384, "of a model file, `TOKENS` that prompt "+
			"and answer may have; 0: as many as the model was trained for")
		flags.IntVar(&v.contexts, "contexts", 1, "of a model file, answer `N` requests at once")
		flags.category("Clients")
		flags.StringVar(&v.listen, "listen", "127.0.0.1:8000", "the `ADDRESS` to listen at")
		flags.StringSliceVar(&v.hosts, "host", nil, "the `NAME` by which clients reach the "+
			"server, besides localhost and addresses; may be repeated; *: any")
		flags.StringVar(&v.keys, "keys", "", "a `FILE` with the API keys of clients, one a line")
		flags.StringVar(&v.sealKey, "seal-key", "", "a `FILE` with the key that reasoning is "+
			"sealed under, of at least 32 bytes; all processes of a service share it")
		flags.category("Answers")
		v.fallbacks = fallbackFlag(flags)
		v.reading = toleranceFlag(flags)
		v.reading.incompleteFlag(flags)
		v.look = limitFlag(flags, lookedAt)
		l := &v.limits
		flags.IntVar(&l.Running, "running", 256, "answer `N` requests at once")
		flags.IntVar(&l.Waiting, "waiting", 1024, "let `N` more wait")
		flags.DurationVar(&l.Wait, "wait", time.Minute, "the longest `TIME` to wait")
		flags.DurationVar(&l.Answer, "timeout", 15*time.Minute, "the longest `TIME` of an answer")
		flags.DurationVar(&l.Alive, "alive", 15*time.Second, "the `TIME` after which a client of a "+
			"stream that hears nothing is sent an event without a meaning")
		flags.DurationVar(&v.silence, "upstream-timeout", 2*time.Minute, "the longest `TIME` in "+
			"which nothing comes from the upstream")
		flags.IntVar(&l.Conns, "connections", 0, "the most open connections, `N`; one more takes "+
			"the place of the one that idles the longest; 0: twice --running and --waiting")
		flags.Int64Var(&l.Body, "body", 16<<20, "the most `BYTES` of a request")
		flags.Int64Var(&l.Memory, "memory", 512<<20, "the most `BYTES` of memory that all "+
			"requests take together; others wait, or are refused for now")
		flags.IntVar(&l.MaxToken, "max-tokens", 0, "the most `TOKENS` of an answer whose request "+
			"states no bound; 0: as many as fit")
		flags.DurationVar(&v.grace, "grace", 30*time.Second, "the longest `TIME` that requests "+
			"may take after an interrupt")
		flags.grace = &v.grace
		flags.category("The log")
		flags.BoolVar(&v.text, "log-text", false, "log requests and answers with their texts")
		return v.run
	},
}

// served has the flags of the command.
type served struct {
	upstream, dialect, upstreamModel string
	template, bos, eos               string
	names, hosts                     []string
	layers, contexts                 int
	context                          llama.ContextOptions
	listen, keys, sealKey            string
	silence, grace                   time.Duration
	limits                           serve.Limits
	look                             *limits
	fallbacks                        *[]string
	reading                          *reading
	text                             bool
}

// serveMemory is the memory, in bytes, that the program takes beside that of requests. Where both
// are used up the collector works harder: a request's values are soon garbage, and those of the
// next ones would be added.
const serveMemory = 192 << 20

func (v *served) run(c *call) error {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(min(serveMemory+v.limits.Memory,
		debug.SetMemoryLimit(-1))))
	switch given := len(c.args) > 0; {
	case v.upstream == "" && !given:
		return usageError{errors.New("needs a model file, or the URL of a server by --upstream")}
	case v.upstream != "" && given:
		return usageError{errors.New("--upstream takes no model file")}
	}
	ctx := c.ctx
	if err := knownFallbacks(*v.fallbacks); err != nil {
		return err
	}
	o := serve.Options{Names: v.names, Hosts: v.hosts, Limits: v.limits, LogText: v.text,
		Reading: v.reading.options(*v.fallbacks), Log: slog.New(slog.NewJSONHandler(c.stderr, nil))}
	var err error
	if o.Keys, err = v.clientKeys(c); err != nil {
		return err
	}
	if o.Sealer, err = v.sealer(c); err != nil {
		return err
	}
	if v.upstream != "" {
		err = v.remote(ctx, c, &o)
	} else {
		var b *local.Backend
		if b, err = v.file(ctx, c, &o); b != nil {
			defer b.Close()
		}
	}
	if err != nil {
		return err
	}
	s, err := serve.New(o)
	if err != nil {
		return &failure{err}
	}
	l, err := net.Listen("tcp", v.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%s is served at http://%s\n", o.Names[0], l.Addr())
	return s.Serve(ctx, l, v.grace)
}

// clientKeys reads the keys that clients must have.
func (v *served) clientKeys(c *call) ([]string, error) {
	text := c.getenv(serveKeysVariable)
	if v.keys != "" {
		file, err := readFile(v.keys)
		if err != nil {
			return nil, err
		}
		text += "\n" + string(file)
	}
	keys := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",\r\n", r) })
	if len(keys) == 0 && v.keys != "" {
		return nil, fmt.Errorf("%s has no key", v.keys)
	}
	return keys, nil
}

// sealer makes the sealer of reasoning.
func (v *served) sealer(c *call) (*wire.Sealer, error) {
	key := []byte(c.getenv(sealKeyVariable))
	if v.sealKey != "" {
		file, err := readFile(v.sealKey)
		if err != nil {
			return nil, err
		}
		key = bytes.TrimSpace(file)
	}
	if len(key) == 0 {
		c.note("reasoning is sealed under a key that ends with this process; --seal-key keeps one")
		key = make([]byte, 32)
		rand.Read(key)
	}
	return wire.NewSealer(key, rand.Reader)
}

// compile compiles the template under the wall clock. The look at it is bounded as any other one.
// The renders of requests are not bounded together, since no server could serve for ever then: the
// template is compiled again for them, which takes as much as before.
func (v *served) compile(c *call, o *serve.Options, e engine.Options) (err error) {
	o.Source.BOS, o.Source.EOS = cmp.Or(v.bos, o.Source.BOS), cmp.Or(v.eos, o.Source.EOS)
	if v.bos != "" || v.eos != "" {
		o.Source.StandIns = false
	}
	if o.Source.StandIns {
		c.note("%s has no special tokens, so %q and %q stand for them; name the model's by --bos "+
			"and --eos, or give its tokenizer_config.json", o.Source.Name, o.Source.BOS,
			o.Source.EOS)
	}
	e.Limits = v.look.Limits
	if o.Template, err = engine.Compile(c.ctx, o.Source, e); err != nil {
		return err
	}
	o.Template.Gate() // which is all of the look
	if err := exhausted(o.Template); err != nil {
		return err
	}
	e.Limits.TotalSteps = 0
	o.Template, err = engine.Compile(context.WithoutCancel(c.ctx), o.Source, e)
	return err
}

// remote opens the upstream.
func (v *served) remote(ctx context.Context, c *call, o *serve.Options) error {
	client, err := openai.New(v.upstream, c.getenv(upstreamKeyVariable),
		openai.Limits{Silence: v.silence, Total: v.limits.Answer})
	if err != nil {
		return err
	}
	if v.template == "" {
		props, err := live.AskProperties(ctx, client)
		if err != nil {
			return err
		}
		if props.Template == "" {
			return errors.New("the upstream does not give its template; name it by --template")
		}
		o.Source = engine.Source{Name: "the upstream's template", Text: props.Template,
			BOS: props.BOS, EOS: props.EOS}
	} else {
		src, err := c.open(v.template)
		if err != nil {
			return err
		}
		o.Source = src.Source
	}
	if err := v.compile(c, o, engine.Options{}); err != nil {
		return err
	}
	b, err := upstream.Open(ctx, client, upstream.Options{Dialect: v.dialect,
		Model: v.upstreamModel, BOS: o.Source.BOS})
	if err != nil {
		return err
	}
	o.Backend = b
	if len(o.Names) == 0 {
		o.Names = []string{b.Model()}
	}
	fmt.Fprintf(c.stderr, "the upstream %s is taken for %s, its model is %s\n", v.upstream,
		b.Dialect(), b.Model())
	return nil
}

// file loads a model that passes the gate.
func (v *served) file(ctx context.Context, c *call, o *serve.Options) (*local.Backend, error) {
	path := c.args[0]
	name := strings.TrimSuffix(filepath.Base(path), ".gguf")
	src, err := c.open(cmp.Or(v.template, path))
	if err != nil {
		return nil, err
	}
	o.Source = src.Source
	vocabulary, err := tokenizer.Vocabulary(path)
	if err != nil {
		return nil, err
	}
	e := engine.Options{Vocabulary: vocabulary, Segments: true}
	if err := v.compile(c, o, e); err != nil {
		return nil, err
	}
	if err := o.Template.Gate().Err(); err != nil {
		return nil, &failure{fmt.Errorf("model %s rejected: %w", name, err)}
	}
	if !llama.Available() {
		return nil, llama.ErrNotBuilt
	}
	b, err := local.Open(ctx, path, vocabulary, local.Options{
		Model:   llama.ModelOptions{GPULayers: v.layers},
		Context: v.context, Contexts: v.contexts})
	if err != nil {
		return nil, err
	}
	o.Backend, o.Info = b, b.Info()
	if len(o.Names) == 0 {
		o.Names = []string{name}
	}
	return b, nil
}
