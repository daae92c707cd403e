package gbnf

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/schema"
)

// MaxStates bounds how many derivations a [Matcher] follows at once. A grammar that needs more is
// too ambiguous.
const MaxStates = 30_000

// Matcher reads a text in pieces and reports whether a grammar derives it. It follows every
// derivation at once; a derivation is a stack of places to go on at, and derivations share their
// lower frames. Of derivations that differ only in how often a repetition has run, the one with
// more repetitions left stands for the others, so that ambiguous and nested counts stay few.
//
// A token element with a text matches that text; tokens by number and negated tokens match only
// through [Matcher.AcceptToken]. A Matcher is not safe for concurrent use; memory is proportional
// to the live derivations.
type Matcher struct {
	root  []*node
	tops  []place // the places that can come next
	spare []place // the memory of the tops before
	// steady is the set of the tops (as bits) that took the last character, where that changed
	// nothing; else 0.
	steady uint64
	done   bool // the text may end here
	table  map[place]*frame
	limit  int // of the table, before frames that nothing refers to are dropped
	seen   seenTable
	work   []place
	part   [utf8.UTFMax]byte // the beginning of a character that is not yet complete
	nPart  int
	off    int
	err    error
}

// node is a compiled element.
type node struct {
	id       int
	kind     Kind
	next     *node // nil: the end of the sequence
	text     string
	set      *charSet // of a class
	heads    []*node  // of a group, a repetition's body or a rule; nil heads are empty alternatives
	min, max int
	negated  bool
	token    int
}

// frame is a place on a stack below the top: the place to go on at once the frames above have
// ended. Frames are unique.
type frame struct {
	place
	shape uint64 // a hash of the place and all below, without the counts that may differ
}

// place is a node with a number: of a literal, the bytes already read; of a repetition whose body
// is above, how often it has run; fresh where the node is about to be entered.
type place struct {
	node   *node
	n      int
	parent *frame
}

const fresh = -1

// charSet is a set of characters.
type charSet struct {
	ascii   [2]uint64
	ranges  []Range
	negated bool
}

func newCharSet(ranges []Range, negated bool) *charSet {
	s := &charSet{ranges: schema.NormalRanges(ranges), negated: negated}
	for _, x := range s.ranges {
		for r := x.Lo; r <= min(x.Hi, unicode.MaxASCII); r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func (s *charSet) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r>>6]&(1<<(r&63)) != 0 != s.negated
	}
	return schema.InRanges(s.ranges, r) != s.negated
}

// overlaps reports whether some character of a range is in the set.
func (s *charSet) overlaps(r Range) bool {
	both := intersect(s.ranges, []Range{r})
	if !s.negated {
		return len(both) > 0
	}
	return len(both) != 1 || both[0] != r
}

// NewMatcher returns a matcher at the beginning of a text.
func NewMatcher(g *Grammar) (*Matcher, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	index := make(map[string]int, len(g.Rules))
	for i, r := range g.Rules {
		index[r.Name] = i
	}
	c := &compiler{index: index, null: nullable(g, index), heads: make([][]*node, len(g.Rules))}
	for i, r := range g.Rules {
		c.heads[i] = c.alts(r.Alts)
	}
	for _, ref := range c.refs {
		ref.heads = c.heads[index[ref.text]]
	}
	m := &Matcher{root: c.heads[index[Root]]}
	m.Reset()
	return m, nil
}

type compiler struct {
	index map[string]int
	null  []bool
	heads [][]*node // by rule
	refs  []*node
	ids   int
}

func (c *compiler) alts(alts []Alternate) []*node {
	heads := make([]*node, len(alts))
	for i, alt := range alts {
		for _, e := range slices.Backward(alt) {
			heads[i] = c.element(e, heads[i])
		}
	}
	return heads
}

func (c *compiler) element(e Element, next *node) *node {
	if e.Kind == Literal && e.Text == "" {
		return next
	}
	c.ids++
	n := &node{id: c.ids, kind: e.Kind, next: next, text: e.Text, min: e.Min, max: e.Max,
		negated: e.Negated, token: e.ID}
	switch e.Kind {
	case Class:
		n.set = newCharSet(e.Ranges, e.Negated)
	case Any:
		n.kind, n.set = Class, newCharSet(nil, true)
	case Ref:
		c.refs = append(c.refs, n)
	case Token:
		if e.Text != "" && !e.Negated {
			n.kind = Literal
		}
	case Group:
		n.heads = c.alts(e.Alts)
	case Repeat:
		n.heads = c.alts(e.Alts)
		if nullableAlts(e.Alts, c.index, c.null) {
			n.min = 0 // empty runs make up for missing ones
		}
	}
	return n
}

