package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/hub/manifest"
	"github.com/goassay/assay/harness/report/safefile"
	"github.com/goassay/assay/harness/serve/provider"
	"github.com/goassay/assay/harness/serve/provider/dataset"
)

var providerCommand = command{
	group: serving, name: "provider", args: "URL",
	takes: arity{1, 1, "the address of a provider"},
	files: cobra.NoFileCompletions,
	short: "ask a provider of a model thousands of requests, and compare it with a reference",
	long: `The data set has JSON lines: requests of "assay dataset", of K2 Vendor Verifier, of
MiniMax's verifier or of canitoolcall. Every answer goes to the log; a run that ended, however it
did, goes on where the log ends when it is given the same arguments again. The log of a run against
the publisher's own endpoint, or the results of those verifiers, is the reference that a later run
is compared with. An API key is taken from the environment variable ` + keyVariable + ` or from
--key-file, and sent to that host alone.

The status is 1 where the provider does worse than the reference, 3 where requests are left (the
budget is spent, or the provider does not answer) or no request had an answer. docs/providers.md has
the formats and the statistics.`,
	setup: func(flags *flagSet) func(*call) error {
		p := &providing{send: choice{of: []string{string(provider.Batch), string(provider.Stream),
			string(provider.Either)}}}
		flags.category("The requests")
		flags.StringVar(&p.dataset, "dataset", "", "ask the requests of this `FILE`")
		flags.IntVar(&p.first, "first", 0, "ask the first `N` requests (default: all)")
		flags.IntVar(&p.repeats, "repeats", 1, "ask each `N` times")
		flags.Var(&p.send, "send", "have answers sent in this `WAY`: batch (in one piece), stream, "+
			"both (each request in both ways); default: batch")
		flags.completes("send", func() []string { return p.send.of })
		flags.StringVar(&p.extra, "extra", "", "an `OBJECT` whose members every request has as "+
			"well, such as '{\"temperature\": 0.6}'")
		flags.category("The provider")
		flags.StringVar(&p.model, "model", "", "the `NAME` of the model (default: the first one "+
			"that the provider lists)")
		flags.StringVar(&p.keyFile, "key-file", "", "read the API key from `FILE`")
		flags.StringVar(&p.template, "template", "", "compare with this `TEMPLATE`, the "+
			"publisher's: the length of prompts, and the calls in answers that lack them")
		flags.DurationVar(&p.silence, "timeout", 5*time.Minute, "the longest `TIME` in which "+
			"nothing comes")
		flags.IntVar(&p.concurrency, "concurrency", 8, "have `N` requests under way at once")
		flags.IntVar(&p.tries, "tries", 5, "send a request up to `N` times, where another try may "+
			"help")
		flags.category("The budget")
		flags.Int64Var(&p.budget.Requests, "budget-requests", 0, "stop before `N` requests are "+
			"exceeded, retries counted")
		flags.Int64Var(&p.budget.Tokens, "budget-tokens", 0, "stop before `N` tokens are exceeded, "+
			"of prompts and answers")
		flags.Float64Var(&p.budget.Money, "budget-money", 0, "stop before `SUM` is exceeded, at "+
			"the prices given")
		flags.Float64Var(&p.budget.PromptPrice, "price-prompt", 0, "the `PRICE` of a million "+
			"tokens of prompts")
		flags.Float64Var(&p.budget.CompletionPrice, "price-answer", 0, "the `PRICE` of a million "+
			"tokens of answers")
		flags.category("The results")
		flags.StringVar(&p.log, "log", "", "append every answer to `FILE`, and go on where it ends")
		flags.StringVar(&p.reference, "reference", "", "compare with the answers of `FILE`: the "+
			"log of another run, or results of K2 Vendor Verifier or MiniMax's")
		flags.StringVar(&p.measures, "measures", "", "write the measures to `FILE`, as JSON lines")
		flags.Uint64Var(&p.seed, "seed", 1, "draw the signs of the tests from seed `N`")
		p.output = outputFlags(flags)
		limitFlag(flags, lookedAt)
		return p.run
	},
}

// providing holds the command's arguments.
type providing struct {
	dataset, extra, model, keyFile, template string
	log, reference, measures                 string
	first, repeats, concurrency, tries       int
	send                                     choice
	silence                                  time.Duration
	budget                                   provider.Budget
	seed                                     uint64
	output                                   *output
}

