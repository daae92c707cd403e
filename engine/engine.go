// Package engine is the façade: from a chat template to a prompt, a parser and a grammar.
// docs/embedding.md has a server that uses it.
//
// # Life of a request
//
//	Compile   template -> Template   caps and analysis, once (lazily, on first use)
//	Render    request  -> Prompt     the request fitted to the template, rendered (Prepare does it)
//	Prepare   request  -> Plan       prompt, parser program, grammar, triggers, stops, preserved tokens
//	NewParser Plan     -> Parser     bytes in, deltas out; a message at the end
//
// Each stage is a package that can be used alone; this one only joins them. The left half (jinja,
// chattemplate, caps, analysis) understands templates, the right half (schema, codec, peg, gbnf,
// codegen, stream, dialect) handles output; between them stands [format.Format], which is plain
// data.
//
// Each method depends on its receiver and its arguments alone, never on earlier calls.
//
// # Stability
//
// This package and the packages chat, format and ordered are
// the stable surface: their API is listed in ci/api.txt, and a test holds it there. Every other
// package of the module may change with every release. Where this package leads to one of them
// (Caps, Analysis, Verify, ChatTemplate, Plan.Output), the method stays, and the type that it
// returns may change.
//
// # Cost
//
// Compile, Analysis and Verify take milliseconds and happen once for a template; Analysis and
// Verify when they are asked for, or when the first Prepare needs them. Prepare takes microseconds
// for tools that it has seen, and reading an output nanoseconds for a byte. A Template and a Plan
// are safe for concurrent use; a Parser belongs to one answer.
//
// # Errors
//
// Compile returns positioned errors ([source.Error]). Prepare returns [ErrUnverified] where the
// template's format is not proven to read the answers to the request, unless the caller insists
// (E11). [Template.Gate] is the verdict on the template as a whole.
package engine

import (
	"cmp"
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/dialect"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/engine/vocab"
	"github.com/goassay/assay/engine/words"
)

// Source is a template as it comes from a file: its text and the texts of its special tokens.
type Source struct {
	Name string // the name that errors give it, such as its file's
	Text string // the template's Jinja source
	// BOS and EOS are the texts of the special tokens that begin a prompt and end an answer; the
	// template reads them as bos_token and eos_token.
	BOS, EOS string
	// StandIns reports whether BOS and EOS are not the model's: something has to stand for them in
	// prompts, but a token that a template does not write at the end of turns ends no answer.
	StandIns bool
}

// Options are the settings with which a template is compiled. The zero value is usable.
type Options struct {
	// Now is the clock that templates read; nil: the wall clock, in the local time zone. Whoever
	// wants the same prompt for the same request on every day gives one.
	Now    func() time.Time
	Limits Limits // zero: the defaults
	// Seed draws the words of the probes that a template is looked at with, so that it cannot know
	// them ([words.Mask]); 0: they are the same every time. Every seed gives the same result for a
	// template that does not try to know.
	Seed   uint64
	Format *format.Format // a format to use instead of the analysed one
	// Vocabulary has the added tokens of the model's tokeniser. With it, parsers read tokens by
	// their ids ([Parser.WriteTokens]); nil: they read bytes only.
	Vocabulary *Vocabulary
	// Segments reports whether prompts will be asked for their segments, so that Render and Prepare
	// note them at once. Without it [Prompt.Segments] renders a second time.
	Segments bool

	budget *jinja.Budget // see Together
}

// Together returns the options for templates that come together, as those of a model file do:
// Limits.TotalSteps bounds the renders of all that are compiled with them.
// Options that are together already stay so.
func (o Options) Together() Options {
	if o.budget != nil {
		return o
	}
	steps := o.Limits.TotalSteps
	if steps == 0 {
		steps = math.MaxInt64 / 1024 // more than anything takes; text counts 64 bytes a step
	}
	o.budget = jinja.NewBudget(steps)
	return o
}

// Limits bound the cost of a template and of the outputs that it is asked to read. Zero fields are
// the defaults, which no honest template or output meets; docs/untrusted.md has them all.
type Limits struct {
	Source int          // bytes of a template's source; 0: the 16 MiB that [Compile] takes
	Render RenderLimits // of each render
	// TotalSteps bounds the renders of the template together, those of probes and analysis
	// included; 0: no bound. It is for a template that is analysed once. A template that serves
	// requests would reach the bound in time, and refuse every later request.
	TotalSteps int64
	Output     OutputLimits // of each parser
}

// Vocabulary is the added tokens of a tokeniser.
type Vocabulary = vocab.Vocabulary

// VocabularyFiles are the texts of the files that name a tokeniser's added tokens.
type VocabularyFiles = vocab.Files

