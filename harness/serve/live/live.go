// Package live puts a model through a battery of requests and checks the answers, on real tokens:
// llama.cpp runs the model.
//
// # Terminology
//
// A scenario is one request of the battery. A run is a scenario with one template on one model. The
// tiny model ([WriteTiny]) has seeded random weights: with a grammar it says syntactically perfect
// nonsense, which exercises the grammar, the triggers, tokens that straddle markers, and the
// parser.
//
// # Model
//
// Every piece of an answer goes to the stream parser as it comes. The checks demand afterwards: the
// parser's message in one go is the same, and so is that of the deltas; nothing of a constrained
// answer's markers is in its text; llama.cpp took the grammar, and our own matcher accepts the text
// that it let through; of an answer that the model ended, calls are there where they are required,
// complete, of declared functions, one where only one is allowed, and their arguments satisfy the
// schemas; JSON answers satisfy theirs. A lazy grammar's trigger is forced on the tiny model, which
// would not find it. The prompt of the next turn, with the answer in it, is compared with prompt
// and answer as they were: where it begins with them, a server can go on from its cache, which is
// noted and not demanded.
//
// # Errors
//
// A fault in a run is a result of the report. An error of [Chat.Run] is one that keeps all runs
// from being made.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/rule"
)

// Chat is a template on a model.
type Chat struct {
	Name     string // of the template, for people
	Template *engine.Template
	Model    *llama.Model
	Context  *llama.Context
	Tiny     bool // the model says nonsense: triggers are forced
}

// Open opens a chat with a template. It does not judge it: a template that the gate rejects runs
// the scenarios without tools.
func Open(name string, t *engine.Template, m *llama.Model, o llama.ContextOptions) (*Chat, error) {
	c, err := m.NewContext(o)
	if err != nil {
		return nil, err
	}
	return &Chat{Name: name, Template: t, Model: m, Context: c}, nil
}

// Close closes the context. The model is not the chat's.
func (c *Chat) Close() error { return c.Context.Close() }

// Options control how the battery is run.
type Options struct {
	Sampling llama.Sampling
	Max      int // tokens of a constrained answer
	MaxFree  int // tokens of an answer without a grammar
	// Done is called after every run; nil: nobody.
	Done func(*Outcome)
}

// Outcome is a run with its result.
type Outcome struct {
	Template string
	Scenario string
	Request  ordered.Value
	Output   string
	Cut      bool
	Message  chat.Message
	Result   llama.Result
	Grammar  bool     // the answer was constrained, from its beginning or from a trigger on
	Faults   []string // the demands that did not hold
	Notes    []string

	armed bool // the grammar did constrain the answer: a lazy one's trigger came
}

// Report returns the run as a result.
func (o *Outcome) Report() rule.Result {
	r := rule.Result{Suite: o.Template, Group: "live", Name: o.Scenario}
	switch {
	case len(o.Faults) > 0:
		r.Status, r.Severity = rule.Failed, rule.Error
		r.Text = strings.Join(o.Faults, "\n") + "\noutput: " + excerpt(o.Output)
	case len(o.Notes) > 0:
		r.Status, r.Text = rule.Found, strings.Join(o.Notes, "\n")
	}
	return r
}

// maxExcerpt bounds the output that a fault quotes, in bytes.
const maxExcerpt = 1500

func excerpt(text string) string { return strconv.Quote(source.CutMiddle(text, maxExcerpt)) }

// Run puts a chat through the battery. It stops when ctx ends, with its cause.
func (c *Chat) Run(ctx context.Context, o Options) ([]*Outcome, error) {
	var outcomes []*Outcome
	tools := c.Template.Gate().Pass()
	for i := range battery {
		s := &battery[i]
		if s.tools && !tools || s.result && !c.Template.Caps().ToolCalls {
			continue
		}
		request, err := ordered.ParseString(expand.Replace(s.request))
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.name, err)
		}
		out, err := c.run(ctx, s, request, o)
		if err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, out)
		o.done(out)
		if s.follow && len(out.Faults) == 0 && len(out.Message.ToolCalls) > 0 && !out.Cut {
			next, err := c.follow(ctx, out, o)
			if err != nil {
				return outcomes, err
			}
			outcomes = append(outcomes, next)
			o.done(next)
		}
	}
	return outcomes, nil
}

func (o *Options) done(out *Outcome) {
	if o.Done != nil {
		o.Done(out)
	}
}

