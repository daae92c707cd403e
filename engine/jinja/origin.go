package jinja

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Role is the part that a piece of text has in an input value (E3).
type Role uint8

// The roles. Literal is the template's own text.
const (
	Literal   Role = iota
	FromValue      // a value, or a part of one
	FromKey        // a key of an object
	// the text that a codec writes around values and keys: brackets, commas, quotes, indentation
	Structure
	Computed // made by the template from input: counters, lengths, arithmetic
)

var roleNames = [...]string{"literal", "value", "key", "structure", "computed"}

func (r Role) String() string { return roleNames[r] }

// Codec describes how a value was written.
type Codec uint8

// The codecs. Plain is a copy.
const (
	Plain  Codec = iota
	JSON         // tojson
	Python       // str() or repr()
	HTML         // escape
	URL          // urlencode
)

var codecNames = [...]string{"plain", "json", "python", "html", "url"}

func (c Codec) String() string { return codecNames[c] }

// Origin is where a piece of text came from.
type Origin struct {
	// such as messages[1].tool_calls[0].function.name; "" for literal and most computed text
	Path  string
	Role  Role
	Codec Codec
}

// Run is a stretch of text with one origin.
type Run struct {
	Len int // in bytes
	Origin
	// the text is the value as the codec writes it, or parts of that; else it was changed on the
	// way
	Exact bool
}

// node is a place in the input: a variable, or an item or member of one.
type node struct {
	parent *node
	key    string
	index  int    // -1: a member or variable
	str    string // the path, once asked for
	val    prov   // the provenance of the value here
	name   prov   // that of the key, if it has one
	noted  int    // which of the recorder's reads, or of the fields, it is, from 1; 0: not known
	whole  bool   // the parts of the value have no places of their own
}

// init makes n a place, by its key or, where that is not negative, its index.
func (n *node) init(parent *node, key string, index int) *node {
	n.parent, n.key, n.index = parent, key, index
	n.val.node, n.val.role = n, FromValue
	n.name.node, n.name.role = n, FromKey
	return n
}

// A field is the part of the input that a run of [Fields] names: a member of a message, another
// item of a list, or any other variable. The list of messages is the one variable whose items are
// looked into, since they have roles.
const messages = "messages"

// field makes n a place as init does, and one without places in it where it is a field.
func (n *node) field(parent *node, key string, index int) *node {
	n.parent, n.key, n.index = parent, key, index
	n.val.node, n.val.role = n, FromValue
	switch {
	case parent == nil:
		n.whole = key != messages && key != "tools"
	case parent.parent == nil:
		n.whole = parent.key != messages
	default:
		n.whole = true
	}
	return n
}

// named returns the provenance of the key; that of a field is the value's.
func (n *node) named() *prov {
	if n.name.node == nil {
		return &n.val
	}
	return &n.name
}

// path returns a place as text: identifiers after a dot, other keys quoted in brackets, indexes in
// brackets. The text outlives the render.
func (m *memory) path(n *node) string {
	if n == nil {
		return ""
	}
	if n.str == "" && n.parent == nil {
		n.str = n.key // a variable, whose name outlives the render anyway
	}
	if n.str == "" {
		m.roomFor(minText)
		from := len(m.kepts)
		m.kepts = n.appendPath(m.kepts)
		n.str = bytesToString(m.kepts[from:len(m.kepts):len(m.kepts)])
	}
	return n.str
}

// kept returns a copy of a text that outlives the render.
func (m *memory) kept(s string) string {
	m.roomFor(len(s))
	from := len(m.kepts)
	m.kepts = append(m.kepts, s...)
	return bytesToString(m.kepts[from:len(m.kepts):len(m.kepts)])
}

func (n *node) appendPath(dst []byte) []byte {
	switch {
	case n.str != "":
		return append(dst, n.str...)
	case n.parent == nil:
		return append(dst, n.key...)
	}
	dst = n.parent.appendPath(dst)
	if n.index >= 0 {
		return append(strconv.AppendInt(append(dst, '['), int64(n.index), 10), ']')
	}
	return appendMember(dst, n.key)
}

func appendMember(dst []byte, key string) []byte {
	if isIdentifier(key) {
		return append(append(dst, '.'), key...)
	}
	return append(strconv.AppendQuote(append(dst, '['), key), ']')
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if !(r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' ||
			i > 0 && '0' <= r && r <= '9') {
			return false
		}
	}
	return s != ""
}

// run is a Run with its place unprinted. The zero run is literal text.
type run struct {
	n       int
	node    *node
	role    Role
	codec   Codec
	inexact bool
}

// sameOrigin reports whether two runs differ in length only.
func (r run) sameOrigin(o run) bool {
	return r.node == o.node && r.role == o.role && r.codec == o.codec && r.inexact == o.inexact
}

// prov is where a value came from. For a string with runs they cover it exactly; without, all of it
// is one run. It is immutable and shared between values.
type prov struct {
	run
	runs []run
}

// pieces returns how many runs a string has at most.
func (p *prov) pieces() int {
	if p == nil {
		return 1
	}
	return max(1, len(p.runs))
}

