package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
)

// keyVariable is where a server's API key is taken from. It has a name of its own, so that no key
// for somebody else is sent.
const keyVariable = "ASSAY_API_KEY"

var probeCommand = command{
	group: serving, name: "probe", args: "URL", takes: arity{1, 1, "the address of a server"},
	files: cobra.NoFileCompletions,
	short: "put an OpenAI-compatible server through a battery of requests, and check its answers",
	long: `Each request is answered in one piece and as a stream, and both answers are held to the
rules of docs/server-rules.md. The template is that of --template, else the one that the server
gives. An API key is taken from the environment variable` + keyVariable + ".",
	setup: func(flags *flagSet) func(*call) error {
		p := new(probe)
		flags.category("The server")
		flags.StringVar(&p.model, "model", "", "the `NAME` of the model (default: the first one "+
			"that the server lists)")
		flags.StringVar(&p.template, "template", "", "use this `TEMPLATE` instead of the one "+
			"that the server gives")
		flags.BoolVar(&p.raw, "raw", false, "compare the answers with this parser's as well, where "+
			"the server gives the text that the model wrote")
		flags.StringVar(&p.extra, "extra", "", "an `OBJECT` whose members every request has as well, such as '{\"cache_prompt\": false}'")
		flags.DurationVar(&p.silence, "timeout", 5*time.Minute, "the longest `TIME` "+
			"in which nothing comes")
		// most servers repeat themselves then
		p.sampling = samplingFlags(flags, 0, "of the server's sampler")
		p.output = outputFlags(flags)
		return p.run
	},
}

// probe holds the command's arguments.
type probe struct {
	output          *output
	model, template string
	extra           string
	raw             bool
	silence         time.Duration
	sampling        *sampling
}

// run puts a server through the battery.
func (p *probe) run(c *call) error {
	if p.silence <= 0 {
		return usageError{errors.New("--timeout must be positive")}
	}
	extra, err := ordered.ParseString(cmp.Or(p.extra, "{}"))
	if err != nil {
		return fmt.Errorf("--extra: %w", err)
	}
	if extra.Kind() != ordered.Object {
		return fmt.Errorf("--extra: expected an object, found %s", extra)
	}
	client, err := openai.New(c.args[0], c.getenv(keyVariable), openai.Limits{Silence: p.silence})
	if err != nil {
		return err
	}
	v := &live.Server{Client: client, Raw: p.raw, Sampling: p.sampling.of(), Max: p.sampling.max,
		MaxFree: p.sampling.maxFree, Extra: extra}
	if err := p.ask(c.ctx, c, v); err != nil {
		return err
	}
	v.Done = func(scenario string, _ []rule.Result) { c.status(v.Model + " " + scenario) }
	results, err := v.Run(c.ctx)
	c.status("")
	if err != nil {
		return err
	}
	return p.output.write(c, &report.Report{Command: "probe", Version: version(),
		Rules: live.Rules(), Results: results})
}

// ask asks the server for its model and template, where they are not given.
func (p *probe) ask(ctx context.Context, c *call, v *live.Server) error {
	props, err := live.AskProperties(ctx, v.Client)
	if err != nil && !(errors.Is(err, live.ErrNoServer) && p.model != "") {
		return err
	}
	v.Model = props.Model
	if p.model != "" {
		v.Model = p.model
	}
	src := engine.Source{Name: "the server's template", Text: props.Template, BOS: props.BOS,
		EOS: props.EOS}
	if p.template != "" {
		own, err := c.open(p.template)
		if err != nil {
			return err
		}
		src.Name, src.Text = own.Name, own.Text
		if props.BOS == "" && props.EOS == "" {
			src.BOS, src.EOS = own.BOS, own.EOS
		}
	}
	if src.Text == "" {
		if p.raw {
			return errors.New("--raw needs the template, which the server does not give; name it " +
				"with --template")
		}
		fmt.Fprintln(c.stderr, "the server does not give its template: markers that leak are not "+
			"looked for; --template names it")
		return nil
	}
	// the server's clock is not ours to set
	if v.Template, err = engine.Compile(src, engine.Options{Now: time.Now,
		Limits: within(c, lookedAt)}); err != nil {
		return err
	}
	if err := v.Template.Gate().Err(); err != nil {
		fmt.Fprintf(c.stderr, "%s: %v; requests with tools are left out\n", src.Name, err)
	}
	return nil
}
