package flow

import (
	"iter"
	"slices"
	"sync"

	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// Model is what a template says about its variables and branches: where each is read and given a
// value, under which conditions, and in which scope.
type Model struct {
	Tree   *syntax.Template
	Refs   []*Ref                     // in the order in which a render evaluates them
	Prints []Print                    // the expressions that statements and filters write
	Macros map[string][]*syntax.Macro // by name
	Asked  map[string]bool            // variables of which the template asks whether they are there

	byName    map[string]refs
	decisions []decided
	indexed   sync.Once
	sites     map[Decision]*decided // built where it is asked for
}

// RefKind is what a place does with a variable.
type RefKind uint8

// The kinds of references. All but Read give a value.
const (
	Read     RefKind = iota // takes its value
	Set                     // {% set x = value %}
	Captured                // {% set x %}...{% endset %}
	Loop                    // the target of a loop; Value is what it goes through
	Bound                   // {% with x = value %}
	Param                   // the parameter of a macro or a call block; Value is its default
	Defined                 // a macro or an import of that name
	Passed                  // an argument of a call of a macro
	Field                   // an argument of namespace(), by name
	Put                     // an argument of a method that changes a list or an object
	Member                  // a value of an object that is spelt out, under ".key"
)

// Local reports whether the place gives a variable a value where it stands, rather than where a
// macro runs or through an object.
func (k RefKind) Local() bool { return Read < k && k < Passed }

// Ref is a place that reads a variable or gives it a value.
type Ref struct {
	Kind  RefKind
	Name  string      // of the variable; "ns.field" of a field of one
	Node  syntax.Node // that reads or names it
	Value syntax.Node // of a definition: an expression, or the statement that captures; nil: none
	At    *Place
	Order int  // its index in [Model.Refs]
	next  *Ref // the next one that reads the name, or gives it a value
}

// Off returns where the reference stands in the source.
func (r *Ref) Off() int { return r.Node.Offset() }

// Place is where an expression stands.
type Place struct {
	Stmt     syntax.Stmt // the innermost statement around it
	Test     *syntax.If  // the statement whose conditions it is one of; nil: none
	Branch   *Branch
	Region   *Region
	Captured bool        // what is written here goes into a value, not into the prompt
	Root     syntax.Expr // the whole of the expression; nil: it is the target of a statement
	Into     []string    // the variables that its value goes into
}

// Branch is an outcome of a decision, with the statements that only run where it comes out so. The
// template itself is one without a decision, and so is the body of a macro.
type Branch struct {
	Up *Branch // the one around it; nil: this is the template
	Decision
	Outcome Outcome
	Macro   bool // the body of a macro
	depth   int

	loop *syntax.For // whose body it is
	of   *syntax.If  // whose branch it is, or a later condition
	arm  int         // which of its branches; else counts as the last one
	test bool        // the condition of that branch alone, which the earlier ones lead to
}

// Decided reports whether the branch is an outcome of a decision.
func (b *Branch) Decided() bool { return b.Up != nil && !b.Macro }

// Around returns the conditions under which the branch runs once its macro is called, the
// outermost first.
func (b *Branch) Around() []syntax.Expr {
	if !b.Decided() {
		return nil
	}
	all := b.Up.Around()
	switch {
	case b.loop != nil && b.loop.Test != nil:
		return append(all, b.loop.Iter, b.loop.Test)
	case b.loop != nil:
		return append(all, b.loop.Iter)
	case b.of == nil:
		return all
	}
	all = append(all, b.of.Test) // an if with no arm before has no condition around its own
	for i, e := range b.of.Elif {
		if i+1 < b.arm || i+1 == b.arm && !b.test {
			all = append(all, e.Test)
		}
	}
	return all
}

// excludes reports whether another branch of the same if is not run where the branch is.
func (b *Branch) excludes(o *Branch) bool {
	switch {
	case b.of == nil || b.of != o.of:
		return false
	case b.test && o.test:
		return false
	case b.test:
		return o.arm < b.arm
	case o.test:
		return b.arm < o.arm
	}
	return b.arm != o.arm
}

// Dominates reports whether a place runs wherever another one does, as far as conditions go.
func (p *Place) Dominates(other *Place) bool {
	b, o := p.Branch.condition(), other.Branch
	for o.depth > b.depth {
		o = o.Up
	}
	return b == o
}

// condition is the innermost branch of a condition; the body of a loop is none.
func (b *Branch) condition() *Branch {
	for b.Up != nil && b.of == nil {
		b = b.Up
	}
	return b
}

// Apart reports whether two places never run both, in one round of the loops around both.
func (p *Place) Apart(other *Place) bool {
	a, b := p.Branch, other.Branch
	var x, y *Branch // the last ones that are left
	for a != b {
		if a.depth >= b.depth {
			a, x = a.Up, a
		} else {
			b, y = b.Up, b
		}
	}
	return x != nil && y != nil && x.excludes(y)
}

// Guards reports whether the place stands in a condition under which another one runs.
func (p *Place) Guards(other *Place) bool {
	if p.Test == nil {
		return false
	}
	for b := other.Branch; b.Up != nil; b = b.Up {
		if b.of == p.Test && !b.test {
			return true
		}
	}
	return false
}

// Region is a part of a template with variables of its own: the body of a loop, say.
type Region struct {
	Up    *Region
	Loop  bool
	Macro bool // it runs when it is called, and not where it stands
}

// Within reports whether a region is another one, or lies in it.
func (r *Region) Within(other *Region) bool {
	for ; r != nil; r = r.Up {
		if r == other {
			return true
		}
	}
	return false
}

// Caller is the innermost region around that runs when it is called; nil: none.
func (r *Region) Caller() *Region {
	for ; r != nil; r = r.Up {
		if r.Macro {
			return r
		}
	}
	return nil
}

// SharesLoop reports whether a loop has both regions: what one iteration sets the next one may
// read.
func (r *Region) SharesLoop(other *Region) bool {
	for ; r != nil; r = r.Up {
		if r.Loop && other.Within(r) {
			return true
		}
	}
	return false
}

// Print is an expression whose value a statement writes.
type Print struct {
	X        syntax.Expr
	Captured bool // the text goes into a value
}

// refs are the references to a variable: the first and the last ones of two lists.
type refs struct{ read, lastRead, def, lastDef *Ref }

// Reads returns the places that read a variable, or a field of one, in order.
func (m *Model) Reads(name string) iter.Seq[*Ref] { return m.byName[name].read.list() }

// Definitions returns the places that give a variable a value, or a field of one, in order.
func (m *Model) Definitions(name string) iter.Seq[*Ref] { return m.byName[name].def.list() }

// list goes through a reference and those after it of its kind.
func (r *Ref) list() iter.Seq[*Ref] {
	return func(yield func(*Ref) bool) {
		for r := r; r != nil && yield(r); r = r.next {
		}
	}
}

// Assigns reports whether a statement or a parameter gives a variable a value.
func (m *Model) Assigns(name string) bool {
	for r := range m.Definitions(name) {
		if r.Kind.Local() {
			return true
		}
	}
	return false
}

// decided is a site with where it stands.
type decided struct {
	Decision
	node syntax.Node
	at   *Place
}

// builder goes through a template.
type builder struct {
	*Model
	spot
	refs   slab[Ref]
	places slab[Place]
	// values: definitions are noted alone, without their places. The compiler, which is in a hurry,
	// asks for no more.
	values bool
}

// spot is where the builder is.
type spot struct {
	at    Place
	known *Place // the same, for references; nil: none stands here yet
}

// here returns the place where the builder is.
func (b *builder) here() *Place {
	if b.known == nil && !b.values {
		b.known = b.places.next()
		*b.known = b.at
	}
	return b.known
}

// slab makes values of a type, many at once.
type slab[T any] struct{ free []T }

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 16)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// Parse reads a template and returns its model. The error is that of [syntax.Parse].
func Parse(src *source.Source) (*Model, error) {
	tree, err := syntax.Parse(src)
	if err != nil {
		return nil, err
	}
	return New(tree), nil
}

