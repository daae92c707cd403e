package flow

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Shape is the form of a part of a request that a template asks for: which members it looks up, of
// which kinds it tests for, with which literals it compares. It is a guess that takes every
// statement for one that may run, in any order; it guides a search, and nothing is concluded from
// it.
type Shape struct {
	joined  *Shape // it is the same as another one
	Names   []string
	Members map[string]*Shape // by names
	Items   *Shape            // of a list
	Values  *Shape            // of an object that the template goes through
	pair    []*Shape          // it is an item of such an object: the key, the value
	Kinds   Kinds
	Texts   []string // literals that it is compared with
	Inside  []string // literals that are looked for in it
	Begins  []string // literals that it may begin with
	Ends    []string // literals that it may end with
	Numbers []int    // numbers that it is compared with
	Lengths []int    // numbers that its length is compared with
	depth   int      // how many steps it is below the request
	made    bool     // it is an object that the template spells out
}

const (
	maxDepth   = 12 // how deep shapes go
	maxAliases = 24 // how many shapes a variable may stand for
	maxHints   = 40 // how many literals of a kind a shape keeps
	maxMembers = 96 // how many members a shape has
	maxLength  = 40 // which lengths of lists are told apart
	maxPasses  = 8  // how often the template is gone through until nothing new comes
)

// shaper finds the shapes of the fields that a template reads.
type shaper struct {
	*Model
	root    *Shape
	aliases map[string][]*Shape // of variables; "ns.a" for a namespace's attributes
	in      *syntax.Macro       // whose body is gone through
	loops   [][]*Shape          // the elements of the loops around
	lists   map[*Shape]*Shape   // the lists of things, and of an object's members, that it makes
	entries map[*Shape]*Shape
	dicts   map[*syntax.Dict]*Shape
	written map[*syntax.Macro][]*Shape // the parts of the request that a macro writes
	more    bool
}

// Shape returns the shape of the variables that a template asks for.
func (m *Model) Shape() *Shape { return m.shaped().root }

// Shapes returns the shapes of a variable: of one that the request gives, that; of one that the
// template sets or a loop goes through, those of the parts of the request that it may stand for.
func (m *Model) Shapes(name string) []*Shape {
	s := m.shaped()
	if given := s.root.Members[name]; given != nil && !m.Assigns(name) {
		return []*Shape{given.Find()}
	}
	var all []*Shape
	for _, alias := range s.aliases[name] {
		all = append(all, alias.Find())
	}
	return all
}

// shaped goes through the template until nothing new comes.
func (m *Model) shaped() *shaper {
	s := &shaper{Model: m, root: &Shape{Kinds: Members}, aliases: map[string][]*Shape{},
		lists: map[*Shape]*Shape{}, entries: map[*Shape]*Shape{}, dicts: map[*syntax.Dict]*Shape{},
		written: map[*syntax.Macro][]*Shape{}}
	for range maxPasses {
		s.more = false
		for _, n := range m.Tree.Body {
			s.node(n)
		}
		if !s.more {
			break
		}
	}
	return s
}

