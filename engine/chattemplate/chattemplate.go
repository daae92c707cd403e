// Package chattemplate holds chat templates: Jinja source with its special tokens, rendered for a
// conversation.
//
// # Model
//
// A [Template] is compiled once and safe for concurrent use. An [Input] is a conversation as a
// template sees it: messages and tools as JSON values, and the variables beside them. Rendering
// gives the prompt. Observing also gives the origin of every byte and the template's reads, which
// packages caps and analysis build on.
//
// # Renderers
//
// A [Renderer] is a Jinja engine. [Native] is ours and the default; the harness has a second one to
// compare with.
//
// # Errors
//
// A template that does not compile, or fails while it renders, gives a positioned error
// ([source.Error]) that carries Python's class name ([jinja.Class]).
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package chattemplate

import (
	"context"
	"strings"
	"time"
	"unsafe"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/words"
)

// Renderer is an engine for the template language.
type Renderer interface {
	// Compile prepares a template; the result is safe for concurrent use.
	Compile(src *source.Source) (Rendering, error)
}

// Rendering is a compiled template of some engine.
type Rendering interface {
	// Render renders the template with vars, an object. now is the clock of strftime_now.
	Render(vars ordered.Value, now func() time.Time) (string, error)
}

// Native is our own engine as a [Renderer].
type Native struct {
	Mode   jinja.Mode
	Limits jinja.Limits // zero: the defaults
}

// Compile implements [Renderer].
func (n Native) Compile(src *source.Source) (Rendering, error) {
	t, err := jinja.Compile(src)
	if err != nil {
		return nil, err
	}
	return native{t, n}, nil
}

type native struct {
	*jinja.Template
	Native
}

func (n native) Render(vars ordered.Value, now func() time.Time) (string, error) {
	return n.Template.Render(context.Background(), jinja.VarsFromJSON(vars),
		jinja.Options{Mode: n.Mode, Limits: n.Limits, Now: now})
}

// Template is a chat template: Jinja source plus its special tokens.
type Template struct {
	Source   *source.Source
	BOS, EOS string // texts of the special tokens, given to the template as bos_token and eos_token
	StandIns bool   // BOS and EOS are not the model's
	// NullTools gives the variable tools to a request without tools, too, as null, which is what
	// transformers, vLLM and SGLang do; else such a request has no variable of that name.
	NullTools bool
	Now       func() time.Time
	Limits    jinja.Limits   // zero: the defaults
	Budget    *jinja.Budget  // of all renders together; nil: no bound
	Mask      *words.Mask    // of the words of probes; nil: none
	Dialect   *jinja.Dialect // of the engine that renders; nil: Jinja2

	ctx     context.Context // of all renders; see Compile
	program *jinja.Template
	encode  Encoder // in its place; nil: none
}

// Bound sets the limits of each render, and the steps of all together; 0: without a bound.
func (t *Template) Bound(each jinja.Limits, steps int64) {
	t.Limits = each
	if steps > 0 {
		t.Budget = jinja.NewBudget(steps)
	}
}

// Compile compiles a template. now is the clock of strftime_now; if it is nil, a template that asks
// for the time fails. Cancelling ctx ends all renders of the template, as it ends the command of
// [exec.CommandContext]: facts about a template are computed once for all who ask, so the context
// belongs to the template and not to one render.
func Compile(ctx context.Context, src *source.Source, bos, eos string,
	now func() time.Time) (*Template, error) {
	program, err := jinja.Compile(src)
	if err != nil {
		return nil, err
	}
	return &Template{Source: src, BOS: bos, EOS: eos, Now: now, ctx: ctx, program: program}, nil
}

// Edited compiles another text with the template's tokens, clock, limits, budget and context.
func (t *Template) Edited(src *source.Source) (*Template, error) {
	e, err := Compile(t.ctx, src, t.BOS, t.EOS, t.Now)
	if err != nil {
		return nil, err
	}
	e.Limits, e.Budget = t.Limits, t.Budget
	return e, nil
}

// Names returns the names that the template reads and does not define on every path: its input
// variables, sorted.
func (t *Template) Names() []string {
	if t.encode != nil {
		return encoderNames
	}
	return t.program.Names()
}

