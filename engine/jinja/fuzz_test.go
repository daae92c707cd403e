package jinja

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
)

// grammar makes random templates: each key expands to one of its alternatives.
var grammar = map[string][]string{
	"T": {"B", "BB", "BBB", "BTB"},
	"B": {"text ", "\n", "{{ E }}", "{{- E -}}", "{{ E }}", "{% set V = E %}", "{% set ns.V = E %}",
		"{% set V, V = E %}", "{% if E %}T{% else %}T{% endif %}",
		"{% for V in E %}T{% endfor %}", "{% for V, V in E if E %}T{% else %}T{% endfor %}", "{% for V in E recursive %}T{{ loop(E) }}{% endfor %}", "{% macro V(V=E) %}T{% endmacro %}",
		"{% call(V) V(E) %}T{% endcall %}", "{% set V %}T{% endset %}",
		"{% filter F %}T{% endfilter %}", "{% with V = E %}T{% endwith %}",
		"{% autoescape E %}T{% endautoescape %}",
		"{% generation %}T{% endgeneration %}", "{% break %}", "{% continue %}", "{# T #}",
		"{% raw %}T{% endraw %}", "{%- if E -%}T{%- endif -%}",
		"{% block b scoped %}T{% endblock %}"},
	"E": {"V", "V", "L", "L", "E + E", "E ~ E", "E - E", "E * E", "E % E", "E // E", "-E", "E == E",
		"E < E", "E in E", "not E", "E and E", "E or E", "E if E else E", "E.K", "E[E]", "E[E:E]",
		"E[::E]",
		"E|F", "E|F|F", "E is P", "V(E)", "V(V=E)", "V(*E, **E)", "E.M(E)", "E.M(E, E)", "(E)",
		"[E, E]", "(E, E)", "{E: E}", "loop.index", "loop.last", "loop.cycle(E, E)", "range(E)",
		"namespace(V=E)", "caller(E)", "dict(V=E)", "cycler(E, E)"},
	"L": {"0", "1", "-1", "2.5", "'a'", "'<b> %s {} é'", "''", "[]", "[3, 1, 2]", "{'a': 1}",
		"true", "none", "10 ** 3", "'%d'"},
	"V": {"a", "b", "x", "ns", "loop", "d", "l", "m", "varargs", "self", "caller"},
	"K": {"a", "items", "content", "index", "name"},
	"F": {"upper", "trim", "length", "tojson", "list", "join(E)", "default(E)", "string", "int",
		"first", "last", "replace(E, E)", "map('upper')", "map(attribute='a')", "selectattr('a')",
		"sort", "unique", "items", "dictsort", "safe", "e", "indent(2)", "reverse", "batch(2)",
		"groupby('a')", "title", "wordwrap(5)", "truncate(5)", "round", "abs", "sum", "min",
		"format(E)", "center(9)", "urlencode", "xmlattr", "striptags", "pprint", "slice(2)",
		"attr('a')", "tojson(indent=E)"},
	"P": {"defined", "none", "string", "mapping", "iterable", "odd", "divisibleby E", "equalto(E)",
		"in E", "callable", "sameas(E)"},
	"M": {"split", "strip", "items", "get", "format", "replace", "join", "startswith", "count",
		"index", "append", "pop", "update", "keys", "upper", "center", "encode", "zfill",
		"partition", "find"},
}

func generate(r *rand.Rand, symbol string, budget *int) string {
	alternatives := grammar[symbol]
	*budget--
	pick := alternatives[r.IntN(len(alternatives))]
	if *budget < 0 {
		pick = alternatives[0]
	}
	var b strings.Builder
	for _, c := range pick {
		if s := string(c); grammar[s] != nil {
			b.WriteString(generate(r, s, budget))
		} else {
			b.WriteString(s)
		}
	}
	return b.String()
}

const fuzzVars = `{"a": "text", "b": 7, "d": {"a": {"a": [1]}, "content": "<c>", "items": 1}, "l": [{"a": 2}, {"a": 1, "name": null}], "x": [1.5, "é", true, null]}`

// renderAll renders a template in every way and checks the properties of any template: no panic,
// the same text and error with and without origins, runs that cover the text, positioned errors.
func renderAll(t *testing.T, text string) {
	tmpl, err := Compile(source.New("t", text))
	if err != nil {
		positioned(t, text, err)
		return
	}
	o := Options{Limits: Limits{Steps: 20_000, OutputBytes: 1 << 16, Depth: 40}, Now: clock}
	got, err := tmpl.Render(t.Context(), vars(t, fuzzVars), o)
	positioned(t, text, err)
	o.Origins, o.Trace = true, new(Trace)
	traced, err2 := tmpl.RenderText(t.Context(), vars(t, fuzzVars), o)
	if got != traced.String || Class(err) != Class(err2) {
		t.Fatalf("%q\nplain   %q %v\norigins %q %v", text, got, err, traced.String, err2)
	}
	n := 0
	for _, r := range traced.Runs {
		n += r.Len
	}
	if n != len(got) {
		t.Fatalf("%q: runs cover %d of %d bytes", text, n, len(got))
	}
	o.Mode = Mutable
	_, err = tmpl.RenderText(t.Context(), vars(t, fuzzVars), o)
	positioned(t, text, err)
}

func positioned(t *testing.T, text string, err error) {
	var e *source.Error
	if err != nil && (!errors.As(err, &e) || e.Off < 0 || e.Off > len(text) || Class(err) == "") {
		t.Fatalf("%q: error without place or class: %v", text, err)
	}
}

// TestRandomTemplates is the fuzz target's property on templates made from the grammar.
func TestRandomTemplates(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		budget := 40
		renderAll(t, generate(r, "T", &budget))
	}
}

func FuzzRender(f *testing.F) {
	f.Add(chatTemplate, uint64(0))
	f.Add("", uint64(1))
	f.Add("{% for k, v in d.items() %}{{ k|upper ~ v }}{% endfor %}", uint64(0))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if text == "" {
			budget := 80
			text = generate(rand.New(rand.NewPCG(seed, 1)), "T", &budget)
		}
		renderAll(t, text)
	})
}
