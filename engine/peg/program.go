package peg

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxCode bounds a program, in instructions: about 100 for each of 10,000 tools.
const MaxCode = 1 << 20

// Op is an operation code.
type Op uint8

// The instructions. pos is the position, pc the place in the code; "push" and "pop" concern the
// machine's one stack, which holds backtrack entries and other frames. "fails" means: the youngest
// entry is popped together with all above it, the position and the log go back to their state in
// the entry, and the machine goes on at its target; a Try frame that is younger is popped instead,
// and leaves position and log alone. Every instruction that needs a byte that is not there
// suspends; if the input is closed, or the byte is beyond the cap on held bytes, it fails
// instead.
const (
	OpMatch Op = iota // the program has matched
	OpFail            // fails
	OpLit             // A: literal. pos moves after it, all at once; else fails
	OpSet             // A: set. pos moves after one byte of it; else fails
	OpAny             // pos moves after one byte
	// A: set, B: least, C: most (0: any number). pos moves byte by byte over the set; fails where
	// fewer than B came
	OpSpan
	OpSkip   // A: bytes. pos moves over bytes that a Dispatch has looked at
	OpEnd    // fails unless the input is closed and ends at pos
	OpBefore // A: offset. Fails if pos is greater
	// A: literal. pos moves to the end of the input if that leaves a proper prefix of it; else
	// fails
	OpStub
	// A: set, B: target. Jumps unless the byte at pos is in the set; needs no entry
	OpTest
	OpJump       // A: target. Jumps
	OpChoice     // A: target. Pushes an entry
	OpCommit     // A: target. Pops the entry, keeps position and log, jumps
	OpPred       // A: target. Pushes an entry that also remembers the farthest failure
	OpBackCommit // A: target. Pops the entry of an OpPred, takes its position back, jumps
	OpFailTwice  // pops the entry of an OpPred, takes its position back, fails
	OpRegion     // pushes a region frame; the farthest failure becomes pos
	// pops the region frame; the farthest failure becomes the farther of both
	OpEndRegion
	// A: target. Pops the region frame; jumps if no failure was farther than pos; else logs the
	// text up to there, pos moves there
	OpRejected
	OpLoop  // pushes a loop frame
	OpNext  // A: target, B: most. Jumps if B iterations are done; B is not 0
	OpAgain // A: target. Counts an iteration and jumps, unless it read nothing
	// B: least. Pops the loop frame; fails where fewer than B iterations were counted
	OpEndLoop
	OpTry        // A: target. Pushes a Try frame
	OpEndTry     // A: target. Pops the Try frame and jumps
	OpCall       // A: target. Pushes the place after the call and jumps
	OpReturn     // pops a call's frame and jumps to its place
	OpEmit       // A: number, B: text, -1 for none. Logs an event
	OpCapture    // the bytes read from here on are text
	OpEndCapture // it was; logs it
	// A: until. Logs text up to a stop or the end, pos moves; jumps to the stop's test where it has
	// one
	OpUntil
	// A: until, B: stop. The stop at pos is text: logs it, pos moves after it
	OpRefuse
	// A: dispatch. Jumps to the code of the longest word at pos; fails if there is none
	OpDispatch
	// A: scanner. Runs the scanner, logs its text, moves pos over the bytes that it consumes; fails
	// with it
	OpScan
	numOps
)

// operand is the kind of an instruction's operand, for dumps and for Verify.
type operand uint8

const (
	none operand = iota
	number
	target
	literal
	set
	text
	until
	stop
	dispatch
	scanner
)

type opInfo struct {
	name    string
	a, b, c operand
	kind    bool // the instruction's Kind means something
	ends    bool // control never goes on after it
}

var opTable = [numOps]opInfo{
	OpMatch:      {name: "match", ends: true},
	OpFail:       {name: "fail", ends: true},
	OpLit:        {name: "lit", a: literal},
	OpSet:        {name: "set", a: set},
	OpAny:        {name: "any"},
	OpSpan:       {name: "span", a: set, b: number, c: number},
	OpSkip:       {name: "skip", a: number},
	OpEnd:        {name: "end"},
	OpBefore:     {name: "before", a: number},
	OpStub:       {name: "stub", a: literal},
	OpTest:       {name: "test", a: set, b: target},
	OpJump:       {name: "jump", a: target, ends: true},
	OpChoice:     {name: "choice", a: target},
	OpCommit:     {name: "commit", a: target, ends: true},
	OpPred:       {name: "pred", a: target},
	OpBackCommit: {name: "backcommit", a: target, ends: true},
	OpFailTwice:  {name: "failtwice", ends: true},
	OpRegion:     {name: "region"},
	OpEndRegion:  {name: "endregion"},
	OpRejected:   {name: "rejected", a: target, kind: true},
	OpLoop:       {name: "loop"},
	OpNext:       {name: "next", a: target, b: number},
	OpAgain:      {name: "again", a: target},
	OpEndLoop:    {name: "endloop", b: number},
	OpTry:        {name: "try", a: target},
	OpEndTry:     {name: "endtry", a: target, ends: true},
	OpCall:       {name: "call", a: target},
	OpReturn:     {name: "return", ends: true},
	OpEmit:       {name: "emit", a: number, b: text, kind: true},
	OpCapture:    {name: "capture", kind: true},
	OpEndCapture: {name: "endcapture"},
	OpUntil:      {name: "until", a: until, kind: true},
	OpRefuse:     {name: "refuse", a: until, b: stop, kind: true},
	OpDispatch:   {name: "dispatch", a: dispatch, ends: true},
	OpScan:       {name: "scan", a: scanner, kind: true},
}