// Input is a conversation as a template sees it.
type Input struct {
	Messages []ordered.Value
	Tools    []ordered.Value  // none: the variable is not defined
	Generate bool             // add_generation_prompt
	Kwargs   []ordered.Member // further variables; they win over the ones above
}

// Vars returns the variables for an input: messages, tools, add_generation_prompt, bos_token,
// eos_token and the kwargs.
func (t *Template) Vars(in Input) ordered.Value {
	members := make([]ordered.Member, 0, 5+len(in.Kwargs))
	members = append(members,
		ordered.Member{Key: "messages", Value: ordered.ArrayOf(in.Messages...)})
	if len(in.Tools) > 0 {
		members = append(members, ordered.Member{Key: "tools", Value: ordered.ArrayOf(in.Tools...)})
	} else if t.NullTools {
		members = append(members, ordered.Member{Key: "tools"})
	}
	members = append(members,
		ordered.Member{Key: "add_generation_prompt", Value: ordered.Boolean(in.Generate)},
		ordered.Member{Key: "bos_token", Value: ordered.Str(t.BOS)},
		ordered.Member{Key: "eos_token", Value: ordered.Str(t.EOS)})
	if len(in.Kwargs) == 0 {
		return ordered.ObjectOf(members...)
	}
	at := make(map[string]int, cap(members))
	for i, m := range members {
		at[m.Key] = i
	}
	for _, m := range in.Kwargs {
		if i, ok := at[m.Key]; ok {
			members[i].Value = m.Value
			continue
		}
		at[m.Key] = len(members)
		members = append(members, m)
	}
	return ordered.ObjectOf(members...)
}

// Render renders an input, in the mutable sandbox, as inference engines do (E1).
func (t *Template) Render(in Input) (string, error) {
	return t.render(in, t.options())
}

func (t *Template) render(in Input, o jinja.Options) (string, error) {
	text, err := t.run(in, o)
	return text.String, err
}

// run renders an input under the mask.
func (t *Template) run(in Input, o jinja.Options) (jinja.Text, error) {
	program, err := t.of(in)
	if err != nil {
		return jinja.Text{}, err
	}
	text, err := program.RenderText(t.ctx, t.vars(in), o)
	if t.Mask != nil {
		text.String, err = t.Mask.Show(text.String), t.shown(err)
	}
	return text, err
}

// shown returns a render's error with the needles put back into its message.
func (t *Template) shown(err error) error {
	e, ok := err.(*source.Error)
	if !ok {
		return err
	}
	under := *e
	under.Msg = t.Mask.Show(e.Msg)
	return &under
}

// vars are the variables of a render under the mask.
func (t *Template) vars(in Input) jinja.Vars {
	v := t.Vars(in)
	if t.Mask != nil {
		v = hide(t.Mask, v)
	}
	return jinja.VarsFromJSON(v)
}

// hide returns a value with the strings in it masked; keys stay as they are.
func hide(m *words.Mask, v ordered.Value) ordered.Value {
	return ordered.Rewrite(v, func(v ordered.Value) ordered.Value {
		if v.Kind() == ordered.String {
			return ordered.Str(m.Hide(v.Text()))
		}
		return v
	})
}

// RenderImmutable renders an input as Hugging Face's transformers does with jinja2 3.1.5 or later,
// where a template must not change its input (E1).
func (t *Template) RenderImmutable(in Input) (string, error) {
	o := t.options()
	o.Mode = jinja.Strict
	return t.render(in, o)
}

// Observation is a rendering with its origins and its trace.
type Observation struct {
	jinja.Text                // the prompt, and where each byte came from (E3)
	Trace      *jinja.Trace   // its reads, and the literals of its comparisons (E4)
	Coverage   jinja.Coverage // which branches it took, where they were asked for
	Clock      bool           // whether it read the clock

	src *source.Source
}

// Size returns roughly how many bytes of memory the observation takes, without its coverage.
func (o Observation) Size() int {
	return len(o.String) + len(o.Runs)*int(unsafe.Sizeof(jinja.Run{})) + o.Trace.Size()
}

// WrittenAt returns the byte offset in the template of what wrote a byte of the prompt: the same
// byte where it is the template's own text, else the statement.
func (o Observation) WrittenAt(off int) (int, bool) {
	w, ok := o.Trace.WriteAt(off)
	if !ok {
		return 0, false
	}
	own := o.String[w.From : off+1]
	if strings.HasPrefix(o.src.Text[w.Off:], own) {
		return w.Off + off - w.From, true
	}
	return w.Off, true
}

