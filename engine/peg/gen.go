package peg

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// context is the surroundings of a node's code.
type context struct {
	// nothing is left to do in the rule after it, and nothing on the stack above the rule's frame
	// but cut's entry
	tail   bool
	cut    *cut // the alternative that a Cut would decide; nil for none
	behind bool // a Rejected may stand here
}

// jump reports whether a Ref need not come back.
func (x context) jump() bool { return x.tail && (x.cut == nil || !x.cut.entry || x.cut.done) }

// cut is an alternative whose entry is on the stack.
type cut struct {
	region bool // and a region frame beneath it
	entry  bool // false: it was decided from the start, a Cut does nothing
	done   bool
}

func (c *compiler) here() int32 { return int32(len(c.p.Code)) }

func (c *compiler) emit(in Inst) int32 {
	if len(c.p.Code) >= MaxCode {
		(&node{}).fail("put repeated parts into rules", "the program would have more "+
			"than %d instructions", MaxCode)
	}
	c.p.Code = append(c.p.Code, in)
	return c.here() - 1
}

// land makes instructions jump here: their operand A, or B for an OpTest.
func (c *compiler) land(pcs ...int32) {
	for _, pc := range pcs {
		if in := &c.p.Code[pc]; in.Op == OpTest {
			in.B = c.here()
		} else {
			in.A = c.here()
		}
	}
}

// label names the place at hand. Places are named in the order of the code.
func (c *compiler) label(l Place) {
	l.PC = c.here()
	c.p.Labels = append(c.p.Labels, l)
}

func (c *compiler) lit(s string) int32 {
	return c.lits.of(s, func() int { c.p.Lits = append(c.p.Lits, s); return len(c.p.Lits) - 1 })
}

func (c *compiler) set(s ByteSet) int32 {
	return c.sets.of(s, func() int { c.p.Sets = append(c.p.Sets, s); return len(c.p.Sets) - 1 })
}

func (c *compiler) scanner(s ScannerType) int32 {
	add := func() int { c.p.Scanners = append(c.p.Scanners, s); return len(c.p.Scanners) - 1 }
	if !reflect.TypeOf(s).Comparable() {
		return int32(add())
	}
	return c.scans.of(s, add)
}

// gen emits the code of a node and reports whether control never reaches the place after it.
func (c *compiler) gen(n *node, x context) (ended bool) {
	switch p := n.p.(type) {
	case Lit:
		if p.Text != "" {
			c.emit(Inst{Op: OpLit, A: c.lit(p.Text)})
		}
	case Set:
		c.emit(Inst{Op: OpSet, A: c.set(p.Set)})
	case Any:
		c.emit(Inst{Op: OpAny})
	case Space:
		c.emit(Inst{Op: OpSpan, A: c.set(SpaceSet)})
	case End:
		c.emit(Inst{Op: OpEnd})
	case Before:
		c.emit(Inst{Op: OpBefore, A: int32(p.Off)})
	case Stub:
		c.emit(Inst{Op: OpStub, A: c.lit(p.Text)})
	case Emit:
		if p.Kind == 0 {
			break
		}
		at := int32(-1)
		if p.Text != "" {
			at = c.texts.of(p.Text,
				func() int {
					c.p.Texts = append(c.p.Texts, []byte(p.Text))
					return len(c.p.Texts) - 1
				})
		}
		c.emit(Inst{Op: OpEmit, Kind: p.Kind, A: int32(p.Arg), B: at})
	case Scan:
		c.emit(Inst{Op: OpScan, Kind: p.Kind, A: c.scanner(p.Scanner)})
	case Seq:
		for i, k := range n.kids {
			ended = c.gen(k, context{tail: x.tail &&
				i == len(n.kids)-1, cut: x.cut, behind: x.behind && i == 0})
		}
		return ended
	case Label:
		c.label(Place{Name: p.Name})
		return c.gen(n.kids[0], x)
	case Cut:
		switch k := x.cut; {
		case k == nil:
			n.fail("a Cut belongs to an alternative, outside predicates, Hold, Try, Capture "+
				"and other rules", "there is nothing to cut")
		case k.done:
			n.fail("", "a second Cut of the same alternative")
		default:
			k.done = true
			if k.entry {
				c.commitHere()
				if k.region {
					c.emit(Inst{Op: OpEndRegion})
				}
			}
		}
	case Rejected:
		if !x.behind {
			n.fail("", "a Rejected begins an alternative of a Choice that is not the first")
		}
		// The Choice has emitted the instruction.
	case Choice, Opt:
		return c.choice(n, x)
	case Rep:
		c.rep(n, p)
	case Hold:
		entry := c.emit(Inst{Op: OpChoice})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpCommit})
		c.land(entry)
		c.emit(Inst{Op: OpFail})
		c.land(over)
	case And:
		entry := c.emit(Inst{Op: OpPred})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpBackCommit})
		c.land(entry)
		c.emit(Inst{Op: OpFail})
		c.land(over)
	case Not:
		entry := c.emit(Inst{Op: OpPred})
		c.gen(n.kids[0], context{})
		c.emit(Inst{Op: OpFailTwice})
		c.land(entry)
	case Try:
		entry := c.emit(Inst{Op: OpTry})
		c.gen(n.kids[0], context{})
		over := c.emit(Inst{Op: OpEndTry})
		c.land(entry)
		c.gen(n.kids[1], context{})
		c.land(over)
	case Capture:
		if p.Kind == 0 {
			c.gen(n.kids[0], context{})
			break
		}
		c.emit(Inst{Op: OpCapture, Kind: p.Kind})
		c.gen(n.kids[0], context{})
		c.emit(Inst{Op: OpEndCapture})
	case Until:
		c.until(n, p)
	case Dispatch:
		return c.dispatch(n, p, x)
	case Switch:
		c.open(n, p, x)
	case Ref:
		op := OpCall
		if x.jump() {
			op = OpJump
		}
		c.calls = append(c.calls, call{c.emit(Inst{Op: op}), n.rule})
		return x.jump()
	}
	return false
}

