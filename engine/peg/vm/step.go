package vm

import (
	"math"

	"github.com/goassay/assay/engine/peg"
)

// byteAt is the kind of a position.
type byteAt uint8

const (
	there   byteAt = iota // a byte
	notYet                // the end of the bytes that have arrived
	nothing               // the end of the text, or of the bytes that may be held
)

// look returns the kind of pos+ahead.
func (m *Machine) look(ahead int) byteAt {
	switch at := m.pos + ahead; {
	case at >= m.limit:
		m.hit("held bytes")
		return nothing
	case at < m.base+len(m.buf):
		return there
	case m.closed:
		return nothing
	}
	return notYet
}

// push pushes a frame; it fails where the stack is full.
func (m *Machine) push(f frame) bool {
	if len(m.stack) >= m.limits.Depth {
		m.hit("depth")
		return false
	}
	m.stack = append(m.stack, f)
	return true
}

// mark pushes a backtrack entry.
func (m *Machine) mark(kind uint8, to int32) bool {
	m.flush()
	ok := m.push(frame{
		kind: kind, capture: m.capture, pc: to, pos: m.pos, log: m.first + len(m.log),
		arena:     len(m.arena),
		captureAt: m.captureAt, aux: m.far,
	})
	if ok && m.bottom < 0 {
		m.bottom = len(m.stack) - 1
		m.limit = math.MaxInt
		if m.pos < math.MaxInt-m.limits.Held {
			m.limit = m.pos + m.limits.Held
		}
		m.work, m.top = 0, m.pos
	}
	return ok
}

// pop takes the top frame off.
func (m *Machine) pop() frame {
	n := len(m.stack) - 1
	f := m.stack[n]
	m.stack = m.stack[:n]
	if n == m.bottom {
		m.bottom, m.limit = -1, math.MaxInt
	}
	return f
}

// back takes position and log back to an entry that has been popped.
func (m *Machine) back(f *frame) {
	m.top = max(m.top, m.pos)
	m.work += m.pos - f.pos + 1
	m.pos = f.pos
	m.log = m.log[:f.log-m.first]
	m.arena = m.arena[:f.arena]
	m.capture, m.captureAt = f.capture, f.captureAt
}

// fail goes back to the youngest entry or Try. It reports whether there was one. Where the entries
// have been gone back to too often, only the oldest one is left.
func (m *Machine) fail() bool {
	m.begin()
	m.far = max(m.far, m.pos)
	oldest := -1
	if m.bottom >= 0 && m.work > freeRereads+
		m.limits.Rereads*(max(m.top, m.pos)-m.stack[m.bottom].pos) {
		m.hit("rereads")
		oldest = m.bottom
	}
	for len(m.stack) > 0 {
		// A skipped Try leaves the log alone for the moment; the oldest entry is beneath it and
		// takes the log back.
		skip := len(m.stack)-1 > oldest && oldest >= 0
		f := m.pop()
		switch f.kind {
		case frameRegion:
			m.far = max(m.far, f.aux)
		case frameChoice, framePred:
			if f.kind == framePred {
				m.far = f.aux
			}
			if skip {
				continue
			}
			m.back(&f)
			m.pc = f.pc
			return true
		case frameTry:
			if skip {
				continue
			}
			// Text that an open capture has read stays read. One that was open before the Try stays
			// open.
			if m.capture != 0 && f.capture == 0 {
				m.text(m.capture, m.captureAt, m.pos)
				m.capture = 0
			}
			m.pc = f.pc
			return true
		}
	}
	return false
}

