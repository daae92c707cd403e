package jinja

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// vars reads variables from JSON.
func vars(t testing.TB, text string) Vars {
	t.Helper()
	if text == "" {
		return Vars{}
	}
	v, err := ordered.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return VarsFromJSON(v)
}

func compile(t testing.TB, text string) *Template {
	t.Helper()
	tmpl, err := Compile(source.New("t", text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return tmpl
}

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// render gives a template's output, or "error CLASS: text".
func render(t testing.TB, text, input string, o Options) string {
	t.Helper()
	o.Now = clock
	tmpl, err := Compile(source.New("t", text))
	if err != nil {
		return "error " + Class(err) + ": " + err.Error()
	}
	got, err := tmpl.Render(t.Context(), vars(t, input), o)
	if err != nil {
		return "error " + Class(err) + ": " + err.Error()
	}
	return got
}

type renderCase struct{ name, text, vars, want string }

func check(t *testing.T, cases []renderCase) {
	t.Helper()
	for _, c := range cases {
		if got := render(t, c.text, c.vars, Options{}); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.text, got, c.want)
		}
	}
}

// TestScoping covers the rules of package documentation's model: a scope's names are settled before
// it runs.
func TestScoping(t *testing.T) {
	check(t, []renderCase{
		{"set below hides input in a loop above", "{% for i in [1] %}[{{ a }}]{% endfor %}{% set a = 'x' %}{{ a }}", `{"a": "in"}`, "[]x"},
		{"read above set", "{{ a }}{% set a = 'x' %}{{ a }}", `{"a": "in"}`, "inx"},
		{"set in one branch falls back to input", "{% if false %}{% set a = 1 %}{% endif %}{{ a }}", `{"a": "in"}`, "in"},
		{"set in all three branches does not", "{% if x %}{% set a = 1 %}{% elif x %}{% set a = 2 %}{% else %}{% set a = 3 %}{% endif %}{{ a }}", `{"a": "in"}`, "3"},
		{"set in a loop is local", "{% set n = 0 %}{% for i in [1, 2] %}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}{% if true %}{% set n = 9 %}{% endif %}{{ n }}", "", "1109"},
		{"set in a loop starts afresh", "{% for i in [1, 2] %}{% if i == 1 %}{% set a = i %}{% endif %}{{ a }}{% endfor %}", `{"a": "in"}`, "1in"},
		{"loop variable does not leak", "{% for a in [1, 2] %}{% endfor %}{{ a }}", `{"a": "in"}`, "in"},
		{"with", "{% with a = 1, b = a %}{{ a }}{{ b }}{% set a = 2 %}{{ a }}{% endwith %}{{ a }}", `{"a": "in"}`, "1in2in"},
		{"set block", "{% set a %}x{% set b = 1 %}{{ b }}{% endset %}{{ a }}{{ b }}", "", "x1"},
		{"set block with filter", "{% set a | upper %}x{% endset %}{{ a }}", "", "X"},
		{"filter block", "{% filter upper %}a{% set a = 'b' %}{{ a }}{% endfilter %}{{ a }}", "", "AB"},
		{"namespace persists", "{% set ns = namespace(a=1) %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}", "", "4"},
		{"tuple target", "{% set a, (b, c) = [1, 'xy'] %}{{ a }}{{ b }}{{ c }}", "", "1xy"},
		{"generation block", "{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}", "", "21"},
		{"autoescape is a scope", "{% autoescape true %}{% set a = '<' %}{{ a }}{{ '<b>'|safe }}{% endautoescape %}{{ a }}", "", "&lt;<b>"},
		{"not a namespace", "{% set a.b = 1 %}", `{"a": {}}`, "error TemplateRuntimeError: t:1:8: cannot assign attribute on non-namespace object"},
	})
}

