package vm

import "fmt"

// Check reports which invariant of a machine between two calls does not hold.
func (m *Machine) Check() error {
	if m.done { // nothing is kept
		return nil
	}
	end := m.base + len(m.buf)
	last := m.first // the events before it have been handed out
	bottom := -1
	for i, f := range m.stack {
		if f.kind != frameChoice && f.kind != framePred {
			continue
		}
		if bottom < 0 {
			bottom = i
		}
		// The entries' records only grow from the oldest to the youngest, and the oldest one's is
		// not below the events that have left: so no failure can cut the log to less.
		if f.log < last || f.log > m.first+len(m.log) {
			return fmt.Errorf("entry %d remembers a log of %d, not "+
				"between %d and %d", i, f.log, last, m.first+len(m.log))
		}
		last = f.log
		if f.pos < m.base || f.pos > m.pos {
			return fmt.Errorf("entry %d goes back to %d, not "+
				"between %d and %d", i, f.pos, m.base, m.pos)
		}
	}
	switch {
	case bottom != m.bottom:
		return fmt.Errorf("the oldest entry is %d, not %d", bottom, m.bottom)
	case m.pos < m.base || m.pos > end:
		return fmt.Errorf("position %d is not between %d and %d", m.pos, m.base, end)
	case m.bottom < 0 && len(m.log) > 3:
		return fmt.Errorf("%d events wait with no entry", len(m.log))
	case m.capture != 0 && (m.captureAt < m.base || m.captureAt > m.pos):
		return fmt.Errorf("the capture begins at %d, not "+
			"between %d and %d", m.captureAt, m.base, m.pos)
	}
	for _, e := range m.log {
		if e.from == fromInput && (e.off < m.base || e.off >= e.end || e.end > end) {
			return fmt.Errorf("logged text [%d, %d) is not in [%d, %d)", e.off, e.end, m.base, end)
		}
	}
	return nil
}
