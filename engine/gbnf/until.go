package gbnf

import (
	"slices"
	"strconv"
	"strings"
)

// Until matches any text in which none of the markers occurs. It is exact: the automaton that finds
// the markers, one rule for each of its states from which no marker has been found, with the
// characters of every transition as a class.
func (b *Builder) Until(markers ...string) Element {
	return b.until(markers, 0, Unlimited)
}

// maxCounted bounds the rules spent on text that stops at markers and has a length, in automaton
// states times counts.
const maxCounted = 512

// until matches a text without markers of lo to hi characters. Where counting takes too many rules,
// the length is left out.
func (b *Builder) until(markers []string, lo, hi int) Element {
	markers = slices.DeleteFunc(slices.Clone(markers), func(m string) bool { return m == "" })
	if len(markers) == 0 {
		return b.Repeat(b.Any(), lo, hi)
	}
	if len(markers) == 1 && lo == 0 && hi == Unlimited && len([]rune(markers[0])) == 1 {
		return b.Repeat(b.Class(runes(markers[0]), true), 0, Unlimited)
	}
	key := strings.Join(markers, "\x00") +
		Element{Kind: Repeat, Alts: []Alternate{{Element{Kind: Any}}}, Min: lo, Max: hi}.String()
	if e, ok := b.untils[key]; ok {
		return e
	}
	ac := newAutomaton(markers)
	top := hi
	if hi == Unlimited {
		top = lo
	}
	if top > 0 && (top > maxCounted || len(ac.states)*(top+1) > maxCounted) {
		b.untils[key] = b.until(markers, 0, Unlimited)
		return b.untils[key]
	}
	// refs[s*(top+1)+n] is the rule for state s after n characters, counted up to top.
	refs := make([]Element, len(ac.states)*(top+1))
	var order []int // of refs
	visit := func(s, n int) Element {
		ref := &refs[s*(top+1)+n]
		if ref.Kind == Never {
			*ref = b.Declare("text")
			order = append(order, s*(top+1)+n)
		}
		return *ref
	}
	start := visit(0, 0)
	for i := 0; i < len(order) && b.err == nil; i++ {
		s, n := order[i]/(top+1), order[i]%(top+1)
		var alts []Alternate // no two alike: each leads to another state
		if n < top || hi == Unlimited {
			next := min(n+1, top)
			transitions := ac.transitions(s)
			alts = make([]Alternate, 0, len(transitions)+1)
			for _, t := range transitions {
				if !ac.states[t.to].found {
					alts = append(alts, Alternate{b.Class(t.ranges, t.negated), visit(t.to, next)})
				}
			}
		}
		if n >= lo {
			alts = append(alts, Alternate{})
		}
		b.Define(refs[order[i]], b.counted(Element{Kind: Group, Alts: alts}, 3*len(alts)))
	}
	b.untils[key] = start
	return start
}

// maxFallbacks bounds how often one step of [Builder.Brief] falls back from a beginning of a marker
// to another one: once, so that a blank line is text where a line break begins a marker.
const maxFallbacks = 1

// Brief matches text in which none of the markers occurs, of at most so many steps. A step is a
// character, or a beginning of a marker with the character after it that shows that it is none. A
// beginning in which others end, such as "<<<<" where "<p>" is a marker, falls back to them once a
// step. At its end the text may have white space with which a marker begins. Longer runs of
// beginnings and other beginnings at the end are left out: models do not write them, and each costs
// a rule for every state of the automaton of [Builder.Until].
func (b *Builder) Brief(steps int, markers ...string) Element {
	markers = slices.DeleteFunc(slices.Clone(markers), func(m string) bool { return m == "" })
	if len(markers) == 0 {
		return b.Repeat(b.Any(), 0, steps)
	}
	key := strconv.Itoa(steps) + "\x00" + strings.Join(markers, "\x00")
	if e, ok := b.untils[key]; ok {
		return e
	}
	ac := newAutomaton(markers)
	e := b.Seq(b.Repeat(b.walk(ac, false), 0, steps), b.walk(ac, true))
	b.untils[key] = e
	return e
}

