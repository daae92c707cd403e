package peg

import (
	"maps"
	"slices"

	"github.com/goassay/assay/engine/internal/bailout"
)

// MaxWord is the longest word of a [Switch], in bytes.
const MaxWord = 1024

// Frame is a compiled tree whose Switches are open: the part of a program that can be made before
// their words are known, and once for all of them. It does not change: programs are linked to it
// from several goroutines.
type Frame struct {
	program Program
	rules   map[string]*rule
	lits    map[string]int32
	sets    map[ByteSet]int32
	texts   map[string]int32
	scans   map[ScannerType]int32
	untils  map[string]int32
	autos   map[string]*Automaton
	opens   []open
}

// open is a Switch in a frame: how its code goes on where its words come.
type open struct {
	name    string
	table   int32
	after   Pattern // where that is short
	routine int32   // else
	over    int32   // the place after the Switch
	tail    bool
	cut     *cut
	cuts    bool
	logs    bool
}

// Parts are linked into a frame.
type Parts struct {
	Words  []string             // of every Switch
	Bodies map[string][]Pattern // by the name of the Switch: a body for each word
	// further rules, for the bodies. They may refer to each other and to the frame's
	Rules []Rule
}

// CompileFrame compiles a tree that may have Switches. All errors are *Error.
func CompileFrame(t Tree) (f *Frame, err error) {
	c := newCompiler(&Program{Kinds: t.Kinds})
	defer c.end()
	defer bailout.Catch[*Error](&err)
	c.compile(t)
	f = &Frame{rules: c.rules, lits: c.lits.own, sets: c.sets.own, texts: c.texts.own,
		scans: c.scans.own, untils: c.untils.own, autos: c.autos, opens: c.opens}
	for _, r := range c.rules {
		if r.width == -1 {
			r.width = -2
			r.width, _ = r.body.width()
		}
		// the others belong to the compiler's space
		r.body = &node{facts: r.body.facts, final: true, whole: true}
	}
	c.p.Code, c.p.Labels = c.exactCode()
	f.program = *c.p
	return f, nil
}

// Link completes a frame's program. It takes time linear in the size of the parts and of the
// frame's program, which it copies.
func (f *Frame) Link(parts Parts) (p *Program, err error) {
	if len(f.opens) == 0 { // and no place for parts
		p := f.program
		return &p, nil
	}
	if len(parts.Words) == 0 {
		return nil, &Error{Path: "switch " + f.opens[0].name, Msg: "a Switch needs words"}
	}
	program := f.program
	// The tables grow into memory of their own; the words of the Switches come into the dispatches.
	program.Lits, program.Sets, program.Texts = slices.Clip(program.Lits),
		slices.Clip(program.Sets), slices.Clip(program.Texts)
	program.Untils, program.Scanners = slices.Clip(program.Untils), slices.Clip(program.Scanners)
	program.Dispatches = slices.Clone(program.Dispatches)
	c := newCompiler(&program)
	defer c.end()
	defer bailout.Catch[*Error](&err)
	c.under, c.autosUnder = f.rules, f.autos
	c.lits.under, c.sets.under, c.texts.under, c.scans.under, c.untils.under = f.lits, f.sets,
		f.texts, f.scans, f.untils
	c.link(f, parts)
	c.p.Code, c.p.Labels = c.exactCode()
	return c.p, nil
}

func (c *compiler) link(f *Frame, parts Parts) {
	order := c.declare(parts.Rules)
	c.bodies(order, parts.Rules)
	bodies := map[string][]*node{}
	top := c.node(nil, 0)
	for _, name := range slices.Sorted(maps.Keys(parts.Bodies)) {
		for i, p := range parts.Bodies[name] {
			bodies[name] = append(bodies[name], c.kid(top, i, p))
		}
		top.kids = append(top.kids, bodies[name]...)
	}
	c.solve(top, order)
	for _, x := range order {
		c.noLeftRecursion(x)
	}
	for _, w := range parts.Words {
		if w == "" || len(w) > MaxWord {
			top.fail("", "a word needs 1 to %d bytes, not %d", MaxWord, len(w))
		}
	}
	c.p.Code, c.p.Labels = append(c.space.code, f.program.Code...),
		append(c.space.labels, f.program.Labels...)
	list := sorted(parts.Words)
	for _, o := range f.opens {
		if len(bodies[o.name]) != len(parts.Words) {
			top.fail("", "%d words, but %d bodies "+
				"for the switch %q", len(parts.Words), len(bodies[o.name]), o.name)
		}
		for _, k := range bodies[o.name] {
			if k.cuts() != o.cuts {
				k.fail("write a Cut in all bodies or in none, as "+
					"the Switch says", "the switch %q", o.name)
			}
			if k.facts.emits && !o.logs {
				k.fail("", "a body of the switch %q logs events", o.name)
			}
		}
		after := func() { c.emit(Inst{Op: OpCall, A: o.routine}) }
		if o.after != nil {
			short := c.kid(top, 0, o.after)
			after = func() { c.gen(short, context{}) }
		}
		over, _ := c.words(top, o.table, list, bodies[o.name], after,
			context{tail: o.tail, cut: o.cut})
		for _, pc := range over {
			c.p.Code[pc].A = o.over
		}
	}
	c.routines(order)
}

// open emits the search of a Switch and notes how it goes on.
func (c *compiler) open(n *node, p Switch, x context) {
	o := open{name: p.Name, table: int32(len(c.p.Dispatches)), tail: x.tail, cuts: p.Cuts,
		logs: p.Logs}
	if p.Cuts && x.cut == nil {
		n.fail("a Cut belongs to an alternative, outside predicates, Hold, Try, Capture "+
			"and other rules", "there is nothing to cut")
	}
	if x.cut != nil {
		own := *x.cut
		o.cut = &own
		x.cut.done = x.cut.done || p.Cuts
	}
	c.p.Dispatches = append(c.p.Dispatches, DispatchTable{})
	c.emit(Inst{Op: OpDispatch, A: o.table})
	if after := n.kids[0]; len(after.kids) == 0 {
		o.after = after.p
	} else {
		o.routine = c.routine(after)
	}
	o.over = c.here()
	c.opens = append(c.opens, o)
}

func newCompiler(p *Program) *compiler {
	return &compiler{p: p, rules: map[string]*rule{}, autos: map[string]*Automaton{},
		leaves: map[Pattern]*node{}, space: spaces.Get().(*space)}
}

// exactCode returns the code and the labels in memory of their exact size, and keeps the memory in
// which they were made.
func (c *compiler) exactCode() (code []Inst, labels []Place) {
	code, c.space.code = exact(c.p.Code)
	labels, c.space.labels = exact(c.p.Labels)
	return code, labels
}

// end gives the space back.
func (c *compiler) end() {
	c.space.nodes.Reset(maxBlock)
	c.space.kids.Reset(maxBlock)
	spaces.Put(c.space)
}
