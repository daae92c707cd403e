package peg_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/peg"
)

// word is a scanner type that is never run here.
type word struct{ name string }

func (w word) Name() string             { return w.name }
func (word) First() (peg.ByteSet, bool) { return peg.Range('a', 'z'), false }
func (word) New() peg.Scanner           { panic("not run") }

// uncomparable is a scanner type that cannot be a key of a map.
type uncomparable struct {
	word
	_ []int
}

func lit(s string) peg.Pattern { return peg.Lit{Text: s} }

func emit() peg.Pattern { return peg.Emit{Kind: 1} }

func chars() peg.Pattern { return peg.Rep{P: peg.Any{}} }

// everything has each type of pattern at least once.
func everything() peg.Tree {
	return peg.Tree{
		Kinds: []string{"", "text", "mark"},
		Root: peg.Seq{
			peg.Ref{Name: "rule"}, peg.Set{Set: peg.Range('a', 'z')}, peg.Any{}, peg.Space{},
			peg.Before{Off: 3},
			peg.Choice{
				peg.Seq{lit("<a>"), peg.Cut{}, peg.Emit{Kind: 2, Arg: 7}},
				peg.Hold{P: peg.Capture{Kind: 1, P: peg.Stub{Text: "<end>"}}},
				peg.Seq{peg.Rejected{Kind: 1}, peg.Emit{Kind: 2, Text: "{"}},
				peg.End{},
			},
			peg.Rep{P: peg.Seq{lit("ab"), peg.Opt{P: lit("c")}}, Min: 1, Max: 5},
			peg.Dispatch{Words: []string{"get", "get_all"}, After: lit(">"),
				Bodies: []peg.Pattern{peg.Seq{}, emit()}},
			peg.And{P: lit("x")}, peg.Not{P: lit("y")}, peg.Space{},
			peg.Label{Name: "here", P: peg.Scan{Kind: 1, Scanner: word{"word"}}},
		},
		Rules: []peg.Rule{{Name: "rule", P: peg.Try{
			P: peg.Until{Kind: 1,
				Stops: []peg.Stop{{Text: "<", Space: true, After: peg.Seq{peg.Space{}, lit("/")}},
					{Text: "</s>", Stub: true}}, TrimEnd: true},
			Else: peg.Rep{P: lit("z")},
		}}},
	}
}

// everythingCode is its program. Read once by eye; a change of it is a change of the compiler.
const everythingCode = `root:
    0  call ->56
    1  set [a-z]
    2  any
    3  span [\x09\x0a\x0d ] 0 0
    4  before 3
    5  region
    6  test [<] ->13
    7  choice ->13
    8  lit "<a>"
    9  commit ->10
   10  endregion
   11  emit mark 7
   12  jump ->25
   13  test [<] ->21
   14  choice ->21
   15  capture text
   16  stub "<end>"
   17  endcapture
   18  commit ->19
   19  endregion
   20  jump ->25
   21  rejected text ->24
   22  emit mark 0 "{"
   23  jump ->25
   24  end
   25  loop
   26  next ->35 5
   27  choice ->35
   28  lit "ab"
   29  test [c] ->33
   30  choice ->33
   31  lit "c"
   32  commit ->33
   33  commit ->34
   34  again ->26
   35  endloop 1
   36  dispatch {"get"->37 "get_all"->40}
"get":
   37  skip 3
   38  lit ">"
   39  jump ->46
"get_all":
   40  choice ->37
   41  skip 7
   42  lit ">"
   43  commit ->44
   44  emit text 0
   45  jump ->46
   46  pred ->49
   47  lit "x"
   48  backcommit ->50
   49  fail
   50  pred ->53
   51  lit "y"
   52  failtwice
   53  span [\x09\x0a\x0d ] 0 0
here:
   54  scan text word
   55  match
rule:
   56  try ->68
   57  until text {_"<"->59 "</s>"... _end}
   58  jump ->67
   59  pred ->65
   60  span [\x09\x0a\x0d ] 0 0
   61  lit "<"
   62  span [\x09\x0a\x0d ] 0 0
   63  lit "/"
   64  backcommit ->67
   65  refuse text {_"<"->59 "</s>"... _end} "<"
   66  jump ->57
   67  endtry ->69
   68  span [z] 0 0
   69  return
`

