package main

import (
	"context"
	"errors"
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
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/report/spelling"
	"github.com/goassay/assay/harness/serve/live"
)

var liveCommand = command{
	group: serving, name: "live", args: "[MODEL.gguf]", takes: arity{0, 1, "one model file"},
	files: modelFiles,
	short: "put a model through a battery of requests, and check its answers",
	long: `The template is the model's own, that for tools where it has one, or that of --template;
the gate judges it, and exit status 1 means that it rejects it. With --family the model goes through
templates of the embedded corpus, and those that the gate rejects run the scenarios without tools.
--tiny takes the place of MODEL.gguf: a model with random weights, made on the spot for each
template, of all families unless one is named. --record writes the answers as cases of a corpus,
DIR/TEMPLATE/live_*.txtar; nothing is overwritten.

This needs a binary with llama.cpp in it:` + "`make llama`" + ` provides the library and bin/assay with it. ` + "`assay probe`" + ` puts a server
through the same battery and needs none.`,
	apart: [][]string{{"family", "template"}},
	setup: func(flags *flagSet) func(*call) error {
		r := new(liveRun)
		flags.category("The model")
		flags.BoolVar(&r.tiny, "tiny", false, "use the tiny model with random weights")
		flags.IntVar(&r.layers, "gpu-layers", -1, "offload the last `N` layers; negative: all")
		flags.IntVar(&r.context.Threads, "threads", 0, "compute with `N` threads (default: "+
			"llama.cpp's choice; of the tiny model 1)")
		flags.IntVar(&r.context.Size, "context", 16384, "`TOKENS` that prompt and answer may "+
			"have; 0: as many as in its training")
		flags.BoolVar(&r.log, "log", false, "show llama.cpp's log")
		flags.category("The template")
		flags.StringVar(&r.template, "template", "", "use this `TEMPLATE` instead of the model's")
		flags.StringVar(&r.family, "family", "", "use the template of this `FAMILY` of the "+
			"embedded corpus; \"all\": every one")
		flags.completes("family", familyNames)
		r.sampling = samplingFlags(flags, 1, "of the sampler, and of the tiny model's weights")
		flags.category("Recording")
		flags.StringVar(&r.record, "record", "", "write the answers as cases into `DIR`")
		flags.StringVar(&r.date, "date", "", "the `DATE` that the cases carry, such as 2026-01-31")
		flags.category("A fleet")
		flags.StringVar(&r.manifest, "manifest", "", "run every model of the manifest `FILE`, which "+
			"`assay manifest --models` makes; one that cannot be loaded is a failure among the "+
			"others; with --record each gets a folder of its own")
		flags.StringVar(&r.out, "out", "", "with --manifest, write the results to a file in `DIR`, "+
			"which is made; `assay report --merge` joins those of all shards")
		r.output = outputFlags(flags)
		limitFlag(flags, lookedAt)
		return r.run
	},
}

// sampling has the flags of how a model chooses its tokens, and how many.
type sampling struct {
	temperature, topP, minP float64
	topK, max, maxFree      int
	seed                    uint64
}

func samplingFlags(flags *flagSet, temperature float64, seed string) *sampling {
	s := new(sampling)
	flags.category("Sampling")
	flags.Float64Var(&s.temperature, "temperature", temperature, "sampling temperature; 0: greedy")
	flags.IntVar(&s.topK, "top-k", 0, "sample from the `N` likeliest tokens; 0: off")
	flags.Float64Var(&s.topP, "top-p", 0, "sample from the likeliest tokens with this total "+
		"probability; 0: off")
	flags.Float64Var(&s.minP, "min-p", 0, "leave out tokens less likely than this part of the "+
		"likeliest; 0: off")
	flags.Uint64Var(&s.seed, "seed", 1, seed)
	flags.IntVar(&s.max, "max", 1200, "most `TOKENS` of a constrained answer")
	flags.IntVar(&s.maxFree, "max-free", 64, "most `TOKENS` of an answer that nothing constrains")
	return s
}

func (s *sampling) of() llama.Sampling {
	return llama.Sampling{Temperature: float32(s.temperature), TopK: s.topK, TopP: float32(s.topP),
		MinP: float32(s.minP), Seed: uint32(s.seed)}
}

// familyNames names the families of the embedded corpus that have a template of their own.
func familyNames() []string {
	names := []string{allFamilies}
	if all, err := families.Load(corpus.FS); err == nil {
		for src := range script.EachOwn(all) {
			names = append(names, src.Name)
		}
	}
	return names
}

// allFamilies is the value of --family that names every family.
const allFamilies = "all"

type liveRun struct {
	output           *output
	tiny, log        bool
	template, family string
	record, date     string
	manifest, out    string
	layers           int
	context          llama.ContextOptions
	sampling         *sampling

	results []rule.Result
	cases   atomic.Int64
}

func (r *liveRun) run(c *call) error {
	if err := r.usage(c); err != nil {
		return err
	}
	if err := r.output.shard.choose(c); err != nil {
		return err
	}
	var sources []compiled
	var err error
	if r.manifest == "" {
		model := ""
		if !r.tiny {
			model = c.args[0]
		}
		if sources, err = r.sources(c, model); err != nil {
			return err
		}
	}
	if !llama.Available() {
		return llama.ErrNotBuilt
	}
	if r.log {
		llama.SetLog(func(level llama.LogLevel, line string) {
			fmt.Fprintf(c.stderr, "llama.cpp %s: %s\n", level, line)
		})
	}
	unread := 0
	switch {
	case r.manifest != "":
		unread, err = r.runFleet(c)
	case r.tiny:
		err = r.runTiny(c.ctx, c, sources)
	default:
		err = r.runModel(c.ctx, c, sources)
	}
	if err != nil {
		return err
	}
	if r.record != "" {
		fmt.Fprintf(c.stderr, "%d cases recorded in %s\n", r.cases.Load(), r.record)
	}
	err = r.output.write(c, &report.Report{Command: "live", Version: version(), Results: r.results})
	if unread > 0 && (err == nil || errors.Is(err, errFailed)) {
		return fmt.Errorf("%w: %d models could not be read; run it again", errUnread, unread)
	}
	return err
}

