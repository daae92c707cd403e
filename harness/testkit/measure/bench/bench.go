// Package bench measures the stages of a request's life on real templates, and compares them with
// the project's bars.
//
// # Works
//
// A [Work] is something to do again and again: compile, probe and analyse every template, parse an
// output, prepare a request. [Works] lists those that have a bar. The benchmarks of this package's
// tests run the same ones, and so does the program bars, which prints a table; the program peers
// has other implementations do the same work.
//
// # Measuring
//
// The bars measure the time that the process spends on a processor, its garbage collection
// included, on one core (GOMAXPROCS=1): on a machine that is shared, the time on the wall measures
// the neighbours. The collector is set as the command sets it (package gc). Where the system does
// not tell that time, they measure the time on the wall. Every work has a process of its own.
// [Rounds] goes round them several times, so that a machine that gets slower in between slows all
// of them, and gives the median of the rounds with the least and the most.
//
// # Inputs
//
// The vendors' templates where a folder is named, else those of the corpus; the standard battery of
// conversations; outputs that are made up here. Bars that speak of a number of templates or prompts
// are scaled to those that are there.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
)

// Work is something to do again and again.
type Work struct {
	Name string
	What string
	// Bytes is how many bytes one operation reads, where the bar is a rate.
	Bytes int
	Bar   time.Duration // for one operation; 0 for none
	Good  *int          // where set: how many parts of the last operation came out as they should
	// Make prepares the work. before runs ahead of every operation, without being measured; it may
	// be nil.
	Make func() (before, op func(), err error)
}

// Inputs are the inputs of the works.
type Inputs struct {
	Templates []engine.Source
	own       map[string]string // texts of the corpus's own templates, by family
}

// Load returns the vendors' templates of a folder, or the corpus's own where that is "".
func Load(folder string) (*Inputs, error) {
	var vendor fs.FS
	if folder != "" {
		vendor = os.DirFS(folder)
	}
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		return nil, err
	}
	in := &Inputs{own: map[string]string{}}
	suite := script.Suite{Corpus: loaded, Vendor: vendor}
	for _, v := range suite.Variants() {
		src, err := suite.Source(context.Background(), v)
		if err != nil {
			return nil, err
		}
		if v.Vendor == nil {
			in.own[v.Family.Name] = src.Text
		}
		if (v.Vendor != nil) == (vendor != nil) {
			in.Templates = append(in.Templates, src.Source)
		}
	}
	return in, nil
}

// Own compiles and analyses a template of the corpus.
func (in *Inputs) Own(family string) (*engine.Template, error) {
	text, ok := in.own[family]
	if !ok {
		return nil, fmt.Errorf("the corpus has no family %s with a template of its own", family)
	}
	t, err := subject.New(family, text).Compile()
	if err == nil {
		t.Analysis()
	}
	return t, err
}

// Compile compiles and analyses all templates.
func (in *Inputs) Compile() ([]*engine.Template, error) {
	var all []*engine.Template
	for _, src := range in.Templates {
		t, err := engine.Compile(context.Background(), src, engine.Options{Now: subject.Now})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name, err)
		}
		t.Analysis()
		all = append(all, t)
	}
	return all, nil
}

// Render is a prompt to render.
type Render struct {
	Template int // of the inputs
	Vars     ordered.Value
	Want     string
	Fails    bool // the template raises an error
}

// Renders returns the conversations of the battery for every template that takes them, fitted to
// it, with their prompts.
func (in *Inputs) Renders() ([]Render, error) {
	templates, err := in.Compile()
	if err != nil {
		return nil, err
	}
	var all []Render
	for i, t := range templates {
		for _, c := range standard.Battery() {
			input := t.Caps().Fit(c.Request).Input
			if text, err := t.ChatTemplate().RenderImmutable(input); err == nil {
				all = append(all, Render{Template: i, Vars: t.ChatTemplate().Vars(input),
					Want: text})
			}
		}
	}
	return all, nil
}