func TestString(t *testing.T) {
	tree := everything()
	wantTree := `root = rule [a-z] . _ ^3 ("<a>" ! mark=7 / hold(text<"<end>"...>) / @text mark="{" / $) ("ab" "c"?){1,5} dispatch("get" (); "get_all" text=0)&">" &"x" ~"y" _ here:text%word
rule = try(text{_"<"&(_ "/") "</s>"... _$}; "z"*)
`
	if got := tree.String(); got != wantTree {
		t.Errorf("got  %swant %s", got, wantTree)
	}
	p, err := peg.Compile(tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil {
		t.Error(err)
	}
	got := p.String()
	if got != everythingCode {
		t.Errorf("got\n%s", got)
	}
	used := map[string]bool{}
	for pc := range p.Code {
		used[strings.Fields(p.Inst(pc))[0]] = true
		if strings.Contains(p.Inst(pc), "<operand") ||
			strings.HasPrefix(p.Code[pc].Op.String(), "op") {
			t.Errorf("%d  %s", pc, p.Inst(pc))
		}
	}
	for _, op := range opcodes(t) {
		if name := strings.ToLower(strings.TrimPrefix(op, "Op")); !used[name] {
			t.Errorf("no %s in the program for a tree with everything:\n%s", name, got)
		}
	}
}

// opcodes reads the names of the operations from the source, and demands that each one has its
// semantics beside it.
func opcodes(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "program.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, name := range v.Names {
				if strings.HasPrefix(name.Name, "Op") {
					names = append(names, name.Name)
					if v.Comment == nil && v.Doc == nil {
						t.Errorf("%s has no comment that describes it", name.Name)
					}
				}
			}
		}
		return true
	})
	if len(names) < 30 {
		t.Fatalf("only %d operations found", len(names))
	}
	return names
}

// bytesOfAll has every byte once.
func bytesOfAll() string {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	return string(all[:])
}