// walk matches a walk through an automaton from its start back to it for the first time; or, part
// of one, white space that has not come back.
func (b *Builder) walk(ac *automaton, part bool) Element {
	// rests[s] is the rest of a walk from state s on, with so many fallbacks left as the round; a
	// child of a state has a higher number.
	rests, fewer := make([]Element, len(ac.states)), make([]Element, len(ac.states))
	for round := range maxFallbacks + 1 {
		rests, fewer = fewer, rests
		for s := len(ac.states) - 1; s >= 0 && b.err == nil; s-- {
			if ac.states[s].found {
				continue
			}
			var choices []Element
			for _, t := range ac.transitions(s) {
				first := b.Class(t.ranges, t.negated)
				switch {
				case ac.states[t.to].found, part && (t.to == 0 || !isSpace(t.ranges[0].Lo)):
				case t.to == 0:
					choices = append(choices, first)
				case ac.states[s].next[t.ranges[0].Lo] == t.to:
					choices = append(choices, b.Seq(first, rests[t.to]))
				case round > 0:
					choices = append(choices, b.Seq(first, fewer[t.to]))
				}
			}
			if part {
				choices = append(choices, b.Empty())
			}
			rests[s] = b.Rule("text", b.Alt(choices...))
		}
	}
	return rests[0]
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// automaton finds markers (Aho and Corasick, 1975), over characters.
type automaton struct {
	states []acState
}

type acState struct {
	next  map[rune]int
	fail  int
	found bool         // a marker ends here
	leads []transition // where it leads; nil: not asked yet
}

func newAutomaton(markers []string) *automaton {
	ac := &automaton{states: []acState{{next: map[rune]int{}}}}
	for _, m := range markers {
		s := 0
		for _, r := range m {
			to, ok := ac.states[s].next[r]
			if !ok {
				to = len(ac.states)
				ac.states = append(ac.states, acState{next: map[rune]int{}})
				ac.states[s].next[r] = to
			}
			s = to
		}
		ac.states[s].found = true
	}
	queue := []int{0}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for r, to := range ac.states[s].next {
			if s != 0 {
				ac.states[to].fail = ac.step(ac.states[s].fail, r)
				ac.states[to].found = ac.states[to].found || ac.states[ac.states[to].fail].found
			}
			queue = append(queue, to)
		}
	}
	return ac
}

func (ac *automaton) step(s int, r rune) int {
	for {
		if to, ok := ac.states[s].next[r]; ok {
			return to
		}
		if s == 0 {
			return 0
		}
		s = ac.states[s].fail
	}
}

// transition is the characters that lead to one state.
type transition struct {
	to      int
	ranges  []Range
	negated bool
}

// transitions returns where a state leads, the way back to the start (all other characters) last.
func (ac *automaton) transitions(s int) []transition {
	if leads := ac.states[s].leads; leads != nil {
		return leads
	}
	var special []rune // characters that may lead elsewhere than to the start
	for at := s; ; at = ac.states[at].fail {
		for r := range ac.states[at].next {
			special = append(special, r)
		}
		if at == 0 {
			break
		}
	}
	slices.Sort(special)
	special = slices.Compact(special)
	var out []transition
	var away []Range
	for _, r := range special {
		to := ac.step(s, r)
		if to == 0 {
			continue
		}
		away = append(away, Range{Lo: r, Hi: r})
		i := slices.IndexFunc(out, func(t transition) bool { return t.to == to })
		if i < 0 {
			i = len(out)
			out = append(out, transition{to: to})
		}
		out[i].ranges = append(out[i].ranges, Range{Lo: r, Hi: r})
	}
	ac.states[s].leads = append(out, transition{to: 0, ranges: away, negated: true})
	return ac.states[s].leads
}
