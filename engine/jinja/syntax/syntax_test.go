package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
)

func parse(t *testing.T, text string) *Template {
	t.Helper()
	tree, err := Parse(source.New("t", text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return tree
}

// expr parses one expression and prints it.
func expr(t *testing.T, text string) string {
	t.Helper()
	return Show(parse(t, "{{ "+text+" }}").Body[0].(*Output).Parts[0])
}

func TestExpressions(t *testing.T) {
	for _, c := range [][2]string{
		{"1 + 2 ~ 3", "Binary(+ 1 Concat([2 3]))"},
		{"1 - 2 - 3", "Binary(- Binary(- 1 2) 3)"},
		{"2 ** 3 ** 2", "Binary(** Binary(** 2 3) 2)"},
		{"-2 ** 2", "Binary(** Unary(- 2) 2)"},
		{"-a.b", "Unary(- Attr(a b))"},
		{"-1|abs", "Filter(Unary(- 1) abs Args([] [] _ _))"},
		{"3 - 5|abs", "Binary(- 3 Filter(5 abs Args([] [] _ _)))"},
		{"a or b and not c", "Logic(or a Logic(and b Unary(not c)))"},
		{"a < b == c not in d", "Compare(a [Operand(< b) Operand(== c) Operand(not in d)])"},
		{"a if b else c if d else e", "Cond(b a Cond(d c e))"},
		{"a if b if c", "Cond(c Cond(b a _) _)"},
		{"x is not none", "Unary(not Test(x none Args([] [] _ _)))"},
		{"x is divisibleby 3", "Test(x divisibleby Args([3] [] _ _))"},
		{"x is sameas y.z[0]", "Test(x sameas Args([Item(Attr(y z) 0)] [] _ _))"},
		{"x is none and y", "Logic(and Test(x none Args([] [] _ _)) y)"},
		{"m('a', *b, c=1, **d)", `Call(m Args(["a"] [Keyword(c 1)] b d))`},
		{"x[1:2, ::3]", "Item(x Tuple([Slice(1 2 _) Slice(_ _ 3)]))"},
		{"x.0.y", "Attr(Item(x 0) y)"},
		{"{'a': [1, (2,), ()], }", `Dict([Pair("a" List([1 Tuple([2]) Tuple([])]))])`},
		{"'a' \"b\"", `"ab"`},
		{"1_000 + 0x_F + 1_0.5e-1_0 + 0b1_0", "Binary(+ Binary(+ Binary(+ 1000 0xF) 10.5e-10) 0b10)"},
		{`'\d\x41\u00e9\é\101\` + "\n" + `.'`, `"\\dAé\\xe9A."`},
		{"x|a|b(1)|c.d", "Filter(Filter(Filter(x a Args([] [] _ _)) b Args([1] [] _ _)) c.d Args([] [] _ _))"},
		{"if", "if"},
		{"a, b", "Tuple([a b])"},
	} {
		if got := expr(t, c[0]); got != c[1] {
			t.Errorf("%s\n got %s\nwant %s", c[0], got, c[1])
		}
	}
}

// TestWhitespace covers the white space that tags take off the text around them.
func TestWhitespace(t *testing.T) {
	for _, c := range [][2]string{
		{"a\n  {# c #}\n  b\n", "a\n|  b"},
		{"a {# c #}\nb", "a |b"},
		{"a\n  {#- c -#}  \n b", "a|b"},
		{"a\n  {#+ c +#}\nb", "a\n  |\nb"},
		{"a\r\nb\rc\r\n", "a\nb\nc"},
		{"a\n\n", "a\n"},
		{"  {% raw %}\n {{ x }} {# {% endraw %}\nb", "\n {{ x }} {# |b"},
		{"a {%- raw -%}  x  {%- endraw -%}  b", "a|x|b"},
		{"a\n  {% raw %}x\n  {% endraw %}b", "a\n|x\n|b"},
		{"a{#", "a"},
		{"{ a } {", "{ a } {"},
	} {
		var got []string
		for _, s := range parse(t, c[0]).Body {
			for _, part := range s.(*Output).Parts {
				got = append(got, part.(*Const).Text)
			}
		}
		if text := strings.Join(got, "|"); text != c[1] {
			t.Errorf("%q\n got %q\nwant %q", c[0], text, c[1])
		}
	}
}

func TestTree(t *testing.T) {
	text := `{% macro m(a, b=1) %}{{ a }}{% endmacro %}
{% for k, v in d.items() if v recursive %}
x{% break %}
{% else %}
{% continue %}
{% endfor %}
{% if a %}{% elif b %}{% set c = 1, %}{% else %}{% set ns.x | upper | trim %}y{% endset %}{% endif %}
{% call(x) m(1) %}{% endcall %}{% filter upper|replace('a', 'b') %}{% endfilter %}
{% with a = 1, b = 2 %}{% endwith %}{% autoescape true %}{% endautoescape %}
{% generation %}{% endgeneration %}{% block b scoped required %} {% endblock b %}
{% extends 'a' %}{% include ['a'] ignore missing without context %}{% import 'a' as b with context %}
{% from 'a' import b, c as d with context %}{% print a, b %}`
	want := `Macro@3(m Params([a b] [1]) [Output@24([a])])
For@46(Tuple([k v]) Call(Attr(d items) Args([] [] _ _)) v true [Output@86(["x"]) Break@90()] [Continue@113()])
If@141(a [] [If@151(b [Assign@163(c Tuple([1]))] [] [])] [AssignBlock@189(AttrTarget(ns x) Filter(Filter(_ upper Args([] [] _ _)) trim Args([] [] _ _)) [Output@215(["y"])])])
CallBlock@243(Params([x] []) Call(m Args([1] [] _ _)) [])
FilterBlock@274(Filter(Filter(_ upper Args([] [] _ _)) replace Args(["a" "b"] [] _ _)) [])
With@326([a b] [1 2] [])
Autoescape@362(true [])
Generation@403([])
Block@438(b true true [Output@464([" "])])
Extends@485("a")
Include@502(List(["a"]) true false)
Import@552("a" b true)
FromImport@587("a" [Alias(b b) Alias(c d)] true)
Output@631([a b])
`
	var got strings.Builder
	for _, s := range parse(t, text).Body {
		got.WriteString(Show(s) + "\n")
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{{ a", "1:5: unexpected end of template, expected 'end of print statement'."},
		{"{{ }}", "1:4: Expected an expression, got 'end of print statement'"},
		{"{{ a b }}", "1:6: expected token 'end of print statement', got 'b'"},
		{"a\r\n{{ (1] }}", "2:6: unexpected ']', expected ')'"},
		{"{{ a ! }}", "1:6: unexpected char '!' at 5"},
		{"{{ 'a }}", `1:4: unexpected char "'" at 3`},
		{"{% if a %}", "1:11: Unexpected end of template. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be closed is 'if'."},
		{"{% for a in b %}{% endif %}", "1:20: Encountered unknown tag 'endif'. Jinja was looking for the following tags: 'endfor' or 'else'. The innermost block that needs to be closed is 'for'."},
		{"{% if a %}{% for a in b %}{% endif %}", "1:30: Encountered unknown tag 'endif'. You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for 'endfor' or 'else'. The innermost block that needs to be closed is 'for'."},
		{"{% do x %}", "1:4: Encountered unknown tag 'do'."},
		{"{% %}", "1:4: tag name expected"},
		{"{% set a.b.c = 1 %}", "1:11: expected token 'end of statement block', got '.'"},
		{"{% set 1 = 2 %}", "1:8: can't assign to 'const'"},
		{"{% for a, in b %}{% endfor %}", "1:14: expected token 'in', got 'b'"},
		{"{% for i in a if x else b %}{% endfor %}", "1:20: expected token 'end of statement block', got 'else'"},
		{"{{ x is none if true else 1 }}", "1:17: expected token 'end of print statement', got 'true'"},
		{"{{ x is a is b }}", "1:11: You cannot chain multiple tests with is"},
		{"{{ f(a=1, b) }}", "1:5: invalid syntax for function call expression"},
		{"{{ f(a=1, a=2) }}", "1:11: keyword argument repeated: a"},
		{"{% macro m(a, a) %}{% endmacro %}", "1:15: duplicate argument 'a' in function definition"},
		{"{% macro m(a=1, b) %}{% endmacro %}", "1:18: non-default argument follows default argument"},
		{"{% block a-b %}{% endblock %}", "1:11: Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead."},
		{"{# a", "1:1: Missing end of comment tag"},
		{"{% raw %} a", "1:1: Missing end of raw directive"},
		{"{% from 'a' import _b %}", "1:20: names starting with an underline can not be imported"},
		{`{{ '\x4' }}`, `1:4: truncated \xXX escape`},
		{"{% call a %}{% endcall %}", "1:4: expected call"},
	} {
		_, err := Parse(source.New("t", c.text))
		var class Class
		if err == nil || err.Error() != "t:"+c.want || !errors.As(err, &class) {
			t.Errorf("%q\n got %v\nwant t:%s", c.text, err, c.want)
		}
	}
}

// TestLimits shows that no source exhausts the stack: nesting of every kind is bounded, in time
// linear in the source.
func TestLimits(t *testing.T) {
	const n = 100_000
	for _, c := range [][3]string{
		{"{{ ", "(", ""}, {"{{ ", "[", ""}, {"{{ ", "{1:", ""}, {"{{ ", "-", "1 }}"}, {"{{ ", "not ", "1 }}"}, {"{{ 1", " if 1 else 1", " }}"},
		{"{{ 1", " if 1", " }}"}, {"{{ f", "(f", ""}, {"{{ x", ".y", " }}"}, {"{{ x", "[x", ""}, {"{{ x", "|y", " }}"}, {"{{ 1", "+1", " }}"},
		{"{{ 1", " or 1", " }}"}, {"{{ 1", "**1", " }}"}, {"", "{% if x %}", ""}, {"", "{% for x in y %}", ""},
	} {
		_, err := Parse(source.New("t", c[0]+strings.Repeat(c[1], n)+c[2]))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxDepth)+" levels") &&
			!strings.Contains(err.Error(), fmt.Sprint(MaxOperators)+" operators") {
			t.Errorf("%s%s...: got %v", c[0], c[1], err)
		}
	}
}

// benchSource is a template of the usual kind, repeated to a useful size.
var benchSource = strings.Repeat(`{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
        {#- a comment #}
    {%- endif %}
{%- endfor %}
`, 50)

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchSource)))
	b.ReportAllocs()
	src := source.New("t", benchSource)
	for b.Loop() {
		if _, err := Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(benchSource[:600])
	f.Add("{% macro m(a, b=[1]) %}{{ a|x(y=1)[1:2] }}{% endmacro %}{% raw %}{% endraw %}{# c -#}")
	f.Add("{% set a | b %}{{ 'x\\u12' ~ 0x1F.e }}{%- endset +%}\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := Parse(source.New("t", text))
		if err != nil {
			var e *source.Error
			if !errors.As(err, &e) || e.Off < 0 || e.Off > len(text) {
				t.Fatalf("not positioned: %v", err)
			}
			return
		}
		for n := range tree.All() {
			if n.Offset() < 0 || n.Offset() > len(text) {
				t.Fatalf("%T at %d of %d bytes", n, n.Offset(), len(text))
			}
		}
	})
}
