package jinja

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestOperatorOrigins covers the effect of each operator, method and filter on the origin of its
// text (E3).
func TestOperatorOrigins(t *testing.T) {
	const input = `{"a": "ab cd", "b": "B<", "n": 7, "f": 1.5, "y": true, "z": null, "l": ["x", "it's"], "d": {"k": {"q\"": "v\n"}}}`
	for _, c := range [][2]string{
		{"{{ a[1:4] ~ a[0] ~ a[-1] }}", "b cad<a value plain>"},
		{"{{ (a ~ b)[3:6] }}", "cd<a value plain>B<b value plain>"},
		{"{{ '.' ~ a.split(' ')[1] }}", ".cd<a value plain>"},
		{"{{ (' ' ~ a ~ ' ').strip() }}", "ab cd<a value plain>"},
		{"{{ a.partition(' ')|join('+') }}", "ab<a value plain>+ <a value plain>+cd<a value plain>"},
		{"{{ a.replace(' ', b) }}|{{ a|replace('b', '-') }}", "ab<a value plain>B<<b value plain>cd<a value plain>|a<a value plain>- cd<a value plain>"},
		{"{{ l|join(', ') }}", "x<l[0] value plain>, it's<l[1] value plain>"},
		{"{{ b.join(['1', '2']) }}", "1B<<b value plain>2"},
		{"{{ a|upper }} {{ a[::-1] }}", "AB CD<a value plain>~ dc ba<a value plain>~"},
		{"{{ a.upper()[:2] ~ n }}", "AB<a value plain>~7<n value plain>"},
		{"{{ b|e }} {{ b|urlencode }}", "B&lt;<b value html> B%3C<b value url>"},
		{"{{ ('<'|safe) + b }}", "<B&lt;<b value html>"},
		{"{{ n }}{{ f }}{{ y }}{{ z }}", "7<n value plain>1.5<f value python>True<y value python>None<z value python>"},
		{"{{ n + 1 }} {{ a|length }} {{ a.find('b') }}", "8< computed plain> 5< computed plain> 1< computed plain>"},
		{"{{ l }}", "[<l structure python>'<l[0] structure python>x<l[0] value python>'<l[0] structure python>, <l structure python>\"<l[1] structure python>it's<l[1] value python>\"<l[1] structure python>]<l structure python>"},
		{"{{ d|tojson }}", "{<d structure json>\"<d.k structure json>k<d.k key json>\"<d.k structure json>: <d structure json>{<d.k structure json>\"<d.k[\"q\\\"\"] structure json>q\\\"<d.k[\"q\\\"\"] key json>\"<d.k[\"q\\\"\"] structure json>: <d.k structure json>\"<d.k[\"q\\\"\"] structure json>v\\n<d.k[\"q\\\"\"] value json>\"<d.k[\"q\\\"\"] structure json>}<d.k structure json>}<d structure json>"},
		{"{{ l[0]|tojson }} {{ {'name': l[0], 'n': n}|tojson }}", "\"<l[0] structure json>x<l[0] value json>\"<l[0] structure json> {\"name\": \"<l[0] structure json>x<l[0] value json>\"<l[0] structure json>, \"n\": 7<n value json>}"},
		{"{{ '%s-%d' % (a, n) }} {{ '{}:{!r}'.format(n, b) }}", "ab cd<a value plain>-7<n value python> 7<n value plain>:'<b structure python>B<<b value python>'<b structure python>"},
		{"{{ '{:>6}|'.format(b) }}{{ b.center(4) }}", "    B<<b value plain>| B<<b value plain> "},
		{"{{ (b ~ '\\n' ~ a)|indent(2) }}", "B<<b value plain>\n  ab cd<a value plain>"},
		{"{{ a|default(b) }}{{ a|trim }}{{ a|string }}{{ a|truncate(3, true, '', 0) }}", "ab cdab cdab cdab <a value plain>"},
		{"{{ d.items()|first|first }}{{ d|dictsort|map('first')|first }}", "kk<d.k key plain>"},
		{"{{ (a * 2)[4:7] }}", "dab<a value plain>"},
		{"{% for c in b %}{{ c }}{% endfor %}", "B<<b value plain>"},
	} {
		want := c[1]
		text, err := compile(t, c[0]).RenderText(t.Context(), vars(t, input),
			Options{Origins: true})
		if got := exactSpans(text); got != want || err != nil {
			t.Errorf("%s\n got %s (%v)\nwant %s", c[0], got, err, want)
		}
	}
}