// New returns the model of a template.
func New(tree *syntax.Template) *Model { return build(tree, false) }

func build(tree *syntax.Template, values bool) *Model {
	b := &builder{values: values, Model: &Model{Tree: tree, Macros: map[string][]*syntax.Macro{},
		Asked: map[string]bool{}, byName: map[string]refs{}},
		spot: spot{at: Place{Branch: &Branch{}, Region: &Region{}}}}
	for n := range tree.All() {
		if m, ok := n.(*syntax.Macro); ok && len(b.Macros[m.Name]) < maxMacros {
			b.Macros[m.Name] = append(b.Macros[m.Name], m)
		}
	}
	b.body(tree.Body)
	return b.Model
}

// ref notes a reference.
func (b *builder) ref(kind RefKind, name string, at, value syntax.Node) {
	if b.values && kind == Read {
		return
	}
	r := b.refs.next()
	*r = Ref{kind, name, at, value, b.here(), len(b.Refs), nil}
	if !b.values {
		b.Refs = append(b.Refs, r)
	}
	of := b.byName[name]
	first, last := &of.def, &of.lastDef
	if kind == Read {
		first, last = &of.read, &of.lastRead
	}
	if *first == nil {
		*first = r
	} else {
		(*last).next = r
	}
	*last = r
	b.byName[name] = of
}

