// Command peers has other implementations do the same work as this one, in turns, and prints how
// they compare.
//
//	go run ./harness/testkit/measure/bench/peers -vendor .deps/llama.cpp/models/templates -python PYTHON -jinja MODULE -llama DRIVER
//
// Every implementation has a process of its own, which keeps the state that a server would keep
// (templates compiled, variables decoded, code warmed up) and answers with the processor time of
// one pass over the work, on one core. A peer that is not named is left out. See
// ci/engines/peers.sh for how they are provided.
//
// # Works
//
//	compile   every template: parsed (jinja2: into Python code)
//	render    the prompts of the battery, with every template; how many are those of jinja2 is printed
//	analyse   every template, from its source: its capabilities, and for a request with tools the prompt, a parser and a grammar
//	stream    an answer in tokens of 4 bytes, with the deltas of each
//	parse     the same answers in one go
//	grammar   the grammar of a request with tools: made and written (ours), read and compiled (xgrammar, llguidance)
//
// Dynamo, smg, xgrammar and llguidance are asked through their adapters
// (docs/reference/adapters.md), which measure the time that the engine takes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/foreign/gonja"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

func main() {
	var o options
	flag.StringVar(&o.vendor, "vendor", "", "`DIR` with the vendors' templates; without it the "+
		"corpus's own are measured")
	flag.StringVar(&o.python, "python", "", "`PYTHON` that has jinja2")
	flag.StringVar(&o.jinja, "jinja", "", "`FILE` of the module @huggingface/jinja, for node")
	flag.StringVar(&o.minijinja, "minijinja", "", "`FILE` of the adapter for minijinja")
	flag.StringVar(&o.adapters, "adapters", "", "names of folders under ci/engines whose adapters "+
		"are set up, with commas between them")
	flag.StringVar(&o.llama, "llama", "", "`FILE` of the driver for llama.cpp")
	flag.IntVar(&o.rounds, "rounds", 7, "go round `N` times")
	flag.StringVar(&o.page, "page", "", "write the table into `FILE` too")
	flag.StringVar(&o.serve, "serve", "", "do the work `NAME` alone, for every line of "+
		"the standard input")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
}

type options struct {
	vendor, python, jinja, minijinja, adapters, llama, page, serve string
	rounds                                                         int
}

func (o *options) run() error {
	in, err := bench.Load(o.vendor)
	if err != nil {
		return err
	}
	if o.serve != "" {
		if peer, work, _ := strings.Cut(o.serve, " "); adapters[peer] != nil {
			return serveAdapter(in, peer, work, os.Stdin, os.Stdout)
		}
		work, err := serve(in, o.serve)
		if err != nil {
			return err
		}
		return work.Serve(os.Stdin, os.Stdout)
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	input := filepath.Join(dir, "input.json")
	if err := write(in, input); err != nil {
		return err
	}
	lines, err := o.measure(in, input)
	if err != nil {
		return err
	}
	table := new(bench.Table)
	table.Add("work", "implementation", "median", "least to most", "times ours", "as wanted")
	for _, l := range lines {
		table.Add(l.work.what, l.peer, bench.Took(l.took.Median),
			bench.Took(l.took.Min)+" to "+bench.Took(l.took.Max),
			bench.Times(float64(l.took.Median)/float64(l.ours)), l.work.good(l.good))
	}
	text := fmt.Sprintf("%s; %d rounds, processor time on one "+
		"core.\n%s\n\n%s", bench.Machine(), o.rounds, o.versions(), table)
	return bench.Publish(o.page, "peers", text)
}

// versions names the versions that were measured.
func (o *options) versions() string {
	out := func(name string, args ...string) string {
		text, _ := exec.Command(name, args...).Output()
		return strings.TrimSpace(string(text))
	}
	var all []string
	if o.python != "" {
		all = append(all, "jinja2 "+out(o.python, "-c", "import jinja2, platform; "+
			"print(jinja2.__version__, 'on Python', platform.python_version())"))
	}
	if o.jinja != "" {
		var about struct{ Version string }
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(o.jinja), "..",
			"package.json")); err == nil {
			_ = json.Unmarshal(text, &about) // without it the version is not printed
		}
		all = append(all, strings.TrimSpace("@huggingface/jinja "+about.Version)+" on node "+
			out("node", "--version"))
	}
	all = append(all, "gonja v2.9.1")
	if o.adapters != "" {
		all = append(all, "dynamo-parsers 11.0.1, smg 1.10.0, xgrammar 0.2.8, llguidance 1.9.1")
	}
	if o.minijinja != "" {
		all = append(all, "minijinja 3.0.5")
	}
	if o.llama != "" {
		all = append(all, "llama.cpp 0.5.0")
	}
	return strings.Join(all, ", ") + "."
}

