package gbnf

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lark returns the grammar as llguidance reads it.
//
// That reader cuts a text into lexemes, the longest one first, before its rules see it; a grammar
// over characters has no lexemes. With a lexeme for each character both are the same, at the price
// of a step of the rules for each character of each token in a vocabulary. So a run of characters
// is one lexeme wherever that changes nothing: the rest of a literal, once nothing else can be read
// there, and a class that repeats without a bound, where whatever else can be read begins with none
// of its characters (see [lexing]).
func (g *Grammar) Lark() string {
	p := lark{g: g.withLoops(), loop: map[*Element]bool{}, whole: map[*Element]int{}}
	p.names = names(p.g, "start", "_", larkName)
	p.lex()
	for i := range p.g.Rules {
		p.text(p.names[p.g.Rules[i].Name])
		p.text(": ")
		p.alts(p.g.Rules[i].Alts)
		p.text("\n")
	}
	return string(p.dst)
}

// larkName is a name in Lark: small letters, digits and underscores.
func larkName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if name[0] < 'a' {
		name = "r_" + name
	}
	return name
}

type lark struct {
	g     *Grammar
	names map[string]string
	loop  map[*Element]bool // classes that are written as lexemes of one or more characters
	whole map[*Element]int  // literals: the byte from which on they are one lexeme
	dst   []byte
}

func (p *lark) text(s string) { p.dst = append(p.dst, s...) }

func (p *lark) alts(alts []Alternate) { writeAlts(alts, p.text, p.element) }

func (p *lark) element(e *Element) {
	switch e.Kind {
	case Literal:
		from, known := p.whole[e]
		if !known { // nor is any: too much would have been compared
			from = len(e.Text)
		}
		for i, r := range e.Text[:from] {
			if i > 0 {
				p.text(" ")
			}
			p.dst = appendString(p.dst, string(r))
		}
		if rest := e.Text[from:]; rest != "" || from == 0 {
			if from > 0 {
				p.text(" ")
			}
			p.dst = appendString(p.dst, rest)
		}
	case Class, Any:
		p.text("/")
		p.dst = appendClass(p.dst, e)
		if p.loop[e] {
			p.text("+")
		}
		p.text("/")
	case Ref:
		p.text(p.names[e.Text])
	case Token:
		p.dst = appendElement(p.dst, *e)
	default:
		p.text("(")
		p.alts(e.Alts)
		p.text(")")
		if e.Kind == Repeat {
			p.dst = appendCount(p.dst, *e)
		}
	}
}

// appendClass appends a class as a regular expression of Rust's regex crate.
func appendClass(dst []byte, e *Element) []byte {
	if e.Kind == Any {
		return append(dst, `(?s:.)`...)
	}
	dst = append(dst, '[')
	if e.Negated {
		dst = append(dst, '^')
	}
	char := func(r rune) {
		switch {
		case r > 0x20 && r < 0x7f && !strings.ContainsRune(`[]\^-&~/`, r),
			r >= 0x80 && unicode.IsLetter(r):
			dst = utf8.AppendRune(dst, r)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = fmt.Appendf(dst, `\x{%x}`, r)
		}
	}
	for _, r := range complement(complement(e.Ranges)) { // without surrogates
		char(r.Lo)
		if r.Hi > r.Lo {
			dst = append(dst, '-')
			char(r.Hi)
		}
	}
	return append(dst, ']')
}

// withLoops returns a copy of the grammar in which the body of an unbounded repetition shows its
// classes: a rule that has one as an alternative is written out.
func (g *Grammar) withLoops() *Grammar {
	out := &Grammar{Rules: make([]Rule, len(g.Rules))}
	var copyAlts func(alts []Alternate, loops bool) []Alternate
	copyAlts = func(alts []Alternate, loops bool) []Alternate {
		list := make([]Alternate, 0, len(alts))
		for _, alt := range alts {
			if loops && len(alt) == 1 && alt[0].Kind == Ref {
				if r := g.Rule(alt[0].Text); slices.ContainsFunc(r.Alts, isClass) {
					list = append(list, copyAlts(r.Alts, false)...)
					continue
				}
			}
			seq := slices.Clone(alt)
			for i := range seq {
				seq[i].Alts = copyAlts(seq[i].Alts, unbounded(&seq[i]))
			}
			list = append(list, seq)
		}
		return list
	}
	for i, r := range g.Rules {
		out.Rules[i] = Rule{r.Name, copyAlts(r.Alts, false)}
	}
	return out
}

