package flow

import (
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// A text of the template is written as soon as its statement is reached, unless it is a value, or
// a part of one, that is chosen on the way: an operand of and, or, default or a multiplication, an
// item of a list, the value of a variable, the body of a macro. Such a text is a site of its own
// ([flow.SiteText]), and a render that writes it reaches it.

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

// chooser finds the texts that are sites. It goes by the names of variables, whatever their scope,
// and rather finds too many.
type chooser struct {
	*Model
	texts map[*syntax.Const]bool
	uses  map[string]use // of variables whose values may be written
	found []string       // of these, the ones whose values are still to be looked at
}

// Texts returns the texts of a template that are sites.
func Texts(tree *syntax.Template) map[*syntax.Const]bool {
	m := build(tree, true)
	c := &chooser{m, map[*syntax.Const]bool{}, map[string]use{}, nil}
	for _, p := range m.Prints {
		if p.Captured {
			c.value(p.X, asWhole)
		} else {
			c.value(p.X, surely)
		}
	}
	for len(c.found) > 0 {
		name := c.found[len(c.found)-1]
		c.found = c.found[:len(c.found)-1]
		for r := range m.Definitions(name) {
			if x, ok := r.Value.(syntax.Expr); ok {
				c.value(x, c.uses[name])
			}
		}
	}
	return c.texts
}

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
		c.member(x.X, KeyOf(x.Index), how)
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

// filtered notes the texts that a filter may return.
func (c *chooser) filtered(x *syntax.Filter, how use) {
	f := Filters[x.Name]
	if f.Flow == OfNone {
		return
	}
	of := asWhole
	switch f.Flow {
	case OfItems:
		of = how.chosen()
	case OfMember:
		for _, k := range x.Keywords {
			if k.Name == "attribute" && x.X != nil {
				c.member(x.X, KeyOf(k.Value), how)
				of = surely
			}
		}
	}
	if x.X != nil && of != surely {
		c.value(x.X, of)
	}
	c.arguments(f, &x.Args)
	for _, k := range x.Keywords {
		switch k.Name {
		case "default", "default_value", "d", "new", "fill_with":
			c.value(k.Value, asWhole)
		}
	}
}

// arguments notes the arguments that may be in a built-in's result.
func (c *chooser) arguments(of Builtin, a *syntax.Args) {
	if of.Args > 0 && len(a.Args) >= of.Args {
		c.all(a.Args[of.Args-1:], asWhole)
	}
}

// result notes the texts that a call may return.
func (c *chooser) result(x *syntax.Call, how use) {
	keywords := func() {
		for _, k := range x.Keywords {
			c.value(k.Value, asWhole)
		}
	}
	f, method := x.Func.(*syntax.Attr)
	if !method {
		if name, ok := x.Func.(*syntax.Name); ok {
			switch of, known := Functions[name.Name]; {
			case known && of.Flow == OfNone:
				return
			case len(c.Macros[name.Name]) > 0:
				return // the arguments are written where the macro writes them
			case name.Name == "namespace" && how == asKeyed:
				return // so are the attributes
			}
		}
		c.all(x.Args.Args, asWhole)
		keywords()
		return
	}
	switch of := Methods[f.Name]; of.Flow {
	case OfWhole:
		c.value(f.X, asWhole)
		if c.arguments(of, &x.Args); of.Args == 1 {
			keywords()
		}
	case OfMember:
		if len(x.Args.Args) > 0 {
			c.member(f.X, KeyOf(x.Args.Args[0]), how)
			c.arguments(of, &x.Args)
		}
	}
}

// Repeats reports whether a product is written at a place: of a text, it is the text so many times.
func (m *Model) Repeats(off int) bool {
	return slices.ContainsFunc(m.Prints, func(p Print) bool {
		x, ok := p.X.(*syntax.Binary)
		return ok && x.Op == "*" && x.Offset() == off
	})
}