// ReadVocabulary reads the added tokens of a tokeniser from its files; package tokenizer reads
// those of a folder or of a GGUF.
func ReadVocabulary(f VocabularyFiles) (*Vocabulary, error) { return vocab.Read(f) }

// RenderLimits bound one render.
type RenderLimits = jinja.Limits

// OutputLimits bound one parser.
type OutputLimits = vm.Limits

// Template is a compiled chat template. It is safe for concurrent use.
type Template struct {
	chat     *chattemplate.Template
	caps     caps.Caps
	analysis func() *analysis.Analysis
	proved   func() proofs
	plans    plans
	output   vm.Limits
	vocab    *Vocabulary
	segments bool
}

// Compile compiles a template and probes its capabilities. A template that renders no conversation
// at all is an error.
//
// The context is the template's, as that of [exec.CommandContext] is the command's: its end ends
// all renders of the template, one that is under way too, and they fail with its cause. It is for
// a command that an interrupt ends. A server, whose templates outlive the call, gives
// [context.Background]. Render and Prepare take no context: the analysis and the proof that they
// may have to wait for are computed once for all callers, so that none of them may end it, and the
// limits bound a render.
func Compile(ctx context.Context, s Source, o Options) (*Template, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	src, budget := source.New(s.Name, s.Text), o.Together().budget
	if err := chattemplate.Admit(ctx, src, o.Limits.Source, budget); err != nil {
		return nil, err
	}
	ct, err := chattemplate.Compile(ctx, src, s.BOS, s.EOS, o.Now)
	if err != nil {
		return nil, err
	}
	ct.StandIns = s.StandIns
	if o.Seed != 0 {
		ct.Mask = words.NewMask(o.Seed, s.Text)
	}
	ct.Budget = budget
	return newTemplate(ct, o)
}

// Encoder is a program that writes prompts without a template. It gets the variables that a
// template would see, an object; an error is a refusal, in words for the client.
type Encoder = chattemplate.Encoder

// CompileEncoder returns a template that an encoder stands for, and probes its capabilities. Its
// format is found by the same comparisons as that of a template, and proven by the same proofs:
// where a text of the input stands in a prompt, it is taken to come from there. Source has the name
// and the special tokens. The context is that of [Compile].
func CompileEncoder(ctx context.Context, s Source, e Encoder, o Options) (*Template, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	ct := chattemplate.CompileEncoder(ctx, s.Name, e, s.BOS, s.EOS, o.Now)
	ct.StandIns, ct.Budget = s.StandIns, o.Together().budget
	return newTemplate(ct, o)
}

// newTemplate probes a template.
func newTemplate(ct *chattemplate.Template, o Options) (*Template, error) {
	ct.Limits = o.Limits.Render
	t := &Template{chat: ct, output: o.Limits.Output, vocab: o.Vocabulary, segments: o.Segments}
	observer, err := observe.New(ct)
	if err != nil {
		return nil, cmp.Or(ct.Exhausted(), err)
	}
	t.caps = caps.Of(observer)
	t.analysis = sync.OnceValue(func() *analysis.Analysis {
		a := analysis.Analyze(observer, analysis.Options{Dialects: dialect.Formats()})
		observer = nil // its renderings are not needed again
		if o.Format != nil {
			a.Format = *o.Format
		}
		return a
	})
	t.proved = sync.OnceValue(t.prove)
	return t, nil
}

// ErrExhausted is wrapped by the errors of [Template.Exhausted], and by those of [Compile] where
// the limits ended it.
var ErrExhausted = chattemplate.ErrExhausted

// Exhausted returns why renders were refused, nil where none was: for Limits.TotalSteps, for the
// cost of looking at the template, or because the context of Compile is done. The findings about
// the template are incomplete then, and may be wrong. Where templates come together
// ([Options.Together]), what one of them takes is missing to all.
func (t *Template) Exhausted() error { return t.chat.Exhausted() }

// ChatTemplate returns the template under the façade, which renders conversations without fitting
// them. Its type may change, as everything of package chattemplate may.
func (t *Template) ChatTemplate() *chattemplate.Template { return t.chat }

// Caps returns the template's capabilities.
func (t *Template) Caps() caps.Caps { return t.caps }

// Analysis returns the output format that the template shows, with the evidence. It is computed
// once.
func (t *Template) Analysis() *analysis.Analysis { return t.analysis() }

// Verify proves the analysis by round trip (E11). That takes some 10 to 100 renders and parses, a
// few milliseconds to a tenth of a second, once: the report is kept. A server calls it when it
// loads a model, so that no request has to wait for it.
func (t *Template) Verify() *verify.Report { return t.proved().report }