// follow answers an answer's calls with results and runs the next turn.
func (c *Chat) follow(ctx context.Context, out *Outcome, o Options) (*Outcome, error) {
	s := scenario{name: out.Scenario + "-answered", tools: true}
	request := answered(out.Request, &wire.Answer{Message: out.Message})
	_, _, refused := c.prompts(out.Request, request)
	if refused != nil { // some templates demand ids of a form that a grammar need not know
		for i := range out.Message.ToolCalls {
			out.Message.ToolCalls[i].ID = ""
		}
		request = answered(out.Request, &wire.Answer{Message: out.Message})
	}
	next, err := c.run(ctx, &s, request, o)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		next.Notes = append(next.Notes, fmt.Sprintf("the calls' ids were replaced, since the "+
			"template refused the answer: %v", refused))
	}
	if first, second, err := c.prompts(out.Request, request); err != nil {
		next.Faults = append(next.Faults, err.Error())
	} else if !strings.HasPrefix(second, first+out.Output) {
		next.Notes = append(next.Notes, "the next turn's prompt does not begin with this turn's "+
			"prompt and answer, so that a cache is of use up to the difference only")
	}
	return next, nil
}

func (c *Chat) prompts(first, second ordered.Value) (a, b string, err error) {
	for _, p := range [...]struct {
		request ordered.Value
		text    *string
	}{{first, &a}, {second, &b}} {
		r, err := chat.ParseRequest(p.request)
		if err != nil {
			return "", "", err
		}
		prompt, err := c.Template.Render(r)
		if err != nil {
			return "", "", err
		}
		*p.text = prompt.Text
	}
	return a, b, nil
}

// run makes one run. The error is that of a context that ended, or one that no answer of the model
// is to blame for.
func (c *Chat) run(ctx context.Context, s *scenario, request ordered.Value,
	o Options) (*Outcome, error) {
	out := &Outcome{Template: c.Name, Scenario: s.name, Request: request}
	if err := c.generate(ctx, out, s, o); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for _, kind := range [...]error{llama.ErrFull, llama.ErrMemory, llama.ErrDecode,
			llama.ErrGrammar, llama.ErrClosed} {
			if errors.Is(err, kind) {
				return nil, fmt.Errorf("scenario %s: %w", s.name, err)
			}
		}
		out.Faults = append(out.Faults, err.Error())
	}
	return out, nil
}

func (c *Chat) generate(ctx context.Context, out *Outcome, s *scenario, o Options) error {
	r, err := chat.ParseRequest(out.Request)
	if err != nil {
		return err
	}
	plan, err := c.Template.Prepare(r, engine.PrepareOptions{})
	if refused := (*source.Error)(nil); errors.As(err, &refused) {
		out.Notes = append(out.Notes, fmt.Sprintf("the template refuses the request: %v", err))
		return nil
	} else if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	request := llama.Request{Sampling: o.Sampling, Stops: plan.Stops, Max: o.MaxFree}
	if request.Prompt, err = c.Model.Tokenize(plan.Prompt.Text, true); err != nil {
		return err
	}
	grammar, err := plan.Output.Grammar()
	if err != nil {
		return fmt.Errorf("grammar: %w", err)
	}
	if constrains(r) && grammar != nil {
		request.Grammar, request.Max, out.Grammar = Grammar(plan.Output, grammar), o.Max, true
		if plan.Lazy && c.Tiny {
			if request.Begin, err = c.begin(plan, grammar); err != nil {
				return err
			}
		}
	}
	parser := plan.NewParser()
	streamed := new(collector)
	var text strings.Builder
	out.Result, err = c.Context.Generate(ctx, request, func(_ llama.Token, piece []byte) error {
		text.Write(piece)
		streamed.add(parser.Write(piece))
		return nil
	})
	out.Output = text.String()
	if err != nil {
		return err
	}
	out.Cut = out.Result.End.Cut()
	streamed.add(parser.Close(ending(out.Cut)))
	out.Message = parser.Message()
	out.check(plan, r, parser, streamed, grammar, s, c.Tiny)
	return nil
}

// ending returns why an output ended: a limit cut it off, or the model ended its turn.
func ending(cut bool) chat.FinishReason {
	if cut {
		return chat.FinishLength
	}
	return chat.FinishStop
}

