package vm_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/peg"
	"github.com/goassay/assay/engine/peg/vm"
)

// Kinds of the random trees: the first are text, the others marks.
const (
	kindA peg.Kind = iota + 1
	kindB
	kindC
	markA
	markB
)

var kinds = []string{"", "a", "b", "c", "markA", "markB"}

// quoted is a scanner type: text in double quotes, \n for a line feed, \x for any other byte x,
// which is read as it is.
type quoted struct{}

func (quoted) Name() string               { return "quoted" }
func (quoted) First() (peg.ByteSet, bool) { return peg.Bytes(`"`), false }
func (quoted) New() peg.Scanner           { return &quotedScanner{} }

type quotedScanner struct{ open bool }

func (s *quotedScanner) Reset() { s.open = false }

func (s *quotedScanner) Step(in []byte, closed bool, out peg.Out) (int, peg.Status) {
	i := 0
	if !s.open {
		if len(in) == 0 {
			return 0, wait(closed)
		}
		if in[0] != '"' {
			return 0, peg.Fail
		}
		s.open = true
		i = 1
		out.String("«", 0, 1)
	}
	for i < len(in) {
		switch in[i] {
		case '"':
			out.Text([]byte("»"), i, i+1)
			return i + 1, peg.Match
		case '\\': // the escaped byte is waited for, to try how unconsumed bytes come again
			if i+1 == len(in) {
				return i, wait(closed)
			}
			if in[i+1] == 'n' {
				out.String("\n", i, i+2)
			} else {
				out.Copy(i+1, i+2)
			}
			i += 2
		default:
			out.Copy(i, i+1)
			i++
		}
	}
	return i, wait(closed)
}

func wait(closed bool) peg.Status {
	if closed {
		return peg.Fail
	}
	return peg.NeedMore
}

// gen makes random trees. They are biased towards ones that compile.
type gen struct {
	*rand.Rand
	rules int
}

var texts = []string{"a", "b", "ab", "<", "<a>", "<b>", "</a>", "<<", "aab", "é", " a", "ba ", "\n"}

func (g gen) pick(list []string) string { return list[g.IntN(len(list))] }

func (g gen) leaf() peg.Pattern {
	switch g.IntN(13) {
	case 0, 1, 2, 3:
		return peg.Lit{Text: g.pick(texts)}
	case 4, 5:
		return peg.Set{Set: peg.Bytes(g.pick(texts))}
	case 6:
		return peg.Set{Set: peg.Bytes(g.pick(texts)).Not()}
	case 7:
		return peg.Any{}
	case 8:
		return peg.Space{}
	case 9:
		return peg.End{}
	case 10:
		return peg.Stub{Text: g.pick(texts)}
	case 11:
		return peg.Before{Off: g.IntN(10)}
	default:
		return peg.Scan{Scanner: quoted{}}
	}
}

// silent makes a pattern that logs nothing.
func (g gen) silent(depth int) peg.Pattern {
	if depth <= 0 {
		return g.leaf()
	}
	sub := func() peg.Pattern { return g.silent(depth - 1) }
	switch g.IntN(12) {
	case 0, 1:
		return peg.Seq{sub(), sub()}
	case 2:
		return peg.Choice{sub(), sub(), sub()}[:2+g.IntN(2)]
	case 3:
		return peg.Rep{P: sub(), Min: g.IntN(3), Max: []int{0, 0, 3}[g.IntN(3)]}
	case 4:
		return peg.Opt{P: sub()}
	case 5:
		return peg.And{P: sub()}
	case 6:
		return peg.Not{P: sub()}
	case 7:
		return peg.Hold{P: sub()}
	case 8:
		return peg.Try{P: sub(), Else: sub()}
	case 9:
		return g.until(0, depth-1)
	case 10:
		return peg.Choice{peg.Seq{sub(), peg.Cut{}, sub()}, sub()}
	default:
		return g.leaf()
	}
}

func (g gen) until(k peg.Kind, depth int) peg.Pattern {
	u := peg.Until{Kind: k, TrimEnd: g.IntN(4) == 0}
	seen := map[string]bool{}
	for range g.IntN(4) {
		s := peg.Stop{Text: g.pick(texts), Space: g.IntN(2) == 0, Stub: g.IntN(3) == 0}
		if seen[s.Text] {
			continue
		}
		seen[s.Text] = true
		if peg.SpaceSet.Has(s.Text[0]) {
			s.Space = false
		}
		if g.IntN(3) == 0 {
			s.After = g.silent(min(depth, 1))
		}
		u.Stops = append(u.Stops, s)
	}
	return u
}

