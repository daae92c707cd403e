package codegen

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/schema"
)

// schemaless is the schema of an answer that is not JSON.
var schemaless ordered.Value

// Generator makes parsers and grammars for one format. The parts that do not depend on a request's
// tools are made once, as a frame of the program into which the tools are linked. It is safe for
// concurrent use.
type Generator struct {
	f      format.Format
	mu     sync.Mutex
	frames map[frameKey]*frame
}

// NewGenerator returns a generator for a format.
func NewGenerator(f format.Format) *Generator { return &Generator{f: f} }

// maxFrames bounds the frames that a generator keeps, one for each prefill and each setting. When
// there are too many, all are dropped, and those still in use are made again. Frames of prefills
// longer than MaxKeptPrefill are not kept.
const maxFrames = 32

// MaxKeptPrefill is the length in bytes of the longest prefill that is kept. Up to this length a
// prefill is the template's own, or a short text that an answer continues: other requests are
// likely to have the same one.
const MaxKeptPrefill = 4 << 10

// frameKey holds all that a frame depends on.
type frameKey struct {
	prefill, fallbacks string
	tolerances         Tolerances
	reasoning          chat.ReasoningFormat
	cont               chat.Continue
	json, tools        bool
}

// frame is a compiled tree without its tools.
type frame struct {
	t       *turn
	s       *sheet
	tree    *peg.Tree
	program *peg.Frame
}

// made holds the parts that a program was made of.
type made struct {
	frame   *frame
	parts   peg.Parts
	grammar func() (*gbnf.Grammar, error)
	whole   func() (*gbnf.Grammar, error)
	schemas []*schema.Schema // of the tools' arguments and of a JSON answer
}

