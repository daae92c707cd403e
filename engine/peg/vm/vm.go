// Package vm runs programs of package peg over a text that arrives in pieces.
//
// # Model
//
// A [Machine] is a pure function of the program and the text: how the text is cut into pieces
// changes when events are handed out, never which, once adjacent ones are merged. It has
//
//   - pc, the place in the code, and pos, the place in the text;
//   - one stack of frames: backtrack entries, calls, loops, regions, Trys (LPeg's stack, with three
//     more kinds of frame);
//   - the log of events that have not been handed out;
//   - the bytes that may be needed again: those from the oldest entry or logged text on.
//
// # Streaming
//
// Write runs until the program is decided or the text known so far is used up. An instruction that
// needs a byte that has not arrived suspends, and the next Write resumes it with its progress kept,
// so that cutting the text causes no byte to be read again. Only Close says that nothing follows
// (E12).
//
// Events are handed out by one rule (E13): at the end of a Write, those logged before the oldest
// backtrack entry; with no entry, all. Going back to an entry cuts the log to its length when the
// entry was made, and the oldest entry's is the least, so an event that was handed out is never
// taken back. (Try frames are not entries: they leave the log alone.) Besides, the machine keeps
// the beginning of a UTF-8 sequence at the end of the piece, so that no event ends inside a
// character that the text has whole.
//
// # Complexity
//
// A byte costs O(1), and again each time the machine goes back to an entry before it.
// [Limits].Rereads bounds that, so a text of n bytes costs O(n) whatever program and text are.
// Nothing is allocated per Write once the machine's slices have grown to the text's need; Reset
// keeps them.
//
// # Limits
//
// See [Limits]. Reaching a limit is a failure at that place like any other, and the program handles
// it as one (a tentative span becomes plain text); [Machine.Err] reports it.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package vm

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/goassay/assay/engine/peg"
)

// Limits bounds the work that a text can cause a machine. A zero field means the default.
type Limits struct {
	// Held is how many bytes after the oldest backtrack entry can be read, 1 MiB by default: a
	// tentative span is that long at most.
	Held int
	// Depth is how many frames can be on the stack, 10,000 by default. Rules can nest about a third
	// as deep.
	Depth int
	// Rereads is how many times on average the bytes after the oldest entry may be read again after
	// going back, 64 by default. 65,536 bytes are allowed in any case.
	Rereads int
}

const (
	defaultHeld    = 1 << 20
	defaultDepth   = 10_000
	defaultRereads = 64
	freeRereads    = 1 << 16
)

// LimitError is the error for a limit that was hit.
type LimitError struct {
	Limit string // "held bytes", "depth", "rereads"
	Off   int    // where in the text
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("at byte %d of the output: limit on %s reached; the attempt there "+
		"counts as failed", e.Off, e.Limit)
}

// Step is an entry of a trace: an instruction about to run, or to go on after a suspension.
type Step struct {
	PC    int // index into Program.Code
	Pos   int // place in the text
	Depth int // frames on the stack
}

// Machine runs one program over one text at a time.
type Machine struct {
	// Trace, where set, is called before each instruction.
	Trace func(Step)

	p      *peg.Program
	limits Limits

	// The text. buf[i] is byte base+i; 0 ≤ base ≤ pos ≤ base+len(buf). buf is the caller's piece,
	// where nothing was kept from before, or, if owned, the end of store.
	buf, store []byte
	owned      bool
	base       int
	closed     bool
	status     peg.Status
	done       bool // status is final

	pc    int32
	pos   int
	stack []frame
	// bottom is the index of the oldest backtrack entry, -1 if there is none. Since that was made,
	// work counts bytes read again, and top is the farthest position from which the machine went
	// back; at limit reading fails. far is the farthest failure of the innermost region.
	bottom, limit int
	work, top     int
	far           int

	capture   peg.Kind // the open capture's; 0: none is open
	captureAt int      // where its part that is not in the log begins

	// The progress of a suspended instruction: a count, a state, a place. All are zero when an
	// instruction begins.
	count   int
	state   uint16
	scan    int
	running bool
	// spaceFrom, spaceTo is the last run of white space that was measured, in whole or up to a
	// place where it went on.
	spaceFrom, spaceTo int

	log    []entry // events from number first on
	first  int
	arena  []byte // the text of those that have text of their own
	events []peg.Event
	// Where the text of the last event is and, for text in the arena, its end.
	lastFrom uint8
	lastHi   int
	scans    []peg.Scanner
	scanner  sink
	err      error
}

// frame kinds.
const (
	frameChoice = iota
	framePred   // aux: far
	frameTry
	frameCall
	frameLoop   // aux: iterations; pos: where the last one ended
	frameRegion // aux: far
)

