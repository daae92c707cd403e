package schema

import (
	"slices"
	"strings"
	"testing"
)

// patch is a grammar of patches, as agents give it for a tool that edits files.
const patch = `start: begin hunk+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?

hunk: add | delete | update   // of one file
add: "*** Add File: " filename LF added+
delete: "*** Delete File: " filename LF
update: "*** Update File: " filename LF move? change?
filename: /(.+)/
added: "+" /(.*)/ LF -> line
move: "*** Move to: " filename LF
change: (context | line)+ eof?
context: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
eof: "*** End of File" LF

%import common.LF
`

func TestLark(t *testing.T) {
	for _, c := range []struct {
		name, grammar string
		in, out       []string
	}{
		{"patch", patch,
			[]string{"*** Begin Patch\n*** Add File: a.go\n+package a\n*** End Patch\n",
				"*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ f()\n-x\n+y\n" +
					"*** Delete File: c\n*** End Patch"},
			[]string{"", "*** Begin Patch\n*** End Patch",
				"*** Begin Patch\n*** Add File: a\nb\n*** End Patch"}},
		{"alternatives over lines", "start: \"a\"\n  | \"b\" x\n\n// none\nx: \"c\"~2 | \"d\"~1..2\n",
			[]string{"a", "bcc", "bd", "bdd"}, []string{"b", "bc", "ac"}},
		{"terminals", "start: [SIGN] INT (\",\" INT)* WS_INLINE? WORD\nSIGN.2: \"+\" | \"-\"\n" +
			"WORD: (\"a\"..\"f\"|/[x-z]/)+\n%import common (INT, WS_INLINE)\n",
			[]string{"1a", "-12,3 fx"}, []string{"a", "1", "1g", "--1a"}},
		{"signs", `?start: "a.b" "(c)"i "\n\t\"\\é" "-"..":"`,
			[]string{"a.b(C)\n\t\"\\é5", "a.b(c)\n\t\"\\é-"},
			[]string{"axb(c)\n\t\"\\é5", "a.b(c)\n\t\"\\éx"}},
		{"another name", "start: N \"=\" STRING\n%import common.NUMBER -> N\n" +
			"%import common.ESCAPED_STRING -> STRING", []string{`1.5e3="a\"b"`, `7=""`},
			[]string{`a=""`, `1="`}},
		{"sums", sums, []string{"1", "1+2*(3-4)", "((1))", "1-2-3"},
			[]string{"", "1+", "(1", "1)", "()", "1 + 2"}},
		{"JSON", "start: value\nvalue: ESCAPED_STRING | list | object | /-?[0-9]+/\n" +
			"list: \"[\" [value (\",\" value)*] \"]\"\nobject: \"{\" [pair (\",\" pair)*] \"}\"\n" +
			"pair: ESCAPED_STRING \":\" value\n%import common.ESCAPED_STRING\n",
			[]string{`[]`, `{"a":[1,{"b":[[]]}]}`, `"x/\n"`}, []string{`[`, `[1,]`, `{"a"}`, `{"a":[}]`}},
		{"brackets", "start: (\"(\" start \")\")*", []string{"", "()(())"}, []string{"(", ")(", "(()"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			pattern, err := ParseLark(c.grammar)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.in {
				if ok, err := pattern.Match(text); !ok || err != nil {
					t.Errorf("%q is not let through (%v)", text, err)
				}
			}
			for _, text := range c.out {
				if ok, err := pattern.Match(text); ok || err != nil {
					t.Errorf("%q is let through (%v)", text, err)
				}
			}
		})
	}
}

// sums has rules that begin with themselves.
const sums = "start: sum\nsum: sum (\"+\" | \"-\") product | product\n" +
	"product: product \"*\" atom | atom\natom: /[0-9]+/ | \"(\" sum \")\"\n"

// TestLarkForms reads comments, names with digits, rules that repeat themselves and one alone.
func TestLarkForms(t *testing.T) {
	for _, tt := range []struct {
		grammar   string
		take, not []string
	}{
		{"# first\nstart: a1\n# within\n  | \"b\" -> b2\n// last\na1: a1 | \"a\"\n", []string{"a", "b"}, []string{"", "aa"}},
		{"start: start \"x\" | start \"y\" | \"a\" \"b\" | \"\"\n", []string{"", "ab", "abxy", "yx"}, []string{"a", "xab"}},
		{"start: (\"\" | \"a\") b\nb: (\"c\" | \"\") \"d\"\n", []string{"d", "acd", "cd"}, []string{"a", "c"}},
		{"start: \"é\"~0..2 \"a\"..\"c\" /x/\n", []string{"ax", "ééax"}, []string{"x", "éééax"}},
	} {
		p, err := ParseLark(tt.grammar)
		if err != nil {
			t.Errorf("%q: %v", tt.grammar, err)
			continue
		}
		for i, text := range append(slices.Clone(tt.take), tt.not...) {
			if got, err := p.Match(text); err != nil || got != (i < len(tt.take)) {
				t.Errorf("%q: %q is taken: %t, %v", tt.grammar, text, got, err)
			}
		}
	}
}

