package jinja

import (
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// Dialect is Jinja as an engine's own interpreter has it, that of llama.cpp, where it is not Jinja2
// (E33). Filters and methods are one table by kind. What is undefined has undefined members, and is
// nothing in a sum with a text, in which any other value is printed; it is in no list. A list is
// printed as its items, an object and None not at all. A loop does not go through a text, and its
// variables live on from one round to the next. A macro takes arguments by their number: the last
// parameters alone have defaults.
type Dialect struct {
	// Builtins are the names of the filters and methods of values of a kind; there are no others.
	// Tuples, ranges, views and generators are lists.
	Builtins  map[Kind][]string
	Functions []string // those of all
}

// kindOf is the kind under which a dialect has a value's filters and methods.
func (d *Dialect) kindOf(v Value) Kind {
	switch v.kind {
	case Tuple, Range, View, Generator:
		return List
	case BigInt:
		return Int
	case Markup:
		return String
	}
	return v.kind
}

// has reports whether values as v have a filter or method.
func (d *Dialect) has(v Value, name string) bool {
	return slices.Contains(d.Builtins[d.kindOf(v)], name)
}

// method is the built-in that a member stands for, or nil; m is Jinja2's.
func (e *eval) method(v Value, name string, m *builtin) *builtin {
	switch {
	case e.dialect == nil || v.kind >= Function || v.kind == Namespace:
		return m // those of loops, macros and namespaces are Jinja2's
	case !e.dialect.has(v, name):
		return nil
	case m != nil:
		return m
	case name == "strip":
		name = "trim"
	}
	return filters[name]
}

// aliases are the names of filters that stand for another name in the tables of a dialect.
var aliases = map[string]string{"count": "length", "d": "default", "e": "escape", "trim": "strip"}

// printing are the filters that take any value that is defined, as it is printed.
var printing = []string{"capitalize", "lower", "replace", "strip", "title", "upper", "wordcount"}

// filter returns the built-in of a filter for a value, and the value as the filter takes it.
func (e *eval) filter(v Value, name string, fn *builtin, positional int) (Value, *builtin) {
	if other, ok := aliases[name]; ok {
		name = other
	}
	if name == "selectattr" {
		e.used(AsList, v)
	}
	switch {
	case (v.kind == Undefined || !slices.Contains(printing, name)) && !e.dialect.has(v, name):
		panic(errf(TemplateRuntimeError, "the engine's Jinja has no filter %s for %s",
			pyQuote(name), strings.ToLower(typeName(v))))
	case name == "map" && positional > 0:
		panic(errf(TemplateRuntimeError, "the engine's Jinja maps attributes alone"))
	case name == "default" && v.isNone():
		v = undefinedHint("none")
	}
	if fn == nil || name == "format" {
		fn = methodTables[v.kind][name]
	} else if name == "safe" {
		fn = filters["string"]
	}
	return v, fn
}

// AsList and AsText are the operations under which a trace has, in a dialect alone, that a value is
// gone through or indexed, and that it is asked whether it is a text.
const AsList, AsText = "list", "text"

func (e *eval) used(op string, v Value) {
	if e.dialect != nil {
		e.traceText(op, v, stringValue(""))
	}
}

// writeItems prints a list as its items, one after the other, and what is neither text nor a number
// not at all, as a dialect does; false: the value is printed as everywhere.
func (f *frame) writeItems(v Value, pos syntax.Pos) bool {
	switch f.rt.dialect.kindOf(v) {
	case String, Bool, Int, Float:
		return false
	case List:
	default:
		return true
	}
	for _, item := range collect(&f.rt.eval, v) {
		f.write(item, escapeOff, pos)
	}
	return true
}

// round runs the body of a loop. In a dialect a statement of it in which there is a break or
// continue writes nothing.
func (f *frame) round(code body) jump {
	if f.rt.dialect == nil {
		return code.run(f)
	}
	for _, s := range code {
		text, j := f.capture(body{s})
		if j != noJump {
			return j
		}
		f.write(text, escapeOff, 0)
	}
	return noJump
}

// number binds the arguments of a macro as a dialect does: those behind the number of arguments get
// their default, whether they are named or not, and others that are missing stay undefined.
func (p *macroProto) number(f *frame, given int) {
	for i := range p.params {
		param := &p.params[i]
		switch slot := &f.slots[param.slot]; {
		case i >= given && param.def == nil:
			panic(errf(TypeError, "the engine's Jinja needs an argument for the parameter %s "+
				"of %s, which has no default", pyQuote(param.name), pyQuote(p.name)))
		case i >= given:
			*slot = Value{}
		case slot.isMissing():
			*slot = undefinedHint("parameter " + pyQuote(param.name) + " was not provided")
		}
	}
}
