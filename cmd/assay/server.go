package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/report"
)

// keyVariable is where a server's API key is taken from. It has a name of its own, so that no key for somebody else is sent.
const keyVariable = "ASSAY_API_KEY"

// serverRun is assay live --server.
type serverRun struct {
	url, model string
	extra      string
	raw        bool
	silence    time.Duration
	flags      *flag.FlagSet
}

func serverFlags(flags *flag.FlagSet) *serverRun {
	s := &serverRun{flags: flags}
	flags.StringVar(&s.url, "server", "", "put the OpenAI-compatible server at this `URL` through the battery instead of a model")
	flags.StringVar(&s.model, "model", "", "with --server: the `NAME` of the model (default: the first one that it lists)")
	flags.BoolVar(&s.raw, "raw", false, "with --server: hold its answers against this parser as well, where it gives the text that the model wrote")
	flags.StringVar(&s.extra, "extra", "", "with --server: an `OBJECT` whose members every request has as well, such as '{\"cache_prompt\": false}'")
	flags.DurationVar(&s.silence, "timeout", 5*time.Minute, "with --server: the longest `TIME` in which nothing comes")
	return s
}

// usage checks what goes together.
func (s *serverRun) usage(r *liveRun, c *call) error {
	if err := c.want(0, 0, "no model beside --server"); err != nil {
		return err
	}
	for _, f := range [...]struct {
		name string
		set  bool
	}{{"--tiny", r.tiny}, {"--all-families", r.all}, {"--run", r.only != ""}, {"--record", r.record != ""}} {
		if f.set {
			return fmt.Errorf("--server and %s cannot be given together", f.name)
		}
	}
	if s.silence <= 0 {
		return errors.New("--timeout must be positive")
	}
	return nil
}

// stray is a flag that was given and means nothing without --server.
func (s *serverRun) stray() (name string) {
	s.flags.Visit(func(f *flag.Flag) {
		if f.Name == "model" || f.Name == "raw" || f.Name == "extra" || f.Name == "timeout" {
			name = f.Name
		}
	})
	return name
}

// run puts a server through the battery.
func (s *serverRun) run(r *liveRun, c *call) error {
	if err := s.usage(r, c); err != nil {
		return err
	}
	extra, err := ordered.ParseString(cmp.Or(s.extra, "{}"))
	if err != nil {
		return fmt.Errorf("--extra: %w", err)
	}
	if extra.Kind() != ordered.Object {
		return fmt.Errorf("--extra: expected an object, found %s", extra)
	}
	client, err := openai.New(s.url, c.getenv(keyVariable), openai.Limits{Silence: s.silence})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	v := &live.Server{Client: client, Raw: s.raw, Sampling: s.sampling(r), Max: r.options.Max, MaxFree: r.options.MaxFree, Extra: extra}
	if err := s.ask(ctx, r, c, v); err != nil {
		return err
	}
	v.Done = func(scenario string, _ []report.Result) { c.status(v.Model + " " + scenario) }
	results, err := v.Run(ctx)
	c.status("")
	if err != nil {
		return err
	}
	return r.output.write(c, &report.Report{Command: "live", Version: version(), Rules: live.Rules(), Results: results})
}

// sampling is greedy where nothing else was asked for: most servers repeat themselves then.
func (s *serverRun) sampling(r *liveRun) llama.Sampling {
	given := false
	s.flags.Visit(func(f *flag.Flag) { given = given || f.Name == "temperature" })
	sampling := r.options.Sampling
	if !given {
		sampling.Temperature = 0
	}
	return sampling
}

// ask asks the server for its model and template, where they are not given.
func (s *serverRun) ask(ctx context.Context, r *liveRun, c *call, v *live.Server) error {
	p, err := live.AskProperties(ctx, v.Client)
	if err != nil && !(errors.Is(err, live.ErrNoServer) && s.model != "") {
		return err
	}
	v.Model = p.Model
	if s.model != "" {
		v.Model = s.model
	}
	src := engine.Source{Name: "the server's template", Text: p.Template, BOS: p.BOS, EOS: p.EOS}
	if r.template != "" {
		own, err := c.open(r.template)
		if err != nil {
			return err
		}
		src.Name, src.Text = own.Name, own.Text
		if p.BOS == "" && p.EOS == "" {
			src.BOS, src.EOS = own.BOS, own.EOS
		}
	}
	if src.Text == "" {
		if s.raw {
			return errors.New("--raw needs the template, which the server does not give; name it with --template")
		}
		fmt.Fprintln(c.stderr, "the server does not give its template: markers that leak are not looked for; --template names it")
		return nil
	}
	if v.Template, err = engine.Compile(src, engine.Options{Now: time.Now}); err != nil { // the server's clock is not ours to set
		return err
	}
	if err := v.Template.Caps().Gate(); errors.Is(err, caps.ErrToolsUnsupported) {
		fmt.Fprintf(c.stderr, "%s: its %v; what needs tools is left out\n", src.Name, err)
	}
	return nil
}
