package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/foreign/gonja"
)

// render renders a template with the default limits.
func render(text string) func(*testing.T) error {
	return func(*testing.T) error {
		t, err := jinja.Compile(source.New("t.jinja", text))
		if err != nil {
			return err
		}
		_, err = t.Render(context.Background(), jinja.Vars{}, jinja.Options{Mode: jinja.Mutable})
		return err
	}
}

const (
	steps = "needs more steps than allowed"
	text  = "builds more text than allowed"
	deep  = "maximum recursion depth exceeded"
)

// repeat doubles a value a hundred times.
func repeat(start, body string) string {
	return "{% set ns = namespace(x=" + start + ") %}{% for i in range(100) %}{% set ns.x = " + body + " %}{% endfor %}"
}

func TestTemplates(t *testing.T) {
	attacks(t, []attack{
		{"repetition of text", text, render("{{ 'a' * 10 ** 12 }}")},
		{"repetition of a list", text, render("{{ [0] * 10 ** 10 }}")},
		{"nested loops", steps, render("{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}")},
		{"long range", "Range too big", render("{{ range(10 ** 9)|list }}")},
		{"power", "an integer of more than", render("{{ 10 ** (10 ** 10) }}")},
		{"product", "an integer of more than", render(repeat("10", "ns.x * ns.x"))},
		{"endless recursion of a macro", deep, render("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")},
		{"endless recursion of a loop", deep, render("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}")},
		{"endless recursion of a block", deep, render("{% block b %}{{ self.b() }}{% endblock %}")},
		{"exponential recursion", steps, render("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}")},
		{"join", text, render("{{ range(99999)|join('x' * 100000) }}")},
		{"replace", text, render(repeat("'a'", "ns.x|replace('a', 'aa')"))},
		{"replace of nothing", text, render(repeat("'ab'", "ns.x.replace('', ns.x)"))},
		{"indent", text, render("{{ ('a\\n' * 1000000)|indent(100000) }}")},
		{"many characters to strip", steps, render("{% set a = 'ab' * 50000 %}{% set b = 'c' * 400000 ~ 'ab' %}{% for i in range(90000) %}{{ a.strip(b) }}{% endfor %}")},
		{"groups of long keys", text, render("{% set a = 'É' * 100000 %}{% for i in range(90000) %}{{ range(5000)|groupby('a', a)|length }}{% endfor %}")},
		{"center", text, render("{{ 'a'|center(10 ** 12) }}")},
		{"format", "a format width of more than", render("{{ '%999999999d' % 1 }}")},
		{"format method", "a format width of more than", render("{{ '{:999999999}'.format(1) }}")},
		{"tojson indent", text, render("{{ [[[[1]]]]|tojson(indent=100000000) }}")},
		{"batch", "more", render("{{ [1]|batch(10 ** 12, 'x')|list }}")},
		{"slice", "more", render("{{ [1]|slice(10 ** 12)|list }}")},
		{"wordwrap", "more", render("{% set s = 'a ' * 1000000 %}{% for i in range(9999) %}{% set y = s|wordwrap(1) %}{% endfor %}")},
		{"search of one text in another", steps, render("{% set s = 'a' * 9999999 %}{% for i in range(99999) %}{% set y = ('a' * 5000 ~ 'b') in s %}{% endfor %}")},
		{"splits", steps, render("{% set s = 'a,' * 999999 %}{% for i in range(99999) %}{% set y = s.split(',') %}{% endfor %}")},
		{"strips and patterns", "more", render("{% set s = ' ' * 9999999 ~ 'x' %}{% for i in range(99999) %}{% set y = s.strip() ~ s|striptags ~ s|urlize %}{% endfor %}")},
		{"sort of equal keys", steps, render("{% set l = range(99999)|list %}{% for i in range(999) %}{% set y = l|sort(attribute='x')|unique|list %}{% endfor %}")},
		{"growth of a list", steps, render(repeat("[1]", "ns.x + ns.x"))},
		{"growth of a text", text, render(repeat("'ab'", "ns.x ~ ns.x"))},
		{"growth of a dict", "", render("{% set ns = namespace(x={}) %}{% for i in range(99999) %}{% set _ = ns.x.update({i: i}) %}{% endfor %}")},
		{"growth of a namespace", steps, render("{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = ns.x + [i] %}{% endfor %}")},
		{"set block that doubles", "writes more than", render("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}{% endfor %}")},
		{"value that holds itself", "", render("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}")},
		{"value shared a hundred levels deep", "more", render(repeat("[1]", "[ns.x, ns.x]") + "{{ ns.x|tojson }}")},
		{"output", "writes more than", render("{% set s = 'a' * 99999 %}{% for a in range(99999) %}{{ s }}{% endfor %}")},
		{"lipsum", "more", render("{{ lipsum(n=10 ** 9) }}")},
		{"cycler", "more", render("{% set c = cycler(*range(99999)) %}{% for i in range(99999) %}{% for j in range(999) %}{{ c.next() }}{% endfor %}{% endfor %}")},
		{"deep brackets", "nested deeper than 200", render("{{ " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + " }}")},
		{"deep statements", "nested deeper than 200", render(strings.Repeat("{% if 1 %}", 100_000))},
		{"many operators", "more than 2000", render("{{ 1" + strings.Repeat(" + 1", 100_000) + " }}")},
		{"deep macros", "", render(macros(150))},
		{"macros that call each other", deep, render(macros(5_000))},
		{"source of a megabyte", "", render(strings.Repeat("{# comment #}{% set x = 1 %}text {{ x }}\n", 25_000))},
		{"source that is too large", "more than 16777216", render(strings.Repeat("x", 17<<20))},
		{"source that is no text", "is not UTF-8", render("a\xff")},
		{"NUL bytes", "unexpected char", render("\x00{{ \x00 }}")},
	})
}

