package peg

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/goassay/assay/engine/internal/slab"
)

// Error is a tree that does not compile.
type Error struct {
	Path string // where in the tree, from the root or a rule down: "rule calls: choice 2: seq 1"
	Msg  string // the fault
	Hint string // the remedy; may be empty
}

func (e *Error) Error() string {
	s := "peg: " + e.Path + ": " + e.Msg
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Compile turns a tree into a program. It takes time linear in the size of the tree, except for the
// words of a Dispatch, which it sorts. All errors are *Error.
func Compile(t Tree) (*Program, error) {
	f, err := CompileFrame(t)
	if err != nil {
		return nil, err
	}
	return f.Link(Parts{})
}

// compiler holds the state that the passes share: read builds nodes, solve computes their facts,
// noLeftRecursion checks, and gen emits code.
type compiler struct {
	p      *Program
	rules  map[string]*rule
	under  map[string]*rule // the frame's, for parts that are linked to one
	lits   numbers[string]
	sets   numbers[ByteSet]
	texts  numbers[string]
	scans  numbers[ScannerType]
	untils numbers[string]
	autos  map[string]*Automaton
	calls  []call
	opens  []open
	space  *space

	autosUnder map[string]*Automaton // the frame's
	// code that reads a fixed text, or white space, is the same wherever it stands
	leaves map[Pattern]*node
}

// numbers are the places of things in a table of the program. The table of a frame lies under the
// table of the program linked to it, and stays as it is.
type numbers[K comparable] struct{ under, own map[K]int32 }

func (m *numbers[K]) of(k K, add func() int) int32 {
	i, ok := m.under[k]
	if !ok {
		i, ok = m.own[k]
	}
	if !ok {
		if i = int32(add()); m.own == nil {
			m.own = map[K]int32{}
		}
		m.own[k] = i
	}
	return i
}

// space is where the nodes of a tree live while it is compiled, thousands for many tools.
type space struct {
	nodes  slab.Slab[node]
	kids   slab.Slab[*node]
	code   []Inst
	labels []Place
}

// exact returns a copy of a list without room for more, and the list's memory for the next one,
// empty, unless that is too much to keep.
func exact[T any](list []T) (copied, room []T) {
	var t T
	copied = slices.Clone(list)
	if cap(list) > maxBlock/int(unsafe.Sizeof(t)) {
		return copied, nil
	}
	clear(list)
	return copied, list[:0]
}

// spaces are those that no compilation has. A pool changes no result, so it may belong to the
// package.
var spaces = sync.Pool{New: func() any { return new(space) }}

// maxBlock bounds how much of a space is kept, in bytes for nodes, lists and code each.
const maxBlock = 1 << 20

type rule struct {
	name   string
	body   *node
	entry  int32
	width  int  // see width; -1: not known yet, -2: being computed
	state  int  // of noLeftRecursion: 0 new, 1 being visited, 2 done
	solved bool // solve has been there, or is
}

type call struct {
	pc   int32
	rule *rule
}

// node is a pattern with its parts and facts. Tolerances are resolved, an Opt is the Choice of its
// P and nothing.
type node struct {
	p     Pattern
	up    *node // nil for the root of the tree and of a rule
	owner *rule // of the root of a rule
	rule  *rule // Ref
	kids  []*node
	facts facts
	place int32 // among up's kids
	final bool  // the facts will not change any more
	whole bool  // nor will those of any node below
}

// facts are properties that the parts of a pattern prove about it. Each is an implication:
type facts struct {
	null  bool    // it may match without input   (if it can, null is set)
	emits bool    // it may log an event
	first ByteSet // if it reads input at all, the first byte is in the set
}

func (n *node) fail(hint, format string, args ...any) {
	var parts []string
	for ; n != nil; n = n.up {
		if name := n.name(); name != "" {
			parts = append(parts, name)
		}
	}
	slices.Reverse(parts)
	panic(&Error{Path: strings.Join(parts, ": "), Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// name describes the node by its place in its parent, for errors.
func (n *node) name() string {
	if n.up == nil {
		if n.owner == nil {
			return "root"
		}
		return "rule " + n.owner.name
	}
	switch p := n.up.p.(type) {
	case Seq:
		return fmt.Sprintf("seq %d", n.place+1)
	case Choice:
		return fmt.Sprintf("choice %d", n.place+1)
	case Opt:
		return "opt"
	case Rep:
		return "rep"
	case Hold:
		return "hold"
	case And:
		return "and"
	case Not:
		return "not"
	case Capture:
		return "capture"
	case Try:
		return [...]string{"try", "else"}[n.place]
	case Dispatch:
		if n.place > 0 {
			return fmt.Sprintf("dispatch %d", n.place)
		}
		return "after"
	case Until:
		at := 0
		for _, s := range p.Stops {
			if s.After == nil {
				continue
			}
			if at == int(n.place) {
				return "after " + s.Text
			}
			at++
		}
	case Switch:
		return "after"
	case Label:
		return p.Name
	}
	return ""
}

// declare makes a rule for each of a tree's.
func (c *compiler) declare(rules []Rule) (order []*rule) {
	for _, r := range rules {
		if c.rule(r.Name) != nil {
			(&node{owner: &rule{name: r.Name}}).fail("", "there is another rule of this name")
		}
		x := &rule{name: r.Name, width: -1}
		c.rules[r.Name] = x
		order = append(order, x)
	}
	return order
}

func (c *compiler) rule(name string) *rule {
	if r := c.rules[name]; r != nil {
		return r
	}
	return c.under[name]
}

// bodies reads the patterns of rules.
func (c *compiler) bodies(order []*rule, rules []Rule) {
	for i, x := range order {
		x.body = c.node(nil, 0)
		x.body.owner = x
		c.read(x.body, rules[i].P)
	}
}

// routines emits the code of rules, and the places of all rules that are called.
func (c *compiler) routines(order []*rule) {
	for _, x := range order {
		x.entry = c.here()
		c.label(Place{Name: x.name})
		if !c.gen(x.body, context{tail: true}) {
			c.emit(Inst{Op: OpReturn})
		}
	}
	for _, call := range c.calls {
		c.p.Code[call.pc].A = call.rule.entry
	}
}

func (c *compiler) compile(t Tree) {
	order := c.declare(t.Rules)
	root := c.node(nil, 0)
	c.read(root, t.Root)
	c.bodies(order, t.Rules)
	c.solve(root, order)
	for _, x := range order {
		c.noLeftRecursion(x)
	}
	c.p.Code, c.p.Labels = c.space.code, c.space.labels
	c.label(Place{Name: "root"})
	c.gen(root, context{})
	c.emit(Inst{Op: OpMatch})
	c.routines(order)
}

// node returns a new node.
func (c *compiler) node(up *node, place int) *node {
	n := c.space.nodes.One()
	n.up, n.place = up, int32(place)
	return n
}

// kid returns the node of a pattern that is a part of n's. No error is ever about a Lit or Space,
// so it needs no parent.
func (c *compiler) kid(n *node, place int, p Pattern) *node {
	switch p.(type) {
	case Lit, Space:
		k := c.leaves[p]
		if k == nil {
			k = c.node(nil, 0)
			c.leaves[p] = k
			c.read(k, p)
		}
		return k
	}
	k := c.node(n, place)
	c.read(k, p)
	return k
}

// read makes n the node of a pattern, and builds those of its parts.
func (c *compiler) read(n *node, p Pattern) {
	n.p = p
	kids := func(list ...Pattern) {
		n.kids = c.space.kids.Take(len(list))
		for i, q := range list {
			n.kids[i] = c.kid(n, i, q)
		}
	}
	switch p := p.(type) {
	case nil:
		n.fail("use the empty Seq for a pattern that matches nothing", "nil is no pattern")
	case Lit, Set, Any, Space, End, Before, Stub, Cut, Rejected, Emit:
		if b, ok := p.(Before); ok && (b.Off < 0 || b.Off != int(int32(b.Off))) {
			n.fail("", "Before needs an offset of 0 to 2³¹-1, not %d", b.Off)
		}
		if s, ok := p.(Stub); ok && s.Text == "" {
			n.fail("", "a Stub needs a text")
		}
		if e, ok := p.(Emit); ok && e.Arg != int(int32(e.Arg)) || ok && e.Arg < 0 {
			n.fail("", "Emit needs a number of 0 to 2³¹-1, not %d", e.Arg)
		}
	case Seq:
		kids(p...)
	case Choice:
		if len(p) == 0 {
			n.fail("", "a Choice needs alternatives")
		}
		kids(p...)
	case Opt:
		kids(p.P, Seq(nil))
	case Rep:
		if p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Max < p.Min || p.Max != int(int32(p.Max)) ||
			p.Min != int(int32(p.Min)) {
			n.fail("", "no number of repetitions is at least %d and at most %d", p.Min, p.Max)
		}
		kids(p.P)
	case Hold:
		kids(p.P)
	case And:
		kids(p.P)
	case Not:
		kids(p.P)
	case Capture:
		kids(p.P)
	case Try:
		kids(p.P, p.Else)
	case Dispatch:
		if len(p.Words) == 0 || len(p.Bodies) != 0 && len(p.Bodies) != len(p.Words) {
			n.fail("", "a Dispatch needs words, and no bodies or one for each: %d "+
				"words, %d bodies", len(p.Words), len(p.Bodies))
		}
		if p.After == nil {
			p.After = Seq(nil)
		}
		kids(append([]Pattern{p.After}, p.Bodies...)...)
	case Until:
		var after []Pattern
		for _, s := range p.Stops {
			if s.Text == "" || s.Space && SpaceSet.Has(s.Text[0]) {
				n.fail("", "stop %q must be a text, and must not begin with white space "+
					"where it has Space", s.Text)
			}
			if s.After != nil {
				after = append(after, s.After)
			}
		}
		kids(after...)
	case Scan:
		if p.Scanner == nil {
			n.fail("", "a Scan needs a Scanner")
		}
	case Ref:
		if n.rule = c.rule(p.Name); n.rule == nil {
			n.fail("", "there is no rule %q", p.Name)
		}
	case Switch:
		if p.After == nil {
			p.After = Seq(nil)
		}
		kids(p.After)
	case Label:
		kids(p.P)
	default:
		n.fail("", "%T is no pattern of this package", p)
	}
}

// solve computes the facts of all nodes: the least ones that satisfy all, by iteration, since rules
// may be recursive. A rule is solved when it is first referred to, so that most facts are final
// after one round; the next round leaves final facts alone.
func (c *compiler) solve(root *node, rules []*rule) {
	root.solve()
	for changed := true; changed; {
		changed = false
		for _, r := range rules {
			r.solved = true
			before := r.body.facts
			r.body.solve()
			changed = changed || r.body.facts != before
		}
	}
	root.solve()
}

// solve computes the facts of a node and of those below from the known facts of the rules. A fact
// that depends on a rule that is still being solved is not final: it can only grow.
func (n *node) solve() {
	if n.whole {
		return
	}
	f := facts{}
	final, whole := true, true
	for _, k := range n.kids {
		k.solve()
		f.emits = f.emits || k.facts.emits
		final, whole = final && k.final, whole && k.whole
	}
	all := ByteSet{}.Not()
	switch p := n.p.(type) {
	case Lit:
		f.null = p.Text == ""
		if p.Text != "" {
			f.first.Add(p.Text[0])
		}
	case Stub:
		f.first.Add(p.Text[0])
	case Set:
		f.first = p.Set
	case Any:
		f.first = all
	case Space:
		f.null, f.first = true, SpaceSet
	case End, Before, Cut:
		f.null = true
	case Emit:
		f.null, f.emits = true, p.Kind != 0
	case Rejected:
		// The text that it takes begins like an alternative before it; as an alternative it needs
		// no first byte of its own.
		f.emits = p.Kind != 0
	case Seq:
		// Parts after the first one that reads something matter to emits only, which cannot be more
		// than true.
		f.null = true
		known := true
		for _, k := range n.kids {
			if f.null {
				f.first = f.first.Or(k.facts.first)
				f.null = k.facts.null
				known = known && k.final
			}
		}
		final = final || known && f.emits
	case Choice, Opt:
		for _, k := range n.kids {
			f.null = f.null || k.facts.null
			f.first = f.first.Or(k.facts.first)
			if k.rejected() != nil {
				// It is reached only where earlier alternatives have read something, which began
				// with their first bytes, or with bytes that they could read after matching
				// nothing.
				f.first = all
			}
		}
	case Rep:
		f.null = p.Min == 0 || n.kids[0].facts.null
		f.first = n.kids[0].facts.first
	case Hold, Label:
		f.null, f.first = n.kids[0].facts.null, n.kids[0].facts.first
	case Capture:
		f.null, f.first = n.kids[0].facts.null, n.kids[0].facts.first
		if f.emits {
			n.fail("captures do not nest: use Emit "+
				"marks around it", "the captured pattern logs events itself")
		}
		f.emits = p.Kind != 0
	case And, Not:
		f.null = true
		if f.emits {
			n.fail("predicates only look", "a predicate logs events")
		}
	case Try:
		f.null = n.kids[0].facts.null || n.kids[1].facts.null
		f.first = n.kids[0].facts.first.Or(n.kids[1].facts.first)
		// P may fail at once, so that Else begins here, or after input.
	case Dispatch:
		if n.kids[0].facts.emits {
			n.kids[0].fail("log events in the bodies", "After logs events")
		}
		for _, w := range p.Words {
			if w == "" {
				n.fail("", "the empty word")
			}
			f.first.Add(w[0])
		}
		final = final || f.emits
	case Switch:
		if n.kids[0].facts.emits {
			n.kids[0].fail("log events in the bodies", "After logs events")
		}
		f.first, f.emits, final = all, p.Logs, true
	case Until:
		f.null, f.first, f.emits = true, all, p.Kind != 0
		for _, k := range n.kids {
			if k.facts.emits {
				k.fail("it only looks ahead", "After logs events")
			}
		}
	case Scan:
		f.first, f.null = p.Scanner.First()
		f.emits = p.Kind != 0
	case Ref:
		if !n.rule.solved {
			n.rule.solved = true
			n.rule.body.solve()
		}
		f, final, whole = n.rule.body.facts, n.rule.body.final, n.rule.body.final
	}
	n.facts, n.final, n.whole = f, final, final && whole
}

// noLeftRecursion fails where a rule can reach itself without reading input, on which a machine
// would run for ever.
func (c *compiler) noLeftRecursion(r *rule) {
	if r.state != 0 {
		return
	}
	r.state = 1
	var walk func(n *node)
	walk = func(n *node) {
		switch n.p.(type) {
		case Ref:
			if n.rule.state == 1 {
				n.fail("read something before", "rule %s can come back here "+
					"without reading input", n.rule.name)
			}
			c.noLeftRecursion(n.rule)
		case Seq:
			for _, k := range n.kids {
				walk(k)
				if !k.facts.null {
					return
				}
			}
		case Dispatch, Switch, Until: // their parts run, or look, after a word
		default:
			for _, k := range n.kids {
				walk(k)
			}
		}
	}
	walk(r.body)
	r.state = 2
	// The walk has skipped the contents of a Dispatch, an Until and the rest of a Seq: compile's
	// loop over all rules visits the rules reached only from there.
}

// width returns how many bytes the part of a pattern before its Cut reads at most, white space runs
// counted as one, up to ConfirmBytes+1, which also stands for "any number". done reports that the
// Cut was met.
func (n *node) width() (bytes int, done bool) {
	const many = ConfirmBytes + 1
	widest := func(kids []*node) (w int, done bool) {
		for _, k := range kids {
			kw, kd := k.width()
			w, done = max(w, kw), done || kd
		}
		return w, done
	}
	switch p := n.p.(type) {
	case Lit:
		return min(many, len(p.Text)), false
	case Stub:
		return min(many, len(p.Text)), false
	case Set, Any, Space:
		return 1, false
	case Cut:
		return 0, true
	case Seq:
		for _, k := range n.kids {
			w, done := k.width()
			if bytes = min(many, bytes+w); done {
				return bytes, true
			}
		}
		return bytes, false
	case Choice, Opt, And, Not, Capture:
		w, _ := widest(n.kids)
		return w, false
	case Try:
		a, _ := n.kids[0].width()
		b, _ := n.kids[1].width()
		return min(many, a+b), false
	case Hold: // held on purpose, however long
		return 0, false
	case Rep:
		w, _ := n.kids[0].width()
		if s, ok := p.P.(Set); ok && s.Set == SpaceSet {
			return 1, false
		}
		if w > 0 && p.Max == 0 {
			return many, false
		}
		return min(many, w*max(p.Max, 1)), false
	case Label:
		return n.kids[0].width()
	case Dispatch:
		longest := 0
		for _, w := range p.Words {
			longest = max(longest, len(w))
		}
		after, _ := n.kids[0].width()
		w, done := widest(n.kids[1:])
		return min(many, longest+after+w), done
	case Switch:
		after, _ := n.kids[0].width()
		return min(many, MaxWord+after), p.Cuts
	case Until, Scan, Rejected:
		return many, false
	case Ref:
		switch n.rule.width {
		case -2:
			return many, false
		case -1:
			n.rule.width = -2
			n.rule.width, _ = n.rule.body.width()
		}
		return n.rule.width, false
	}
	return 0, false // End, Before, Emit
}

// cuts reports whether the alternative n contains a Cut of its own, which decides it.
func (n *node) cuts() bool {
	switch p := n.p.(type) {
	case Cut:
		return true
	case Switch:
		return p.Cuts
	case Seq, Label:
		return slices.ContainsFunc(n.kids, (*node).cuts)
	case Dispatch:
		with := 0
		for _, k := range n.kids[1:] {
			if k.cuts() {
				with++
			}
		}
		if with > 0 && with < len(n.kids)-1 {
			n.fail("write a Cut in all "+
				"bodies or in none", "%d of %d bodies have a Cut", with, len(n.kids)-1)
		}
		return with > 0
	}
	return false
}

// blank reports whether the Cut of an alternative that has one may be reached without input.
func (n *node) blank() bool {
	switch n.p.(type) {
	case Cut:
		return true
	case Seq, Label:
		for _, k := range n.kids {
			if k.cuts() {
				return k.blank()
			}
			if !k.facts.null {
				return false
			}
		}
	}
	return false
}

// rejected returns the Rejected that begins an alternative, nil if none does.
func (n *node) rejected() *node {
	for {
		switch n.p.(type) {
		case Rejected:
			return n
		case Seq, Label:
			if len(n.kids) == 0 {
				return nil
			}
			n = n.kids[0]
		default:
			return nil
		}
	}
}

// held reports whether an alternative is a Hold, and returns the pattern that it holds.
func (n *node) held() (*node, bool) {
	for {
		switch n.p.(type) {
		case Hold:
			return n.kids[0], true
		case Label:
			n = n.kids[0]
		default:
			return n, false
		}
	}
}

// way is how an alternative is tried.
type way uint8

const (
	byEntry way = iota // undone if it fails; nothing logged before it is decided can leave
	byByte             // decided by its first byte (E13 (a))
	byCut              // decided by its Cut (E13 (b))
	byHold             // held whole (E13 (c))
)

// wayOf decides how an alternative is tried that others follow, which begin with the bytes in
// later. It fails where none of the ways of E13 is open.
func (n *node) wayOf(later ByteSet) way {
	if n.cuts() {
		if w, _ := n.width(); n.facts.emits && w > ConfirmBytes {
			n.fail("put the part before the "+
				"Cut into a Hold", "more than %d bytes may precede the Cut, and no event "+
				"could leave before", ConfirmBytes)
		}
		return byCut
	}
	if _, ok := n.held(); ok {
		return byHold
	}
	switch {
	case !n.facts.emits:
		return byEntry
	case n.facts.null:
		n.fail("write a Cut where it is decided, or "+
			"put it into a Hold", "it logs events, may match without input, and is not the "+
			"last alternative")
	case n.facts.first.Meets(later):
		n.fail("write a Cut where it is decided, or "+
			"put it into a Hold", "it logs events, and its first byte does not tell it from "+
			"the text that may follow")
	}
	return byByte
}

// context is the surroundings of a node's code.
type context struct {
	// nothing is left to do in the rule after it, and nothing on the stack above the rule's frame
	// but cut's entry
	tail   bool
	cut    *cut // the alternative that a Cut would decide; nil for none
	behind bool // a Rejected may stand here
}

// jump reports whether a Ref need not come back.
func (x context) jump() bool { return x.tail && (x.cut == nil || !x.cut.entry || x.cut.done) }

// cut is an alternative whose entry is on the stack.
type cut struct {
	region bool // and a region frame beneath it
	entry  bool // false: it was decided from the start, a Cut does nothing
	done   bool
}

func (c *compiler) here() int32 { return int32(len(c.p.Code)) }

func (c *compiler) emit(in Inst) int32 {
	if len(c.p.Code) >= MaxCode {
		(&node{}).fail("put repeated parts into rules", "the program would have more "+
			"than %d instructions", MaxCode)
	}
	c.p.Code = append(c.p.Code, in)
	return c.here() - 1
}

// land makes instructions jump here: their operand A, or B for an OpTest.
func (c *compiler) land(pcs ...int32) {
	for _, pc := range pcs {
		if in := &c.p.Code[pc]; in.Op == OpTest {
			in.B = c.here()
		} else {
			in.A = c.here()
		}
	}
}

// label names the place at hand. Places are named in the order of the code.
func (c *compiler) label(l Place) {
	l.PC = c.here()
	c.p.Labels = append(c.p.Labels, l)
}

func (c *compiler) lit(s string) int32 {
	return c.lits.of(s, func() int { c.p.Lits = append(c.p.Lits, s); return len(c.p.Lits) - 1 })
}

func (c *compiler) set(s ByteSet) int32 {
	return c.sets.of(s, func() int { c.p.Sets = append(c.p.Sets, s); return len(c.p.Sets) - 1 })
}

func (c *compiler) scanner(s ScannerType) int32 {
	add := func() int { c.p.Scanners = append(c.p.Scanners, s); return len(c.p.Scanners) - 1 }
	if !reflect.TypeOf(s).Comparable() {
		return int32(add())
	}
	return c.scans.of(s, add)
}

// gen emits the code of a node and reports whether control never reaches the place after it.
func (c *compiler) gen(n *node, x context) (ended bool) {
	switch p := n.p.(type) {
	case Lit:
		if p.Text != "" {
			c.emit(Inst{Op: OpLit, A: c.lit(p.Text)})
		}
	case Set:
		c.emit(Inst{Op: OpSet, A: c.set(p.Set)})
	case Any:
		c.emit(Inst{Op: OpAny})
	case Space:
		c.emit(Inst{Op: OpSpan, A: c.set(SpaceSet)})
	case End:
		c.emit(Inst{Op: OpEnd})
	case Before:
		c.emit(Inst{Op: OpBefore, A: int32(p.Off)})
	case Stub:
		c.emit(Inst{Op: OpStub, A: c.lit(p.Text)})
	case Emit:
		if p.Kind == 0 {
			break
		}
		at := int32(-1)
		if p.Text != "" {
			at = c.texts.of(p.Text,
				func() int {
					c.p.Texts = append(c.p.Texts,
						[]byte(p.Text))
					return len(c.p.Texts) - 1
				})
		}
		c.emit(Inst{Op: OpEmit, Kind: p.Kind, A: int32(p.Arg), B: at})
	case Scan:
		c.emit(Inst{Op: OpScan, Kind: p.Kind, A: c.scanner(p.Scanner)})
	case Seq:
		for i, k := range n.kids {
			ended = c.gen(k, context{tail: x.tail &&
				i == len(n.kids)-1, cut: x.cut, behind: x.behind && i == 0})
		}
		return ended
	case Label:
		c.label(Place{Name: p.Name})
		return c.gen(n.kids[0], x)
	case Cut:
		switch k := x.cut; {
		case k == nil:
			n.fail("a Cut belongs to an alternative, outside predicates, Hold, Try, Capture "+
				"and other rules", "there is nothing to cut")
		case k.done:
			n.fail("", "a second Cut of the same alternative")
		default:
			k.done = true
			if k.entry {
				c.commitHere()
				if k.region {
					c.emit(Inst{Op: OpEndRegion})
				}
			}
		}
	case Rejected:
		if !x.behind {
			n.fail("", "a Rejected begins an alternative of a Choice that is not the first")
		}
		// The Choice has emitted the instruction.
	case Choice, Opt:
		return c.choice(n, x)
	case Rep:
		c.rep(n, p)
	case Hold:
		entry := c.emit(Inst{Op: OpChoice})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpCommit})
		c.land(entry)
		c.emit(Inst{Op: OpFail})
		c.land(over)
	case And:
		entry := c.emit(Inst{Op: OpPred})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpBackCommit})
		c.land(entry)
		c.emit(Inst{Op: OpFail})
		c.land(over)
	case Not:
		entry := c.emit(Inst{Op: OpPred})
		c.gen(n.kids[0], context{})
		c.emit(Inst{Op: OpFailTwice})
		c.land(entry)
	case Try:
		entry := c.emit(Inst{Op: OpTry})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpEndTry})
		c.land(entry)
		c.gen(n.kids[1], context{})
		c.land(over)
	case Capture:
		if p.Kind == 0 {
			c.gen(n.kids[0], context{})
			break
		}
		c.emit(Inst{Op: OpCapture, Kind: p.Kind})
		c.gen(n.kids[0], context{})
		c.emit(Inst{Op: OpEndCapture})
	case Until:
		c.until(n, p)
	case Dispatch:
		return c.dispatch(n, p, x)
	case Switch:
		c.open(n, p, x)
	case Ref:
		op := OpCall
		if x.jump() {
			op = OpJump
		}
		c.calls = append(c.calls, call{c.emit(Inst{Op: op}), n.rule})
		return x.jump()
	}
	return false
}

