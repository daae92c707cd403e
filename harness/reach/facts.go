package reach

import (
	"iter"
	"maps"
	"slices"
	stdstrings "strings"

	"github.com/goassay/assay/engine/jinja/syntax"
)

// key stands for all expressions that are spelled alike: facts are about their values.
type key struct {
	id         int
	text       string
	of         []string // the names that the value hangs on, attributes with a dot before them
	attributes []string // those of them that are attributes
	variable   bool     // it is that of a variable
	place      bool     // it is that of a variable or of an attribute of one
}

// keys has the keys of a template's expressions.
type keys struct {
	all    []*key // by id
	byText map[string]*key
	byExpr map[syntax.Expr]*key // nil: the expression has none
	byName map[string][]*key    // those that hang on a name
	stamp  uint64               // the last one
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

// key returns the key that is written so.
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

// of returns the key of an expression; nil: its value may be another one the next time.
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

// fact is the set of values of an expression. It is never changed.
type fact struct {
	val
	joined *fact // the fact joined with itself; nil: not known
}

// self returns the fact joined with itself: of lists less is known where two ways meet.
func (f *fact) self() *fact {
	if f.joined == nil {
		f.joined = f.with(f.val, false)
	}
	return f.joined
}

// with returns the fact joined with other values: the same one where these bring nothing. Request
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

// pieceSize is how many facts lie in one piece.
const pieceSize = 16

// piece is a piece of a set of facts.
type piece struct {
	stamp uint64 // of the set that may change it
	facts [pieceSize]*fact
}

// facts are facts by the ids of their keys. A copy shares all pieces with its original, and each
// copies a piece before it changes it: a template has many environments that are almost alike.
type facts struct {
	pieces []*piece
	stamp  uint64 // of the pieces that are its own
	shared bool   // another one has the same list of pieces
}

// at returns the fact about a key; nil: there is none.
func (fs *facts) at(k *key) *fact {
	if i := k.id / pieceSize; i < len(fs.pieces) && fs.pieces[i] != nil {
		return fs.pieces[i].facts[k.id%pieceSize]
	}
	return nil
}

// put notes a fact about a key; nil removes it.
func (fs *facts) put(ks *keys, k *key, f *fact) {
	if fs.shared || fs.stamp == 0 {
		fs.pieces, fs.shared, fs.stamp = slices.Clone(fs.pieces), false, ks.next()
	}
	i := k.id / pieceSize
	if i >= len(fs.pieces) {
		fs.pieces = append(fs.pieces, make([]*piece, i+1-len(fs.pieces))...)
	}
	switch c := fs.pieces[i]; {
	case c == nil:
		fs.pieces[i] = &piece{stamp: fs.stamp}
	case c.stamp != fs.stamp:
		fs.pieces[i] = &piece{fs.stamp, c.facts}
	}
	fs.pieces[i].facts[k.id%pieceSize] = f
}

// clone returns a copy.
func (fs *facts) clone() facts {
	fs.shared = true
	return facts{pieces: fs.pieces, shared: true}
}

// all goes through the facts in the order of their keys' ids.
func (fs *facts) all(ks *keys) iter.Seq2[*key, *fact] {
	return func(yield func(*key, *fact) bool) {
		for i, c := range fs.pieces {
			if c == nil {
				continue
			}
			for j, f := range c.facts {
				if f != nil && !yield(ks.all[i*pieceSize+j], f) {
					return
				}
			}
		}
	}
}

// same reports whether two sets say the same.
func (fs *facts) same(o *facts) bool {
	for i := range max(len(fs.pieces), len(o.pieces)) {
		a, b := fs.piece(i), o.piece(i)
		if a == b {
			continue
		}
		for j, f := range a.facts {
			if g := b.facts[j]; f != g && (f == nil || g == nil || !f.same(g.val)) {
				return false
			}
		}
	}
	return true
}

// noFacts is a piece without facts.
var noFacts piece

// piece returns a piece to be read.
func (fs *facts) piece(i int) *piece {
	if i < len(fs.pieces) && fs.pieces[i] != nil {
		return fs.pieces[i]
	}
	return &noFacts
}

// join returns the facts that hold where two ways meet. Free returns the values that a variable may
// have on a way that has no fact about it: the first one, or the second. Request reports whether
// more than the clock decided which way was gone.
func (fs *facts) join(o *facts, ks *keys, request bool,
	free func(name string, second bool) val) facts {
	fs.shared, o.shared = true, true
	all := facts{pieces: make([]*piece, max(len(fs.pieces), len(o.pieces))), stamp: ks.next()}
	for i := range all.pieces {
		a, b := fs.piece(i), o.piece(i)
		var joined [pieceSize]*fact
		for j, f := range a.facts {
			g := b.facts[j]
			k := func() *key { return ks.all[i*pieceSize+j] }
			switch {
			case f == g:
				if f != nil {
					f = f.self()
				}
			case g == nil:
				if !k().variable {
					f = nil
					break
				}
				f = f.with(free(k().text, true), request)
			case f == nil:
				if k().variable {
					f = g.with(free(k().text, false), false)
				}
			default:
				f = f.with(g.val, request)
			}
			joined[j] = f
		}
		switch joined {
		case a.facts:
			all.pieces[i] = a
		case b.facts:
			all.pieces[i] = b
		default:
			all.pieces[i] = &piece{all.stamp, joined}
		}
	}
	return all
}

// table is a map that is never changed: environments share it. nil is the empty one.
type table[V any] struct{ of map[string]V }

func (t *table[V]) get(name string) (V, bool) {
	if t == nil {
		var none V
		return none, false
	}
	v, ok := t.of[name]
	return v, ok
}

// with returns the table with one more entry.
func (t *table[V]) with(name string, v V) *table[V] {
	all := map[string]V{}
	if t != nil {
		maps.Copy(all, t.of)
	}
	all[name] = v
	return &table[V]{all}
}

// where returns the table without the entries that are not wanted.
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

// common returns the entries of a table that another one has alike.
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
