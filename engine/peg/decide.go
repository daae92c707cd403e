package peg

import "slices"

// How an alternative is decided (E13).

// way is how an alternative is tried.
type way uint8

const (
	byEntry way = iota // undone if it fails; nothing logged before it is decided can leave
	byByte             // decided by its first byte (E13 (a))
	byCut              // decided by its Cut (E13 (b))
	byHold             // held whole (E13 (c))
)

// wayOf decides how an alternative is tried that others follow, which begin with the bytes in
// later. It fails where none of the ways of E13 is open.
func (n *node) wayOf(later ByteSet) way {
	if n.cuts() {
		if w, _ := n.width(); n.facts.emits && w > ConfirmBytes {
			n.fail("put the part before the "+
				"Cut into a Hold", "more than %d bytes may precede the Cut, and no event "+
				"could leave before", ConfirmBytes)
		}
		return byCut
	}
	if _, ok := n.held(); ok {
		return byHold
	}
	switch {
	case !n.facts.emits:
		return byEntry
	case n.facts.null:
		n.fail("write a Cut where it is decided, or "+
			"put it into a Hold", "it logs events, may match without input, and is not the "+
			"last alternative")
	case n.facts.first.Meets(later):
		n.fail("write a Cut where it is decided, or "+
			"put it into a Hold", "it logs events, and its first byte does not tell it from "+
			"the text that may follow")
	}
	return byByte
}

// cuts reports whether the alternative n contains a Cut of its own, which decides it.
func (n *node) cuts() bool {
	switch p := n.p.(type) {
	case Cut:
		return true
	case Switch:
		return p.Cuts
	case Seq, Label:
		return slices.ContainsFunc(n.kids, (*node).cuts)
	case Dispatch:
		with := 0
		for _, k := range n.kids[1:] {
			if k.cuts() {
				with++
			}
		}
		if with > 0 && with < len(n.kids)-1 {
			n.fail("write a Cut in all "+
				"bodies or in none", "%d of %d bodies have a Cut", with, len(n.kids)-1)
		}
		return with > 0
	}
	return false
}

// width returns how many bytes the part of a pattern before its Cut reads at most, white space runs
// counted as one, up to ConfirmBytes+1, which also stands for "any number". done reports that the
// Cut was met.
func (n *node) width() (bytes int, done bool) {
	const many = ConfirmBytes + 1
	widest := func(kids []*node) (w int, done bool) {
		for _, k := range kids {
			kw, kd := k.width()
			w, done = max(w, kw), done || kd
		}
		return w, done
	}
	switch p := n.p.(type) {
	case Lit:
		return min(many, len(p.Text)), false
	case Stub:
		return min(many, len(p.Text)), false
	case Set, Any, Space:
		return 1, false
	case Cut:
		return 0, true
	case Seq:
		for _, k := range n.kids {
			w, done := k.width()
			if bytes = min(many, bytes+w); done {
				return bytes, true
			}
		}
		return bytes, false
	case Choice, Opt, And, Not, Capture:
		w, _ := widest(n.kids)
		return w, false
	case Try:
		a, _ := n.kids[0].width()
		b, _ := n.kids[1].width()
		return min(many, a+b), false
	case Hold: // held on purpose, however long
		return 0, false
	case Rep:
		w, _ := n.kids[0].width()
		if s, ok := p.P.(Set); ok && s.Set == SpaceSet {
			return 1, false
		}
		if w > 0 && p.Max == 0 {
			return many, false
		}
		return min(many, w*max(p.Max, 1)), false
	case Label:
		return n.kids[0].width()
	case Dispatch:
		longest := 0
		for _, w := range p.Words {
			longest = max(longest, len(w))
		}
		after, _ := n.kids[0].width()
		w, done := widest(n.kids[1:])
		return min(many, longest+after+w), done
	case Switch:
		after, _ := n.kids[0].width()
		return min(many, MaxWord+after), p.Cuts
	case Until, Scan, Rejected:
		return many, false
	case Ref:
		switch n.rule.width {
		case -2:
			return many, false
		case -1:
			n.rule.width = -2
			n.rule.width, _ = n.rule.body.width()
		}
		return n.rule.width, false
	}
	return 0, false // End, Before, Emit
}

// blank reports whether the Cut of an alternative that has one may be reached without input.
func (n *node) blank() bool {
	switch n.p.(type) {
	case Cut:
		return true
	case Seq, Label:
		for _, k := range n.kids {
			if k.cuts() {
				return k.blank()
			}
			if !k.facts.null {
				return false
			}
		}
	}
	return false
}

// rejected returns the Rejected that begins an alternative, nil if none does.
func (n *node) rejected() *node {
	for {
		switch n.p.(type) {
		case Rejected:
			return n
		case Seq, Label:
			if len(n.kids) == 0 {
				return nil
			}
			n = n.kids[0]
		default:
			return nil
		}
	}
}

// held reports whether an alternative is a Hold, and returns the pattern that it holds.
func (n *node) held() (*node, bool) {
	for {
		switch n.p.(type) {
		case Hold:
			return n.kids[0], true
		case Label:
			n = n.kids[0]
		default:
			return n, false
		}
	}
}
