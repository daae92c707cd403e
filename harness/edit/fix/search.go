package fix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/harness/report"
)

// Bounds of a search.
const (
	maxTries  = 600 // edits that are tried for a fault
	maxDepth  = 6   // edits that one fault may need
	maxBranch = 3   // edits that are gone on from
)

// candidate is an edit that may mend a fault: expressions wrapped.
type candidate struct{ wraps [][]Edit }

// edits returns all edits of a candidate in order.
func (c candidate) edits() []Edit { return edit.Sorted(slices.Concat(c.wraps...)) }

// within reports whether all edits of a candidate stand in some stretches of the text.
func (c candidate) within(spans []edit.Span) bool {
	return !slices.ContainsFunc(c.edits(), func(e Edit) bool {
		return !slices.ContainsFunc(spans, func(s edit.Span) bool {
			return s.From <= e.From && e.To <= s.To
		})
	})
}

// candidates returns edits that may mend the failure at a place, the likeliest first.
func (st *state) candidates(k kindOf, off int) []candidate {
	a := st.survey(k.keys)
	var all []candidate
	seen := map[string]bool{}
	add := func(wraps ...[]Edit) {
		c := candidate{wraps}
		edits := c.edits()
		if key := fmt.Sprint(edits); edit.Apart(edits) && !seen[key] {
			seen[key] = true
			all = append(all, c)
		}
	}
	near := a.near(off)
	slices.SortStableFunc(near, func(x, y *site) int { return cmp.Compare(x.rank(), y.rank()) })
	var asks [][]Edit // all conditions about the field together
	for _, s := range a.keyed() {
		if _, ok := asked(s.Node, k.keys); ok {
			if edits, ok := k.forms[0](s); ok {
				asks = append(asks, edits)
			}
		}
	}
	if len(asks) > 1 {
		add(asks...)
	}
	if k.more != nil {
		for _, edits := range k.more(a) {
			add(edits)
		}
	}
	each := func(sites []*site) {
		for _, s := range sites {
			for _, form := range k.forms {
				if edits, ok := form(s); ok {
					add(edits)
				}
			}
		}
	}
	each(near)
	keyed := a.keyed()
	each(keyed)
	// All places that read a field alike, all of which are tests or not.
	type reading struct {
		text string
		slot edit.Slot
	}
	read := map[string][]*site{}
	for _, s := range keyed {
		read[s.Source] = append(read[s.Source], s)
	}
	tried := map[reading]bool{}
	for _, s := range slices.Concat(near, keyed) {
		if tried[reading{s.Source, s.Slot()}] {
			continue
		}
		tried[reading{s.Source, s.Slot()}] = true
		for _, form := range k.forms {
			var every, alike [][]Edit
			for _, other := range read[s.Source] {
				if edits, ok := form(other); ok {
					every = append(every, edits)
					if other.Slot() == s.Slot() {
						alike = append(alike, edits)
					}
				}
			}
			add(alike...)
			add(every...)
		}
	}
	return all
}

// rank is less for a site that is likelier to be wrapped: it reads the field, and is no test.
func (s *site) rank() (n int) {
	if !s.keyed {
		n = 2
	}
	if s.use == asTested {
		n++
	}
	return n
}

// apply applies edits, and reports whether the result compiles.
func (m *mender) apply(st *state, edits []Edit) (*state, bool) {
	text, _ := edit.Apply(st.text, edits...)
	next, err := m.compiled(text)
	if err == nil {
		next.from, next.step = st, edits
	}
	return next, err == nil
}

// search looks for edits that mend a fault and keep every other prompt.
func (m *mender) search(k kindOf, st *state, f fault, depth int) (*state, bool) {
	was := st.render(f.in)
	off := st.damage(f, was)
	if m.spend(st.text); off < 0 || m.exhausted() {
		return nil, false
	}
	type step struct {
		*state
		likeness
	}
	var further []step
	unseen := st.unseen(f.in)
	for _, c := range st.candidates(k, off) {
		if m.tries--; m.tries < 0 || m.exhausted() {
			break
		}
		if c.within(unseen) {
			continue
		}
		next, ok := m.apply(st, c.edits())
		if !ok {
			continue
		}
		is := next.render(f.in)
		switch {
		case f.matches(is):
			if m.keeps(next) {
				return m.least(st, next, f, c), true
			}
		case is.err != nil && (worded(is.err) || was.err == nil):
		case is.err != nil && (is.off != moved(was.off, c.edits()) || is.msg != was.msg):
			further = append(further, step{next, likeness{}})
		case is.err == nil && was.err == nil:
			now, before := f.likeness(is.text), f.likeness(was.text)
			if now.first > before.first || now.all > before.all {
				further = append(further, step{next, now})
			}
		case is.err == nil:
			further = append(further, step{next, f.likeness(is.text)})
		}
	}
	if depth == 1 {
		return nil, false
	}
	slices.SortStableFunc(further, func(a, b step) int {
		return -cmp.Compare(a.first, b.first)
	})
	tried := 0
	for _, s := range further {
		if tried == maxBranch || m.tries < 0 || m.exhausted() {
			break
		}
		if !m.keeps(s.state) {
			continue
		}
		tried++
		if end, ok := m.search(k, s.state, f, depth-1); ok {
			return end, true
		}
	}
	return nil, false
}

