package gbnf

import "slices"

// Clone returns a matcher at the same place.
func (m *Matcher) Clone() *Matcher {
	c := *m
	c.tops = slices.Clone(m.tops)
	c.seen, c.work, c.spare = seenTable{}, nil, nil
	c.sweep()
	return &c
}

// Stacks returns how many derivations are alive.
func (m *Matcher) Stacks() int { return len(m.tops) }
