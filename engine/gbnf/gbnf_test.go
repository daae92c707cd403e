package gbnf_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/source"
)

func parse(t testing.TB, text string) *gbnf.Grammar {
	t.Helper()
	g, err := gbnf.ParseString(text)
	if err != nil {
		t.Fatalf("parse %s: %s", text, source.Detail(err))
	}
	return g
}

func accepts(t testing.TB, g *gbnf.Grammar, text string) bool {
	t.Helper()
	ok, err := gbnf.Accepts(g, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, g)
	}
	return ok
}

var languages = []struct {
	name           string
	text           string
	accept, reject []string
}{
	{"literal", `root ::= "abc"`, []string{"abc"}, []string{"", "ab", "abcd", "abd"}},
	{"any", `root ::= ..`, []string{"ab", "é😀", "\n\n"}, []string{"a", "abc"}},
	{"class", `root ::= [a-cx\-]`, []string{"a", "c", "x", "-"}, []string{"d", "", "aa"}},
	{"class_hyphen", `root ::= [-+*/] [a-]`, []string{"-a", "+-", "*a"}, []string{"a-", ",a"}},
	{"class_negated", `root ::= [^a-z\n]+`, []string{"ABC", "é", "1 2"}, []string{"", "Ab", "A\n"}},
	{"class_unicode", "root ::= [ぁ-ゟ]+ [\\u4e00-\\u9fff] \"\\U0001F600\"", []string{"ひ一😀"}, []string{"ひa😀", "ひ一"}},
	{"escapes", `root ::= "\x41\t\r\n\\\"\[\]" [\]\[\\]`, []string{"A\t\r\n\\\"[]]", "A\t\r\n\\\"[]["}, []string{"A"}},
	{"alternatives", "root ::= \"a\" |\n  \"b\" | \"\"", []string{"a", "b", ""}, []string{"ab"}},
	{"empty_alternative_first", `root ::= | " "`, []string{"", " "}, []string{"  "}},
	{"group", `root ::= ("a" | "b") "c"`, []string{"ac", "bc"}, []string{"a", "abc"}},
	{"group_lines", "root ::= (\n  \"a\" # first\n  \"b\"\n\n)", []string{"ab"}, []string{"a"}},
	{"optional", `root ::= "a"?`, []string{"", "a"}, []string{"aa"}},
	{"literal_repeats_whole", `root ::= "ab"{2}`, []string{"abab"}, []string{"abb", "ab"}},
	{"counts", `root ::= "a"{2,3} "b"{1,} "c"{0,2}`, []string{"aab", "aaabbbcc"}, []string{"ab", "aa", "aaaab", "aabccc"}},
	{"nested_star", `root ::= ( [x]* )*`, []string{"", "x", "xx"}, []string{"y"}},
	{"nested_optional_count", `root ::= ("x"?){3,5}`, []string{"", "x", "xxxxx"}, []string{"xxxxxx"}},
	{"repeat_zero", `root ::= "a"{0} "b"`, []string{"b"}, []string{"ab"}},
	{"right_recursion", `root ::= "a" root | "b"`, []string{"b", "aaab"}, []string{"a", "ba"}},
	{"nesting", `root ::= "(" root ")" | ""`, []string{"", "(())"}, []string{"(()", ")("}},
	{"palindrome", `root ::= "a" root "a" | "b" root "b" | "c"`, []string{"c", "abcba"}, []string{"abcab", "abcb"}},
	{"rules_on_lines", "\n\n   root ::= a b # comment\n\n# another\n   a ::= \"1\"\n\tb ::=\n   \"2\"\n  ", []string{"12"}, []string{"1"}},
	{"carriage_returns", "root ::= a\r\na ::= \"1\"\r\n", []string{"1"}, []string{"2"}},
	{"camel_case", `root ::= dataType` + "\n" + `dataType ::= "int"`, []string{"int"}, []string{"Int"}},
	{"token_text", `root ::= <think> .* </think>`, []string{"<think>a</think>"}, []string{"<think>", "x</think>"}},
	{"replacement_character", "root ::= \"\uFFFD\" [\uFFFD]", []string{"\uFFFD\uFFFD"}, []string{"\uFFFD"}},
	{"empty_literals", `root ::= "" "a" ("" | "b" "") ""`, []string{"a", "ab"}, []string{"", "b"}},
	{"raw_newline_in_literal", "root ::= \"a\nb\"", []string{"a\nb"}, []string{"ab"}},
	{"arithmetic", "root  ::= (expr \"=\" ws term \"\\n\")+\nexpr  ::= term ([-+*/] term)*\nterm  ::= ident | num | \"(\" ws expr \")\" ws\nident ::= [a-z] [a-z0-9_]* ws\nnum   ::= [0-9]+ ws\nws    ::= [ \\t\\n]*",
		[]string{"1+1=2\n", "(a+b)*c=d\nx=1\n"}, []string{"1+=2\n", "a=1"}},
}