func (r *liveRun) usage(c *call) error {
	switch {
	case r.manifest != "" && (r.tiny || len(c.args) > 0):
		return usageError{errors.New("--manifest takes neither a model file nor --tiny")}
	case r.manifest == "" && r.out != "":
		return usageError{errors.New("--out goes with --manifest")}
	case r.tiny && len(c.args) > 0:
		return usageError{errors.New("--tiny takes no model file")}
	case !r.tiny && r.manifest == "" && len(c.args) == 0:
		return usageError{errors.New("takes a model file, or --tiny")}
	case r.record != "" && r.date == "":
		return usageError{errors.New("--record needs --date, such as --date 2026-01-31")}
	case r.record == "" && r.date != "":
		return usageError{errors.New("--date is for the cases of --record")}
	}
	if r.tiny && r.template == "" && r.family == "" {
		r.family = allFamilies
	}
	return nil
}

// compiled is a template to run with.
type compiled struct {
	src subject.Source
	t   *engine.Template
}

// sources compiles the templates that run, with a model file. The gate's verdict comes first, and
// needs no library: it is a failure.
func (r *liveRun) sources(c *call, path string) ([]compiled, error) {
	if r.family != "" {
		return r.families()
	}
	if r.template == "" {
		m, err := model.Inspect(c.ctx, path, engine.Options{Now: subject.Now,
			Limits: c.limits.Limits})
		if err != nil {
			return nil, err
		}
		if m.Rejection != nil {
			return nil, &failure{fmt.Errorf("model %s rejected: %w", filepath.Base(path),
				m.Rejection)}
		}
		return []compiled{{subject.New(strings.TrimSuffix(filepath.Base(path), ".gguf"),
			m.Judged.Text), m.Judged.Compiled}}, nil
	}
	src, err := c.open(r.template)
	if err != nil {
		return nil, err
	}
	t, err := src.Limited(c.ctx, c.limits.Limits).Compile()
	if err != nil {
		return nil, err
	}
	if err := t.Gate().Err(); err != nil {
		return nil, &failure{fmt.Errorf("%s rejected: %w", r.template, err)}
	}
	// a family's own
	if path := filepath.ToSlash(src.Name); filepath.Base(path) == families.OwnTemplate &&
		filepath.Dir(path) != "." {
		src.Name = filepath.Dir(path)
	}
	src.Name = strings.TrimSuffix(filepath.Base(src.Name), ".jinja")
	return []compiled{{src, t}}, nil
}

func (r *liveRun) families() ([]compiled, error) {
	all, err := families.Load(corpus.FS)
	if err != nil {
		return nil, err
	}
	var list []compiled
	for src := range script.EachOwn(all) {
		if r.family != allFamilies && src.Name != r.family {
			continue
		}
		t, err := src.Compile()
		if err != nil {
			return nil, err
		}
		list = append(list, compiled{src, t})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--family %s: the embedded corpus has "+
			"no such family%s", r.family, spelling.Meant(r.family, familyNames()))
	}
	return take(r.output.shard, list, func(one compiled) string {
		return manifest.Digest(one.src.Text)
	}), nil
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
	results := make([][]rule.Result, len(sources))
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

func (r *liveRun) tinyOne(ctx context.Context, c *call, dir string,
	s compiled) ([]rule.Result, error) {
	plan, err := s.t.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
	if err != nil {
		return nil, err
	}
	path, err := live.WriteTinyFile(dir, r.sampling.seed, s.src.BOS, s.src.EOS, plan.Preserved,
		s.src.Text)
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

// load loads a model, shows how far it is, and returns its description for recordings.
func (r *liveRun) load(ctx context.Context, c *call, path,
	name string) (*llama.Model, live.Provenance, error) {
	o := llama.ModelOptions{GPULayers: r.layers}
	p := live.Provenance{Model: name, FileType: fileType(path), Version: llama.Version(),
		Device: r.device(), Sampling: r.sampling.of(), Date: r.date}
	if c.showsStatus() && !r.tiny {
		o.Progress = func(done float64) {
			c.status(fmt.Sprintf("loading %s: %.0f%%", name, 100*done))
		}
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
		fmt.Fprintf(c.stderr, "%s: %s, %d of %d layers offloaded, "+
			"on %s, llama.cpp %s\n", name, info.Description, layers, info.Layers, p.Device,
			p.Version)
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

// device names the device that computes: the GPUs where layers are offloaded, else the CPU.
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
func (r *liveRun) one(ctx context.Context, c *call, s compiled, m *llama.Model,
	p live.Provenance) ([]rule.Result, error) {
	chat, err := live.Open(s.src.Name, s.t, m, r.context)
	if err != nil {
		return nil, err
	}
	defer chat.Close()
	chat.Tiny = r.tiny
	start, tokens := time.Now(), 0
	o := live.Options{Sampling: r.sampling.of(), Max: r.sampling.max, MaxFree: r.sampling.maxFree}
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
	results := lists.Map(outcomes, (*live.Outcome).Report)
	if r.output.verbose {
		fmt.Fprintf(c.stderr, "%s: %d runs, %d tokens, %.0f "+
			"tokens a second\n", s.src.Name, len(outcomes), tokens,
			float64(tokens)/time.Since(start).Seconds())
	}
	return results, nil
}
