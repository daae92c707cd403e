package syntax

import "iter"

// All yields all nodes of a template, each before those below it.
func (t *Template) All() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, n := range t.Body {
			if !each(n, yield) {
				return
			}
		}
	}
}

// All yields a node and all nodes below it, each before those below it.
func All(n Node) iter.Seq[Node] {
	return func(yield func(Node) bool) { each(n, yield) }
}

// each reports whether all nodes from a node down were wanted.
func each(n Node, yield func(Node) bool) bool {
	if !yield(n) {
		return false
	}
	more := true
	Each(n, func(c Node) { more = more && each(c, yield) })
	return more
}

// IsName reports whether an expression is a name.
func IsName(x Expr, name string) bool {
	n, ok := x.(*Name)
	return ok && n.Name == name
}

// Children returns the nodes right below a node, in the order of the source as far as the tree
// keeps it.
func Children(n Node) (all []Node) {
	Each(n, func(c Node) { all = append(all, c) })
	return all
}

// Each visits the nodes right below a node in that order.
func Each(n Node, visit func(Node)) {
	add := func(xs ...Expr) {
		for _, x := range xs {
			if x != nil {
				visit(x)
			}
		}
	}
	body := func(body []Stmt) {
		for _, s := range body {
			visit(s)
		}
	}
	args := func(a *Args) {
		add(a.Args...)
		for i := range a.Keywords {
			visit(a.Keywords[i].Value)
		}
		add(a.Star, a.StarStar)
	}
	params := func(p *Params) {
		for _, name := range p.Params {
			visit(name)
		}
		add(p.Defaults...)
	}
	switch n := n.(type) {
	case *Tuple:
		add(n.Items...)
	case *List:
		add(n.Items...)
	case *Dict:
		for _, pair := range n.Items {
			add(pair.Key, pair.Value)
		}
	case *Unary:
		add(n.X)
	case *Binary:
		add(n.X, n.Y)
	case *Logic:
		add(n.X, n.Y)
	case *Concat:
		add(n.Items...)
	case *Compare:
		add(n.X)
		for _, op := range n.Ops {
			add(op.X)
		}
	case *Cond:
		add(n.Then, n.Test, n.Else)
	case *Attr:
		add(n.X)
	case *Item:
		add(n.X, n.Index)
	case *Slice:
		add(n.Start, n.Stop, n.Step)
	case *Call:
		add(n.Func)
		args(&n.Args)
	case *Filter:
		add(n.X)
		args(&n.Args)
	case *Test:
		add(n.X)
		args(&n.Args)
	case *Output:
		add(n.Parts...)
	case *If:
		add(n.Test)
		body(n.Body)
		for _, branch := range n.Elif {
			visit(branch)
		}
		body(n.Else)
	case *For:
		add(n.Target, n.Iter, n.Test)
		body(n.Body)
		body(n.Else)
	case *Macro:
		params(&n.Params)
		body(n.Body)
	case *CallBlock:
		params(&n.Params)
		add(n.Call)
		body(n.Body)
	case *FilterBlock:
		add(n.Filter)
		body(n.Body)
	case *With:
		for i := range n.Targets {
			add(n.Targets[i], n.Values[i])
		}
		body(n.Body)
	case *Assign:
		add(n.Target, n.Value)
	case *AssignBlock:
		add(n.Target)
		if n.Filter != nil {
			add(n.Filter)
		}
		body(n.Body)
	case *Block:
		body(n.Body)
	case *Extends:
		add(n.Template)
	case *Include:
		add(n.Template)
	case *Import:
		add(n.Template)
	case *FromImport:
		add(n.Template)
	case *Autoescape:
		add(n.On)
		body(n.Body)
	case *Generation:
		body(n.Body)
	}
}

// Assigned returns the names that a statement gives values to in the scope around it or in its own
// body: the targets of set, for and with, not of the statements inside it. A macro's name and
// parameters are not among them.
func Assigned(n Node) []string {
	switch n := n.(type) {
	case *Assign:
		return targetNames(nil, n.Target)
	case *AssignBlock:
		return targetNames(nil, n.Target)
	case *For:
		return targetNames(nil, n.Target)
	case *With:
		return targetNames(nil, n.Targets...)
	}
	return nil
}

// targetNames adds the names of targets; an attribute is no name.
func targetNames(names []string, targets ...Expr) []string {
	for _, t := range targets {
		switch t := t.(type) {
		case *Name:
			names = append(names, t.Name)
		case *Tuple:
			names = targetNames(names, t.Items...)
		}
	}
	return names
}
