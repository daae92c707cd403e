package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/subject"
)

var liveCommand = command{
	name: "live", args: "[MODEL.gguf]",
	short: "put a model or a server through a battery of requests, and check what comes of it",
	long: `The template is the model's own, that for tools where it has one, or that of --template; the gate judges it, and exit status 1
says that it rejects it. With --all-families the model goes through every template of the embedded corpus, and those that the gate rejects run the
scenarios without tools. --tiny takes the place of MODEL.gguf: a model with random weights, made on the spot for each template.
--record writes the answers as cases of a corpus, DIR/TEMPLATE/live_*.txtar; nothing is overwritten.
That needs a binary with llama.cpp in it: ` + "`make llama` provides the library and bin/assay with it." + `
With --server an OpenAI-compatible server takes the model's place: each request is answered in one piece and as a stream, and both answers are held
to the rules of docs/server-rules.md. Sampling is greedy unless --temperature is given. The template is that of --template, else the one that the server gives.
An API key is taken from the environment variable ` + keyVariable + ".",
	setup: func(flags *flag.FlagSet) func(*call) error {
		r := &liveRun{output: outputFlags(flags)}
		flags.BoolVar(&r.tiny, "tiny", false, "use the tiny model with random weights")
		flags.StringVar(&r.template, "template", "", "use this `TEMPLATE` instead of the model's")
		flags.BoolVar(&r.all, "all-families", false, "use every template of the embedded corpus")
		flags.StringVar(&r.only, "run", "", "with --all-families: only this `FAMILY`")
		flags.IntVar(&r.layers, "gpu-layers", -1, "offload the last `N` layers; negative: all")
		flags.IntVar(&r.context.Threads, "threads", 0, "compute with `N` threads (default: llama.cpp's choice; of the tiny model 1)")
		flags.IntVar(&r.context.Size, "context", 16384, "tokens that prompt and answer may have; 0: what the model was trained for")
		flags.IntVar(&r.options.Max, "max", 1200, "most `TOKENS` of a constrained answer")
		flags.IntVar(&r.options.MaxFree, "max-free", 64, "most `TOKENS` of an answer that nothing constrains")
		flags.Float64Var(&r.temperature, "temperature", 1, "sampling temperature; 0: greedy")
		flags.IntVar(&r.options.Sampling.TopK, "top-k", 0, "sample from the `N` likeliest tokens; 0: off")
		flags.Float64Var(&r.topP, "top-p", 0, "sample from the likeliest tokens with this total probability; 0: off")
		flags.Float64Var(&r.minP, "min-p", 0, "leave out tokens less likely than this part of the likeliest; 0: off")
		flags.Uint64Var(&r.seed, "seed", 1, "of the sampler, and of the tiny model's weights")
		flags.StringVar(&r.record, "record", "", "write the answers as cases into `DIR`")
		flags.StringVar(&r.date, "date", "", "with --record: the `DATE` that the cases carry")
		flags.BoolVar(&r.log, "log", false, "show llama.cpp's log")
		r.server = serverFlags(flags)
		return r.run
	},
}

type liveRun struct {
	output                  *output
	tiny, all, log          bool
	template, only          string
	record, date            string
	layers                  int
	context                 llama.ContextOptions
	options                 live.Options
	temperature, topP, minP float64
	seed                    uint64
	server                  *serverRun

	results []report.Result
	cases   atomic.Int64
}

func (r *liveRun) run(c *call) error {
	r.options.Sampling.Temperature, r.options.Sampling.Seed = float32(r.temperature), uint32(r.seed)
	r.options.Sampling.TopP, r.options.Sampling.MinP = float32(r.topP), float32(r.minP)
	if r.server.url != "" {
		return r.server.run(r, c)
	}
	if err := r.usage(c); err != nil {
		return err
	}
	sources, err := r.sources(c)
	if err != nil {
		return err
	}
	if !llama.Available() {
		return llama.ErrNotBuilt
	}
	ctx, stop := c.interruptible()
	defer stop()
	if r.log {
		llama.SetLog(func(level llama.LogLevel, line string) { fmt.Fprintf(c.stderr, "llama.cpp %s: %s\n", level, line) })
	}
	if r.tiny {
		err = r.runTiny(ctx, c, sources)
	} else {
		err = r.runModel(ctx, c, sources)
	}
	if err != nil {
		return err
	}
	if r.record != "" {
		fmt.Fprintf(c.stderr, "%d cases recorded in %s\n", r.cases.Load(), r.record)
	}
	return r.output.write(c, &report.Report{Command: "live", Version: version(), Results: r.results})
}