// macro returns the last macro of a name; nil: there is none.
func (m *Model) macro(name string) *syntax.Macro {
	if all := m.Macros[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// asked reports whether a name may be one of the request: no loop and no macro has it.
func (m *Model) asked(name string) bool {
	for r := range m.Definitions(name) {
		if r.Kind == Loop || r.Kind == Defined {
			return false
		}
	}
	return true
}

// Find returns the shape that stands for this one.
func (s *Shape) Find() *Shape {
	for s.joined != nil {
		s = s.joined
	}
	return s
}

// join makes two shapes one.
func (s *shaper) join(a, b *Shape) {
	if a, b = a.Find(), b.Find(); a == b {
		return
	}
	s.more = true
	if a.depth > b.depth {
		a, b = b, a
	}
	b.joined = a
	a.Kinds |= b.Kinds
	for _, name := range b.Names {
		if m, ok := a.Members[name]; ok {
			s.join(m, b.Members[name])
		} else {
			a.add(name, b.Members[name])
		}
	}
	both := func(x **Shape, y *Shape) {
		if *x == nil {
			*x = y
		} else if y != nil {
			s.join(*x, y)
		}
	}
	both(&a.Items, b.Items)
	both(&a.Values, b.Values)
	if a.pair == nil {
		a.pair = b.pair
	}
	hints(&a.Texts, b.Texts...)
	hints(&a.Inside, b.Inside...)
	hints(&a.Begins, b.Begins...)
	hints(&a.Ends, b.Ends...)
	hints(&a.Numbers, b.Numbers...)
	hints(&a.Lengths, b.Lengths...)
}

// add gives a shape a member, if it has room for one.
func (s *Shape) add(name string, m *Shape) bool {
	if len(s.Names) >= maxMembers {
		return false
	}
	if s.Members == nil {
		s.Members = map[string]*Shape{}
	}
	s.Members[name] = m
	s.Names = append(s.Names, name)
	return true
}

// hints adds to a list of hints those that are not there yet.
func hints[T comparable](to *[]T, more ...T) {
	for _, h := range more {
		if len(*to) < maxHints && !slices.Contains(*to, h) {
			*to = append(*to, h)
		}
	}
}

func (s *shaper) member(of *Shape, name string) *Shape {
	of = of.Find()
	if m, ok := of.Members[name]; ok {
		return m.Find()
	}
	if of.depth >= maxDepth {
		return nil
	}
	m := &Shape{depth: of.depth + 1}
	if !of.add(name, m) {
		return nil
	}
	s.more = true
	return m
}

// within returns the shape of a list's items or an object's values.
func (s *shaper) within(of *Shape, in **Shape) *Shape {
	if *in == nil {
		if of.depth >= maxDepth {
			return nil
		}
		s.more = true
		*in = &Shape{depth: of.depth + 1}
	}
	return (*in).Find()
}

// each collects the results of a function for shapes.
func each(of []*Shape, f func(*Shape) *Shape) []*Shape {
	var all []*Shape
	for _, one := range of {
		if got := f(one.Find()); got != nil && !slices.Contains(all, got) {
			all = append(all, got)
		}
	}
	return all
}

func (s *shaper) items(of []*Shape) []*Shape {
	return each(of, func(one *Shape) *Shape {
		if len(one.pair) > 0 {
			return one.pair[len(one.pair)-1].Find()
		}
		return s.within(one, &one.Items)
	})
}

// pairs returns the shape of the list of an object's members.
func (s *shaper) pairs(of []*Shape) []*Shape {
	return each(of, func(one *Shape) *Shape {
		v := s.within(one, &one.Values)
		if v == nil {
			return nil
		}
		if s.entries[v] == nil {
			pair := &Shape{pair: []*Shape{{depth: maxDepth}, v}, depth: maxDepth}
			s.entries[v] = &Shape{Items: pair, depth: maxDepth}
		}
		return s.entries[v]
	})
}

// listOf returns the shape of a list of things.
func (s *shaper) listOf(one *Shape) *Shape {
	if one == nil {
		return nil
	}
	if s.lists[one] == nil {
		s.lists[one] = &Shape{Items: one, depth: maxDepth}
	}
	return s.lists[one]
}

// alias notes that a variable may stand for shapes.
func (s *shaper) alias(name string, to []*Shape) {
	all := s.aliases[name]
	for _, one := range to {
		one = one.Find()
		if len(all) < maxAliases && !slices.ContainsFunc(all,
			func(o *Shape) bool { return o.Find() == one }) {
			all = append(all, one)
			s.more = true
		}
	}
	s.aliases[name] = all
}

// parameter is the name of a macro's parameter among the variables.
func parameter(m *syntax.Macro, name string) string { return m.Name + "(" + name }

// variable returns the name under which the shapes of a variable are kept.
func (s *shaper) variable(name string) string {
	if s.in != nil && slices.ContainsFunc(s.in.Params.Params,
		func(p *syntax.Name) bool { return p.Name == name }) {
		return parameter(s.in, name)
	}
	return name
}

// bind gives the target of an assignment its shapes.
func (s *shaper) bind(target syntax.Node, to []*Shape) {
	switch t := target.(type) {
	case *syntax.Name:
		s.alias(s.variable(t.Name), to)
	case *syntax.AttrTarget:
		s.alias(t.Name+"."+t.Attr, to)
	case *syntax.Tuple:
		for i, item := range t.Items {
			s.bind(item, each(to, func(one *Shape) *Shape {
				if i < len(one.pair) {
					return one.pair[i].Find()
				}
				return s.within(one, &one.Items)
			}))
		}
	}
}

func (s *shaper) body(body []syntax.Stmt) {
	for _, n := range body {
		s.node(n)
	}
}

// node goes through a statement, or evaluates an expression.
func (s *shaper) node(n syntax.Node) {
	switch n := n.(type) {
	case syntax.Expr:
		s.eval(n)
	case *syntax.Output:
		for _, part := range n.Parts {
			for _, one := range s.eval(part) {
				if all := s.written[s.in]; len(all) < maxAliases && !slices.Contains(all, one) {
					s.written[s.in], s.more = append(all, one), true
				}
			}
		}
	case *syntax.For:
		over := s.eval(n.Iter)
		want(over, Items)
		elements := s.items(over)
		s.bind(n.Target, elements)
		s.loops = append(s.loops, elements)
		if n.Test != nil {
			s.eval(n.Test)
		}
		s.body(n.Body)
		s.loops = s.loops[:len(s.loops)-1]
		s.body(n.Else)
	case *syntax.Assign:
		value := s.eval(n.Value)
		s.bind(n.Target, value)
		target, isName := n.Target.(*syntax.Name)
		if call, ok := NewNamespace(n.Value); ok && isName {
			for _, k := range call.Keywords { // set ns = namespace(found=false)
				s.alias(target.Name+"."+k.Name, s.eval(k.Value))
			}
		}
	case *syntax.With:
		for i, t := range n.Targets {
			s.bind(t, s.eval(n.Values[i]))
		}
		s.body(n.Body)
	case *syntax.Macro:
		for i, d := range n.Defaults {
			s.alias(parameter(n, n.Params.Params[len(n.Params.Params)-len(n.Defaults)+i].Name),
				s.eval(d))
		}
		around := s.in
		s.in = n
		s.body(n.Body)
		s.in = around
	default:
		for _, c := range syntax.Children(n) {
			s.node(c)
		}
	}
}

func want(of []*Shape, k Kinds) {
	for _, one := range of {
		one.Find().Kinds |= k
	}
}

func (s *shaper) all(xs ...syntax.Expr) {
	for _, x := range xs {
		if x != nil {
			s.eval(x)
		}
	}
}

func (s *shaper) args(a syntax.Args) {
	s.all(a.Args...)
	for _, k := range a.Keywords {
		s.eval(k.Value)
	}
	s.all(a.Star, a.StarStar)
}

// eval returns the shapes that an expression may stand for.
func (s *shaper) eval(x syntax.Expr) []*Shape {
	switch x := x.(type) {
	case *syntax.Name:
		name := s.variable(x.Name)
		all := s.aliases[name]
		if len(all) == 0 && s.asked(x.Name) && name == x.Name {
			if asked := s.member(s.root, name); asked != nil {
				s.alias(name, []*Shape{asked})
			}
			all = s.aliases[name]
		}
		return each(all, func(one *Shape) *Shape { return one })
	case *syntax.Attr:
		if n, ok := x.X.(*syntax.Name); ok {
			if to, known := s.aliases[n.Name+"."+x.Name]; known {
				return each(to, func(one *Shape) *Shape { return one })
			}
			if n.Name == "loop" {
				if d := len(s.loops); d > 0 && (x.Name == "previtem" || x.Name == "nextitem") {
					return s.loops[d-1]
				}
				return nil
			}
		}
		return each(s.eval(x.X), func(one *Shape) *Shape { return s.member(one, x.Name) })
	case *syntax.Item:
		of := s.eval(x.X)
		switch index := x.Index.(type) {
		case *syntax.Slice:
			s.all(index.Start, index.Stop, index.Step)
			return of
		case *syntax.Const:
			if index.Kind == syntax.String {
				return each(of, func(one *Shape) *Shape { return s.member(one, index.Text) })
			}
			return s.items(of)
		}
		if key := s.eval(x.Index); len(key) > 0 { // a key that comes with the request
			for _, one := range of {
				if one = one.Find(); one.made {
					for _, k := range key {
						hints(&k.Find().Texts, one.Names...)
					}
				}
			}
			return each(of, func(one *Shape) *Shape { return s.within(one, &one.Values) })
		}
		return s.items(of)
	case *syntax.Logic:
		return slices.Concat(s.eval(x.X), s.eval(x.Y))
	case *syntax.Cond:
		s.eval(x.Test)
		all := s.eval(x.Then)
		if x.Else != nil {
			all = slices.Concat(all, s.eval(x.Else))
		}
		return all
	case *syntax.Binary:
		a, b := s.eval(x.X), s.eval(x.Y)
		if x.Op != "+" {
			return nil
		}
		if isText(x.X) {
			want(b, Text)
		}
		if isText(x.Y) {
			want(a, Text)
		}
		return slices.Concat(a, b)
	case *syntax.Concat:
		var all []*Shape
		for _, item := range x.Items {
			all = append(all, s.eval(item)...)
		}
		return all
	case *syntax.List:
		return s.literal(x.Items)
	case *syntax.Tuple:
		return s.literal(x.Items)
	case *syntax.Dict:
		made := s.dicts[x]
		if made == nil {
			made = &Shape{depth: maxDepth, made: true}
			s.dicts[x] = made
		}
		for _, pair := range x.Items {
			s.eval(pair.Key)
			v := s.eval(pair.Value)
			c, ok := pair.Key.(*syntax.Const)
			if !ok {
				continue
			}
			if made.Members[c.Text] == nil && !made.add(c.Text, &Shape{depth: maxDepth}) {
				continue
			}
			for _, one := range v {
				s.join(made.Members[c.Text], one)
			}
		}
		return []*Shape{made}
	case *syntax.Compare:
		s.compare(x)
		return nil
	case *syntax.Test:
		of := s.eval(x.X)
		s.args(x.Args)
		want(of, Tests[x.Name].Means)
		return nil
	case *syntax.Filter:
		return s.filter(x)
	case *syntax.Call:
		return s.call(x)
	default:
		if x != nil {
			for _, c := range syntax.Children(x) {
				s.node(c)
			}
		}
		return nil
	}
}

// isText reports whether an expression is a text whatever the request is.
func isText(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Const:
		return x.Kind == syntax.String
	case *syntax.Binary:
		return x.Op == "+" && (isText(x.X) || isText(x.Y))
	case *syntax.Concat:
		return true
	case *syntax.Filter:
		f, ok := Filters[x.Name]
		return ok && f.Result&^Strings == 0
	}
	return false
}

// literal returns the shape of a list that the template spells out.
func (s *shaper) literal(items []syntax.Expr) []*Shape {
	var in []*Shape
	for _, item := range items {
		in = append(in, s.eval(item)...)
	}
	return each(in, s.listOf)
}

// compare notes the literals of comparisons.
func (s *shaper) compare(x *syntax.Compare) {
	left := x.X
	for _, op := range x.Ops {
		a, b := s.eval(left), s.eval(op.X)
		switch op.Op {
		case "in", "not in":
			if c, ok := left.(*syntax.Const); ok && c.Kind == syntax.String {
				for _, one := range b {
					hints(&one.Find().Inside, c.Text)
					s.member(one, c.Text)
				}
			}
			s.choices(a, op.X)
		default:
			s.constant(a, left, op.X)
			s.constant(b, op.X, left)
		}
		left = op.X
	}
}

// choices notes the literals of a list.
func (s *shaper) choices(of []*Shape, x syntax.Expr) {
	for _, c := range syntax.Children(x) {
		if c, ok := c.(*syntax.Const); ok {
			s.constant(of, nil, c)
		}
	}
}

// constant notes a literal with which shapes are compared. Measured is the expression that has
// them, in which their length may be.
func (s *shaper) constant(of []*Shape, measured, x syntax.Expr) {
	if u, ok := x.(*syntax.Unary); ok {
		x = u.X
	}
	c, ok := x.(*syntax.Const)
	if !ok {
		return
	}
	if f, ok := measured.(*syntax.Filter); ok && (f.Name == "length" || f.Name == "count") &&
		c.Kind == syntax.Int && f.X != nil {
		if n, err := strconv.Atoi(c.Text); err == nil && n <= maxLength {
			for _, one := range s.eval(f.X) {
				hints(&one.Find().Lengths, n, n+1, max(n-1, 0))
			}
		}
		return
	}
	for _, one := range of {
		one = one.Find()
		switch c.Kind {
		case syntax.String:
			hints(&one.Texts, c.Text)
		case syntax.Int:
			if n, err := strconv.Atoi(c.Text); err == nil {
				hints(&one.Numbers, n, n+1, n-1)
			}
		case syntax.True, syntax.False:
			one.Kinds |= Bools
		case syntax.None:
			one.Kinds |= Null
		}
	}
}

func (s *shaper) filter(x *syntax.Filter) []*Shape {
	var of []*Shape
	if x.X != nil {
		of = s.eval(x.X)
	}
	first := ""
	for i, a := range x.Args.Args {
		if c, ok := a.(*syntax.Const); ok && i == 0 {
			first = c.Text
		}
	}
	switch x.Name {
	case "default", "d":
		for _, a := range x.Args.Args {
			of = slices.Concat(of, s.eval(a))
		}
		return of
	case "first", "last", "random":
		return s.items(of)
	case "items", "dictsort":
		want(of, Members)
		return s.pairs(of)
	case "selectattr", "rejectattr":
		if n := len(x.Args.Args); first != "" && n > 0 {
			member := each(s.items(of), func(one *Shape) *Shape { return s.member(one, first) })
			if n > 2 {
				s.constant(member, nil, x.Args.Args[2])
				s.choices(member, x.Args.Args[2])
			}
		}
		return of
	case "map":
		for _, k := range x.Keywords {
			if c, ok := k.Value.(*syntax.Const); ok && k.Name == "attribute" {
				return each(s.items(of), func(one *Shape) *Shape {
					return s.listOf(s.member(one, c.Text))
				})
			}
		}
		return of
	}
	s.args(x.Args)
	if x.Name == "tojson" || Filters[x.Name].Flow == OfNone {
		return nil
	}
	return of
}

func (s *shaper) call(x *syntax.Call) []*Shape {
	switch f := x.Func.(type) {
	case *syntax.Name:
		m := s.macro(f.Name)
		if m == nil {
			s.args(x.Args)
			return nil
		}
		params := m.Params.Params
		for i, a := range x.Args.Args {
			if v := s.eval(a); i < len(params) {
				s.pass(parameter(m, params[i].Name), v)
			}
		}
		for _, k := range x.Keywords {
			s.pass(parameter(m, k.Name), s.eval(k.Value))
		}
		return each(s.written[m], func(one *Shape) *Shape { return one })
	case *syntax.Attr:
		of := s.eval(f.X)
		var first *syntax.Const
		if len(x.Args.Args) > 0 {
			first, _ = x.Args.Args[0].(*syntax.Const)
		}
		s.args(x.Args)
		switch f.Name {
		case "get":
			if first != nil && first.Kind == syntax.String {
				all := each(of, func(one *Shape) *Shape { return s.member(one, first.Text) })
				if len(x.Args.Args) > 1 {
					all = slices.Concat(all, s.eval(x.Args.Args[1]))
				}
				return all
			}
			return each(of, func(one *Shape) *Shape { return s.within(one, &one.Values) })
		case "items":
			want(of, Members)
			return s.pairs(of)
		case "values":
			want(of, Members)
			return each(s.pairs(of), func(one *Shape) *Shape {
				return s.listOf(one.Items.pair[1].Find())
			})
		case "keys":
			want(of, Members)
			return nil
		case "append":
			for _, a := range x.Args.Args {
				if n, ok := f.X.(*syntax.Name); ok {
					s.alias(s.variable(n.Name), each(s.eval(a), s.listOf))
				}
			}
			return nil
		}
		if Methods[f.Name].On&Strings != 0 {
			want(of, Text)
			if first != nil && first.Kind == syntax.String {
				for _, one := range of {
					one = one.Find()
					hints(&one.Inside, first.Text)
					switch f.Name {
					case "startswith":
						hints(&one.Begins, first.Text)
					case "endswith":
						hints(&one.Ends, first.Text)
					}
				}
			}
			if f.Name == "split" || f.Name == "rsplit" || f.Name == "splitlines" {
				return each(of, s.listOf)
			}
			return of
		}
	default:
		s.eval(x.Func)
		s.args(x.Args)
	}
	return nil
}

// pass gives a parameter the shapes of an argument. They become one: macros that go down a schema
// call themselves with parts of it.
func (s *shaper) pass(name string, v []*Shape) {
	s.alias(name, v)
	all := s.aliases[name]
	for _, one := range all {
		if one, first := one.Find(), all[0].Find(); one.pair == nil && first.pair == nil {
			s.join(first, one)
		}
	}
}