// isClass reports whether an alternative is one character of several.
func isClass(alt Alternate) bool {
	return len(alt) == 1 && (alt[0].Kind == Class || alt[0].Kind == Any)
}

// unbounded reports whether an element may stand for any number of its body, all at once.
func unbounded(e *Element) bool {
	return e.Kind == Repeat && e.Max == Unlimited && e.Min <= 1
}

// lexing finds out which places of a grammar can be read at once. A place is a character of a
// literal, or a class. Two places meet if some text leads to both: the grammar cannot tell yet
// which of them is meant. Rules that come back to each other are a group. Each use of a rule from
// outside of its group has places of its own; inside a group the automaton goes on after every use,
// so that more places meet here than do, never fewer. A run is safe as one lexeme if no place that
// its own first place meets can take one of its characters: the longest lexeme is then the only
// one.
type lexing struct {
	places []lexPlace
	joints []joint // the states between places
	// follow has, for each joint, the places that can be read there; equal sets share a number.
	follow []int
	sets   [][]int
	meets  [][]int // by place: those that it meets and has a character in common with
	work   int     // that may still be done
}

type lexPlace struct {
	ranges []Range
	to     int // the joint after it
	of     *Element
	at     int  // the byte of a literal
	loops  bool // the class repeats
}

// joint is a state of the automaton without the places that lead on from it: steps that read
// nothing.
type joint struct {
	next   []int
	places []int
}

// The bounds of the automaton: on the places that are compared with each other, and on the joints
// between them.
const (
	maxPlaces = 1 << 14
	maxJoints = 1 << 18
)

// maxWork bounds the work of finding the places that meet, in places compared with each other. The
// work grows faster than the grammar: tools whose names begin alike are compared with each other,
// and so are optional properties. A grammar that takes more is written with a lexeme for each
// character.
const (
	maxWork     = 100_000_000
	workOfPlace = 16  // that a set gets
	workOfPair  = 100 // of sets
)

// lex decides which runs are lexemes.
func (p *lark) lex() {
	l, ok := newLexing(p.g, true)
	if !ok {
		l, ok = newLexing(p.g, false)
	}
	if !ok || !l.meet() {
		return
	}
	// classes that repeat, until nothing changes: they may meet their own kind
	unsafe := map[*Element]bool{}
	for changed := true; changed; {
		changed = false
		for i := range l.places {
			one := &l.places[i]
			if one.loops && !unsafe[one.of] && !l.alone(i, func(q int) bool {
				other := &l.places[q]
				return other.loops && !unsafe[other.of] && slices.Equal(other.ranges, one.ranges)
			}) {
				unsafe[one.of], changed = true, true
			}
		}
	}
	type char struct {
		of *Element
		at int
	}
	mixed := map[char]bool{} // characters that are not alone
	for i := range l.places {
		one := &l.places[i]
		if one.loops && !unsafe[one.of] {
			p.loop[one.of] = true
		}
		if one.of.Kind == Literal && !l.alone(i, func(q int) bool {
			return l.places[q].of == one.of && l.places[q].at == one.at
		}) {
			mixed[char{one.of, one.at}] = true
		}
	}
	for i := range l.places {
		e := l.places[i].of
		if _, known := p.whole[e]; known || e.Kind != Literal {
			continue
		}
		from := 0
		for from < len(e.Text) && mixed[char{e, from}] {
			_, size := utf8.DecodeRuneInString(e.Text[from:])
			from += size
		}
		p.whole[e] = from
	}
}

// alone reports whether no place that a place meets can take one of its characters, except for
// those that like reports as alike.
func (l *lexing) alone(i int, like func(q int) bool) bool {
	return !slices.ContainsFunc(l.meets[i], func(q int) bool { return !like(q) })
}

// overlap reports whether two normal lists of ranges have a character in common.
func overlap(a, b []Range) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Hi < b[0].Lo:
			a = a[1:]
		case b[0].Hi < a[0].Lo:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

// lexUse is a use of rules that come back to themselves: the joints before and after each of them.
type lexUse struct {
	group        int
	enter, leave map[string]int
}