// Works returns the works that have a bar.
func (in *Inputs) Works() ([]Work, error) {
	renders, err := in.Renders()
	if err != nil {
		return nil, err
	}
	n := time.Duration(len(in.Templates))
	works := []Work{
		{Name: "cold", What: fmt.Sprintf("compile, probe and analyse %d templates, cold", n), Bar: 90 * time.Millisecond * n / 70, Make: in.cold},
		{Name: "verify", What: fmt.Sprintf("verify %d templates by round trip", n), Bar: 2 * time.Second * n / 70, Make: in.verify},
		in.RenderWork("render/battery", renders),
	}
	for _, p := range []struct {
		family, of string
		tools      int
		fresh      bool
		bar        time.Duration
	}{
		{"hermes", "JSON", 2, false, 100 * time.Microsecond},
		{"hermes", "JSON", 30, false, time.Millisecond},
		{"hermes", "JSON", 2, true, 100 * time.Microsecond},
		{"hermes", "JSON", 30, true, 350 * time.Microsecond},
		{"qwen3-coder", "tagged", 2, true, 120 * time.Microsecond},
		{"qwen3-coder", "tagged", 30, true, 700 * time.Microsecond},
	} {
		what := "seen before"
		if p.fresh {
			what = "never seen before"
		}
		works = append(works,
			Work{Name: fmt.Sprintf("prepare/%s/tools=%d/fresh=%t", p.family, p.tools, p.fresh),
				What: fmt.Sprintf("prepare a request, %d "+
					"tools %s, %s calls", p.tools, what, p.of), Bar: p.bar,
				Make: func() (before, op func(), err error) {
					return in.prepare(p.family, p.tools, p.fresh)
				}})
	}
	for _, o := range Outputs {
		text := o.Make(1 << 15)
		works = append(works, Work{Name: "parse/" + o.Name, What: "parse in one go: " + o.What,
			Bytes: len(text), Bar: time.Duration(float64(len(text)) / o.Rate * 1e9),
			Make: func() (before, op func(), err error) { return in.Parse(text, len(text)) }})
	}
	for _, o := range Outputs[:2] {
		for _, tokens := range []int{Tokens, 4 * Tokens} {
			bar := time.Millisecond
			if tokens != Tokens {
				bar = 0
			}
			works = append(works,
				Work{Name: fmt.Sprintf("stream/%s/tokens=%d", o.Name, tokens),
					What: fmt.Sprintf("stream %d tokens of 4 bytes: %s", tokens, o.What), Bar: bar,
					Make: func() (before, op func(), err error) {
						return in.Parse(o.Make(tokens), 4)
					}})
		}
	}
	return works, nil
}

func (in *Inputs) cold() (before, op func(), err error) {
	return nil, func() {
		for _, src := range in.Templates {
			t, err := engine.Compile(context.Background(), src, engine.Options{Now: subject.Now})
			if err != nil {
				panic(err) // it compiled when the works were made
			}
			t.Analysis()
		}
	}, nil
}

func (in *Inputs) verify() (before, op func(), err error) {
	var all []*engine.Template
	before = func() { all, err = in.Compile() } // a template keeps its report
	return before, func() {
		for _, t := range all {
			t.Verify()
		}
	}, nil
}

// RenderWork is the work of rendering prompts whose variables were decoded before.
func (in *Inputs) RenderWork(name string, renders []Render) Work {
	bytes := 0
	for _, r := range renders {
		bytes += len(r.Want)
	}
	return Work{
		Name: name, What: fmt.Sprintf("render %d prompts (%s), "+
			"variables decoded before", len(renders), path.Base(name)),
		// for 1,433 prompts of so many bytes
		Bar:  25 * time.Millisecond * time.Duration(bytes) / 1_333_821,
		Make: func() (before, op func(), err error) { return in.render(renders) },
	}
}