// steps runs until the program is decided or more input is needed.
func (m *Machine) steps() peg.Status {
	code := m.p.Code
	for {
		if m.Trace != nil {
			m.Trace(Step{PC: int(m.pc), Pos: m.pos, Depth: len(m.stack)})
		}
		in := &code[m.pc]
		ok := true
		switch in.Op {
		case peg.OpMatch:
			return peg.Match
		case peg.OpFail:
			ok = false
		case peg.OpLit, peg.OpStub:
			switch m.lit(m.p.Lits[in.A], in.Op == peg.OpStub) {
			case peg.NeedMore:
				return peg.NeedMore
			case peg.Fail:
				ok = false
			default:
				m.pos += m.count
				m.begin()
				m.pc++
			}
		case peg.OpSet, peg.OpAny:
			switch m.look(0) {
			case notYet:
				return peg.NeedMore
			case there:
				if ok = in.Op == peg.OpAny || m.p.Sets[in.A].Has(m.buf[m.pos-m.base]); ok {
					m.pos++
					m.pc++
				}
			default:
				ok = false
			}
		case peg.OpSpan:
			switch m.span(&m.p.Sets[in.A], int(in.C)) {
			case notYet:
				return peg.NeedMore
			default:
				if ok = m.count >= int(in.B); ok {
					m.begin()
					m.pc++
				}
			}
		case peg.OpSkip:
			// The word was read before the entry that caps it was made, so it may reach beyond the
			// cap.
			switch m.look(int(in.A) - 1) {
			case notYet:
				return peg.NeedMore
			case there:
				m.pos += int(in.A)
				m.pc++
			default:
				ok = false
			}
		case peg.OpEnd:
			switch {
			case m.pos < m.base+len(m.buf):
				ok = false
			case !m.closed:
				return peg.NeedMore
			default:
				m.pc++
			}
		case peg.OpBefore:
			if ok = m.pos <= int(in.A); ok {
				m.pc++
			}
		case peg.OpTest:
			switch m.look(0) {
			case notYet:
				return peg.NeedMore
			case there:
				if m.p.Sets[in.A].Has(m.buf[m.pos-m.base]) {
					m.pc++
				} else {
					m.pc = in.B
				}
			default:
				m.pc = in.B
			}
		case peg.OpJump:
			m.pc = in.A
		case peg.OpChoice:
			if ok = m.mark(frameChoice, in.A); ok {
				m.pc++
			}
		case peg.OpCommit:
			m.pop()
			m.pc = in.A
		case peg.OpPred:
			if ok = m.mark(framePred, in.A); ok {
				m.pc++
			}
		case peg.OpBackCommit, peg.OpFailTwice:
			f := m.pop()
			m.far = f.aux
			m.back(&f)
			m.pc = in.A
			ok = in.Op == peg.OpBackCommit
		case peg.OpRegion:
			if ok = m.push(frame{kind: frameRegion, aux: m.far}); ok {
				m.far = m.pos
				m.pc++
			}
		case peg.OpEndRegion:
			m.far = max(m.far, m.pop().aux)
			m.pc++
		case peg.OpRejected:
			to := m.far
			m.far = max(to, m.pop().aux)
			if to <= m.pos {
				m.pc = in.A
			} else {
				m.text(in.Kind, m.pos, to)
				m.pos = to
				m.pc++
			}
		case peg.OpLoop:
			if ok = m.push(frame{kind: frameLoop, pos: m.pos}); ok {
				m.pc++
			}
		case peg.OpNext:
			if m.pc++; m.stack[len(m.stack)-1].aux >= int(in.B) {
				m.pc = in.A
			}
		case peg.OpAgain:
			f := &m.stack[len(m.stack)-1]
			if m.pos == f.pos {
				f.aux = math.MaxInt // as many as anybody wants
				m.pc++
			} else {
				f.aux++
				f.pos = m.pos
				m.pc = in.A
			}
		case peg.OpEndLoop:
			ok = m.pop().aux >= int(in.B)
			m.pc++
		case peg.OpTry:
			if ok = m.push(frame{kind: frameTry, pc: in.A, capture: m.capture}); ok {
				m.pc++
			}
		case peg.OpEndTry:
			m.pop()
			m.pc = in.A
		case peg.OpCall:
			if ok = m.push(frame{kind: frameCall, pc: m.pc + 1}); ok {
				m.pc = in.A
			}
		case peg.OpReturn:
			m.pc = m.pop().pc
		case peg.OpEmit:
			e := entry{kind: in.Kind, arg: in.A, off: m.pos, end: m.pos}
			if in.B >= 0 {
				e.from, e.lo = fromConst, int(in.B)
			}
			m.log = append(m.log, e)
			m.pc++
		case peg.OpCapture:
			m.capture, m.captureAt = in.Kind, m.pos
			m.pc++
		case peg.OpEndCapture:
			m.text(m.capture, m.captureAt, m.pos)
			m.capture = 0
			m.pc++
		case peg.OpUntil:
			switch m.until(&m.p.Untils[in.A], in.Kind) {
			case peg.NeedMore:
				return peg.NeedMore
			case peg.Fail:
				ok = false
			}
		case peg.OpRefuse:
			m.refuse(&m.p.Untils[in.A], int(in.B), in.Kind)
			m.pc++
		case peg.OpDispatch:
			switch to := m.dispatch(&m.p.Dispatches[in.A]); to {
			case dispatchNeedMore:
				return peg.NeedMore
			case dispatchNone:
				ok = false
			default:
				m.pc = to
			}
		case peg.OpScan:
			switch m.scanStep(int(in.A), in.Kind) {
			case peg.NeedMore:
				return peg.NeedMore
			case peg.Fail:
				ok = false
			default:
				m.begin()
				m.pc++
			}
		}
		if !ok && !m.fail() {
			return peg.Fail
		}
	}
}