// constrains reports whether a request constrains its answer: by tools or by a schema. Else the
// model writes as it likes.
func constrains(r chat.Request) bool {
	return r.HasJSONSchema || len(r.Tools) > 0 && r.ToolChoice.Mode != chat.ChoiceNone
}

// Grammar returns a plan's grammar as the binding takes it.
func Grammar(plan *codegen.Output, grammar *gbnf.Grammar) *llama.Grammar {
	g := &llama.Grammar{Text: grammar.String(), Lazy: plan.Lazy}
	for _, t := range plan.Triggers {
		kind := llama.TriggerWord
		if t.Pattern {
			kind = llama.TriggerPattern
		}
		g.Triggers = append(g.Triggers, llama.Trigger{Kind: kind, Text: t.Text})
	}
	return g
}

// begin returns tokens that pull a trigger: some text, then the trigger's word, or, where that does
// not begin a call, as much of a sentence of the grammar as it takes until there is one.
func (c *Chat) begin(plan *engine.Plan, grammar *gbnf.Grammar) ([]llama.Token, error) {
	const text = "I look that up. "
	if t := plan.Triggers[0]; t.Call && !t.Pattern {
		return c.Model.Tokenize(text+t.Text, true)
	}
	for seed := range int64(maxSentences) {
		sampler, err := gbnf.NewSampler(grammar, rand.New(rand.NewSource(seed)))
		if err != nil {
			return nil, err
		}
		sentence, err := sampler.Sample()
		if err != nil {
			return nil, err
		}
		answer := text + sentence
		if found, ok := plan.Output.Constrained(answer); !ok || found != sentence {
			answer = sentence // which a pattern wants at the beginning
		}
		parser := plan.NewParser()
		for n := range len(answer) {
			parser.Write([]byte(answer[n : n+1]))
			if len(parser.Message().ToolCalls) > 0 {
				return c.Model.Tokenize(answer[:n+1], true)
			}
		}
		if parser.Close(chat.FinishStop); len(parser.Message().ToolCalls) > 0 {
			return c.Model.Tokenize(answer, true)
		}
	}
	return nil, fmt.Errorf("none of %d sentences of the lazy grammar has a call", maxSentences)
}

// maxSentences bounds how many sentences of a grammar are looked at for one with a call.
const maxSentences = 64

// check makes the demands on an answer. A nil grammar is one that is known to accept it.
func (out *Outcome) check(plan *engine.Plan, r chat.Request, parser *stream.Parser,
	streamed *collector, grammar *gbnf.Grammar, s *scenario, tiny bool) {
	fault := func(format string, args ...any) {
		out.Faults = append(out.Faults, fmt.Sprintf(format, args...))
	}
	whole := plan.Parse(out.Output, ending(out.Cut))
	if a, b := parser.Message().Value().String(), whole.Message.Value().String(); a != b {
		fault("streamed and in one go differ:\n  streamed   %s\n  in one go  %s", a, b)
	}
	if a, b := parser.Finish(), whole.Finish; a != b {
		fault("the finish reason is %q streamed and %q in one go", a, b)
	}
	if err := streamed.compare(out.Message); err != nil {
		fault("%v", err)
	}
	if !out.Grammar {
		return
	}
	constrained, triggered := plan.Output.Constrained(out.Output)
	begun := slices.ContainsFunc(plan.Triggers, func(t codegen.Trigger) bool {
		at, _ := (&codegen.Output{Lazy: true, Triggers: []codegen.Trigger{t}}).
			Constrained(out.Output)
		return t.Call && at == constrained
	})
	if !triggered { // the model answered without a call, which it may
		if s.trigger && len(out.Message.ToolCalls) == 0 {
			out.Notes = append(out.Notes, "the lazy grammar's trigger did not come")
		}
		return
	}
	out.armed = true
	accepts := gbnf.Accepts
	// after the stop's text, or within something that happens to have it
	if out.Result.End == llama.EndStop && grammar != nil {
		if done, err := gbnf.Accepts(grammar, constrained); err == nil && !done {
			out.Cut = true
		}
	}
	if out.Cut {
		accepts = gbnf.AcceptsPrefix
	}
	if grammar == nil {
	} else if !utf8.ValidString(constrained) {
		// llama.cpp takes bytes that only look like UTF-8, grammars are over characters
		out.Notes = append(out.Notes, "the answer is not UTF-8: it was not held "+
			"against our matcher")
	} else if ok, err := accepts(grammar, constrained); err != nil {
		fault("our matcher: %v", err)
	} else if !ok {
		fault("llama.cpp lets through text that our matcher does not accept")
	}
	if plan.Lazy && begun && !out.Cut && len(out.Message.ToolCalls) == 0 {
		fault("the trigger came, and no call was read")
	}
	if !tiny { // which writes markers where it likes
		out.checkLeaks(plan, r, fault)
	}
	if out.Cut {
		out.Notes = append(out.Notes, fmt.Sprintf("cut off after %d tokens (%s): completeness "+
			"was not checked", out.Result.Tokens, out.Result.End))
		return
	}
	out.checkCalls(r, fault)
	if r.HasJSONSchema && len(out.Message.ToolCalls) == 0 {
		if err := conforms(r.JSONSchema, out.Message.Content); err != nil {
			fault("the answer does not satisfy json_schema: %v", err)
		}
	}
}