// Prompt is a rendered request.
type Prompt struct {
	Text string   // what the model goes on with, special tokens as text
	Fits []string // the polyfills that the request took (E27)

	prefill  func() (string, error)
	segments *segmenter
}

// ErrTurn is returned where the place in a prompt at which the model's turn begins cannot be told.
var ErrTurn = analysis.ErrTurn

// Prefill returns the start of the model's own text: the text after the header in the prompt (E9).
// It is empty for a prompt that asks for no answer. Where it cannot be told, the error wraps
// [ErrTurn].
func (p Prompt) Prefill() (string, error) {
	if p.prefill == nil {
		return "", nil
	}
	return p.prefill()
}

// Render fits a request to the template and renders it. A continued message is spelled in the
// template's format after the header, whether the template could render an unfinished message or
// not.
func (t *Template) Render(r chat.Request) (Prompt, error) { return t.render(r, false) }

// render renders a request. ends: the prefill will be asked for, so the origin of the prompt's end
// is wanted.
func (t *Template) render(r chat.Request, ends bool) (Prompt, error) {
	fitted := t.caps.Fit(r)
	in := fitted.Input
	if r.Continue != chat.ContinueNone {
		in.Messages, in.Generate = in.Messages[:len(in.Messages)-1], true
	}
	s := &segmenter{t: t, request: r, fitted: fitted, in: in}
	var text jinja.Text
	var err error
	switch {
	case t.segments:
		text.String, err = s.render()
	case ends:
		text, err = t.chat.RenderEnd(in)
	default:
		text.String, err = t.chat.Render(in)
	}
	if err != nil {
		return Prompt{}, err
	}
	p := Prompt{Text: text.String, Fits: fitted.Fits, segments: s}
	if in.Generate {
		p.prefill = func() (string, error) {
			end := observe.OwnEnd(text)
			if s.noted {
				end = s.ownEnd(text.String)
			}
			return t.Analysis().Prefill(t.chat, in, text.String, end)
		}
	}
	if r.Continue == chat.ContinueNone {
		return p, nil
	}
	opened, err := p.Prefill()
	if err != nil {
		return Prompt{}, err
	}
	spelled := continued(t.Analysis().Format, r, asIs)
	p.Text = strings.TrimSuffix(text.String, opened) + spelled
	s.kept = len(p.Text) - len(spelled)
	p.prefill = func() (string, error) { return spelled, nil }
	return p, nil
}

// continued spells a message that is to be continued in a format, with its texts written by a
// function.
func continued(f format.Format, r chat.Request, write func(text string) string) string {
	last := r.Messages[len(r.Messages)-1]
	reasoning := last.At("reasoning_content").Text()
	if reasoning != "" {
		reasoning = write(reasoning)
	}
	content := write(last.At("content").Text())
	return f.Continued(reasoning, content, r.Continue == chat.ContinueReasoning)
}

// asIs writes a text as it is.
func asIs(text string) string { return text }

// PrepareOptions control how a request is prepared. The zero value is usable.
type PrepareOptions struct {
	// Insist prepares a request although the format is not proven to read its answers. Without it
	// the first request waits for [Template.Verify], unless that has run before; with it nothing is
	// verified. A request that cannot end in a call needs no proof of calls, nor does one with
	// Fallbacks.
	Insist bool
	// names of fallback spellings to allow besides the template's own (E25)
	Fallbacks  []string
	Incomplete codegen.Incomplete // the policy for calls that break off or are malformed (E30)
	Tolerances *Tolerances        // nil: the usual ones
	// Prefill is the text after the header of the answer in a prompt that somebody else has
	// rendered; the plan has no prompt then. nil: the request is rendered.
	Prefill *string
}

// Tolerances are the deviations that a parser forgives (E21).
type Tolerances = codegen.Tolerances

// Plan is everything that a request needs: the prompt, and how to read and constrain the answer.
type Plan struct {
	Prompt Prompt // the rendered request; empty in a plan of PrepareFormat
	// the part of the prompt's prefill that the parser reads first, before the output: all of it
	// that may reach the message (E29)
	Prefill string

	Lazy      bool      // the grammar constrains nothing until a trigger comes
	Triggers  []Trigger // of a lazy grammar
	Stops     []string  // texts that end the turn and nothing else
	Preserved []string  // all markers, which a tokeniser must not cut

	// Output is the source of the parser and the grammar. Its type may change, as everything of
	// package codegen may.
	Output *codegen.Output

	limits vm.Limits
	tokens *stream.Tokens // nil: there is no vocabulary
}

// Trigger switches a lazy grammar on.
type Trigger = codegen.Trigger

