// Package soak draws random cases from a corpus, for as long as one likes, and checks that each of
// them meets the demands on any.
//
// # Model
//
// A [Pool] has the templates and the cases of a corpus. [Pool.Draw] makes a [Case] of it by chance:
// a template, a request of its family with tools, choice and flags changed, an output that is a
// recorded one, another family's, or a sentence of the request's own grammar, then mutated, and a
// way to cut it. [Case.Check] prepares the request, reads the output in one go and in pieces, and
// demands
//
//   - the same message, finish reason and deltas that keep to the protocol, however the output is
//     cut (E24);
//   - that every byte of the output is accounted for (E20);
//   - arguments that are a JSON object where a call is complete;
//   - of a sentence of the grammar that the matcher takes it in any pieces, and that the parser
//     reads it as calls (E21).
//
// Panics are failures. A second engine for grammars, where there is one, must agree with our
// matcher on every sentence, and on every 16th other output. Of further outputs of a case, which
// are read once each, the calls alone are checked. A second renderer, where there is one,
// renders every 64th case: it may refuse it and it may differ, which is counted; it may not go
// down.
//
// # Determinism
//
// Case n of a seed is always the same case, whatever was drawn before and on how many cores. A
// [Failure] names both and is reduced to a script (package reduce).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
)

// Pool is the source of cases.
type Pool struct {
	templates []pooled
	outputs   []string // of all families
}

// pooled is a template with its family's cases.
type pooled struct {
	name   string
	source subject.Source
	cases  []families.Case
}

// Load reads a corpus, and the vendors' templates where vendor is not nil.
func Load(corpus, vendor fs.FS) (*Pool, error) {
	loaded, err := families.Load(corpus)
	if err != nil {
		return nil, err
	}
	suite := script.Suite{Corpus: loaded, Vendor: vendor}
	pool := new(Pool)
	cases := map[string][]families.Case{}
	for _, v := range suite.Variants() {
		if cases[v.Family.Name] == nil {
			if cases[v.Family.Name], err = script.ReadAll(loaded.FS, v.Family.Cases); err != nil {
				return nil, err
			}
			for _, c := range cases[v.Family.Name] {
				if c.Parsed {
					pool.outputs = append(pool.outputs, c.Output)
				}
			}
		}
		src, err := suite.Source(context.Background(), v)
		if err != nil {
			return nil, err
		}
		pool.templates = append(pool.templates, pooled{v.Name, src, cases[v.Family.Name]})
	}
	if len(pool.templates) == 0 || len(pool.outputs) == 0 {
		return nil, errors.New("soak: the corpus has no cases to draw from")
	}
	return pool, nil
}

// Options are the time to soak and the cases.
type Options struct {
	Seed     uint64
	First    uint64                // the number of the first case
	Cases    uint64                // how many to draw; 0: until the context ends
	Further  int                   // outputs of each case besides its own, whose calls are checked
	Second   chattemplate.Renderer // renders besides the native engine; nil: none
	Accepts  Acceptor              // takes sentences of grammars besides our matcher; nil: none
	Progress func(Stats)           // called now and then, by one goroutine at a time; may be nil
}

// Acceptor reports whether a text is a sentence of a grammar.
type Acceptor func(g *gbnf.Grammar, text string) (bool, error)

// Stats counts the work of a run.
type Stats struct {
	Cases     uint64 // drawn
	Refused   uint64 // of them, those whose request a template or the engine refuses
	Sentences uint64 // outputs that were a sentence of the grammar
	Bytes     uint64 // of output, read once in one go
	Parses    uint64 // of whole outputs
	Calls     uint64 // complete tool calls that came of them
	Further   uint64 // outputs of cases besides their own, each read in pieces
	Second    uint64 // renders by the second renderer
	Differ    uint64 // of them, those that it refuses or renders otherwise
	Asked     uint64 // questions to the second engine for grammars
	Accepted  uint64 // of them, those that it answered with yes
}

func (s Stats) String() string {
	text := fmt.Sprintf("%d cases (%d refused, %d sentences of grammars), %d parses, %d "+
		"bytes, %d further outputs, %d calls", s.Cases, s.Refused, s.Sentences, s.Parses, s.Bytes,
		s.Further, s.Calls)
	if s.Second > 0 {
		text += fmt.Sprintf(", %d second renders (%d differ)", s.Second, s.Differ)
	}
	if s.Asked > 0 {
		text += fmt.Sprintf(", %d texts compared with a second engine's "+
			"grammar (%d accepted)", s.Asked, s.Accepted)
	}
	return text
}

