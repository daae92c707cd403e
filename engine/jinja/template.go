package jinja

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goassay/assay/engine/internal/bailout"
	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Mode decides whether a template may change lists and dicts (E1).
type Mode uint8

// The modes of the sandbox.
const (
	Immutable Mode = iota // as transformers renders: list.append and the like are refused
	Mutable               // as servers that do not forbid it render
	// Strict is Immutable since jinja2 3.1.5: list.pop and list.clear are refused, too
	// (jinja2/sandbox.py, _mutable_spec).
	Strict
)

// forbids returns how new a prohibition may be that the mode knows: builtin.mutates has the same
// numbers.
func (m Mode) forbids() uint8 { return [...]uint8{Immutable: 1, Mutable: 0, Strict: 2}[m] }

// Limits bound a render (E2). A zero field stands for that of [DefaultLimits].
type Limits struct {
	Steps int // iterations, calls, items handled, and pieces of code that run
	// bytes of output; all strings built on the way may be eight times as long together
	OutputBytes int
	Depth       int // macros, loops and values inside each other, in levels
	// wall time, measured by Options.Clock; there is no limit without a clock
	Time time.Duration
}

// DefaultLimits lets any sane template through and stops others within a second.
var DefaultLimits = Limits{Steps: 2_000_000, OutputBytes: 16 << 20, Depth: 200}

// Budget bounds the cost of several renders together. It is safe for concurrent use.
type Budget struct {
	left   atomic.Int64
	reason atomic.Pointer[string]
}

// NewBudget returns a budget in steps; 64 bytes of text that is built cost as much as one.
func NewBudget(steps int64) *Budget {
	b := new(Budget)
	b.left.Store(steps)
	return b
}

// Spend takes the steps of work beside a render, such as keeping its result.
func (b *Budget) Spend(steps int64) {
	if b != nil {
		b.left.Add(-steps)
	}
}

// Exhaust takes all steps that are left, for a reason that [Budget.Reason] returns.
func (b *Budget) Exhaust(reason string) {
	if b != nil {
		b.reason.CompareAndSwap(nil, &reason)
		b.left.Store(0)
	}
}

// Reason returns why nothing is left: "" where renders took it all.
func (b *Budget) Reason() string {
	if r := b.reason.Load(); r != nil {
		return *r
	}
	return ""
}

// Left returns the steps that are left.
func (b *Budget) Left() int64 { return max(b.left.Load(), 0) }

// bytesPerStep is how many bytes of text count as a step of a budget.
const bytesPerStep = 64

// bytesPerOutput is how many bytes a template may build in strings for each byte it may write.
const bytesPerOutput = 8

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = DefaultLimits.Steps
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = DefaultLimits.OutputBytes
	}
	if l.Depth == 0 {
		l.Depth = DefaultLimits.Depth
	}
	return l
}

// Options control how a template is rendered. The zero value is a plain render in the immutable
// sandbox.
type Options struct {
	Mode    Mode
	Dialect *Dialect // nil: Jinja2
	Limits  Limits
	Budget  *Budget          // bounds all renders that share it together; nil: no bound
	Now     func() time.Time // the clock of strftime_now; nil: strftime_now fails
	Clock   func() time.Time // measures Limits.Time
	Seed    uint64           // of random and lipsum
	Trace   *Trace           // records reads; nil: off
	Origins bool             // RenderText returns runs
	// Fields has RenderText return runs that name no place below a field: a member of a message, an
	// item of another list, or any other variable. That costs far less than Origins, which wins
	// where both are set.
	Fields bool
	// End, where set, has RenderText return only the runs at the end of the text of whose origins
	// it reports true.
	End func(Origin) bool
	// Spans, where set, gets the fields that the text is from, in place of runs, as the taker takes
	// them. Nothing may be traced then.
	Spans *Spans
	Taker FieldTaker
	// Coverage records which branches are taken; nil: off
	Coverage *Coverage
	// Known, where set, has the texts that Coverage need not record any more. Where it has them all
	// a render costs less.
	Known *Coverage
}