// A work is a task at which implementations are compared.
type work struct {
	name, what string
	peers      []string
	of         int // how many parts it has; 0: they are not counted
}

func (w work) good(n int) string {
	if w.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", n, w.of)
}

const (
	ours        = "assay"
	jinja2      = "jinja2"
	huggingface = "@huggingface/jinja"
	withGonja   = "gonja"
	minijinja   = "minijinja"
	llama       = "llama.cpp"
	dynamo      = "dynamo"
	smg         = "smg"
	xgrammar    = "xgrammar"
	llguidance  = "llguidance"
)

// streams are how many tokens the streamed answers have.
var streams = []int{512, 2048, 8192}

func works(templates, renders int) []work {
	renderers := []string{ours, jinja2, huggingface, minijinja, withGonja}
	all := []work{
		{"compile", fmt.Sprintf("compile %d templates", templates), renderers, templates},
		{"render", fmt.Sprintf("render %d prompts", renders), renderers, renders},
		{"analyse", fmt.Sprintf("analyse %d templates; prompt, parser and grammar for a request", templates), []string{ours, llama}, templates},
	}
	for _, out := range bench.Outputs[:2] {
		for _, tokens := range streams {
			all = append(all, work{"stream/" + answer(out, tokens),
				fmt.Sprintf("stream %d tokens: %s", tokens, out.What),
				[]string{ours, llama, dynamo, smg}, 0})
		}
	}
	for _, out := range bench.Outputs[:2] {
		all = append(all, work{"parse/" + answer(out, 8192),
			fmt.Sprintf("parse %d tokens in one go: %s", 8192, out.What),
			[]string{ours, llama, dynamo, smg}, 0})
	}
	all = append(all, work{"grammar", "make (ours) or compile (others) a request's grammar",
		[]string{ours, xgrammar, llguidance}, 0})
	return all
}

func answer(out bench.Output, tokens int) string { return fmt.Sprintf("%s-%d", out.Name, tokens) }

// line is a row of the table.
type line struct {
	work work
	peer string
	took bench.Sample
	good int
	ours time.Duration
}