// likeness is how many bytes of the prompt that a fault must give a text has at its beginning, and
// there and at its end together.
type likeness struct{ first, all int }

func (f fault) likeness(text string) likeness {
	want := f.wants[0]
	n := report.Parting(text, want)
	l := likeness{n, n}
	text, want = text[n:], want[n:]
	for text != "" && want != "" && text[len(text)-1] == want[len(want)-1] {
		text, want = text[:len(text)-1], want[:len(want)-1]
		l.all++
	}
	return l
}

// least leaves out every expression of a candidate that need not be wrapped.
func (m *mender) least(st, mended *state, f fault, c candidate) *state {
	for i := len(c.wraps) - 1; i >= 0 && len(c.wraps) > 1; i-- {
		less := candidate{slices.Delete(slices.Clone(c.wraps), i, i+1)}
		next, ok := m.apply(st, less.edits())
		if ok && f.solved(next) && m.keeps(next) {
			c, mended = less, next
		}
	}
	return mended
}

// damage is the place where a render of a fault failed, or wrote the first byte that is not as it
// should be; -1: there is none.
func (st *state) damage(f fault, was outcome) int {
	if was.err != nil {
		return was.off
	}
	text := was.text
	o, err := st.t.Observe(f.in)
	if err != nil || len(text) == 0 {
		return -1
	}
	at := report.Parting(text, f.wants[0])
	if off, ok := o.WrittenAt(min(at, len(text)-1)); ok {
		return off
	}
	return -1
}

// fewer leaves out every edit without which the faults are mended as well.
func (m *mender) fewer(before, st *state, cured []fault) *state {
	for i := len(st.steps(before)) - 1; i >= 0; i-- {
		steps := st.steps(before)
		if len(steps) == 1 {
			break
		}
		less, ok := m.without(before, steps, i)
		if ok && m.keeps(less) &&
			!slices.ContainsFunc(cured, func(f fault) bool { return !f.solved(less) }) {
			st = less
		}
	}
	return st
}

// refusal looks for a statement that refuses a request in words where it fails now.
func (m *mender) refusal(k kindOf, f fault) (*state, bool) {
	st := m.now
	was := st.render(f.in)
	if was.off < 0 {
		return nil, false
	}
	for _, s := range st.survey(k.keys).near(was.off) {
		at := s.tag()
		if !s.Simple() || at < 0 {
			continue
		}
		next, ok := m.apply(st, []Edit{edit.Insert(at, s.refusing(st.text, at))})
		if !ok {
			continue
		}
		if is := next.render(f.in); is.err != nil && worded(is.err) && m.keeps(next) {
			return next, true
		}
	}
	return nil, false
}

// tag is where the tag begins that an expression stands in; -1: inside another statement.
func (s *site) tag() int {
	x := s.Node
	for x.Up.IsExpr() {
		x = x.Up
	}
	switch {
	case x.Up.Is(edit.Output):
		return x.Print.From
	case len(x.Up.Tags) > 0:
		return x.Up.Tags[0].From
	}
	return -1
}

// refusing returns a statement, to stand before the tag of an expression, that refuses text.
func (s *site) refusing(text string, at int) string {
	const words = "The arguments of a tool call must be an object, not a text: read the JSON first."
	indent, inner := text[strings.LastIndexByte(text[:at], '\n')+1:at], ""
	if strings.TrimSpace(indent) == "" {
		indent, inner = "\n"+indent, "    "
	} else {
		indent = ""
	}
	open := "{%"
	if strings.HasPrefix(text[at:], "{%-") || strings.HasPrefix(text[at:], "{{-") {
		open = "{%-"
	}
	return open + " if " + s.Source + " is string %}" + indent + inner + "{{- raise_exception(" +
		s.quoted(words) + ") }}" +
		indent + "{%- endif %}" + indent
}