// field returns the provenance of a value that is a field, or part of one; nil for any other.
func (p *prov) field() *prov {
	if p != nil && p.runs == nil && p.node != nil && p.node.whole {
		return p
	}
	return nil
}

// computedProv is the provenance of counters, lengths and results of arithmetic.
var computedProv = &prov{run: run{role: Computed}}

// computed marks a number as made by the template, where somebody wants to know.
func (e *eval) computed(v Value) Value {
	if e.origins {
		v.prov = computedProv
	}
	return v
}

// origin returns the one input place that a value came from, ignoring literal text, or nil.
func (v Value) origin() *node {
	if v.prov == nil {
		return nil
	}
	if v.prov.runs == nil {
		return v.prov.node
	}
	var n *node
	for _, r := range v.prov.runs {
		if r.node != nil && n != nil && r.node != n {
			return nil
		}
		if r.node != nil {
			n = r.node
		}
	}
	return n
}

// substr is the byte range [i:j] of a string, with its runs.
func (v Value) substr(i, j int) Value {
	s := stringValue(v.text()[i:j])
	s.kind = v.kind
	if v.prov != nil {
		s.prov = v.prov.slice(i, j)
	}
	return s
}

// slice cuts the runs to the byte range [i:j].
func (p *prov) slice(i, j int) *prov {
	if p == nil || p.runs == nil {
		return p
	}
	return newProv(appendRuns(nil, p.runs, i, j))
}

// newProv returns the provenance of a text of runs, in the heap; nil of literal text.
func newProv(runs []run) *prov {
	if areLiteral(runs) {
		return nil
	}
	return new(prov).of(runs)
}

// prov is newProv in memory of the render.
func (m *memory) prov(runs []run) *prov {
	if areLiteral(runs) {
		return nil
	}
	return m.provs.One().of(runs)
}

func areLiteral(runs []run) bool {
	return len(runs) == 0 || len(runs) == 1 && runs[0] == run{n: runs[0].n}
}

func (p *prov) of(runs []run) *prov {
	if len(runs) > 1 {
		p.runs = runs
	} else {
		p.run = runs[0]
		p.n = 0
	}
	return p
}

func appendRun(dst []run, r run) []run {
	if r.n == 0 {
		return dst
	}
	if k := len(dst) - 1; k >= 0 && dst[k].sameOrigin(r) {
		dst[k].n += r.n
		return dst
	}
	return pushed(dst, r)
}

// pushed appends to a list that is kept for the next render. The list doubles, so that filling it
// once takes twice its memory, however long it is; append takes five times that of a long one.
func pushed[T any](list []T, x T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list))
	}
	return append(list, x)
}

func appendRuns(dst, src []run, i, j int) []run {
	at := 0
	for _, r := range src {
		from, to := max(at, i), min(at+r.n, j)
		at += r.n
		if from < to {
			r.n = to - from
			dst = appendRun(dst, r)
		}
	}
	return dst
}

// changed is the provenance of text derived from v as a whole, such as by a case change: one
// inexact run of its single origin, or one run of unknown place where there are several.
func changed(v Value) *prov {
	if v.prov == nil || v.prov.field() != nil {
		return v.prov
	}
	r := run{node: v.origin(), role: FromValue, inexact: true}
	if v.prov.runs == nil {
		r.role, r.codec = v.prov.role, v.prov.codec
	} else if r.node == nil {
		r.role = Computed
	}
	return &prov{run: r}
}

// derived is a string made from v by a change that keeps no track of positions.
func derived(v Value, s string) Value {
	out := stringValue(s)
	out.kind, out.prov = v.kind, changed(v)
	if s == v.text() {
		out.prov = v.prov
	}
	return out
}

// builder builds a string together with its runs. Its zero value keeps no runs; set on to keep
// them.
type builder struct {
	buf  []byte
	runs []run
	on   bool
	mem  *memory // nil: provenance is in the heap
}

// builderRuns is of how many runs a builder has room at first.
const builderRuns = 4

func (e *eval) builder(size int) builder {
	b := builder{buf: e.texts.Take(size)[:0], on: e.origins, mem: e.memory}
	if b.on {
		b.runs = e.runs.Take(builderRuns)[:0]
	}
	return b
}

// lit appends the template's own text.
func (b *builder) lit(s string) {
	b.buf = append(b.buf, s...)
	if b.on {
		b.runs = appendRun(b.runs, run{n: len(s)})
	}
}

// str appends a string value.
func (b *builder) str(v Value) {
	b.buf = append(b.buf, v.text()...)
	if b.on {
		b.prov(v.prov, int(v.num))
	}
}

// sub appends the byte range [i:j] of a string value.
func (b *builder) sub(v Value, i, j int) {
	b.buf = append(b.buf, v.text()[i:j]...)
	if !b.on {
		return
	}
	if v.prov != nil && v.prov.runs != nil {
		b.runs = appendRuns(b.runs, v.prov.runs, i, j)
		return
	}
	b.prov(v.prov, j-i)
}

