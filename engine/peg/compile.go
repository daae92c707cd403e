package peg

import (
	"slices"
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

// compiler holds the state that the passes share: read builds nodes (node.go), solve computes their
// facts and noLeftRecursion checks (facts.go), wayOf decides how an alternative is tried
// (decide.go), and gen emits code (gen.go, words.go).
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