// Template is a compiled template. It is immutable and safe for concurrent use.
type Template struct {
	src   *source.Source
	names []string       // the names that are looked up among the input
	index map[string]int // of the names
	// for each: the template reads it, rather than a block reading a variable of the template
	free     []bool
	globals  []Value // for each: the global function of that name, or Missing
	blocks   map[string]*blockProto
	root     *routine
	routines int
	enter    []entryOp
	code     body
	self     int // slot of the variable self, or -1
	sites    []flow.Site
	texts    []writable // those of the sites that are texts
	pool     sync.Pool
	// sited is the same template with code that follows the texts that are sites: to find those
	// takes a fifth of compiling, and only renders with a Coverage ask
	sited func() *Template
}

// Compile parses and compiles a template. The error is a [source.Error]; see [Class].
func Compile(src *source.Source) (t *Template, err error) {
	tree, err := syntax.Parse(src)
	if err != nil {
		return nil, err
	}
	defer bailout.Catch[*source.Error](&err)
	t = codeOf(src, tree, nil)
	t.sited = sync.OnceValue(func() *Template { return codeOf(src, tree, flow.Texts(tree)) })
	return t, nil
}

// Source returns the text that the template was compiled from.
func (t *Template) Source() *source.Source { return t.src }

// Names returns the names that the template may look up among its variables, sorted. Names of
// global functions are not among them.
func (t *Template) Names() []string {
	var out []string
	for i, name := range t.names {
		if t.free[i] && t.globals[i].isMissing() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Vars are the variables of a render: JSON values by name. They are converted as far as a render
// needs them, for each render anew, so that a template that changes a list does not change its
// caller's.
type Vars struct{ members []ordered.Member }

// NewVars returns variables. Of several with one name the last counts.
func NewVars(members ...ordered.Member) Vars { return Vars{members} }

// VarsFromJSON returns the members of an object as variables.
func VarsFromJSON(object ordered.Value) Vars { return Vars{object.Members()} }

// With returns the variables with one more, or one replaced.
func (v Vars) With(name string, value ordered.Value) Vars {
	members := slices.DeleteFunc(slices.Clone(v.members),
		func(m ordered.Member) bool { return m.Key == name })
	return Vars{append(members, ordered.Member{Key: name, Value: value})}
}

// Get returns a variable.
func (v Vars) Get(name string) (ordered.Value, bool) {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].Key == name {
			return v.members[i].Value, true
		}
	}
	return ordered.Value{}, false
}

// Text is a rendered text with its origins: runs, in order, that cover it exactly. There are none
// where they were not asked for.
type Text struct {
	String string
	Runs   []Run
}

// All yields the runs, each with the offset in bytes at which it begins.
func (t Text) All() iter.Seq2[int, Run] {
	return func(yield func(int, Run) bool) {
		at := 0
		for _, r := range t.Runs {
			if !yield(at, r) {
				return
			}
			at += r.Len
		}
	}
}

// From returns the text that is the value at a path, all of it, one piece after the other.
func (t Text) From(path string) string {
	var b strings.Builder
	for at, r := range t.All() {
		if r.Path == path && r.Role == FromValue {
			b.WriteString(t.String[at : at+r.Len])
		}
	}
	return b.String()
}

// Render renders the template. The error is a [source.Error] at the expression that failed; see
// [Class]. The end of ctx ends the render, which then fails with its cause.
func (t *Template) Render(ctx context.Context, vars Vars, o Options) (string, error) {
	text, err := t.RenderText(ctx, vars, o)
	return text.String, err
}