// target notes that the targets of an assignment get a value.
func (b *builder) target(kind RefKind, target syntax.Expr, value syntax.Node) {
	switch t := target.(type) {
	case *syntax.Name:
		b.ref(kind, t.Name, t, value)
	case *syntax.AttrTarget:
		b.ref(kind, t.Name+"."+t.Attr, t, value)
	case *syntax.Tuple:
		for _, item := range t.Items {
			b.target(kind, item, value)
		}
	}
}

// targets returns the names that a target gives a value, after others.
func targets(all []string, target syntax.Expr) []string {
	switch t := target.(type) {
	case *syntax.Name:
		return append(all, t.Name)
	case *syntax.AttrTarget:
		return append(all, t.Name+"."+t.Attr)
	case *syntax.Tuple:
		for _, item := range t.Items {
			all = targets(all, item)
		}
	}
	return all
}

// Bounds that keep a model in proportion to its template.
const (
	maxInto   = 32 // variables that an expression is known to go into
	maxMacros = 16 // macros of one name
)

// more adds names to the variables that a value goes into.
func more(into []string, names ...string) []string {
	room := max(0, maxInto-len(into))
	return append(slices.Clip(into), names[:min(room, len(names))]...)
}

// targets returns the names that a target gives a value, where places are noted.
func (b *builder) targets(target syntax.Expr) []string {
	if b.values {
		return nil
	}
	return targets(nil, target)
}

// within goes through a part of the template at another place.
func (b *builder) within(change func(at *Place), run func()) {
	before := b.spot
	b.known = nil
	change(&b.at)
	run()
	b.spot = before
}

// feeds goes through a part of the template whose values go into variables.
func (b *builder) feeds(into []string, run func()) {
	if b.values {
		run()
		return
	}
	b.within(func(at *Place) { at.Into = into }, run)
}

// branch goes through an outcome of a decision.
func (b *builder) branch(of Branch, run func()) {
	if b.values {
		run()
		return
	}
	branch := of // on the heap from here on
	branch.Up = b.at.Branch
	branch.depth = branch.Up.depth + 1
	b.within(func(at *Place) { at.Branch = &branch }, run)
}

func (b *builder) decide(kind SiteKind, n syntax.Node) Decision {
	d := Decision{kind, n.Offset()}
	if !b.values {
		b.decisions = append(b.decisions, decided{d, n, b.here()})
	}
	return d
}

func (b *builder) body(body []syntax.Stmt) {
	for _, n := range body {
		if b.values {
			b.stmt(n)
			continue
		}
		before := b.spot
		b.known, b.at.Stmt, b.at.Test = nil, n, nil
		b.stmt(n)
		b.spot = before
	}
}

// opens goes through statements that have variables of their own.
func (b *builder) opens(r Region, before func(), body []syntax.Stmt) {
	if b.values {
		before()
		b.body(body)
		return
	}
	region := r // on the heap from here on
	region.Up = b.at.Region
	b.within(func(at *Place) { at.Region = &region }, func() {
		before()
		b.body(body)
	})
}

// macro goes through the body of a macro or a call block.
func (b *builder) macro(p *syntax.Params, body []syntax.Stmt) {
	up := b.at.Branch
	b.within(func(at *Place) {
		at.Branch, at.Captured = &Branch{Up: up, Macro: true, depth: up.depth + 1}, true
	}, func() { b.opens(Region{Macro: true}, func() { b.params(p) }, body) })
}

func (b *builder) params(p *syntax.Params) {
	for _, d := range p.Defaults {
		b.whole(d)
	}
	for i, name := range p.Params {
		var value syntax.Node
		if d := i - (len(p.Params) - len(p.Defaults)); d >= 0 {
			value = p.Defaults[d]
		}
		b.ref(Param, name.Name, name, value)
	}
}

