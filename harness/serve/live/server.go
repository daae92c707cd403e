package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/serve/openai"
)

// The paths of a server's API.
const (
	pathComplete = "/v1/completions"
	// llama.cpp's: the server's parts, the template among them
	pathProperties = "/props"
	pathRender     = "/apply-template" // llama.cpp's: a request's prompt
)

// Server is a server that the battery is put to.
type Server struct {
	Client    *openai.Client
	Protocols []wire.Protocol  // that are tried; none: all
	Model     string           // its name in requests
	Template  *engine.Template // that it uses; nil: not known
	Raw       bool             // compare the answers with this project's parser
	Sampling  llama.Sampling
	Max       int // tokens of an answer with tools or a schema
	MaxFree   int // tokens of another
	// an object whose members every request for an answer has as well; null: none
	Extra ordered.Value
	// Done is called after every scenario with its findings; nil: not called.
	Done func(scenario string, results []rule.Result)

	late lateness // of a run
}

// How many answers may meet the limits on time before a run ends, in a row and in all: a server
// that lets each of a thousand requests wait, or every other one, must not keep a client for a
// week.
const (
	mostLate    = 4
	mostLateAll = 20
)

// lateness counts the answers that met a limit on time.
type lateness struct {
	mu     sync.Mutex
	n, all int                     // in a row, in all
	end    context.CancelCauseFunc // ends the run
}

// note notes how an answer ended.
func (l *lateness) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !errors.Is(err, openai.ErrSilent) && !errors.Is(err, openai.ErrSlow) {
		l.n = 0
		return
	}
	l.n++
	l.all++
	switch {
	case l.end == nil:
	case l.n == mostLate:
		l.end(fmt.Errorf("%d answers in a row met a limit on time, the last one: %w", l.n, err))
	case l.all == mostLateAll:
		l.end(fmt.Errorf("%d answers met a limit on time, the last one: %w", l.all, err))
	}
}

// Spoken returns the protocols whose paths a server has: an empty object gets another answer there
// than that there is no such path or method.
func Spoken(ctx context.Context, c *openai.Client) ([]wire.Protocol, error) {
	var spoken []wire.Protocol
	for _, p := range wire.All {
		a, err := c.Post(ctx, p.Path(), []byte("{}"))
		if err != nil {
			return nil, err
		}
		switch a.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		default:
			spoken = append(spoken, p)
		}
	}
	return spoken, nil
}

// Properties are a server's statements about itself.
type Properties struct {
	Model    string // the first one that it lists
	Template string // "" where it does not say
	BOS, EOS string
}

// ErrNoServer is returned where nothing answers as a server does.
var ErrNoServer = errors.New("this is no OpenAI-compatible server")

// maxTemplate bounds the template that a server gives, in bytes. The largest in public use have
// some 30 kB.
const maxTemplate = 4 << 20

// AskProperties asks a server for its properties. Only the list of models is a part of OpenAI's
// API; the error of a server that lists none wraps [ErrNoServer], and its other answers are
// returned all the same.
func AskProperties(ctx context.Context, c *openai.Client) (Properties, error) {
	var p Properties
	a, err := c.Get(ctx, pathProperties)
	if err != nil {
		return p, err
	}
	if a.OK() {
		p.Template = a.JSON.At("chat_template").Text()
		if tools := a.JSON.At("chat_template_tool_use").Text(); tools != "" {
			p.Template = tools
		}
		p.BOS, p.EOS = a.JSON.At("bos_token").Text(), a.JSON.At("eos_token").Text()
	}
	if len(p.Template) > maxTemplate {
		return p, fmt.Errorf("%s%s gives a template of %d bytes, "+
			"which is no template", c.Root(), pathProperties, len(p.Template))
	}
	if p.Model, err = c.FirstModel(ctx); errors.Is(err, openai.ErrNoModel) {
		err = fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	return p, err
}

// run is one run of the battery.
type run struct {
	v       *Server
	results []rule.Result
	// free is the answer to a request that nothing constrains, in each protocol.
	free map[wire.Protocol]*reading
	// mute are the protocols whose streams do not come to their ends.
	mute   map[wire.Protocol]bool
	causes map[string]bool // of the findings so far
}

// Run puts the server through the battery. The results have the faults; the error is that of a
// context that ended, or that the server cannot be reached, or lets several requests in a row wait
// for as long as the client's limits permit.
func (v *Server) Run(ctx context.Context) ([]rule.Result, error) {
	r := &run{v: v, free: map[wire.Protocol]*reading{}, mute: map[wire.Protocol]bool{},
		causes: map[string]bool{}}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	v.late.mu.Lock()
	v.late.n, v.late.all, v.late.end = 0, 0, end
	v.late.mu.Unlock()
	for _, part := range [...]func(context.Context) error{r.battery, r.counted, r.limits, r.seals,
		r.loops, r.clients, r.cancelled, r.crowd, r.mistakes} {
		if err := part(ctx); err != nil {
			return r.results, err
		}
	}
	return r.results, nil
}

// add adds the findings of a scenario.
func (r *run) add(s *sheet) {
	found := s.results(r.v.Model)
	r.results = append(r.results, found...)
	for _, result := range found {
		cause, _, _ := strings.Cut(result.Text, "\n")
		r.causes[cause] = true
	}
	if r.v.Done != nil {
		r.v.Done(s.scenario, found)
	}
}

// protocols are those that are tried.
func (v *Server) protocols() []wire.Protocol {
	if v.Protocols == nil {
		return wire.All
	}
	return v.Protocols
}

// tools reports whether requests with tools are sent.
func (v *Server) tools() bool { return v.Template == nil || v.Template.Gate().Pass() }

// battery runs the scenarios of one request, and those that answer the calls.
func (r *run) battery(ctx context.Context) error {
	for _, b := range append(slices.Clone(battery[:]), serverBattery[:]...) {
		if b.tools && !r.v.tools() ||
			b.result && r.v.Template != nil && !r.v.Template.Caps().ToolCalls {
			continue
		}
		q, err := r.v.question(b.name, expand.Replace(b.request))
		if err != nil {
			return fmt.Errorf("scenario %s: %w", b.name, err)
		}
		q.optional = b.optional
		if err := q.put(ctx); err != nil {
			return err
		}
		r.add(q.s)
		if b.name == "content" {
			for _, a := range q.asked {
				r.free[a.protocol] = a.piece
				r.mute[a.protocol] = a.stream == nil || !a.stream.Whole
			}
		}
		if !b.follow {
			continue
		}
		if next := q.followed(); next != nil {
			if err := next.put(ctx); err != nil {
				return err
			}
			r.add(next.s)
		}
	}
	return nil
}