// OriginAt returns the byte offset in the template of where a byte of the prompt comes from, where
// the statement that wrote it prints a variable: the template's own text, or the last look at the
// value. It reports false where the statement itself has it, and where the text stands in the
// template more than once.
func (o Observation) OriginAt(off int) (int, bool) {
	const around, least = 32, 12 // bytes
	for from, r := range o.All() {
		end := from + r.Len
		if off >= end {
			continue
		}
		if w, ok := o.Trace.WriteAt(off); r.Role != jinja.Literal {
			read, looked := o.Trace.Reading(r.Path)
			return read.Last, ok && looked && w.To-w.From > 2*r.Len &&
				strings.Count(o.String[w.From:w.To], "\n") > 2*strings.Count(o.String[from:end], "\n")+2
		}
		from, end = max(from, off-around), min(end, off+around)
		line := strings.LastIndexByte(o.String[from:off], '\n') + 1 + from
		if i := strings.IndexByte(o.String[off:end], '\n'); i >= 0 {
			end = off + i
		}
		text := o.String[line:max(line, end)]
		return strings.Index(o.src.Text, text) + off - line,
			len(text) >= least && strings.Count(o.src.Text, text) == 1
	}
	return 0, false
}

// Observe renders an input with provenance and trace. The trace is set even if rendering fails.
func (t *Template) Observe(in Input) (Observation, error) { return t.observe(in, false) }

// ObserveBranches is Observe that notes the branches as well, where conditions decide.
func (t *Template) ObserveBranches(in Input) (Observation, error) { return t.observe(in, true) }

func (t *Template) observe(in Input, branches bool) (seen Observation, err error) {
	o := t.options()
	seen = Observation{Trace: new(jinja.Trace), src: t.Source}
	if o.Origins, o.Trace = true, seen.Trace; branches {
		o.Coverage = &seen.Coverage
	}
	if now := o.Now; now != nil {
		o.Now = func() time.Time {
			seen.Clock = true
			return now()
		}
	}
	seen.Text, err = t.run(in, o)
	return seen, err
}

// Follow renders an input and records every place where the template looks up a part of it.
func (t *Template) Follow(in Input) *jinja.Trace {
	o := t.options()
	trace := &jinja.Trace{Everywhere: true}
	o.Trace = trace
	_, _ = t.run(in, o) // if it fails, the reads up to there count
	return trace
}

// RenderSpans renders an input as [Template.Render] does, and reports which fields of the input the
// bytes come from.
func (t *Template) RenderSpans(in Input, spans *jinja.Spans,
	taker jinja.FieldTaker) (string, error) {
	o := t.options()
	o.Spans, o.Taker = spans, taker
	return t.render(in, o)
}

// RenderEnd renders an input and records the origin of the prompt's own end alone, the text for
// which [IsOwn] reports true. It costs hardly more than Render.
func (t *Template) RenderEnd(in Input) (jinja.Text, error) {
	o := t.options()
	o.Fields, o.End = true, IsOwn
	return t.run(in, o)
}

// IsOwn reports whether text with an origin is the template's own: it comes from no field of the
// input, or it is a special token or a role.
func IsOwn(o jinja.Origin) bool {
	switch {
	case o.Role == jinja.Literal, o.Role == jinja.Computed && o.Path == "":
		return true
	}
	return o.Path == "bos_token" || o.Path == "eos_token" || strings.HasSuffix(o.Path, ".role")
}

// Sites returns the places where the template decides: the indexes of [jinja.Coverage].
func (t *Template) Sites() []flow.Site {
	if t.encode != nil {
		return nil
	}
	return t.program.Sites()
}

// Cover renders an input and adds the branches that it takes to c, even if rendering fails. Texts
// that known has already are not recorded again.
func (t *Template) Cover(in Input, c, known *jinja.Coverage) (string, error) {
	o := t.options()
	o.Coverage, o.Known = c, known
	return t.render(in, o)
}

func (t *Template) options() jinja.Options {
	return jinja.Options{Mode: jinja.Mutable, Dialect: t.Dialect, Limits: t.Limits,
		Budget: t.Budget, Now: t.Now}
}
