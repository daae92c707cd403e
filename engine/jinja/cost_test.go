package jinja

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goassay/assay/engine/source"
)

// operands are expressions of every type, small and as large as they get cheaply. The prelude makes
// the large ones.
const prelude = `{%- set zs = 'x' * 60000 %}{% set zt = zs ~ 'y' %}{% set zu = 'é' * 30000 %}{% set zl = range(600) | list %}
{%- set zw = ['x' * 60000] * 400 %}{% set zb = 2 ** 16000 %}{% set zc = 3 ** 9000 %}{% set zd = {'a': 1, 'b': zs, zb: 2, (zs, zt): 3} %}
{%- set zk = {} %}{% for i in zl %}{% set _ = zk.update({i: i}) %}{% endfor %}{% set zp = (zs, zt, zs) * 100 %}{% set zn = (1, (2, (3, zl | join))) %}{% set zm = zs | e %}
{%- set zq = 'y' * 60000 ~ 'x' %}{% set zh = 'y' * 30000 ~ zu %}{% set zi = zu ~ 'x' %}{% set zg = (zq, 'y') * 200 %}
{%- macro f(a=1) %}{{ a }}{% endmacro %}{% set ns = namespace(a=zs) %}`

var operands = []string{
	"'abc'", "zs", "zt", "zu", "zm", "'%s'", "'%70000d'", "'x '*9000", "3", "-1", "true", "zb",
	"-zc", "1.5", "1e308", "none", "undefinedthing",
	"[]", "zl", "zw", "(1, 2)", "zp", "zn", "{}", "zd", "zk", "zk.keys()", "zk.items()",
	"zk.values()", "range(90000)", "f", "ns", "loop",
}

// worst are arguments that functions look through to their ends: the texts of the operands are not
// in them, or come last.
var worst = []string{"zq", "zh", "zi", "zg", "zk", "zq, zh", "zi, zq", "'x', 29000", "zi, 29000",
	"'x', -5, -1", "zq, 3", "*zl", "**zk", "*zg", "a=zq", "'x', 'y', 29000"}

// fewer are the operands that stand on a second side, or as an argument.
var fewer = []string{"'x'", "zt", "3", "zb", "1.5", "none", "zl", "zp", "zk", "zk.keys()",
	"range(90000)"}

var operators = []string{"+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", "in",
	"not in", "and", "or"}

