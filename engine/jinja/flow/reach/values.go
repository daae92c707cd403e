package reach

import (
	"maps"
	"slices"
	stdstrings "strings"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/jinja/syntax"
)

// from says where a value is from; constants are from nowhere.
type from uint8

const (
	fromClock from = 1 << iota
	fromOther
)

// val is a set of values. The zero val is the empty set.
type val struct {
	kinds flow.Kinds
	from  from
	// seen: each text of the set has a character that is no white space.
	seen bool
	// json: it is a part of the request, or made of such and of constants, or a method of one. So
	// are the values in it.
	json  bool
	own   bool     // it is a list or an object that the template made itself
	texts []string // with text: which ones; nil: any
	// inside are texts, each of which every text of the set contains.
	inside []string
	whole  []val          // of a list that the template spells out: its items; nil: not known
	has    map[string]val // of an object that the template spells out: its members
	elem   *val           // of a list that the template made: the values that its items may have
}

var (
	top     = val{kinds: flow.Everything, from: fromOther}
	anyJSON = val{kinds: flow.Everything &^ flow.Undef &^ flow.Object, from: fromOther, json: true}
	// or not there
	missing = val{kinds: flow.Everything &^ flow.Object, from: fromOther, json: true}
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
	all := val{kinds: v.kinds | o.kinds, from: v.from | o.from, json: v.json && o.json,
		own: v.own && o.own}
	switch {
	case v.kinds&flow.Text == 0:
		all.inside, all.seen = o.inside, o.seen
	case o.kinds&flow.Text == 0:
		all.inside, all.seen = v.inside, v.seen
	default:
		all.inside, all.seen = common(v.inside, o.inside), v.visible() && o.visible()
	}
	if v.spelt(o) {
		all.whole, all.has = v.whole, v.has
	}
	all.elem = joinedItems(v, o)
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

// common returns the texts that every text contains that contains all of a, or all of b.
func common(a, b []string) []string {
	var all []string
	add := func(a, b []string) {
		for _, x := range a {
			if contains(b, x) && !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	add(a, b)
	add(b, a)
	return all
}

// contains reports whether one of the texts contains another.
func contains(all []string, s string) bool {
	return slices.ContainsFunc(all, func(x string) bool { return stdstrings.Contains(x, s) })
}

// visible reports whether each text of the set has a character that is no white space.
func (v val) visible() bool {
	return v.seen || slices.ContainsFunc(v.inside, func(s string) bool {
		return stdstrings.TrimSpace(s) != ""
	})
}

// maxInside bounds how many texts are known to be in others.
const maxInside = 8

// withInside returns the set with texts that each of its texts contains.
func (v val) withInside(more ...string) val {
	for _, s := range more {
		if s != "" && len(v.inside) < maxInside && !slices.Contains(v.inside, s) {
			v.inside = append(slices.Clip(v.inside), s)
		}
	}
	return v
}

// maxNested bounds how deep lists in lists are told apart.
const maxNested = 3

// joinedItems returns the values that the items of two lists may have; nil: not known.
func joinedItems(v, o val) *val {
	if v.elem == nil && v.whole == nil && o.elem == nil && o.whole == nil {
		return nil
	}
	a, ok := v.items()
	b, also := o.items()
	if !ok || !also {
		return nil
	}
	all := a.or(b)
	depth := 0
	for of := &all; of != nil; of = of.elem {
		depth++
	}
	if depth > maxNested {
		return nil
	}
	return &all
}

// items returns the values that the items of a list may have; false: it may be no list, or they are
// not known.
func (v val) items() (val, bool) {
	switch {
	case v.kinds&^flow.Lists != 0 || v.kinds == 0:
		return val{}, false
	case v.kinds == flow.NoItems:
		return val{}, true
	case v.elem != nil:
		return *v.elem, true
	case v.whole != nil:
		var all val
		for _, item := range v.whole {
			all = all.or(item)
		}
		return all, true
	}
	return val{}, false
}

// some reports whether only some texts are in the set.
func (v val) some() bool { return v.kinds&flow.Text == 0 || v.texts != nil }

// and returns the values that are in both sets.
func (v val) and(o val) val {
	both := v
	both.kinds &= o.kinds
	both.json, both.own = v.json || o.json, v.own || o.own
	if both.whole == nil {
		both.whole = o.whole
	}
	if both.has == nil {
		both.has = o.has
	}
	if both.elem == nil {
		both.elem = o.elem
	}
	if both.kinds&flow.Text != 0 && o.texts != nil {
		if v.texts == nil {
			both.texts = o.texts
		} else {
			both.texts = slices.DeleteFunc(slices.Clone(v.texts),
				func(s string) bool { return !slices.Contains(o.texts, s) })
		}
		if len(both.texts) == 0 {
			both.kinds &^= flow.Text
		}
	}
	if both.kinds&flow.Text == 0 {
		both.texts, both.inside, both.seen = nil, nil, false
		return both
	}
	both.seen = v.seen || o.seen
	return both.withInside(o.inside...)
}

// limited returns the part of the set that is of some kinds.
func (v val) limited(k flow.Kinds) val { return v.and(val{kinds: k}) }

// single reports whether there is one value in the set.
func (v val) single() bool {
	switch v.kinds {
	case flow.Null, flow.Yes, flow.No, flow.Blank, flow.Undef:
		return true
	case flow.Text:
		return len(v.texts) == 1
	}
	return false
}

// equal returns the results that a comparison of two sets may have.
func equal(a, b val) flow.Kinds {
	var out flow.Kinds
	x, y := a.kinds, b.kinds
	const ones, zeros = flow.Yes | flow.Number, flow.No | flow.Zero
	if x&ones != 0 && y&ones != 0 || x&zeros != 0 && y&zeros != 0 ||
		x&y&^flow.Text&^flow.Bools&^flow.Numbers != 0 {
		out |= flow.Yes
	}
	if x&y&flow.Text != 0 && (a.texts == nil || b.texts == nil ||
		slices.ContainsFunc(a.texts, func(s string) bool { return slices.Contains(b.texts, s) })) {
		out |= flow.Yes
	}
	if out == 0 || !a.single() || !b.single() {
		out |= flow.No
	}
	return out
}

// spelt reports whether both sets have the same list or object that the template spells out.
func (v val) spelt(o val) bool {
	return (v.elem == nil) == (o.elem == nil) && (v.elem == nil || v.elem.same(*o.elem)) &&
		len(v.whole) == len(o.whole) && (v.whole == nil) == (o.whole == nil) &&
		(v.has == nil) == (o.has == nil) &&
		slices.EqualFunc(v.whole, o.whole, val.same) && maps.EqualFunc(v.has, o.has, val.same)
}

func (v val) same(o val) bool {
	return v.spelt(o) && v.kinds == o.kinds && v.from == o.from && v.json == o.json &&
		v.own == o.own &&
		(v.texts == nil) == (o.texts == nil) && slices.Equal(v.texts, o.texts) &&
		slices.Equal(v.inside, o.inside) && v.seen == o.seen
}

// clause is a condition that holds, or does not, while it is open which of its parts is why.
type clause struct {
	x     syntax.Expr
	holds bool
	of    []string // the names that it hangs on
}

// env holds the facts at a place of a template.
type env struct {
	keys    *keys
	facts   facts
	dead    bool // no render comes here
	macro   bool // it is inside a macro, which sees the names of the template
	clauses []clause
	open    []clause // those that came with the condition that is looked at
	// aliases are the expressions whose values variables have, by name.
	aliases *table[alias]
	rooted  *table[bool] // the variables that the template has set outside of all scopes
	// each has facts about all items of a list, by its name, with the name that an item had.
	each *table[allItems]
}

// alias is the expression whose value a variable has.
type alias struct {
	x  syntax.Expr
	of []string
}

// alias notes that a variable has the value of an expression.
func (p *prover) alias(name string, x syntax.Expr, e *env) {
	switch x.(type) {
	case *syntax.Name, *syntax.Attr, *syntax.Item:
	default:
		return
	}
	if k := p.keys.of(x); k != nil && !slices.Contains(k.of, name) {
		e.aliases = e.aliases.with(name, alias{x, k.of})
	}
}

// first takes over the facts about the first item of a list for the variable that has it.
func (e *env) first(list syntax.Expr, item string) {
	name, ok := list.(*syntax.Name)
	if !ok {
		return
	}
	begin := name.Name + firstItem
	before := e.facts.clone()
	for k, f := range before.all(e.keys) {
		rest, ok := stdstrings.CutPrefix(k.text, begin)
		if !ok || rest != "" && rest[0] != '.' || len(k.attributes)+1 != len(k.of) {
			continue
		}
		e.also(e.keys.key(item+rest, append([]string{item}, k.attributes...)...), f)
	}
}

// also notes a fact beside one that is known.
func (e *env) also(k *key, f *fact) {
	if now := e.facts.at(k); now != nil {
		f = &fact{val: now.and(f.val)}
	}
	e.facts.put(e.keys, k, f)
}

// firstItem is the end of the key of a list's first item.
const firstItem = "[(" + `3"0"` + ")"

// allItems are facts about all items of a list.
type allItems struct {
	item  string
	keys  []*key // by id
	facts []*fact
}

func (a allItems) same(o allItems) bool {
	return a.item == o.item && slices.Equal(a.keys, o.keys) &&
		slices.EqualFunc(a.facts, o.facts, func(x, y *fact) bool { return x.same(y.val) })
}

// itemsOf returns the facts that hold of the items of a list, one after the other, at the end of
// each round of a loop.
func itemsOf(item string, end *env) allItems {
	all := allItems{item: item}
	for k, f := range end.facts.all(end.keys) {
		if !slices.ContainsFunc(k.of, func(name string) bool {
			return name[0] != '.' && name != item
		}) {
			all.keys, all.facts = append(all.keys, k), append(all.facts, f)
		}
	}
	return all
}

// apply takes over the facts about all items of a list for one of them.
func (a allItems) apply(e *env) {
	for i, k := range a.keys {
		e.also(k, a.facts[i])
	}
}

func (p *prover) newEnv() *env { return &env{keys: p.keys} }

func (e *env) clone() *env {
	return &env{keys: e.keys, facts: e.facts.clone(), dead: e.dead, macro: e.macro,
		clauses: slices.Clip(e.clauses), each: e.each, aliases: e.aliases, rooted: e.rooted}
}

func (e *env) become(o *env) {
	e.dead, e.facts, e.clauses, e.each = o.dead, o.facts.clone(), o.clauses, o.each
	e.aliases, e.rooted = o.aliases, o.rooted
}

// note notes the values of an expression.
func (e *env) note(k *key, v val) { e.facts.put(e.keys, k, &fact{val: v}) }

// forget forgets the facts about a name.
func (e *env) forget(name string) {
	e.drop(name)
	e.keep(func(of []string) bool { return !slices.Contains(of, name) })
}

// drop removes the facts about expressions that hang on a name.
func (e *env) drop(name string) {
	of := e.keys.byName[name]
	e.keys.steps += len(of)
	for _, k := range of {
		if e.facts.at(k) != nil {
			e.facts.put(e.keys, k, nil)
		}
	}
}

// keep keeps the clauses, and the facts about items, that hang on certain names alone.
func (e *env) keep(ok func(of []string) bool) {
	if slices.ContainsFunc(e.clauses, func(c clause) bool { return !ok(c.of) }) {
		e.clauses = slices.DeleteFunc(slices.Clone(e.clauses),
			func(c clause) bool { return !ok(c.of) })
	}
	e.each = e.each.where(func(list string, items allItems) bool {
		return ok([]string{list}) && !slices.ContainsFunc(items.keys,
			func(k *key) bool { return !ok(k.attributes) })
	})
	e.aliases = e.aliases.where(func(name string, a alias) bool {
		return ok([]string{name}) && ok(a.of)
	})
}

// set gives a variable a value.
func (e *env) set(name string, v val) {
	e.forget(name)
	e.note(e.keys.variable(name), v)
}

// mutated forgets facts that an operation on a list or an object that the template made may change.
// Json reports whether parts of the request alone come into it.
func (p *prover) mutated(e *env, json bool) {
	request := func(of []string) bool {
		return !slices.ContainsFunc(of, func(name string) bool {
			if name[0] == '.' {
				return false
			}
			v := p.free(name, e)
			if f := e.facts.at(p.keys.variable(name)); f != nil {
				v = f.val
			}
			return !v.json || v.own || p.taints
		})
	}
	e.keep(request)
	before := e.facts.clone()
	for k, f := range before.all(p.keys) {
		if !k.place {
			if !request(k.of) {
				e.facts.put(p.keys, k, nil)
			}
			continue
		}
		if f.json && !f.own && !p.taints {
			continue
		}
		v := f.val
		if v.kinds&flow.Lists != 0 {
			v.kinds |= flow.Lists
		}
		if v.kinds&flow.Dicts != 0 {
			v.kinds |= flow.Dicts
		}
		v.json, v.whole, v.has, v.elem = v.json && json, nil, nil, nil
		e.note(k, v)
	}
}

func (e *env) same(o *env) bool {
	return e.dead == o.dead && len(e.clauses) == len(o.clauses) &&
		e.each.size() == o.each.size() && e.aliases.size() == o.aliases.size() &&
		e.facts.same(&o.facts, e.keys)
}

// join returns the facts that hold where two ways meet. Request reports whether more than the clock
// decided which way was gone.
func (p *prover) join(a, b *env, request bool) *env {
	switch {
	case a == nil || a.dead:
		if b == nil {
			return &env{keys: p.keys, dead: true}
		}
		return b
	case b == nil || b.dead:
		return a
	}
	all := p.newEnv()
	all.macro = a.macro
	for _, c := range a.clauses {
		if slices.ContainsFunc(b.clauses, func(o clause) bool {
			return o.x == c.x && o.holds == c.holds
		}) {
			all.clauses = append(all.clauses, c)
		}
	}
	all.rooted = a.rooted.common(b.rooted, always)
	all.aliases = a.aliases.common(b.aliases, func(a, b alias) bool { return a.x == b.x })
	all.each = a.each.common(b.each, allItems.same)
	all.facts = a.facts.join(&b.facts, p.keys, request, func(name string, second bool) val {
		if second {
			return p.free(name, b)
		}
		return p.free(name, a)
	})
	return all
}

// free returns the values that a variable may have without any fact about it.
func (p *prover) free(name string, e *env) val {
	rooted, _ := e.rooted.get(name)
	switch {
	case p.macros[name] != nil:
		return val{kinds: flow.Object}
	case e.macro && p.assigned[name] && rooted:
		return p.values[name]
	case e.macro && p.assigned[name]:
		return p.values[name].or(request(name))
	}
	return request(name)
}

// request returns the values that a variable has that the template does not set.
func request(name string) val {
	switch name {
	case "messages":
		return val{kinds: flow.Lists, from: fromOther, json: true}
	case "add_generation_prompt", "bos_token", "eos_token": // switches win over them
		return anyJSON
	case "caller", "self", "varargs", "kwargs", "loop":
		return top
	}
	if _, ok := flow.Functions[name]; ok {
		return val{kinds: flow.Object}
	}
	return missing
}