// Reset goes back to the beginning of a text.
func (m *Matcher) Reset() {
	if m.table == nil || len(m.table) > minTable {
		m.table = map[place]*frame{}
		m.limit = minTable
	}
	m.off, m.nPart, m.err, m.done, m.steady = 0, 0, nil, false, 0
	m.tops = m.tops[:0]
	m.seen.clear()
	for _, head := range m.root {
		m.push(head, nil)
	}
	m.close()
}

// Accept reads a piece of text and reports whether the text so far can still become a sentence. A
// piece may end inside a character. Once it says no, it always does.
func (m *Matcher) Accept(piece []byte) bool { return m.AcceptString(string(piece)) }

// AcceptString is [Matcher.Accept] for a string.
func (m *Matcher) AcceptString(piece string) bool {
	for len(piece) > 0 && !m.Dead() {
		if m.nPart == 0 && piece[0] < utf8.RuneSelf {
			m.step(rune(piece[0]), 1)
			piece = piece[1:]
			continue
		}
		m.part[m.nPart] = piece[0]
		m.nPart++
		piece = piece[1:]
		head := m.part[:m.nPart]
		if !utf8.FullRune(head) {
			if !m.couldContinue(head) {
				m.die()
			}
			continue
		}
		r, size := utf8.DecodeRune(head)
		m.nPart = 0
		if r == utf8.RuneError && size == 1 {
			m.die() // not UTF-8, which no grammar derives
		} else {
			m.step(r, size)
		}
	}
	return !m.Dead()
}

// AcceptToken reads one token with its number and its text: token elements take it as a whole, all
// others by its text. Where a token element takes a token whose text ends inside a character, the
// other readings are dropped.
func (m *Matcher) AcceptToken(id int, piece string) bool {
	if m.Dead() {
		return false
	}
	before, off := slices.Clone(m.tops), m.off
	m.tops, m.done, m.steady = nil, false, 0
	m.seen.clear()
	if m.nPart == 0 {
		for _, p := range before {
			if p.node.kind == Token &&
				(p.node.text != "" && p.node.text == piece ||
					p.node.text == "" && p.node.token == id) != p.node.negated {
				m.push(p.node.next, p.parent)
			}
		}
		m.close()
	}
	taken, done := m.tops, m.done
	m.tops = slices.DeleteFunc(before, func(p place) bool { return p.node.kind == Token })
	m.done = false
	if len(m.tops) > 0 {
		m.AcceptString(piece)
	}
	if len(taken) > 0 || done {
		if m.nPart > 0 {
			m.tops, m.nPart = nil, 0
		}
		m.off, m.done = off+len(piece), m.done && len(m.tops) > 0 || done
		m.tops, m.steady = append(m.tops, taken...), 0
	}
	return !m.Dead()
}

// Dead reports whether no text that begins like this one is a sentence.
func (m *Matcher) Dead() bool { return m.err != nil || len(m.tops) == 0 && !m.done }

// Done reports whether the text so far is a sentence.
func (m *Matcher) Done() bool { return m.done && m.nPart == 0 && m.err == nil }

// Offset returns the bytes of whole characters that were accepted; of a dead matcher, the place of
// the first one that was not.
func (m *Matcher) Offset() int { return m.off }

// Err returns the error of a matcher that gave up: more than [MaxStates] derivations.
func (m *Matcher) Err() error { return m.err }

// maxExpected bounds the length of [Matcher.Expected]'s result.
const maxExpected = 10

