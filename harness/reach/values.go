package reach

import (
	"maps"
	"slices"
)

// kinds is a set of kinds of values; each kind is true or false as a condition.
type kinds uint16

const (
	undef     kinds = 1 << iota
	null            // none
	yes             // true
	no              // false
	zero            // 0 and 0.0
	number          // any other number
	blank           // the empty text
	text            // any other text
	noItems         // an empty list
	items           // a list
	noMembers       // an empty object of the request
	members         // an object of the request
	object          // a macro, a namespace, ...
)

const (
	everything = undef | null | yes | no | zero | number | blank | text | noItems | items |
		noMembers | members | object
	falsy   = undef | null | no | zero | blank | noItems | noMembers
	truthy  = everything &^ falsy
	strings = blank | text
	bools   = yes | no
	numbers = zero | number
	lists   = noItems | items
	dicts   = noMembers | members
	many    = text | items | members | object // a loop can go through these
)

// from says where a value is from; constants are from nowhere.
type from uint8

const (
	fromClock from = 1 << iota
	fromOther
)

// val is a set of values. The zero val is the empty set.
type val struct {
	kinds
	texts []string // with text: which ones; nil: any
	from  from
	json  bool           // it is a part of the request or a constant, and so are the values in it
	whole []val          // of a list that the template spells out: its items; nil: not known
	has   map[string]val // of an object that the template spells out: its members
}

var (
	top     = val{kinds: everything, from: fromOther}
	anyJSON = val{kinds: everything &^ undef &^ object, from: fromOther, json: true}
	missing = val{kinds: everything &^ object, from: fromOther, json: true} // or not there
)

// maxTexts bounds how many texts are told apart.
const maxTexts = 16

// or joins two sets.
func (v val) or(o val) val {
	switch {
	case v.kinds == 0:
		return o
	case o.kinds == 0:
		return v
	}
	all := val{kinds: v.kinds | o.kinds, from: v.from | o.from, json: v.json && o.json}
	if v.spelt(o) {
		all.whole, all.has = v.whole, v.has
	}
	if a, b := v.some(), o.some(); a && b {
		all.texts = slices.Concat(v.texts, o.texts)
		slices.Sort(all.texts)
		all.texts = slices.Compact(all.texts)
		if len(all.texts) > maxTexts {
			all.texts = nil
		}
	}
	return all
}

// some reports whether only some texts are in the set.
func (v val) some() bool { return v.kinds&text == 0 || v.texts != nil }

// and returns the values that are in both sets.
func (v val) and(o val) val {
	both := v
	both.kinds &= o.kinds
	if both.kinds&text != 0 && o.texts != nil {
		if v.texts == nil {
			both.texts = o.texts
		} else {
			both.texts = slices.DeleteFunc(slices.Clone(v.texts),
				func(s string) bool { return !slices.Contains(o.texts, s) })
		}
		if len(both.texts) == 0 {
			both.kinds &^= text
		}
	}
	if both.kinds&text == 0 {
		both.texts = nil
	}
	return both
}

// limited returns the part of the set that is of some kinds.
func (v val) limited(k kinds) val { return v.and(val{kinds: k}) }

// single reports whether there is one value in the set.
func (v val) single() bool {
	switch v.kinds {
	case null, yes, no, blank, undef:
		return true
	case text:
		return len(v.texts) == 1
	}
	return false
}

// equal returns the results that a comparison of two sets may have.
func equal(a, b val) kinds {
	var out kinds
	x, y := a.kinds, b.kinds
	if x&(yes|number) != 0 && y&(yes|number) != 0 || x&(no|zero) != 0 && y&(no|zero) != 0 ||
		x&y&^text&^bools&^numbers != 0 {
		out |= yes
	}
	if x&y&text != 0 && (a.texts == nil || b.texts == nil ||
		slices.ContainsFunc(a.texts, func(s string) bool { return slices.Contains(b.texts, s) })) {
		out |= yes
	}
	if out == 0 || !a.single() || !b.single() {
		out |= no
	}
	return out
}