// lit compares the text with a literal, as a whole or, for a Stub, as far as the text goes; count
// is how much agrees.
func (m *Machine) lit(text string, stub bool) peg.Status {
	for {
		if m.count == len(text) {
			if stub { // all of it is not a proper prefix
				return peg.Fail
			}
			return peg.Match
		}
		switch m.look(m.count) {
		case notYet:
			return peg.NeedMore
		case nothing:
			if stub && m.count > 0 && m.pos+m.count < m.limit {
				return peg.Match
			}
			return peg.Fail
		}
		at := m.pos + m.count - m.base
		n := min(len(m.buf)-at, len(text)-m.count, m.limit-m.base-at)
		if string(m.buf[at:at+n]) != text[m.count:m.count+n] {
			return peg.Fail
		}
		m.count += n
	}
}

// span moves over bytes of a set, at most most of them (0: any number). It answers notYet where
// more may come.
func (m *Machine) span(set *peg.ByteSet, most int) byteAt {
	for most == 0 || m.count < most {
		if at := m.look(0); at != there {
			return at
		}
		at := m.pos - m.base
		n := min(len(m.buf), m.limit-m.base) - at
		if most > 0 {
			n = min(n, most-m.count)
		}
		run := 0
		for run < n && set.Has(m.buf[at+run]) {
			run++
		}
		m.pos += run
		m.count += run
		if run < n {
			return nothing
		}
	}
	return nothing
}

const (
	dispatchNeedMore = -1
	dispatchNone     = -2
)

// dispatch returns the target of the longest word at the position. The words that agree with the
// text so far are those between lo and hi, since they are sorted.
func (m *Machine) dispatch(d *peg.DispatchTable) int32 {
	lo, hi, best := 0, len(d.Words), -1
	for n := 0; ; n++ {
		if lo < hi && len(d.Words[lo]) == n {
			best = lo
			lo++
		}
		if lo == hi {
			break
		}
		at := m.look(n)
		if at == notYet {
			return dispatchNeedMore
		}
		if at == nothing {
			break
		}
		b := m.buf[m.pos+n-m.base]
		lo += search(hi-lo, func(i int) bool { return d.Words[lo+i][n] >= b })
		hi = lo + search(hi-lo, func(i int) bool { return d.Words[lo+i][n] > b })
	}
	if best < 0 {
		return dispatchNone
	}
	return d.Targets[best]
}

// search is sort.Search, which the compiler can inline here.
func search(n int, f func(int) bool) int {
	lo, hi := 0, n
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); f(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// sink takes a scanner's text.
type sink struct {
	m      *Machine
	kind   peg.Kind
	number int32
}

func (s *sink) Number(n int) { s.number = int32(n) }

func (s *sink) Copy(from, to int) {
	if m := s.m; s.kind != 0 && from < to {
		e := m.next()
		e.kind, e.from, e.arg, e.off, e.end = s.kind, fromInput, s.number, m.pos+from, m.pos+to
	}
}

func (s *sink) Text(text []byte, from, to int) { produce(s, text, from, to) }

func (s *sink) String(text string, from, to int) { produce(s, text, from, to) }

func produce[T []byte | string](s *sink, text T, from, to int) {
	if m := s.m; s.kind != 0 {
		lo := len(m.arena)
		m.arena = append(m.arena, text...)
		m.log = append(m.log, entry{kind: s.kind, from: fromArena, arg: s.number,
			off: m.pos + from, end: m.pos + to, lo: lo, hi: len(m.arena)})
	}
}

// scanStep lets a scanner read on.
func (m *Machine) scanStep(i int, kind peg.Kind) peg.Status {
	s := m.scans[i]
	if s == nil {
		s = m.p.Scanners[i].New()
		m.scans[i] = s
	}
	if !m.running {
		s.Reset()
		m.running = true
	}
	end := min(m.base+len(m.buf), m.limit)
	capped := end == m.limit
	m.scanner.kind, m.scanner.number = kind, 0
	n, st := s.Step(m.buf[m.pos-m.base:end-m.base], m.closed && !capped, &m.scanner)
	m.pos += n
	if st == peg.NeedMore && capped {
		m.hit("held bytes")
		return peg.Fail
	}
	return st
}