func TestLoops(t *testing.T) {
	check(t, []renderCase{
		{"fields", "{% for x in 'ab' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}", "", "1021TrueFalse210 2110FalseTrue210 "},
		{"neighbours", "{% for x in [1, 2] %}[{{ loop.previtem }}{{ loop.nextitem }}]{{ loop.previtem is defined }}{% endfor %}", "", "[2]False[1]True"},
		{"condition", "{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}/{{ loop.length }}{{ loop.previtem }}{{ loop.last }} {% endfor %}", "", "1/2False 2/21True "},
		{"condition is evaluated as the loop goes", "{% set ns = namespace(stop=false) %}{% for x in [1, 2, 3] if not ns.stop %}{{ x }}{% if x == 2 %}{% set ns.stop = true %}{% endif %}{% endfor %}", "", "12"},
		{"condition sees the outer loop", "{% for y in [1, 2] %}{% for x in [1, 2] if x == loop.index %}{{ y }}{{ x }} {% endfor %}{% endfor %}", "", "11 22 "},
		{"else", "{% for x in [] %}{% else %}E{% endfor %}", "", "E"},
		{"else after break", "{% for x in [1, 2] %}{% break %}{% else %}E{% endfor %}", "", "E"},
		{"else after continue", "{% for x in [1, 2] %}{% continue %}{% else %}E{% endfor %}", "", "E"},
		{"no else after a late break", "{% for x in [1, 2] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %}", "", "1"},
		{"break in else leaves the outer loop", "{% for y in [1, 2] %}{{ y }}{% for x in [] %}{% else %}{% break %}{% endfor %}{% endfor %}", "", "1"},
		{"continue out of a set block", "{% for x in [1, 2] %}{{ x }}{% set a %}lost{% continue %}{% endset %}{% endfor %}", "", "12"},
		{"break out of a filter block", "{% for x in [1, 2] %}{{ x }}{% filter upper %}lost{% break %}{% endfilter %}{% endfor %}", "", "1"},
		{"pairs", "{% for k, v in d.items() %}{{ k }}{{ v }}{% if loop.last %}.{% endif %}{% endfor %}", `{"d": {"b": 1, "a": 2}}`, "b1a2."},
		{"iterator", "{% for x in l|map('upper') %}{{ loop.length }}{{ x }}{{ loop.last }}{% endfor %}", `{"l": ["a", "b"]}`, "2AFalse2BTrue"},
		{"cycle and changed", "{% for x in [1, 1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x) }} {% endfor %}", "", "aTrue bFalse aTrue "},
		{"recursive", "{% for x in l recursive %}{{ x.n }}{% if x.c %}({{ loop(x.c) }}){% endif %}{{ loop.depth }}{% endfor %}", `{"l": [{"n": 1, "c": [{"n": 2}, {"n": 3}]}, {"n": 4}]}`, "1(2232)141"},
		{"loop object", "{% for x in [1] %}{% set l = loop %}{{ l.index }}{{ l }}{% endfor %}", "", "1<LoopContext 1/1>"},
		{"not iterable", "{% for x in 1 %}{% endfor %}", "", "error TypeError: t:1:13: 'int' object is not iterable"},
		{"undefined", "{% for x in a %}{% else %}E{% endfor %}", "", "E"},
		{"unpack", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "", "error ValueError: t:1:8: too many values to unpack (expected 2)"},
		{"unpack too few", "{% for a, b in [[1]] %}{% endfor %}", "", "error ValueError: t:1:8: not enough values to unpack (expected 2, got 1)"},
		{"loop is no target", "{% for loop in [1] %}{% endfor %}", "", "error TemplateAssertionError: t:1:8: Can't assign to special loop variable in for-loop target"},
		{"break outside", "{% break %}", "", "error SyntaxError: t:1:4: 'break' outside loop"},
		{"break in a macro", "{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", "", "error SyntaxError: t:1:37: 'break' outside loop"},
		{"recursion without marker", "{% for x in [1] %}{{ loop([1]) }}{% endfor %}", "", "error TypeError: t:1:26: The loop must have the 'recursive' marker to be called recursively."},
	})
}

// TestFailingLoopField reads the length of loops whose condition fails for a later item: the field
// is undefined then, and nothing that the condition began may stay.
func TestFailingLoopField(t *testing.T) {
	const loop = "{% for x in [1, 2] if x == 1 or fails(x) %}{{ loop['length'] }}"
	check(t, []renderCase{
		{"output", "{% macro fails(x) %}[{{ x.a.b }}]{% endmacro %}" + loop + "{{ x }}{% endfor %}", "", "1"},
		{"autoescape", "{% macro fails(x) %}{% autoescape true %}{{ x.a.b }}{% endautoescape %}{% endmacro %}" + loop + "{% set y %}<{% endset %}{{ y is escaped }}{% endfor %}", "", "False"},
		{"block", "{% set now = namespace(on=false) %}{% block fails %}{% set v = 1 %}{% block inner scoped %}{% if now.on %}{{ v.a.b }}{% endif %}{% endblock %}{% endblock %}{% set now.on = true %}" + strings.Replace(loop, "fails(x)", "self.fails()", 1) + "{% endfor %}{{ v }}", "", ""},
		{"arguments", "{% for x in [1, 2, 3] if x < 3 or range('a', 1 + 'a') %}{% for y, l in loop %}{{ range(7, loop.length) }}{% endfor %}{% endfor %}", "", "range(7, 1)"},
	})
}

