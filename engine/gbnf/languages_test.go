package gbnf_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/schema"
	"github.com/goassay/assay/engine/source"
)

func grammar(t *testing.T, text string) *gbnf.Grammar {
	t.Helper()
	g, err := gbnf.Parse(source.New("test", text))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestEBNF(t *testing.T) {
	g := grammar(t, `root ::= . [^<] 3d "\x01a" ("b" | "c"){2,}
3d ::= [-a]? "é"
`)
	got, err := g.EBNF()
	if err != nil {
		t.Fatal(err)
	}
	const want = `root ::= [\u0000-\uD7FF\uE000-\U0010FFFF] ` +
		`[\u0000-\u003B\u003D-\uD7FF\uE000-\U0010FFFF] r-3d "\u0001a" ("b" | "c"){2,}
r-3d ::= ([\u002Da])? "é"
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := grammar(t, "root ::= <[7]>\n").EBNF(); err == nil ||
		!strings.Contains(err.Error(), "a token and no text") {
		t.Errorf("a token: %v", err)
	}
}

// TestSpelling spells characters, names and groups in both languages.
func TestSpelling(t *testing.T) {
	g := grammar(t, `root ::= -x 9x r-9x "\n\r\t\x01é\U000E0001😀" [A-Zé0-9a-z\n\t☃] ("a" | "b") ([x] "y")*
-x ::= "m"
9x ::= "n"
r-9x ::= "o"
`)
	ebnf, err := g.EBNF()
	if err != nil {
		t.Fatal(err)
	}
	const want = `root ::= r--x r-9x r-9x-2 "\n\r\t\u0001é` + "\U000E0001" + `😀" [\u0009-\u000A0-9A-Za-zé\u2603] ("a" | "b") ([x] "y")*
r--x ::= "m"
r-9x ::= "n"
r-9x-2 ::= "o"
`
	if ebnf != want {
		t.Errorf("got\n%s\nwant\n%s", ebnf, want)
	}
	lark := g.Lark()
	const wantLark = `start: r__x r_9x r_9x_2 "\n\r\t\u0001é` + "\U000E0001" + `😀" /[\t-\n0-9A-Za-zé\x{2603}]/ ("a" | "b") (/[x]/ "y")*
r__x: "m"
r_9x: "n"
r_9x_2: "o"
`
	if lark != wantLark {
		t.Errorf("got\n%s\nwant\n%s", lark, wantLark)
	}
}

// TestLark pins where characters are lexemes of their own: wherever a longer lexeme could swallow
// a character that something else is to read.
func TestLark(t *testing.T) {
	for _, test := range []struct{ about, grammar, want string }{
		{"literals that differ at once", `root ::= "ab" | "cd"`, `start: "ab" | "cd"`},
		{"literals that begin alike", `root ::= "abc" | "abd"`,
			`start: "a" "b" "c" | "a" "b" "d"`},
		{"text up to a marker", "root ::= text \"<x>\"\ntext ::= [^<] text | \"\"",
			"start: text \"<x>\"\ntext: /[^<]+/ text | \"\""},
		{"text that swallows what follows", "root ::= text \"ab\"\ntext ::= [^<] text | \"\"",
			"start: text \"a\" \"b\"\ntext: /[^<]/ text | \"\""},
		{"text beside a literal that begins like it", `root ::= [a-z]+ | "ab1"`,
			`start: (/[a-z]/)+ | "a" "b" "1"`},
		{"two texts of one class", `root ::= [a-z]+ "1" | [a-z]+ "2"`,
			`start: (/[a-z]+/)+ "1" | (/[a-z]+/)+ "2"`},
		{"a string", "root ::= \"\\\"\" char* \"\\\"\"\nchar ::= [^\"\\\\] | \"\\\\\" [nt]",
			`start: "\"" (/[^"\x{5c}]+/ | "\\" /[nt]/)* "\""` + "\n" +
				`char: /[^"\x{5c}]/ | "\\" /[nt]/`},
		{"counts", `root ::= [0-9]{2,3} "5"`, `start: (/[0-9]/){2,3} "5"`},
		{"a token", `root ::= <[7]> "ab"`, `start: <[7]> "ab"`},
		{"names", "root ::= A-b | a-b\nA-b ::= \"1\"\na-b ::= \"2\"",
			"start: a_b | a_b_2\na_b: \"1\"\na_b_2: \"2\""},
	} {
		if got := strings.TrimSpace(grammar(t, test.grammar+"\n").Lark()); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.about, got, test.want)
		}
	}
}

func TestAfter(t *testing.T) {
	g := grammar(t, `root ::= "<a>x" | ("<a>" | "<b>") more | "<" "a>" "z"
more ::= "y" | ""
`)
	rest, ok := g.After("<a>")
	if !ok {
		t.Fatal("the text is made of literals")
	}
	for text, want := range map[string]bool{
		"x": true, "y": true, "": true, "z": true, "<a>x": false,
	} {
		if got := takes(t, rest, text); got != want {
			t.Errorf("after <a>: %q is taken: %t, want %t", text, got, want)
		}
	}
	rest, ok = grammar(t, "root ::= | \"<a>\" \"x\"\n").After("<a>")
	if !ok || !takes(t, rest, "x") || takes(t, rest, "") {
		t.Errorf("after an alternative without text: %v, %v", rest, ok)
	}
	deep := strings.Repeat("(", 190) + `"<a>x"` + strings.Repeat(` | "b")`, 190)
	if _, ok := grammar(t, "root ::= "+deep+"\n").After("<a>"); ok {
		t.Error("groups within each other to any depth")
	}
	if _, ok := g.After("<c>"); ok {
		t.Error("no sentence begins with <c>")
	}
	if _, ok := grammar(t, "root ::= [<] \"a\"\n").After("<"); ok {
		t.Error("a class is no literal")
	}
}

func TestWithTokens(t *testing.T) {
	g := grammar(t, `root ::= ("<a>x" | "y")*`+"\n").WithTokens(func(text string) []gbnf.Element {
		if rest, ok := strings.CutPrefix(text, "<a>"); ok {
			return []gbnf.Element{{Kind: gbnf.Token, ID: 7}, {Kind: gbnf.Literal, Text: rest}}
		}
		return []gbnf.Element{{Kind: gbnf.Literal, Text: text}}
	})
	if got, want := g.String(), "root ::= (<[7]> \"x\" | \"y\")*\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func takes(t *testing.T, g *gbnf.Grammar, text string) bool {
	t.Helper()
	m, err := gbnf.NewMatcher(g)
	if err != nil {
		t.Fatal(err)
	}
	m.AcceptString(text)
	return m.Done()
}

// TestLarkLarge writes a grammar that is too large to look for what lexemes swallow: each character
// is a lexeme of its own.
func TestLarkLarge(t *testing.T) {
	var words []string
	for i := range 3000 {
		words = append(words, strconv.Quote(strings.Repeat("ab", 40)+strconv.Itoa(i)))
	}
	text := "root ::= x | y\nx ::= " + strings.Join(words, " | ") + "\ny ::= [c-d] y | \"e\" x\n"
	got := grammar(t, text).Lark()
	if strings.Contains(got, `"ab`) || !strings.Contains(got, `"a" "b"`) || !strings.Contains(got, "/[c-d]/ y") {
		t.Errorf("%d bytes of Lark have lexemes of several characters, up to %s", len(got), got[len(got)-40:])
	}
}

// TestLarkReadBack writes the grammars of the tables as Lark's and reads them back: they have the
// same sentences. Tokens, and counts without an end, cannot be read.
func TestLarkReadBack(t *testing.T) {
	read := 0
	same := func(name string, g *gbnf.Grammar, accept, reject []string) {
		// as a client of the protocols may spell it: Lark's own counts, escapes of four digits
		text := regexp.MustCompile(`\\x\{([0-9a-f]+)\}`).ReplaceAllStringFunc(g.Lark(),
			func(s string) string { return `\u` + ("0000" + s[3:len(s)-1])[len(s)-4:] })
		text = strings.ReplaceAll(text, "(?s:.)", `[\s\S]`)
		text = regexp.MustCompile(`\)\{(\d+)\}`).ReplaceAllString(text, ")~$1")
		text = regexp.MustCompile(`\)\{(\d+),(\d+)\}`).ReplaceAllString(text, ")~$1..$2")
		v := ordered.Pairs(schema.LarkKeyword, text)
		s, err := schema.Parse(v)
		if err != nil {
			return
		}
		read++
		b := gbnf.NewBuilder()
		again, err := b.Grammar(b.Value("v", s, gbnf.Codec{Raw: true}))
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, g.Lark())
			return
		}
		for i, text := range append(slices.Clone(accept), reject...) {
			if takes(t, again, text) != (i < len(accept)) {
				t.Errorf("%s: %q is taken: %t, by\n%s", name, text, i >= len(accept), g.Lark())
			}
		}
	}
	for _, l := range languages {
		same(l.name, parse(t, l.text), l.accept, l.reject)
	}
	for _, s := range schemas {
		same(s.name, fromSchema(t, s.schema), s.accept, s.reject)
	}
	if read < 100 {
		t.Errorf("%d grammars were read", read)
	}
}
