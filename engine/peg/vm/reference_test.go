package vm_test

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/peg"
)

// reference interprets a tree by recursion over a whole, closed text, in the words of package peg's
// comments: no program, no automata, no suspension, every byte looked at as often as it takes.
type reference struct {
	t     peg.Tree
	rules map[string]peg.Pattern
	in    string
	pos   int
	log   []peg.Event
	far   int
	steps int
}

// tooMany ends an interpretation that takes exponential time.
type tooMany struct{}

const maxReferenceSteps = 20_000

func interpret(t peg.Tree, in string) (log []peg.Event, end int, ok, finished bool) {
	r := &reference{t: t, rules: map[string]peg.Pattern{}, in: in}
	for _, x := range t.Rules {
		r.rules[x.Name] = x.P
	}
	defer func() {
		if e := recover(); e != nil {
			if _, is := e.(tooMany); !is {
				panic(e)
			}
			finished = false
		}
	}()
	ok = r.match(t.Root, nil)
	return r.log, r.pos, ok, true
}

func (r *reference) fail() bool {
	r.far = max(r.far, r.pos)
	return false
}

func (r *reference) text(k peg.Kind, off, end int) {
	if k != 0 && off < end {
		r.log = append(r.log, peg.Event{Kind: k, Off: off, End: end, Text: []byte(r.in[off:end])})
	}
}

func (r *reference) byteIn(s peg.ByteSet) bool { return r.pos < len(r.in) && s.Has(r.in[r.pos]) }

// undo tries p, and undoes its events where it fails, unless it was cut before.
func (r *reference) undo(p peg.Pattern) (ok, cut bool) {
	pos, n := r.pos, len(r.log)
	if r.match(p, &cut) {
		return true, cut
	}
	if !cut {
		r.pos, r.log = pos, r.log[:n]
	}
	return false, cut
}

// peek tries p and undoes it in any case.
func (r *reference) peek(p peg.Pattern) bool {
	pos, far := r.pos, r.far
	ok := r.match(p, nil)
	r.pos, r.far = pos, far
	return ok
}

func (r *reference) match(p peg.Pattern, cut *bool) bool {
	if r.steps++; r.steps > maxReferenceSteps {
		panic(tooMany{})
	}
	rest := r.in[r.pos:]
	switch p := p.(type) {
	case peg.Lit:
		if !strings.HasPrefix(rest, p.Text) {
			return r.fail()
		}
		r.pos += len(p.Text)
	case peg.Set:
		if !r.byteIn(p.Set) {
			return r.fail()
		}
		r.pos++
	case peg.Any:
		if rest == "" {
			return r.fail()
		}
		r.pos++
	case peg.Space:
		r.pos += len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
	case peg.End:
		if rest != "" {
			return r.fail()
		}
	case peg.Before:
		if r.pos > p.Off {
			return r.fail()
		}
	case peg.Stub:
		if rest == "" || len(rest) >= len(p.Text) || !strings.HasPrefix(p.Text, rest) {
			return r.fail()
		}
		r.pos = len(r.in)
	case peg.Seq:
		for _, q := range p {
			if !r.match(q, cut) {
				return false
			}
		}
	case peg.Label:
		return r.match(p.P, cut)
	case peg.Cut:
		*cut = true
	case peg.Choice:
		return r.choice(p)
	case peg.Opt:
		return r.choice(peg.Choice{p.P, peg.Seq{}})
	case peg.Rep:
		return r.rep(p)
	case peg.Hold:
		if ok, _ := r.undo(p.P); !ok {
			return r.fail()
		}
	case peg.And:
		if !r.peek(p.P) {
			return r.fail()
		}
	case peg.Not:
		if r.peek(p.P) {
			return r.fail()
		}
	case peg.Try:
		if !r.match(p.P, nil) {
			return r.match(p.Else, nil)
		}
	case peg.Ref:
		return r.match(r.rules[p.Name], nil)
	case peg.Emit:
		if p.Kind != 0 {
			r.log = append(r.log,
				peg.Event{Kind: p.Kind, Arg: p.Arg, Off: r.pos, End: r.pos, Text: []byte(p.Text)})
		}
	case peg.Capture:
		off := r.pos
		ok := r.match(p.P, nil)
		r.text(p.Kind, off, r.pos)
		return ok
	case peg.Dispatch:
		return r.dispatch(p, cut)
	case peg.Until:
		r.until(p)
	case peg.Scan:
		s := p.Scanner.New()
		s.Reset()
		n, st := s.Step([]byte(rest), true, refOut{r, p.Kind})
		r.pos += n
		if st != peg.Match {
			return r.fail()
		}
	default:
		panic(fmt.Sprintf("%T", p))
	}
	return true
}

