package vm

import "github.com/goassay/assay/engine/peg"

// until reads text up to a stop. While it runs, pos is where the text that has not been logged
// begins, scan is the place looked at, and state is the automaton's, which stands for the last
// Depth(state) bytes before scan.
func (m *Machine) until(u *peg.UntilTable, kind peg.Kind) peg.Status {
	if !m.running {
		m.running, m.state, m.scan = true, peg.Root, m.pos
	}
	end := min(m.base+len(m.buf), m.limit)
	buf := m.buf[:end-m.base]
	next, class, classes := u.Auto.Table()
	i, s := m.scan-m.base, m.state
	for i < len(buf) {
		if s == peg.Root {
			if i = u.Auto.Skip(buf, i); i == len(buf) {
				break
			}
		}
		switch t := next[int(s)*classes+int(class[buf[i]])]; {
		case t < peg.Found:
			s = t
			i++
		case t < peg.Ended:
			i++
			s = t & peg.StateMask
			stop, back := u.Auto.Stop(s)
			return m.stopped(u, kind, stop, m.base+i-back, true)
		default:
			stop, back := u.Auto.Stop(t & peg.StateMask)
			return m.stopped(u, kind, stop, m.base+i-back, true)
		}
	}
	m.scan, m.state = end, s
	switch {
	case end == m.limit:
		// The text after the cap cannot be known, so neither whether there is a stop.
		m.hit("held bytes")
		m.text(kind, m.pos, end)
		m.pos = end
		return peg.Fail
	case m.closed:
		if stop, back, whole := u.Auto.AtEnd(s, u.Stub); stop >= 0 {
			return m.stopped(u, kind, stop, end-back, whole)
		}
		to := end
		if u.TrimEnd {
			to = m.spaceBefore(end)
		}
		m.text(kind, m.pos, to)
		m.pos = to
		m.begin()
		m.pc++
		return peg.Match
	}
	if m.bottom < 0 { // let go of the certain part
		to := end - u.Auto.Depth(s)
		if u.AnySp {
			to = m.spaceBefore(to)
		}
		m.text(kind, m.pos, to)
		m.pos = to
	}
	return peg.NeedMore
}

// stopped ends the search at a stop.
func (m *Machine) stopped(u *peg.UntilTable, kind peg.Kind, stop, at int, whole bool) peg.Status {
	if u.Space[stop] {
		at = m.spaceBefore(at)
	}
	m.text(kind, m.pos, at)
	m.pos = at
	m.begin()
	m.pc++
	if to := u.After[stop]; whole && to >= 0 {
		m.pc = to
	}
	return peg.Match
}

// refuse makes text of the stop at pos.
func (m *Machine) refuse(u *peg.UntilTable, stop int, kind peg.Kind) {
	to, end := m.pos, m.base+len(m.buf)
	if u.Space[stop] {
		for to < end && isSpace(m.buf[to-m.base]) {
			to++
		}
	}
	to = min(to+len(u.Auto.Stops[stop]), end)
	m.text(kind, m.pos, to)
	m.pos = to
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// spaceBefore returns where the run of white space that ends at a place begins: not before pos, and
// not more than peg.SpaceBytes before the place. Successive places only grow, so the part measured
// last need not be looked at again, and the whole costs O(1) a byte.
func (m *Machine) spaceBefore(at int) int {
	from := at
	for from > m.pos && isSpace(m.buf[from-1-m.base]) {
		if from == m.spaceTo && m.spaceFrom < from {
			from = max(m.spaceFrom, m.pos)
		} else {
			from--
		}
	}
	m.spaceFrom, m.spaceTo = from, at
	return max(from, at-peg.SpaceBytes)
}