// newLexing makes the automaton of a grammar. With copies, each use of a rule from outside of its
// group has places of its own; ok is false where that takes too many.
func newLexing(g *Grammar, copies bool) (l *lexing, ok bool) {
	l, ok = &lexing{work: maxWork}, true
	rules := make(map[string]*Rule, len(g.Rules))
	for i := range g.Rules {
		rules[g.Rules[i].Name] = &g.Rules[i]
	}
	groups, again := ruleGroups(g)
	if !copies {
		clear(groups) // all rules are of one group, which is used once
		for name := range rules {
			again[name] = true
		}
	}
	step := func(from, to int) { l.joints[from].next = append(l.joints[from].next, to) }
	place := func(from int, ranges []Range, e *Element, at int, loops bool) int {
		if ok = ok && len(l.places) < maxPlaces && len(l.joints) < maxJoints; !ok {
			return from
		}
		to := l.joint()
		l.joints[from].places = append(l.joints[from].places, len(l.places))
		l.places = append(l.places, lexPlace{ranges, to, e, at, loops})
		return to
	}
	var alts func(use *lexUse, rule string, list []Alternate, from, to int, loops bool)
	refer := func(use *lexUse, name string, from int) int {
		if ok = ok && len(l.joints) < maxJoints; !ok {
			return from
		}
		next := l.joint()
		switch group := groups[name]; {
		case !again[name]:
			alts(&lexUse{group: group}, name, rules[name].Alts, from, next, false)
		default:
			if use.enter == nil || use.group != group {
				use = &lexUse{group, map[string]int{}, map[string]int{}}
			}
			if _, known := use.enter[name]; !known {
				use.enter[name], use.leave[name] = l.joint(), l.joint()
				alts(use, name, rules[name].Alts, use.enter[name], use.leave[name], false)
			}
			step(from, use.enter[name])
			step(use.leave[name], next)
		}
		return next
	}
	alts = func(use *lexUse, rule string, list []Alternate, from, to int, loops bool) {
		for _, alt := range list {
			at := from
			for i := range alt {
				e := &alt[i]
				switch e.Kind {
				case Literal:
					for i, r := range e.Text {
						at = place(at, []Range{{Lo: r, Hi: r}}, e, i, false)
					}
				case Token: // no text: it meets nothing
					at = place(at, nil, e, 0, false)
				case Class, Any:
					// [x] R as an alternative of R repeats, and so does [x] in ([x] | ...)*
					repeats := loops && len(alt) == 1 ||
						rule != "" && i == 0 && len(alt) == 2 && alt[1].Kind == Ref &&
							alt[1].Text == rule
					at = place(at, charsOf(e), e, 0, repeats)
				case Ref:
					at = refer(use, e.Text, at)
				default:
					in, out := l.joint(), l.joint()
					step(at, in)
					if e.Kind == Repeat && e.Max > 1 && e.Max <= maxCounts {
						for n := range e.Max {
							if n >= e.Min {
								step(in, out)
							}
							next := l.joint()
							alts(use, "", e.Alts, in, next, false)
							in = next
						}
						step(in, out)
						at = out
						continue
					}
					alts(use, "", e.Alts, in, out, unbounded(e))
					if e.Kind == Repeat {
						if e.Min == 0 {
							step(in, out)
						}
						if e.Max != 1 {
							step(out, in)
						}
					}
					at = out
				}
			}
			step(at, to)
		}
	}
	root := l.joint()
	refer(&lexUse{}, Root, root)
	return l, ok && l.close(root)
}

// maxCounts bounds the repetitions whose counts are tracked.
const maxCounts = 8

// ruleGroups numbers the groups of rules that come back to each other, and reports which rules come
// back to themselves (Tarjan, 1972, with a stack of its own for long chains).
func ruleGroups(g *Grammar) (groups map[string]int, again map[string]bool) {
	index := make(map[string]int, len(g.Rules))
	for i := range g.Rules {
		index[g.Rules[i].Name] = i
	}
	groups, again = map[string]int{}, map[string]bool{}
	number := make([]int, len(g.Rules)) // in the order of visits, from 1
	low := make([]int, len(g.Rules))
	open := make([]bool, len(g.Rules))
	type visit struct {
		rule int
		refs []int
	}
	var path []visit
	var stack []int
	count := 0
	enter := func(i int) {
		count++
		number[i], low[i], open[i] = count, count, true
		stack = append(stack, i)
		path = append(path, visit{i, allRefs(nil, g.Rules[i].Alts, index)})
	}
	for start := range g.Rules {
		if number[start] > 0 {
			continue
		}
		enter(start)
		for len(path) > 0 {
			top := &path[len(path)-1]
			if len(top.refs) > 0 {
				next := top.refs[0]
				top.refs = top.refs[1:]
				switch {
				case next == top.rule:
					again[g.Rules[next].Name] = true
					fallthrough
				case open[next]:
					low[top.rule] = min(low[top.rule], number[next])
				case number[next] == 0:
					enter(next)
				}
				continue
			}
			i := top.rule
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1].rule
				low[parent] = min(low[parent], low[i])
			}
			if low[i] != number[i] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != i {
				at--
			}
			for _, member := range stack[at:] {
				open[member] = false
				groups[g.Rules[member].Name] = i + 1
				if len(stack)-at > 1 {
					again[g.Rules[member].Name] = true
				}
			}
			stack = stack[:at]
		}
	}
	return groups, again
}