func (b *builder) stmt(s syntax.Stmt) {
	nothing := func() {}
	capture := func(body []syntax.Stmt) {
		b.within(func(at *Place) { at.Captured = true },
			func() { b.opens(Region{}, nothing, body) })
	}
	switch s := s.(type) {
	case *syntax.Output:
		for _, x := range s.Parts {
			b.Prints = append(b.Prints, Print{x, b.at.Captured})
			b.whole(x)
		}
	case *syntax.If:
		b.chain(s)
	case *syntax.For:
		d := b.decide(SiteFor, s)
		b.feeds(b.targets(s.Target), func() { b.whole(s.Iter) })
		b.opens(Region{Loop: true}, func() {
			b.target(Loop, s.Target, s.Iter)
			if s.Test != nil {
				b.whole(s.Test)
			}
			b.branch(Branch{Decision: d, Outcome: Entered, loop: s}, func() { b.body(s.Body) })
		}, nil)
		b.branch(Branch{Decision: d, Outcome: Empty}, func() { b.body(s.Else) })
	case *syntax.Macro:
		b.ref(Defined, s.Name, s, nil)
		into := []string{s.Name}
		for _, p := range s.Params.Params {
			into = append(into, p.Name) // those of the defaults
		}
		b.feeds(into, func() { b.macro(&s.Params, s.Body) })
	case *syntax.CallBlock:
		b.whole(s.Call)
		b.macro(&s.Params, s.Body)
	case *syntax.With:
		var names []string
		for _, t := range s.Targets {
			names = targets(names, t)
		}
		into := more(b.at.Into, names...)
		b.feeds(into, func() {
			for _, v := range s.Values {
				b.whole(v)
			}
			b.opens(Region{}, func() {
				for i, t := range s.Targets {
					b.target(Bound, t, s.Values[i])
				}
			}, s.Body)
		})
	case *syntax.Assign:
		into := b.targets(s.Target)
		name, named := s.Target.(*syntax.Name)
		call, made := NewNamespace(s.Value)
		if named && made {
			for _, k := range call.Keywords {
				into = append(into, name.Name+"."+k.Name)
			}
		}
		b.feeds(into, func() {
			b.whole(s.Value)
			b.target(Set, s.Target, s.Value)
			if named && made {
				for i := range call.Keywords {
					k := &call.Keywords[i]
					b.ref(Field, name.Name+"."+k.Name, k, k.Value)
				}
			}
		})
	case *syntax.AssignBlock:
		b.feeds(b.targets(s.Target), func() {
			capture(s.Body)
			if s.Filter != nil {
				b.filtered(s.Filter)
			}
			b.target(Captured, s.Target, s)
		})
	case *syntax.FilterBlock:
		b.filtered(s.Filter)
		capture(s.Body)
	case *syntax.Import:
		b.ref(Defined, s.Target, s, nil)
	case *syntax.FromImport:
		for _, name := range s.Names {
			b.ref(Defined, name.As, s, nil)
		}
	default:
		syntax.Each(s, func(n syntax.Node) {
			switch n := n.(type) {
			case syntax.Stmt:
				b.body([]syntax.Stmt{n})
			case syntax.Expr:
				b.whole(n)
			}
		})
	}
}

// filtered notes the filter of a block, whose result is written or captured.
func (b *builder) filtered(x *syntax.Filter) {
	b.Prints = append(b.Prints, Print{x, true})
	b.whole(x)
}

// chain goes through the branches of an if.
func (b *builder) chain(n *syntax.If) {
	var d Decision
	condition := func(kind SiteKind, branch *syntax.If) {
		d = b.decide(kind, branch)
		before := b.spot
		b.known, b.at.Test = nil, n
		b.whole(branch.Test)
		b.spot = before
	}
	condition(SiteIf, n)
	b.branch(Branch{Decision: d, Outcome: True, of: n}, func() { b.body(n.Body) })
	for i, e := range n.Elif {
		b.branch(Branch{Decision: d, Outcome: False, of: n, arm: i + 1, test: true},
			func() { condition(SiteElif, e) })
		b.branch(Branch{Decision: d, Outcome: True, of: n, arm: i + 1}, func() { b.body(e.Body) })
	}
	b.branch(Branch{Decision: d, Outcome: False, of: n, arm: len(n.Elif) + 1},
		func() { b.body(n.Else) })
}

// whole goes through an expression that no other one has.
func (b *builder) whole(x syntax.Expr) {
	if b.values {
		b.expr(x)
		return
	}
	before := b.spot
	b.known, b.at.Root = nil, x
	b.expr(x)
	b.spot = before
}