func (r *liveRun) usage(c *call) error {
	if name := r.server.stray(); name != "" {
		return fmt.Errorf("--%s needs --server", name)
	}
	if r.tiny {
		if err := c.want(0, 0, "no model beside --tiny"); err != nil {
			return err
		}
		r.all = r.all || r.template == ""
	} else if err := c.want(1, 1, "a model file, or --tiny"); err != nil {
		return err
	}
	if r.all && r.template != "" {
		return errors.New("--all-families and --template cannot be given together")
	}
	if r.only != "" && !r.all {
		return errors.New("--run needs --all-families")
	}
	if r.record != "" && r.date == "" {
		return errors.New("--record needs --date, such as --date 2026-01-31")
	}
	return nil
}

// compiled is a template to run with.
type compiled struct {
	src subject.Source
	t   *engine.Template
}

// sources compiles what runs. The gate's verdict comes first, and needs no library: it is a failure.
func (r *liveRun) sources(c *call) ([]compiled, error) {
	if r.all {
		return r.families()
	}
	if r.template == "" {
		m, err := model.Inspect(c.args[0], engine.Options{Now: subject.Now})
		if err != nil {
			return nil, err
		}
		if errors.Is(m.Rejection, caps.ErrToolsUnsupported) {
			return nil, &failure{fmt.Errorf("model %s rejected: its %w", filepath.Base(c.args[0]), m.Rejection)}
		} else if m.Rejection != nil {
			return nil, &failure{fmt.Errorf("model %s rejected: %w", filepath.Base(c.args[0]), m.Rejection)}
		}
		return []compiled{{subject.New(strings.TrimSuffix(filepath.Base(c.args[0]), ".gguf"), m.Judged.Text), m.Judged.Compiled}}, nil
	}
	src, err := c.open(r.template)
	if err != nil {
		return nil, err
	}
	t, err := src.Compile()
	if err != nil {
		return nil, err
	}
	if err := t.Caps().Gate(); err != nil {
		return nil, &failure{fmt.Errorf("%s rejected: its %w", r.template, err)}
	}
	if path := filepath.ToSlash(src.Name); filepath.Base(path) == subject.OwnTemplate && filepath.Dir(path) != "." { // a family's own
		src.Name = filepath.Dir(path)
	}
	src.Name = strings.TrimSuffix(filepath.Base(src.Name), ".jinja")
	return []compiled{{src, t}}, nil
}

func (r *liveRun) families() ([]compiled, error) {
	all, err := subject.Load(corpus.FS)
	if err != nil {
		return nil, err
	}
	var list []compiled
	for i := range all.Families {
		f := &all.Families[i]
		if !f.Own || r.only != "" && f.Name != r.only {
			continue
		}
		text, err := all.Text(f.Name)
		if err != nil {
			return nil, err
		}
		src := subject.New(f.Name, text)
		t, err := src.Compile()
		if err != nil {
			return nil, err
		}
		list = append(list, compiled{src, t})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no family is named %q", r.only)
	}
	return take(r.output.shard, list), nil
}