// expressions are all operators, filters, tests, methods and functions with operands of all types.
func expressions() (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, a := range operands {
		for _, op := range operators {
			for _, b := range fewer {
				add("(%s) %s (%s)", a, op, b)
			}
		}
		for _, op := range []string{"-(%s)", "+(%s)", "not (%s)", "{(%s): 1}", "(%s)[1]",
			"(%s)[-1:]", "(%s)[::-1]", "(%s)[29000]", "(%s)[-2]", "(%s)[29000:29001]",
			"(%s)[::-7]", "f(*(%s))", "'{}'.format(*(%s))", "'%%s' %% (%s)",
			"namespace(**(%s))", "(%s).a", "(%s)[zb]", "zk[%s]", "zd[%s]", "[%[1]s, %[1]s]",
			"{1: %s}.get(1)",
			"(%s)()", "range(%s)", "dict(%s)", "namespace(%s)", "cycler(%s)", "joiner(%s)",
			"lipsum(%s)", "(%s) if (%[1]s) else 1"} {
			add(op, a)
		}
		for _, name := range slices.Sorted(maps.Keys(filters)) {
			if name == "pprint" && a == "loop" {
				continue
			}
			add("(%s) | %s", a, name)
			for _, b := range append([]string{"'x'", "3", "zb", "zt", "'abs'", "'upper'",
				"'a', 'b'", "2, 'x'", "none, true"}, worst...) {
				add("(%s) | %s(%s)", a, name, b)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(tests)) {
			add("(%s) is %s", a, quotedTest(name))
			for _, b := range append([]string{"'x'", "zb", "zt", "zp", "zk"}, worst...) {
				add("(%s) is %s(%s)", a, quotedTest(name), b)
			}
		}
		for _, name := range methodNames() {
			for _, args := range append([]string{"", "'x'", "zt", "3", "zb", "zl", "'x', 'y'",
				"'x', zt", "70000, 'x'", "1, 2, 3"}, worst...) {
				add("(%s).%s(%s)", a, name, args)
			}
		}
	}
	return all
}

// quotedTest is the name of a test as a template can write it; those of operators have other names
// as well.
func quotedTest(name string) string {
	if name[0] < 'a' || name[0] > 'z' {
		return "defined"
	}
	return name
}

func methodNames() []string {
	names := map[string]bool{}
	for _, table := range methodTables {
		for name := range table {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// cpu is the processor time that this process has taken.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// whole measures everything: make hostile.
var whole = flag.Bool("whole", false, "measure every expression, not only some")

// The bounds on the cost of a step. 2,000,000 steps of all renders together, the limit for
// templates of strangers, take at most 8 s.
const (
	perStep      = 4 * time.Microsecond
	bytesPerWork = 4096
)

// TestCostOfSteps bounds the time and the memory of a step, whatever operator or function takes it
// and whatever it works on. A step is a step or 64 bytes of text, as budgets count.
func TestCostOfSteps(t *testing.T) {
	all := expressions()
	stride := 97
	if *whole {
		stride = 1
	}
	for i := 0; i < len(all); i += stride {
		measure(t, all[i])
	}
}

func measure(t *testing.T, expression string) {
	text := prelude + "{% for i in range(3000) %}{% if (" + expression +
		") is defined %}{% endif %}{% endfor %}"
	template, err := Compile(source.New("t", text))
	if err != nil {
		t.Errorf("%s: %v", expression, err)
		return
	}
	const more = 4000 // steps that are not the expression's: those of the prelude, and a fixed cost
	var least time.Duration
	for try := range 3 {
		budget := NewBudget(1 << 40)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpu()
		_, err = template.Render(t.Context(), Vars{},
			Options{Mode: Mutable, Limits: Limits{Steps: 20_000, OutputBytes: 1 << 20, Depth: 100},
				Budget: budget})
		took := cpu() - start
		runtime.ReadMemStats(&after)
		work := 1<<40 - budget.Left() + more
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(work)*bytesPerWork {
			t.Errorf("%s: %d bytes for %d steps (%v)", expression, bytes, work, err)
			return
		}
		if per := took / time.Duration(work); try == 0 || per < least {
			least = per
		}
		if least <= perStep {
			return
		}
	}
	msg := "no error"
	if err != nil {
		msg, _, _ = strings.Cut(err.Error(), "\n")
	}
	t.Errorf("%s: %v a step (%s)", expression, least, msg)
}

// TestCostOfCode charges code by its size, wherever it stands: a template must not do more in a
// step by being longer.
func TestCostOfCode(t *testing.T) {
	const loop, end = "{% for i in range(500) %}", "{% endfor %}"
	long := strings.Repeat("{% if x %}{% endif %}", 2_000)
	asks := "[" + strings.Repeat("x, ", 2_000) + "x]"
	for _, text := range []string{
		loop + long + end,
		loop + "{{ " + asks + "[0] }}" + end,
		loop + "{% if " + asks + " %}{% endif %}" + end,
		loop + "{% if x %}" + strings.Repeat("{% elif x %}", 2_000) + "{% endif %}" + end,
		loop + "{% if x %}{% else %}" + long + "{% endif %}" + end,
		loop + "{% set s %}" + long + "{% endset %}" + end,
		loop + "{% filter trim %}" + long + "{% endfilter %}" + end,
		loop + "{% with %}" + long + "{% endwith %}" + end,
		loop + "{% generation %}" + long + "{% endgeneration %}" + end,
		loop + "{% block b %}" + long + "{% endblock %}" + end,
		loop + "{% for x in [] %}{% else %}" + long + end + end,
		"{% for i in range(500) if " + asks + " %}" + end,
		"{% for i in [range(500)] recursive %}{{ loop(i) if i is iterable }}" + long + end,
		"{% macro f() %}" + long + "{% endmacro %}" + loop + "{{ f() }}" + end,
		"{% macro f(a=" + asks + ") %}{% endmacro %}" + loop + "{{ f() }}" + end,
		"{% macro f() %}{{ caller() }}{% endmacro %}" + loop + "{% call f() %}" + long +
			"{% endcall %}" + end,
	} {
		render := func(steps int) error {
			template, err := Compile(source.New("t", text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Render(t.Context(), Vars{}, Options{Limits: Limits{Steps: steps}})
			return err
		}
		const whole = 500 * 2_000 / nodesPerStep
		if err := render(whole); Class(err) != "LimitError" {
			t.Errorf("%.60s: %v in %d steps", text, err, whole)
		}
		if err := render(8 * whole); err != nil {
			t.Errorf("%.60s: %v in %d steps", text, err, 8*whole)
		}
	}
	// A loop that does little takes a step for an item.
	small, err := Compile(source.New("t", loop+"{{ i if x else '' }}"+end))
	if err == nil {
		_, err = small.Render(t.Context(), Vars{}, Options{Limits: Limits{Steps: 502}})
	}
	if err != nil {
		t.Error(err)
	}
}