// Expected lists the elements that can come next, as the grammar writes them, each once and ten at
// most.
func (m *Matcher) Expected() []string {
	var out []string
	for _, p := range m.tops {
		var text string
		switch n := p.node; n.kind {
		case Literal:
			text = Element{Kind: Literal, Text: n.text[p.n:]}.String()
		case Class:
			text = "."
			if len(n.set.ranges) > 0 {
				text = Element{Kind: Class, Ranges: n.set.ranges, Negated: n.set.negated}.String()
			}
		default:
			text = Element{Kind: Token, Text: n.text, ID: n.token, Negated: n.negated}.String()
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
		if len(out) == maxExpected {
			break
		}
	}
	if m.done && len(out) < maxExpected {
		out = append(out, "the end")
	}
	return out
}

// Accepts reports whether a text is a sentence of a grammar.
func Accepts(g *Grammar, text string) (bool, error) {
	m, err := NewMatcher(g)
	if err != nil {
		return false, err
	}
	m.AcceptString(text)
	return m.Done(), m.Err()
}

// AcceptsPrefix reports whether a text is the beginning of a sentence of a grammar.
func AcceptsPrefix(g *Grammar, text string) (bool, error) {
	m, err := NewMatcher(g)
	if err != nil {
		return false, err
	}
	return m.AcceptString(text), m.Err()
}

func (m *Matcher) die() {
	m.tops, m.done, m.nPart, m.steady = m.tops[:0], false, 0, 0
}

// couldContinue reports whether some character that begins with the given bytes can come next.
func (m *Matcher) couldContinue(head []byte) bool {
	var full [utf8.UTFMax]byte
	n := copy(full[:], head)
	want := 2
	switch {
	case head[0] >= 0xf0:
		want = 4
	case head[0] >= 0xe0:
		want = 3
	}
	decode := func(fill byte) rune {
		for i := n; i < want; i++ {
			full[i] = fill
		}
		r := rune(full[0]) & (0x7f >> want)
		for _, c := range full[1:want] {
			r = r<<6 | rune(c&0x3f)
		}
		return r
	}
	reach := Range{Lo: decode(0x80), Hi: min(decode(0xbf), unicode.MaxRune)}
	return slices.ContainsFunc(m.tops, func(p place) bool {
		switch p.node.kind {
		case Literal:
			r, _ := utf8.DecodeRuneInString(p.node.text[p.n:])
			return r >= reach.Lo && r <= reach.Hi
		case Class:
			return p.node.set.overlaps(reach)
		}
		return false
	})
}

// step reads a character of size bytes.
//
// Text is mostly characters that lead back to the same derivations: where a step has changed
// nothing, the next character that the same places take changes nothing either, and only the places
// are asked.
func (m *Matcher) step(r rune, size int) {
	before := m.tops
	taken := uint64(0) // which of the first 64 places take the character
	for i := range min(len(before), 64) {
		if before[i].takes(r) {
			taken |= 1 << i
		}
	}
	if m.steady != 0 && taken == m.steady {
		m.off += size
		return
	}
	wasDone := m.done
	m.tops, m.done, m.steady = m.spare[:0], false, 0
	m.seen.clear()
	for i, p := range before {
		if i < 64 && taken&(1<<i) == 0 || i >= 64 && !p.takes(r) {
			continue
		}
		if n := p.node; n.kind == Literal && p.n+utf8.RuneLen(r) < len(n.text) {
			m.visit(place{n, p.n + utf8.RuneLen(r), p.parent})
		} else {
			m.push(n.next, p.parent)
		}
	}
	m.close()
	m.spare = before
	if len(m.tops) > 0 || m.done {
		m.off += size
	}
	if m.done == wasDone && len(before) <= 64 && slices.Equal(before, m.tops) {
		m.steady = taken
	}
	if len(m.table) > m.limit {
		m.sweep()
	}
}

// takes reports whether a place that waits for a character takes this one.
func (p *place) takes(r rune) bool {
	switch p.node.kind {
	case Literal:
		if text := p.node.text[p.n:]; text[0] < utf8.RuneSelf {
			return rune(text[0]) == r
		} else {
			want, _ := utf8.DecodeRuneInString(text)
			return want == r
		}
	case Class:
		return p.node.set.has(r)
	}
	return false
}

// push goes on at a node, nil being the end of a sequence.
func (m *Matcher) push(n *node, parent *frame) {
	for n == nil {
		if parent == nil {
			m.done = true
			return
		}
		if parent.n != fresh {
			m.visit(place{parent.node, parent.n, parent.parent}) // a repetition's body has ended
			return
		}
		n, parent = parent.node, parent.parent
	}
	at := fresh
	if n.kind == Literal || n.kind == Repeat {
		at = 0
	}
	m.visit(place{n, at, parent})
}

// visit notes a place to be worked on, unless one that can do as much was there in this step.
func (m *Matcher) visit(p place) {
	terminal := p.node.kind != Group && p.node.kind != Ref && p.node.kind != Repeat
	old, index := m.seen.add(p, shape(p))
	switch {
	case old == dominated:
	case !terminal:
		m.work = append(m.work, p)
	case old == replaced:
		m.tops[m.seen.slots[index].top] = p
	default:
		if len(m.tops) >= MaxStates {
			if m.err == nil {
				m.err = fmt.Errorf("grammar: more than %d ways to read the text at byte %d; the "+
					"grammar is too ambiguous", MaxStates, m.off)
			}
			return
		}
		m.seen.slots[index].top = len(m.tops)
		m.tops = append(m.tops, p)
	}
}

// close works off the noted places until only characters and tokens are left to wait for.
func (m *Matcher) close() {
	for len(m.work) > 0 && m.err == nil {
		p := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		n := p.node
		if n.kind == Repeat {
			if p.n >= n.min {
				m.push(n.next, p.parent)
			}
			if n.max == Unlimited || p.n < n.max {
				count := p.n + 1
				if n.max == Unlimited {
					count = min(count, n.min)
				}
				under := m.frame(place{n, count, p.parent})
				for _, head := range n.heads {
					m.push(head, under)
				}
			}
			continue
		}
		under := p.parent
		if n.next != nil {
			under = m.frame(place{n.next, fresh, p.parent})
		}
		for _, head := range n.heads {
			m.push(head, under)
		}
	}
	if m.err != nil {
		m.work = m.work[:0]
		m.die()
	}
}

func (m *Matcher) frame(p place) *frame {
	f := m.table[p]
	if f == nil {
		f = &frame{p, shape(p)}
		m.table[p] = f
	}
	return f
}

// minTable is the number of frames below which none are dropped.
const minTable = 1 << 12

// sweep drops the frames that no derivation stands on.
func (m *Matcher) sweep() {
	m.table = make(map[place]*frame, len(m.tops))
	for _, p := range m.tops {
		for f := p.parent; f != nil && m.table[f.place] == nil; f = f.parent {
			m.table[f.place] = f
		}
	}
	m.limit = max(minTable, 2*len(m.table))
}

// shape is a hash of a place and all below. Counts of bounded repetitions that have reached their
// minimum are left out: two places of one shape then differ in them only.
func shape(p place) uint64 {
	h := uint64(p.node.id) * 0x9e3779b97f4a7c15
	if !countsFreely(p.node, p.n) {
		h ^= uint64(p.n+2) * 0xc2b2ae3d27d4eb4f
	}
	if p.parent != nil {
		h ^= (p.parent.shape<<17 | p.parent.shape>>47) * 0x165667b19e3779f9
	}
	h ^= h >> 29
	return h * 0xbf58476d1ce4e5b9
}

func countsFreely(n *node, count int) bool {
	return n.kind == Repeat && n.max != Unlimited && count != fresh && count >= n.min
}

// dominates reports whether every text that b can go on with, a can as well: they are the same but
// for counts of repetitions, and a has more of them left.
func dominates(a, b place) bool {
	for {
		if a.node != b.node ||
			a.n != b.n && !(countsFreely(a.node, a.n) && countsFreely(b.node, b.n) && a.n < b.n) {
			return false
		}
		if a.parent == b.parent {
			return true
		}
		if a.parent == nil || b.parent == nil {
			return false
		}
		a, b = a.parent.place, b.parent.place
	}
}

// seenTable holds the places of one step, by shape: a hash table with open addressing, emptied by
// counting up.
type seenTable struct {
	slots []seenSlot
	used  int
	step  uint32
}

type seenSlot struct {
	step  uint32
	top   int // index in tops
	shape uint64
	place place
}

type verdict uint8

const (
	added verdict = iota
	dominated
	replaced // it stands for the one that was there
)

func (t *seenTable) clear() {
	t.step++
	t.used = 0
	if t.step == 0 { // once in four billion steps
		clear(t.slots)
		t.step = 1
	}
}

func (t *seenTable) add(p place, shape uint64) (verdict, int) {
	if 2*t.used >= len(t.slots) {
		old := t.slots
		t.slots = make([]seenSlot, max(64, 2*len(old)))
		for _, s := range old {
			if s.step == t.step {
				t.slots[t.free(s.shape)] = s
			}
		}
	}
	mask := uint64(len(t.slots) - 1)
	for i := shape & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.step != t.step {
			*s = seenSlot{t.step, 0, shape, p}
			t.used++
			return added, int(i)
		}
		if s.shape != shape {
			continue
		}
		if dominates(s.place, p) {
			return dominated, int(i)
		}
		if dominates(p, s.place) {
			s.place = p
			return replaced, int(i)
		}
	}
}

func (t *seenTable) free(shape uint64) uint64 {
	mask := uint64(len(t.slots) - 1)
	i := shape & mask
	for t.slots[i].step == t.step {
		i = (i + 1) & mask
	}
	return i
}