type refOut struct {
	r    *reference
	kind peg.Kind
}

func (o refOut) Number(int) {} // the scanners of these tests number nothing

func (o refOut) Copy(from, to int) { o.r.text(o.kind, o.r.pos+from, o.r.pos+to) }
func (o refOut) Text(text []byte, from, to int) {
	if o.kind != 0 {
		o.r.log = append(o.r.log,
			peg.Event{Kind: o.kind, Off: o.r.pos + from, End: o.r.pos + to,
				Text: append([]byte{}, text...)})
	}
}
func (o refOut) String(text string, from, to int) { o.Text([]byte(text), from, to) }

func (r *reference) choice(alts peg.Choice) bool {
	start, outer := r.pos, r.far
	r.far = r.pos
	leave := func(ok bool) bool { r.far = max(r.far, outer); return ok }
	reject := -1
	for i, a := range alts {
		if rejected(a) != nil {
			reject = i
		}
	}
	if reject < 0 {
		r.far = outer
	}
	for i, a := range alts {
		if i == reject {
			to := r.far
			leave(true)
			if to > start {
				r.text(rejected(a).Kind, start, to)
				r.pos = to
				return r.match(afterRejected(a), new(bool))
			}
			if i == len(alts)-1 {
				return r.fail()
			}
			continue
		}
		if i == len(alts)-1 {
			return leave(r.match(a, new(bool)))
		}
		if r.decidedByByte(a) {
			if r.byteIn(r.first(a, nil)) {
				if i < reject {
					leave(true)
				}
				return r.match(a, new(bool))
			}
			continue
		}
		switch ok, cut := r.undo(a); {
		case ok, cut:
			return leave(ok)
		}
	}
	panic("no last alternative")
}

func rejected(p peg.Pattern) *peg.Rejected {
	switch p := p.(type) {
	case peg.Rejected:
		return &p
	case peg.Seq:
		if len(p) > 0 {
			return rejected(p[0])
		}
	case peg.Label:
		return rejected(p.P)
	}
	return nil
}

func afterRejected(p peg.Pattern) peg.Pattern {
	switch p := p.(type) {
	case peg.Seq:
		return append(peg.Seq{afterRejected(p[0])}, p[1:]...)
	case peg.Label:
		return afterRejected(p.P)
	}
	return peg.Seq{}
}

func (r *reference) rep(p peg.Rep) bool {
	count := 0
	decided := r.decidedByByte(p.P)
	for p.Max == 0 || count < p.Max {
		start := r.pos
		if decided {
			if !r.byteIn(r.first(p.P, nil)) {
				break
			}
			if !r.match(p.P, new(bool)) {
				return false
			}
		} else if ok, cut := r.undo(p.P); cut && !ok {
			return false
		} else if !ok {
			break
		}
		if r.pos == start {
			return true
		}
		count++
	}
	if count < p.Min {
		return r.fail()
	}
	return true
}

func (r *reference) dispatch(p peg.Dispatch, cut *bool) bool {
	start := r.pos
	var at []int // the words that agree, longest first
	for n := len(r.in) - start; n > 0; n-- {
		for i, w := range p.Words {
			if w == r.in[start:min(start+n, len(r.in))] {
				at = append(at, i)
			}
		}
	}
	for k, i := range at {
		r.pos = start + len(p.Words[i])
		if p.After != nil {
			if k < len(at)-1 {
				if ok, _ := r.undo(p.After); !ok {
					r.pos = start
					continue
				}
			} else if !r.match(p.After, nil) {
				return false
			}
		}
		if len(p.Bodies) == 0 {
			return true
		}
		return r.match(p.Bodies[i], cut)
	}
	return r.fail()
}

func (r *reference) until(p peg.Until) {
	from := r.pos // where the search began: white space before it is somebody else's
	trim := func(at int) int {
		run := len(r.in[from:at]) - len(strings.TrimRight(r.in[from:at], " \t\r\n"))
		return at - min(run, peg.SpaceBytes)
	}
	stop := func(at int, space bool) {
		if space {
			at = trim(at)
		}
		r.text(p.Kind, from, at)
		r.pos = at
	}
	for at := from; at < len(r.in); at++ {
		best := -1
		for i, s := range p.Stops {
			if strings.HasPrefix(r.in[at:], s.Text) &&
				(best < 0 || len(s.Text) > len(p.Stops[best].Text)) {
				best = i
			}
		}
		if best >= 0 {
			s := p.Stops[best]
			if s.After != nil {
				r.pos = at + len(s.Text)
				if !r.peek(s.After) {
					r.text(p.Kind, from, r.pos)
					from, at = r.pos, r.pos-1
					continue
				}
			}
			stop(at, s.Space)
			return
		}
		for _, s := range p.Stops {
			if s.Stub && len(r.in)-at < len(s.Text) && strings.HasPrefix(s.Text, r.in[at:]) {
				stop(at, s.Space)
				return
			}
		}
	}
	stop(len(r.in), p.TrimEnd)
}