// macros makes n macros of which each calls the next.
func macros(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{%% macro m%d() %%}x{%% endmacro %%}", n)
	for i := n - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "{%% macro m%d() %%}{{ m%d() }}{%% endmacro %%}", i, i+1)
	}
	return b.String() + "{{ m0() }}"
}

// conversation is a template with calls around which an attacker may write any text.
func conversation(open, close, answer string) string {
	return strings.NewReplacer("OPEN", open, "CLOSE", close, "ANSWER", answer).Replace(`{%- if tools %}[tools]{{ tools|tojson }}[/tools]{% endif %}
{%- for m in messages %}{{- '<|' ~ m.role ~ '|>' }}
{%- if m.role == 'assistant' %}{{- m.content or '' }}ANSWER
{%- for c in m.tool_calls or [] %}OPEN{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}CLOSE{% endfor %}
{%- else %}{{ m.content }}{% endif %}<|end|>{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}`)
}

// TestChecks runs every check on templates that try to make it costly; all renders together stay
// within the budget.
func TestChecks(t *testing.T) {
	limits := engine.Limits{Render: jinja.Limits{Steps: 200_000, OutputBytes: 1 << 20, Depth: 100},
		TotalSteps: 1_000_000}
	whole := func(text string) func(*testing.T) error {
		return func(t *testing.T) (err error) {
			src := subject.New("t.jinja", text).Limited(t.Context(), limits)
			for _, res := range check.Template(src, check.Options{}) {
				if strings.Contains(res.Text, "internal error") ||
					res.Rule == "A056" && res.Status != rule.Passed {
					err = fmt.Errorf("%s", res.Text)
				}
			}
			if tmpl, err := src.Compile(); err == nil {
				t.Logf("%d of %d steps", limits.TotalSteps-tmpl.ChatTemplate().Budget.Left(),
					limits.TotalSteps)
			}
			return err
		}
	}
	attacks(t, []attack{
		{"every render is costly", "all renders of the template together", whole("{% for i in range(99999) %}{% endfor %}" + conversation("<call>", "</call>", ""))},
		{"every render is long", "all renders of the template together", whole("{{ 'ab' * 300000 }}" + conversation("<call>", "</call>", ""))},
		{"long opening marker", "", whole(conversation("{{ '<' * 20000 }}", "</call>", ""))},
		{"long closing marker", "", whole(conversation("<call>", "{{ '>' * 20000 }}", ""))},
		{"many origins", "pieces, more than 1000", whole(conversation("<call>", "</call>", "{% for i in range(2000) %}{{ i }}-{% endfor %}"))},
		{"name written many times", "pieces, more than 1000", whole(conversation("<call>{% for i in range(300) %}{{ c.function.name }}.{% endfor %}", "</call>", ""))},
		{"other text in every render", "", whole(conversation("<call>", "</call>", "{{ lipsum(n=1, html=false) }}"))},
		{"look-ups of fields that are missing", "all renders of the template together", whole(conversation("<call>", "</call>", missing(1000)))},
		{"markers that begin alike", "", whole(conversation("{{ '<' * 50 }}", "{{ '<' * 49 }}", "{{ '<' * 48 }}"))},
	})
}

