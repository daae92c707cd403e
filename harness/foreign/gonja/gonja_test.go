package gonja

import (
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// render asks gonja alone, without the native engine's guard.
func render(r *Renderer, template, vars string) (string, error) {
	v, err := ordered.ParseString(vars)
	if err != nil {
		return "", err
	}
	return r.ask(source.New("t.jinja", template),
		request{Source: template, Vars: v, Now: clock().Format(time.RFC3339Nano), Render: true})
}

func TestRender(t *testing.T) {
	r := new(Renderer)
	defer r.Close()
	for _, test := range []struct{ name, template, vars, want string }{
		{"tojson keeps order and escapes nothing", `{{ d | tojson }}`, `{"d": {"b": 1.0, "a": ["<é>", 1e16, [], null, true]}}`, `{"b": 1.0, "a": ["<é>", 1e+16, [], null, true]}`},
		{"tojson indents", `{{ d | tojson(indent=2) }}`, `{"d": {"a": [], "b": [1]}}`, "{\n  \"a\": [],\n  \"b\": [\n    1\n  ]\n}"},
		{"tojson separators", `{{ d | tojson(separators=(',', ':')) }}`, `{"d": {"a": [1, 2]}}`, `{"a":[1,2]}`},
		{"tojson sorts", `{{ d | tojson(sort_keys=true) }}`, `{"d": {"b": 1, "a": 2}}`, `{"a": 2, "b": 1}`},
		{"the clock is given", `{{ strftime_now('%d %B %Y %-H:%M') }}`, `{}`, "02 January 2026 3:04"},
		{"generation block", "a{% generation %}b{{ x }}{% endgeneration %}c", `{"x": 1}`, "ab1c"},
		{"loop controls", `{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}`, `{}`, "02"},
		{"namespace", `{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}`, `{}`, "3"},
		{"items in order", `{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in d | items %}{{ k }}{% endfor %}`, `{"d": {"z": 1, "a": 2}}`, "z=1;a=2;za"},
		{"string methods", `{{ ' ab '.strip() ~ 'xay'.strip('xy') ~ 'a-b'.split('-')[-1] ~ 'ab'.startswith('a') ~ 'aXa'.replace('X', '') }}`, `{}`, "abab" + "True" + "aa"},
		{"the last of one", `{{ messages[-1].role }}`, `{"messages": [{"role": "user"}]}`, "user"},
		{"blocks are trimmed", "  {% if true %}\n x\n  {% endif %}\n", `{}`, " x\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := render(r, test.template, test.vars); err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// A template that would end or block this process ends the child, and the next render has a new
// one.
func TestHarm(t *testing.T) {
	r := &Renderer{Timeout: time.Minute}
	defer r.Close()
	for _, test := range []struct{ name, template, want string }{
		{"raise_exception", `{{ raise_exception('not so') }}`, "not so"},
		{"recursive macro", `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`, "stack"},
		{"long output", `{% for i in range(90000) %}{{ x }}{% endfor %}`, "longer than"},
		{"panic", `{{ 1 % 0 }}`, "panic"},
		{"does not parse", `{% for %}`, "gonja"},
		{"zero step", `{{ range(1, 2, 0) }}`, "step"},
		{"a long range", `{{ range(1000000) }}`, "more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := render(r, test.template, `{"x": "`+strings.Repeat("x", 1000)+`"}`)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v; want an error with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			if got, err := render(r, "well {{ 1 + 1 }}", "{}"); err != nil || got != "well 2" {
				t.Errorf("afterwards: got %q, %v", got, err)
			}
		})
	}
}

// Nothing reaches gonja that the native engine has not rendered within its limits.
func TestGuard(t *testing.T) {
	r := new(Renderer)
	defer r.Close()
	if _, err := r.Compile(source.New("bad.jinja", "{% if %}")); err == nil {
		t.Error("a template that does not compile: no error")
	}
	rendering, err := r.Compile(source.New("deep.jinja", `{% macro m() %}{{ m() }}{% endmacro %}{{ m() if deep else 'shallow' }}`))
	if err != nil {
		t.Fatal(err)
	}
	deep, _ := ordered.ParseString(`{"deep": true}`)
	if _, err := rendering.Render(deep, clock); err == nil ||
		!strings.Contains(err.Error(), "native") {
		t.Errorf("recursion: got %v", err)
	}
	if got, err := rendering.Render(ordered.Value{}, clock); err != nil || got != "shallow" {
		t.Errorf("got %q, %v", got, err)
	}
}