func (in *Inputs) render(renders []Render) (before, op func(), err error) {
	compiled := make([]*jinja.Template, len(in.Templates))
	vars := make([]jinja.Vars, len(renders))
	for i, t := range in.Templates {
		if compiled[i], err = jinja.Compile(source.New(t.Name, t.Text)); err != nil {
			return nil, nil, err
		}
	}
	for i, x := range renders {
		vars[i] = jinja.VarsFromJSON(x.Vars)
	}
	return nil, func() {
		for i, x := range renders {
			if text, err := compiled[x.Template].Render(context.Background(), vars[i],
				jinja.Options{Now: subject.Now}); (err != nil) != x.Fails || text != x.Want {
				panic(fmt.Sprintf("%s does not render "+
					"as it should: %v", in.Templates[x.Template].Name, err))
			}
		}
	}, nil
}

// Tools returns the battery's request with n tools whose names are nobody else's: prefix goes
// before them.
func Tools(n int, prefix string) chat.Request {
	r := standard.ToolRequest()
	base := r.Tools
	r.Tools = nil
	for i := range n {
		tool := base[i%len(base)]
		tool.Name = fmt.Sprintf("%s%s_%d", prefix, tool.Name, i)
		tool.Value = tool.Value.With("function", tool.Value.At("function").
			With("name", ordered.Str(tool.Name)))
		r.Tools = append(r.Tools, tool)
	}
	return r
}

func (in *Inputs) prepare(family string, tools int, fresh bool) (before, op func(), err error) {
	t, err := in.Own(family)
	if err != nil {
		return nil, nil, err
	}
	r := Tools(tools, "")
	if fresh {
		round := 0
		before = func() {
			round++
			r = Tools(tools, fmt.Sprintf("set_%d_", round))
		}
	}
	return before, func() {
		if _, err := t.Prepare(r, engine.PrepareOptions{}); err != nil {
			panic(err) // the corpus's templates take tools
		}
	}, nil
}

// Tokens is how many tokens of 4 bytes the bar for streaming speaks of.
const Tokens = 8192

// Output is a kind of text that models write.
type Output struct {
	Name, What string
	Rate       float64                 // the bar for parsing it in one go, in bytes a second
	Make       func(tokens int) string // text of about so many tokens of 4 bytes
}

// Outputs are the outputs to parse: content, a call whose argument has an escape sequence every 17
// bytes, one that has none.
var Outputs = []Output{
	{"content", "C++ as content", 1e9, func(n int) string {
		return strings.Repeat("if (a < b) { return x[i]; } // <- so\n", n/9+1)[:4*n]
	}},
	{"escapes", "a call, an escape every 17 bytes", 400e6, func(n int) string { return call(strings.Repeat(`line "two" of it\n`, n/4+1)[:4*n]) }},
	{"plain", "a call without escapes", 400e6, func(n int) string { return call(strings.Repeat("the second line, ", n/4+1)[:4*n]) }},
}

// call is a call with a long argument.
func call(text string) string {
	return "<tool_call>\n" + `{"name": "store_note", "arguments": {"text": ` + ordered.Str(text).String() + `, "tags": ["a"]}}` + "\n</tool_call>"
}

// Family is the family whose own template answers are parsed with: calls as JSON in a tag, the most
// common form.
const Family = "hermes"

// Parse reads an answer to the battery's request with tools, in pieces of some bytes.
func (in *Inputs) Parse(output string, chunk int) (before, op func(), err error) {
	t, err := in.Own(Family)
	if err != nil {
		return nil, nil, err
	}
	plan, err := t.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		return nil, nil, err
	}
	p := plan.NewParser()
	text := []byte(output)
	return nil, func() {
		p.Reset()
		for at := 0; at < len(text); at += chunk {
			p.Write(text[at:min(at+chunk, len(text))])
		}
		p.Close(chat.FinishStop)
	}, nil
}