// commitHere pops the entry and goes on.
func (c *compiler) commitHere() { c.emit(Inst{Op: OpCommit, A: c.here() + 1}) }

func (c *compiler) choice(n *node, x context) (ended bool) {
	last := len(n.kids) - 1
	reject := -1
	for i, k := range n.kids {
		if k.rejected() != nil {
			if reject >= 0 || i == 0 {
				k.fail("", "a Choice has one Rejected at most, and not in its first alternative")
			}
			reject = i
		}
	}
	// later[i] holds the bytes with which the alternatives after i can begin. A Rejected takes only
	// text that an earlier one has read.
	later := make([]ByteSet, len(n.kids))
	for i := last; i > 0; i-- {
		later[i-1] = later[i]
		if i != reject {
			later[i-1] = later[i-1].Or(n.kids[i].facts.first)
		}
	}
	if reject >= 0 {
		c.emit(Inst{Op: OpRegion})
	}
	tail := x.jump()
	var over []int32 // instructions that jump over the rest
	leave := func(pc int32) { over = append(over, pc) }
	for i, k := range n.kids {
		region := i < reject
		how := byByte
		if i < last && i != reject {
			how = k.wayOf(later[i])
		}
		switch {
		case i == reject:
			next := c.emit(Inst{Op: OpRejected, Kind: k.rejected().p.(Rejected).Kind})
			if !c.gen(k, context{tail: tail, cut: &cut{}, behind: true}) {
				leave(c.emit(Inst{Op: OpJump}))
			}
			c.land(next)
			if i == last {
				c.emit(Inst{Op: OpFail})
			}
		case i == last:
			ended = c.gen(k, context{tail: tail, cut: &cut{}})
		case how == byByte:
			test := c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)})
			if region {
				// Decided: the region ends here, since no later alternative can begin with this
				// byte, a Rejected included.
				c.emit(Inst{Op: OpEndRegion})
			}
			if !c.gen(k, context{tail: tail, cut: &cut{}}) {
				leave(c.emit(Inst{Op: OpJump}))
			}
			c.land(test)
		default:
			var skip []int32
			// spare an entry where the first byte says no
			if !k.facts.null && !(how == byCut && k.blank()) && k.facts.first.Len() < 256 {
				skip = append(skip, c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)}))
			}
			entry := c.emit(Inst{Op: OpChoice})
			cut := &cut{region: region, entry: true}
			y := context{}
			switch how {
			case byCut:
				y = context{tail: tail, cut: cut}
			case byHold:
				k, _ = k.held()
			}
			switch done := c.gen(k, y); {
			case done:
			case cut.done:
				leave(c.emit(Inst{Op: OpJump}))
			case region:
				c.commitHere()
				c.emit(Inst{Op: OpEndRegion})
				leave(c.emit(Inst{Op: OpJump}))
			default:
				leave(c.emit(Inst{Op: OpCommit}))
			}
			c.land(append(skip, entry)...)
		}
	}
	c.land(over...)
	return (ended || reject == last) && len(over) == 0
}