// measure has every implementation do every work, one work after the other and the implementations
// in turns.
func (o *options) measure(in *bench.Inputs, input string) ([]line, error) {
	renders, err := in.Renders()
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, w := range works(len(in.Templates), len(renders)) {
		var all []*bench.Process
		for _, peer := range w.peers {
			cmd := o.command(peer, w.name, input)
			if cmd == nil {
				continue
			}
			p, err := bench.Start(peer, cmd)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		samples, err := bench.Rounds(w.name+": ", all, o.rounds)
		if err != nil {
			return nil, err
		}
		for i, p := range all {
			lines = append(lines, line{w, p.Name, samples[i], p.Good, samples[0].Median})
		}
	}
	return lines, nil
}

// command returns the child for a peer and a work, nil where the peer is not at hand.
func (o *options) command(peer, work, input string) *exec.Cmd {
	scripts := filepath.Join("harness", "testkit", "measure", "bench", "peers")
	switch {
	case peer == ours, peer == withGonja:
		return exec.Command(os.Args[0], "-vendor", o.vendor, "-serve", peer+" "+work)
	case peer == jinja2 && o.python != "":
		return exec.Command(o.python, filepath.Join(scripts, "render.py"), input, work)
	case peer == huggingface && o.jinja != "":
		return exec.Command("node", filepath.Join(scripts, "render.mjs"), o.jinja, input, work)
	case peer == minijinja && o.minijinja != "":
		return exec.Command(o.minijinja, input, work)
	case adapters[peer] != nil:
		if !slices.Contains(strings.Split(o.adapters, ","), adapters[peer].folder) {
			return nil
		}
		return exec.Command(os.Args[0], "-vendor", o.vendor, "-serve", peer+" "+work)
	case peer == llama && o.llama != "":
		return exec.Command(o.llama, input, work)
	}
	return nil
}

// write writes the peers' input.
func write(in *bench.Inputs, name string) error {
	renders, err := in.Renders()
	if err != nil {
		return err
	}
	templates := lists.Map(in.Templates, func(t engine.Source) ordered.Value {
		return ordered.Pairs("name", t.Name, "source", t.Text)
	})
	prompts := lists.Map(renders, func(r bench.Render) ordered.Value {
		return ordered.Pairs("template", r.Template, "vars", r.Vars, "want", r.Want)
	})
	request := standard.ToolRequest()
	outputs := ordered.ObjectOf()
	for _, out := range bench.Outputs {
		for _, tokens := range streams {
			outputs = outputs.With(answer(out, tokens), ordered.Str(out.Make(tokens)))
		}
	}
	own, err := in.Own(bench.Family)
	if err != nil {
		return err
	}
	text := ordered.Pairs("templates", templates, "renders", prompts, "request",
		ordered.Pairs("messages", request.Messages, "tools", request.ToolsValue()),
		"own", own.ChatTemplate().Source.Text, "outputs", outputs).String()
	return os.WriteFile(name, []byte(text), 0o666)
}

// serve returns the work of a child of ours, "PEER WORK".
func serve(in *bench.Inputs, name string) (w bench.Work, err error) {
	peer, name, _ := strings.Cut(name, " ")
	kind, rest, _ := strings.Cut(name, "/")
	var op func()
	good := new(int)
	switch kind {
	case "compile", "render":
		op, err = renderWork(in, peer, kind, good)
	case "analyse":
		op = func() { *good = analyse(in) }
	case "grammar":
		op, err = grammarWork(in)
	case "stream", "parse":
		text, chunk := textOf(rest), 4
		if kind == "parse" {
			chunk = len(text)
		}
		return bench.Work{Name: name,
			Make: func() (before, op func(), err error) { return in.Parse(text, chunk) }}, nil
	default:
		err = fmt.Errorf("there is no work %q", name)
	}
	if err != nil {
		return w, err
	}
	op() // once to warm up
	return bench.Work{Name: name, Good: good,
		Make: func() (before, op2 func(), err error) { return nil, op, nil }}, nil
}

// renderWork compiles the templates, or renders the prompts, by our engine or by gonja.
func renderWork(in *bench.Inputs, peer, kind string, good *int) (op func(), err error) {
	compile := func(t engine.Source) (bind func(vars ordered.Value) func() (string, error),
		err error) {
		if peer == withGonja {
			u, err := gonja.CompileUnguarded(source.New(t.Name, t.Text), subject.Now)
			if err != nil {
				return nil, err
			}
			return u.Bind, nil
		}
		c, err := jinja.Compile(source.New(t.Name, t.Text))
		if err != nil {
			return nil, err
		}
		return func(object ordered.Value) func() (string, error) {
			vars := jinja.VarsFromJSON(object)
			return func() (string, error) {
				return c.Render(context.Background(), vars, jinja.Options{Now: subject.Now})
			}
		}, nil
	}
	if kind == "compile" {
		return func() {
			*good = 0
			for _, t := range in.Templates {
				if _, err := compile(t); err == nil {
					*good++
				}
			}
		}, nil
	}
	renders, err := in.Renders()
	if err != nil {
		return nil, err
	}
	bound := make([]func() (string, error), len(renders))
	binds := make([]func(ordered.Value) func() (string, error), len(in.Templates))
	for i, t := range in.Templates {
		binds[i], _ = compile(t) // one that does not compile renders nothing
	}
	for i, r := range renders {
		if bind := binds[r.Template]; bind != nil {
			bound[i] = bind(r.Vars)
		}
	}
	return func() {
		*good = 0
		for i, r := range renders {
			if bound[i] != nil {
				if text, err := bound[i](); err == nil && text == r.Want {
					*good++
				}
			}
		}
	}, nil
}

// analyse does the work of llama.cpp's init and apply, and counts the templates that give a parser
// and a grammar.
func analyse(in *bench.Inputs) (good int) {
	r := standard.ToolRequest()
	for _, src := range in.Templates {
		t, err := engine.Compile(context.Background(), src, engine.Options{Now: subject.Now})
		if err != nil {
			continue
		}
		plan, err := t.Prepare(r, engine.PrepareOptions{})
		if err != nil {
			continue
		}
		if _, err := plan.Output.Grammar(); err == nil {
			good++
		}
	}
	return good
}