// spelt reports whether both sets have the same list or object that the template spells out.
func (v val) spelt(o val) bool {
	return len(v.whole) == len(o.whole) && (v.whole == nil) == (o.whole == nil) &&
		(v.has == nil) == (o.has == nil) &&
		slices.EqualFunc(v.whole, o.whole, val.same) && maps.EqualFunc(v.has, o.has, val.same)
}

func (v val) same(o val) bool {
	return v.spelt(o) && v.kinds == o.kinds && v.from == o.from && v.json == o.json &&
		(v.texts == nil) == (o.texts == nil) && slices.Equal(v.texts, o.texts)
}

// fact is the set of values of an expression, with the names that the expression hangs on.
type fact struct {
	val
	of []string
}

// env holds the facts at a place of a template.
type env struct {
	dead  bool // no render comes here
	macro bool // it is inside a macro, which sees the names of the template
	facts map[string]fact
}

func (e *env) clone() *env { return &env{e.dead, e.macro, maps.Clone(e.facts)} }

func (e *env) become(o *env) { e.dead, e.facts = o.dead, o.facts }

// forget forgets the facts about a name.
func (e *env) forget(name string) {
	maps.DeleteFunc(e.facts, func(_ string, f fact) bool { return slices.Contains(f.of, name) })
}

// set gives a variable a value.
func (e *env) set(name string, v val) {
	e.forget(name)
	e.facts[name] = fact{v, []string{name}}
}

// mutated forgets facts that an operation on a list or an object may change.
func (e *env) mutated() {
	for key, f := range e.facts {
		if len(f.of) != 1 || f.of[0] != key {
			delete(e.facts, key)
			continue
		}
		if f.kinds&lists != 0 {
			f.kinds |= lists
		}
		if f.kinds&dicts != 0 {
			f.kinds |= dicts
		}
		f.json, f.whole, f.has = false, nil, nil
		e.facts[key] = f
	}
}

func (e *env) same(o *env) bool {
	return e.dead == o.dead && maps.EqualFunc(e.facts, o.facts, func(a, b fact) bool {
		return a.same(b.val)
	})
}

// join returns the facts that hold where two ways meet. Request reports whether more than the clock
// decided which way was gone.
func (p *prover) join(a, b *env, request bool) *env {
	switch {
	case a == nil || a.dead:
		if b == nil {
			return &env{dead: true}
		}
		return b
	case b == nil || b.dead:
		return a
	}
	all := &env{facts: map[string]fact{}, macro: a.macro}
	for key, f := range a.facts {
		other, ok := b.facts[key]
		if !ok {
			if len(f.of) != 1 || f.of[0] != key {
				continue
			}
			other = fact{p.free(key, b), f.of}
		}
		joined := f.or(other.val)
		if request && !f.same(other.val) {
			joined.from |= fromOther
		}
		all.facts[key] = fact{joined, f.of}
	}
	for key, f := range b.facts {
		if _, ok := a.facts[key]; !ok && len(f.of) == 1 && f.of[0] == key {
			all.facts[key] = fact{f.or(p.free(key, a)), f.of}
		}
	}
	return all
}

// free returns the values that a variable may have without any fact about it.
func (p *prover) free(name string, e *env) val {
	switch {
	case p.macros[name] != nil:
		return val{kinds: object}
	case e.macro && p.assigned[name]:
		return top
	}
	switch name {
	case "messages":
		return val{kinds: lists, from: fromOther, json: true}
	case "add_generation_prompt", "bos_token", "eos_token": // switches win over them
		return anyJSON
	case "raise_exception", "strftime_now", "namespace", "range", "dict", "cycler", "joiner",
		"lipsum":
		return val{kinds: object}
	case "caller", "self", "varargs", "kwargs", "loop":
		return top
	}
	return missing
}