// TestPrint prints patterns that TestString's tree does not have.
func TestPrint(t *testing.T) {
	for _, tt := range []struct {
		p    peg.Pattern
		want string
	}{
		{peg.Rep{P: lit("a"), Min: 1}, `"a"+`}, {peg.Rep{P: lit("a"), Min: 2}, `"a"{2,}`},
		{peg.Rep{P: lit("a"), Max: 1}, `"a"{0,1}`}, {peg.Rep{P: lit("a"), Min: 1, Max: 1}, `"a"{1,1}`},
		{peg.Until{Stops: []peg.Stop{{Text: "x"}}}, `{"x"}`},
		{peg.Emit{Kind: 1, Arg: 2, Text: "a"}, `text=2="a"`}, {peg.Emit{Kind: 9}, "kind9=0"},
		{peg.Dispatch{Words: []string{"a", "b"}}, `dispatch("a"; "b")`},
		{peg.Switch{Name: "s"}, "switch(s)"},
		{peg.Switch{Name: "s", After: lit(">")}, `switch(s)&">"`},
	} {
		tree := peg.Tree{Kinds: []string{"", "text"}, Root: tt.p}
		if got, want := tree.String(), "root = "+tt.want+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	longGuard := peg.Seq{chars(), peg.Cut{}, emit()}
	tests := []struct {
		name string
		p    peg.Pattern
		want string
	}{
		{"nil", peg.Seq{lit("a"), nil}, "root: seq 2: nil is no pattern (use the empty Seq for a pattern that matches nothing)"},
		{"no rule", peg.Ref{Name: "x"}, `root: there is no rule "x"`},
		{"left recursion", peg.Ref{Name: "left"}, "rule left: seq 2: choice 2: rule left can come back here without reading input (read something before)"},
		{"empty choice", peg.Choice{}, "root: a Choice needs alternatives"},
		{"bounds", peg.Rep{P: lit("a"), Min: 2, Max: 1}, "root: no number of repetitions is at least 2 and at most 1"},
		{"captures nest", peg.Capture{Kind: 1, P: emit()}, "root: the captured pattern logs events itself (captures do not nest: use Emit marks around it)"},
		{"predicate logs", peg.Not{P: emit()}, "root: a predicate logs events (predicates only look)"},
		{"after logs", peg.Until{Stops: []peg.Stop{{Text: "x", After: emit()}}}, "root: after x: After logs events (it only looks ahead)"},
		{"dispatch after logs", peg.Dispatch{Words: []string{"x"}, After: emit()}, "root: after: After logs events (log events in the bodies)"},
		{"bodies", peg.Dispatch{Words: []string{"x", "y"}, Bodies: []peg.Pattern{emit()}}, "root: a Dispatch needs words, and no bodies or one for each: 2 words, 1 bodies"},
		{"empty word", peg.Dispatch{Words: []string{""}}, "root: the empty word"},
		{"word twice", peg.Dispatch{Words: []string{"x", "x"}}, `root: the word "x" is there twice`},
		{"some bodies cut", peg.Choice{peg.Dispatch{Words: []string{"x", "y"},
			Bodies: []peg.Pattern{peg.Cut{}, peg.Seq{}}}, peg.Seq{}},
			"root: choice 1: 1 of 2 bodies have a Cut (write a Cut in all bodies or in none)"},
		{"empty stop", peg.Until{Stops: []peg.Stop{{}}}, `root: stop "" must be a text, and must not begin with white space where it has Space`},
		{"stop twice", peg.Until{Stops: []peg.Stop{{Text: "a"}, {Text: "a"}}}, `root: stop "a" is there twice`},
		{"stops too long", peg.Until{Stops: []peg.Stop{{Text: strings.Repeat("a", 20000)}}}, "root: the stops are too long together"},
		{"no scanner", peg.Scan{}, "root: a Scan needs a Scanner"},
		{"empty stub", peg.Stub{}, "root: a Stub needs a text"},
		{"before", peg.Before{Off: -1}, "root: Before needs an offset of 0 to 2³¹-1, not -1"},
		{"emit", peg.Emit{Kind: 1, Arg: -1}, "root: Emit needs a number of 0 to 2³¹-1, not -1"},
		{"before, far", peg.Before{Off: 1 << 40}, "root: Before needs an offset of 0 to 2³¹-1, not 1099511627776"},
		{"emit, large", peg.Emit{Kind: 1, Arg: 1 << 40}, "root: Emit needs a number of 0 to 2³¹-1, not 1099511627776"},
		{"bounds below 0", peg.Rep{P: lit("a"), Min: -1}, "root: no number of repetitions is at least -1 and at most 0"},
		{"most below 0", peg.Rep{P: lit("a"), Max: -1}, "root: no number of repetitions is at least 0 and at most -1"},
		{"most, large", peg.Rep{P: lit("a"), Max: 1 << 40}, "root: no number of repetitions is at least 0 and at most 1099511627776"},
		{"least, large", peg.Rep{P: lit("a"), Min: 1 << 40}, "root: no number of repetitions is at least 1099511627776 and at most 0"},
		{"no words", peg.Dispatch{}, "root: a Dispatch needs words, and no bodies or one for each: 0 words, 0 bodies"},
		{"spaced stop", peg.Until{Stops: []peg.Stop{{Text: " x", Space: true}}}, `root: stop " x" must be a text, and must not begin with white space where it has Space`},
		{"the second stop logs", peg.Until{Stops: []peg.Stop{{Text: "w"}, {Text: "x", After: lit("a")}, {Text: "y", After: emit()}}}, "root: after y: After logs events (it only looks ahead)"},
		{"too many bytes", peg.Until{Stops: []peg.Stop{{Text: bytesOfAll()}}}, "root: the stops are too long together"},
		{"cut outside", peg.Seq{lit("a"), peg.Cut{}}, "root: seq 2: there is nothing to cut (a Cut belongs to an alternative, outside predicates, Hold, Try, Capture and other rules)"},
		{"cut in a hold", peg.Choice{peg.Hold{P: peg.Cut{}}, peg.Seq{}}, "root: choice 1: hold: there is nothing to cut (a Cut belongs to an alternative, outside predicates, Hold, Try, Capture and other rules)"},
		{"two cuts", peg.Choice{peg.Seq{lit("a"), peg.Cut{}, peg.Cut{}}, peg.Seq{}}, "root: choice 1: seq 3: a second Cut of the same alternative"},
		{"rejected first", peg.Choice{peg.Rejected{}, lit("a")}, "root: choice 1: a Choice has one Rejected at most, and not in its first alternative"},
		{"rejected twice", peg.Choice{lit("a"), peg.Rejected{}, peg.Rejected{}}, "root: choice 3: a Choice has one Rejected at most, and not in its first alternative"},
		{"rejected after", peg.Choice{lit("a"), peg.Seq{lit("b"), peg.Rejected{}}}, "root: choice 2: seq 2: a Rejected begins an alternative of a Choice that is not the first"},

		// E13.
		{"same first byte", peg.Choice{peg.Seq{emit(), lit("ab")}, lit("ac")},
			"root: choice 1: it logs events, and its first byte does not tell it from the text that may " +
				"follow (write a Cut where it is decided, or put it into a Hold)"},
		{"may be empty", peg.Choice{peg.Seq{emit(), peg.Space{}}, lit("ac")},
			"root: choice 1: it logs events, may match without input, and is not the last " +
				"alternative (write a Cut where it is decided, or put it into a Hold)"},
		{"may be empty, repeated", peg.Rep{P: peg.Until{Kind: 1}},
			"root: rep: it logs events, may match without input, and is not the last alternative " +
				"(write a Cut where it is decided, or put it into a Hold)"},
		{"long confirmation", peg.Choice{longGuard, lit("a")},
			"root: choice 1: more than 4096 bytes may precede the Cut, and no event could leave " +
				"before (put the part before the Cut into a Hold)"},
		{"long confirmation by recursion",
			peg.Choice{peg.Seq{peg.Ref{Name: "nest"}, peg.Cut{}, emit()}, lit("a")},
			"root: choice 1: more than 4096 bytes may precede the Cut, and no event could leave " +
				"before (put the part before the Cut into a Hold)"},
	}
	left := peg.Rule{Name: "left",
		P: peg.Seq{peg.Space{}, peg.Choice{lit("a"), peg.Ref{Name: "left"}}}}
	nest := peg.Rule{Name: "nest",
		P: peg.Seq{lit("("), peg.Opt{P: peg.Ref{Name: "nest"}}, lit(")")}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := peg.Tree{Root: test.p, Rules: []peg.Rule{nest}}
			if strings.Contains(test.want, "rule left") {
				tree.Rules = append(tree.Rules, left)
			}
			_, err := peg.Compile(tree)
			if err == nil || err.Error() != "peg: "+test.want {
				t.Errorf("\n got %v\nwant peg: %s", err, test.want)
			}
		})
	}
	if _, err := peg.Compile(peg.Tree{Root: lit("a"), Rules: []peg.Rule{nest, nest}}); err == nil ||
		err.Error() != "peg: rule nest: there is another rule of this name" {
		t.Error(err)
	}
}

