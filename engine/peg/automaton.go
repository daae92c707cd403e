package peg

import "bytes"

// Automaton finds the first of several words in a text, the longest one where several begin at the
// same place, reading each byte once. It is the automaton of Aho and Corasick (1975) made
// deterministic, in which a word that is complete is not given up for one that begins later.
//
// A state stands for a string: the part of the text, up to the place looked at, that is the
// beginning of a word and has not been ruled out; of several, the one that begins first. Root is
// the empty string.
type Automaton struct {
	Stops []string

	starts  []byte     // the bytes with which a word can begin, if they are few
	isStart *[256]bool // else whether a byte is one
	states  []state
	class   [256]uint8 // equivalence classes of bytes; 0 is every byte that no word has
	classes int
	next    []uint16 // by state*classes+class
}

type state struct {
	depth int32 // length of its string, in bytes
	// the longest proper suffix of the string that is a state, where no word is complete before it
	fail  uint16
	leaf  bool  // its string is a word, and no word is longer
	first int32 // the first word that begins with its string
	// the word that is found if the string cannot go on; -1 for none, then the search goes on from
	// fail
	stop int32
	back int32 // where that word begins, in bytes back from the end of the string
}

// Root is the state in which nothing of a word has been read.
const Root = 0

// Answers of the table beside a state. Both come with a state in the lower bits.
const (
	// Found reports whether the byte completed a word, the state's, that no longer one can replace.
	Found = 0x4000
	// Ended reports whether a word was found before the byte, which is not consumed: the state's
	// Stop.
	Ended = 0x8000
	// StateMask takes the state out of an answer.
	StateMask = 0x3fff
)

// newAutomaton returns an automaton for words that are not empty and differ; nil if they are too
// long together (16,383 bytes) or have more than 255 different bytes.
func newAutomaton(words []string) *Automaton {
	a := &Automaton{Stops: words, classes: 1}
	a.findStarts()
	for _, w := range words {
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				if a.classes > 255 {
					return nil
				}
				a.class[w[i]] = uint8(a.classes)
				a.classes++
			}
		}
	}
	most := 1
	for _, w := range words {
		most += len(w)
	}
	a.states = make([]state, 0, min(most, StateMask+2))
	a.next = make([]uint16, 0, min(most, StateMask+2)*a.classes)
	add := func(depth, first int) uint16 {
		a.states = append(a.states,
			state{depth: int32(depth), first: int32(first), stop: -1, leaf: true})
		a.next = a.next[:len(a.next)+a.classes] // zero, as made
		return uint16(len(a.states) - 1)
	}
	// The trie. An answer of 0 means no child yet: the root is nobody's child.
	add(0, -1)
	for i, w := range words {
		s := uint16(Root)
		for j := range len(w) {
			a.states[s].leaf = false
			at := int(s)*a.classes + int(a.class[w[j]])
			if a.next[at] == 0 {
				if len(a.states) > StateMask {
					return nil
				}
				t := add(j+1, i)
				a.next[at] = t
			}
			s = a.next[at]
		}
		a.states[s].stop = int32(i)
	}
	// Breadth first: a failure is shallower than its state, so its row is complete when it is
	// needed.
	for queue := []uint16{Root}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		st := a.states[s]
		row := a.next[int(s)*a.classes:][:a.classes]
		failRow := a.next[int(st.fail)*a.classes:][:a.classes]
		for c, t := range row {
			switch {
			case t != 0:
				a.enter(&a.states[t], s, failRow[c])
				if a.states[t].leaf {
					row[c] = Found | t
				}
				queue = append(queue, t)
			case st.stop >= 0:
				row[c] = Ended | s
			case s != Root:
				row[c] = failRow[c]
			}
		}
	}
	return a
}

// enter completes a child of s. onFail is the answer of s's failure state to the byte that leads
// into the child.
func (a *Automaton) enter(child *state, s, onFail uint16) {
	parent := a.states[s]
	switch {
	case child.stop >= 0: // the child is a word
		child.back = child.depth
	case parent.stop >= 0:
		// found already, at the parent's beginning or inside it, and not given up
		child.stop, child.back = parent.stop, parent.back+1
	case s == Root:
	case onFail&Ended != 0: // a word inside the parent, which counts once the child cannot go on
		found := a.states[onFail&StateMask]
		child.stop, child.back = found.stop, found.back+1
	default:
		child.fail = onFail & StateMask
	}
}

// Table returns the transitions: state s and byte b lead to the answer
// next[int(s)*classes+int(class[b])], which is a state, or Found or Ended with one.
func (a *Automaton) Table() (next []uint16, class *[256]uint8, classes int) {
	return a.next, &a.class, a.classes
}

// fewStarts is how many kinds of bytes are looked for one after the other.
const fewStarts = 3

func (a *Automaton) findStarts() {
	for _, w := range a.Stops {
		if bytes.IndexByte(a.starts, w[0]) < 0 {
			a.starts = append(a.starts, w[0])
		}
	}
	if len(a.starts) > fewStarts {
		a.isStart = new([256]bool)
		for _, b := range a.starts {
			a.isStart[b] = true
		}
	}
}

// Skip returns the first place from i on at which a word can begin, len(text) if there is none: the
// next place that matters to an automaton at Root.
func (a *Automaton) Skip(text []byte, i int) int {
	switch {
	case len(a.starts) == 0:
		return len(text)
	case len(a.starts) == 1:
		if n := bytes.IndexByte(text[i:], a.starts[0]); n >= 0 {
			return i + n
		}
		return len(text)
	case a.isStart != nil:
		t := a.isStart
		for ; i+4 <= len(text); i += 4 {
			if b := text[i : i+4 : i+4]; t[b[0]] || t[b[1]] || t[b[2]] || t[b[3]] {
				break
			}
		}
		for ; i < len(text); i++ {
			if t[text[i]] {
				return i
			}
		}
		return len(text)
	}
	// Each kind is looked for in a window that grows, so that a rare kind does not cost a look at
	// the whole rest each time a frequent one is found.
	for width := 64; i < len(text); width *= 2 {
		window := text[i:min(i+width, len(text))]
		found := len(window)
		for _, b := range a.starts {
			if n := bytes.IndexByte(window[:found], b); n >= 0 {
				found = n
			}
		}
		if found < len(window) {
			return i + found
		}
		i += len(window)
	}
	return len(text)
}

// Depth returns the length of a state's string.
func (a *Automaton) Depth(s uint16) int { return int(a.states[s].depth) }

// Stop returns the word that is found where a state has Ended or is Found, as an index into Stops,
// and where it begins, in bytes back from the end of the state's string. There is none if stop is
// negative.
func (a *Automaton) Stop(s uint16) (stop, back int) {
	return int(a.states[s].stop), int(a.states[s].back)
}

// AtEnd is Stop for a text that ends in state s: a word that was only waiting to become longer, or
// a proper prefix of a word for which stub says yes, whichever begins first; whole reports which of
// both it is. There is none if stop is negative.
func (a *Automaton) AtEnd(s uint16, stub []bool) (stop, back int, whole bool) {
	for t := s; t != Root; t = a.states[t].fail {
		st := a.states[t]
		prefix := a.Stops[st.first][:st.depth]
		if !st.leaf {
			for i, w := range a.Stops {
				if stub[i] && len(w) > len(prefix) && w[:len(prefix)] == prefix &&
					(st.stop < 0 || st.back < st.depth) {
					return i, len(prefix), false
				}
			}
		}
		if st.stop >= 0 {
			return int(st.stop), int(st.back), true
		}
	}
	return -1, 0, false
}