// Failure is a case that fails.
type Failure struct {
	Seed, Number uint64
	Template     string
	Err          error
	// the reduced case as a script, or as it was where reducing it does not show the failure
	Script string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("seed %d, case %d, "+
		"template %s: %v\n%s", f.Seed, f.Number, f.Template, f.Err, f.Script)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Run draws and checks cases on all cores until there were enough, the context ends, or one fails,
// which is the error. The end of the context is no error.
func (p *Pool) Run(ctx context.Context, o Options) (Stats, error) {
	var next atomic.Uint64
	var mu sync.Mutex
	var total Stats
	next.Store(o.First)
	group, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for ctx.Err() == nil {
				n := next.Add(1) - 1
				if o.Cases > 0 && n >= o.First+o.Cases {
					return nil
				}
				stats, err := p.one(o, n)
				mu.Lock()
				total.add(stats)
				if o.Progress != nil && total.Cases%256 == 0 {
					o.Progress(total)
				}
				mu.Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return total, err
}

// one draws and checks case n.
func (p *Pool) one(o Options, n uint64) (Stats, error) {
	c, err := p.Draw(o.Seed, n)
	if err != nil {
		return Stats{Cases: 1}, &Failure{Seed: o.Seed, Number: n, Template: c.Name, Err: err}
	}
	if n%64 == 0 {
		c.second = o.Second
	}
	if c.Sentence || n%16 == 0 {
		c.accepts = o.Accepts
	}
	stats, err := c.Check()
	if err == nil {
		err = p.further(&c, o, n, &stats)
	}
	if err != nil {
		f := &Failure{Seed: o.Seed, Number: n, Template: c.Name, Err: err}
		small, fault, reduceErr := c.Case.Reduce()
		if reduceErr != nil {
			small, fault = c.Case, reduce.Failure{Kind: "soak", Text: err.Error()}
		}
		if f.Script, reduceErr = small.Script(fault); reduceErr != nil {
			f.Script = "no script: " + reduceErr.Error()
		}
		return stats, f
	}
	return stats, nil
}

// further mutates the outputs of a case n that passes, and checks the calls of each that it reads.
// One that fails becomes the case's own.
func (p *Pool) further(c *Case, o Options, n uint64, stats *Stats) error {
	plan, err := c.plan()
	if err != nil || o.Further == 0 {
		return nil
	}
	d := drawer{Rand: rand.New(rand.NewPCG(o.Seed, ^n)), pool: p, c: c}
	parser, scraps, first := plan.NewParser(), d.scraps(), c.Output
	for range o.Further {
		if c.Output = first; d.oneIn(8) {
			c.Output = pick(&d, p.outputs)
		}
		for range 1 + d.IntN(6) {
			c.Output = d.mutate(c.Output, scraps)
		}
		var cuts []int
		for at := 1 + d.IntN(32); at < len(c.Output); at += 1 + d.IntN(32) {
			cuts = append(cuts, at)
		}
		split.Feed(parser, c.Output, cuts, c.Reason)
		stats.Further++
		if err := Calls(parser); err != nil {
			return err
		}
	}
	return nil
}

// Draw returns case n of a seed.
func (p *Pool) Draw(seed, n uint64) (c Case, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: panic: %v\n%s", r, debug.Stack())
		}
	}()
	random := rand.New(rand.NewPCG(seed, n))
	t := &p.templates[random.IntN(len(p.templates))]
	c.Name = t.name
	if c.Template, err = t.source.Compile(); err != nil {
		return c, err
	}
	d := drawer{Rand: random, pool: p, template: t, c: &c}
	d.request()
	d.output()
	c.cuts = d.cuts(len(c.Output))
	return c, nil
}

func (s *Stats) add(o Stats) {
	s.Cases += o.Cases
	s.Refused += o.Refused
	s.Sentences += o.Sentences
	s.Bytes += o.Bytes
	s.Parses += o.Parses
	s.Further += o.Further
	s.Calls += o.Calls
	s.Second += o.Second
	s.Differ += o.Differ
	s.Asked += o.Asked
	s.Accepted += o.Accepted
}
