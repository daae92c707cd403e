package jinja

import (
	"github.com/goassay/assay/engine/jinja/syntax"
)

// Names are scoped before a template runs, as jinja2 does it (idtracking.py of 3.1.2): a scope is
// analysed as a whole, and a name that it stores anywhere is its own variable everywhere in it.
// This file keeps jinja2's rules to the letter, the odd ones included, because templates depend on
// them without knowing.

// load is the way in which a scope's variable gets its value when the scope is entered.
type load uint8

const (
	loadParam     load = iota // set by the code that enters the scope
	loadResolve               // the input variable or global of that name
	loadAlias                 // the enclosing scope's variable of that name
	loadUndefined             // nothing
)

// variable is a name that a scope owns.
type variable struct {
	name   string
	scope  *scope
	load   load
	stored bool      // assigned somewhere in the scope
	alias  *variable // the variable that loadAlias copies
	isLoop bool      // the variable loop of an extended loop
	kept   bool      // read as a whole, not only for a field
	slot   int       // place in the function's frame; -1: not yet given
}

// scope is jinja2's Symbols: the names that one scope refers to or stores.
type scope struct {
	parent *scope
	fn     *routine // the function whose frame holds the variables
	level  int
	space  int // tells apart scopes of one level whose variables must not share a slot
	vars   map[string]*variable
	order  []*variable // in order of their first appearance
	branch *branch     // the branch of an if being analysed, if any
}

// branch holds the changes of one branch of an if to a scope.
type branch struct {
	outer   *branch
	created []*variable
	stored  []*variable
}

func newScope(parent *scope, fn *routine) *scope {
	s := &scope{parent: parent, fn: fn}
	if parent != nil {
		s.level = parent.level + 1
	}
	return s
}