func TestLarkErrors(t *testing.T) {
	for _, c := range []struct{ grammar, want string }{
		{"", "it has no rule start"},
		{"x", `line 1: expected a definition, found "x"`},
		{"start: x", "line 1: x is not defined"},
		{"start: \"a\"\n\n  | \"b\n", `line 3: the text "b has no closing quote, or an unknown escape`},
		{"start: \"a\" x\nx: \"b\" start", "line 1: start has no end: each of its choices names a " +
			"rule again"},
		{"start: a\na: b \"x\" | \"y\"\nb: \"z\"? a", "line 2: a comes back to itself before a " +
			"character is read, by another rule or past an empty text; write it as a repetition"},
		{"start: \"a\"~3..2", "line 1: ~3..2: expected counts in order, at most 1000000"},
		{"start: \"a\"~99999999999999999999", "line 1: ~99999999999999999999: expected counts in order, at most 1000000"},
		{"start: \"a\"~1..99999999999999999999", "line 1: ~1..99999999999999999999: expected counts in order, at most 1000000"},
		{"start: \"a\"~1..1000001", "line 1: ~1..1000001: expected counts in order, at most 1000000"},
		{"start: \"\"..\"c\"", "line 1: a range needs one character on each side"},
		{"start: \"a\"..\"\"", "line 1: a range needs one character on each side"},
		{"start: \"a\"..\"bc\"", "line 1: a range needs one character on each side"},
		{"start: \"a\"..b", "line 1: a range needs one character on each side"},
		{"start: \"a\" -> ", "line 1: expected a name after ->"},
		{"start: a b\na: \"x\" | c\nc: \"\"\nb: (\"\" | a) b \"y\" | \"z\"", "line 4: b comes back to itself before a character is read, by another rule or past an empty text; write it as a repetition"},
		{"start: \"b\"..\"a\"", "line 1: the range from 'b' to 'a' is not in order"},
		{"start: /(?=a)/", "line 1: /(?=a)/: look-around at byte 4 of the pattern"},
		{"start: (\"a\"", "line 1: expected ) before the end of the definition"},
		{"start: /a/i", "line 1: /a/i: flags are not supported"},
		{"start: /a", "line 1: a regular expression has no end"},
		{"start: \"ab\"..\"c\"", "line 1: a range needs one character on each side"},
		{"start: x{\"a\"}", "line 1: templates such as x are not supported"},
		{"start: \"a\"\n%ignore \" \"", `line 2: "%ignore \" \"" is not supported; expected an ` +
			"import of common terminals"},
		{"start: X\n%import common.X", `line 2: there is no common terminal "X"`},
		{"start: \"a\"\nstart: \"b\"", "line 2: start is defined in line 1 already"},
		{"start: *", `line 1: expected a text, a regular expression, a group or a name, found "*"`},
		{"start: " + strings.Repeat("(", 1000), "line 1: more than 200 groups and rules stand " +
			"within each other"},
		{strings.Repeat(" ", maxLark+1), "it has more than 65536 bytes"},
	} {
		if _, err := ParseLark(c.grammar); err == nil || err.Error() != c.want {
			t.Errorf("%.60q: %v, want %s", c.grammar, err, c.want)
		}
	}
}

// doubling is a grammar each of whose rules has the next one twice.
func doubling() string {
	var b strings.Builder
	b.WriteString("start: a\n")
	for c := 'a'; c < 'z'; c++ {
		b.WriteString(string(c) + ": " + string(c+1) + " " + string(c+1) + "\n")
	}
	return b.String() + "z: \"z\"\n"
}

// FuzzLark reads any grammar: it ends, and so does matching by it.
func FuzzLark(f *testing.F) {
	f.Add(patch, "*** Begin Patch\n")
	f.Add("start: (\"a\" | [/b/ x~2..3])+ -> y\nx: \"a\"..\"c\"i\n%import common (WS, LF)\n", "aba")
	f.Add(sums, "1+(2)")
	f.Add(doubling(), "z")
	f.Fuzz(func(t *testing.T, grammar, text string) {
		if pattern, err := ParseLark(grammar); err == nil {
			pattern.Match(text)
		}
	})
}
