package jinja

import (
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// A text of the template is written as soon as its statement is reached, unless it is a value, or
// a part of one, that is chosen on the way: an operand of and, or, default or a multiplication, an
// item of a list, the value of a variable, the body of a macro. Such a text is a site of its own
// ([SiteText]), and a render that writes it reaches it.

// use is the way in which the value of an expression may be written.
type use uint8

const (
	surely  use = iota // wherever its statement is reached
	asKeyed            // members of it, under the names that somebody asks for
	asItem             // any item of it
	asWhole            // it, with all that is in it
)

// chosen is the use of a value of which another one may take the place.
func (u use) chosen() use {
	if u == surely {
		return asWhole
	}
	return u
}

// chooser finds the texts that are sites. It goes by the names of variables, without scopes, and
// rather finds too many.
type chooser struct {
	texts  map[*syntax.Const]bool
	macros map[string][]*syntax.Macro
	// of variables, by name; "ns.found" for attributes, ".found" for members
	values map[string][]syntax.Expr
	uses   map[string]use // of variables whose values may be written
	found  []string       // of these, the ones whose values are still to be looked at
}

// chosenTexts returns the texts that are sites.
func chosenTexts(tree *syntax.Template) map[*syntax.Const]bool {
	c := &chooser{map[*syntax.Const]bool{}, map[string][]*syntax.Macro{},
		map[string][]syntax.Expr{}, map[string]use{}, nil}
	for n := range tree.All() {
		if m, ok := n.(*syntax.Macro); ok {
			c.macros[m.Name] = append(c.macros[m.Name], m)
		}
	}
	for _, n := range tree.Body {
		c.visit(n, false)
	}
	for len(c.found) > 0 {
		name := c.found[len(c.found)-1]
		c.found = c.found[:len(c.found)-1]
		for _, x := range c.values[name] {
			c.value(x, c.uses[name])
		}
	}
	return c.texts
}

// visit notes the values of variables and the uses of values. A captured statement writes into a
// value.
func (c *chooser) visit(n syntax.Node, captured bool) {
	switch n := n.(type) {
	case *syntax.Output:
		how := surely
		if captured {
			how = asWhole
		}
		for _, x := range n.Parts {
			c.value(x, how)
		}
	case *syntax.For:
		c.bind(n.Target, n.Iter)
	case *syntax.With:
		for i, t := range n.Targets {
			c.bind(t, n.Values[i])
		}
	case *syntax.Assign:
		c.bind(n.Target, n.Value)
	case *syntax.Macro:
		for i, x := range n.Defaults {
			c.bind(n.Params.Params[len(n.Params.Params)-len(n.Defaults)+i], x)
		}
		captured = true
	case *syntax.CallBlock:
		captured = true
	case *syntax.FilterBlock:
		c.value(n.Filter, asWhole)
		captured = true
	case *syntax.AssignBlock:
		if n.Filter != nil {
			c.value(n.Filter, asWhole)
		}
		captured = true
	case *syntax.Call:
		c.called(n)
	case *syntax.Dict:
		for _, pair := range n.Items {
			if key := keyOf(pair.Key); key != "" {
				c.values["."+key] = append(c.values["."+key], pair.Value)
			}
		}
	}
	for _, inner := range syntax.Children(n) {
		c.visit(inner, captured)
	}
}

// bind notes that a target gets a value.
func (c *chooser) bind(target, value syntax.Expr) {
	switch t := target.(type) {
	case *syntax.Name:
		c.values[t.Name] = append(c.values[t.Name], value)
		if call, ok := value.(*syntax.Call); ok && syntax.IsName(call.Func, "namespace") {
			for _, k := range call.Keywords {
				name := t.Name + "." + k.Name
				c.values[name] = append(c.values[name], k.Value)
			}
		}
	case *syntax.AttrTarget:
		name := t.Name + "." + t.Attr
		c.values[name] = append(c.values[name], value)
	case *syntax.Attr: // of which a method changes the value
		if x, ok := t.X.(*syntax.Name); ok {
			name := x.Name + "." + t.Name
			c.values[name] = append(c.values[name], value)
		}
	case *syntax.Tuple:
		for _, item := range t.Items {
			c.bind(item, value)
		}
	}
}

// called binds the arguments of a macro to its parameters, and to a list or an object the values
// that a method puts into it.
func (c *chooser) called(n *syntax.Call) {
	switch f := n.Func.(type) {
	case *syntax.Name:
		for _, m := range c.macros[f.Name] {
			for i, x := range n.Args.Args {
				if i < len(m.Params.Params) {
					c.bind(m.Params.Params[i], x)
				}
			}
		}
		if len(c.macros[f.Name]) > 0 {
			for _, k := range n.Keywords {
				c.values[k.Name] = append(c.values[k.Name], k.Value)
			}
		}
	case *syntax.Attr:
		if putters[f.Name] {
			for _, x := range n.Args.Args {
				c.bind(f.X, x)
			}
			for _, k := range n.Keywords {
				c.bind(f.X, k.Value)
			}
		}
	}
}

// putters are the methods that put their arguments into a list or an object.
var putters = map[string]bool{"append": true, "extend": true, "insert": true, "update": true,
	"setdefault": true, "add": true}

// variable notes that the value of a variable may be written.
func (c *chooser) variable(name string, how use) {
	if how = how.chosen(); c.uses[name] < how {
		c.uses[name] = how
		c.found = append(c.found, name)
	}
}

// member notes that a member of a value may be written, "" of any name.
func (c *chooser) member(x syntax.Expr, key string, how use) {
	if key == "" {
		c.value(x, asItem)
		return
	}
	if name, ok := x.(*syntax.Name); ok {
		c.variable(name.Name+"."+key, how)
	}
	c.variable("."+key, how)
	c.value(x, asKeyed)
}

// text notes a text that is a value.
func (c *chooser) text(x *syntax.Const) {
	if (x.Kind == syntax.String || x.Kind == syntax.Data) &&
		strings.ContainsFunc(x.Text, unicode.IsLetter) {
		c.texts[x] = true
	}
}

// all notes that several values may be written.
func (c *chooser) all(xs []syntax.Expr, how use) {
	for _, x := range xs {
		c.value(x, how)
	}
}

const (
	manyItems = 16 // a list or an object with more items is a table,
	fewWords  = 4  // of which texts with no more words are names
)

// items notes the items of a list or an object. The names in a table, such as those of languages,
// are no sites: nobody sends a request for each.
func (c *chooser) items(xs []syntax.Expr, how use) {
	for _, x := range xs {
		k, ok := x.(*syntax.Const)
		if !ok || len(xs) <= manyItems || len(strings.Fields(k.Text)) > fewWords {
			c.value(x, how)
		}
	}
}

// value notes the texts that an expression's value may have in it.
func (c *chooser) value(x syntax.Expr, how use) {
	switch x := x.(type) {
	case *syntax.Const:
		if how != surely {
			c.text(x)
		}
	case *syntax.Name:
		c.variable(x.Name, how)
	case *syntax.Attr:
		c.member(x.X, x.Name, how)
	case *syntax.Item:
		c.member(x.X, keyOf(x.Index), how)
	case *syntax.Cond:
		c.value(x.Then, how)
		if x.Else != nil {
			c.value(x.Else, how)
		}
	case *syntax.Logic:
		if x.Op == "or" { // the first of an and is written where it is empty
			c.value(x.X, how.chosen())
		}
		c.value(x.Y, how.chosen())
	case *syntax.Concat:
		c.all(x.Items, how)
	case *syntax.Binary:
		switch x.Op {
		case "+":
			c.value(x.X, how)
			c.value(x.Y, how)
		case "*", "%":
			c.value(x.X, asWhole)
			c.value(x.Y, asWhole)
		}
	case *syntax.List:
		c.items(x.Items, how.chosen())
	case *syntax.Tuple:
		c.items(x.Items, how.chosen())
	case *syntax.Dict:
		var keys, values []syntax.Expr
		for _, pair := range x.Items {
			keys, values = append(keys, pair.Key), append(values, pair.Value)
		}
		if how = how.chosen(); how == asWhole {
			c.items(keys, asWhole)
		}
		if how != asKeyed {
			c.items(values, asWhole)
		}
	case *syntax.Filter:
		c.filtered(x, how)
	case *syntax.Call:
		c.result(x, how)
	}
}

// keyOf returns the name of a member; "" where it is not known.
func keyOf(x syntax.Expr) string {
	if k, ok := x.(*syntax.Const); ok && k.Kind == syntax.String {
		return k.Text
	}
	return ""
}

// filtered notes the texts that a filter may return.
func (c *chooser) filtered(x *syntax.Filter, how use) {
	args := x.Args.Args
	of := asWhole
	switch x.Name {
	case "length", "count", "int", "float", "round", "abs", "wordcount":
		return // numbers
	case "list", "select", "reject", "selectattr", "rejectattr", "sort", "reverse", "unique",
		"first", "last", "default", "d", "batch", "slice":
		of = how.chosen() // items as they are
	case "map", "attr":
		for _, k := range x.Keywords {
			if k.Name == "attribute" && x.X != nil {
				c.member(x.X, keyOf(k.Value), how)
				of = surely
			}
		}
	}
	if x.X != nil && of != surely {
		c.value(x.X, of)
	}
	switch x.Name {
	case "default", "d", "join", "format":
		c.all(args, asWhole)
	case "replace", "batch", "slice", "truncate", "indent", "map":
		if len(args) > 1 {
			c.all(args[1:], asWhole)
		}
	}
	for _, k := range x.Keywords {
		switch k.Name {
		case "default", "default_value", "d", "new", "fill_with":
			c.value(k.Value, asWhole)
		}
	}
}

// result notes the texts that a call may return.
func (c *chooser) result(x *syntax.Call, how use) {
	args := x.Args.Args
	f, method := x.Func.(*syntax.Attr)
	if !method {
		if name, ok := x.Func.(*syntax.Name); ok {
			switch {
			case name.Name == "raise_exception", name.Name == "strftime_now":
				return
			case len(c.macros[name.Name]) > 0:
				return // the arguments are written where the macro writes them
			case name.Name == "namespace" && how == asKeyed:
				return // so are the attributes
			}
		}
		c.all(args, asWhole)
		for _, k := range x.Keywords {
			c.value(k.Value, asWhole)
		}
		return
	}
	switch f.Name {
	case "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "isdigit",
		"isalpha", "isspace", "isupper", "islower", "isalnum", "isnumeric":
		return // no texts
	case "get", "pop", "setdefault":
		if len(args) > 0 {
			c.member(f.X, keyOf(args[0]), how)
			c.all(args[1:], asWhole)
		}
	case "replace":
		c.value(f.X, asWhole)
		if len(args) > 1 {
			c.value(args[1], asWhole)
		}
	case "join", "format", "cycle", "format_map":
		c.value(f.X, asWhole)
		c.all(args, asWhole)
		for _, k := range x.Keywords {
			c.value(k.Value, asWhole)
		}
	default:
		c.value(f.X, asWhole)
	}
}

// textConst is a text that is a site.
type textConst struct {
	value Value
	site  int
	mark  *prov
}

// textSite makes the site of a text.
func (c *compiler) textSite(x *syntax.Const) *textConst {
	site := c.site(SiteText, x.Pos, x.Pos)
	c.t.texts = append(c.t.texts, writable{site, len(strings.TrimSpace(x.Text)),
		strings.ContainsAny(x.Text, "%{")})
	// it is followed through a render as a part of the input would be
	n := &node{index: len(c.t.texts) - 1}
	n.val.node, n.val.role = n, FromValue
	return &textConst{stringValue(x.Text), site, &n.val}
}

func (x *textConst) eval(f *frame) (Value, error) {
	v := x.value
	if f.rt.follows {
		v.prov = x.mark
	}
	return v, nil
}

// writable is a text that is a site.
type writable struct {
	site   int
	length int  // without white space at its ends
	format bool // it may be written in pieces
}

// follow reports whether a render has to look for texts: no earlier one wrote all of them.
func (t *Template) follow(known *Coverage) bool {
	for _, w := range t.texts {
		if known == nil || !known.Reached(w.site, Written) {
			return true
		}
	}
	return false
}

// wrote notes the texts that a render has written: from their first to their last letter, or, where
// a text has places for others in it, as much without these.
func (rt *interp) wrote(runs []run) {
	for _, r := range runs {
		if r.node == nil {
			continue
		}
		w := rt.t.texts[r.node.index]
		if r.n >= w.length || w.format || r.inexact {
			rt.coverage.reached[w.site] |= 1 << Written
		}
	}
}