func (l *lexing) joint() int {
	l.joints = append(l.joints, joint{})
	return len(l.joints) - 1
}

// charsOf returns the characters of a class as normal ranges.
func charsOf(e *Element) []Range {
	switch {
	case e.Kind == Any:
		return complement(nil)
	case e.Negated:
		return complement(e.Ranges)
	}
	return e.Ranges
}

// close finds the places that can be read at a joint: at the root's, which is number 0 of the sets,
// and after each place. It reports whether that took no more work than there may be.
func (l *lexing) close(root int) bool {
	const unknown = -1
	l.follow = slices.Repeat([]int{unknown}, len(l.joints))
	known := map[string]int{}
	seen := make([]int, len(l.joints)) // by which round
	round := 0
	var set, stack []int
	var key []byte
	// find finds the places of a joint. One that only leads to another one has those of that one.
	find := func(first int) {
		round++
		at := first
		for j := &l.joints[at]; len(j.next) == 1 && len(j.places) == 0 && l.follow[at] == unknown &&
			seen[at] != round; j = &l.joints[at] {
			seen[at] = round
			at = j.next[0]
		}
		if l.follow[at] != unknown {
			l.follow[first] = l.follow[at]
			return
		}
		round++
		set, stack = set[:0], append(stack[:0], at)
		seen[at] = round
		for len(stack) > 0 {
			j := &l.joints[stack[len(stack)-1]]
			stack = stack[:len(stack)-1]
			set = append(set, j.places...)
			l.work -= workOfPlace * (1 + len(j.places))
			for _, n := range j.next {
				if seen[n] != round {
					seen[n] = round
					stack = append(stack, n)
				}
			}
		}
		slices.Sort(set)
		set = slices.Compact(set)
		key = key[:0]
		for _, q := range set {
			key = binary.AppendUvarint(key, uint64(q))
		}
		n, ok := known[string(key)]
		if !ok {
			n = len(l.sets)
			known[string(key)] = n
			l.sets = append(l.sets, slices.Clone(set))
		}
		l.follow[at], l.follow[first] = n, n
	}
	find(root)
	for i := 0; i < len(l.places) && l.work > 0; i++ {
		find(l.places[i].to)
	}
	return l.work > 0
}

// meet finds the places that meet and have a character in common, and reports whether that took no
// more work than there may be.
func (l *lexing) meet() bool {
	words := (len(l.places) + 63) / 64
	compared := make([][]uint64, len(l.places)) // by place: bits of those with higher numbers
	l.meets = make([][]int, len(l.places))
	type pair struct{ a, b int } // sets of which all places meet
	done := map[pair]bool{}
	var queue []pair
	together := func(a, b int) {
		if p := (pair{min(a, b), max(a, b)}); !done[p] {
			done[p] = true
			l.work -= workOfPair
			queue = append(queue, p)
		}
	}
	together(0, 0)
	for i := range l.places {
		n := l.follow[l.places[i].to]
		together(n, n)
	}
	for len(queue) > 0 {
		p := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if l.work -= len(l.sets[p.a]) * len(l.sets[p.b]); l.work < 0 {
			return false
		}
		for _, i := range l.sets[p.a] {
			for _, q := range l.sets[p.b] {
				low, high := min(i, q), max(i, q)
				row := compared[low]
				if row == nil {
					row = make([]uint64, words)
					compared[low] = row
				}
				bit := uint64(1) << (high & 63)
				if row[high>>6]&bit != 0 || low == high {
					continue
				}
				row[high>>6] |= bit
				if overlap(l.places[i].ranges, l.places[q].ranges) {
					l.meets[i], l.meets[q] = append(l.meets[i], q), append(l.meets[q], i)
					together(l.follow[l.places[i].to], l.follow[l.places[q].to])
				}
			}
		}
	}
	return true
}
