package jinja

import (
	"slices"

	"github.com/goassay/assay/engine/internal/slab"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// recorder notes the uses of a render's input, and writes them into the caller's [Trace] when the
// render ends. Its maps and buffers belong to the memory, so that a trace takes up no more than
// the notes themselves.
type recorder struct {
	Trace
	index   map[string]int // of reads, by their paths
	seen    map[Comparison]bool
	pending []pendingRead // look-ups of the operand of an "is defined"
	testing int
	pos     syntax.Pos // of the part of the template that is at work
	lookups int
	mem     *memory
	gauge   slab.Gauge
}

type pendingRead struct {
	at      *node
	missing bool
	pos     syntax.Pos
}

// start begins to note for a trace, which may hold the notes of earlier renders.
func (r *recorder) start(t *Trace, m *memory) {
	if r.index == nil {
		r.index, r.seen = map[string]int{}, map[Comparison]bool{}
	}
	r.mem = m
	if r.Everywhere, r.places = t.Everywhere, t.places; r.Everywhere && r.places == nil {
		r.places = map[Place]bool{}
	}
	r.reads, r.literals = append(r.reads, t.reads...), append(r.literals, t.literals...)
	for i := range r.reads {
		r.index[r.reads[i].Path] = i
		r.lookups = max(r.lookups, r.reads[i].order)
	}
	for _, c := range r.literals {
		r.seen[c] = true
	}
}

// finish writes the notes into the trace.
func (r *recorder) finish(t *Trace) {
	t.reads, t.literals = slices.Clone(r.reads), slices.Clone(r.literals)
	t.places = r.places
	t.writes, t.calls = slices.Clone(r.writes), slices.Clone(r.calls)
}

// maxNoted is of how many notes of a kind a memory keeps the room for the next render.
const maxNoted = 1 << 18

// reset forgets the notes.
func (r *recorder) reset() {
	room := max(cap(r.reads), cap(r.literals), cap(r.writes), cap(r.calls))
	used := max(len(r.reads), len(r.literals), len(r.writes), len(r.calls))
	if !r.gauge.Keep(used, room) || room > maxNoted {
		*r = recorder{}
		return
	}
	clear(r.index)
	clear(r.seen)
	clear(r.reads)
	clear(r.literals)
	clear(r.pending[:cap(r.pending)])
	r.reads, r.literals, r.pending = r.reads[:0], r.literals[:0], r.pending[:0]
	r.writes, r.calls = r.writes[:0], r.calls[:0]
	r.Everywhere, r.places = false, nil
	r.testing, r.pos, r.lookups, r.mem = 0, 0, 0, nil
}

// called records that a call has printed the text since an offset of the output.
func (r *recorder) called(from, to int, pos syntax.Pos) {
	for n := len(r.calls); n > 0 && r.calls[n-1].From >= from; n-- {
		r.calls = r.calls[:n-1]
	}
	if to > from {
		r.calls = pushed(r.calls, Write{from, to, pos.Offset()})
	}
}

// wrote records that the output has grown.
func (r *recorder) wrote(to int, pos syntax.Pos) {
	from, last := 0, len(r.writes)-1
	if last >= 0 {
		from = r.writes[last].To
	}
	if to > from {
		r.writes = pushed(r.writes, Write{from, to, pos.Offset()})
	}
}

// unwrite forgets the writes from an offset of the output on: it was captured.
func (r *recorder) unwrite(from int) {
	for len(r.writes) > 0 && r.writes[len(r.writes)-1].To > from {
		r.writes = r.writes[:len(r.writes)-1]
	}
	for len(r.calls) > 0 && r.calls[len(r.calls)-1].To > from {
		r.calls = r.calls[:len(r.calls)-1]
	}
}

// entry returns the note of a place, of which there may be several nodes.
func (r *recorder) entry(n *node, pos syntax.Pos) *Read {
	if n.noted == 0 {
		path := r.mem.path(n)
		i, ok := r.index[path]
		if !ok {
			i = len(r.reads)
			r.index[path] = i
			r.reads = pushed(r.reads, Read{Path: path, First: pos.Offset()})
		}
		n.noted = i + 1
	}
	return r.looked(n.noted-1, pos)
}

// looked notes a look-up of a read.
func (r *recorder) looked(i int, pos syntax.Pos) *Read {
	r.lookups++
	e := &r.reads[i]
	e.Last, e.order = pos.Offset(), r.lookups
	if r.Everywhere {
		r.places[Place{i, pos.Offset()}] = true
	}
	return e
}

// read records the look-up of a value.
func (r *recorder) read(n *node) { r.note(pendingRead{n, false, r.pos}) }

// missing records the look-up of something that is not there, below a place or, where that is nil,
// among the variables.
func (r *recorder) missing(parent *node, key string) {
	if parent == nil && r.testing == 0 {
		if i, ok := r.index[key]; ok { // a variable's path is its name: no place need be made
			r.looked(i, r.pos).Missing = true
			return
		}
	}
	r.note(pendingRead{r.mem.nodes.One().init(parent, key, -1), true, r.pos})
}

func (r *recorder) note(p pendingRead) {
	if r.testing > 0 {
		r.pending = append(r.pending, p)
		return
	}
	e := r.entry(p.at, p.pos)
	e.Value = e.Value || !p.missing
	e.Missing = e.Missing || p.missing
}

// tested runs the operand of an "is defined": the test is of its last look-up, and those before
// lead there.
func (r *recorder) tested(operand func() Value) Value {
	base := len(r.pending)
	r.testing++
	defer func() { // also where an error leaves the operand
		r.testing--
		noted := r.pending[base:]
		r.pending = r.pending[:base]
		for i, p := range noted {
			if i < len(noted)-1 {
				r.note(p) // within another "is defined" it stays where it is
				continue
			}
			r.asked(p.at, p.missing)
		}
	}()
	return operand()
}

// asked records that a render wanted to know whether there is something at a place.
func (r *recorder) asked(n *node, missing bool) {
	e := r.entry(n, r.pos)
	e.Tested = true
	e.Missing = e.Missing || missing
}

// compared records a literal.
func (r *recorder) compared(n *node, op, literal string) {
	c := Comparison{r.mem.path(n), op, literal}
	if r.seen[c] {
		return
	}
	c.Literal = r.mem.kept(literal) // it may be a part of a value that the render built
	r.seen[c] = true
	r.literals = pushed(r.literals, c)
}