// commitHere pops the entry and goes on.
func (c *compiler) commitHere() { c.emit(Inst{Op: OpCommit, A: c.here() + 1}) }

func (c *compiler) choice(n *node, x context) (ended bool) {
	last := len(n.kids) - 1
	reject := -1
	for i, k := range n.kids {
		if k.rejected() != nil {
			if reject >= 0 || i == 0 {
				k.fail("", "a Choice has one Rejected at most, and not in its first alternative")
			}
			reject = i
		}
	}
	// later[i] holds the bytes with which the alternatives after i can begin. A Rejected takes only
	// text that an earlier one has read.
	later := make([]ByteSet, len(n.kids))
	for i := last; i > 0; i-- {
		later[i-1] = later[i]
		if i != reject {
			later[i-1] = later[i-1].Or(n.kids[i].facts.first)
		}
	}
	if reject >= 0 {
		c.emit(Inst{Op: OpRegion})
	}
	tail := x.jump()
	var over []int32 // instructions that jump over the rest
	leave := func(pc int32) { over = append(over, pc) }
	for i, k := range n.kids {
		region := i < reject
		how := byByte
		if i < last && i != reject {
			how = k.wayOf(later[i])
		}
		switch {
		case i == reject:
			next := c.emit(Inst{Op: OpRejected, Kind: k.rejected().p.(Rejected).Kind})
			if !c.gen(k, context{tail: tail, cut: &cut{}, behind: true}) {
				leave(c.emit(Inst{Op: OpJump}))
			}
			c.land(next)
			if i == last {
				c.emit(Inst{Op: OpFail})
			}
		case i == last:
			ended = c.gen(k, context{tail: tail, cut: &cut{}})
		case how == byByte:
			test := c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)})
			if region {
				// Decided: the region ends here, since no later alternative can begin with this
				// byte, a Rejected included.
				c.emit(Inst{Op: OpEndRegion})
			}
			if !c.gen(k, context{tail: tail, cut: &cut{}}) {
				leave(c.emit(Inst{Op: OpJump}))
			}
			c.land(test)
		default:
			var skip []int32
			// spare an entry where the first byte says no
			if !k.facts.null && !(how == byCut && k.blank()) && k.facts.first.Len() < 256 {
				skip = append(skip, c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)}))
			}
			entry := c.emit(Inst{Op: OpChoice})
			cut := &cut{region: region, entry: true}
			y := context{}
			switch how {
			case byCut:
				y = context{tail: tail, cut: cut}
			case byHold:
				k, _ = k.held()
			}
			switch done := c.gen(k, y); {
			case done:
			case cut.done:
				leave(c.emit(Inst{Op: OpJump}))
			case region:
				c.commitHere()
				c.emit(Inst{Op: OpEndRegion})
				leave(c.emit(Inst{Op: OpJump}))
			default:
				leave(c.emit(Inst{Op: OpCommit}))
			}
			c.land(append(skip, entry)...)
		}
	}
	c.land(over...)
	return (ended || reject == last) && len(over) == 0
}

