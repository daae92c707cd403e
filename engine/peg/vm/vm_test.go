package vm_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
)

func machine(t testing.TB, l vm.Limits, root peg.Pattern, rules ...peg.Rule) *vm.Machine {
	t.Helper()
	p, err := peg.Compile(peg.Tree{Root: root, Rules: rules, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	return vm.New(p, l)
}

// released runs the pieces one Write each, and returns the events that each Write and the Close
// handed out: text as it is, a mark in brackets, a change of kind as a bar.
func released(m *vm.Machine, pieces ...string) string {
	m.Reset()
	var out []string
	take := func() {
		var parts []string
		for _, e := range m.Events() {
			if e.Kind >= markA {
				parts = append(parts, fmt.Sprintf("[%s %d%s]", kinds[e.Kind], e.Arg, e.Text))
			} else {
				parts = append(parts, fmt.Sprintf("%s:%q", kinds[e.Kind], e.Text))
			}
		}
		out = append(out, strings.Join(parts, " "))
	}
	for _, piece := range pieces {
		m.Write([]byte(piece))
		take()
	}
	out = append(out, m.Close().String())
	take()
	return strings.Join(out, " | ")
}

// TestRelease says when events leave: one case per sentence of E13.
func TestRelease(t *testing.T) {
	until := func(stops ...peg.Stop) peg.Pattern {
		return peg.Seq{peg.Until{Kind: kindA, Stops: stops}, peg.Until{Kind: kindB}}
	}
	tests := []struct {
		name   string
		p      peg.Pattern
		pieces []string
		want   string
	}{
		{"text without a marker in sight", until(peg.Stop{Text: "<end>"}), []string{"ab", "c"},
			`a:"ab" | a:"c" | Match | `},
		{"the longest suffix that begins a marker waits", until(peg.Stop{Text: "<end>"}), []string{"ab<", "en", "x", "<e", "nd>", "y"},
			`a:"ab" |  | a:"<enx" |  |  b:"<end>" | b:"y" | Match | `},
		{"only the longest such suffix", until(peg.Stop{Text: "aab"}),
			[]string{"aa", "a", "a", "b"},
			` | a:"a" | a:"a" | b:"aab" | Match | `},
		{"white space before a marker with Space", until(peg.Stop{Text: "<end>", Space: true}),
			[]string{"a \n", " ", "b ", "<", "end>"},
			`a:"a" |  | a:" \n b" |  | b:" <end>" | Match | `},
		{"none without", until(peg.Stop{Text: "<end>"}), []string{"a \n"},
			`a:"a \n" | Match | `},
		{"white space at the end with TrimEnd", peg.Until{Kind: kindA, TrimEnd: true},
			[]string{"a ", " "},
			`a:"a" |  | Match | `},
		{"a marker cut off by the end is text", until(peg.Stop{Text: "<end>"}), []string{"a<en"},
			`a:"a" | Match | a:"<en"`},
		{"or ends the text, with Stub", until(peg.Stop{Text: "<end>", Stub: true}),
			[]string{"a<en"},
			`a:"a" | Match | b:"<en"`},
		{"a longer marker may still come", until(peg.Stop{Text: "<e"}, peg.Stop{Text: "<e>"}),
			[]string{"a<e", "x"},
			`a:"a" | b:"<ex" | Match | `},
		{"a refused stop is text", until(peg.Stop{Text: ">", After: peg.Lit{Text: "!"}}),
			[]string{"a>", "b>", "!"},
			`a:"a" | a:">b" | b:">!" | Match | `},
		{"before a predicate",
			peg.Seq{peg.Capture{Kind: kindA,
				P: peg.Seq{peg.Lit{Text: "a"}, peg.And{P: peg.Lit{Text: "bc"}}, peg.Any{}}},
				peg.Any{}}, []string{"a", "b", "c"},
			`a:"a" |  | a:"b" | Match | `},
		{"held until it is cut", peg.Choice{
			peg.Seq{peg.Emit{Kind: markA}, peg.Lit{Text: "ab"}, peg.Cut{}, peg.Until{Kind: kindA}},
			peg.Until{Kind: kindB}}, []string{"a", "b", "c"},
			` | [markA 0] | a:"c" | Match | `},
		{"or taken back", peg.Choice{
			peg.Seq{peg.Emit{Kind: markA}, peg.Lit{Text: "ab"}, peg.Cut{}, peg.Until{Kind: kindA}},
			peg.Until{Kind: kindB}}, []string{"a", "a", "c"},
			` | b:"aa" | b:"c" | Match | `},
		{"decided by the first byte", peg.Choice{
			peg.Capture{Kind: kindA, P: peg.Seq{peg.Lit{Text: "a"}, peg.Lit{Text: "b"}}},
			peg.Lit{Text: "b"}}, []string{"a", "c"},
			`a:"a" |  | Fail | `},
		{"a Hold leaves whole", peg.Choice{
			peg.Hold{P: peg.Capture{Kind: kindA,
				P: peg.Seq{peg.Lit{Text: "a"}, peg.Lit{Text: "b"}}}}, peg.Lit{Text: "b"}},
			[]string{"a", "b"},
			` | a:"ab" | Match | `},
		{"rejected text is text",
			peg.Choice{peg.Lit{Text: "abc"},
				peg.Seq{peg.Lit{Text: "a"}, peg.Lit{Text: "b"}, peg.Lit{Text: "x"}},
				peg.Seq{peg.Rejected{Kind: kindA}, peg.Until{Kind: kindB}}},
			[]string{"a", "b", "d"},
			` |  | a:"ab" b:"d" | Match | `},
		{"the text that a Try had read stays", peg.Try{
			P: peg.Seq{peg.Emit{Kind: markA, Arg: 7},
				peg.Capture{Kind: kindA, P: peg.Rep{P: peg.Set{Set: peg.Bytes("a")}}},
				peg.Lit{Text: "!"}}, Else: peg.Seq{peg.Emit{Kind: markB}, peg.Until{Kind: kindB}}},
			[]string{"a", "a?"},
			`[markA 7] a:"a" | a:"a" [markB 0] b:"?" | Match | `},
		{"an iteration that has matched",
			peg.Rep{P: peg.Seq{peg.Lit{Text: "a"}, peg.Cut{},
				peg.Capture{Kind: kindA, P: peg.Any{}}}}, []string{"a", "x", "ay"},
			` | a:"x" | a:"y" | Match | `},
		{"a scanner's text", peg.Scan{Kind: kindA, Scanner: quoted{}}, []string{`"a`, `\`, `nb`, `"`},
			`a:"«" a:"a" |  | a:"\n" a:"b" | a:"»" | Match | `},
		{"a scanner that fails", peg.Try{P: peg.Scan{Kind: kindA, Scanner: quoted{}}, Else: peg.Emit{Kind: markB}}, []string{`"a`},
			`a:"«" a:"a" | Match | [markB 0]`},
		{"a constant text", peg.Emit{Kind: markA, Text: "{"}, nil,
			`Match | [markA 0{]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// Two blanks stand for nothing between bars; the table is easier to read without.
			got := strings.ReplaceAll(released(machine(t, vm.Limits{}, test.p), test.pieces...),
				"  ", " ")
			if want := strings.ReplaceAll(test.want, "  ", " "); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// TestCharacters: no text event ends inside a character that is whole in the text, and other bytes
// pass as they are.
func TestCharacters(t *testing.T) {
	for _, p := range []peg.Pattern{
		peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: "é!", Space: true}}},
		peg.Capture{Kind: kindA, P: peg.Rep{P: peg.Any{}}},
		peg.Rep{P: peg.Capture{Kind: kindA, P: peg.Any{}}},
	} {
		m := machine(t, vm.Limits{}, p)
		for _, in := range []string{"aé漢😀b", "😀", "a\xff", "\xe6\xa0", "\xc3(", "\xf0\x9f\x98",
			"\x80\x80é", "\xf0\x90é\xe6"} {
			for _, cuts := range (gen{}).everySplit(len(in)) {
				m.Reset()
				got := ""
				piece := func(s string, close bool) {
					if close {
						m.Close()
					} else {
						m.Write([]byte(s))
					}
					for _, e := range m.Events() {
						got += string(e.Text)
						if utf8.ValidString(in) && !utf8.Valid(e.Text) {
							t.Fatalf("%q cut at %v: %q leaves", in, cuts, e.Text)
						}
					}
				}
				from := 0
				for _, to := range append(cuts, len(in)) {
					piece(in[from:to], false)
					from = to
				}
				if held := m.Held(); held > 4 {
					t.Errorf("%q: %d bytes held", in, held)
				}
				piece("", true)
				if got != in {
					t.Fatalf("%q cut at %v: got %q", in, cuts, got)
				}
			}
		}
	}
}

// everySplit returns every way to cut n bytes, for small n.
func (gen) everySplit(n int) (out [][]int) {
	for set := range 1 << max(n-1, 0) {
		var cuts []int
		for i := 1; i < n; i++ {
			if set>>(i-1)&1 != 0 {
				cuts = append(cuts, i)
			}
		}
		out = append(out, cuts)
	}
	return out
}

// TestLimits hits each limit: the attempt there fails, nothing is lost, and Err returns the limit.
func TestLimits(t *testing.T) {
	held := peg.Choice{
		peg.Hold{P: peg.Seq{peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: ">"}}},
			peg.Lit{Text: ">"}}},
		peg.Seq{peg.Rejected{Kind: kindB}, peg.Until{Kind: kindB}},
	}
	nested := peg.Seq{peg.Opt{P: peg.Seq{peg.Lit{Text: "("}, peg.Ref{Name: "nested"},
		peg.Lit{Text: ")"}}}}
	// Each "a" doubles the ways to fail.
	doubling := peg.Choice{peg.Seq{peg.Lit{Text: "a"}, peg.Ref{Name: "doubling"},
		peg.Lit{Text: "b"}},
		peg.Seq{peg.Lit{Text: "a"}, peg.Ref{Name: "doubling"}, peg.Lit{Text: "c"}}, peg.Seq{}}
	tests := []struct {
		name   string
		limits vm.Limits
		p      peg.Pattern
		rules  []peg.Rule
		in     string
		want   string // the events
		err    string
	}{
		{"held bytes, kept", vm.Limits{Held: 5}, held, nil, "abc>d", "a [0,3) \"abc\"\n", ""},
		{"held bytes, exceeded", vm.Limits{Held: 5}, held, nil, "abcde>f", "b [0,7) \"abcde>f\"\n",
			"at byte 0 of the output: limit on held bytes reached; the attempt there " +
				"counts as failed"},
		{"depth, kept", vm.Limits{Depth: 20},
			peg.Seq{peg.Ref{Name: "nested"}, peg.Until{Kind: kindA}}, []peg.Rule{{Name: "nested", P: nested}},
			"((((()))))!", "a [10,11) \"!\"\n", ""},
		{"depth, exceeded", vm.Limits{Depth: 20},
			peg.Seq{peg.Ref{Name: "nested"}, peg.Until{Kind: kindA}}, []peg.Rule{{Name: "nested", P: nested}},
			strings.Repeat("(", 20) + strings.Repeat(")", 20) + "!", "a [0,41) \"" +
				strings.Repeat("(", 20) + strings.Repeat(")", 20) + "!\"\n",
			"at byte 10 of the output: limit on depth reached; the attempt there " +
				"counts as failed"},
		{"rereads", vm.Limits{Rereads: 1},
			peg.Seq{peg.Ref{Name: "doubling"}, peg.Until{Kind: kindA}}, []peg.Rule{{Name: "doubling", P: doubling}},
			strings.Repeat("a", 100), "a [0,100) \"" + strings.Repeat("a", 100) + "\"\n",
			"limit on rereads reached"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := machine(t, test.limits, test.p, test.rules...)
			got, st, _ := play(m, test.in, nil)
			if want := strings.ReplaceAll(test.want, " [", " 0 ["); got != want || st != peg.Match {
				t.Errorf("%v\n got %s\nwant %s", st, got, want)
			}
			err := m.Err()
			var limit *vm.LimitError
			switch {
			case test.err == "" && err != nil:
				t.Error(err)
			case test.err != "" &&
				(!errors.As(err, &limit) || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %s", err, test.err)
			}
		})
	}
}

// waits is a scanner that needs more until the text has ended, and fails then.
type waits struct{}

func (waits) Name() string               { return "waits" }
func (waits) First() (peg.ByteSet, bool) { return peg.ByteSet{}.Not(), false }
func (waits) New() peg.Scanner           { return waits{} }
func (waits) Reset()                     {}
func (waits) Step(in []byte, closed bool, _ peg.Out) (int, peg.Status) {
	if closed {
		return len(in), peg.Fail
	}
	return len(in), peg.NeedMore
}

// TestWaits: a scanner that asks for more than may be held fails; a limit as large as can be is
// never met.
func TestWaits(t *testing.T) {
	either := peg.Choice{peg.Hold{P: peg.Scan{Kind: kindB, Scanner: waits{}}},
		peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: "<", Space: true, After: peg.Lit{Text: "/"}}}}}
	for _, tt := range []struct {
		held int
		err  string
	}{{0, ""}, {math.MaxInt, ""}, {2, "at byte 2 of the output: limit on held bytes reached"}} {
		m := machine(t, vm.Limits{Held: tt.held}, either)
		got, st, _ := play(m, "ab\r\r<\r", nil)
		if want := "a 0 [0,6) \"ab\\r\\r<\\r\"\n"; got != want || st != peg.Match {
			t.Errorf("held %d: %v, got %s, want %s", tt.held, st, got, want)
		}
		text := ""
		if err := m.Err(); err != nil {
			text = err.Error()
		}
		if (text == "") != (tt.err == "") || !strings.Contains(text, tt.err) {
			t.Errorf("held %d: %s, want %s", tt.held, text, tt.err)
		}
	}
}

// TestLongSpace: an Until keeps back a bounded run of white space, up to the same place however the
// text comes.
func TestLongSpace(t *testing.T) {
	m := machine(t, vm.Limits{},
		peg.Seq{peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: "<", Space: true}}},
			peg.Until{Kind: kindB}})
	in := "a" + strings.Repeat(" ", 3*peg.SpaceBytes) + "<"
	want := show([]peg.Event{
		{Kind: kindA, End: 1 + 2*peg.SpaceBytes, Text: []byte(in[:1+2*peg.SpaceBytes])},
		{Kind: kindB, Off: 1 + 2*peg.SpaceBytes, End: len(in),
			Text: []byte(in[1+2*peg.SpaceBytes:])},
	})
	for _, n := range []int{1, 1000, len(in)} {
		var cuts []int
		for i := n; i < len(in); i += n {
			cuts = append(cuts, i)
		}
		if got, _, _ := play(m, in, cuts); got != want {
			t.Errorf("in pieces of %d: %d bytes of events", n, len(got))
		}
	}
}

// TestDepths nests each pattern that needs a frame, and limits the depth: with less than is needed
// the text counts as one that does not match, and the error says so.
func TestDepths(t *testing.T) {
	inner := peg.Seq{peg.Lit{Text: "("}, peg.Ref{Name: "nested"}, peg.Lit{Text: ")"}}
	const in = "((()))!"
	for name, p := range map[string]peg.Pattern{
		"choice": peg.Choice{inner, peg.Seq{}},
		"opt":    peg.Opt{P: inner},
		"repeat": peg.Rep{P: inner, Max: 3},
		"some":   peg.Opt{P: peg.Rep{P: inner, Min: 1, Max: 2}},
		"and":    peg.Opt{P: peg.Seq{peg.And{P: inner}, inner}},
		"not":    peg.Opt{P: peg.Seq{peg.Not{P: peg.Not{P: inner}}, inner}},
		"hold":   peg.Opt{P: peg.Hold{P: inner}},
		"try":    peg.Try{P: inner, Else: peg.Seq{}},
		"region": peg.Choice{inner, peg.Seq{peg.Rejected{Kind: kindB}}, peg.Seq{}},
	} {
		least := 0
		for depth := 1; depth < 60; depth++ {
			m := machine(t, vm.Limits{Depth: depth}, peg.Seq{peg.Ref{Name: "nested"},
				peg.Until{Kind: kindB}}, peg.Rule{Name: "nested", P: peg.Seq{p, peg.Seq{}}})
			events, status, off := play(m, in, nil)
			again, _, _ := play(m, in, []int{1, 2, 3, 4, 5, 6})
			if events != again {
				t.Errorf("%s, depth %d: %s, and byte by byte %s", name, depth, events, again)
			}
			var limit *vm.LimitError
			switch {
			case m.Err() == nil && (status != peg.Match || off != len(in)):
				t.Errorf("%s, depth %d: %v at %d", name, depth, status, off)
			case m.Err() != nil && (!errors.As(m.Err(), &limit) || limit.Limit != "depth" ||
				least > 0):
				t.Errorf("%s, depth %d: %v, and none with %d", name, depth, m.Err(), least)
			case m.Err() == nil && least == 0:
				least = depth
			}
		}
		if least < 3 {
			t.Errorf("%s: no error with a depth of %d", name, least)
		}
	}
}

// TestTailCalls: a Ref at the end of a rule is a jump, so a state machine of rules needs no stack,
// however long it runs.
func TestTailCalls(t *testing.T) {
	m := machine(t, vm.Limits{Depth: 8}, peg.Ref{Name: "outside"},
		peg.Rule{Name: "outside", P: peg.Seq{
			peg.Until{Kind: kindA, Stops: []peg.Stop{{Text: "("}, {Text: "["}}},
			peg.Choice{
				peg.Seq{peg.Lit{Text: "("}, peg.Cut{},
					peg.Label{Name: "into", P: peg.Ref{Name: "inside"}}},
				peg.Seq{peg.Lit{Text: "["},
					peg.Dispatch{Words: []string{"x", "xy"}, After: peg.Lit{Text: "]"},
						Bodies: []peg.Pattern{
							peg.Seq{peg.Cut{}, peg.Emit{Kind: markA, Arg: 1},
								peg.Ref{Name: "outside"}},
							peg.Seq{peg.Cut{}, peg.Emit{Kind: markA, Arg: 2},
								peg.Ref{Name: "outside"}}}}},
				peg.Seq{peg.Rejected{Kind: kindA}, peg.Ref{Name: "outside"}},
				peg.End{},
			}}},
		peg.Rule{Name: "inside", P: peg.Seq{
			peg.Until{Kind: kindB, Stops: []peg.Stop{{Text: ")"}}},
			peg.Opt{P: peg.Seq{peg.Lit{Text: ")"}, peg.Cut{}, peg.Ref{Name: "outside"}}},
		}})
	deepest := 0
	m.Trace = func(s vm.Step) { deepest = max(deepest, s.Depth) }
	in := strings.Repeat("a(b)[x][xy][z]", 5000)
	got, st, off := play(m, in, nil)
	if st != peg.Match || off != len(in) || m.Err() != nil ||
		strings.Count(got, "markA 2") != 5000 {
		t.Errorf("%v at %d of %d, %v", st, off, len(in), m.Err())
	}
	if deepest > 5 {
		t.Errorf("%d frames", deepest)
	}
}

// TestLinear counts reads, not time: each instruction, and each byte that going back gives up.
func TestLinear(t *testing.T) {
	m := turn(t, four()...)
	cost := func(in string, piece int) (n int) {
		last := 0
		m.Trace = func(s vm.Step) {
			n += 1 + max(0, last-s.Pos)
			last = s.Pos
		}
		writeAll(m, []byte(in), piece)
		return n
	}
	for _, in := range []string{
		"plain text, and more of it\n", "<", "<tool_call>", "<tool_call>{\"name\": \"", "<tool_call>{\"name\": \"read\", \"arguments\": {\"a\": 1}}</tool_call>\n",
		" \n", "<think> ", "</think>", "<tool_call>\n \n", "<|im_",
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			small, large := cost(strings.Repeat(in, 500), piece),
				cost(strings.Repeat(in, 2000), piece)
			if large > 4*small+100 {
				t.Errorf("%q in pieces of %d: 500 cost %d, 2000 cost %d", in, piece, small, large)
			}
		}
	}
}

// TestAfterTheEnd checks that a machine that has decided ignores further input, and that Reset
// starts anew.
func TestAfterTheEnd(t *testing.T) {
	m := machine(t, vm.Limits{},
		peg.Seq{peg.Capture{Kind: kindA, P: peg.Lit{Text: "ab"}}, peg.Emit{Kind: markA}})
	for range 2 {
		if got := released(m, "a", "bc", "d"); got != `a:"a" | a:"b" [markA 0] |  | Match | ` && got != ` | a:"ab" [markA 0] |  | Match | ` {
			t.Error(got)
		}
		if m.Offset() != 2 || m.Status() != peg.Match {
			t.Errorf("%v at %d", m.Status(), m.Offset())
		}
	}
	if got := released(m, "ac"); got != ` | Fail | ` || m.Offset() != 0 {
		t.Errorf("%s at %d", got, m.Offset())
	}
	m.Reset()
	m.Close()
	if m.Write([]byte("ab")) != peg.Fail {
		t.Error("Write after Close")
	}
}

// TestNoAllocations: once a machine's slices have grown, a token costs none.
func TestNoAllocations(t *testing.T) {
	m := turn(t, four()...)
	in := []byte(strings.Repeat("some text < and\n\n <think> why </think>\n<tool_call>{\"name\": \"read\", \"arguments\": {\"a\": \"b\\n\"}}</tool_call><tool_call>no", 100))
	writeAll(m, in, 4)
	if n := testing.AllocsPerRun(10, func() { writeAll(m, in, 4) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// mutate runs a random program with some operands and operations changed, where Verify lets it
// pass, which it reports.
func mutate(t *testing.T, g gen) bool {
	compiled, err := peg.Compile(g.tree())
	if err != nil {
		return false
	}
	p := *compiled
	p.Code = slices.Clone(p.Code)
	for range 1 + g.IntN(3) {
		in := &p.Code[g.IntN(len(p.Code))]
		switch g.IntN(4) {
		case 0:
			in.Op = p.Code[g.IntN(len(p.Code))].Op
		case 1:
			in.A = int32(g.IntN(len(p.Code)+2) - 1)
		case 2:
			in.B = int32(g.IntN(len(p.Code)+2) - 1)
		default:
			*in = p.Code[g.IntN(len(p.Code))]
		}
	}
	if p.Verify() != nil {
		return false
	}
	m := vm.New(&p, vm.Limits{Held: 1 + g.IntN(10), Depth: 50})
	steps := 0
	m.Trace = func(vm.Step) {
		if steps++; steps > 5000 { // it need not end
			panic(tooMany{})
		}
	}
	defer func() {
		if e := recover(); e != nil && e != (tooMany{}) {
			t.Fatalf("%v\n%s\n%s", e, &p, debug.Stack())
		}
	}()
	for range 4 {
		steps = 0
		writeAll(m, []byte(g.text()), 1+g.IntN(4))
	}
	return true
}

// TestVerify: a machine runs whatever Verify lets pass, without a panic.
func TestVerify(t *testing.T) {
	const seed = 20261121
	t.Log("seed", seed)
	passed := 0
	for i := range 4000 {
		if mutate(t, gen{rand.New(rand.NewPCG(seed, uint64(i))), 3}) {
			passed++
		}
	}
	t.Logf("%d changed programs pass", passed)
	if passed < 100 {
		t.Error("too few for the test to mean anything")
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) { mutate(t, gen{rand.New(rand.NewPCG(a, b)), 3}) })
}