// expr notes the variables that an expression reads.
func (b *builder) expr(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Name:
		b.ref(Read, x.Name, x, nil)
		return
	case *syntax.Attr:
		b.expr(x.X)
		b.member(x.X, x.Name, x)
		return
	case *syntax.Item:
		b.expr(x.X)
		b.expr(x.Index)
		b.member(x.X, KeyOf(x.Index), x)
		return
	case *syntax.Const:
		if x.Kind == syntax.String || x.Kind == syntax.Data && b.at.Captured {
			b.decide(SiteText, x)
		}
		return
	case *syntax.Cond:
		b.decide(SiteCond, x)
	case *syntax.Test:
		if name, ok := x.X.(*syntax.Name); ok && (x.Name == "defined" || x.Name == "undefined") {
			b.Asked[name.Name] = true
		}
	case *syntax.Filter:
		if name, ok := x.X.(*syntax.Name); ok && (x.Name == "default" || x.Name == "d") {
			b.Asked[name.Name] = true
		}
	case *syntax.Dict:
		for _, pair := range x.Items {
			if key := KeyOf(pair.Key); key != "" {
				b.ref(Member, "."+key, pair.Key, pair.Value)
			}
		}
	case *syntax.Call:
		before := b.spot
		b.call(x)
		eachOperand(x, b.expr)
		b.spot = before
		return
	}
	eachOperand(x, b.expr)
}

// member notes that a field of a variable is read.
func (b *builder) member(of syntax.Expr, key string, x syntax.Expr) {
	if name, ok := of.(*syntax.Name); ok && key != "" && !b.values {
		b.ref(Read, name.Name+"."+key, x, nil)
	}
}

// call gives the parameters of a macro their arguments, and a list or an object the values that a
// method puts into it.
func (b *builder) call(x *syntax.Call) {
	switch f := x.Func.(type) {
	case *syntax.Name:
		macros := b.Macros[f.Name]
		for _, m := range macros {
			given := m.Params.Params[:min(len(m.Params.Params), len(x.Args.Args))]
			for i, p := range given {
				b.ref(Passed, p.Name, x.Args.Args[i], x.Args.Args[i])
				b.goesInto(p.Name)
			}
		}
		if len(macros) > 0 {
			for i := range x.Keywords {
				name := x.Keywords[i].Name
				b.ref(Passed, name, &x.Keywords[i], x.Keywords[i].Value)
				b.goesInto(name)
			}
		}
	case *syntax.Attr:
		if Methods[f.Name].Puts {
			for _, value := range x.Args.Args {
				b.put(f.X, value)
			}
			for _, k := range x.Keywords {
				b.put(f.X, k.Value)
			}
		}
	}
}

// goesInto notes that the values of the expression go into a variable as well.
func (b *builder) goesInto(name string) {
	if !b.values {
		b.known, b.at.Into = nil, more(b.at.Into, name)
	}
}

func (b *builder) put(into, value syntax.Expr) {
	switch t := into.(type) {
	case *syntax.Name:
		b.ref(Put, t.Name, value, value)
	case *syntax.Attr:
		if name, ok := t.X.(*syntax.Name); ok {
			b.ref(Put, name.Name+"."+t.Name, value, value)
		}
	}
}

// NewNamespace returns the call where an expression makes a namespace.
func NewNamespace(x syntax.Expr) (*syntax.Call, bool) {
	call, ok := x.(*syntax.Call)
	return call, ok && syntax.IsName(call.Func, "namespace")
}

// KeyOf returns the name of a member; "" where it is not known before a render.
func KeyOf(x syntax.Expr) string {
	if k, ok := x.(*syntax.Const); ok && k.Kind == syntax.String {
		return k.Text
	}
	return ""
}

// PathOf returns the variable that an expression reads with the fields that it takes of it, such as
// "m.content" of m['content'][1:]. Filters, tests and slices are left out: what they return is made
// of the same items. It is "" for any other expression.
func PathOf(x syntax.Node) string {
	var of syntax.Expr
	field := ""
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name
	case *syntax.Filter:
		return PathOf(x.X)
	case *syntax.Test:
		return PathOf(x.X)
	case *syntax.Attr:
		of, field = x.X, x.Name
	case *syntax.Item:
		if _, ok := x.Index.(*syntax.Slice); ok {
			return PathOf(x.X)
		}
		of, field = x.X, KeyOf(x.Index)
	default:
		return ""
	}
	if path := PathOf(of); path != "" && field != "" {
		return path + "." + field
	}
	return ""
}