// rep emits
//
//	     loop
//	next ->out          (where there is a Max)
//	     choice ->out   (or test, where the first byte decides)
//	     P
//	     commit
//	     again ->next
//	out: endloop
func (c *compiler) rep(n *node, p Rep) {
	k := n.kids[0]
	single := func() (ByteSet, bool) {
		switch q := p.P.(type) {
		case Set:
			return q.Set, true
		case Any:
			return ByteSet{}.Not(), true
		case Lit:
			if len(q.Text) == 1 {
				return Bytes(q.Text), true
			}
		}
		return ByteSet{}, false
	}
	if s, ok := single(); ok {
		c.emit(Inst{Op: OpSpan, A: c.set(s), B: int32(p.Min), C: int32(p.Max)})
		return
	}
	how := k.wayOf(ByteSet{})
	c.emit(Inst{Op: OpLoop})
	next := c.here()
	var out []int32
	if p.Max > 0 {
		out = append(out, c.emit(Inst{Op: OpNext, B: int32(p.Max)}))
	}
	if how == byByte {
		out = append(out, c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)}))
		c.gen(k, context{cut: &cut{}})
	} else {
		out = append(out, c.emit(Inst{Op: OpChoice}))
		cut := &cut{entry: true}
		y := context{}
		switch how {
		case byCut:
			y.cut = cut
		case byHold:
			k, _ = k.held()
		}
		c.gen(k, y)
		if !cut.done {
			c.commitHere()
		}
	}
	c.emit(Inst{Op: OpAgain, A: next})
	c.land(out...)
	c.emit(Inst{Op: OpEndLoop, B: int32(p.Min)})
}

