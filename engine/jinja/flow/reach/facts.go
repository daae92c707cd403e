package reach

import (
	"iter"
	"maps"
	stdstrings "strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// key stands for all expressions that are spelled alike: facts are about their values.
type key struct {
	id         int
	text       string
	of         []string // the names that the value depends on, attributes with a dot before them
	attributes []string // those of them that are attributes
	variable   bool     // it is that of a variable
	place      bool     // it is that of a variable or of an attribute of one
}

// keys has the keys of a template's expressions.
type keys struct {
	all    []*key // by id
	byText map[string]*key
	byExpr map[syntax.Expr]*key // nil: the expression has none
	byName map[string][]*key    // those that depend on a name
	stamp  uint64               // the last one that next returned
	steps  int                  // of the work that was done
}

func newKeys() *keys {
	return &keys{byText: map[string]*key{}, byExpr: map[syntax.Expr]*key{},
		byName: map[string][]*key{}}
}

// next returns a new stamp.
func (ks *keys) next() uint64 {
	ks.stamp++
	return ks.stamp
}

// key returns the key with a text; of are the names that its value depends on.
func (ks *keys) key(text string, of ...string) *key {
	if k, ok := ks.byText[text]; ok {
		return k
	}
	k := &key{id: len(ks.all), text: text, of: of}
	k.variable = len(of) == 1 && of[0] == text
	k.place = k.variable || len(of) == 2 && of[0]+of[1] == text
	for _, name := range of {
		if name[0] == '.' {
			k.attributes = append(k.attributes, name)
		}
		if with := ks.byName[name]; len(with) == 0 || with[len(with)-1] != k {
			ks.byName[name] = append(with, k)
		}
	}
	ks.byText[text] = k
	ks.all = append(ks.all, k)
	return k
}

// variable returns the key of a variable.
func (ks *keys) variable(name string) *key { return ks.key(name, name) }

// attribute returns the key of an attribute of a variable.
func (ks *keys) attribute(name, attr string) *key {
	return ks.key(name+"."+attr, name, "."+attr)
}

// of returns the key of an expression; nil if its value may differ the next time.
func (ks *keys) of(x syntax.Expr) *key {
	k, known := ks.byExpr[x]
	if !known {
		var b stdstrings.Builder
		var of []string
		if n, ok := x.(*syntax.Name); ok {
			k = ks.variable(n.Name)
		} else if spelled(x, &b, &of) && len(of) > 0 {
			k = ks.key(b.String(), of...)
		}
		ks.byExpr[x] = k
	}
	return k
}

// fact is the set of values that an expression may have. It never changes, except that joined is
// filled in once.
type fact struct {
	val
	joined *fact // the fact joined with itself; nil: not known
}

// self returns the fact joined with itself: less is known about lists where two paths meet.
func (f *fact) self() *fact {
	if f.joined == nil {
		f.joined = f.with(f.val, false)
	}
	return f.joined
}

// with returns the fact joined with other values: the fact itself if they add nothing. request
// reports whether more than the clock decides which of the two it is.
func (f *fact) with(o val, request bool) *fact {
	v := f.or(o)
	if request && !f.same(o) {
		v.from |= fromOther
	}
	if v.same(f.val) {
		return f
	}
	return &fact{val: v}
}

// fan is the tree's branching factor: the number of facts or pieces in one piece.
const fan = 1 << fanBits

const fanBits = 3

// piece is a node of the tree of a set of facts: a leaf, or an inner node with the pieces below it.
type piece struct {
	stamp  uint64       // of the set that may change it
	below  *[fan]*piece // nil: it has the facts
	facts  *[fan]*fact  // nil: it has pieces below
	joined *piece       // the piece joined with itself; nil: not known
}

// facts is a persistent map of facts by the ids of their keys, a tree with copy on write. A copy
// shares all pieces with its original, and each copies the pieces on the path to a fact before it
// changes it. A template has many environments that are almost alike; the cost of another one
// depends on how they differ, not on the number of facts.
type facts struct {
	root   *piece
	height int    // of the tree: how many levels of pieces are above the leaves
	stamp  uint64 // of the pieces that it owns; 0: it owns none
}

// at returns the fact about a key; nil: there is none.
func (fs *facts) at(k *key) *fact {
	if k.id>>(fanBits*(fs.height+1)) != 0 {
		return nil
	}
	p := fs.root
	for h := fs.height; h > 0 && p != nil; h-- {
		p = p.below[k.id>>(fanBits*h)%fan]
	}
	if p == nil {
		return nil
	}
	return p.facts[k.id%fan]
}

// put sets the fact about a key; nil removes it.
func (fs *facts) put(ks *keys, k *key, f *fact) {
	if fs.stamp == 0 {
		fs.stamp = ks.next()
	}
	for k.id>>(fanBits*(fs.height+1)) != 0 {
		fs.raise()
	}
	fs.root = fs.root.with(fs.stamp, fs.height, k.id, f)
}

// raise puts a level on top of the tree.
func (fs *facts) raise() {
	if fs.root != nil {
		fs.root = &piece{stamp: fs.stamp, below: &[fan]*piece{fs.root}}
	}
	fs.height++
}

// with returns a piece with a fact set: p itself if the set with the stamp owns it, else a copy.
func (p *piece) with(stamp uint64, height, id int, f *fact) *piece {
	switch {
	case p == nil && height > 0:
		p = &piece{stamp: stamp, below: new([fan]*piece)}
	case p == nil:
		p = &piece{stamp: stamp, facts: new([fan]*fact)}
	case p.stamp != stamp && height > 0:
		below := *p.below
		p = &piece{stamp: stamp, below: &below}
	case p.stamp != stamp:
		facts := *p.facts
		p = &piece{stamp: stamp, facts: &facts}
	}
	if height == 0 {
		p.facts[id%fan] = f
	} else {
		next := &p.below[id>>(fanBits*height)%fan]
		*next = (*next).with(stamp, height-1, id, f)
	}
	return p
}

// freeze gives up all pieces, since another set shares them: the next change copies those on its
// path.
func (fs *facts) freeze() { fs.stamp = 0 }

// clone returns a copy.
func (fs *facts) clone() facts {
	fs.freeze()
	return *fs
}

// all yields the facts in the order of their keys' ids.
func (fs *facts) all(ks *keys) iter.Seq2[*key, *fact] {
	return func(yield func(*key, *fact) bool) { fs.root.each(0, fs.height, ks, yield) }
}

// each yields the facts of a piece whose first place is for the key with an id. It reports whether
// yield wants more.
func (p *piece) each(id, height int, ks *keys, yield func(*key, *fact) bool) bool {
	if p == nil {
		return true
	}
	ks.steps++
	if height > 0 {
		for i, below := range p.below {
			if !below.each(id+i<<(fanBits*height), height-1, ks, yield) {
				return false
			}
		}
		return true
	}
	for i, f := range p.facts {
		if f == nil {
			continue
		}
		if ks.steps++; !yield(ks.all[id+i], f) {
			return false
		}
	}
	return true
}

// alike raises the lower of two trees to the height of the other.
func (fs *facts) alike(o *facts) {
	for fs.height < o.height {
		fs.raise()
	}
	for o.height < fs.height {
		o.raise()
	}
}

// same reports whether two sets hold the same facts.
func (fs *facts) same(o *facts, ks *keys) bool {
	fs.alike(o)
	return fs.root.same(o.root, fs.height, ks)
}

func (p *piece) same(o *piece, height int, ks *keys) bool {
	ks.steps++
	switch {
	case p == o:
		return true
	case height == 0:
		a, b := p.leaf(), o.leaf()
		for i, f := range a.facts {
			if g := b.facts[i]; f != g && (f == nil || g == nil || !f.same(g.val)) {
				return false
			}
		}
		return true
	}
	a, b := p.inner(), o.inner()
	for i := range fan {
		if !a[i].same(b[i], height-1, ks) {
			return false
		}
	}
	return true
}

var (
	noFacts  = piece{facts: new([fan]*fact)}
	noPieces [fan]*piece
)

// leaf returns a leaf, or an empty one for nil, to be read and not changed.
func (p *piece) leaf() *piece {
	if p == nil {
		return &noFacts
	}
	return p
}

// inner returns the pieces below one, none for nil, to be read and not changed.
func (p *piece) inner() *[fan]*piece {
	if p == nil {
		return &noPieces
	}
	return p.below
}

// join returns the facts that hold where two paths meet. free returns the values that a variable
// may have on a path that has no fact about it: the first path, or the second. request reports
// whether more than the clock decided which path was taken.
func (fs *facts) join(o *facts, ks *keys, request bool,
	free func(name string, second bool) val) facts {
	fs.alike(o)
	fs.freeze()
	o.freeze()
	j := joiner{ks, ks.next(), request, free}
	return facts{root: j.join(fs.root, o.root, 0, fs.height), height: fs.height, stamp: j.stamp}
}

// joiner joins two sets of facts.
type joiner struct {
	keys    *keys
	stamp   uint64
	request bool
	free    func(name string, second bool) val
}

// join joins two pieces whose first places are for the key with an id. The result is one of the two
// if the other adds nothing; a shared piece is joined with itself only once.
func (j *joiner) join(a, b *piece, id, height int) *piece {
	switch {
	case a == nil && b == nil:
		return nil
	case a == b && a.joined != nil:
		return a.joined
	}
	j.keys.steps++
	var joined *piece
	if height > 0 {
		x, y := a.inner(), b.inner()
		var below [fan]*piece
		for i := range fan {
			below[i] = j.join(x[i], y[i], id+i<<(fanBits*height), height-1)
		}
		if joined = either(a, b, below == *x, below == *y); joined == nil {
			kept := below // the array itself stays on the stack where it is not needed
			joined = &piece{stamp: j.stamp, below: &kept}
		}
	} else {
		x, y := a.leaf().facts, b.leaf().facts
		var facts [fan]*fact
		for i, f := range x {
			facts[i] = j.fact(f, y[i], id+i)
		}
		if joined = either(a, b, facts == *x, facts == *y); joined == nil {
			kept := facts
			joined = &piece{stamp: j.stamp, facts: &kept}
		}
	}
	if a == b {
		if joined != a {
			joined.stamp = 0 // other sets will share it
		}
		a.joined = joined
	}
	return joined
}

// either returns the one of two pieces that is the same as their join; nil: neither is.
func either(a, b *piece, same, other bool) *piece {
	switch {
	case same && a != nil:
		return a
	case other && b != nil:
		return b
	}
	return nil
}

// fact joins two facts about the key with an id.
func (j *joiner) fact(f, g *fact, id int) *fact {
	k := j.keys.all
	switch {
	case f == g && f == nil:
		return nil
	case f == g:
		return f.self()
	case g == nil && k[id].variable:
		return f.with(j.free(k[id].text, true), j.request)
	case f == nil && k[id].variable:
		return g.with(j.free(k[id].text, false), false)
	case f == nil || g == nil:
		return nil
	}
	return f.with(g.val, j.request)
}

// table is an immutable map that environments share. nil is empty.
type table[V any] struct{ of map[string]V }

func (t *table[V]) get(name string) (V, bool) {
	if t == nil {
		var none V
		return none, false
	}
	v, ok := t.of[name]
	return v, ok
}

// maxEntries bounds the entries of a table. Of a name without an entry nothing is known or proved.
const maxEntries = 64

// with returns the table with an entry set; the same table if that would make too many.
func (t *table[V]) with(name string, v V) *table[V] {
	if _, there := t.get(name); !there && t.size() >= maxEntries {
		return t
	}
	all := map[string]V{}
	if t != nil {
		maps.Copy(all, t.of)
	}
	all[name] = v
	return &table[V]{all}
}

// where returns the table with only the entries that are wanted.
func (t *table[V]) where(wanted func(name string, v V) bool) *table[V] {
	if t == nil {
		return nil
	}
	left := 0
	for name, v := range t.of {
		if wanted(name, v) {
			left++
		}
	}
	switch left {
	case 0:
		return nil
	case len(t.of):
		return t
	}
	all := make(map[string]V, left)
	for name, v := range t.of {
		if wanted(name, v) {
			all[name] = v
		}
	}
	return &table[V]{all}
}

// size returns the number of entries.
func (t *table[V]) size() int {
	if t == nil {
		return 0
	}
	return len(t.of)
}

// common returns the entries of a table whose values another one has alike.
func (t *table[V]) common(o *table[V], alike func(a, b V) bool) *table[V] {
	if t == o {
		return t
	}
	return t.where(func(name string, v V) bool {
		other, ok := o.get(name)
		return ok && alike(v, other)
	})
}

func always(bool, bool) bool { return true }