// Grammar returns the grammar of the answers that the plan's parser is to read, in llama.cpp's
// notation. It is generated when it is asked for the first time.
func (p *Plan) Grammar() (string, error) {
	g, err := p.Output.Grammar()
	if err != nil {
		return "", err
	}
	return g.String(), nil
}

// Prepare renders a request and generates its parser, or takes the one that was generated for the
// same tools and settings before; its grammar is generated when it is asked for.
func (t *Template) Prepare(r chat.Request, o PrepareOptions) (*Plan, error) {
	if err := t.proven(r, o); err != nil {
		return nil, err
	}
	prompt, prefill, err := t.begun(r, o)
	if err != nil {
		return nil, err
	}
	settings := o.settings(r, prefill)
	out, err := t.plans.generate(t, settings)
	if err != nil {
		return nil, err
	}
	var tokens *stream.Tokens
	if t.vocab != nil {
		settings.Literal = t.literal
		if settings.Prefill = t.literal(prefill); r.Continue != chat.ContinueNone &&
			o.Prefill == nil {
			settings.Prefill = continued(t.Analysis().Format.Literals(t.literal), r, asIs)
		}
		byTokens, err := t.plans.generate(t, settings)
		if err != nil {
			return nil, err
		}
		tokens = &stream.Tokens{Output: byTokens, Vocabulary: t.vocab}
	}
	plan := planOf(out)
	plan.Prompt, plan.limits, plan.tokens = prompt, t.output, tokens
	return plan, nil
}

// begun returns the prompt of a request, and the start of the model's own text in it.
func (t *Template) begun(r chat.Request, o PrepareOptions) (Prompt, string, error) {
	if o.Prefill != nil {
		return Prompt{}, *o.Prefill, nil
	}
	prompt, err := t.render(r, true)
	if err != nil {
		return prompt, "", err
	}
	prefill, err := prompt.Prefill()
	return prompt, prefill, err
}

// PrepareFormat generates the parser for a request whose prompt somebody else renders: of a format
// that was written down (package formatjson), there is no template. The prefill is the prompt's
// text after the header of the answer. The plan has no prompt; the caller has to know whether the
// format is proven.
func PrepareFormat(f format.Format, prefill string, r chat.Request,
	o PrepareOptions) (*Plan, error) {
	out, err := codegen.Generate(f, o.settings(r, prefill))
	if err != nil {
		return nil, err
	}
	return planOf(out), nil
}

func planOf(out *codegen.Output) *Plan {
	return &Plan{Prefill: out.Prefill, Lazy: out.Lazy, Triggers: out.Triggers, Stops: out.Stops,
		Preserved: out.Preserved, Output: out}
}

// settings returns everything but the format that a parser depends on.
func (o PrepareOptions) settings(r chat.Request, prefill string) codegen.Options {
	tolerances := codegen.Usual
	if o.Tolerances != nil {
		tolerances = *o.Tolerances
	}
	return codegen.Options{
		Tools:         r.Tools,
		Choice:        r.ToolChoice,
		Parallel:      !r.OneCall,
		Reasoning:     r.ReasoningFormat,
		JSONSchema:    r.JSONSchema,
		HasJSONSchema: r.HasJSONSchema,
		Prefill:       prefill,
		Continue:      r.Continue,
		Tolerances:    tolerances,
		Fallbacks:     o.Fallbacks,
		Incomplete:    o.Incomplete,
	}
}

// literal returns a literal as a parser reads it by tokens.
func (t *Template) literal(text string) string { return t.vocab.Mark(text, codegen.TokenMark) }

// Parser parses one answer, piece by piece, and returns deltas.
type Parser = stream.Parser

// Token is a token of an output: its id and its bytes.
type Token = stream.Token

// Diagnostic is something odd in an answer.
type Diagnostic = stream.Diagnostic

// NewParser returns a parser for one answer. Parsers of one plan are independent of each other.
func (p *Plan) NewParser() *Parser {
	return stream.Options{Limits: p.limits, Tokens: p.tokens}.NewParser(p.Output)
}

// Result is a parsed answer.
type Result struct {
	Message     chat.Message      // the whole answer
	Finish      chat.FinishReason // why it ended; with calls "tool_calls" in place of "stop"
	Diagnostics []Diagnostic      // what was odd in the output, by its place; nil: nothing
}

// Parse parses an answer in one go. The reason is why it ended: [chat.FinishStop], or
// [chat.FinishLength] where a limit cut it off.
func (p *Plan) Parse(output string, reason chat.FinishReason) Result {
	parser := p.NewParser()
	parser.Write([]byte(output))
	parser.Close(reason)
	return Result{parser.Message(), parser.Finish(), parser.Diagnostics()}
}