func (g *Generator) frame(o Options) (*frame, error) {
	o.Prefill = strings.Clone(o.Prefill) // a part of a prompt, which is not kept
	key := frameKey{o.Prefill, strings.Join(o.Fallbacks, "\x00"), o.Tolerances, o.Reasoning,
		o.Continue, o.HasJSONSchema, len(o.Tools) > 0 && o.Choice.Mode != chat.ChoiceNone}
	g.mu.Lock()
	f := g.frames[key]
	g.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := newFrame(g.f, o)
	if err != nil || len(o.Prefill) > MaxKeptPrefill {
		return f, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frames == nil || len(g.frames) >= maxFrames {
		g.frames = map[frameKey]*frame{}
	}
	g.frames[key] = f
	return f, nil
}

func newFrame(f format.Format, o Options) (*frame, error) {
	if n := markerBytes(f); n > MaxFormat {
		return nil, fmt.Errorf("the format has markers of %d bytes, more than %d", n, MaxFormat)
	}
	t, err := newTurn(f, o)
	if err != nil {
		return nil, err
	}
	s := newSheet(t)
	root := newReader(t, s).root()
	if s.err != nil {
		return nil, s.err
	}
	tree := &peg.Tree{Root: root, Rules: s.rules, Kinds: slices.Clone(kindNames[:])}
	program, err := peg.CompileFrame(*tree)
	if n := markerBytes(f); err != nil && n > MaxMarkers {
		return nil, fmt.Errorf("the format has markers of %d bytes, more than %d: a parser would "+
			"hold them until it knew their meaning", n, MaxMarkers)
	}
	if err != nil {
		return nil, fmt.Errorf("format %q: %w", f.Name, err)
	}
	return &frame{t, s, tree, program}, nil
}

// markerBytes is the length of a format's markers, in bytes.
func markerBytes(f format.Format) (n int) {
	f.Literals(func(text string) string {
		n += len(text)
		return text
	})
	return n
}

// Generate makes the program for a request.
func (g *Generator) Generate(o Options) (*Output, error) {
	f, err := g.frame(o)
	if err != nil {
		return nil, err
	}
	r, err := newRequest(f.t, o)
	if err != nil {
		return nil, err
	}
	s := f.s.extend()
	parts := newLinker(r, s).parts()
	if s.err != nil {
		return nil, s.err
	}
	program, err := f.program.Link(parts)
	if err != nil {
		return nil, fmt.Errorf("format %q: %w", g.f.Name, err)
	}
	out := &Output{
		Program: program, Prefill: f.t.o.Prefill,
		Marks: s.marks.list, Values: s.values.list,
		TrimContent: g.f.Content.Trim, TrimReasoning: g.f.Reasoning.Trim,
		CloseArgs: f.t.on(CloseArguments), Incomplete: o.Incomplete,
		Spellings: make([]SpellingInfo, max(1, len(f.t.calls))),
		Stops:     f.t.stopTexts(), Preserved: f.t.preserved(),
		made: made{frame: f, parts: parts, schemas: slices.Clip(r.schemas)},
	}
	if r.answer != nil {
		out.made.schemas = append(out.made.schemas, r.answer)
	}
	for i, c := range f.t.calls {
		out.Spellings[i] = SpellingInfo{c.idPlace(), c.ids(), c.Body.Codec.Nested}
	}
	for i, tool := range r.list {
		out.Tools = append(out.Tools, Function{tool.Name, r.schemas[i], f.t.on(QuotedScalars)})
	}
	w := &demand{request: r, parallel: o.Parallel}
	out.Lazy, out.Triggers = w.triggers()
	out.made.whole = sync.OnceValues(func() (*gbnf.Grammar, error) { return w.grammar(false) })
	out.made.grammar = out.made.whole
	if out.Lazy {
		out.made.grammar = sync.OnceValues(func() (*gbnf.Grammar, error) { return w.grammar(true) })
	}
	return out, nil
}

// tool is a function that may be called.
type tool struct {
	number int
	name   string
	schema *schema.Schema
}

// text is the one argument that a tool takes, where that is a text; there may be no tool.
func (t *tool) text() string {
	if t == nil {
		return ""
	}
	if f := t.schema.Properties; len(f) == 1 && f[0].Required && f[0].Schema.IsString() {
		return f[0].Name
	}
	return ""
}

// linker makes the parts of a program that depend on the tools: for each place where a name is
// read, one continuation per tool.
type linker struct {
	*reader
	r *request
}

func newLinker(r *request, s *sheet) *linker { return &linker{newReader(r.turn, s), r} }

func (l *linker) parts() (parts peg.Parts) {
	if !l.t.calling() {
		return parts
	}
	parts.Bodies = map[string][]peg.Pattern{}
	numbers := l.r.words()
	for _, n := range numbers {
		parts.Words = append(parts.Words, l.r.list[n].Name)
	}
	attributes := slices.ContainsFunc(l.t.calls, (*spelling).namesInAttributes)
	for _, n := range numbers { // also each name as an attribute's value spells it
		if !attributes {
			break
		}
		for _, word := range inAttribute(l.r.list[n].Name) {
			if !slices.Contains(parts.Words, word) {
				numbers, parts.Words = append(numbers, n), append(parts.Words, word)
			}
		}
	}
	add := func(name string, body func(t *tool) peg.Pattern) {
		list := make([]peg.Pattern, len(numbers))
		for i, n := range numbers {
			list[i] = body(&tool{n, l.r.list[n].Name, l.r.schemas[n]})
		}
		parts.Bodies[name] = list
	}
	for _, c := range l.calls {
		add(c.name(know), func(*tool) peg.Pattern { return peg.Seq{} })
		add(c.name(announce),
			func(t *tool) peg.Pattern { return append(c.named(t), peg.Cut{}, c.announced(t)) })
		add(c.name(read), func(t *tool) peg.Pattern { return append(c.named(t), c.rest(t)) })
	}
	for k, route := range l.t.f.Routes {
		if route.Kind == format.RouteCall {
			routes := &routeReader{l.reader}
			add(fmt.Sprint("route ", k+1),
				func(t *tool) peg.Pattern { return routes.named(k, t) })
		}
	}
	parts.Rules = l.rules
	return parts
}

// named emits the name of the tool that is called. A name inside an id is part of the id's text
// too.
func (c *callReader) named(t *tool) peg.Seq {
	name := peg.Emit{Kind: Name, Arg: t.number}
	if c.s.Object == nil && c.s.Head[c.s.name].Kind == format.SlotID {
		return peg.Seq{peg.Emit{Kind: ID, Text: t.name}, name}
	}
	return peg.Seq{name}
}
