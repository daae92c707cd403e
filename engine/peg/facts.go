package peg

// facts are properties that the parts of a pattern prove about it. Each is an implication:
type facts struct {
	null  bool    // it may match without input   (if it can, null is set)
	emits bool    // it may log an event
	first ByteSet // if it reads input at all, the first byte is in the set
}

// solve computes the facts of all nodes: the least ones that satisfy all, by iteration, since rules
// may be recursive. A rule is solved when it is first referred to, so that most facts are final
// after one round; the next round leaves final facts alone.
func (c *compiler) solve(root *node, rules []*rule) {
	root.solve()
	for changed := true; changed; {
		changed = false
		for _, r := range rules {
			r.solved = true
			before := r.body.facts
			r.body.solve()
			changed = changed || r.body.facts != before
		}
	}
	root.solve()
}

// solve computes the facts of a node and of those below from the known facts of the rules. A fact
// that depends on a rule that is still being solved is not final: it can only grow.
func (n *node) solve() {
	if n.whole {
		return
	}
	f := facts{}
	final, whole := true, true
	for _, k := range n.kids {
		k.solve()
		f.emits = f.emits || k.facts.emits
		final, whole = final && k.final, whole && k.whole
	}
	all := ByteSet{}.Not()
	switch p := n.p.(type) {
	case Lit:
		f.null = p.Text == ""
		if p.Text != "" {
			f.first.Add(p.Text[0])
		}
	case Stub:
		f.first.Add(p.Text[0])
	case Set:
		f.first = p.Set
	case Any:
		f.first = all
	case Space:
		f.null, f.first = true, SpaceSet
	case End, Before, Cut:
		f.null = true
	case Emit:
		f.null, f.emits = true, p.Kind != 0
	case Rejected:
		// The text that it takes begins like an alternative before it; as an alternative it needs
		// no first byte of its own.
		f.emits = p.Kind != 0
	case Seq:
		// Parts after the first one that reads something matter to emits only, which cannot be more
		// than true.
		f.null = true
		known := true
		for _, k := range n.kids {
			if f.null {
				f.first = f.first.Or(k.facts.first)
				f.null = k.facts.null
				known = known && k.final
			}
		}
		final = final || known && f.emits
	case Choice, Opt:
		for _, k := range n.kids {
			f.null = f.null || k.facts.null
			f.first = f.first.Or(k.facts.first)
			if k.rejected() != nil {
				// It is reached only where earlier alternatives have read something, which began
				// with their first bytes, or with bytes that they could read after matching
				// nothing.
				f.first = all
			}
		}
	case Rep:
		f.null = p.Min == 0 || n.kids[0].facts.null
		f.first = n.kids[0].facts.first
	case Hold, Label:
		f.null, f.first = n.kids[0].facts.null, n.kids[0].facts.first
	case Capture:
		f.null, f.first = n.kids[0].facts.null, n.kids[0].facts.first
		if f.emits {
			n.fail("captures do not nest: use Emit "+
				"marks around it", "the captured pattern logs events itself")
		}
		f.emits = p.Kind != 0
	case And, Not:
		f.null = true
		if f.emits {
			n.fail("predicates only look", "a predicate logs events")
		}
	case Try:
		f.null = n.kids[0].facts.null || n.kids[1].facts.null
		f.first = n.kids[0].facts.first.Or(n.kids[1].facts.first)
		// P may fail at once, so that Else begins here, or after input.
	case Dispatch:
		if n.kids[0].facts.emits {
			n.kids[0].fail("log events in the bodies", "After logs events")
		}
		for _, w := range p.Words {
			if w == "" {
				n.fail("", "the empty word")
			}
			f.first.Add(w[0])
		}
		final = final || f.emits
	case Switch:
		if n.kids[0].facts.emits {
			n.kids[0].fail("log events in the bodies", "After logs events")
		}
		f.first, f.emits, final = all, p.Logs, true
	case Until:
		f.null, f.first, f.emits = true, all, p.Kind != 0
		for _, k := range n.kids {
			if k.facts.emits {
				k.fail("it only looks ahead", "After logs events")
			}
		}
	case Scan:
		f.first, f.null = p.Scanner.First()
		f.emits = p.Kind != 0
	case Ref:
		if !n.rule.solved {
			n.rule.solved = true
			n.rule.body.solve()
		}
		f, final, whole = n.rule.body.facts, n.rule.body.final, n.rule.body.final
	}
	n.facts, n.final, n.whole = f, final, final && whole
}

// noLeftRecursion fails where a rule can reach itself without reading input, on which a machine
// would run for ever.
func (c *compiler) noLeftRecursion(r *rule) {
	if r.state != 0 {
		return
	}
	r.state = 1
	var walk func(n *node)
	walk = func(n *node) {
		switch n.p.(type) {
		case Ref:
			if n.rule.state == 1 {
				n.fail("read something before", "rule %s can come back here "+
					"without reading input", n.rule.name)
			}
			c.noLeftRecursion(n.rule)
		case Seq:
			for _, k := range n.kids {
				walk(k)
				if !k.facts.null {
					return
				}
			}
		case Dispatch, Switch, Until: // their parts run, or look, after a word
		default:
			for _, k := range n.kids {
				walk(k)
			}
		}
	}
	walk(r.body)
	r.state = 2
	// The walk has skipped the contents of a Dispatch, an Until and the rest of a Seq: compile's
	// loop over all rules visits the rules reached only from there.
}