func (op Op) String() string {
	if op < numOps {
		return opTable[op].name
	}
	return fmt.Sprintf("op%d", op)
}

// Inst is an instruction. The comment of its Op describes the operands; targets are indices into
// Program.Code, others indices into the program's tables or plain numbers.
type Inst struct {
	Op      Op
	Kind    Kind
	A, B, C int32
}

// Program is the code that a machine runs. [Compile] makes it, and it does not change: machines
// share it. [Program.Verify] reports whether one that came from elsewhere is safe to run.
type Program struct {
	Code       []Inst
	Lits       []string
	Sets       []ByteSet
	Texts      [][]byte
	Untils     []UntilTable
	Dispatches []DispatchTable
	Scanners   []ScannerType
	Kinds      []string // names of kinds
	Labels     []Place  // names of places, for dumps
}

// Place is a named place in the code.
type Place struct {
	PC   int32
	Name string
	Word bool // Name is the word of an OpDispatch, which dumps quote
}

// UntilTable holds the markers that an OpUntil looks for.
type UntilTable struct {
	Auto    *Automaton
	Space   []bool  // by stop: white space before it is not text
	Stub    []bool  // by stop: a proper prefix of it at the end of the input counts
	After   []int32 // by stop: where its test is; -1 for none
	TrimEnd bool
	AnySp   bool // some stop has Space, or TrimEnd is set: white space may have to wait
}

// DispatchTable is a set of words, sorted, and where each one's code is.
type DispatchTable struct {
	Words   []string
	Targets []int32
}

// Kind returns the name of a kind.
func (p *Program) Kind(k Kind) string {
	if int(k) < len(p.Kinds) && p.Kinds[k] != "" {
		return p.Kinds[k]
	}
	return fmt.Sprintf("kind%d", k)
}

// String disassembles the program, one instruction a line, with the names of rules and labels
// between.
func (p *Program) String() string {
	var b strings.Builder
	labels := p.Labels
	for pc := range p.Code {
		sep := ""
		for len(labels) > 0 && int(labels[0].PC) <= pc {
			name := labels[0].Name
			if labels[0].Word {
				name = strconv.Quote(name)
			}
			b.WriteString(sep + name)
			sep = ", "
			labels = labels[1:]
		}
		if sep != "" {
			b.WriteString(":\n")
		}
		fmt.Fprintf(&b, "%5d  %s\n", pc, p.Inst(pc))
	}
	return b.String()
}