// rep emits
//
//	     loop
//	next ->out          (where there is a Max)
//	     choice ->out   (or test, where the first byte decides)
//	     P
//	     commit
//	     again ->next
//	out: endloop
func (c *compiler) rep(n *node, p Rep) {
	k := n.kids[0]
	single := func() (ByteSet, bool) {
		switch q := p.P.(type) {
		case Set:
			return q.Set, true
		case Any:
			return ByteSet{}.Not(), true
		case Lit:
			if len(q.Text) == 1 {
				return Bytes(q.Text), true
			}
		}
		return ByteSet{}, false
	}
	if s, ok := single(); ok {
		c.emit(Inst{Op: OpSpan, A: c.set(s), B: int32(p.Min), C: int32(p.Max)})
		return
	}
	how := k.wayOf(ByteSet{})
	c.emit(Inst{Op: OpLoop})
	next := c.here()
	var out []int32
	if p.Max > 0 {
		out = append(out, c.emit(Inst{Op: OpNext, B: int32(p.Max)}))
	}
	if how == byByte {
		out = append(out, c.emit(Inst{Op: OpTest, A: c.set(k.facts.first)}))
		c.gen(k, context{cut: &cut{}})
	} else {
		out = append(out, c.emit(Inst{Op: OpChoice}))
		cut := &cut{entry: true}
		y := context{}
		switch how {
		case byCut:
			y.cut = cut
		case byHold:
			k, _ = k.held()
		}
		c.gen(k, y)
		if !cut.done {
			c.commitHere()
		}
	}
	c.emit(Inst{Op: OpAgain, A: next})
	c.land(out...)
	c.emit(Inst{Op: OpEndLoop, B: int32(p.Min)})
}

// until emits the search and, for each stop with an After, a test that comes back to the search if
// the stop is refused:
//
//	search: until
//	        jump ->over
//	test:   pred ->refuse
//	        span, lit, After
//	        backcommit ->over
//	refuse: refuse
//	        jump ->search
//	over:
func (c *compiler) until(n *node, p Until) {
	var texts []string
	key := strconv.FormatBool(p.TrimEnd)
	tests := false
	for _, s := range p.Stops {
		if slices.Contains(texts, s.Text) {
			n.fail("", "stop %q is there twice", s.Text)
		}
		texts = append(texts, s.Text)
		key += " " + strconv.Quote(s.Text) + strconv.FormatBool(s.Space) +
			strconv.FormatBool(s.Stub)
		tests = tests || s.After != nil
	}
	table := func() int {
		u := UntilTable{TrimEnd: p.TrimEnd, AnySp: p.TrimEnd}
		for _, s := range p.Stops {
			u.Space, u.Stub, u.After = append(u.Space, s.Space), append(u.Stub, s.Stub),
				append(u.After, -1)
			u.AnySp = u.AnySp || s.Space
		}
		autoKey := strings.Join(texts, "\x00")
		if u.Auto = c.autosUnder[autoKey]; u.Auto == nil {
			u.Auto = c.autos[autoKey]
		}
		if u.Auto == nil {
			if u.Auto = newAutomaton(texts); u.Auto == nil {
				n.fail("", "the stops are too long together")
			}
			c.autos[autoKey] = u.Auto
		}
		c.p.Untils = append(c.p.Untils, u)
		return len(c.p.Untils) - 1
	}
	if !tests {
		c.emit(Inst{Op: OpUntil, Kind: p.Kind, A: c.untils.of(key, table)})
		return
	}
	at := int32(table())
	search := c.emit(Inst{Op: OpUntil, Kind: p.Kind, A: at})
	over := []int32{c.emit(Inst{Op: OpJump})}
	k := 0
	for i, s := range p.Stops {
		if s.After == nil {
			continue
		}
		c.p.Untils[at].After[i] = c.here()
		entry := c.emit(Inst{Op: OpPred})
		if s.Space {
			c.emit(Inst{Op: OpSpan, A: c.set(SpaceSet)})
		}
		c.emit(Inst{Op: OpLit, A: c.lit(s.Text)})
		c.gen(n.kids[k], context{})
		k++
		over = append(over, c.emit(Inst{Op: OpBackCommit}))
		c.land(entry)
		c.emit(Inst{Op: OpRefuse, Kind: p.Kind, A: at, B: int32(i)})
		c.emit(Inst{Op: OpJump, A: search})
	}
	c.land(over...)
}