func (g gen) any(depth int) peg.Pattern {
	sub := func() peg.Pattern { return g.any(depth - 1) }
	text := peg.Kind(1 + g.IntN(3))
	if depth <= 0 {
		switch g.IntN(5) {
		case 0:
			return peg.Emit{Kind: markA + peg.Kind(g.IntN(2)), Arg: g.IntN(3),
				Text: []string{"", "x"}[g.IntN(2)]}
		case 1:
			return g.until(text, 0)
		case 2:
			return peg.Scan{Kind: text, Scanner: quoted{}}
		case 3:
			return peg.Capture{Kind: text, P: g.silent(1)}
		default:
			return g.leaf()
		}
	}
	switch g.IntN(14) {
	case 0, 1, 2:
		return peg.Seq{sub(), sub(), sub()}[:2+g.IntN(2)]
	case 3, 4, 5:
		c := peg.Choice{}
		for range 1 + g.IntN(3) {
			c = append(c, g.alternative(depth-1))
		}
		if g.IntN(3) == 0 {
			c = append(c, peg.Seq{peg.Rejected{Kind: peg.Kind(g.IntN(4))}, sub()})
		}
		if g.IntN(3) > 0 {
			c = append(c, sub())
		}
		return c
	case 6:
		return peg.Rep{P: g.alternative(depth - 1), Min: g.IntN(3), Max: []int{0, 0, 3}[g.IntN(3)]}
	case 7:
		return peg.Opt{P: g.alternative(depth - 1)}
	case 8:
		return peg.Hold{P: sub()}
	case 9:
		return peg.Try{P: sub(), Else: sub()}
	case 10:
		return peg.Capture{Kind: text, P: g.silent(depth - 1)}
	case 11:
		return g.until(text, depth-1)
	case 12:
		return g.dispatch(depth - 1)
	default:
		return peg.Ref{Name: fmt.Sprint("r", g.IntN(g.rules))}
	}
}

func (g gen) dispatch(depth int) peg.Pattern {
	d := peg.Dispatch{}
	for i, j := range g.Perm(len(texts))[:1+g.IntN(6)] {
		d.Words = append(d.Words, texts[j])
		d.Bodies = append(d.Bodies, peg.Seq{peg.Emit{Kind: markA, Arg: i}, g.any(depth - 1)})
	}
	if g.IntN(2) == 0 {
		d.After = g.silent(min(depth, 1))
	}
	return d
}

func (g gen) alternative(depth int) peg.Pattern {
	switch g.IntN(6) {
	case 0:
		return peg.Hold{P: g.any(depth)}
	case 1, 2:
		return peg.Seq{g.silent(1), peg.Cut{}, g.any(depth)}
	case 3:
		return peg.Seq{peg.Hold{P: g.any(depth)}, peg.Cut{}, g.any(depth)}
	case 4:
		return peg.Seq{peg.Lit{Text: g.pick(texts)}, g.any(depth)}
	default:
		return g.silent(depth)
	}
}

func (g gen) tree() peg.Tree {
	t := peg.Tree{Kinds: kinds}
	for i := range g.rules {
		t.Rules = append(t.Rules, peg.Rule{Name: fmt.Sprint("r", i), P: g.any(2)})
	}
	t.Root = g.any(4)
	return t
}

func (g gen) text() string {
	var b strings.Builder
	for range g.IntN(12) {
		switch g.IntN(8) {
		case 0:
			b.WriteByte(" \n\t"[g.IntN(3)])
		case 1:
			b.WriteByte("ab<>/\"\\\xc3\xa9"[g.IntN(9)])
		case 2:
			fmt.Fprintf(&b, "%q", g.pick(texts))
		default:
			b.WriteString(g.pick(texts))
		}
	}
	return b.String()
}

// merged puts text events that touch together, as any cutting of the text must give them.
func merged(list []peg.Event) (out []peg.Event) {
	for _, e := range list {
		if n := len(out); n > 0 && e.Kind < markA && out[n-1].Kind == e.Kind &&
			out[n-1].End == e.Off {
			out[n-1].End = e.End
			out[n-1].Text = append(out[n-1].Text[:len(out[n-1].Text):len(out[n-1].Text)], e.Text...)
			continue
		}
		out = append(out, e)
	}
	return out
}

func show(list []peg.Event) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%s %d [%d,%d) %q\n", kinds[e.Kind], e.Arg, e.Off, e.End, e.Text)
	}
	return b.String()
}

// play runs a machine over a text in pieces. It copies at once each event that the machine hands
// out, and the pieces are overwritten afterwards, so that an event that is changed later, or a byte
// that is looked at too late, shows.
func play(m *vm.Machine, in string, cuts []int) (string, peg.Status, int) {
	m.Reset()
	var all []peg.Event
	take := func() {
		for _, e := range m.Events() {
			e.Text = bytes.Clone(e.Text)
			all = append(all, e)
		}
	}
	piece := make([]byte, len(in))
	from := 0
	for _, to := range append(cuts, len(in)) {
		n := copy(piece, in[from:to])
		m.Write(piece[:n])
		take()
		if err := m.Check(); err != nil {
			panic(err)
		}
		for i := range n {
			piece[i] = '?'
		}
		from = to
	}
	m.Close()
	take()
	return show(merged(all)), m.Status(), m.Offset()
}