func TestMacros(t *testing.T) {
	check(t, []renderCase{
		{"defaults", "{% macro m(a, b='B') %}[{{ a }}{{ b }}{{ g }}]{% endmacro %}{{ m() }}{{ m(1, nope) }}{% set g = 'G' %}{{ m() }}{{ m()|length }}", "", "[B][1][BG]4"},
		{"defaults see earlier parameters", "{% macro m(a, b=a ~ 1) %}{{ b }}{% endmacro %}{{ m('x') }}{{ m(b=2) }}", "", "x12"},
		{"varargs and kwargs", "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m(*[1, 2], **{'y': 4}) }}", "", "1(2,){'x': 3}1(2,){'y': 4}"},
		{"caller", "{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}{{ x }}{{ a }}{% endcall %}", `{"a": "in"}`, "<1in>"},
		{"recursion", "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "", "3210"},
		{"nested, reading variables of the outer call", "{% macro m(a) %}{% macro n() %}{{ a }}{% endmacro %}{{ n() }}{% set b = n %}{{ b() }}{% endmacro %}{{ m(1) }}{{ m(2) }}", "", "1122"},
		{"as a value", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}{% set ns = namespace(f=m) %}{{ ns.f(2) }}", "", "<Macro 'm'>m('a',)2"},
		{"above its definition", "{{ m() }}{% macro m() %}{% endmacro %}", "", "error UndefinedError: t:1:5: 'm' is undefined"},
		{"too many", "{% macro m() %}{% endmacro %}{{ m(1) }}", "", "error TypeError: t:1:34: macro 'm' takes not more than 0 argument(s)"},
		{"unknown keyword", "{% macro m() %}{% endmacro %}{{ m(x=1) }}", "", "error TypeError: t:1:34: macro 'm' takes no keyword argument 'x'"},
		{"no caller", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "", "error UndefinedError: t:1:25: No caller defined"},
	})
}

func TestBlocks(t *testing.T) {
	check(t, []renderCase{
		{"in place", "a{% block b %}b{% endblock %}c", "", "abc"},
		{"sees variables of the top", "{% set a = 1 %}{% block b %}{{ a }}{% endblock %}", `{"a": "in"}`, "1"},
		{"does not see a loop", "{% for a in [1] %}{% block b %}{{ a }}{% endblock %}{% endfor %}", `{"a": "in"}`, "in"},
		{"scoped sees it", "{% for a in [1] %}{% block b scoped %}{{ a }}{{ loop.index }}{% endblock %}{% endfor %}", `{"a": "in"}`, "11"},
		{"self", "{% block b %}x{% endblock %}{{ self.b() }}", "", "xx"},
		{"super", "{% block b %}{{ super() }}{% endblock %}", "", "error UndefinedError: t:1:22: there is no parent block called 'b'."},
		{"twice", "{% block b %}{% endblock %}{% block b %}{% endblock %}", "", "error TemplateAssertionError: t:1:31: block 'b' defined twice"},
		{"required", "{% block b required %}{% endblock %}", "", "error TemplateRuntimeError: t:1:4: Required block 'b' not found"},
		{"extends", "{% extends 'a' %}", "", "error TypeError: t:1:4: no loader for this environment specified"},
		{"include", "{% include 'a' ignore missing %}", "", "error TypeError: t:1:4: no loader for this environment specified"},
		{"import", "{% import 'a' as b %}", "", "error TypeError: t:1:4: no loader for this environment specified"},
		{"extends that is not reached", "{% if false %}{% extends 'a' %}{% endif %}x", "", "x"},
		{"extends in a loop", "{% for x in [] %}{% extends 'a' %}{% endfor %}", "", "error TemplateAssertionError: t:1:21: cannot use extend from a non top-level scope"},
	})
}

func TestUnknownFilters(t *testing.T) {
	check(t, []renderCase{
		{"filter", "{{ 1|nope }}", "", "error TemplateAssertionError: t:1:6: No filter named 'nope'."},
		{"test", "{{ 1 is nope }}", "", "error TemplateAssertionError: t:1:6: No test named 'nope'."},
		{"in an if that is not taken", "{% if false %}{{ 1|nope }}{% endif %}x", "", "x"},
		{"in an if that is", "{% if true %}{{ 1|nope }}{% endif %}x", "", "error TemplateRuntimeError: t:1:19: No filter named 'nope' found."},
		{"in a loop in an if", "{% if false %}{% for x in [] %}{{ 1|nope }}{% endfor %}{% endif %}", "", "error TemplateAssertionError: t:1:37: No filter named 'nope'."},
		{"in an inline if", "{{ 1 if true else 1|nope }}", "", "1"},
		{"after a constant", "{{ false and 1|nope }}", "", "False"},
		{"in the name of a set block's filter", "{% set x | replace(a, 'b') %}{% endset %}", "", "error AssertionError: t:1:20: Tried to resolve a name to a reference that was unknown to the frame ('a')"},
	})
}

// TestErrorPlace shows that an error points at its expression, in the source as given, and that its
// text has an excerpt.
func TestErrorPlace(t *testing.T) {
	tmpl := compile(t, "a\r\n{% for m in messages %}\r\n  {{ m.content.text.more }}\r\n{% endfor %}")
	_, err := tmpl.Render(t.Context(), vars(t, `{"messages": [{"content": "x"}]}`), Options{})
	var e *source.Error
	if !errors.As(err, &e) || Class(err) != "UndefinedError" {
		t.Fatalf("got %v", err)
	}
	want := "t:3:20: 'str object' has no attribute 'text'\n      {{ m.content.text.more }} \n                       ^"
	if got := e.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if Class(errors.New("x")) != "" {
		t.Error("an error of another package has no class")
	}
}

// TestLimits runs hostile templates: each ends in an error at its place, soon.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ name, text, class string }{
		{"nested loops", "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}", "LimitError"},
		{"a loop over text", "{% set s = 'a' * 9999999 %}{% for a in s %}{% for b in s %}{% endfor %}{% endfor %}", "LimitError"},
		{"repetition", "{{ 'a' * 10 ** 9 }}", "LimitError"},
		{"repetition of a list", "{{ [1] * 10 ** 9 }}", "LimitError"},
		{"doubling", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "LimitError"},
		{"doubling by join", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}", "LimitError"},
		{"doubling by replace", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('a', 'aa') %}{% endfor %}", "LimitError"},
		{"doubling by ~", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}", "LimitError"},
		{"doubling by a set block", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}", "LimitError"},
		{"set blocks", "{% set s = 'a' * 9999999 %}{% for i in range(99999) %}{% set t %}{{ s }}{% endset %}{% endfor %}", "LimitError"},
		{"set blocks that are left", "{% set s = 'a' * 9999999 %}{% for i in range(99999) %}{% set t %}{{ s }}{% continue %}{% endset %}{% endfor %}", "LimitError"},
		{"comparisons", "{% set s = 'a' * 9999999 %}{% set t = 'a' * 9999999 %}{% for i in range(99999) %}{% if s == t or s + 'b' < t %}{% endif %}{% endfor %}", "LimitError"},
		{"searches", "{% set s = 'a' * 9999999 %}{% for i in range(99999) %}{% if 'b' in s %}{% endif %}{% endfor %}", "LimitError"},
		{"keys", "{% set s = 'a' * 9999999 %}{% set d = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 10: 10} %}{% for i in range(99999) %}{% if d[s] %}{% endif %}{% endfor %}", "LimitError"},
		{"doubling of a list", "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "LimitError"},
		{"a value that holds itself twice", "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}", ""},
		{"big numbers", "{{ 10 ** (10 ** 10) }}", "LimitError"},
		{"squaring", "{% set ns = namespace(n=10) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}", "LimitError"},
		{"output", "{% set s = 'a' * 99999 %}{% for a in range(99999) %}{{ s }}{% endfor %}", "LimitError"},
		{"width of a format", "{{ '%999999999d' % 1 }}", "LimitError"},
		{"width of a format method", "{{ '{:999999999}'.format(1) }}", "LimitError"},
		{"centre", "{{ 'a'|center(999999999) }}", "LimitError"},
		{"indent", "{{ 'a\nb'|indent(999999999) }}", "LimitError"},
		{"recursion", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"},
		{"recursion by caller", "{% macro m() %}{% call m() %}{% endcall %}{{ caller() }}{% endmacro %}{{ m() }}", "RecursionError"},
		{"recursion of a block", "{% block b %}{{ self.b() }}{% endblock %}", "RecursionError"},
		{"recursion of a loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError"},
	} {
		start := time.Now()
		tmpl := compile(t, c.text)
		_, err := tmpl.Render(t.Context(), Vars{}, Options{})
		var e *source.Error
		if !errors.As(err, &e) || c.class != "" && Class(err) != c.class {
			t.Errorf("%s: got %v (%s)", c.name, err, Class(err))
		}
		t.Logf("%-30s %6s %v", c.name, time.Since(start).Round(time.Millisecond/10), err)
	}
}

// TestTimeLimit shows that a clock bounds a render.
func TestTimeLimit(t *testing.T) {
	now := clock()
	o := Options{Limits: Limits{Time: time.Second}, Clock: func() time.Time {
		now = now.Add(time.Second / 10)
		return now
	}}
	_, err := compile(t, "{% for x in range(99999) %}{% endfor %}").Render(t.Context(), Vars{}, o)
	if Class(err) != "LimitError" || !strings.Contains(err.Error(), "longer than allowed") {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	if got := render(t, "{% set x = [1] %}{{ x.append(2) }}", "",
		Options{}); !strings.HasPrefix(got, "error SecurityError") {
		t.Errorf("immutable: got %q", got)
	}
	if got := render(t, "{% set _ = l.append(2) %}{{ l }}", `{"l": [1]}`, Options{Mode: Mutable}); got != "[1, 2]" {
		t.Errorf("mutable: got %q", got)
	}
	if _, err := compile(t, "{{ strftime_now('%Y') }}").Render(t.Context(), Vars{},
		Options{}); err == nil {
		t.Error("strftime_now must fail without a clock")
	}
	a := render(t, "{{ range(1000)|random }}", "", Options{Seed: 1})
	b := render(t, "{{ range(1000)|random }}", "", Options{Seed: 1})
	if a != b {
		t.Errorf("one seed gave %s and %s", a, b)
	}
}

// TestInputUnchanged shows that a template cannot change its caller's variables.
func TestInputUnchanged(t *testing.T) {
	tmpl := compile(t, "{% set x = l.pop() %}{{ l }}")
	v := vars(t, `{"l": [1, 2]}`)
	for range 2 {
		if got, err := tmpl.Render(t.Context(), v, Options{}); got != "[1]" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestReusedMemory checks that a render's results are the same after others have used its memory
// again.
func TestReusedMemory(t *testing.T) {
	const input = `{"x": "one", "m": {"a": [1, {"b": "c"}], "d": "e"}}`
	texts := []string{
		`{% set s = x ~ '-' ~ x %}{{ raise_exception(s + '!' + m|tojson) }}`,
		`{% set s = x ~ '-' ~ x %}{{ m[s].z }}`,
		`{% macro f() %}{{ x }}{{ x }}{% endmacro %}{{ {f() + 'k': 1}[f()] + 1 }}`,
		`{% set s = (m|tojson).replace('1', '2') %}{{ s % (1, 2, 3) }}{{ m.a[1].b ~ s }}`,
		`{% set ns = namespace(t='') %}{% for k, v in m.items() %}{% set ns.t = ns.t ~ k ~ v %}{% endfor %}{{ x.startswith(ns.t) }}{{ x in ns.t ~ x }}{{ x == ns.t + x }}{{ ns.t }}`,
		`{{ [x, x]|join('+')|upper }}{{ [m, x]|string }}{{ ('%s' % x)|list|last }}{{ m.a|map('string')|list }}`,
	}
	type left struct {
		text  Text
		err   string
		trace Trace
	}
	show := func(l *left) string {
		return fmt.Sprintf("%q %v %s %v %v", l.text.String, l.text.Runs, l.err, l.trace.Reads(),
			l.trace.Comparisons())
	}
	var kept []*left
	var said []string
	for range 5 { // blocks grow between renders, so the first ones use the heap
		for _, text := range texts {
			tmpl := compile(t, text)
			for _, o := range []Options{{}, {Origins: true}, {Origins: true, Trace: new(Trace)}} {
				l := new(left)
				if o.Trace != nil {
					o.Trace = &l.trace
				}
				var err error
				if l.text, err = tmpl.RenderText(t.Context(), vars(t, input), o); err != nil {
					l.err = err.Error()
				}
				kept, said = append(kept, l), append(said, strings.Clone(show(l)))
			}
		}
	}
	for i, l := range kept {
		if now := show(l); now != said[i] {
			t.Errorf("a render said %s\nand after others says %s", said[i], now)
		}
		if again := said[len(said)-3*len(texts)+i%(3*len(texts))]; said[i] != again {
			t.Errorf("the same render said %s\nand then %s", said[i], again)
		}
	}
}

func TestNames(t *testing.T) {
	tmpl := compile(t, "{% set a = b %}{{ a }}{% for x in messages if x.y %}{{ x }}{{ loop.index }}{{ enable_thinking is defined }}{% endfor %}{% macro m(q) %}{{ q }}{{ z }}{% endmacro %}{{ range(1) }}{% if b %}{% set c = 1 %}{% endif %}{{ c }}")
	if got, want := fmt.Sprint(tmpl.Names()), "[b c enable_thinking messages z]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVars(t *testing.T) {
	v := NewVars(ordered.Member{Key: "a", Value: ordered.Int(1)}).With("b", ordered.Int(2)).
		With("a", ordered.Str("x"))
	if got, err := compile(t, "{{ a }}{{ b }}").Render(t.Context(), v, Options{}); got != "x2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, ok := v.Get("a"); !ok || got.Text() != "x" {
		t.Errorf("got %v, %v", got, ok)
	}
}

// TestConcurrent renders one template from several goroutines, with variables that they share.
func TestConcurrent(t *testing.T) {
	tmpl := compile(t, "{% macro m(x) %}{% for k, v in x.items() %}{{ k }}={{ v }};{% endfor %}{% endmacro %}{% for x in l %}{{ loop.index }}{{ m(x) }}{% endfor %}")
	v := vars(t, `{"l": [{"a": 1, "b": [1, 2]}, {"c": {"d": null}}]}`)
	want := "1a=1;b=[1, 2];2c={'d': None};"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := tmpl.Render(t.Context(), v, Options{}); got != want || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestTracePlaces asks which part of the template wrote each byte, and which looked at a path or
// beside it last.
func TestTracePlaces(t *testing.T) {
	const text = "A\n{% macro turn(m) %}<{{ m.role }}>{% endmacro %}{% set all %}{{ messages[1].role }}{% endset %}" +
		"{% for m in messages %}{{ turn(m) }}{% if m.role == 'x' %}{{ m.content ~ 'C' }}{% endif %}{% endfor %}{{ all }}Z"
	trace := new(Trace)
	v := vars(t, `{"messages": [{"role": "u", "content": "hidden"}, {"role": "x", "content": "shown"}]}`)
	out, err := compile(t, text).Render(t.Context(), v, Options{Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	const want = "A\n<u><x>shownCxZ"
	if out != want {
		t.Fatalf("got %q", out)
	}
	for off, wrote := range map[int]string{0: "A\n", 2: "<{{", 3: "role }}", 4: ">{% endmacro",
		6: "role }}", 8: "'C' }}", 13: "'C' }}", 14: "all }}Z", 15: "Z"} {
		w, ok := trace.WriteAt(off)
		if !ok || off < w.From || off >= w.To ||
			!strings.HasPrefix(strings.TrimLeft(text[w.Off:], ".~ "), wrote) {
			t.Errorf("byte %d, %q: "+
				"written at %q, want %q", off, want[off], text[w.Off:min(len(text), w.Off+12)],
				wrote)
		}
	}
	if _, ok := trace.WriteAt(len(want)); ok {
		t.Error("something wrote the byte after the end")
	}
	for path, looked := range map[string]string{
		"messages[0].content":    "role == 'x'", // never looked at: the last look beside it
		"messages[1].content":    "content ~",
		"messages[0].name.first": "role == 'x'",
		"messages[7]":            "all }}",
	} {
		at, ok := trace.Nearest(path)
		if !ok || !strings.HasPrefix(strings.TrimLeft(text[at:], "."), looked) {
			t.Errorf("%s: looked at %q, want %q", path, text[at:min(len(text), at+12)], looked)
		}
	}
	if _, ok := trace.Nearest("tools[0]"); ok {
		t.Error("something looked at tools")
	}
}

func TestTrace(t *testing.T) {
	const text = `{%- for m in messages -%}
{%- if m.tool_calls is defined and m.tool_calls -%}{{ m.tool_calls[0].function.name }}{%- endif -%}
{%- if '</think>' in m.content -%}{{ m.content.split('</think>')[-1].strip('\n') }}{%- endif -%}
{%- if m.role == 'user' -%}{{ m['thinking'] }}{%- endif -%}
{%- if 'name' in m -%}{%- endif -%}
{%- endfor -%}{{ enable_thinking }}{{ tools is defined }}{{ mode == 'adaptive' }}`
	trace := new(Trace)
	_, err := compile(t, text).Render(t.Context(), vars(t, `{"messages": [{"role": "user", "content": "a</think>b"}, {"role": "x", "content": "c", "tool_calls": [{"function": {"name": "f"}}]}], "mode": true}`), Options{Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Read{ // the places have a test of their own
		"messages":                                {Value: true},
		"messages[0].tool_calls":                  {Tested: true, Missing: true},
		"messages[1].tool_calls":                  {Tested: true, Value: true},
		"messages[1].tool_calls[0].function.name": {Value: true},
		"messages[0].thinking":                    {Missing: true},
		"messages[0].role":                        {Value: true},
		"messages[0].name":                        {Tested: true, Missing: true},
		"enable_thinking":                         {Missing: true},
		"tools":                                   {Tested: true, Missing: true},
	} {
		want.Path = path
		i := slices.IndexFunc(trace.Reads(), func(r Read) bool { return r.Path == path })
		got := trace.at(path)
		got.First, got.Last, got.order = 0, 0, 0
		if i < 0 || got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
	if got := trace.Literals("messages[0].content", "split"); !slices.Equal(got,
		[]string{"</think>"}) {
		t.Errorf("split: got %q", got)
	}
	if got := trace.Literals("messages[0].content", "in"); !slices.Equal(got,
		[]string{"</think>"}) {
		t.Errorf("in: got %q", got)
	}
	if got := trace.Literals("messages[0].content", "strip"); !slices.Equal(got, []string{"\n"}) {
		t.Errorf("strip: got %q", got)
	}
	if got := trace.Literals("messages[0].role"); !slices.Equal(got, []string{"user"}) {
		t.Errorf("role: got %q", got)
	}
	if got := trace.Literals("mode", "=="); !slices.Equal(got, []string{"adaptive"}) {
		t.Errorf("mode: got %q", got)
	}
	if got := trace.Missing(); !slices.Contains(got, "enable_thinking") ||
		slices.Contains(got, "messages") {
		t.Errorf("missing: got %q", got)
	}
	if !trace.Read("messages[1].content") || trace.Tested("messages") {
		t.Error("content is read, messages not tested")
	}
}

// spans prints runs as text<path role codec>.
func spans(text Text) string {
	var b strings.Builder
	at := 0
	for _, r := range text.Runs {
		b.WriteString(text.String[at : at+r.Len])
		at += r.Len
		if r.Role != Literal {
			fmt.Fprintf(&b, "<%s %s %s>", r.Path, r.Role, r.Codec)
		}
	}
	if at != len(text.String) {
		return "runs do not cover the text"
	}
	return b.String()
}

// TestOrigins covers the paths by which text goes through control structures; those of operators
// and filters are tested with them.
func TestOrigins(t *testing.T) {
	const input = `{"a": "A", "d": {"k": "V"}, "l": ["x", "y"], "n": 3}`
	for _, c := range [][2]string{
		{"[{{ a }}]", "[A<a value plain>]"},
		{"{{ '[' + a + ']' }}", "[A<a value plain>]"},
		{"{{ '[' ~ a ~ n ~ ']' }}", "[A<a value plain>3<n value plain>]"},
		{"{% set x = '[' + a %}{{ x + a }}", "[AA<a value plain>"},
		{"{% set x %}({{ a }}){% endset %}{{ x }}", "(A<a value plain>)"},
		{"{% macro m(x) %}({{ x }}){% endmacro %}{{ m(a) }}{{ m(a) + '.' }}", "(A<a value plain>)(A<a value plain>)."},
		{"{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}{{ a }}{% endcall %}", "(A<a value plain>)"},
		{"{% filter trim %} {{ a }}! {% endfilter %}", "A<a value plain>!"},
		{"{% set ns = namespace(s='') %}{% for x in l %}{% set ns.s = ns.s + x + ',' %}{% endfor %}{{ ns.s }}", "x<l[0] value plain>,y<l[1] value plain>,"},
		{"{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "k<d.k key plain>=V<d.k value plain>"},
		{"{% for k in d %}{{ k }}={{ d[k] }}{% endfor %}", "k<d.k key plain>=V<d.k value plain>"},
		{"{% for x in l %}{{ loop.index }}{% endfor %}", "12< computed plain>"},
		{"{% generation %}{{ a }}{% endgeneration %}{% block b %}{{ a }}{% endblock %}", "AA<a value plain>"},
		{"{{ a if n else 'x' }}{{ nope or a }}", "AA<a value plain>"},
		{"{% for x in l recursive %}{{ x }}{% if loop.first and n %}{{ loop([a]) if not loop.depth0 }}{% endif %}{% endfor %}", "x<l[0] value plain>A<a value plain>y<l[1] value plain>"},
		{"{% with x = a %}{{ x }}{% endwith %}{% autoescape true %}<{{ a }}>{% endautoescape %}", "A<a value plain><A<a value plain>>"},
		{"{{ d|tojson }}", "{<d structure json>k<d.k key json>\": \"<d structure json>"},
	} {
		text, err := compile(t, c[0]).RenderText(t.Context(), vars(t, input),
			Options{Origins: true})
		got := spans(text)
		if strings.HasPrefix(c[1], "{<d structure") {
			if err != nil || !strings.Contains(got, "<d.k key json>") ||
				!strings.Contains(got, "<d.k value json>") ||
				!strings.Contains(got, "<d structure json>") {
				t.Errorf("%s\n got %s (%v)", c[0], got, err)
			}
		} else if got != c[1] || err != nil {
			t.Errorf("%s\n got %s (%v)\nwant %s", c[0], got, err, c[1])
		}
		if plain, _ := compile(t, c[0]).Render(t.Context(), vars(t, input),
			Options{}); plain != text.String {
			t.Errorf("%s: %q with origins, %q without", c[0], text.String, plain)
		}
	}
}

// TestRefused renders with nothing left of a budget: not even a template that takes no steps runs.
func TestRefused(t *testing.T) {
	tmpl, err := Compile(source.New("t", "{% set a = x %}"))
	if err != nil {
		t.Fatal(err)
	}
	for steps, want := range map[int64]string{0: "LimitError", 1: ""} {
		var trace Trace
		_, err := tmpl.Render(t.Context(), Vars{}, Options{Budget: NewBudget(steps), Trace: &trace})
		if got := Class(err); got != want || (len(trace.Reads()) == 0) != (want != "") {
			t.Errorf("with %d steps: %v, after the look-ups %v", steps, err, trace.Reads())
		}
	}
}

// TestLongNames looks a variable with a long name up in many renders that are traced: none of them
// copies it.
func TestLongNames(t *testing.T) {
	const size, renders = 1 << 18, 100
	name := strings.Repeat("x", size)
	tmpl, err := Compile(source.New("t", "{{ "+name+" }}"))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range renders {
		var trace Trace
		if _, err := tmpl.Render(t.Context(), Vars{}, Options{Trace: &trace}); err != nil {
			t.Fatal(err)
		}
		if got := trace.Missing(); len(got) != 1 || got[0] != name {
			t.Fatalf("%d look-ups", len(got))
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > size*renders/10 {
		t.Errorf("%d renders allocate %d bytes for a name of %d", renders, got, size)
	}
}

// TestMissingAgain looks a variable that is missing up again and again: after the first time that
// takes no memory.
func TestMissingAgain(t *testing.T) {
	tmpl, err := Compile(source.New("t", "{% for i in range(90000) %}{{ x }}{% endfor %}"))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var trace Trace
	if _, err := tmpl.Render(t.Context(), Vars{}, Options{Trace: &trace}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 5<<20 {
		t.Errorf("90000 look-ups allocate %d bytes", got)
	}
	if got := trace.Reads(); len(got) != 1 || !got[0].Missing || got[0].Value {
		t.Errorf("look-ups %v", got)
	}
}