func TestLanguages(t *testing.T) {
	for _, tt := range languages {
		t.Run(tt.name, func(t *testing.T) {
			g := parse(t, tt.text)
			for _, s := range tt.accept {
				if !accepts(t, g, s) {
					t.Errorf("%q is not accepted by\n%s", s, g)
				}
				for i := range s {
					if ok, _ := gbnf.AcceptsPrefix(g, s[:i]); !ok {
						t.Errorf("%q is not accepted as a prefix of %q by\n%s", s[:i], s, g)
					}
				}
			}
			for _, s := range tt.reject {
				if accepts(t, g, s) {
					t.Errorf("%q is accepted by\n%s", s, g)
				}
			}
			if again := parse(t, g.String()); !gbnf.Equal(g, again) {
				t.Errorf("printed and read again:\n%s\nfrom\n%s", again, g)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "<input>:1:1: there is no rule named root; it is where a grammar starts"},
		{"no_root", "a ::= \"x\"", "<input>:1:1: there is no rule named root; it is where a grammar starts"},
		{"undefined", "root ::= \"x\" a\n", "<input>:1:14: rule root: there is no rule named a"},
		{"undefined_in_other_rule", "root ::= a\na ::= (b)\n", "<input>:2:8: rule a: there is no rule named b"},
		{"defined_twice", "root ::= \"x\"\nroot ::= \"y\"", "<input>:2:1: rule root is defined twice"},
		{"left_recursion", "root ::= root \"x\" | \"y\"", "<input>:1:10: left recursion: rule root comes back to rule root before a character is read"},
		{"left_recursion_hidden", "root ::= a\na ::= \"\"? ( [x]* root )", "<input>:2:18: left recursion: rule a comes back to rule root before a character is read"},
		{"never_ends", "root ::= \"x\" root", "<input>:1:1: rule root never ends: every alternative leads back to itself"},
		{"no_definition", "root = \"x\"", "<input>:1:6: expected ::= after the rule name root, found '='"},
		{"underscore", "root ::= a_b", "<input>:1:11: a rule's name may not contain an underscore"},
		{"no_name", "::= \"x\"", "<input>:1:1: expected the name of a rule, found ':'"},
		{"unclosed_literal", "root ::= \"abc", "<input>:1:10: this literal has no closing quote"},
		{"unclosed_class", "root ::= [abc", "<input>:1:10: this character class has no closing ]"},
		{"empty_class", "root ::= []", "<input>:1:10: this character class is empty"},
		{"class_order", "root ::= [z-a]", "<input>:1:11: the range 'z'-'a': the smaller character comes first"},
		{"unclosed_group", "root ::= (\"a\"\n", "<input>:1:10: this group is not closed: expected ), found the end of the grammar"},
		{"stray_close", "root ::= \"a\")", "<input>:1:13: expected an element or the end of rule root, found ')'"},
		{"nothing_to_repeat", "root ::= *", "<input>:1:10: expected an element before the repetition *"},
		{"count_order", "root ::= \"a\"{3,2}", "<input>:1:13: repetition {3,2}: the smaller count comes first"},
		{"count_missing", "root ::= \"a\"{,2}", "<input>:1:14: expected a count in a repetition, found ','"},
		{"count_huge", "root ::= \"a\"{99999999999}", "<input>:1:14: a repetition of more than 1000000000"},
		{"count_digits", "root ::= \"a\"{99999999999999999999999}", "<input>:1:14: a repetition of more than 1000000000"},
		{"count_open", "root ::= \"a\"{2", "<input>:1:15: expected } to close a repetition, found the end of the grammar"},
		{"escape", `root ::= "\q"`, "<input>:1:11: unknown escape"},
		{"escape_digits", `root ::= "\u12"`, "<input>:1:11: expected 4 hexadecimal digits after \\u"},
		{"escape_surrogate", `root ::= "\ud800"`, "<input>:1:11: U+D800 is not a character"},
		{"not_utf8", "root ::= \"a\xff\"", "<input>:1:12: the byte 0xFF is not UTF-8"},
		{"token", "root ::= <a", "<input>:1:10: expected a token such as <name> or <[123]>"},
		{"token_number", "root ::= <[x]>", "<input>:1:10: expected a token's number as in <[123]>"},
		{"token_open", "root ::= <a\n>", "<input>:1:10: expected a token such as <name> or <[123]>"},
		{"token_none", "root ::= !a", "<input>:1:10: expected a token such as <name> or <[123]>"},
		{"token_empty", "root ::= <>", "<input>:1:10: expected a token such as <name> or <[123]>"},
		{"token_bracket", "root ::= <[7>", "<input>:1:10: expected a token's number as in <[123]>"},
		{"escape_large", `root ::= "\U00110000"`, "<input>:1:11: U+110000 is not a character"},
		{"escape_sign", `root ::= "\x+1"`, "<input>:1:11: expected 2 hexadecimal digits after \\x"},
		{"class_cut", "root ::= [a\\", "<input>:1:12: unknown escape"},
		{"class_open_range", "root ::= [a-", "<input>:1:10: this character class has no closing ]"},
		{"class_bad_range", "root ::= [a-\xff]", "<input>:1:13: the byte 0xFF is not UTF-8"},
		{"plus", "root ::= +", "<input>:1:10: expected an element before the repetition +"},
		{"question", "root ::= ?", "<input>:1:10: expected an element before the repetition ?"},
		{"braces", "root ::= {2}", "<input>:1:10: expected an element before the repetition {"},
		{"line_end", "root\n", "<input>:1:5: expected ::= after the rule name root, found the end of the line"},
		{"carriage_return", "root\r\n", "<input>:1:5: expected ::= after the rule name root, found the end of the line"},
		{"underscore_first", "root_ ::= \"a\"", "<input>:1:5: a rule's name may not contain an underscore"},
		{"comment", "# a comment and nothing else", "<input>:1:1: there is no rule named root; it is where a grammar starts"},
		{"many_repetitions", "root ::= \"a\"" + strings.Repeat("{2}", 300), "<input>:1:616: repetitions nest deeper than 200 levels"},
		{"rule_in_rule", "root ::= \"a\" b ::= \"c\"", "<input>:1:14: rule b begins inside rule root"},
		{"deep", "root ::= " + strings.Repeat("(", 300), "<input>:1:211: groups nest deeper than 200 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := gbnf.ParseString(tt.text)
			var at *source.Error
			if err == nil || !errors.As(err, &at) || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	const text = `root ::= "a\"\\\n" [^-\x00\[-\x5Ea-z] . (x | "" | y{2} z{2,} "é"{0,7})? <think> !<[12]>
x ::= ("a" "b")* ([0-9]+)?
y ::= ([a]*)+
z ::= "🙂\u200B"
`
	if got := parse(t, text).String(); got != text {
		t.Errorf("got\n%swant\n%s", got, text)
	}
}

// Counts are numbers, not copies, and derivations that differ only in counts are followed once.
func TestCountsDoNotExplode(t *testing.T) {
	for _, tt := range []struct {
		text, repeated string
		n              int
	}{
		{`root ::= "x"{0,1000000}`, "x", 3000},
		{`root ::= ("x"{0,1000}){0,1000}`, "x", 3000},
		{`root ::= (("x"?){0,1000}){0,1000}`, "x", 3000},
		{`root ::= (("x"*)*)*`, "x", 3000},
		{`root ::= ((("x"{0,50}){0,50}){0,50}){0,50}`, "x", 3000},
		{`root ::= ("x" | "xx" | "xxx"){0,100000}`, "x", 3000},
		{`root ::= (a b?)*` + "\na ::= [x] | [x] a\nb ::= \"x\"", "x", 1000},
		{`root ::= "x"{1000000000}`, "x", 3000},
	} {
		m, err := gbnf.NewMatcher(parse(t, tt.text))
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for range tt.n {
			m.AcceptString(tt.repeated)
			most = max(most, m.Stacks())
		}
		if m.Dead() || most > 60 {
			t.Errorf("%s: dead %v, %d stacks, %v", tt.text, m.Dead(), most, m.Err())
		}
	}
}

// A naive matcher by definition, on small languages: the matcher must agree on every short text.
func TestMatcherAgainstDefinition(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	for range 400 {
		b := gbnf.NewBuilder()
		g, err := b.Grammar(randomElement(b, rng, 4))
		if err != nil {
			continue
		}
		if again := parse(t, g.String()); !gbnf.Equal(g, again) {
			t.Fatalf("printed and read again:\n%s\nfrom\n%s", again, g)
		}
		if repeatsEmpty(g.Rule(gbnf.Root).Alts, false) {
			t.Fatalf("a repeated group has an empty alternative:\n%s", g)
		}
		for _, text := range words("ab", 5) {
			want := derives(g.Rule(gbnf.Root).Alts, text)
			if got := accepts(t, g, text); got != want {
				t.Fatalf("%q: got %v, want %v, by\n%s", text, got, want, g)
			}
		}
	}
}

func repeatsEmpty(alts []gbnf.Alternate, repeated bool) bool {
	for _, alt := range alts {
		if repeated && len(alt) == 0 {
			return true
		}
		for _, e := range alt {
			if repeatsEmpty(e.Alts, e.Kind == gbnf.Repeat) {
				return true
			}
		}
	}
	return false
}

func words(alphabet string, n int) []string {
	all := []string{""}
	last := all
	for range n {
		var next []string
		for _, w := range last {
			for _, c := range alphabet {
				next = append(next, w+string(c))
			}
		}
		all = append(all, next...)
		last = next
	}
	return all
}

func randomElement(b *gbnf.Builder, rng *rand.Rand, depth int) gbnf.Element {
	if depth == 0 || rng.Intn(5) == 0 {
		return []gbnf.Element{b.Lit("a"), b.Lit("b"), b.Lit("ab"), b.Any(),
			b.Class([]gbnf.Range{{Lo: 'a', Hi: 'a'}}, true), b.Empty()}[rng.Intn(6)]
	}
	x, y := randomElement(b, rng, depth-1), randomElement(b, rng, depth-1)
	switch rng.Intn(4) {
	case 0:
		return b.Seq(x, y)
	case 1:
		return b.Alt(x, y)
	}
	lo := rng.Intn(3)
	hi := lo + rng.Intn(3)
	if rng.Intn(3) == 0 {
		hi = gbnf.Unlimited
	}
	return b.Repeat(x, lo, hi)
}

// derives says by definition whether alternatives without references derive a text.
func derives(alts []gbnf.Alternate, text string) bool {
	ends := map[int]bool{}
	for _, alt := range alts {
		for end := range ways(alt, text, 0) {
			ends[end] = true
		}
	}
	return ends[len(text)]
}

func ways(alt gbnf.Alternate, text string, from int) map[int]bool {
	at := map[int]bool{from: true}
	for _, e := range alt {
		next := map[int]bool{}
		for p := range at {
			for end := range elementWays(e, text, p) {
				next[end] = true
			}
		}
		at = next
	}
	return at
}

func elementWays(e gbnf.Element, text string, from int) map[int]bool {
	out := map[int]bool{}
	switch e.Kind {
	case gbnf.Literal:
		if strings.HasPrefix(text[from:], e.Text) {
			out[from+len(e.Text)] = true
		}
	case gbnf.Any:
		if from < len(text) {
			out[from+1] = true
		}
	case gbnf.Class:
		if from < len(text) {
			in := false
			for _, r := range e.Ranges {
				in = in || rune(text[from]) >= r.Lo && rune(text[from]) <= r.Hi
			}
			if in != e.Negated {
				out[from+1] = true
			}
		}
	case gbnf.Group:
		for _, alt := range e.Alts {
			for end := range ways(alt, text, from) {
				out[end] = true
			}
		}
	case gbnf.Repeat:
		at := map[int]bool{from: true}
		for n := 0; n <= e.Min+len(text)+1 && (e.Max == gbnf.Unlimited || n <= e.Max); n++ {
			if n >= e.Min {
				for p := range at {
					out[p] = true
				}
			}
			next := map[int]bool{}
			for p := range at {
				for _, alt := range e.Alts {
					for end := range ways(alt, text, p) {
						next[end] = true
					}
				}
			}
			at = next
		}
	}
	return out
}

// TestRepeatIsSplit repeats elements with large counts: the builder splits them, and the meaning
// stays.
func TestRepeatIsSplit(t *testing.T) {
	for _, tt := range []struct{ lo, hi int }{{0, 1001}, {0, 1999}, {0, 2500}, {1001, 1001},
		{1001, gbnf.Unlimited}, {5, 3000}, {2500, 2600}, {1500, 4000}} {
		b := gbnf.NewBuilder()
		g, err := b.Grammar(b.Seq(b.Repeat(b.Alt(b.Lit("x"), b.Lit("yy")), tt.lo, tt.hi),
			b.Lit(".")))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := gbnf.NewMatcher(g)
		for n := 0; n <= max(tt.lo, tt.hi)+2; n++ {
			c := m.Clone()
			c.AcceptString(".")
			if want := n >= tt.lo && (tt.hi < 0 || n <= tt.hi); c.Done() != want {
				t.Fatalf("{%d,%d}: %d accepted: %v, want %v\n%s", tt.lo, tt.hi, n, c.Done(), want,
					g)
			}
			m.AcceptString([]string{"x", "yy"}[n%2])
		}
	}
}

func TestUntil(t *testing.T) {
	markers := [][]string{{"</think>"}, {"</a>", "<b"}, {"aab", "ba"}, {"aba"}, {"\n</p>", "\n\n"},
		{"ab", "abab"}, {"x"}, {"é<", "世"}, {}}
	rng := rand.New(rand.NewSource(1))
	for _, ms := range markers {
		b := gbnf.NewBuilder()
		g, err := b.Grammar(b.Until(ms...))
		if err != nil {
			t.Fatal(err)
		}
		alphabet := []rune(strings.Join(ms, "") + "ab<\nz")
		for range 2000 {
			var text []rune
			for range rng.Intn(12) {
				text = append(text, alphabet[rng.Intn(len(alphabet))])
			}
			s := string(text)
			first := -1
			for i := 0; i <= len(s) && first < 0; i++ {
				for _, m := range ms {
					if strings.HasSuffix(s[:i], m) {
						first = i
					}
				}
			}
			if got := accepts(t, g, s); got != (first < 0) {
				t.Fatalf("Until(%q) accepts %q: %v\n%s", ms, s, got, g)
			}
		}
	}
}

// TestBrief holds bounded text to its definition: no marker, steps as it says, white space alone at
// the end of a beginning. Text of characters that begin no marker has so many of them at most.
func TestBrief(t *testing.T) {
	const steps = 3
	for _, tt := range []struct {
		markers        []string
		accept, reject []string
	}{
		{nil, []string{"", "<a>"}, []string{"<a>b"}},
		{[]string{"x"}, []string{"", "abc"}, []string{"x", "ax", "abcd"}},
		{[]string{"<a>", "</a>"}, []string{"", "abc", "<b", "<b<b<b", "</b</b</b", "a<<b", "</<b"},
			[]string{"abcd", "<a>", "a</a>", "<b<b<b<", "<<<b", "abc<", "<", "<a"}},
		{[]string{"\n\n<a>"}, []string{"a\n", "a\n\n", "a\nb\nc\n", "a\n\nb", "\n\n\nb", "abc\n\n\n"},
			[]string{"a\n\n<", "\n\n<a>", "abcd\n", "\n\n\n\nb"}},
		{[]string{"ab", "abab"}, []string{"ac", "aac", "bbb", "acacac"}, []string{"ab", "bbbb", "aaac"}},
		{[]string{"é<", "世"}, []string{"éa", "ééa", "aéb"}, []string{"é<", "世", "abcé", "éé"}},
	} {
		b := gbnf.NewBuilder()
		e := b.Brief(steps, tt.markers...)
		if again := b.Brief(steps, tt.markers...); again.String() != e.String() {
			t.Errorf("Brief(%q) is %s, then %s", tt.markers, e, again)
		}
		g, err := b.Grammar(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.accept {
			if !accepts(t, g, text) {
				t.Errorf("Brief(%q) rejects %q\n%s", tt.markers, text, g)
			}
		}
		for _, text := range tt.reject {
			if accepts(t, g, text) {
				t.Errorf("Brief(%q) accepts %q\n%s", tt.markers, text, g)
			}
		}
	}
}

// TestValidate checks grammars that no text has been read from.
func TestValidate(t *testing.T) {
	lit := gbnf.Element{Kind: gbnf.Literal, Text: "a"}
	rule := func(e ...gbnf.Element) []gbnf.Rule {
		return []gbnf.Rule{{Name: "root", Alts: []gbnf.Alternate{e}}}
	}
	deep := lit
	for range gbnf.MaxNesting + 2 {
		deep = gbnf.Element{Kind: gbnf.Group, Alts: []gbnf.Alternate{{deep}}}
	}
	one := []gbnf.Alternate{{lit}}
	for _, tt := range []struct {
		rules []gbnf.Rule
		want  string
	}{
		{rule(lit), ""},
		{append(rule(lit), gbnf.Rule{Name: "a_b", Alts: one}), `rule name "a_b": expected ASCII letters, digits and hyphens`},
		{append(rule(lit), gbnf.Rule{Name: "", Alts: one}), `rule name "": expected ASCII letters, digits and hyphens`},
		{append(rule(lit), gbnf.Rule{Name: "{", Alts: one}), `rule name "{": expected ASCII letters, digits and hyphens`},
		{append(rule(lit), rule(lit)...), "rule root is defined twice"},
		{append(rule(lit), gbnf.Rule{Name: "x"}), "rule x has no alternatives"},
		{rule(deep), "rule root: groups nest deeper than 200 levels"},
		{rule(gbnf.Element{Kind: gbnf.Literal, Text: "\xff"}), `rule root: literal "\xff" is not UTF-8`},
		{rule(gbnf.Element{Kind: gbnf.Class}), "rule root: a character class is empty"},
		{rule(gbnf.Element{Kind: gbnf.Class, Ranges: []gbnf.Range{{Lo: 'b', Hi: 'a'}}}), "rule root: the range from U+0062 to U+0061 is not in order"},
		{rule(gbnf.Element{Kind: gbnf.Class, Ranges: []gbnf.Range{{Lo: 'b', Hi: 0x110000}}}), "rule root: the range from U+0062 to U+110000 is not in order"},
		{rule(gbnf.Element{Kind: gbnf.Class, Ranges: []gbnf.Range{{Lo: -1, Hi: 'a'}}}), "rule root: the range begins at -1, which is no character"},
		{rule(gbnf.Element{Kind: gbnf.Token, ID: -1}), `rule root: token "", number -1: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "<a"}), `rule root: token "<a", number 0: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "a>>"}), `rule root: token "a>>", number 0: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "<a>>"}), `rule root: token "<a>>", number 0: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "<\n>"}), `rule root: token "<\n>", number 0: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "<\xff>"}), `rule root: token "<\xff>", number 0: expected a text such as <name> or a number from 0`},
		{rule(gbnf.Element{Kind: gbnf.Token, Text: "<a>"}), ""},
		{rule(gbnf.Element{Kind: gbnf.Repeat, Min: -1, Max: 2, Alts: one}), "rule root: repetition {-1,2}: expected counts in order, at most 1000000000"},
		{rule(gbnf.Element{Kind: gbnf.Repeat, Min: gbnf.MaxCount + 1, Max: gbnf.Unlimited, Alts: one}), "rule root: repetition {1000000001,-1}: expected counts in order, at most 1000000000"},
		{rule(gbnf.Element{Kind: gbnf.Repeat, Max: gbnf.MaxCount + 1, Alts: one}), "rule root: repetition {0,1000000001}: expected counts in order, at most 1000000000"},
		{rule(gbnf.Element{Kind: gbnf.Repeat, Min: 2, Max: 1, Alts: one}), "rule root: repetition {2,1}: expected counts in order, at most 1000000000"},
		{rule(gbnf.Element{Kind: gbnf.Repeat, Min: 2, Max: gbnf.Unlimited, Alts: one}), ""},
		{rule(gbnf.Element{Kind: gbnf.Group}), "rule root: a group has no alternatives"},
		{rule(gbnf.Element{}), "rule root: an element that matches nothing"},
	} {
		g := &gbnf.Grammar{Rules: tt.rules}
		got := strings.TrimPrefix(fmt.Sprint(g.Validate()), "grammar: ")
		if got != tt.want && (tt.want != "" || got != "<nil>") {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		for _, use := range []func() error{
			func() error { _, err := gbnf.Accepts(g, "a"); return err },
			func() error { _, err := gbnf.AcceptsPrefix(g, "a"); return err },
			func() error { _, err := g.Refusal("a"); return err },
			func() error { _, err := gbnf.NewSampler(g, rand.New(rand.NewSource(1))); return err },
		} {
			if err := use(); (err == nil) != (tt.want == "") {
				t.Errorf("%s: used with the error %v", tt.want, err)
			}
		}
	}
}

// TestRefusal says where a grammar stops, and what it takes there.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct{ grammar, text, want string }{
		{`root ::= "ab" ("c" | [d-f] | . | <x> | !<[7]>)? "cd"?`, "ab", ""},
		{`root ::= "ab" ("c" | "c" "d" | [d-f])`, "abx", "the grammar takes \"ab\"\nand not \"x\"\nit expects \"c\" or [d-f]"},
		{`root ::= "ab"`, "a", "the grammar takes \"a\"\nand not \"\"\nit expects \"b\""},
		{`root ::= . <x>? "y"?`, "éz", "the grammar takes \"é\"\nand not \"z\"\nit expects \"<x>\" or \"y\" or the end"},
		{`root ::= "a" .`, "a", "the grammar takes \"a\"\nand not \"\"\nit expects ."},
		{`root ::= "x" ("0"|"1" "z"|"2" "z"|"3" "z"|"4" "z"|"5" "z"|"6" "z"|"7" "z"|"8" "z"|"9" "z"|"a" "z"|"")`, "xy",
			"the grammar takes \"x\"\nand not \"y\"\nit expects \"0\" or \"1\" or \"2\" or \"3\" or \"4\" or \"5\" or \"6\" or \"7\" or \"8\" or \"9\""},
	} {
		if got, err := parse(t, tt.grammar).Refusal(tt.text); got != tt.want || err != nil {
			t.Errorf("%s on %q: got %q, %v\nwant %q", tt.grammar, tt.text, got, err, tt.want)
		}
	}
}

// TestEqual compares grammars that differ in one thing.
func TestEqual(t *testing.T) {
	all := []string{`root ::= "a"`, `root ::= "b"`, "root ::= a\na ::= \"a\"", "root ::= b\nb ::= \"a\"", `root ::= [ab]`, `root ::= [^ab]`,
		`root ::= [ac]`, `root ::= <[1]>`, `root ::= <[2]>`, `root ::= !<[2]>`, `root ::= <a>`, `root ::= "a"+`, `root ::= "a"*`, `root ::= "a"{1,2}`, `root ::= "b"+`, `root ::= .`, "root ::= \"a\"\nc ::= \"a\"", "root ::= \"a\"\nd ::= \"a\"", `root ::= ("a"+)`, `root ::= ("a" | "b")`, `root ::= (("a" "b"))?`}
	for i, x := range all {
		for j, y := range all {
			if gbnf.Equal(parse(t, x), parse(t, y)) != (i == j) {
				t.Errorf("%s and %s: equal %v", x, y, i != j)
			}
		}
	}
	if (*gbnf.Grammar)(nil).String() != "" {
		t.Error("no grammar has a text")
	}
}

func TestBuilder(t *testing.T) {
	b := gbnf.NewBuilder()
	space := b.Space()
	if space.String() != b.Space().String() {
		t.Error("equal rules have two names")
	}
	value := b.Declare("value")
	b.Define(value, b.Alt(b.Lit("1"), b.Seq(b.Lit("["), space, value, b.Lit("]"))))
	g, err := b.Grammar(b.Seq(b.Lit("<"), b.Lit("v"), b.Lit(">"), value,
		b.Rule("my rule!", b.Alt(b.Lit("x"), b.Lit("y"), b.Lit("x"), b.Never()))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `root ::= "<v>" value my-rule
value ::= "1" | "[" ws value "]"
my-rule ::= "x" | "y"
ws ::= "" | " " | "\n" [\t ]{0,40}
`
	if g.String() != want {
		t.Errorf("got\n%swant\n%s", g, want)
	}
}

func TestBuilderErrors(t *testing.T) {
	for _, tt := range []struct {
		want string
		root func(b *gbnf.Builder) gbnf.Element
	}{
		{"grammar: no text can match", func(b *gbnf.Builder) gbnf.Element { return b.Seq(b.Lit("a"), b.Alt()) }},
		{"grammar: rule root: there is no rule named gone", func(b *gbnf.Builder) gbnf.Element { return b.Ref("gone") }},
		{"grammar: rule root: there is no rule named later", func(b *gbnf.Builder) gbnf.Element { return b.Declare("later") }},
		{"grammar: no text can match", func(b *gbnf.Builder) gbnf.Element { return b.Class([]gbnf.Range{{Lo: 0, Hi: 0x10ffff}}, true) }},
		{"grammar: no text can match", func(b *gbnf.Builder) gbnf.Element { return b.Repeat(b.Never(), 2, 3) }},
		{"repetition from -1 to 2: expected counts in order, at most 1000000000", func(b *gbnf.Builder) gbnf.Element { return b.Repeat(b.Lit("a"), -1, 2) }},
		{"repetition from 1000000001 to -1: expected counts in order, at most 1000000000", func(b *gbnf.Builder) gbnf.Element {
			return b.Repeat(b.Lit("a"), gbnf.MaxCount+1, gbnf.Unlimited)
		}},
		{"repetition from 0 to 1000000001: expected counts in order, at most 1000000000", func(b *gbnf.Builder) gbnf.Element { return b.Repeat(b.Lit("a"), 0, gbnf.MaxCount+1) }},
		{`rule "x" is not a declared rule without content`, func(b *gbnf.Builder) gbnf.Element { b.Define(b.Lit("x"), b.Lit("y")); return b.Lit("x") }},
		{"rule gone is not a declared rule without content", func(b *gbnf.Builder) gbnf.Element { b.Define(b.Ref("gone"), b.Lit("y")); return b.Lit("x") }},
		{"rule a is not a declared rule without content", func(b *gbnf.Builder) gbnf.Element {
			a := b.Declare("a")
			b.Define(a, b.Lit("x"))
			b.Define(a, b.Lit("y"))
			b.Define(a, b.Never()) // the first error counts
			return a
		}},
		{"rule a can match nothing", func(b *gbnf.Builder) gbnf.Element { a := b.Declare("a"); b.Define(a, b.Never()); return a }},
		{`literal "\xff" is not UTF-8; a grammar is over characters`, func(b *gbnf.Builder) gbnf.Element { return b.Lit("\xff") }},
		{"repetition from 3 to 2: expected counts in order, at most 1000000000", func(b *gbnf.Builder) gbnf.Element { return b.Repeat(b.Lit("a"), 3, 2) }},
		{"grammar: left recursion: rule a comes back to rule a before a character is read", func(b *gbnf.Builder) gbnf.Element {
			a := b.Declare("a")
			b.Define(a, b.Alt(b.Seq(a, b.Lit("x")), b.Lit("y")))
			return a
		}},
	} {
		b := gbnf.NewBuilder()
		if _, err := b.Grammar(tt.root(b)); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, n := range []int{1, 5, 33, 3000} {
		var all []string
		for range n {
			w := ""
			for range 1 + rng.Intn(8) {
				w += string([]rune("abé世")[rng.Intn(4)])
			}
			all = append(all, w)
		}
		b := gbnf.NewBuilder()
		g, err := b.Grammar(b.Words(all...))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := gbnf.NewMatcher(g)
		if m.Stacks() > 40 {
			t.Errorf("%d words make %d stacks", n, m.Stacks())
		}
		in := map[string]bool{}
		for _, w := range all {
			in[w] = true
		}
		for _, w := range all {
			for _, probe := range []string{w, w + "a", w[:len(w)/2]} {
				m.Reset()
				m.AcceptString(probe)
				if m.Done() != in[probe] {
					t.Fatalf("%q: want %v\n%s", probe, in[probe], g)
				}
			}
		}
	}
}

func TestSampler(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	for _, tt := range languages {
		g := parse(t, tt.text)
		s, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			text, err := s.Sample()
			if err != nil {
				t.Fatal(err)
			}
			if !accepts(t, g, text) {
				t.Fatalf("sample %q is not accepted by\n%s", text, g)
			}
		}
		least, err := gbnf.Minimal(g)
		if err != nil || !accepts(t, g, least) {
			t.Errorf("minimal %q, %v, of\n%s", least, err, g)
		}
		for range 50 {
			if text, _ := s.Sample(); len([]rune(text)) < len([]rune(least)) {
				t.Errorf("minimal %q, and the sample %q is shorter, of\n%s", least, text, g)
			}
		}
	}
}

func TestSamplerEnds(t *testing.T) {
	for _, tt := range []struct{ text, err string }{
		{"root ::= \"(\" root root root \")\" | \"x\"", ""},
		{"root ::= (a{0,1000000}){0,1000000}\na ::= (\"x\" | root2){0,1000}\nroot2 ::= \"y\" a a a", ""},
		{"root ::= \"x\"{1000000000}", "grammar: the shortest sentence is longer than 4194304 characters"},
		{"root ::= <[5]>", "grammar: the token <[5]> has no text of its own"},
		{"root ::= !<a>", "grammar: the token !<a> has no text of its own"},
		{"root ::= (!<a>){3}", "grammar: the token !<a> has no text of its own"},
	} {
		g := parse(t, tt.text)
		s, err := gbnf.NewSampler(g, rand.New(rand.NewSource(1)))
		var text string
		for range 100 {
			if err == nil {
				text, err = s.Sample()
			}
		}
		if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.err)
		}
		if err == nil && len(text) > 100_000 {
			t.Errorf("%s: a sample of %d bytes", tt.text, len(text))
		}
	}
}

// TestUntilMarkers takes texts without a marker, and no others.
func TestUntilMarkers(t *testing.T) {
	texts := []string{"", "x", " ", "\t", "\r", "\n", "ab", "ba", "abab", "bb", "a\r\n", "a \t<",
		"\r\n<", " <", "\t<", "aab", "abaab", "\n\n<x", "<", "xx<"}
	for _, markers := range [][]string{{" <"}, {"\t<"}, {"\r\n<"}, {"\n<", "<"}, {"ab", "b"},
		{"abab", "bb"}, {"aab", "ab"}, {"\n\n<x", "\r<", " <", "\t<"}, {"x", "y"}} {
		for _, brief := range []bool{false, true} {
			b := gbnf.NewBuilder()
			e := b.Until(markers...)
			if brief {
				e = b.Brief(30, markers...)
			}
			g, err := b.Grammar(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				has := slices.ContainsFunc(markers,
					func(m string) bool { return strings.Contains(text, m) })
				// brief text leaves out beginnings of markers at its end that are no white space
				begun := slices.ContainsFunc(markers, func(m string) bool {
					return text != "" && strings.HasPrefix(m, strings.TrimLeft(text[len(text)-1:], " \t\r\n"))
				})
				if got := accepts(t, g, text); got == has && !(brief && !got && begun) {
					t.Errorf("until %q, brief %t: %q is taken: %t", markers, brief, text, got)
				}
			}
		}
	}
}

// TestClasses makes classes of no character and of all.
func TestClasses(t *testing.T) {
	all := []gbnf.Range{{Lo: 0, Hi: 0x10ffff}}
	for _, tt := range []struct {
		of   func(b *gbnf.Builder) gbnf.Element
		want string
	}{
		{func(b *gbnf.Builder) gbnf.Element { return b.Class(nil, true) }, "root ::= .\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Class(all, false) }, "root ::= .\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Class(nil, false) }, "grammar: no text can match"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Rule("root", b.Alt(b.Lit("a"), b.Lit("b"))) }, "root ::= root-2\nroot-2 ::= \"a\" | \"b\"\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Until() }, "root ::= .*\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Until("") }, "root ::= .*\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Until("", "<") }, "root ::= [^<]*\n"},
		{func(b *gbnf.Builder) gbnf.Element { return b.Brief(2, "") }, "root ::= .{0,2}\n"},
	} {
		b := gbnf.NewBuilder()
		g, err := b.Grammar(tt.of(b))
		got := g.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestTokenBytes ends tokens inside characters, and goes on after a refusal.
func TestTokenBytes(t *testing.T) {
	m, err := gbnf.NewMatcher(parse(t, "root ::= (<[7]> | \"é\") \"é\"?"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ids    []int
		pieces []string
		want   string // whether it may go on after each token, and whether it is done then
	}{
		{[]int{7, 1}, []string{"\xc3", "é"}, "true true true true "},
		{[]int{1, 7}, []string{"\xc3", "\xa9"}, "true false true true "},
		{[]int{1, 7}, []string{"é", "é"}, "true true true true "},
		{[]int{7, 7}, []string{"\xc3", "x"}, "true true false false "},
		{[]int{1, 7}, []string{"x", "é"}, "false false false false "},
	} {
		m.Reset()
		got := ""
		for i, id := range tt.ids {
			got += fmt.Sprint(m.AcceptToken(id, tt.pieces[i]), m.Done(), " ")
		}
		if got = strings.Join(strings.Fields(got), " ") + " "; got != tt.want {
			t.Errorf("%v %q: got %s, want %s", tt.ids, tt.pieces, got, tt.want)
		}
	}
}

func TestAcceptToken(t *testing.T) {
	g := parse(t, "root ::= <think> body </think> [a-z]* <[7]>?\nbody ::= !</think>*")
	type token struct {
		id   int
		text string
	}
	for _, tt := range []struct {
		tokens []token
		done   bool
	}{
		{[]token{{1, "<think>"}, {5, "any thing"}, {6, "\n"}, {2, "</think>"}, {9, "abc"}}, true},
		{[]token{{1, "<think>"}, {2, "</think>"}, {7, "<eos>"}}, true},
		{[]token{{1, "<think>"}, {5, "a"}}, false},
		{[]token{{1, "<think>"}, {2, "</think>"}, {9, "ABC"}}, false},
		{[]token{{9, "x"}}, false},
	} {
		m, err := gbnf.NewMatcher(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range tt.tokens {
			m.AcceptToken(tok.id, tok.text)
		}
		if m.Done() != tt.done {
			t.Errorf("%v: done %v, want %v", tt.tokens, m.Done(), tt.done)
		}
	}
}

func TestMatcherBytes(t *testing.T) {
	g := parse(t, `root ::= "é" [一-龥] "😀"`)
	m, _ := gbnf.NewMatcher(g)
	text := "é世😀"
	for i := range len(text) {
		if !m.Accept([]byte{text[i]}) {
			t.Fatalf("dead after byte %d", i)
		}
		if m.Done() != (i == len(text)-1) {
			t.Fatalf("done after byte %d: %v", i, m.Done())
		}
	}
	m.Reset()
	if m.AcceptString("\xe2\x82"); !m.Dead() {
		t.Error("a character that begins otherwise is not refused at once")
	}
	m.Reset()
	m.AcceptString("é!")
	if !m.Dead() || m.Offset() != 2 {
		t.Errorf("dead %v at %d, want the offset 2", m.Dead(), m.Offset())
	}
	m.Reset()
	m.AcceptString("é")
	if got := fmt.Sprint(m.Expected()); got != "[[一-龥]]" {
		t.Errorf("expected %s", got)
	}
	m.Reset()
	if m.AcceptString("\xff"); !m.Dead() {
		t.Error("a byte that is not UTF-8 is accepted")
	}
}

func TestMatcherGivesUp(t *testing.T) {
	var b strings.Builder
	b.WriteString("root ::= ")
	for i := range 60 {
		if i > 0 {
			b.WriteString(" | ")
		}
		fmt.Fprintf(&b, "(\"a\" r%d){3}", i)
	}
	for i := range 60 {
		fmt.Fprintf(&b, "\nr%d ::= (\"a\"{%d,1000} | \"a\" r%d){5,9}", i, i+1, (i+1)%60)
	}
	m, err := gbnf.NewMatcher(parse(t, b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if !m.AcceptString("a") {
			break
		}
	}
	t.Logf("%d stacks, %v", m.Stacks(), m.Err())
	if m.Stacks() > gbnf.MaxStates || m.Dead() && m.Err() == nil {
		t.Errorf("%d stacks, dead %v, %v", m.Stacks(), m.Dead(), m.Err())
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range languages {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := gbnf.ParseString(text)
		if err != nil {
			return
		}
		again, err := gbnf.ParseString(g.String())
		if err != nil || !gbnf.Equal(g, again) {
			t.Fatalf("%v: printed and read again:\n%s", err, g)
		}
	})
}

func FuzzMatcher(f *testing.F) {
	for _, tt := range languages {
		for _, s := range append(tt.accept, tt.reject...) {
			f.Add(tt.text, s, int64(3))
		}
	}
	f.Fuzz(func(t *testing.T, text, input string, seed int64) {
		if len(text) > 300 || len(input) > 300 {
			return
		}
		g, err := gbnf.ParseString(text)
		if err != nil {
			return
		}
		whole, err := gbnf.NewMatcher(g)
		if err != nil {
			t.Fatal(err)
		}
		whole.AcceptString(input)
		pieces, _ := gbnf.NewMatcher(g)
		for i := range len(input) {
			pieces.Accept([]byte(input[i : i+1]))
		}
		if whole.Done() != pieces.Done() || whole.Dead() != pieces.Dead() {
			t.Fatalf("in one piece: done %v dead %v; in bytes: "+
				"done %v dead %v", whole.Done(), whole.Dead(), pieces.Done(), pieces.Dead())
		}
		s, err := gbnf.NewSampler(g, rand.New(rand.NewSource(seed)))
		if err != nil {
			return
		}
		s.Max = 50
		if sample, err := s.Sample(); err == nil && len(sample) < 2000 {
			if ok, err := gbnf.Accepts(g, sample); !ok && err == nil {
				t.Fatalf("sample %q is not accepted by\n%s", sample, g)
			}
		}
	})
}

func BenchmarkMatcher(b *testing.B) {
	g := parse(b, jsonGrammar)
	text := `{"name": "get_weather", "arguments": {"location": "Paris, France", "days": [1, 2, 3.5], "units": null, "ok": true}}`
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m.Reset()
		m.AcceptString(text)
		if !m.Done() {
			b.Fatal("not accepted")
		}
	}
}

func BenchmarkNewMatcher(b *testing.B) {
	g := parse(b, jsonGrammar)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gbnf.NewMatcher(g); err != nil {
			b.Fatal(err)
		}
	}
}

const jsonGrammar = `root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ws ":" ws value (ws "," ws string ws ":" ws value)* ws)? "}"
array ::= "[" ws (value (ws "," ws value)* ws)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= "" | " " | "\n" [ \t]{0,40}
`