// prov records n bytes, already appended, that came from p; p's runs, where it has some, have that
// length.
func (b *builder) prov(p *prov, n int) {
	switch {
	case p == nil:
		b.runs = appendRun(b.runs, run{n: n})
	case p.runs == nil:
		r := p.run
		r.n = n
		b.runs = appendRun(b.runs, r)
	case len(p.runs) > 0: // a template that joins texts again and again copies the runs each time
		b.runs = appendRun(slices.Grow(b.runs, len(p.runs)), p.runs[0])
		b.runs = append(b.runs, p.runs[1:]...) // no two of them are of one origin
	}
}

// mark records the bytes appended to buf since start as one run. It does nothing when runs are off.
func (b *builder) mark(start int, r run) {
	if b.on {
		r.n = len(b.buf) - start
		b.runs = appendRun(b.runs, r)
	}
}

// value returns the text as a value. The builder must not be used after it.
func (b *builder) value() Value {
	v := stringValue(bytesToString(b.buf))
	switch {
	case !b.on:
	case b.mem == nil:
		v.prov = newProv(b.runs)
	default:
		v.prov = b.mem.prov(b.runs)
	}
	return v
}

// encode appends v through an encoding that works character by character; enc appends the encoding
// of a piece. Pieces keep the run that they came from, marked with the codec.
func (b *builder) encode(v Value, codec Codec, enc func(dst []byte, s string) []byte) {
	s := v.text()
	if !b.on {
		b.buf = enc(b.buf, s)
		return
	}
	piece := func(r run, s string) {
		start := len(b.buf)
		b.buf = enc(b.buf, s)
		if r.role != Literal && (r.node == nil || !r.node.whole) {
			r.codec = codec
		}
		b.mark(start, r)
	}
	switch {
	case v.prov == nil:
		piece(run{}, s)
	case v.prov.runs == nil:
		piece(v.prov.run, s)
	default:
		for _, r := range v.prov.runs {
			piece(r, s[:r.n])
			s = s[r.n:]
		}
	}
}

// concat2 joins two strings; the result's kind is a's.
func concat2(e *eval, a, b Value) Value {
	switch {
	case a.num == 0 && a.kind == b.kind:
		return b
	case b.num == 0:
		return a
	}
	s := e.texts.Take(int(a.num + b.num))
	copy(s[copy(s, a.text()):], b.text())
	v := stringValue(bytesToString(s))
	v.kind = a.kind
	if a.prov != nil || b.prov != nil {
		out := builder{on: true, runs: e.runs.Take(a.prov.pieces() + b.prov.pieces())[:0]}
		out.prov(a.prov, int(a.num))
		out.prov(b.prov, int(b.num))
		v.prov = e.prov(out.runs)
	}
	return v
}

// publicRuns returns the exported form of runs: of all, or of those at the end that are wanted.
func (m *memory) publicRuns(runs []run, wanted func(Origin) bool) []Run {
	if wanted != nil {
		from := len(runs)
		for from > 0 && wanted(m.origin(&runs[from-1])) {
			from--
		}
		runs = runs[from:]
	}
	out := make([]Run, len(runs))
	for i := range runs {
		out[i] = m.public(&runs[i])
	}
	return out
}

// public returns the exported form of a run.
func (m *memory) public(r *run) Run { return Run{r.n, m.origin(r), !r.inexact} }

func (m *memory) origin(r *run) Origin { return Origin{m.path(r.node), r.role, r.codec} }

// structure is the run of the text that a codec writes around the value v.
func structure(v Value, codec Codec) run {
	if v.prov == nil {
		return run{}
	}
	if p := v.prov.field(); p != nil {
		return p.run
	}
	return run{node: v.prov.node, role: Structure, codec: codec}
}

// leaf is the run of a scalar's encoding.
func leaf(v Value, codec Codec) run {
	if v.prov == nil {
		return run{}
	}
	r := v.prov.run
	if r.node == nil || !r.node.whole {
		r.codec = codec
	}
	return r
}

// traceAt reports which part of the template is at work, for the look-ups that follow.
func (e *eval) traceAt(pos syntax.Pos) {
	if e.trace != nil {
		e.trace.pos = pos
	}
}

// traceRead records a look-up.
func (e *eval) traceRead(v Value) {
	if e.trace != nil && v.prov != nil && v.prov.node != nil {
		e.trace.read(v.prov.node)
	}
}

// traceMissing records the look-up of a key that an input object does not have.
func (e *eval) traceMissing(v Value, key string) {
	if e.trace != nil && v.prov != nil && v.prov.node != nil {
		e.trace.missing(v.prov.node, key)
	}
}

// traceText records an operation of a value with a literal. Where both sides are from the input, or
// neither is, there is no literal to record, except that a whole is recorded for the first side.
func (e *eval) traceText(op string, subject, literal Value) {
	if e.trace == nil {
		return
	}
	n := subject.origin()
	if n == nil || !literal.isString() {
		return
	}
	e.trace.compared(n, op, literal.text())
}

// traceCompare records a comparison with a literal, whichever side the input is on. The input need
// not be text: a flag that is given as true may be compared with words.
func (e *eval) traceCompare(op string, a, b Value) {
	if e.trace == nil {
		return
	}
	if a.prov == nil {
		a, b = b, a
	}
	e.traceText(op, a, b)
}