// until emits the search and, for each stop with an After, a test that comes back to the search if
// the stop is refused:
//
//	search: until
//	        jump ->over
//	test:   pred ->refuse
//	        span, lit, After
//	        backcommit ->over
//	refuse: refuse
//	        jump ->search
//	over:
func (c *compiler) until(n *node, p Until) {
	var texts []string
	key := strconv.FormatBool(p.TrimEnd)
	tests := false
	for _, s := range p.Stops {
		if slices.Contains(texts, s.Text) {
			n.fail("", "stop %q is there twice", s.Text)
		}
		texts = append(texts, s.Text)
		key += " " + strconv.Quote(s.Text) + strconv.FormatBool(s.Space) +
			strconv.FormatBool(s.Stub)
		tests = tests || s.After != nil
	}
	table := func() int {
		u := UntilTable{TrimEnd: p.TrimEnd, AnySp: p.TrimEnd}
		for _, s := range p.Stops {
			u.Space, u.Stub, u.After = append(u.Space, s.Space), append(u.Stub, s.Stub),
				append(u.After, -1)
			u.AnySp = u.AnySp || s.Space
		}
		autoKey := strings.Join(texts, "\x00")
		if u.Auto = c.autosUnder[autoKey]; u.Auto == nil {
			u.Auto = c.autos[autoKey]
		}
		if u.Auto == nil {
			if u.Auto = newAutomaton(texts); u.Auto == nil {
				n.fail("", "the stops are too long together")
			}
			c.autos[autoKey] = u.Auto
		}
		c.p.Untils = append(c.p.Untils, u)
		return len(c.p.Untils) - 1
	}
	if !tests {
		c.emit(Inst{Op: OpUntil, Kind: p.Kind, A: c.untils.of(key, table)})
		return
	}
	at := int32(table())
	search := c.emit(Inst{Op: OpUntil, Kind: p.Kind, A: at})
	over := []int32{c.emit(Inst{Op: OpJump})}
	k := 0
	for i, s := range p.Stops {
		if s.After == nil {
			continue
		}
		c.p.Untils[at].After[i] = c.here()
		entry := c.emit(Inst{Op: OpPred})
		if s.Space {
			c.emit(Inst{Op: OpSpan, A: c.set(SpaceSet)})
		}
		c.emit(Inst{Op: OpLit, A: c.lit(s.Text)})
		c.gen(n.kids[k], context{})
		k++
		over = append(over, c.emit(Inst{Op: OpBackCommit}))
		c.land(entry)
		c.emit(Inst{Op: OpRefuse, Kind: p.Kind, A: at, B: int32(i)})
		c.emit(Inst{Op: OpJump, A: search})
	}
	c.land(over...)
}