// exactSpans is spans, with a ~ after runs that are not exact.
func exactSpans(text Text) string {
	var b strings.Builder
	at := 0
	for _, r := range text.Runs {
		b.WriteString(text.String[at : at+r.Len])
		at += r.Len
		if r.Role != Literal {
			b.WriteString("<" + r.Path + " " + r.Role.String() + " " + r.Codec.String() + ">")
		}
		if !r.Exact {
			b.WriteByte('~')
		}
	}
	if at != len(text.String) {
		return "runs do not cover the text"
	}
	return b.String()
}

// TestExactRuns checks on random text that an exact run consists of text at its path, and that
// origins change nothing about the text.
func TestExactRuns(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	words := []string{"a", "b", " ", "\n", "é", "<", "</t>", "'", "\"", "ab", "😀", "  ", "x"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))])
		}
		return b.String()
	}
	chain := []string{".strip()", ".split('a')|join('-')", "|replace('b', u)", "[1:]", "[:-1]",
		"[::2]", ".lstrip('a')", "|trim", "|indent(2, true)", " ~ u",
		".rstrip()", ".split()|join(u)", ".splitlines()|join('+')", "|e|string", "|upper",
		"|list|join", ".partition('</t>')|last", "|title", ".center(9)", "|wordwrap(3)", " * 2",
		"|truncate(5, false, u[:1], 0)",
		".replace('', '.')", "|string|tojson", "|reverse", "|batch(2)|map('join')|join('|')",
		".format(u)", ".rsplit(none, 1)|last", ".expandtabs()", "|unique|join", "|striptags",
		"|urlize"}
	for range 400 {
		s, u := text(), text()
		expr := "s"
		for range 1 + r.IntN(4) {
			expr = "(" + expr + chain[r.IntN(len(chain))] + ")"
		}
		input := `{"s": ` + strconv.Quote(s) + `, "u": ` + strconv.Quote(u) + `}`
		tmpl, v := compile(t, "{{ "+expr+" }}"), vars(t, strings.ReplaceAll(input, `\x`, `\u00`))
		plain, err := tmpl.Render(t.Context(), v, Options{})
		got, err2 := tmpl.RenderText(t.Context(), v, Options{Origins: true, Trace: new(Trace)})
		if (err == nil) != (err2 == nil) || got.String != plain {
			t.Fatalf("seed %d: %s of %s: %q (%v) with origins, "+
				"%q (%v) without", seed, expr, input, got.String, err2, plain, err)
		}
		at := 0
		for _, run := range got.Runs {
			part := got.String[at : at+run.Len]
			at += run.Len
			if from := map[string]string{"s": s, "u": u}[run.Path]; run.Exact &&
				run.Codec == Plain && run.Role == FromValue && strings.Trim(part, from) != "" {
				t.Errorf("seed %d: %s of %s: %q is not from %s", seed, expr, input, part, run.Path)
			}
		}
		if err == nil && at != len(plain) {
			t.Errorf("seed %d: %s of %s: runs "+
				"cover %d of %d bytes", seed, expr, input, at, len(plain))
		}
	}
}

