package conversation

import (
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// slice is the part of a template that a decision depends on: its condition, the statements that
// set the variables which the condition names, the conditions around those, and so on. It is a
// guess from names alone, without scopes, and guides a search; nothing is concluded from it.
type slice struct {
	levels map[int]int     // how many steps each place is away from the condition, by offset
	values []ordered.Value // the literals in it, nearest first
}

// maxLevel bounds how far a slice goes.
const maxLevel = 5

// definition is an expression that a variable may hold, or that decides whether it does.
type definition struct {
	node   syntax.Node
	around []syntax.Expr
	into   []string // of a text: the variables that its value goes into
}

// slicer finds the slices of a template's decisions.
type slicer struct {
	definitions map[string][]definition // by name; "ns.found" for a namespace's attributes
	uses        map[string][]definition // where variables are read, by name
	macros      map[string]*syntax.Macro
	decisions   map[decisionKey]decision
	texts       map[int]bool // where the texts stand that are decisions
}

type decisionKey struct {
	kind jinja.SiteKind
	off  int
}

// decision is a definition of an outcome, and the outcome of another decision that it stands in.
type decision struct {
	definition
	in branch
}

// branch is an outcome of a decision. The zero branch is the template itself.
type branch struct {
	decisionKey
	outcome jinja.Outcome
	set     bool // it is not the zero branch
	macro   bool // it is the body of a macro
}

// scope is where a statement stands.
type scope struct {
	around []syntax.Expr // the conditions
	in     branch
	root   syntax.Node // the whole of an expression of the statement
	into   []string    // the variables that its value goes into
}

// under returns the scope of a branch inside.
func (s scope) under(key decisionKey, o jinja.Outcome, conditions ...syntax.Expr) scope {
	return scope{around: append(slices.Clip(s.around), conditions...),
		in: branch{decisionKey: key, outcome: o, set: true}, into: s.into}
}

func newSlicer(src *source.Source, sites []jinja.Site) *slicer {
	s := &slicer{map[string][]definition{}, map[string][]definition{}, map[string]*syntax.Macro{},
		map[decisionKey]decision{}, map[int]bool{}}
	for _, site := range sites {
		if site.Kind == jinja.SiteText {
			s.texts[site.Off] = true
		}
	}
	tree, err := syntax.Parse(src)
	if err != nil {
		return s // it has no decisions, either
	}
	for n := range tree.All() {
		if m, ok := n.(*syntax.Macro); ok {
			s.macros[m.Name] = m
		}
	}
	s.body(tree.Body, scope{})
	return s
}

func (s *slicer) body(body []syntax.Stmt, at scope) {
	for _, n := range body {
		at.root = nil
		s.visit(n, at)
	}
}

// names returns the variables that a target gives a value.
func names(target syntax.Expr) (all []string) {
	switch t := target.(type) {
	case *syntax.Name:
		return []string{t.Name}
	case *syntax.AttrTarget:
		return []string{t.Name + "." + t.Attr}
	case *syntax.Tuple:
		for _, item := range t.Items {
			all = append(all, names(item)...)
		}
	}
	return all
}

// define notes a value that the targets of an assignment may get.
func (s *slicer) define(target, value syntax.Node, around []syntax.Expr) {
	switch t := target.(type) {
	case *syntax.Name:
		s.definitions[t.Name] = append(s.definitions[t.Name],
			definition{node: value, around: around})
	case *syntax.AttrTarget:
		name := t.Name + "." + t.Attr
		s.definitions[name] = append(s.definitions[name], definition{node: value, around: around})
	case *syntax.Tuple:
		for _, item := range t.Items {
			s.define(item, value, around)
		}
	}
}

func (s *slicer) visit(n syntax.Node, at scope) {
	around := at.around
	if _, ok := n.(syntax.Expr); ok && at.root == nil {
		at.root = n
	}
	switch n := n.(type) {
	case *syntax.Const:
		if s.texts[n.Offset()] {
			s.decisions[decisionKey{jinja.SiteText, n.Offset()}] = decision{
				definition{at.root, around, at.into}, at.in}
		}
	case *syntax.Name:
		s.uses[n.Name] = append(s.uses[n.Name], definition{at.root, around, at.into})
	case *syntax.If:
		key := decisionKey{jinja.SiteIf, n.Offset()}
		s.decisions[key] = decision{definition{node: n.Test, around: around}, at.in}
		s.visit(n.Test, at)
		s.body(n.Body, at.under(key, jinja.True, n.Test))
		rest := at.under(key, jinja.False, n.Test)
		for _, other := range n.Elif {
			key := decisionKey{jinja.SiteElif, other.Offset()}
			s.decisions[key] = decision{
				definition{node: other.Test, around: rest.around}, rest.in}
			s.visit(other.Test, rest)
			s.body(other.Body, rest.under(key, jinja.True, other.Test))
			rest = rest.under(key, jinja.False, other.Test)
		}
		s.body(n.Else, rest)
		return
	case *syntax.For:
		key := decisionKey{jinja.SiteFor, n.Offset()}
		s.decisions[key] = decision{definition{node: n, around: around}, at.in}
		s.define(n.Target, n.Iter, around)
		over := at
		over.into = names(n.Target)
		s.visit(n.Iter, over)
		inner := at.under(key, jinja.Entered, n.Iter)
		if n.Test != nil {
			s.visit(n.Test, at)
			inner = at.under(key, jinja.Entered, n.Iter, n.Test)
		}
		s.body(n.Body, inner)
		s.body(n.Else, at.under(key, jinja.Empty))
		return
	case *syntax.Cond:
		key := decisionKey{jinja.SiteCond, n.Offset()}
		s.decisions[key] = decision{definition{node: n.Test, around: around}, at.in}
	case *syntax.Assign:
		s.define(n.Target, n.Value, around)
		at.into = names(n.Target)
		if call, ok := n.Value.(*syntax.Call); ok {
			if target, ok := n.Target.(*syntax.Name); ok {
				for _, k := range call.Keywords { // set ns = namespace(found=false)
					name := target.Name + "." + k.Name
					s.definitions[name] = append(s.definitions[name],
						definition{node: k.Value, around: around})
					at.into = append(at.into, name)
				}
			}
		}
	case *syntax.AssignBlock:
		s.define(n.Target, n, around)
		at.into = names(n.Target)
	case *syntax.With:
		for i := range n.Targets {
			s.define(n.Targets[i], n.Values[i], around)
			at.into = append(slices.Clip(at.into), names(n.Targets[i])...)
		}
	case *syntax.Call:
		if f, ok := n.Func.(*syntax.Name); ok && s.macros[f.Name] != nil {
			m := s.macros[f.Name]
			for i, a := range n.Args.Args {
				if i < len(m.Params.Params) {
					s.define(m.Params.Params[i], a, around)
				}
			}
			for _, k := range n.Keywords {
				s.definitions[k.Name] = append(s.definitions[k.Name],
					definition{node: k.Value, around: around})
			}
			for _, p := range m.Params.Params {
				at.into = append(slices.Clip(at.into), p.Name)
			}
		}
	case *syntax.Attr:
		if x, ok := n.X.(*syntax.Name); ok {
			name := x.Name + "." + n.Name
			s.uses[name] = append(s.uses[name], definition{at.root, around, at.into})
		}
	case *syntax.Macro:
		at = scope{in: branch{macro: true}} // the conditions are those where it is called
		at.into = []string{n.Name}
		for _, p := range n.Params.Params {
			at.into = append(at.into, p.Name) // those of the defaults
		}
	}
	for _, c := range syntax.Children(n) {
		s.visit(c, at)
	}
}

// slice returns the slice of a decision.
func (s *slicer) slice(site jinja.Site) *slice {
	out := &slice{levels: map[int]int{}}
	d, ok := s.decisions[decisionKey{site.Kind, site.Off}]
	if !ok {
		return out
	}
	seen := map[string]bool{}
	now := []definition{d.definition}
	for i := 0; i < len(now); i++ { // where the value of a text goes counts as it does
		for _, into := range now[i].into {
			if key := "use " + into; !seen[key] {
				seen[key] = true
				now = append(now, s.uses[into]...)
			}
		}
	}
	for level := 0; level < maxLevel && len(now) > 0; level++ {
		var next []definition
		name := func(key string) {
			if !seen[key] {
				seen[key] = true
				next = append(next, s.definitions[key]...)
			}
		}
		var walk func(n syntax.Node)
		walk = func(n syntax.Node) {
			if n == nil {
				return
			}
			if _, ok := out.levels[n.Offset()]; !ok {
				out.levels[n.Offset()] = level
			}
			switch n := n.(type) {
			case *syntax.Name:
				name(n.Name)
				if m := s.macros[n.Name]; m != nil && !seen["macro "+n.Name] {
					seen["macro "+n.Name] = true
					for _, b := range m.Body {
						next = append(next, definition{node: b})
					}
				}
			case *syntax.Attr:
				if x, ok := n.X.(*syntax.Name); ok {
					name(x.Name + "." + n.Name)
				}
			case *syntax.Const:
				out.literal(n)
			}
			for _, c := range syntax.Children(n) {
				walk(c)
			}
		}
		for _, d := range now {
			if loop, ok := d.node.(*syntax.For); ok && level == 0 {
				walk(loop.Iter)
				if loop.Test != nil {
					walk(loop.Test)
				}
			} else {
				walk(d.node)
			}
			for _, e := range d.around {
				next = append(next, definition{node: e})
			}
		}
		now = next
	}
	return out
}

// maxValues bounds the literals of a slice.
const maxValues = 24

// literal notes a literal, and of a number those beside it.
func (s *slice) literal(c *syntax.Const) {
	add := func(v ordered.Value) {
		if len(s.values) < maxValues && !slices.ContainsFunc(s.values,
			func(o ordered.Value) bool { return o.String() == v.String() }) {
			s.values = append(s.values, v)
		}
	}
	switch c.Kind {
	case syntax.String:
		add(text(c.Text))
	case syntax.Int:
		if n, err := strconv.Atoi(c.Text); err == nil {
			add(ordered.Int(n))
			add(ordered.Int(n + 1))
			add(ordered.Int(n - 1))
		}
	case syntax.Float:
		add(ordered.Num(c.Text))
	}
}