// dispatch emits the search, After as a routine that all words call, unless it is short, and, for
// each word, its code. A word of which another is a proper prefix falls back to that one:
//
//	word: choice ->shorter word's code
//	      skip
//	      After
//	      commit
//	      body
func (c *compiler) dispatch(n *node, p Dispatch, x context) (ended bool) {
	n.cuts() // all or none
	at := int32(len(c.p.Dispatches))
	c.p.Dispatches = append(c.p.Dispatches, DispatchTable{})
	c.emit(Inst{Op: OpDispatch, A: at})
	after := func() { c.gen(n.kids[0], context{}) }
	if len(n.kids[0].kids) > 0 && len(p.Words) > 1 {
		routine := c.routine(n.kids[0])
		after = func() { c.emit(Inst{Op: OpCall, A: routine}) }
	}
	var bodies []*node
	if len(p.Bodies) > 0 {
		bodies = n.kids[1:]
	}
	over, ended := c.words(n, at, sorted(p.Words), bodies, after, x)
	if x.cut != nil && n.cuts() {
		x.cut.done = true
	}
	c.land(over...)
	return ended
}

// routine emits a pattern as a routine and returns its place.
func (c *compiler) routine(n *node) int32 {
	routine := c.here()
	c.gen(n, context{})
	c.emit(Inst{Op: OpReturn})
	return routine
}