// TestTraceOperations covers the operations that record the literal they use on text of the input
// (E4).
func TestTraceOperations(t *testing.T) {
	const input = `{"s": "ab cd", "l": ["x"], "d": {"k": "v"}}`
	for text, want := range map[string]Comparison{
		"s == 'q'":                            {"s", "==", "q"},
		"'q' != s":                            {"s", "==", "q"},
		"s < 'q'":                             {"s", "<", "q"},
		"'q' in s":                            {"s", "in", "q"},
		"s in ['p', 'q']":                     {"s", "in", "q"},
		"'q' in d":                            {"d", "in", "q"},
		"s.startswith('q')":                   {"s", "startswith", "q"},
		"s.endswith(('p', 'q'))":              {"s", "endswith", "q"},
		"s.split('q')":                        {"s", "split", "q"},
		"s.rsplit('q')":                       {"s", "rsplit", "q"},
		"s.strip('q')":                        {"s", "strip", "q"},
		"s|trim('q')":                         {"s", "strip", "q"},
		"s.find('q')":                         {"s", "find", "q"},
		"s.count('q')":                        {"s", "count", "q"},
		"s.partition('q')":                    {"s", "partition", "q"},
		"s.removeprefix('q')":                 {"s", "removeprefix", "q"},
		"s.replace('q', '')":                  {"s", "replace", "q"},
		"s|replace('q', '')":                  {"s", "replace", "q"},
		"s.strip().split(' ')[0] == 'q'":      {"s", "==", "q"},
		"(s ~ '!').startswith('q')":           {"s", "startswith", "q"},
		"l[0] == 'q'":                         {"l[0]", "==", "q"},
		"l|select('equalto', 'q')|list":       {"l[0]", "==", "q"},
		"d.k == 'q'":                          {"d.k", "==", "q"},
		"d['k'] == 'q'":                       {"d.k", "==", "q"},
		"d.get('k') == 'q'":                   {"d.k", "==", "q"},
		"(d.items()|first)[1] == 'q'":         {"d.k", "==", "q"},
		"[d]|map(attribute='k')|first == 'q'": {"d.k", "==", "q"},
	} {
		trace := new(Trace)
		if _, err := compile(t, "{{ "+text+" }}").
			Render(t.Context(), vars(t, input), Options{Trace: trace}); err != nil &&
			Class(err) != "ValueError" {
			t.Errorf("%s: %v", text, err)
		}
		if !slices.Contains(trace.Comparisons(), want) {
			t.Errorf("%s: got %v, want %v", text, trace.Comparisons(), want)
		}
	}
}

// TestBuiltinLimits runs built-ins that would use much memory or time, and wants them to fail soon
// instead (E2).
func TestBuiltinLimits(t *testing.T) {
	for _, text := range []string{
		"{{ 'x' * 10 ** 12 }}", "{{ [0] * 10 ** 9 }}", "{{ 'x'.center(10 ** 12) }}",
		"{{ 'x'.zfill(10 ** 18) }}", "{{ '%999999999d' % 1 }}", "{{ '%*d' % (10 ** 9, 1) }}",
		"{{ '{:999999999}'.format(1) }}", "{{ '{0:{1}}'.format(1, 10 ** 9) }}",
		"{{ 2 ** (10 ** 9) }}", "{{ ('9' * 99999)|int(0, 16) }}",
		"{{ 'a\t'.expandtabs(10 ** 18) }}",
		"{{ ('a\n' * 1000000)|indent(100000) }}", "{{ [1]|batch(10 ** 12, 'x')|list }}",
		"{{ [1]|slice(10 ** 12)|list }}", "{{ lipsum(n=10 ** 9) }}", "{{ lipsum(1, min=10 ** 8, max=10 ** 9) }}",
		"{{ strftime_now('%9999999d' * 1000) }}", "{{ (1).to_bytes(10 ** 12) }}",
		"{{ [[[1]]]|tojson(indent=16000000) }}", "{{ range(99999)|map('string')|join('x' * 100000) }}",
		"{% set ns = namespace(x=3) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
		"{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
		"{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x|replace('a', 'aa') %}{% endfor %}",
		"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
		"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}",
		"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|pprint }}",
		"{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
		"{% set ns = namespace(x=(1,)) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) %}{% endfor %}{{ {ns.x: 1} }}",
		"{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = ns.x|map('string') %}{% endfor %}{{ ns.x|list }}",
		"{% set s = 'x' * 9999999 %}{% for i in range(99999) %}{% set y = s.count('y') or 'y' in s or s == s[1:] ~ 'y' %}{% endfor %}",
		"{% set s = 'é' * 999999 %}{% for i in range(99999) %}{% set y = s[-1] ~ s|length %}{% endfor %}",
	} {
		got := render(t, text, "", Options{Limits: Limits{Steps: 400_000, OutputBytes: 4 << 20}})
		if class, _, _ := strings.Cut(strings.TrimPrefix(got, "error "),
			":"); class != "LimitError" && class != "RecursionError" {
			t.Errorf("%s: got %.80q", text, got)
		}
	}
}
