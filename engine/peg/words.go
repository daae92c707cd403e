package peg

import (
	"slices"
	"strings"
)

// dispatch emits the search, After as a routine that all words call, unless it is short, and, for
// each word, its code. A word of which another is a proper prefix falls back to that one:
//
//	word: choice ->shorter word's code
//	      skip
//	      After
//	      commit
//	      body
func (c *compiler) dispatch(n *node, p Dispatch, x context) (ended bool) {
	n.cuts() // all or none
	at := int32(len(c.p.Dispatches))
	c.p.Dispatches = append(c.p.Dispatches, DispatchTable{})
	c.emit(Inst{Op: OpDispatch, A: at})
	after := func() { c.gen(n.kids[0], context{}) }
	if len(n.kids[0].kids) > 0 && len(p.Words) > 1 {
		routine := c.routine(n.kids[0])
		after = func() { c.emit(Inst{Op: OpCall, A: routine}) }
	}
	var bodies []*node
	if len(p.Bodies) > 0 {
		bodies = n.kids[1:]
	}
	over, ended := c.words(n, at, sorted(p.Words), bodies, after, x)
	if x.cut != nil && n.cuts() {
		x.cut.done = true
	}
	c.land(over...)
	return ended
}

// routine emits a pattern as a routine and returns its place.
func (c *compiler) routine(n *node) int32 {
	routine := c.here()
	c.gen(n, context{})
	c.emit(Inst{Op: OpReturn})
	return routine
}

// wordList is a list of words in order, and where each stood before.
type wordList struct {
	words  []string
	places []int
}

func sorted(words []string) wordList {
	l := wordList{make([]string, len(words)), make([]int, len(words))}
	for i := range l.places {
		l.places[i] = i
	}
	slices.SortFunc(l.places, func(i, j int) int { return strings.Compare(words[i], words[j]) })
	for i, at := range l.places {
		l.words[i] = words[at]
	}
	return l
}

// words emits the code of the words of a table, with their bodies by the place where the words
// stood before. It returns the jumps of those that go on after the dispatch, and reports whether
// none does.
func (c *compiler) words(n *node, table int32, list wordList, bodies []*node, after func(),
	x context) (over []int32, ended bool) {
	targets := make([]int32, len(list.words))
	c.p.Dispatches[table] = DispatchTable{Words: list.words, Targets: targets}
	var prefixes []int // sorted places of the words that are proper prefixes of the next one
	ended = true
	for i, word := range list.words {
		for len(prefixes) > 0 && !strings.HasPrefix(word, list.words[prefixes[len(prefixes)-1]]) {
			prefixes = prefixes[:len(prefixes)-1]
		}
		if i > 0 && list.words[i-1] == word {
			n.fail("", "the word %q is there twice", word)
		}
		targets[i] = c.here()
		c.label(Place{Name: word, Word: true})
		shorter := len(prefixes) > 0
		if shorter {
			c.emit(Inst{Op: OpChoice, A: targets[prefixes[len(prefixes)-1]]})
		}
		prefixes = append(prefixes, i)
		c.emit(Inst{Op: OpSkip, A: int32(len(word))})
		after()
		if shorter {
			c.commitHere()
		}
		done := false
		if bodies != nil {
			y := context{tail: x.tail, cut: x.cut}
			if x.cut != nil {
				own := *x.cut // each body has the Cut to itself
				y.cut = &own
			}
			done = c.gen(bodies[list.places[i]], y)
		}
		if !done {
			ended = false
			over = append(over, c.emit(Inst{Op: OpJump}))
		}
	}
	return over, ended
}