// TestCompiles: the ways of E13 that are open.
func TestCompiles(t *testing.T) {
	for name, p := range map[string]peg.Pattern{
		"first bytes differ": peg.Choice{peg.Seq{lit("a"), emit()},
			peg.Seq{peg.Space{}, lit("b")}, lit("c")},
		"cut": peg.Choice{peg.Seq{lit("ab"), peg.Cut{}, emit()}, lit("ac")},
		"cut after white space": peg.Choice{peg.Seq{peg.Space{},
			peg.Rep{P: peg.Set{Set: peg.SpaceSet}}, lit("ab"), peg.Cut{}, emit()}, lit("ac")},
		"long, but held": peg.Choice{peg.Seq{peg.Hold{P: peg.Seq{emit(), chars()}},
			peg.Cut{}, emit()}, lit("ac")},
		"long, but nothing logged": peg.Choice{peg.Seq{chars(), peg.Cut{}, lit("a")}, lit("ac")},
		"hold": peg.Choice{peg.Label{Name: "x", P: peg.Hold{P: emit()}},
			lit("ac")},
		"last": peg.Choice{lit("ac"), emit()},
		"kind 0 logs nothing": peg.Choice{peg.Until{}, peg.Emit{}, peg.Capture{P: lit("x")},
			lit("ac")},
		"uncomparable scanners": peg.Seq{peg.Scan{Scanner: uncomparable{word: word{"a"}}},
			peg.Scan{Scanner: uncomparable{word: word{"a"}}}},
	} {
		p, err := peg.Compile(peg.Tree{Root: p})
		if err == nil {
			err = p.Verify()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyErrors(t *testing.T) {
	inst := func(op peg.Op, operands ...int32) peg.Inst {
		operands = append(operands, 0, 0)
		return peg.Inst{Op: op, A: operands[0], B: operands[1]}
	}
	match := inst(peg.OpMatch)
	tests := []struct {
		name string
		code []peg.Inst
		want string
	}{
		{"nothing", nil, "peg: a program without code"},
		{"runs off", []peg.Inst{inst(peg.OpAny)}, "peg: 0  any: control leaves the code"},
		{"jumps off", []peg.Inst{inst(peg.OpJump, 9)}, "peg: 0  jump: operand 9 is not below 1"},
		{"no operation", []peg.Inst{inst(200)}, "peg: 0  op200: no such operation"},
		{"no literal", []peg.Inst{inst(peg.OpLit), match}, "peg: 0  lit: operand 0 is not below 0"},
		{"nothing to pop", []peg.Inst{inst(peg.OpCommit, 1), match}, `peg: 0  commit ->1: stack "M" has no 'c' on top`},
		{"the wrong frame", []peg.Inst{inst(peg.OpLoop), inst(peg.OpCommit, 2), match}, `peg: 1  commit ->2: stack "Ml" has no 'c' on top`},
		{"two ways", []peg.Inst{inst(peg.OpChoice, 1), match}, `peg: 1  match: stack "Mc" here, "M" on another way`},
		{"match in a rule", []peg.Inst{inst(peg.OpCall, 2), match, match}, `peg: 2  match: stack "R"`},
		{"a number below 0", []peg.Inst{inst(peg.OpBefore, -1)}, "peg: 0  before: negative number -1"},
		{"no until", []peg.Inst{inst(peg.OpRefuse, -1), match}, "peg: 0  refuse: operand -1 is not below 0"},
		{"too long", make([]peg.Inst, peg.MaxCode+1), "peg: a program of 1048577 instructions; at most 1048576 are allowed"},
		{"return from the root", []peg.Inst{inst(peg.OpReturn)}, `peg: 0  return: stack "M"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := (&peg.Program{Code: test.code}).Verify()
			if err == nil || err.Error() != test.want {
				t.Errorf("\n got %v\nwant %s", err, test.want)
			}
		})
	}
	p, err := peg.Compile(everything())
	if err != nil {
		t.Fatal(err)
	}
	for what, cut := range map[string]func(u *peg.UntilTable){
		"Space": func(u *peg.UntilTable) { u.Space = nil },
		"Stub":  func(u *peg.UntilTable) { u.Stub = nil },
		"After": func(u *peg.UntilTable) { u.After = nil },
	} {
		broken := *p
		broken.Untils = slices.Clone(p.Untils)
		cut(&broken.Untils[0])
		if err := broken.Verify(); err == nil || err.Error() != "peg: until 0: tables of different lengths" {
			t.Errorf("without %s: %v", what, err)
		}
	}
	if got := (&peg.Program{Code: []peg.Inst{inst(200)}}).Inst(0); got != "op200" {
		t.Errorf("got %s", got)
	}
	if got := (&peg.Program{Code: []peg.Inst{inst(peg.OpLit, 7)}}).Inst(0); got != "lit <operand 7 is not below 0>" {
		t.Errorf("got %s", got)
	}
}

func TestSets(t *testing.T) {
	for _, test := range []struct {
		set  peg.ByteSet
		want string
	}{
		{peg.Bytes("abcx"), "[a-cx]"},
		{peg.Bytes("<").Not(), "[^<]"},
		{peg.Bytes("]^-\\\n"), `[\x0a\-\\-\^]`},
		{peg.Range(0, 255), "[^]"},
		{peg.ByteSet{}, "[]"},
	} {
		if got := test.set.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// ExampleCompile reads content up to a marker, and the part that the marker opens.
func ExampleCompile() {
	const content, reasoning = 1, 2
	tree := peg.Tree{
		Kinds: []string{"", "content", "reasoning"},
		Root: peg.Seq{
			peg.Until{Kind: content, Stops: []peg.Stop{{Text: "<think>", Space: true}}},
			peg.Opt{P: peg.Seq{
				peg.Space{}, peg.Lit{Text: "<think>"}, peg.Cut{},
				peg.Until{Kind: reasoning, Stops: []peg.Stop{{Text: "</think>"}}},
			}},
		},
	}
	program, err := peg.Compile(tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n%s", tree, program)
	// Output:
	// root = content{_"<think>"} (_ "<think>" ! reasoning{"</think>"})?
	//
	// root:
	//     0  until content {_"<think>"}
	//     1  test [\x09\x0a\x0d <] ->8
	//     2  choice ->8
	//     3  span [\x09\x0a\x0d ] 0 0
	//     4  lit "<think>"
	//     5  commit ->6
	//     6  until reasoning {"</think>"}
	//     7  jump ->8
	//     8  match
}

// TestManyWords: a program for a thousand words, each a prefix of the next ten, stays small and is
// verified.
func TestManyWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := peg.Dispatch{After: lit(">")}
	seen := map[string]bool{}
	for len(d.Words) < 1000 {
		w := strings.Repeat("ab", 1+r.IntN(5)) + fmt.Sprint(r.IntN(500))
		if !seen[w] {
			seen[w] = true
			d.Words = append(d.Words, w)
			d.Bodies = append(d.Bodies, emit())
		}
	}
	p, err := peg.Compile(peg.Tree{Root: d})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(); err != nil {
		t.Fatal(err)
	}
	if len(p.Code) > 7*len(d.Words)+10 {
		t.Errorf("%d instructions for %d words", len(p.Code), len(d.Words))
	}
}

// TestFrame links words to a frame and compares the program with that of the same tree whose words
// were known from the start: both match the same texts. A frame is linked several times, and keeps
// nothing of the parts that it was linked with.
func TestFrame(t *testing.T) {
	tail := peg.Seq{peg.Ref{Name: "tail"}, peg.End{}}
	tree := func(words peg.Pattern) peg.Tree {
		return peg.Tree{
			Root: peg.Choice{peg.Seq{emit(), lit("<"), words, tail},
				peg.Seq{peg.Rejected{Kind: 1}, peg.Until{Kind: 1}, peg.End{}}},
			Rules: []peg.Rule{{Name: "tail", P: peg.Opt{P: lit("!")}}},
		}
	}
	after := peg.And{P: peg.Choice{lit(">"), lit("/")}}
	f, err := peg.CompileFrame(tree(peg.Switch{Name: "s", After: after, Cuts: true, Logs: true}))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"get"}, {"put", "get", "get_all"}, {"a"}} {
		var bodies []peg.Pattern
		for range words {
			bodies = append(bodies,
				peg.Seq{peg.Cut{}, peg.Ref{Name: "more"}, peg.Ref{Name: "tail"}})
		}
		more := peg.Rule{Name: "more", P: peg.Set{Set: peg.Bytes(">/")}}
		linked, err := f.Link(peg.Parts{Words: words, Bodies: map[string][]peg.Pattern{"s": bodies},
			Rules: []peg.Rule{more}})
		if err != nil {
			t.Fatal(err)
		}
		if err := linked.Verify(); err != nil {
			t.Errorf("%q: %v\n%s", words, err, linked)
		}
		whole := tree(peg.Dispatch{Words: words, After: after, Bodies: bodies})
		whole.Rules = append(whole.Rules, more)
		compiled, err := peg.Compile(whole)
		if err != nil {
			t.Fatal(err)
		}
		if len(linked.Dispatches) != 1 ||
			!slices.Equal(linked.Dispatches[0].Words, compiled.Dispatches[0].Words) {
			t.Errorf("%q: linked %v, compiled %v", words, linked.Dispatches, compiled.Dispatches)
		}
	}
	for _, c := range []struct {
		parts peg.Parts
		want  string
	}{
		{peg.Parts{}, "needs words"},
		{peg.Parts{Words: []string{"a"}}, "1 words, but 0 bodies"},
		{peg.Parts{Words: []string{"a"}, Bodies: map[string][]peg.Pattern{"s": {peg.Seq{}}}}, "as the Switch says"},
		{peg.Parts{Words: []string{""}, Bodies: map[string][]peg.Pattern{"s": {peg.Cut{}}}}, "a word needs 1 to 1024 bytes, not 0"},
		{peg.Parts{Words: []string{strings.Repeat("a", peg.MaxWord+1)}, Bodies: map[string][]peg.Pattern{"s": {peg.Cut{}}}}, "not 1025"},
	} {
		if _, err := f.Link(c.parts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestFrames compiles frames with other Switches than TestFrame's, and frames without any.
func TestFrames(t *testing.T) {
	frame := func(p peg.Pattern) *peg.Frame {
		f, err := peg.CompileFrame(peg.Tree{Root: p})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, tt := range []struct {
		f     *peg.Frame
		parts peg.Parts
		want  string // of the error
	}{
		{frame(lit("a")), peg.Parts{}, ""},
		{frame(lit("a")), peg.Parts{Rules: []peg.Rule{{Name: "r", P: lit("b")}}}, ""},
		{frame(peg.Choice{peg.Seq{peg.Switch{Name: "s", Cuts: true}, lit("b")}, lit("c")}), peg.Parts{Words: []string{"x"}, Bodies: map[string][]peg.Pattern{"s": {peg.Cut{}}}}, ""},
		{frame(peg.Switch{Name: "s"}), peg.Parts{Words: []string{"x"}, Bodies: map[string][]peg.Pattern{"s": {lit("y")}}}, ""},
		{frame(peg.Switch{Name: "s"}), peg.Parts{Words: []string{"x"}, Bodies: map[string][]peg.Pattern{"s": {emit()}}}, `a body of the switch "s" logs events`},
	} {
		p, err := tt.f.Link(tt.parts)
		if err == nil {
			err = p.Verify()
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if (text == "") != (tt.want == "") || !strings.Contains(text, tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	for _, tt := range []struct {
		p    peg.Pattern
		want string
	}{
		{peg.Switch{Name: "s", After: emit()}, "peg: root: after: After logs events (log events in the bodies)"},
		{peg.Switch{Name: "s", Cuts: true}, "peg: root: there is nothing to cut (a Cut belongs to an alternative, outside predicates, Hold, Try, Capture and other rules)"},
	} {
		if _, err := peg.CompileFrame(peg.Tree{Root: tt.p}); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