// wordList is a list of words in order, and where each stood before.
type wordList struct {
	words  []string
	places []int
}

func sorted(words []string) wordList {
	l := wordList{make([]string, len(words)), make([]int, len(words))}
	for i := range l.places {
		l.places[i] = i
	}
	slices.SortFunc(l.places, func(i, j int) int { return strings.Compare(words[i], words[j]) })
	for i, at := range l.places {
		l.words[i] = words[at]
	}
	return l
}

// words emits the code of the words of a table, with their bodies by the place where the words
// stood before. It returns the jumps of those that go on after the dispatch, and reports whether
// none does.
func (c *compiler) words(n *node, table int32, list wordList, bodies []*node, after func(),
	x context) (over []int32, ended bool) {
	targets := make([]int32, len(list.words))
	c.p.Dispatches[table] = DispatchTable{Words: list.words, Targets: targets}
	var prefixes []int // sorted places of the words that are proper prefixes of the next one
	ended = true
	for i, word := range list.words {
		for len(prefixes) > 0 && !strings.HasPrefix(word, list.words[prefixes[len(prefixes)-1]]) {
			prefixes = prefixes[:len(prefixes)-1]
		}
		if i > 0 && list.words[i-1] == word {
			n.fail("", "the word %q is there twice", word)
		}
		targets[i] = c.here()
		c.label(Place{Name: word, Word: true})
		shorter := len(prefixes) > 0
		if shorter {
			c.emit(Inst{Op: OpChoice, A: targets[prefixes[len(prefixes)-1]]})
		}
		prefixes = append(prefixes, i)
		c.emit(Inst{Op: OpSkip, A: int32(len(word))})
		after()
		if shorter {
			c.commitHere()
		}
		done := false
		if bodies != nil {
			y := context{tail: x.tail, cut: x.cut}
			if x.cut != nil {
				own := *x.cut // each body has the Cut to itself
				y.cut = &own
			}
			done = c.gen(bodies[list.places[i]], y)
		}
		if !done {
			ended = false
			over = append(over, c.emit(Inst{Op: OpJump}))
		}
	}
	return over, ended
}
