package flow

import (
	"github.com/goassay/assay/engine/jinja/syntax"
)

// Names are scoped before a template runs, as jinja2 does it (idtracking.py of 3.1.2): a scope is
// analysed as a whole, and a name that it stores anywhere is its own variable everywhere in it.
// This file keeps jinja2's rules to the letter, the odd ones included, because templates depend on
// them without knowing.

// Load is the way in which a scope's variable gets its value when the scope is entered.
type Load uint8

// The ways.
const (
	Parameter Load = iota // the code that enters the scope sets it
	Input                 // it is the input variable or global of that name
	Outer                 // it is a copy of the enclosing scope's variable of that name
	Nothing               // it has no value
)

// Variable is a name that a scope owns.
type Variable struct {
	Name   string
	Scope  *Scope
	Load   Load
	Stored bool      // assigned somewhere in the scope
	Alias  *Variable // the variable that Outer copies

	// For the compiler.
	IsLoop bool // the variable loop of an extended loop
	Kept   bool // read as a whole, not only for a field
	Slot   int  // place in the function's frame; -1: not yet given
}

// Scope is jinja2's Symbols: the names that one scope refers to or stores.
type Scope struct {
	Parent *Scope
	Frame  int // the number of the function whose frame holds the variables
	Level  int
	Space  int // tells apart scopes of one level whose variables must not share a slot
	Vars   map[string]*Variable
	Order  []*Variable // in order of their first appearance
	branch *symbols    // of the branch of an if being analysed, if any
}

// symbols are the changes of one branch of an if to a scope.
type symbols struct {
	outer   *symbols
	created []*Variable
	stored  []*Variable
}

// NewScope returns a scope inside another one; nil: inside none.
func NewScope(parent *Scope, frame int) *Scope {
	s := &Scope{Parent: parent, Frame: frame}
	if parent != nil {
		s.Level = parent.Level + 1
	}
	return s
}