// decidedByByte is E13 (a): an alternative that logs and has no other way to be tried.
func (r *reference) decidedByByte(p peg.Pattern) bool {
	return !r.cuts(p) && !isHold(p) && r.emits(p, nil)
}

func isHold(p peg.Pattern) bool {
	switch p := p.(type) {
	case peg.Hold:
		return true
	case peg.Label:
		return isHold(p.P)
	}
	return false
}

func (r *reference) cuts(p peg.Pattern) bool {
	switch p := p.(type) {
	case peg.Cut:
		return true
	case peg.Seq:
		for _, q := range p {
			if r.cuts(q) {
				return true
			}
		}
	case peg.Label:
		return r.cuts(p.P)
	case peg.Dispatch:
		return len(p.Bodies) > 0 && r.cuts(p.Bodies[0])
	}
	return false
}

// parts returns the patterns in a pattern.
func (r *reference) parts(p peg.Pattern) []peg.Pattern {
	switch p := p.(type) {
	case peg.Seq:
		return p
	case peg.Choice:
		return p
	case peg.Opt:
		return []peg.Pattern{p.P}
	case peg.Rep:
		return []peg.Pattern{p.P}
	case peg.Hold:
		return []peg.Pattern{p.P}
	case peg.Label:
		return []peg.Pattern{p.P}
	case peg.Capture:
		return []peg.Pattern{p.P}
	case peg.Try:
		return []peg.Pattern{p.P, p.Else}
	case peg.Dispatch:
		return p.Bodies
	}
	return nil
}

// path is the rules being looked into: a fact that a rule derives from itself does not count.
type path []string

func (r *reference) rule(p peg.Ref, in path) (peg.Pattern, path, bool) {
	for _, name := range in {
		if name == p.Name {
			return nil, nil, false
		}
	}
	return r.rules[p.Name], append(in[:len(in):len(in)], p.Name), true
}

func (r *reference) emits(p peg.Pattern, in path) bool {
	switch p := p.(type) {
	case peg.Emit:
		return p.Kind != 0
	case peg.Capture:
		return p.Kind != 0
	case peg.Until:
		return p.Kind != 0
	case peg.Scan:
		return p.Kind != 0
	case peg.Rejected:
		return p.Kind != 0
	case peg.Ref:
		q, in, ok := r.rule(p, in)
		return ok && r.emits(q, in)
	}
	for _, q := range r.parts(p) {
		if r.emits(q, in) {
			return true
		}
	}
	return false
}

func (r *reference) null(p peg.Pattern, in path) bool {
	switch p := p.(type) {
	case peg.Lit:
		return p.Text == ""
	case peg.Set, peg.Any, peg.Stub, peg.Rejected, peg.Dispatch:
		return false
	case peg.Scan:
		_, null := p.Scanner.First()
		return null
	case peg.Seq:
		for _, q := range p {
			if !r.null(q, in) {
				return false
			}
		}
		return true
	case peg.Choice:
		for _, q := range p {
			if r.null(q, in) {
				return true
			}
		}
		return false
	case peg.Rep:
		return p.Min == 0 || r.null(p.P, in)
	case peg.Hold, peg.Label, peg.Capture:
		return r.null(r.parts(p)[0], in)
	case peg.Try:
		return r.null(p.P, in) || r.null(p.Else, in)
	case peg.Ref:
		q, in, ok := r.rule(p, in)
		return ok && r.null(q, in)
	}
	return true
}

func (r *reference) first(p peg.Pattern, in path) (set peg.ByteSet) {
	switch p := p.(type) {
	case peg.Lit:
		if p.Text != "" {
			set.Add(p.Text[0])
		}
	case peg.Stub:
		set.Add(p.Text[0])
	case peg.Set:
		return p.Set
	case peg.Any, peg.Until, peg.Rejected:
		return peg.ByteSet{}.Not()
	case peg.Space:
		return peg.SpaceSet
	case peg.Scan:
		set, _ = p.Scanner.First()
	case peg.Seq:
		for _, q := range p {
			set = set.Or(r.first(q, in))
			if !r.null(q, in) {
				break
			}
		}
	case peg.Dispatch:
		for _, w := range p.Words {
			set.Add(w[0])
		}
	case peg.Ref:
		if q, in, ok := r.rule(p, in); ok {
			return r.first(q, in)
		}
	default:
		for _, q := range r.parts(p) {
			set = set.Or(r.first(q, in))
		}
	}
	return set
}