// missing looks up so many fields that no message has.
func missing(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{{ m.field%d }}", i)
	}
	return b.String()
}

// TestSandbox tries to reach files, the environment, the network, the clock and the insides of the
// process, with both renderers. The outside is a secret in a file and in the environment.
func TestSandbox(t *testing.T) {
	const secret = "a-secret-that-no-template-may-read"
	file := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ASSAY_SECRET", secret)
	second := new(gonja.Renderer)
	defer second.Close()
	vars, err := ordered.ParseString(`{"x": "text", "l": [1], "d": {"a": 1}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{
		"x.__class__", "x.__class__.__mro__[1].__subclasses__()", "x|attr('__class__')", "x['__class__']", "'{0.__class__}'.format(x)",
		"'{0.__class__.__init__.__globals__}'.format(l)",
		"'%s' % self.__init__", "self.__dict__", "self._TemplateReference__context", "cycler.__init__.__globals__.os.popen('cat FILE').read()",
		"cycler('a').__init__.__globals__",
		"lipsum.__globals__", "lipsum.__globals__['os'].environ", "joiner.__init__.__globals__",
		"namespace.__init__.__globals__", "range.__self__", "dict.__base__", "l.__reduce__()",
		"l.append.__self__", "d.items.__func__", "x.join.__globals__", "raise_exception.__code__",
		"strftime_now.__globals__", "loop.__class__", "caller.__globals__", "varargs", "kwargs",
		"open('FILE').read()", "__import__('os').environ", "eval('1')", "exec('1')", "globals()",
		"locals()", "vars()", "environ", "env", "request", "config", "settings", "url_for",
		"get_flashed_messages",
		"getattr(x, 'y')", "type(x)", "os.environ", "sys.modules", "time.time()", "now()",
		"datetime.now()", "x.GetType()", "x.Kind", "x.String()", "l.Pointer()", "d.MapKeys()",
		"x|string|pprint", "strftime_now('%Y')",
		"file('FILE')", "include('FILE')", "readFile('FILE')", "fetch('http://127.0.0.1/')",
		"x|fileset", "x|env", "x|unknown", "('FILE'|safe) is file",
	} {
		template := "{{ " + strings.ReplaceAll(expr, "FILE", file) + " }}"
		t.Run(expr, func(t *testing.T) { sandboxed(t, second, template, vars, secret) })
	}
	for _, statement := range []string{"{% include 'FILE' %}",
		"{% include ['FILE'] ignore missing %}", "{% extends 'FILE' %}",
		"{% import 'FILE' as f %}{{ f }}", "{% from 'FILE' import x %}", "{% import 'os' as os %}{{ os.environ }}",
		"{% for k in self.__dict__ %}{{ k }}{% endfor %}", "{% set x.__class__ = 1 %}", "{% do l.append(1) %}", "{% debug %}"} {
		template := strings.ReplaceAll(statement, "FILE", file)
		t.Run(statement, func(t *testing.T) { sandboxed(t, second, template, vars, secret) })
	}
}

// sandboxed renders with both renderers, without a clock.
func sandboxed(t *testing.T, second chattemplate.Renderer, text string, vars ordered.Value,
	secret string) {
	for name, r := range map[string]chattemplate.Renderer{"native": chattemplate.Native{Mode: jinja.Mutable}, "gonja": second} {
		rendering, err := r.Compile(source.New("t.jinja", text))
		if err != nil {
			continue
		}
		out, err := rendering.Render(vars, nil)
		if err != nil {
			out = err.Error()
		}
		for _, bad := range []string{secret, "goroutine ", "0xc0", "runtime.", "reflect.", "/usr/",
			"PATH=", "<class", "<function", "died"} {
			if strings.Contains(out, bad) && !strings.Contains(text, bad) {
				t.Errorf("%s: %s gives %q", name, text, out)
			}
		}
	}
}