type frame struct {
	kind      uint8
	capture   peg.Kind
	pc        int32
	pos       int
	log       int // number of the next event
	arena     int
	captureAt int
	aux       int
}

// entry is a logged event.
type entry struct {
	kind     peg.Kind
	from     uint8 // where its text is
	arg      int32
	off, end int // in the input
	lo, hi   int // fromArena: in the arena; fromConst: lo is the index of the text
}

const (
	fromNothing = iota // a mark
	fromInput
	fromArena
	fromConst
)

// New returns a machine for a program.
func New(p *peg.Program, l Limits) *Machine {
	if l.Held <= 0 {
		l.Held = defaultHeld
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Rereads <= 0 {
		l.Rereads = defaultRereads
	}
	m := &Machine{p: p, limits: l, scans: make([]peg.Scanner, len(p.Scanners))}
	m.scanner.m = m
	m.Reset()
	return m
}

// Reset makes the machine ready for a new text.
func (m *Machine) Reset() {
	m.buf, m.store, m.base = nil, m.store[:0], 0
	m.closed, m.done, m.status = false, false, peg.NeedMore
	m.pc, m.pos, m.stack = 0, 0, m.stack[:0]
	m.bottom, m.limit = -1, math.MaxInt
	m.work, m.top, m.far = 0, 0, 0
	m.capture, m.captureAt = 0, 0
	m.begin()
	m.spaceFrom, m.spaceTo = 0, 0
	m.log, m.first, m.arena, m.events = m.log[:0], 0, m.arena[:0], m.events[:0]
	m.err = nil
}

// Write adds a piece of the text and runs. The piece is not needed after the next call of Write,
// Close or Reset. After Match or Fail further pieces are ignored: [Machine.Offset] says where the
// program ended.
func (m *Machine) Write(piece []byte) peg.Status {
	m.fresh()
	if m.done { // so it is after Close
		return m.status
	}
	if len(m.buf) == 0 {
		m.buf, m.owned = piece, false
	} else {
		if cap(m.store)-len(m.store) < len(piece) {
			// If the needed bytes fill at most half of the store, move them to the front to make
			// room; else grow. So a byte is moved O(1) times.
			if len(m.buf) <= cap(m.store)/2 {
				m.store = append(m.store[:0], m.buf...)
			} else {
				grown := make([]byte, len(m.buf), 2*(len(m.buf)+len(piece)))
				copy(grown, m.buf)
				m.store = grown
			}
			m.buf = m.store
		}
		n := len(m.buf)
		m.store = append(m.store, piece...)
		m.buf = m.store[len(m.store)-n-len(piece):]
	}
	m.run()
	return m.status
}

// fresh drops the events that the last call handed out.
func (m *Machine) fresh() {
	m.events = m.events[:0]
	if m.bottom < 0 { // no event with text of its own is left, nor an entry that remembers one
		m.arena = m.arena[:0]
	}
}

// Close says that the text is complete, and runs to the end. The status is then Match or Fail.
func (m *Machine) Close() peg.Status {
	m.fresh()
	if m.done {
		return m.status
	}
	m.closed = true
	m.run()
	return m.status
}

// Events returns the events that the last Write or Close released. Text of one kind and number that
// continues the text before it is one event. They are valid until the next call of Write, Close or
// Reset.
func (m *Machine) Events() []peg.Event { return m.events }

// Offset returns the position: how much of the text has been matched, or, after a failure, where it
// happened.
func (m *Machine) Offset() int { return m.pos }

// Status returns the status that the last Write or Close returned.
func (m *Machine) Status() peg.Status { return m.status }

// Held returns how many bytes the machine keeps for later.
func (m *Machine) Held() int { return len(m.buf) }

// Err returns a *LimitError for the first limit that was hit, nil if none was.
func (m *Machine) Err() error { return m.err }

func (m *Machine) run() {
	m.status = m.steps()
	m.done = m.status != peg.NeedMore
	if m.done {
		// Nothing can be taken back any more.
		m.bottom, m.stack = -1, m.stack[:0]
	}
	if m.capture != 0 {
		m.flush()
		if m.done {
			m.capture = 0
		}
	}
	if len(m.log) > 0 {
		m.release()
	}
	if m.pos == m.base+len(m.buf) && m.bottom < 0 && len(m.log) == 0 {
		// Nothing is left to keep, which is the common case.
		m.base, m.buf = m.pos, m.buf[:0]
		return
	}
	m.keep()
}

// flush logs the text that the open capture has read, unless it would have to wait in the log
// anyway.
func (m *Machine) flush() {
	if m.capture != 0 && m.bottom < 0 {
		m.text(m.capture, m.captureAt, m.pos)
		m.captureAt = m.pos
	}
}

// text logs text of the input.
func (m *Machine) text(k peg.Kind, off, end int) {
	if k != 0 && off < end {
		e := m.next()
		e.kind, e.from, e.arg, e.off, e.end = k, fromInput, 0, off, end
	}
}

// next appends an entry to the log. The caller sets all of its fields that its from uses. They are
// set in place, here and in handOut: otherwise a Write per token would spend most of its time
// copying records that have just been put together.
func (m *Machine) next() *entry {
	n := len(m.log)
	if n == cap(m.log) {
		m.log = append(m.log, entry{})
	}
	m.log = m.log[:n+1]
	return &m.log[n]
}

// release hands out the events that no entry can take back.
func (m *Machine) release() {
	n := len(m.log)
	if m.bottom >= 0 {
		n = m.stack[m.bottom].log - m.first
	}
	wait := math.MaxInt // text from there on waits for the rest of a character
	// Most pieces end in a byte that is a character alone.
	if last := len(m.buf) - 1; n > 0 && n == len(m.log) && !m.done && last >= 0 &&
		m.buf[last] >= utf8.RuneSelf {
		if n := m.partial(); n > 0 {
			wait = m.base + len(m.buf) - n
		}
	}
	i := 0
	for ; i < n; i++ {
		e := &m.log[i]
		if e.end > wait {
			if e.off < wait {
				head := *e
				head.end, e.off = wait, wait
				m.handOut(&head)
			}
			break
		}
		m.handOut(e)
	}
	m.first += i
	if i == len(m.log) {
		m.log = m.log[:0]
	} else if i > 0 {
		m.log = m.log[:copy(m.log, m.log[i:])]
	}
}

// handOut makes an event of a logged one, or extends the last event by it.
func (m *Machine) handOut(e *entry) {
	if n := len(m.events); n > 0 {
		last := &m.events[n-1]
		if last.Kind == e.kind && last.Arg == int(e.arg) && last.End == e.off &&
			m.lastFrom == e.from {
			switch {
			case e.from == fromInput:
				last.End = e.end
				last.Text = m.buf[last.Off-m.base : last.End-m.base]
				return
			case e.from == fromArena && m.lastHi == e.lo:
				last.End, m.lastHi = e.end, e.hi
				last.Text = m.arena[e.lo-len(last.Text) : e.hi]
				return
			}
		}
	}
	n := len(m.events)
	if n == cap(m.events) {
		m.events = append(m.events, peg.Event{})
	}
	m.events = m.events[:n+1]
	v := &m.events[n]
	v.Kind, v.Arg, v.Off, v.End = e.kind, int(e.arg), e.off, e.end
	switch e.from {
	case fromNothing:
		v.Text = nil
	case fromConst:
		v.Text = m.p.Texts[e.lo]
	case fromInput:
		v.Text = m.buf[e.off-m.base : e.end-m.base]
	case fromArena:
		v.Text = m.arena[e.lo:e.hi]
	}
	m.lastFrom, m.lastHi = e.from, e.hi
}

// partial returns how many bytes at the end of the log's text, where that is the end of the input
// so far, are the beginning of a UTF-8 sequence that further bytes can complete.
func (m *Machine) partial() int {
	end := m.base + len(m.buf)
	// where the run of text of one kind that ends the log begins, at most one character back
	from := end
	for i := len(m.log) - 1; i >= 0 && from > end-utf8.UTFMax; i-- {
		e := &m.log[i]
		if e.from != fromInput || e.end != from || e.kind != m.log[len(m.log)-1].kind {
			break
		}
		from = e.off
	}
	b := m.buf[max(from-m.base, len(m.buf)-utf8.UTFMax, 0):]
	for n := 1; n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// keep drops the bytes that are no longer needed, and copies what it keeps of the caller's piece.
func (m *Machine) keep() {
	from := m.pos
	if m.bottom >= 0 {
		from = min(from, m.stack[m.bottom].pos)
	}
	if len(m.log) > 0 {
		from = min(from, m.log[0].off)
	}
	if m.done {
		from = m.base + len(m.buf)
	}
	m.buf = m.buf[from-m.base:]
	m.base = from
	if !m.owned {
		m.store = append(m.store[:0], m.buf...)
		m.buf, m.owned = m.store, true
	}
}

// begin clears the progress of an instruction.
func (m *Machine) begin() { m.count, m.state, m.scan, m.running = 0, 0, 0, false }

// hit notes that a limit was reached.
func (m *Machine) hit(limit string) {
	if m.err == nil {
		m.err = &LimitError{Limit: limit, Off: m.pos}
	}
}
