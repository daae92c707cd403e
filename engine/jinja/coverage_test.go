package jinja_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// covered renders a template for each of the variables and lists the outcomes that none reached, by
// the text at their site.
func covered(t *testing.T, text string, vars ...string) string {
	t.Helper()
	tmpl, err := jinja.Compile(source.New("test", text))
	if err != nil {
		t.Fatal(err)
	}
	var all jinja.Coverage
	for _, v := range vars {
		value, err := ordered.ParseString(v)
		if err != nil {
			t.Fatal(err)
		}
		var one jinja.Coverage
		_, _ = tmpl.Render(t.Context(), jinja.VarsFromJSON(value), jinja.Options{Coverage: &one})
		all.Add(&one)
		if all.Add(&one) {
			t.Errorf("%q: adding twice brings something new", text)
		}
	}
	sites := slices.Clone(tmpl.Sites())
	var out []string
	for i, s := range sites {
		for _, o := range s.Kind.Outcomes() {
			if !all.Reached(i, o) {
				out = append(out, fmt.Sprintf("%s@%s:%s", s.Kind, strings.Fields(text[s.Test:])[0],
					o))
			}
		}
	}
	return strings.Join(out, " ")
}

func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		text string
		vars []string
		want string
	}{
		{"{% if a %}x{% endif %}", []string{`{"a": true}`}, "if@a:false"},
		{"{% if a %}x{% endif %}", []string{`{"a": true}`, `{}`}, ""},
		{"{% if a %}x{% elif b %}y{% elif c %}z{% endif %}", []string{`{"b": 1}`}, "if@a:true elif@b:false elif@c:false elif@c:true"},
		{"{{ 'x' if a else 'y' }}", []string{`{}`}, "inline if@a:true"},
		{"{% set x = 'x' if a else 'y' %}", []string{`{"a": 1}`}, "inline if@a:false"},
		{"{{ 'x' if a }}", []string{`{"a": 1}`}, "inline if@a:false"},
		{"{% for x in a %}x{% endfor %}", nil, "for@a:empty for@a:entered for@a:repeated"},
		{"{% for x in a %}x{% endfor %}", []string{`{"a": []}`}, "for@a:entered for@a:repeated"},
		{"{% for x in a %}x{% endfor %}", []string{`{"a": [1]}`}, "for@a:empty for@a:repeated"},
		{"{% for x in a %}x{% endfor %}", []string{`{"a": [1, 2]}`}, "for@a:empty"},
		{"{% for x in a if x > 1 %}x{% endfor %}", []string{`{"a": [1, 2]}`}, "for@a:empty for@a:repeated"},
		{"{% for x in a %}{% break %}{% endfor %}", []string{`{"a": [1, 2]}`}, "for@a:empty for@a:repeated"},
		{"{% for x in a recursive %}{{ loop(x.b) }}{% endfor %}", []string{`{"a": [{"b": []}]}`}, "for@a:repeated"},
		{"{% macro m(a) %}{% if a %}x{% endif %}{% endmacro %}{{ m(true) }}", []string{`{}`}, "if@a:false"},
		{"{{ a and 'x' }}", []string{`{}`}, "text@'x':written"},
		{"{{ a and 'x' }}", []string{`{"a": 1}`}, ""},
		{"{{ a | default('x') }}{{ b or 'y' }}", []string{`{"a": 1}`}, "text@'x'):written"},
		{"{{ ['x', 'y'][a] }}", []string{`{"a": 1}`}, "text@'x',:written"},
		{"{% set t = {'k': 'x', 'l': 'y'} %}{{ t[a] }}{{ t.m }}",
			[]string{`{"a": "k"}`}, "text@'y'}:written"},
		{"{% set t = {'k': 'x', 'l': 'y'} %}{{ t.k }}{% if t.l == 'y' %}{% endif %}",
			[]string{`{}`}, "if@==:false"},
		{"{{ ['x" + strings.Repeat("', 'y", 16) + "', 'a b c d e'][a] }}",
			[]string{`{"a": 0}`}, "text@'a:written"},
		{"{{ 'x' * a }}{{ 'xyz'[:a] }}", []string{`{"a": 0}`}, "text@'x':written text@'xyz'[:a]:written"},
		{"{{ 'xyz'[:a] }}", []string{`{"a": 2}`, `{"a": 1}`}, "text@'xyz'[:a]:written"},
		{"{{ 'xyz'[:a] }}", []string{`{"a": 3}`}, ""},
		{"{{ ' x '[:a] | trim | upper }}", []string{`{"a": 3}`}, ""},
		{"{{ ['x', 'y'] | select('eq', a) | join }}", []string{`{"a": "y"}`}, "text@'x',:written"},
		{"{% set p = 'x' %}{% set q = 'y' %}{{ p }}{% if q == 'y' %}{% endif %}",
			[]string{`{}`}, "if@==:false"},
		{"{% set ns = namespace(p='x', q='y') %}{{ ns.p * a }}",
			[]string{`{}`, `{"a": 0}`}, "text@'x',:written"},
		{"{% macro m(p='x') %}{{ p }}{% endmacro %}{{ m('') }}", []string{`{}`}, "text@'x'):written"},
		{"{% set p %}x{% endset %}{{ a and p }}", []string{`{}`}, "text@x{%:written"},
		{"{{ '%s is %s' | format('x', a) if a }}", []string{`{"a": 1}`}, "inline if@a:false"},
		{"{{ 'x' }}{{ 'y' + 'z' ~ 'w' }}{{ 'v' if a else 'u' }}", []string{`{}`}, "inline if@a:true"},
		{"{{ a and 'x' }}{{ raise_exception('no') }}", []string{`{"a": 1}`}, "text@'x':written"},
		{"{% if a %}x{% endif %}{{ raise_exception('no') }}{% if b %}y{% endif %}", []string{`{"a": 1}`}, "if@a:false if@b:false if@b:true"},
	} {
		if got := covered(t, c.text, c.vars...); got != c.want {
			t.Errorf("%q with %q leaves %q, want %q", c.text, c.vars, got, c.want)
		}
	}
}

// TestCoverageOff renders without a coverage, which allocates no more than it did.
func TestCoverageOff(t *testing.T) {
	tmpl, err := jinja.Compile(source.New("test", "{% for x in a %}{% if x %}x{% endif %}{% endfor %}"))
	if err != nil {
		t.Fatal(err)
	}
	vars := jinja.NewVars()
	without := testing.AllocsPerRun(100, func() {
		_, _ = tmpl.Render(t.Context(), vars,
			jinja.Options{})
	})
	var c jinja.Coverage
	with := testing.AllocsPerRun(100,
		func() { _, _ = tmpl.Render(t.Context(), vars, jinja.Options{Coverage: &c}) })
	if with != without {
		t.Errorf("%v allocations with a coverage, %v without", with, without)
	}
}