func (s *scope) find(name string) *variable {
	for ; s != nil; s = s.parent {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *scope) define(name string, l load) *variable {
	v := s.vars[name]
	if v == nil {
		v = &variable{name: name, scope: s, slot: -1}
		s.add(v)
	}
	v.load = l
	return v
}

func (s *scope) add(v *variable) {
	if s.vars == nil {
		s.vars = map[string]*variable{}
	}
	s.vars[v.name] = v
	s.order = append(s.order, v)
	if s.branch != nil {
		s.branch.created = append(s.branch.created, v)
	}
}

func (s *scope) markStored(v *variable) {
	if !v.stored {
		v.stored = true
		if s.branch != nil {
			s.branch.stored = append(s.branch.stored, v)
		}
	}
}

// read notes that a name is read.
func (s *scope) read(name string) {
	if s.find(name) == nil {
		s.define(name, loadResolve)
	}
}

// store notes that a name is assigned.
func (s *scope) store(name string) {
	v := s.vars[name]
	if v == nil {
		if outer := s.parent.find(name); outer != nil {
			v = s.define(name, loadAlias)
			v.alias = outer
		} else {
			v = s.define(name, loadUndefined)
		}
	}
	s.markStored(v)
}

// param declares a name that is set on entry.
func (s *scope) param(name string) *variable {
	v := s.define(name, loadParam)
	s.markStored(v)
	return v
}

// analyse runs over one branch of an if and takes its effects back, to be merged with the other
// branches'.
func (s *scope) analyse(run func()) *branch {
	b := &branch{outer: s.branch}
	s.branch = b
	run()
	s.branch = b.outer
	for _, v := range b.created {
		delete(s.vars, v.name)
	}
	s.order = s.order[:len(s.order)-len(b.created)]
	for _, v := range b.stored {
		v.stored = false
	}
	return b
}

// merge joins the branches of an if: a name that only some of them store falls back to the value
// outside.
func (s *scope) merge(branches ...*branch) {
	stores := map[string]int{}
	var names []string
	for _, b := range branches {
		for _, v := range b.stored {
			if stores[v.name]++; stores[v.name] == 1 {
				names = append(names, v.name)
			}
		}
	}
	for _, b := range branches {
		for _, v := range b.created {
			if old := s.vars[v.name]; old != nil {
				old.load, old.alias = v.load, v.alias
			} else {
				s.add(v)
			}
		}
	}
	for _, name := range names {
		v := s.vars[name]
		s.markStored(v)
		if stores[name] == len(branches) {
			continue
		}
		v.load, v.alias = loadResolve, nil
		if outer := s.parent.find(name); outer != nil {
			v.load, v.alias = loadAlias, outer
		}
	}
}

// The visitor of jinja2's FrameSymbolVisitor: it stops where another scope begins.

func (s *scope) stmts(body []syntax.Stmt) {
	for _, n := range body {
		s.stmt(n)
	}
}

func (s *scope) stmt(n syntax.Stmt) {
	switch n := n.(type) {
	case *syntax.Output:
		s.exprs(n.Parts)
	case *syntax.If:
		s.ifStmt(n)
	case *syntax.For:
		s.expr(n.Iter)
	case *syntax.Macro:
		s.store(n.Name)
	case *syntax.CallBlock:
		s.expr(n.Call)
	case *syntax.FilterBlock:
		s.expr(n.Filter)
	case *syntax.With:
		s.exprs(n.Values)
	case *syntax.Assign:
		s.expr(n.Value)
		s.target(n.Target, false)
	case *syntax.AssignBlock:
		s.target(n.Target, false)
	case *syntax.Extends:
		s.expr(n.Template)
	case *syntax.Include:
		s.expr(n.Template)
	case *syntax.Import:
		s.expr(n.Template)
		s.store(n.Target)
	case *syntax.FromImport:
		s.expr(n.Template)
		for _, alias := range n.Names {
			s.store(alias.As)
		}
	}
}

func (s *scope) ifStmt(n *syntax.If) {
	s.expr(n.Test)
	body := s.analyse(func() { s.stmts(n.Body) })
	elif := s.analyse(func() {
		for _, branch := range n.Elif {
			s.ifStmt(branch)
		}
	})
	otherwise := s.analyse(func() { s.stmts(n.Else) })
	s.merge(body, elif, otherwise)
}

// target visits the target of an assignment; as a parameter where the scope's owner assigns it.
func (s *scope) target(x syntax.Expr, param bool) {
	switch x := x.(type) {
	case *syntax.Name:
		if param {
			s.param(x.Name)
		} else {
			s.store(x.Name)
		}
	case *syntax.AttrTarget:
		s.read(x.Name)
	case *syntax.Tuple:
		for _, item := range x.Items {
			s.target(item, param)
		}
	}
}

func (s *scope) exprs(list []syntax.Expr) {
	for _, x := range list {
		s.expr(x)
	}
}

func (s *scope) expr(x syntax.Expr) {
	children(x, s.expr)
	if name, ok := x.(*syntax.Name); ok {
		s.read(name.Name)
	}
}

// children calls visit for the direct parts of an expression, in jinja2's order.
func children(x syntax.Expr, visit func(syntax.Expr)) {
	all := func(list []syntax.Expr) {
		for _, item := range list {
			visit(item)
		}
	}
	maybe := func(list ...syntax.Expr) {
		for _, item := range list {
			if item != nil {
				visit(item)
			}
		}
	}
	args := func(a *syntax.Args) {
		all(a.Args)
		for i := range a.Keywords {
			visit(a.Keywords[i].Value)
		}
		maybe(a.Star, a.StarStar)
	}
	switch x := x.(type) {
	case *syntax.Tuple:
		all(x.Items)
	case *syntax.List:
		all(x.Items)
	case *syntax.Dict:
		for _, pair := range x.Items {
			visit(pair.Key)
			visit(pair.Value)
		}
	case *syntax.Unary:
		visit(x.X)
	case *syntax.Binary:
		visit(x.X)
		visit(x.Y)
	case *syntax.Logic:
		visit(x.X)
		visit(x.Y)
	case *syntax.Concat:
		all(x.Items)
	case *syntax.Compare:
		visit(x.X)
		for _, op := range x.Ops {
			visit(op.X)
		}
	case *syntax.Cond:
		maybe(x.Test, x.Then, x.Else)
	case *syntax.Attr:
		visit(x.X)
	case *syntax.Item:
		visit(x.X)
		visit(x.Index)
	case *syntax.Slice:
		maybe(x.Start, x.Stop, x.Step)
	case *syntax.Call:
		visit(x.Func)
		args(&x.Args)
	case *syntax.Filter:
		maybe(x.X)
		args(&x.Args)
	case *syntax.Test:
		visit(x.X)
		args(&x.Args)
	}
}

// walker goes through a whole subtree in the order of jinja2's node fields, nested scopes included.
type walker struct {
	read  func(*syntax.Name)
	store func(*syntax.Name, bool) // a name assigned to; true: as a parameter
	block func(*syntax.Block) bool // false: do not go into the block
}

func (w *walker) expr(x syntax.Expr) {
	if x == nil {
		return
	}
	if name, ok := x.(*syntax.Name); ok {
		if w.read != nil {
			w.read(name)
		}
		return
	}
	children(x, w.expr)
}

func (w *walker) exprs(list []syntax.Expr) {
	for _, x := range list {
		w.expr(x)
	}
}

func (w *walker) target(x syntax.Expr, param bool) {
	switch x := x.(type) {
	case *syntax.Name:
		if w.store != nil {
			w.store(x, param)
		}
	case *syntax.Tuple:
		for _, item := range x.Items {
			w.target(item, param)
		}
	}
}

func (w *walker) params(ps *syntax.Params) {
	for _, p := range ps.Params {
		w.target(p, true)
	}
	w.exprs(ps.Defaults)
}

func (w *walker) stmts(body []syntax.Stmt) {
	for _, n := range body {
		w.stmt(n)
	}
}

func (w *walker) stmt(n syntax.Stmt) {
	switch n := n.(type) {
	case *syntax.Output:
		w.exprs(n.Parts)
	case *syntax.If:
		w.expr(n.Test)
		w.stmts(n.Body)
		for _, branch := range n.Elif {
			w.stmt(branch)
		}
		w.stmts(n.Else)
	case *syntax.For:
		w.target(n.Target, false)
		w.expr(n.Iter)
		w.stmts(n.Body)
		w.stmts(n.Else)
		w.expr(n.Test)
	case *syntax.Macro:
		w.params(&n.Params)
		w.stmts(n.Body)
	case *syntax.CallBlock:
		w.expr(n.Call)
		w.params(&n.Params)
		w.stmts(n.Body)
	case *syntax.FilterBlock:
		w.stmts(n.Body)
		w.expr(n.Filter)
	case *syntax.With:
		for _, t := range n.Targets {
			w.target(t, true)
		}
		w.exprs(n.Values)
		w.stmts(n.Body)
	case *syntax.Assign:
		w.target(n.Target, false)
		w.expr(n.Value)
	case *syntax.AssignBlock:
		w.target(n.Target, false)
		if n.Filter != nil {
			w.expr(n.Filter)
		}
		w.stmts(n.Body)
	case *syntax.Block:
		if w.block == nil || w.block(n) {
			w.stmts(n.Body)
		}
	case *syntax.Extends:
		w.expr(n.Template)
	case *syntax.Include:
		w.expr(n.Template)
	case *syntax.Import:
		w.expr(n.Template)
	case *syntax.FromImport:
		w.expr(n.Template)
	case *syntax.Autoescape:
		w.expr(n.On)
		w.stmts(n.Body)
	case *syntax.Generation:
		w.stmts(n.Body)
	}
}

// undeclared reports which of the special names a body reads before it assigns them (jinja2's
// find_undeclared).
func undeclared(body []syntax.Stmt, names ...string) map[string]bool {
	state := map[string]bool{} // present: still looked for; true: read
	for _, name := range names {
		state[name] = false
	}
	w := walker{
		read: func(n *syntax.Name) {
			if _, ok := state[n.Name]; ok {
				state[n.Name] = true
			}
		},
		store: func(n *syntax.Name, _ bool) {
			if !state[n.Name] {
				delete(state, n.Name)
			}
		},
		block: func(*syntax.Block) bool { return false },
	}
	w.stmts(body)
	return state
}
