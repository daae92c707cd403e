package flow

import (
	"iter"
	"slices"
	"strconv"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// String is a text that stands in a template.
type String struct {
	Off    int
	Text   string
	Quoted bool // in an expression; else it is the template's own text
}

// Strings yields the texts of a template.
func (m *Model) Strings() iter.Seq[String] {
	return func(yield func(String) bool) {
		for n := range m.Tree.All() {
			if c, ok := n.(*syntax.Const); ok && c.Kind >= syntax.String &&
				!yield(String{c.Offset(), c.Text, c.Kind == syntax.String}) {
				return
			}
		}
	}
}

// Compared returns the texts and the whole numbers that stand in comparisons with each variable.
func (m *Model) Compared() map[string][]Literal {
	all := map[string][]Literal{}
	for n := range m.Tree.All() {
		c, ok := n.(*syntax.Compare)
		if !ok {
			continue
		}
		var names []string
		var literals []Literal
		for n := range syntax.All(c) {
			switch n := n.(type) {
			case *syntax.Name:
				names = append(names, n.Name)
			case *syntax.Const:
				if n.Kind == syntax.String || n.Kind == syntax.Int {
					isInt := n.Kind == syntax.Int
					literals = append(literals, Literal{n.Text, isInt, isInt})
				}
			}
		}
		for _, name := range names {
			all[name] = append(all[name], literals...)
		}
	}
	return all
}

// Numbers returns the whole numbers that a template names, each once, without those that indent
// JSON, and without those that it compares with switches alone. A switch is a variable that
// requests set; sized are those whose size a request changes.
func (m *Model) Numbers(sized []string) (all []int) {
	others, bound := map[syntax.Node]bool{}, map[string]bool{}
	for n := range m.Tree.All() {
		for _, name := range syntax.Assigned(n) {
			bound[name] = bound[name] || !isDefault(n, name)
		}
		var params []*syntax.Name
		switch n := n.(type) {
		case *syntax.Macro:
			params = n.Params.Params
		case *syntax.CallBlock:
			params = n.Params.Params
		}
		for _, p := range params {
			bound[p.Name] = true
		}
	}
	for n := range m.Tree.All() {
		switch n := n.(type) {
		case *syntax.Filter:
			if n.Name != "tojson" {
				continue
			}
			for _, arg := range n.Args.Args {
				others[arg] = true
			}
			for _, arg := range n.Keywords {
				others[arg.Value] = true
			}
		case *syntax.Compare:
			if !ofSwitches(n, sized, bound) {
				continue
			}
			for part := range syntax.All(n) {
				others[part] = true
			}
		case *syntax.Const:
			if i, ok := wholeNumber(n); ok && !others[n] && !slices.Contains(all, i) {
				all = append(all, i)
			}
		}
	}
	return all
}

// wholeNumber returns a whole number that stands in a template.
func wholeNumber(c *syntax.Const) (n int, ok bool) {
	n, err := strconv.Atoi(c.Text)
	return n, err == nil && c.Kind == syntax.Int
}

// isDefault reports whether a statement does no more to a variable than to give it a value where a
// request has none.
func isDefault(n syntax.Node, name string) bool {
	a, ok := n.(*syntax.Assign)
	if !ok {
		return false
	}
	for part := range syntax.All(a.Value) {
		switch part := part.(type) {
		case *syntax.Const:
		case *syntax.Name:
			ok = ok && part.Name == name
		case *syntax.Filter:
			ok = ok && (part.Name == "default" || part.Name == "int")
		case *syntax.Unary:
		default:
			return false
		}
	}
	return ok
}

// ofSwitches reports whether a comparison is one of nothing but constants and variables that a
// request alone sets: no size of a request comes into it.
func ofSwitches(c *syntax.Compare, sized []string, bound map[string]bool) bool {
	some := false
	for n := range syntax.All(c) {
		switch n := n.(type) {
		case *syntax.Compare, *syntax.Const:
		case *syntax.Name:
			if slices.Contains(sized, n.Name) || bound[n.Name] {
				return false
			}
			some = true
		default:
			return false
		}
	}
	return some
}

// Thresholds returns where the conditions stand that compare with a large number, which is at least
// least, or with a variable that the template sets to one: of a loop, what it goes through. Loose
// are the comparisons with such a number in no condition.
func (m *Model) Thresholds(least int) (conditions map[int]bool, loose []int) {
	limits := map[string]bool{} // variables that the template sets to a number
	for n := range m.Tree.All() {
		if a, ok := n.(*syntax.Assign); ok && isLarge(a.Value, least) {
			for _, name := range syntax.Assigned(a) {
				limits[name] = true
			}
		}
	}
	large := func(x syntax.Expr) bool {
		for n := range syntax.All(x) {
			if name, ok := n.(*syntax.Name); isLarge(n, least) || ok && limits[name.Name] {
				return true
			}
		}
		return false
	}
	conditions = map[int]bool{}
	inside := map[syntax.Node]bool{} // what is in one
	condition := func(x syntax.Expr) {
		if large(x) {
			conditions[x.Offset()] = true
			for n := range syntax.All(x) {
				inside[n] = true
			}
		}
	}
	for n := range m.Tree.All() {
		switch n := n.(type) {
		case *syntax.If:
			condition(n.Test)
		case *syntax.Cond:
			condition(n.Test)
		case *syntax.For:
			condition(n.Iter)
		case *syntax.Compare:
			if !inside[n] && large(n) {
				loose = append(loose, n.Offset())
			}
		}
	}
	return conditions, loose
}

// isLarge reports whether an expression is a number that is no small one, or makes one of such.
func isLarge(x syntax.Node, least int) bool {
	switch x := x.(type) {
	case *syntax.Const:
		n, err := strconv.Atoi(x.Text)
		return x.Kind == syntax.Int && (err != nil || n >= least)
	case *syntax.Binary:
		_, place := x.X.(*syntax.Call) // of a text that is searched for, moved by its length
		return !place && (isLarge(x.X, least) || isLarge(x.Y, least))
	}
	return false
}