// Find returns the variable that a name stands for; nil: it was not met yet.
func (s *Scope) Find(name string) *Variable {
	for ; s != nil; s = s.Parent {
		if v := s.Vars[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *Scope) define(name string, l Load) *Variable {
	v := s.Vars[name]
	if v == nil {
		v = &Variable{Name: name, Scope: s, Slot: -1}
		s.add(v)
	}
	v.Load = l
	return v
}

func (s *Scope) add(v *Variable) {
	if s.Vars == nil {
		s.Vars = map[string]*Variable{}
	}
	s.Vars[v.Name] = v
	s.Order = append(s.Order, v)
	if s.branch != nil {
		s.branch.created = append(s.branch.created, v)
	}
}

func (s *Scope) markStored(v *Variable) {
	if !v.Stored {
		v.Stored = true
		if s.branch != nil {
			s.branch.stored = append(s.branch.stored, v)
		}
	}
}

// read notes that a name is read.
func (s *Scope) read(name string) {
	if s.Find(name) == nil {
		s.define(name, Input)
	}
}

// store notes that a name is assigned.
func (s *Scope) store(name string) {
	v := s.Vars[name]
	if v == nil {
		if outer := s.Parent.Find(name); outer != nil {
			v = s.define(name, Outer)
			v.Alias = outer
		} else {
			v = s.define(name, Nothing)
		}
	}
	s.markStored(v)
}

// Param declares a name that is set on entry.
func (s *Scope) Param(name string) *Variable {
	v := s.define(name, Parameter)
	s.markStored(v)
	return v
}

// unchanged are the symbols of a branch of nothing.
var unchanged symbols

// analyse runs over one branch of an if and takes its effects back, to be merged with the other
// branches'.
func (s *Scope) analyse(body []syntax.Stmt, elif []*syntax.If) *symbols {
	if len(body)+len(elif) == 0 {
		return &unchanged
	}
	b := &symbols{outer: s.branch}
	s.branch = b
	s.Stmts(body)
	for _, branch := range elif {
		s.ifStmt(branch)
	}
	s.branch = b.outer
	for _, v := range b.created {
		delete(s.Vars, v.Name)
	}
	s.Order = s.Order[:len(s.Order)-len(b.created)]
	for _, v := range b.stored {
		v.Stored = false
	}
	return b
}

// merge joins the branches of an if: a name that only some of them store falls back to the value
// outside.
func (s *Scope) merge(branches ...*symbols) {
	stores := map[string]int{}
	var names []string
	for _, b := range branches {
		for _, v := range b.stored {
			if stores[v.Name]++; stores[v.Name] == 1 {
				names = append(names, v.Name)
			}
		}
	}
	for _, b := range branches {
		for _, v := range b.created {
			if old := s.Vars[v.Name]; old != nil {
				old.Load, old.Alias = v.Load, v.Alias
			} else {
				s.add(v)
			}
		}
	}
	for _, name := range names {
		v := s.Vars[name]
		s.markStored(v)
		if stores[name] == len(branches) {
			continue
		}
		v.Load, v.Alias = Input, nil
		if outer := s.Parent.Find(name); outer != nil {
			v.Load, v.Alias = Outer, outer
		}
	}
}

// The visitor of jinja2's FrameSymbolVisitor: it stops where another scope begins.

// Stmts notes the names that statements read and store in the scope.
func (s *Scope) Stmts(body []syntax.Stmt) {
	for _, n := range body {
		s.stmt(n)
	}
}

func (s *Scope) stmt(n syntax.Stmt) {
	switch n := n.(type) {
	case *syntax.Output:
		s.Exprs(n.Parts)
	case *syntax.If:
		s.ifStmt(n)
	case *syntax.For:
		s.Expr(n.Iter)
	case *syntax.Macro:
		s.store(n.Name)
	case *syntax.CallBlock:
		s.Expr(n.Call)
	case *syntax.FilterBlock:
		s.Expr(n.Filter)
	case *syntax.With:
		s.Exprs(n.Values)
	case *syntax.Assign:
		s.Expr(n.Value)
		s.Target(n.Target, false)
	case *syntax.AssignBlock:
		s.Target(n.Target, false)
	case *syntax.Extends:
		s.Expr(n.Template)
	case *syntax.Include:
		s.Expr(n.Template)
	case *syntax.Import:
		s.Expr(n.Template)
		s.store(n.Target)
	case *syntax.FromImport:
		s.Expr(n.Template)
		for _, alias := range n.Names {
			s.store(alias.As)
		}
	}
}

func (s *Scope) ifStmt(n *syntax.If) {
	s.Expr(n.Test)
	s.merge(s.analyse(n.Body, nil), s.analyse(nil, n.Elif), s.analyse(n.Else, nil))
}

// Target visits the target of an assignment; as a parameter where the scope's owner assigns it.
func (s *Scope) Target(x syntax.Expr, param bool) {
	switch x := x.(type) {
	case *syntax.Name:
		if param {
			s.Param(x.Name)
		} else {
			s.store(x.Name)
		}
	case *syntax.AttrTarget:
		s.read(x.Name)
	case *syntax.Tuple:
		for _, item := range x.Items {
			s.Target(item, param)
		}
	}
}

// Exprs notes the names that expressions read.
func (s *Scope) Exprs(list []syntax.Expr) {
	for _, x := range list {
		s.Expr(x)
	}
}

// Expr notes the names that an expression reads, in jinja2's order.
func (s *Scope) Expr(x syntax.Expr) {
	eachOperand(x, s.Expr)
	if name, ok := x.(*syntax.Name); ok {
		s.read(name.Name)
	}
}

// eachOperand visits the direct operands of an expression, in jinja2's order.
func eachOperand(x syntax.Expr, visit func(syntax.Expr)) {
	if c, ok := x.(*syntax.Cond); ok { // the condition is evaluated first
		visit(c.Test)
		visit(c.Then)
		if c.Else != nil {
			visit(c.Else)
		}
		return
	}
	syntax.Each(x, func(n syntax.Node) { visit(n.(syntax.Expr)) })
}

// Visitor goes through a whole subtree in the order of jinja2's node fields, nested scopes
// included.
type Visitor struct {
	Read  func(*syntax.Name)
	Store func(*syntax.Name, bool) // a name assigned to; true: as a parameter
	Block func(*syntax.Block) bool // false: do not go into the block
}

func (w *Visitor) expr(x syntax.Expr) {
	if x == nil {
		return
	}
	if name, ok := x.(*syntax.Name); ok {
		if w.Read != nil {
			w.Read(name)
		}
		return
	}
	eachOperand(x, w.expr)
}

func (w *Visitor) exprs(list []syntax.Expr) {
	for _, x := range list {
		w.expr(x)
	}
}

func (w *Visitor) target(x syntax.Expr, param bool) {
	switch x := x.(type) {
	case *syntax.Name:
		if w.Store != nil {
			w.Store(x, param)
		}
	case *syntax.Tuple:
		for _, item := range x.Items {
			w.target(item, param)
		}
	}
}

func (w *Visitor) params(ps *syntax.Params) {
	for _, p := range ps.Params {
		w.target(p, true)
	}
	w.exprs(ps.Defaults)
}

func (w *Visitor) node(n syntax.Node) {
	switch n := n.(type) {
	case syntax.Stmt:
		w.Stmt(n)
	case syntax.Expr:
		w.expr(n)
	}
}

// Stmts goes through statements.
func (w *Visitor) Stmts(body []syntax.Stmt) {
	for _, n := range body {
		w.Stmt(n)
	}
}

// Stmt goes through a statement.
func (w *Visitor) Stmt(n syntax.Stmt) {
	switch n := n.(type) {
	case *syntax.For:
		w.target(n.Target, false)
		w.expr(n.Iter)
		w.Stmts(n.Body)
		w.Stmts(n.Else)
		w.expr(n.Test)
	case *syntax.Macro:
		w.params(&n.Params)
		w.Stmts(n.Body)
	case *syntax.CallBlock:
		w.expr(n.Call)
		w.params(&n.Params)
		w.Stmts(n.Body)
	case *syntax.FilterBlock:
		w.Stmts(n.Body)
		w.expr(n.Filter)
	case *syntax.With:
		for _, t := range n.Targets {
			w.target(t, true)
		}
		w.exprs(n.Values)
		w.Stmts(n.Body)
	case *syntax.Assign:
		w.target(n.Target, false)
		w.expr(n.Value)
	case *syntax.AssignBlock:
		w.target(n.Target, false)
		if n.Filter != nil {
			w.expr(n.Filter)
		}
		w.Stmts(n.Body)
	case *syntax.Block:
		if w.Block == nil || w.Block(n) {
			w.Stmts(n.Body)
		}
	default:
		syntax.Each(n, w.node)
	}
}

// Undeclared reports which of the special names a body reads before it assigns them (jinja2's
// find_undeclared). Reads are the names that are read anywhere in the template.
func Undeclared(body []syntax.Stmt, reads map[string]bool, names ...string) map[string]bool {
	state := map[string]bool{} // present: still looked for; true: read
	for _, name := range names {
		if reads[name] {
			state[name] = false
		}
	}
	if len(state) == 0 {
		return state
	}
	w := Visitor{
		Read: func(n *syntax.Name) {
			if _, ok := state[n.Name]; ok {
				state[n.Name] = true
			}
		},
		Store: func(n *syntax.Name, _ bool) {
			if !state[n.Name] {
				delete(state, n.Name)
			}
		},
		Block: func(*syntax.Block) bool { return false },
	}
	w.Stmts(body)
	return state
}
