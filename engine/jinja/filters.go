package jinja

import (
	"strings"
)

// filters is every filter by name; tests every test. They are filled once and never changed.
var filters, tests map[string]*builtin

// lookupFilter returns a filter, or nil.
func lookupFilter(name string) *builtin { return filters[name] }

// lookupTest returns a test, or nil.
func lookupTest(name string) *builtin { return tests[name] }

func init() {
	filters = table(sequenceFilters)
	for name, b := range table(textFilters) {
		filters[name] = b
	}
	for name, b := range table(numberFilters) {
		filters[name] = b
	}
	filters["tojson"] = entryOf{"tojson", "ensure_ascii? indent? separators? sort_keys?", filterJSON}.builtin()
	for alias, name := range map[string]string{"d": "default", "e": "escape", "count": "length"} {
		filters[alias] = filters[name]
	}
	tests = table(testTable)
	for alias, name := range map[string]string{
		"eq": "==", "equalto": "==", "ne": "!=", "gt": ">", "greaterthan": ">", "ge": ">=",
		"lt": "<", "lessthan": "<", "le": "<=",
	} {
		tests[alias] = tests[name]
	}
}

// flag is the truth of an optional argument; missing is def.
func (c *call) flag(i int, def bool) bool {
	if !c.given(i) {
		return def
	}
	return truth(c.eval, c.args[i])
}

// needs raises what Python does for a value without the attribute that a filter uses.
func needs(v Value, has bool, attribute string) {
	if defined(v); !has {
		panic(errf(AttributeError, "'%s' object has no attribute '%s'", typeName(v), attribute))
	}
}

// named finds a filter or test by a value that names it.
func named(e *eval, table map[string]*builtin, what string, name Value) *builtin {
	if name.isString() {
		if b := table[name.text()]; b != nil {
			return b
		}
	} else {
		checkHashable(name)
	}
	panic(errf(TemplateRuntimeError, "No %s named %s.", what, reprText(e, name)))
}

// getter looks attributes up as map, sort and others do: the parts of "a.b.0" one after the other,
// by item first.
type getter struct {
	e     *eval
	parts []Value
	def   Value // replaces undefined results, where it is not None
	fold  bool  // strings are compared in lower case
}

func newGetter(e *eval, attribute, def Value, fold bool) *getter {
	return &getter{e: e, parts: attributeParts(e, attribute), def: def.or(noneValue()), fold: fold}
}

func attributeParts(e *eval, attribute Value) []Value {
	switch {
	case attribute.isMissing() || attribute.isNone():
		return nil
	case !attribute.isString():
		return []Value{attribute}
	}
	var parts []Value
	for _, part := range strings.Split(attribute.text(), ".") {
		v := stringValue(part)
		if part != "" && allRunes(part, isDigitRune) {
			if n, err := attempt(e, func() Value { return parseInt(part, 10) }); err == nil {
				v = n
			}
		}
		parts = append(parts, v)
	}
	return parts
}

func (g *getter) get(v Value) Value {
	for _, part := range g.parts {
		v = getitem(g.e, v, part)
		if v.isUndefined() && !g.def.isNone() {
			v = g.def
		}
	}
	if g.fold {
		return foldString(g.e, v)
	}
	return v
}

// foldString is jinja2's ignore_case.
func foldString(e *eval, v Value) Value {
	if !v.isString() {
		return v
	}
	e.step(scanSteps(v))
	text := v.text()
	folded := lowerCase(text)
	if folded == text {
		return v
	}
	e.charge(len(folded))
	return derived(v, folded)
}

// HasFilter reports whether the language has a filter of a name.
func HasFilter(name string) bool { return lookupFilter(name) != nil }

// HasTest reports whether the language has a test of a name.
func HasTest(name string) bool { return lookupTest(name) != nil }