// check returns an error where the arguments cannot be meant.
func (p *providing) check() error {
	switch b := p.budget; {
	case p.dataset == "":
		return errors.New("--dataset names the requests; `assay dataset` makes some")
	case p.log == "":
		return errors.New("--log names the file for the answers, which a later run goes on with")
	case p.first < 0:
		return errors.New("--first must not be negative")
	case p.repeats < 1:
		return errors.New("--repeats must be positive")
	case p.concurrency < 1 || p.concurrency > 10_000:
		return errors.New("--concurrency must be within 1 and 10000")
	case p.tries < 1:
		return errors.New("--tries must be positive")
	case p.silence <= 0:
		return errors.New("--timeout must be positive")
	case b.Requests < 0 || b.Tokens < 0 || min(b.Money, b.PromptPrice, b.CompletionPrice) < 0:
		return errors.New("budgets and prices must not be negative")
	case b.Money > 0 && b.PromptPrice == 0 && b.CompletionPrice == 0:
		return errors.New("--budget-money needs --price-prompt and --price-answer, of a million " +
			"tokens")
	}
	return nil
}

// key returns the API key, "" where there is none.
func (p *providing) key(c *call) (string, error) {
	if p.keyFile == "" {
		return c.getenv(keyVariable), nil
	}
	f, err := os.Open(p.keyFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if key == "" || len(text) > maxKey || strings.ContainsAny(key, "\r\n") {
		return "", fmt.Errorf("--key-file %s: expected a key in one line", p.keyFile)
	}
	return key, nil
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 16 << 10

// providerMemory is the memory, in bytes, from which on the collector works harder.
const providerMemory = 96 << 20

// members reads the members that every request gets besides.
func (p *providing) members() (ordered.Value, error) {
	extra, err := ordered.ParseString(cmp.Or(p.extra, "{}"))
	if err != nil {
		return extra, fmt.Errorf("--extra: %w", err)
	}
	if extra.Kind() != ordered.Object {
		return extra, fmt.Errorf("--extra: expected an object, found %s", extra)
	}
	return extra, nil
}

func (p *providing) run(c *call) error {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(providerMemory))
	if err := p.check(); err != nil {
		return usageError{err}
	}
	extra, err := p.members()
	if err != nil {
		return err
	}
	key, err := p.key(c)
	if err != nil {
		return err
	}
	client, err := provider.NewClient(c.args[0], key, p.silence)
	if err != nil {
		return err
	}
	if p.model == "" {
		if p.model, err = client.FirstModel(c.ctx); err != nil {
			return fmt.Errorf("%w; --model names one", err)
		}
	}
	h := provider.Header{Version: version(), Root: client.Root(), Model: p.model,
		Repeats: p.repeats, Send: provider.Send(cmp.Or(p.send.chosen, string(provider.Batch)))}
	if p.extra != "" {
		h.Extra = extra.String()
	}
	if h.Dataset, h.Requests, err = p.count(c); err != nil {
		return fmt.Errorf("--dataset %s: %w", p.dataset, err)
	}
	var template *engine.Template
	if p.template != "" {
		if template, h.Template, err = p.compile(c); err != nil {
			return err
		}
	}
	explain := provider.NewExplainer(template, corpus.FS)
	log, table, err := provider.OpenLog(p.log, h, time.Now)
	if err != nil {
		return err
	}
	asked := p.ask(c, &provider.Run{Client: client, Explain: explain, Clock: provider.Wall{},
		Random: rand.Float64, Concurrency: p.concurrency, Tries: p.tries, Budget: p.budget,
		Body: body(h.Model, extra)}, log, table)
	if err := log.Close(); err != nil {
		return errors.Join(asked, err)
	}
	next := "the same command goes on"
	switch {
	case errors.Is(asked, provider.ErrUnanswered):
		next = p.log + " has the reason for each"
	case asked != nil && !errors.Is(asked, provider.ErrBudget) &&
		!errors.Is(asked, provider.ErrSilent):
		return asked
	}
	if err := p.judge(c, explain, table); err != nil || asked == nil {
		return err
	}
	return fmt.Errorf("%w: %w; %s", errUnread, asked, next)
}

// count returns the digest of the data set and the number of its requests, all of which it reads.
func (p *providing) count(c *call) (digest string, n int, err error) {
	f, err := p.open()
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	sum := sha256.New()
	in := dataset.NewReader(bufio.NewReaderSize(io.TeeReader(f, sum), 1<<20))
	for ; ; n++ {
		if err := c.ctx.Err(); err != nil {
			return "", 0, err
		}
		_, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", 0, err
		}
	}
	if in.Left > 0 {
		fmt.Fprintf(c.stderr, "%s: %d lines are left out: fixtures that no request can be made of\n",
			p.dataset, in.Left)
	}
	if n == 0 {
		return "", 0, errors.New("it has no requests")
	}
	if p.first > 0 {
		n = min(n, p.first)
	}
	return hex.EncodeToString(sum.Sum(nil)), n, nil
}