// runTiny makes the tiny model for each template, with its markers in the vocabulary.
func (r *liveRun) runTiny(ctx context.Context, c *call, sources []compiled) error {
	dir, err := os.MkdirTemp("", "assay-live-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if r.context.Threads == 0 {
		r.context.Threads = 1 // more only wait for each other
	}
	results := make([][]report.Result, len(sources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range sources {
		group.Go(func() error {
			var err error
			if results[i], err = r.tinyOne(ctx, c, dir, s); err != nil {
				err = fmt.Errorf("%s: %w", s.src.Name, err)
			}
			return err
		})
	}
	err = group.Wait()
	r.results = slices.Concat(results...)
	return err
}

func (r *liveRun) tinyOne(ctx context.Context, c *call, dir string, s compiled) ([]report.Result, error) {
	plan, err := s.t.Prepare(subject.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		return nil, err
	}
	path, err := live.WriteTinyFile(dir, r.seed, s.src.BOS, s.src.EOS, plan.Preserved, s.src.Text)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	m, p, err := r.load(ctx, c, path, "tiny")
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return r.one(ctx, c, s, m, p)
}

func (r *liveRun) runModel(ctx context.Context, c *call, sources []compiled) error {
	m, p, err := r.load(ctx, c, c.args[0], filepath.Base(c.args[0]))
	if err != nil {
		return err
	}
	defer m.Close()
	for _, s := range sources {
		results, err := r.one(ctx, c, s, m, p)
		if err != nil {
			return err
		}
		r.results = append(r.results, results...)
	}
	return nil
}

// load loads a model, shows how far it is, and returns what recordings say of it.
func (r *liveRun) load(ctx context.Context, c *call, path, name string) (*llama.Model, live.Provenance, error) {
	o := llama.ModelOptions{GPULayers: r.layers}
	p := live.Provenance{Model: name, FileType: fileType(path), Version: llama.Version(), Device: r.device(), Sampling: r.options.Sampling, Date: r.date}
	if c.showsStatus() && !r.tiny {
		o.Progress = func(done float64) { c.status(fmt.Sprintf("loading %s: %.0f%%", name, 100*done)) }
	}
	m, err := llama.Load(ctx, path, o)
	c.status("")
	if err == nil && r.record != "" {
		if p.SHA256, err = live.FileSHA256(path); err != nil {
			m.Close()
		}
	}
	if err != nil {
		return nil, p, err
	}
	if !r.tiny {
		info := m.Info()
		layers := info.Layers
		if r.layers >= 0 {
			layers = min(layers, r.layers)
		}
		if !hasGPU() {
			layers = 0
		}
		fmt.Fprintf(c.stderr, "%s: %s, %d of %d layers offloaded, on %s, llama.cpp %s\n", name, info.Description, layers, info.Layers, p.Device, p.Version)
	}
	return m, p, nil
}

func fileType(path string) string {
	f, header, err := gguf.OpenFile(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := header.Info()
	if err != nil {
		return ""
	}
	return info.FileType
}

func hasGPU() bool {
	for _, d := range llama.Devices() {
		if d.GPU {
			return true
		}
	}
	return false
}

// device names what computes: the GPUs where layers are offloaded, else the CPU.
func (r *liveRun) device() string {
	var names []string
	gpu := hasGPU() && r.layers != 0
	for _, d := range llama.Devices() {
		if d.GPU == gpu {
			names = append(names, d.Description)
		}
	}
	return strings.Join(names, ", ")
}

// one runs the battery with a template.
func (r *liveRun) one(ctx context.Context, c *call, s compiled, m *llama.Model, p live.Provenance) ([]report.Result, error) {
	chat, err := live.OpenRaw(s.src.Name, s.t, m, r.context)
	if err != nil {
		return nil, err
	}
	defer chat.Close()
	chat.Tiny = r.tiny
	start, tokens := time.Now(), 0
	o := r.options
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o.Done = func(out *live.Outcome) {
		tokens += out.Result.Tokens
		c.status(s.src.Name + " " + out.Scenario)
		if r.record == "" {
			return
		}
		if recorded, err := out.Record(r.record, p); err != nil {
			stop(err)
		} else if recorded {
			r.cases.Add(1)
		}
	}
	outcomes, err := chat.Run(ctx, o)
	c.status("")
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	results := make([]report.Result, len(outcomes))
	for i, out := range outcomes {
		results[i] = out.Report()
	}
	if r.output.verbose {
		fmt.Fprintf(c.stderr, "%s: %d runs, %d tokens, %.0f tokens a second\n", s.src.Name, len(outcomes), tokens, float64(tokens)/time.Since(start).Seconds())
	}
	return results, nil
}