// Inst prints the instruction at pc with its operands written out.
func (p *Program) Inst(pc int) string {
	in := p.Code[pc]
	if in.Op >= numOps {
		return in.Op.String()
	}
	info := opTable[in.Op]
	parts := []string{info.name}
	if info.kind {
		parts = append(parts, p.Kind(in.Kind))
	}
	for _, o := range []struct {
		operand
		v int32
	}{{info.a, in.A}, {info.b, in.B}, {info.c, in.C}} {
		if s := p.operand(in, o.operand, o.v); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}

func (p *Program) operand(in Inst, o operand, v int32) string {
	if err := p.check(in, o, v); err != nil {
		return "<" + err.Error() + ">"
	}
	switch o {
	case number:
		return fmt.Sprint(v)
	case target:
		return fmt.Sprintf("->%d", v)
	case literal:
		return fmt.Sprintf("%q", p.Lits[v])
	case set:
		return p.Sets[v].String()
	case text:
		if v >= 0 {
			return fmt.Sprintf("%q", p.Texts[v])
		}
	case until:
		u := p.Untils[v]
		var parts []string
		for i, s := range u.Auto.Stops {
			part := fmt.Sprintf("%q", s)
			if u.Space[i] {
				part = "_" + part
			}
			if u.Stub[i] {
				part += "..."
			}
			if u.After[i] >= 0 {
				part += fmt.Sprintf("->%d", u.After[i])
			}
			parts = append(parts, part)
		}
		if u.TrimEnd {
			parts = append(parts, "_end")
		}
		return "{" + strings.Join(parts, " ") + "}"
	case stop:
		return fmt.Sprintf("%q", p.Untils[in.A].Auto.Stops[v])
	case dispatch:
		d := p.Dispatches[v]
		var parts []string
		for i, w := range d.Words {
			parts = append(parts, fmt.Sprintf("%q->%d", w, d.Targets[i]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	case scanner:
		return p.Scanners[v].Name()
	}
	return ""
}

// check reports whether an operand is in range.
func (p *Program) check(in Inst, o operand, v int32) error {
	limit := 0
	switch o {
	case none:
		return nil
	case number:
		if v < 0 {
			return fmt.Errorf("negative number %d", v)
		}
		return nil
	case target:
		limit = len(p.Code)
	case literal:
		limit = len(p.Lits)
	case set:
		limit = len(p.Sets)
	case text:
		if v == -1 {
			return nil
		}
		limit = len(p.Texts)
	case until:
		limit = len(p.Untils)
	case stop:
		if in.A < 0 || int(in.A) >= len(p.Untils) {
			return fmt.Errorf("stop %d of no until", v)
		}
		limit = len(p.Untils[in.A].Auto.Stops)
	case dispatch:
		limit = len(p.Dispatches)
	case scanner:
		limit = len(p.Scanners)
	}
	if v < 0 || int(v) >= limit {
		return fmt.Errorf("operand %d is not below %d", v, limit)
	}
	return nil
}

// Verify reports whether a machine can run the program: all operands are in range, control never
// leaves the code, and every instruction finds on the stack the frames that it pops, whichever way
// it was reached. (It does not prove that the program ends; Compile's refusal of left recursion
// does.)
func (p *Program) Verify() error {
	if len(p.Code) > MaxCode {
		return fmt.Errorf("peg: a program of %d instructions; at "+
			"most %d are allowed", len(p.Code), MaxCode)
	}
	if len(p.Code) == 0 {
		return errors.New("peg: a program without code")
	}
	for i, u := range p.Untils {
		if n := len(u.Auto.Stops); len(u.Space) != n || len(u.Stub) != n || len(u.After) != n {
			return fmt.Errorf("peg: until %d: tables of different lengths", i)
		}
	}
	// stack[pc] describes the stack above the frame of the running rule: 'M' or 'R' for the root or
	// a rule, then a letter for each frame. An open capture counts as a frame.
	stack := make([]string, len(p.Code))
	var work []int32
	var err error
	flow := func(from int, to int32, s string) {
		switch {
		case err != nil:
		case to < 0 || int(to) >= len(p.Code):
			err = fmt.Errorf("peg: %d  %s: control leaves the code", from, p.Inst(from))
		case stack[to] == "":
			stack[to] = s
			work = append(work, to)
		case stack[to] != s:
			err = fmt.Errorf("peg: %d  %s: stack %q here, "+
				"%q on another way", to, p.Inst(int(to)), s, stack[to])
		}
	}
	flow(0, 0, "M")
	for err == nil && len(work) > 0 {
		pc := int(work[len(work)-1])
		work = work[:len(work)-1]
		in, s := p.Code[pc], stack[pc]
		if in.Op >= numOps {
			return fmt.Errorf("peg: %d  %s: no such operation", pc, in.Op)
		}
		info := opTable[in.Op]
		for _, e := range []error{p.check(in, info.a, in.A), p.check(in, info.b, in.B),
			p.check(in, info.c, in.C)} {
			if e != nil {
				return fmt.Errorf("peg: %d  %s: %w", pc, in.Op, e)
			}
		}
		pop := func(frame byte) string {
			if s[len(s)-1] != frame && err == nil {
				err = fmt.Errorf("peg: %d  %s: stack %q has no %q on top", pc, p.Inst(pc), s, frame)
			}
			return s[:len(s)-1]
		}
		next := s
		switch in.Op {
		case OpMatch:
			if s != "M" {
				err = fmt.Errorf("peg: %d  match: stack %q", pc, s)
			}
		case OpReturn:
			if s != "R" {
				err = fmt.Errorf("peg: %d  return: stack %q", pc, s)
			}
		case OpTest:
			flow(pc, in.B, s)
		case OpJump:
			flow(pc, in.A, s)
		case OpNext:
			pop('l')
			flow(pc, in.A, s)
		case OpCall:
			flow(pc, in.A, "R")
		case OpChoice:
			flow(pc, in.A, s)
			next = s + "c"
		case OpPred:
			flow(pc, in.A, s)
			next = s + "p"
		case OpTry:
			flow(pc, in.A, s)
			next = s + "t"
		case OpCommit:
			flow(pc, in.A, pop('c'))
		case OpBackCommit:
			flow(pc, in.A, pop('p'))
		case OpFailTwice:
			pop('p')
		case OpEndTry:
			flow(pc, in.A, pop('t'))
		case OpRegion:
			next = s + "r"
		case OpEndRegion:
			next = pop('r')
		case OpRejected:
			next = pop('r')
			flow(pc, in.A, next)
		case OpLoop:
			next = s + "l"
		case OpAgain:
			pop('l')
			flow(pc, in.A, s)
		case OpEndLoop:
			next = pop('l')
		case OpCapture:
			next = s + "k"
		case OpEndCapture:
			next = pop('k')
		case OpUntil:
			for _, to := range p.Untils[in.A].After {
				if to != -1 {
					flow(pc, to, s)
				}
			}
		case OpDispatch:
			for _, to := range p.Dispatches[in.A].Targets {
				flow(pc, to, s)
			}
		}
		if !info.ends {
			flow(pc, int32(pc+1), next)
		}
	}
	return err
}
