package flow_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/jinja/flow"
	"github.com/goassay/assay/engine/source"
)

func parse(t *testing.T, text string) *flow.Model {
	t.Helper()
	m, err := flow.Parse(source.New("test", text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReferences lists the references of templates in their order: what each does, and the name.
func TestReferences(t *testing.T) {
	kinds := map[flow.RefKind]string{flow.Read: "read", flow.Set: "set", flow.Captured: "capture",
		flow.Loop: "loop", flow.Bound: "with", flow.Param: "param", flow.Defined: "define",
		flow.Passed: "pass", flow.Field: "field", flow.Put: "put", flow.Member: "member"}
	for _, c := range []struct{ text, want string }{
		{"{{ x }}", "read x"},
		{"{% set x = y %}", "read y, set x"}, // the value first
		{"{% set a, b = y %}", "read y, set a, set b"},
		{"{% set ns.a = ns.b %}", "read ns, read ns.b, set ns.a"},
		{"{{ x['role'] }}{{ x[0] }}", "read x, read x.role, read x"},
		{"{% set ns = namespace(a=1) %}", "read namespace, set ns, field ns.a"},
		{"{% for k, v in xs if k %}{{ v }}{% else %}{{ e }}{% endfor %}",
			"read xs, loop k, loop v, read k, read v, read e"},
		{"{% macro m(a, b=c) %}{{ a }}{% endmacro %}{{ m(x, b=y) }}",
			"define m, read c, param a, param b, read a, pass a, pass b, read m, read x, read y"},
		{"{% with a = b %}{{ a }}{% endwith %}", "read b, with a, read a"},
		{"{% set x %}{{ y }}{% endset %}", "read y, capture x"},
		{"{% set l = [] %}{{ l.append(x) }}", "set l, put l, read l, read l.append, read x"},
		{"{{ {'k': x} }}", "member .k, read x"},
		{"{{ a if b else c }}", "read b, read a, read c"}, // the condition first
		{"{% filter trim %}{{ x }}{% endfilter %}", "read x"},
	} {
		var all []string
		for _, r := range parse(t, c.text).Refs {
			all = append(all, kinds[r.Kind]+" "+r.Name)
		}
		if got := strings.Join(all, ", "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestPlaces relates the place that sets x to the one that reads y.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text                     string
		dominates, apart, guards bool
	}{
		{"{% set x = 1 %}{{ y }}", true, false, false},
		{"{% if a %}{% set x = 1 %}{% endif %}{{ y }}", false, false, false},
		{"{% set x = 1 %}{% if a %}{{ y }}{% endif %}", true, false, false},
		{"{% if a %}{% set x = 1 %}{% else %}{{ y }}{% endif %}", false, true, false},
		{"{% if a %}{% set x = 1 %}{% elif b %}{{ y }}{% endif %}", false, true, false},
		{"{% if a %}{% elif b %}{% set x = 1 %}{% else %}{{ y }}{% endif %}", false, true, false},
		{"{% if a %}{% set x = 1 %}{% endif %}{% if a %}{{ y }}{% endif %}", false, false, false},
		{"{% if y %}{% set x = 1 %}{% endif %}", false, false, true},
		{"{% if a %}{% set x = 1 %}{% elif y %}{% endif %}", false, true, true},
		{"{% for i in a %}{% set x = 1 %}{% else %}{{ y }}{% endfor %}", true, false, false},
		{"{% macro m() %}{% if a %}{% set x = 1 %}{% endif %}{% endmacro %}{{ y }}",
			false, false, false},
	} {
		m := parse(t, c.text)
		var set, read *flow.Ref
		for r := range m.Definitions("x") {
			set = r
		}
		for r := range m.Reads("y") {
			read = r
		}
		dominates, apart, guards := set.At.Dominates(read.At), set.At.Apart(read.At),
			read.At.Guards(set.At)
		if dominates != c.dominates || apart != c.apart || guards != c.guards {
			t.Errorf("%s\n got %v %v %v\nwant %v %v %v", c.text, dominates, apart, guards,
				c.dominates, c.apart, c.guards)
		}
		if apart != read.At.Apart(set.At) {
			t.Errorf("%s: apart is not symmetric", c.text)
		}
	}
}

// TestScopes compares the way in which variables get their values with jinja2's symbols.
func TestScopes(t *testing.T) {
	m := parse(t, "{{ a }}{% set b = 1 %}{% if c %}{% set a = 2 %}{% endif %}"+
		"{% for d in a %}{% set b = d %}{% endfor %}")
	top := flow.NewScope(nil, 0)
	top.Stmts(m.Tree.Body)
	want := map[string]flow.Load{"a": flow.Input, "b": flow.Nothing, "c": flow.Input}
	var names []string
	for _, v := range top.Order {
		names = append(names, v.Name)
		if v.Load != want[v.Name] {
			t.Errorf("%s is loaded as %d, want %d", v.Name, v.Load, want[v.Name])
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the scope has %q", names)
	}
}

// TestSlice asks which literals a decision depends on, nearest first.
func TestSlice(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{% if role == 'user' %}{% endif %}{{ 'other' }}", "user"},
		{"{% set r = 'a' %}{% set q = r %}{% if q == 'b' %}{% endif %}", "b a"},
		{"{% macro m() %}{{ 'in' }}{% endmacro %}{% if m() == 'out' %}{% endif %}", "out in"},
		{"{% if x == 'around' %}{% set y = 'value' %}{% endif %}{% if y %}{% endif %}",
			"value around"},
	} {
		m := parse(t, c.text)
		off := strings.LastIndex(c.text, "{% if ") + len("{% ")
		var all []string
		for _, l := range m.Slice(flow.Decision{Kind: flow.SiteIf, Off: off}).Literals {
			all = append(all, l.Text)
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestChains asks which assignments come too late, are lost or come after a read.
func TestChains(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{% set x = 1 %}{{ x }}", ""},
		{"{{ x }}{% set x = 1 %}", "x late, x early"},
		{"{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}", "x lost"},
		{"{% set n = namespace(x=1) %}{% for i in l %}{{ n.x }}{% set n.x = i %}{% endfor %}", ""},
		{"{% if a %}{{ x }}{% else %}{% set x = 1 %}{% endif %}", ""},
		{"{% if not x %}{% set x = 1 %}{% endif %}{{ x }}", ""},
		{"{% if x is defined %}{% set x = 1 %}{% endif %}{{ x }}", "x over"},
		{"{% if x is defined %}{% set x = x + 1 %}{% endif %}{{ x }}", ""},
		{"{% if x is not defined or y %}{% set x = 1 %}{% endif %}{{ x }}", "x over"},
		{"{% if x is not defined or y or z %}{% set x = 1 %}{% endif %}{{ x }}", "x over"},
		{"{% if y or z or x is not defined %}{% set x = 1 %}{% endif %}{{ x }}", "x over"},
		{"{% if x is not defined or y or not x %}{% set x = 1 %}{% endif %}{{ x }}", ""},
		{"{% if x is not defined or not x %}{% set x = 1 %}{% endif %}{{ x }}", ""},
		{"{% if x is defined and y %}{% set x = 1 %}{% endif %}{{ x }}", ""},
		{"{% set n = namespace(k=1) %}{% set k = 2 %}{{ n.k }}", "n.k unset"},
		{"{% set n = namespace(k=1) %}{% set n.k = 2 %}{{ n.k }}", ""},
	} {
		m := parse(t, c.text)
		var all []string
		for _, r := range m.Overwritten() {
			all = append(all, r.Name+" over")
		}
		for _, chain := range m.Chains() {
			for _, set := range chain.Sets {
				if chain.TooLate(set) != nil {
					all = append(all, chain.Name+" late")
				} else if chain.Lost(set) != nil {
					all = append(all, chain.Name+" lost")
				}
			}
			if read, _ := chain.Early(); read != nil {
				all = append(all, chain.Name+" early")
			}
		}
		if read, _ := m.Unset(); read != nil {
			all = append(all, read.Name+" unset")
		}
		if got := strings.Join(all, ", "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestCost compares the memory that models take of templates that mean harm with that of templates
// four times as long.
func TestCost(t *testing.T) {
	repeat := func(parts ...string) func(n int) string {
		return func(n int) string {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(strings.Repeat(p, n))
			}
			return b.String()
		}
	}
	for name, text := range map[string]func(n int) string{
		"elif": func(n int) string {
			return "{% if a %}" + repeat("{% elif a %}{{ b }}")(n) + "{% endif %}"
		},
		"macros of one name": repeat("{% macro m(a, b) %}{{ a }}{% endmacro %}", "{{ m(1, 2) }}"),
		"parameters": func(n int) string {
			var names strings.Builder
			for i := range n {
				fmt.Fprintf(&names, "a%d, ", i)
			}
			return "{% macro m(" + names.String() + "b) %}{% endmacro %}" +
				repeat("{{ m(1) }}")(n)
		},
		"fields in a macro": func(n int) string {
			return "{% macro m() %}{% set x = namespace() %}" +
				repeat("{% set x.a = x %}")(n) + "{% endmacro %}"
		},
		"names of a with": func(n int) string {
			return repeat("{% with a = b, c = d %}")(n/40) + repeat("{{ a }}")(n) +
				repeat("{% endwith %}")(n/40)
		},
	} {
		cost := func(n int) uint64 {
			src := text(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := parse(t, src)
			flow.Texts(m.Tree)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if once, four := cost(500), cost(2000); four > 6*once {
			t.Errorf("%s: %d bytes, and %d of four times the text", name, once, four)
		}
	}
}