// checkLeaks looks for markers in the text that clients show. Strings in JSON may have any text.
func (out *Outcome) checkLeaks(plan *engine.Plan, r chat.Request, fault func(string, ...any)) {
	if r.HasJSONSchema {
		return
	}
	for _, marker := range plan.Preserved {
		for _, part := range [...]struct{ name, text string }{{"reasoning", out.Message.Reasoning},
			{"content", out.Message.Content}} {
			if strings.Contains(part.text, marker) && tag.MatchString(marker) {
				fault("the marker %q leaks into the %s", marker, part.name)
			}
		}
	}
}

// tag tells markers that no prose has from those that it may.
var tag = regexp.MustCompile(`^\s*[<\[{|].*[>\]}|]\s*$`)

func (out *Outcome) checkCalls(r chat.Request, fault func(string, ...any)) {
	calls := out.Message.ToolCalls
	required := r.ToolChoice.Mode == chat.ChoiceRequired || r.ToolChoice.Mode == chat.ChoiceNamed
	if required && len(calls) == 0 {
		fault("a call was required, and there is none")
	}
	if r.OneCall && len(calls) > 1 {
		fault("%d calls, where parallel calls are not allowed", len(calls))
	}
	for i, call := range calls {
		tool := -1
		for j := range r.Tools {
			if r.Tools[j].Name == call.Name {
				tool = j
			}
		}
		switch {
		case tool < 0:
			fault("call %d is of %q, which is not declared", i, call.Name)
		case r.ToolChoice.Mode == chat.ChoiceNamed && call.Name != r.ToolChoice.Name:
			fault("call %d is of %q, where %q was asked for", i, call.Name, r.ToolChoice.Name)
		case !call.Complete:
			fault("call %d is incomplete, although the model ended the turn", i)
		default:
			if err := conforms(r.Tools[tool].Parameters, call.Arguments); err != nil {
				fault("call %d, %s(%s): %v", i, call.Name, excerpt(call.Arguments), err)
			}
		}
	}
}

// conforms reports whether a text is JSON that satisfies a schema.
func conforms(want ordered.Value, text string) error {
	s, err := schema.Parse(want)
	if err != nil {
		return err
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// collector puts deltas together, as a client does.
type collector struct {
	message chat.Message
	err     error
}

func (c *collector) add(deltas []chat.Delta) {
	for _, d := range deltas {
		if d.Reasoning == "" && d.Content == "" && len(d.ToolCalls) == 0 {
			c.err = errors.New("an empty delta was sent")
		}
		c.message.Reasoning += d.Reasoning
		c.message.Content += d.Content
		for _, call := range d.ToolCalls {
			switch n := len(c.message.ToolCalls); {
			case call.Index == n:
				c.message.ToolCalls = append(c.message.ToolCalls,
					chat.ToolCall{ID: call.ID, Name: call.Name})
			case call.Index > n || call.Index < 0:
				c.err = fmt.Errorf("a delta has the call index %d, where %d "+
					"calls are known", call.Index, n)
				continue
			}
			c.message.ToolCalls[call.Index].Arguments += call.Arguments
		}
	}
}

// compare compares the deltas with the message.
func (c *collector) compare(m chat.Message) error {
	if c.err != nil {
		return c.err
	}
	if a, b := c.message.Value().String(), m.Value().String(); a != b {
		return fmt.Errorf("the deltas put together are not the "+
			"message:\n  deltas   %s\n  message  %s", a, b)
	}
	return nil
}
