package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/openai"
)

// keyVariable is where a server's API key is taken from. It has a name of its own, so that no key
// for somebody else is sent.
const keyVariable = "ASSAY_API_KEY"

// The bounds on the bytes that a server may send: in an answer, and in all answers to the battery.
// Those of a server that reasons at length take some megabytes.
const (
	maxAnswer  = 8 << 20
	maxAnswers = 64 << 20
)

var probeCommand = command{
	group: serving, name: "probe", args: "URL", takes: arity{1, 1, "the address of a server"},
	files: cobra.NoFileCompletions,
	short: "put a server through a battery of requests in three protocols, and check its answers",
	long: `Each request is sent in chat completions, Responses and Messages, as far as the server has
them, and answered in one piece and as a stream. All answers are held to the rules of
docs/reference/server-rules.md, and to each other. The template is that of --template, else the one that the
server gives, else, with --hub, that of the model's repository; without one, markers that leak are
those of all known formats. An API key is taken from the environment variable ` + keyVariable +
		".",
	setup: func(flags *flagSet) func(*call) error {
		p := new(probe)
		flags.category("The server")
		flags.StringVar(&p.model, "model", "", "the `NAME` of the model (default: the first one "+
			"that the server lists)")
		flags.StringVar(&p.template, "template", "", "use this `TEMPLATE` instead of the one "+
			"that the server gives")
		flags.BoolVar(&p.hub, "hub", false, "where the server gives no template, read that of the "+
			"repository which it names as its model, from the Hugging Face Hub")
		flags.StringArrayVar(&p.protocols, "protocol", nil, "speak this `PROTOCOL` only: "+
			strings.Join(protocolNames(), ", ")+"; may be given again")
		flags.BoolVar(&p.raw, "raw", false, "compare the answers with this parser's as well, where "+
			"the server gives the text that the model wrote")
		flags.StringVar(&p.extra, "extra", "", "an `OBJECT` whose members every request has as well, such as '{\"cache_prompt\": false}'")
		flags.DurationVar(&p.silence, "timeout", 5*time.Minute, "the longest `TIME` "+
			"in which nothing comes")
		// most servers repeat themselves then
		p.sampling = samplingFlags(flags, 0, "of the server's sampler")
		p.remote = remoteFlags(flags)
		p.output = outputFlags(flags)
		limitFlag(flags, lookedAt)
		return p.run
	},
}

// probe holds the command's arguments.
type probe struct {
	output          *output
	model, template string
	extra           string
	protocols       []string
	raw, hub        bool
	remote          *remote
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
	client, err := openai.New(c.args[0], c.getenv(keyVariable),
		openai.Limits{Silence: p.silence, Body: maxAnswer, All: maxAnswers})
	if err != nil {
		return err
	}
	v := &live.Server{Client: client, Raw: p.raw, Sampling: p.sampling.of(), Max: p.sampling.max,
		MaxFree: p.sampling.maxFree, Extra: extra}
	if err := p.speak(c, v); err != nil {
		return err
	}
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

// protocolNames are the names by which --protocol takes protocols.
func protocolNames() []string {
	return lists.Map(wire.All, func(p wire.Protocol) string {
		return strings.ReplaceAll(p.Name(), " ", "-")
	})
}

// speak chooses the protocols: those that are named, else those that the server has.
func (p *probe) speak(c *call, v *live.Server) error {
	for _, name := range p.protocols {
		i := slices.Index(protocolNames(), name)
		if i < 0 {
			return usageError{fmt.Errorf("--protocol: expected one of %s, found %q",
				strings.Join(protocolNames(), ", "), name)}
		}
		v.Protocols = append(v.Protocols, wire.All[i])
	}
	if v.Protocols != nil {
		return nil
	}
	var err error
	if v.Protocols, err = live.Spoken(c.ctx, v.Client); err != nil {
		return err
	}
	for _, p := range wire.All {
		if len(v.Protocols) > 0 && !slices.Contains(v.Protocols, p) {
			c.note("the server has no %s: the protocol is left out", p.Path())
		}
	}
	if len(v.Protocols) == 0 { // a server of none is one that answers wrongly
		v.Protocols = wire.All[:1]
	}
	return nil
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
	if src.Text == "" && p.hub {
		m, err := p.remote.model(c, hub.Scheme+v.Model)
		if err != nil {
			return fmt.Errorf("--hub: %w", err)
		}
		own, err := m.Taken()
		if err != nil {
			return fmt.Errorf("--hub: %w", err)
		}
		src = own.Source
	}
	if src.Text == "" {
		if p.raw {
			return errors.New("--raw needs the template, which the server does not give; name it " +
				"with --template")
		}
		c.note("the server does not give its template: markers of every known format are looked " +
			"for; --template names it")
		return nil
	}
	// the server's clock is not ours to set
	if v.Template, err = engine.Compile(c.ctx, src, engine.Options{Now: time.Now,
		Limits: c.limits.Limits}); err != nil {
		return err
	}
	if err := v.Template.Gate().Err(); err != nil {
		fmt.Fprintf(c.stderr, "%s: %v; requests with tools are left out\n", src.Name, err)
	}
	return nil
}