// schedules returns ways to cut n bytes: not at all, in two everywhere, into bytes, and some at
// random.
func (g gen) schedules(n int) (out [][]int) {
	out = append(out, nil)
	single := []int{}
	for i := 1; i < n; i++ {
		out = append(out, []int{i})
		single = append(single, i)
	}
	out = append(out, single)
	for range 4 {
		var cuts []int
		for i := range n {
			for g.IntN(4) == 0 {
				cuts = append(cuts, i) // also empty pieces
			}
		}
		out = append(out, cuts)
	}
	return out
}

// compare compares one random program with the reference, in many ways of cutting random texts. It
// reports whether the tree compiled.
func compare(t *testing.T, g gen, nTexts int) bool {
	tree := g.tree()
	p, err := peg.Compile(tree)
	if err != nil {
		if _, ok := err.(*peg.Error); !ok {
			t.Fatal(err)
		}
		return false
	}
	if err := p.Verify(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, tree, p)
	}
	m := vm.New(p, vm.Limits{})
	small := vm.New(p, vm.Limits{Held: 1 + g.IntN(8), Depth: 6 + g.IntN(20)})
	for range nTexts {
		in := g.text()
		log, end, ok, finished := interpret(tree, in)
		want := fmt.Sprintf("%s%v at %d", show(merged(log)),
			map[bool]peg.Status{true: peg.Match, false: peg.Fail}[ok], end)
		smallWant := ""
		for i, cuts := range g.schedules(len(in)) {
			got, st, off := play(m, in, cuts)
			if got := fmt.Sprintf("%s%v at %d", got, st, off); m.Err() == nil && finished &&
				got != want {
				t.Fatalf("text %q cut at %v\n got\n%s\nwant\n%s\n%s\n%s", in, cuts, got, want, tree, p)
			}
			got, st, off = play(small, in, cuts)
			got = fmt.Sprintf("%s%v at %d", got, st, off)
			if i == 0 {
				smallWant = got
			} else if got != smallWant {
				t.Fatalf("with low limits: text %q cut at "+
					"%v\n got\n%s\nuncut\n%s\n%s\n%s", in, cuts, got, smallWant, tree, p)
			}
		}
	}
	return true
}

// TestRandomPrograms checks that a machine hands out the events that the reference interpreter
// logs, whatever the program, the text and its pieces are. With low limits, too, its events do not
// depend on the pieces.
func TestRandomPrograms(t *testing.T) {
	const seed = 20261121
	t.Log("seed", seed)
	n := 4000
	if testing.Short() {
		n = 600
	}
	compiled := 0
	for i := range n {
		if compare(t, gen{rand.New(rand.NewPCG(seed, uint64(i))), 3}, 6) {
			compiled++
		}
	}
	t.Logf("%d of %d trees compile", compiled, n)
	if compiled < n/10 {
		t.Error("too few trees compile for the test to mean anything")
	}
}

// TestRandomStops is the same for one Until whose stops overlap in every way, over longer texts of
// few bytes.
func TestRandomStops(t *testing.T) {
	const seed = 20261122
	t.Log("seed", seed)
	for i := range uint64(500) {
		g := gen{rand.New(rand.NewPCG(seed, i)), 0}
		alphabet := "abcde \n"[g.IntN(5):]
		random := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteByte(alphabet[g.IntN(len(alphabet))])
			}
			return b.String()
		}
		u := peg.Until{Kind: kindA, TrimEnd: g.IntN(2) == 0}
		for range g.IntN(8) {
			s := peg.Stop{Text: random(1 + g.IntN(5)), Stub: g.IntN(2) == 0}
			s.Space = g.IntN(2) == 0 && strings.TrimLeft(s.Text[:1], " \n") != ""
			if g.IntN(4) == 0 {
				s.After = peg.Lit{Text: random(1)}
			}
			if !slices.ContainsFunc(u.Stops, func(o peg.Stop) bool { return o.Text == s.Text }) {
				u.Stops = append(u.Stops, s)
			}
		}
		tree := peg.Tree{Kinds: kinds,
			Root: peg.Seq{u, peg.Capture{Kind: kindB, P: peg.Opt{P: peg.Any{}}}, u,
				peg.Until{Kind: kindC}}}
		p, err := peg.Compile(tree)
		if err != nil {
			t.Fatal(err)
		}
		m := vm.New(p, vm.Limits{})
		for range 8 {
			in := strings.Repeat("x", max(0, g.IntN(12)-10)*g.IntN(160)) + random(g.IntN(30))
			log, _, _, _ := interpret(tree, in)
			want := show(merged(log))
			for _, cuts := range g.schedules(len(in)) {
				if got, _, _ := play(m, in, cuts); got != want {
					t.Fatalf("text %q cut at %v\n got\n%swant\n%s%s", in, cuts, got, want, tree)
				}
			}
		}
	}
}

func FuzzPrograms(f *testing.F) {
	for i := range uint64(50) {
		f.Add(i, i*i)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		compare(t, gen{rand.New(rand.NewPCG(a, b)), 3}, 4)
	})
}