// RenderText renders the template as Render does, with the origin of each byte where
// Options.Origins is set (E3).
func (t *Template) RenderText(ctx context.Context, vars Vars, o Options) (Text, error) {
	if ctx.Err() != nil {
		return Text{}, context.Cause(ctx)
	}
	if o.Coverage != nil {
		t = t.sited()
	}
	rt, _ := t.pool.Get().(*interp)
	if rt == nil {
		rt = &interp{t: t, ctx: make([]Value, len(t.names)), free: make([][]*frame, t.routines)}
		rt.rand = rand.New(&rt.pcg)
	}
	rt.memory = memories.Get().(*memory)
	limits := o.Limits.withDefaults()
	rt.mutable, rt.forbids = o.Mode == Mutable, o.Mode.forbids()
	rt.autoescape, rt.dialect = false, o.Dialect
	rt.origins = o.Origins || o.Fields || o.Spans != nil || o.Trace != nil
	// where the input is followed, a text cannot be
	rt.follows = !rt.origins && o.Coverage != nil && t.follow(o.Known)
	input := rt.origins
	rt.origins = rt.origins || rt.follows
	rt.memory.fields = o.Spans != nil || o.Fields && !o.Origins && o.Trace == nil
	if o.Trace != nil {
		rt.trace = &rt.recorder
		rt.trace.start(o.Trace, rt.memory)
	}
	if rt.coverage = o.Coverage; rt.coverage != nil {
		rt.coverage.start(len(t.sites))
	}
	rt.now = o.Now
	rt.pcg.Seed(o.Seed, 0)
	rt.steps, rt.bytes = int64(limits.Steps), int64(limits.OutputBytes)*bytesPerOutput
	if rt.scarce = false; o.Budget != nil {
		left := o.Budget.Left()
		rt.scarce = left < rt.steps || left < rt.bytes/bytesPerStep
		rt.steps, rt.bytes = min(rt.steps, left), min(rt.bytes, left*bytesPerStep)
	}
	steps, bytes := rt.steps, rt.bytes
	rt.depth, rt.maxDepth = 0, limits.Depth
	rt.out = builder{buf: rt.memory.out[:0], runs: rt.outRuns[:0], on: rt.origins}
	rt.maxOut = limits.OutputBytes
	rt.ticks, rt.clock, rt.context = 0, nil, ctx
	if limits.Time > 0 && o.Clock != nil {
		rt.clock, rt.deadline = o.Clock, o.Clock().Add(limits.Time)
	}
	copy(rt.ctx, t.globals)
	for i := 0; o.Dialect != nil && i < len(t.names); i++ {
		if !slices.Contains(o.Dialect.Functions, t.names[i]) {
			rt.ctx[i] = Value{}
		}
	}
	for i := range vars.members {
		m := &vars.members[i]
		if k, ok := t.index[m.Key]; ok {
			rt.ctx[k] = rt.input(m.Key, &m.Value, input)
		}
	}
	f := rt.frame(t.root, nil)
	f.enter(t.enter)
	if t.self >= 0 {
		f.slots[t.self] = objectValue(&templateRef{rt})
	}
	err := t.run(f)
	rt.release(t.root, f)
	if o.Budget != nil {
		o.Budget.left.Add(-1 - (steps - max(rt.steps, 0)) - (bytes-max(rt.bytes, 0))/bytesPerStep)
	}
	var text Text
	if err == nil {
		text.String = string(rt.out.buf)
		if rt.follows {
			rt.wrote(rt.out.runs)
		}
		if o.Spans != nil {
			*o.Spans = rt.spans(rt.out.runs, o.Taker)
		} else if o.Origins || o.Fields {
			text.Runs = rt.publicRuns(rt.out.runs, o.End)
		}
	}
	if o.Trace != nil {
		rt.trace.finish(o.Trace)
	}
	rt.reset()
	t.pool.Put(rt)
	return text, err
}

// run runs the template, and returns the error that it raises.
func (t *Template) run(f *frame) (err error) {
	rt := f.rt
	defer func() {
		err = caught(recover())
		if r, ok := err.(*raised); ok {
			err = &source.Error{Src: t.src, Off: rt.pos.Offset(), Msg: r.msg, Err: r}
		}
	}()
	rt.pos = 0
	if rt.scarce && rt.steps == 0 { // not even what takes no step runs in a render that is refused
		rt.step(1)
	}
	t.code.run(f)
	return nil
}

// Class returns the name of the Python exception that jinja2 raises in the place of err, such as
// "UndefinedError"; "LimitError" for a limit (E2); or "" for an error that is not this package's.
func Class(err error) string {
	var r *raised
	if errors.As(err, &r) {
		return string(r.class)
	}
	var c syntax.Class
	if errors.As(err, &c) {
		return string(c)
	}
	return ""
}