func (p *providing) open() (io.ReadCloser, error) {
	f, err := os.Open(p.dataset)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cmp.Or(err, errors.New("it is no file, and is read more than once"))
	}
	return f, nil
}

// compile compiles the publisher's template.
func (p *providing) compile(c *call) (*engine.Template, string, error) {
	src, err := c.open(p.template)
	if err != nil {
		return nil, "", err
	}
	// the provider's clock is not ours to set
	t, err := engine.Compile(c.ctx, engine.Source{Name: src.Name, Text: src.Text, BOS: src.BOS,
		EOS: src.EOS}, engine.Options{Now: time.Now, Limits: c.limits.Limits})
	if err != nil {
		return nil, "", err
	}
	if err := t.Gate().Err(); err != nil {
		fmt.Fprintf(c.stderr, "%s: %v\n", src.Name, err)
	}
	return t, manifest.Digest(src.Text), nil
}

// body returns a function that makes the body of a request one for a model.
func body(model string, extra ordered.Value) func(ordered.Value, bool) ordered.Value {
	return func(v ordered.Value, stream bool) ordered.Value {
		v = v.With("model", ordered.Str(model)).Without("stream").Without("stream_options")
		for _, m := range extra.Members() {
			v = v.With(m.Key, m.Value)
		}
		if stream {
			v = v.With("stream", ordered.Boolean(true)).With("stream_options", ordered.Pairs(
				"include_usage", true))
		}
		return v
	}
}

// ask sends the requests that the log lacks.
func (p *providing) ask(c *call, r *provider.Run, log *provider.Log, table *provider.Table) error {
	if table.InFlight > 0 {
		fmt.Fprintf(c.stderr, "%s: %d requests were under way when the run before ended; they are "+
			"sent again\n", p.log, table.InFlight)
	}
	step, end := c.progress("answers", len(table.Outcomes))
	defer end()
	r.Done = step
	err := r.Ask(c.ctx, log, table, p.open)
	if c.ctx.Err() != nil {
		left := table.Missing()
		fmt.Fprintf(c.stderr, "%d of %d answers are in %s; the same command goes on\n",
			len(table.Outcomes)-left, len(table.Outcomes), p.log)
	}
	return err
}

// judge compares with the reference, and reports.
func (p *providing) judge(c *call, explain *provider.Explainer, table *provider.Table) error {
	result := &provider.Result{Table: table, Price: p.budget, Seed: p.seed}
	if p.reference != "" {
		f, err := os.Open(p.reference)
		if err == nil {
			result.Ref, err = explain.ReadReference(f, table, p.open)
			f.Close()
		}
		if err != nil {
			return fmt.Errorf("--reference %s: %w", p.reference, err)
		}
		log, err := os.Open(p.log)
		if err != nil {
			return err
		}
		err = explain.Against(log, table, result.Ref, p.open)
		log.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", p.log, err)
		}
	}
	var err error
	if result.Lines, err = provider.Compare(table, result.Ref, p.seed); err != nil {
		return err
	}
	if p.measures != "" {
		if err := safefile.Write(p.measures, result.JSONLines); err != nil {
			return err
		}
	}
	if form := p.output.form(c); (form == formLong || form == formGitHub) && !p.output.quiet {
		if err := result.Text(c.stdout); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout)
	}
	return p.output.write(c, result.Report(version()))
}

var datasetCommand = command{
	group: serving, name: "dataset", takes: arity{},
	short: "make a data set of requests for \"assay provider\", from a seed",
	long: `The requests are those of the corpus' kinds in all its settings: with tools whose schemas
have constraints, after earlier turns, with thinking on and off. The same seed gives the same
bytes.`,
	setup: func(flags *flagSet) func(*call) error {
		seed, n := uint64(1), 0
		flags.Uint64Var(&seed, "seed", 1, "draw from seed `N`")
		flags.IntVar(&n, "requests", 4000, "make `N` requests")
		return func(c *call) error {
			if n < 1 {
				return usageError{errors.New("--requests must be positive")}
			}
			g, err := dataset.NewGenerator(corpus.FS, seed)
			if err != nil {
				return err
			}
			w := bufio.NewWriter(c.data())
			for range n {
				if err := c.ctx.Err(); err != nil {
					return err
				}
				w.Write(append(g.Next().Line(), '\n'))
			}
			return w.Flush()
		}
	},
}
