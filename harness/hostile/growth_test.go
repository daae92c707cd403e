package hostile

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/subject"
)

// whole runs the generators up to the largest input that is read of strangers: make hostile.
var whole = flag.Bool("whole", false, "let inputs grow to a megabyte")

// only runs the generators whose name contains it.
var only = flag.String("only", "", "run generators whose name contains `TEXT`")

// What anything that a stranger gives may take at most, and how much faster than the input its costs may grow.
const (
	maxTime   = 10 * time.Second
	maxMemory = 1 << 30
	maxGrowth = 1.2
)

// untrusted are the limits of `assay check --untrusted`.
var untrusted = engine.Limits{
	Render:     jinja.Limits{Steps: 200_000, OutputBytes: 1 << 20, Depth: 100},
	TotalSteps: 2_000_000, // each of 4 microseconds at most (package jinja)
	Output:     vm.Limits{Held: 1 << 18, Depth: 2_000, Rereads: 16},
}

// generator makes inputs that grow along one dimension: of about the given number of bytes.
type generator struct {
	name string
	make func(size int) string
}

// errLimit is what a run returns that ended in a limit: how much more it costs beyond says nothing.
var errLimit = errors.New("limit")

// cost is what a run took.
type cost struct {
	time    time.Duration // of the processor
	bytes   uint64        // allocated in all
	peak    uint64        // of the heap, more than there was
	limited error
}

func measured(run func() error) cost {
	var c cost
	start := processor()
	peak, total := heap(func() { c.limited = run() })
	c.time, c.peak, c.bytes = processor()-start, peak<<20, total<<20
	return c
}

func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// grow runs generators at sizes that double, and holds time, memory and their growth to the bounds.
func grow(t *testing.T, from, to int, generators []generator, run func(input string) error) {
	if !*whole {
		to = min(to, from*4)
	}
	for _, g := range generators {
		if !strings.Contains(g.name, *only) {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			var last cost
			for size := from; size <= to; size *= 2 {
				input := g.make(size)
				c := measured(func() error { return run(input) })
				t.Logf("%8d bytes: %8v, %5d MiB allocated, peak %4d MiB, %s", len(input), c.time.Round(time.Millisecond), c.bytes>>20, c.peak>>20, first(c.limited))
				if c.time > maxTime || c.peak > maxMemory {
					t.Errorf("%d bytes take %v and %d MiB, more than %v and %d MiB", len(input), c.time, c.peak>>20, maxTime, maxMemory>>20)
					return
				}
				if size > from && c.limited == nil && last.limited == nil {
					if again := c.time; exceeds(float64(last.time), float64(again), float64(300*time.Millisecond)) {
						again = min(again, measured(func() error { return run(input) }).time, measured(func() error { return run(input) }).time)
						if exceeds(float64(last.time), float64(again), float64(300*time.Millisecond)) {
							t.Errorf("twice the input takes %.1f times the time", float64(again)/float64(last.time))
						}
					}
					if exceeds(float64(last.bytes), float64(c.bytes), 64<<20) {
						t.Errorf("twice the input allocates %.1f times the memory", float64(c.bytes)/float64(last.bytes))
					}
				}
				last = c
			}
		})
	}
}

// exceeds reports whether a cost that is more than noise grew faster than it may while the input doubled.
func exceeds(before, after, noise float64) bool {
	return after > noise && after > 2*maxGrowth*max(before, noise/2)
}

// times repeats a piece until it has about a size; %d in it is its number.
func times(piece string) func(int) string {
	return func(size int) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			b.WriteString(strings.ReplaceAll(piece, "%d", fmt.Sprint(i)))
		}
		return b.String()
	}
}

// around puts what a generator makes into a template with calls, in the place of KEY.
func around(place string, make func(int) string) func(int) string {
	return func(size int) string {
		text := make(size)
		switch place {
		case "first":
			return text + conversation("<call>", "</call>", "")
		case "open":
			return conversation("<call>"+text, "</call>", "")
		case "close":
			return conversation("<call>", text+"</call>", "")
		}
		return conversation("<call>", "</call>", text)
	}
}

// templates grow along every dimension that a template has.
var templates = []generator{
	{"branches", around("answer", times("{% if m.content == 'xxxxxxx%d' %}a{% endif %}"))},
	{"literals in content", around("answer", times("{% if '<x%d>' in (m.content or '') %}{% endif %}"))},
	{"literals that split", around("answer", times("{% set _ = (m.content or '').split('</x%d>') %}"))},
	{"literals that are stripped", around("answer", times("{% set _ = (m.content or '').strip('[x%d]') %}"))},
	{"literals of a variable", around("answer", times("{% if reasoning_effort == 'x%d' %}%d{% endif %}"))},
	{"literals of thinking", around("answer", times("{% if enable_thinking == 'x%d' %}%d{% endif %}"))},
	{"fields that are missing", around("answer", times("{{ m.field%d }}"))},
	{"variables that are missing", around("answer", times("{{ variable%d }}"))},
	{"variables that are demanded", around("answer", times("{{ variable%d.x }}"))},
	{"text", around("answer", times("text "))},
	{"text in front", around("first", times("text "))},
	{"text in the opening", around("open", times("text "))},
	{"text in the closing", around("close", times("text "))},
	{"markers", around("answer", times("<x%d>"))},
	{"markers in the opening", around("open", times("<x%d>"))},
	{"markers in the closing", around("close", times("</x%d>"))},
	{"one value again and again", around("answer", times("{{ m.content }}"))},
	{"one value and a marker", around("answer", times("{{ m.content }}<x>"))},
	{"names again and again", around("open", times("{{ c.function.name }}"))},
	{"roles again and again", around("answer", times("{{ m.role }}"))},
	{"reasoning again and again", around("answer", times("<think>{{ m.reasoning_content }}</think>"))},
	{"arguments again and again", around("open", times("{{ c.function.arguments|tojson }}"))},
	{"tools again and again", around("first", times("{{ tools|tojson if tools }}"))},
	{"macros", around("first", times("{% macro m%d() %}{{ m%d }}{% endmacro %}"))},
	{"calls of a macro", around("first", func(n int) string { return "{% macro f(x) %}{{ x }}{% endmacro %}" + times("{{ f('%d') }}")(n) })},
	{"assignments", around("first", times("{% set v%d = 1 %}"))},
	{"namespaces", around("first", times("{% set v%d = namespace(a=1) %}"))},
	{"loops", around("first", times("{% for x in messages %}{{ x.role }}{% endfor %}"))},
	{"integers", around("first", times("{{ %d * 999999999999 }}"))},
	{"long integer", around("first", func(n int) string { return "{{ 1" + strings.Repeat("0", n) + " }}" })},
	{"one letter", around("answer", func(n int) string { return strings.Repeat("x", n) })},
	{"one letter in front", around("first", func(n int) string { return strings.Repeat("x", n) })},
	{"one letter in the opening", around("open", func(n int) string { return strings.Repeat("x", n) })},
	{"one letter in the closing", around("close", func(n int) string { return strings.Repeat("x", n) })},
	{"brackets", around("answer", func(n int) string { return strings.Repeat("<", n) })},
	{"brackets in the opening", around("open", func(n int) string { return strings.Repeat("<", n) })},
	{"brackets in the closing", around("close", func(n int) string { return strings.Repeat("<|", n/2) })},
	{"white space", around("answer", func(n int) string { return strings.Repeat(" ", n) + "." })},
	{"white space in the opening", around("open", func(n int) string { return "." + strings.Repeat(" \n", n/2) + "." })},
	{"long marker", around("answer", func(n int) string { return "<" + strings.Repeat("x", n) + ">" })},
	{"long marker in the opening", around("open", func(n int) string { return "<" + strings.Repeat("x", n) + ">" })},
	{"long marker in the closing", around("close", func(n int) string { return "</" + strings.Repeat("x_", n/2) + ">" })},
	{"long text", around("first", func(n int) string { return "{{ '" + strings.Repeat("x", n) + "' }}" })},
	{"long list", around("first", func(n int) string { return "{% set l = [" + times("%d, ")(n) + "] %}" })},
	{"long dict", around("first", func(n int) string { return "{% set l = {" + times("'k%d': %d, ")(n) + "} %}" })},
	{"long name", around("first", func(n int) string { return "{% set " + strings.Repeat("x", n) + " = 1 %}" })},
	{"comments", around("first", times("{# a comment %d #}"))},
	{"suppressions", around("first", times("{# assay:ignore A%d because #}"))},
	{"depth", around("first", func(n int) string {
		return strings.Repeat("{% if 1 %}", min(n/20, 190)) + strings.Repeat("{% endif %}", min(n/20, 190)) + times("{% if 1 %}{% if 1 %}x{% endif %}{% endif %}")(n)
	})},
	{"filters", around("first", times("{{ 'x'|upper|lower|trim|replace('a', 'b') }}"))},
	{"repetition of a value", func(n int) string {
		return conversation("<call>", "</call>", fmt.Sprintf("{%% for i in range(%d) %%}{{ m.content }}{%% endfor %%}", n))
	}},
	{"repetition of a name", func(n int) string {
		return conversation(fmt.Sprintf("<call>{%% for i in range(%d) %%}{{ c.function.name }}{%% endfor %%}", n), "</call>", "")
	}},
	{"repetition of a marker", func(n int) string {
		return conversation("<call>", "</call>", fmt.Sprintf("{{ '<x>' * %d }}", n))
	}},
	{"repetition of a value between markers", func(n int) string {
		return conversation("<call>", "</call>", fmt.Sprintf("{%% for i in range(%d) %%}<{{ i }}>{{ m.content }}</{{ i }}>{%% endfor %%}", n))
	}},
	{"literals that are made", func(n int) string {
		return conversation("<call>", "</call>", fmt.Sprintf("{%% for i in range(%d) %%}{%% if ('<' ~ i ~ '>') in (m.content or '') %%}{%% endif %%}{%% endfor %%}", n/10))
	}},
}

// checked runs all checks as --untrusted does, and every report.
func checked(text string) error {
	src := subject.New("t.jinja", text).Limited(untrusted)
	r := &report.Report{Results: check.Template(src, check.Options{Accepted: new([]string)})}
	var limited error
	for _, res := range r.Results {
		if res.Rule == "A056" && res.Status != rule.Passed || res.Rule == "A001" && res.Status != rule.Passed {
			limited = fmt.Errorf("%w: %s", errLimit, res.Text)
		}
	}
	return errors.Join(limited, written(r))
}

// written writes a report in every form, and bounds what it prints.
func written(r *report.Report) error {
	var b bytes.Buffer
	for _, err := range []error{r.Text(&b, report.TextOptions{}), r.JUnit(&b), r.SARIF(&b), r.HTML(&b), r.JSON(&b), r.Annotations(&b)} {
		if err != nil {
			return err
		}
	}
	if b.Len() > 16<<20 {
		return fmt.Errorf("the reports have %d bytes", b.Len())
	}
	return nil
}

// TestTemplateGrowth holds the checks of templates that grow to the bounds.
func TestTemplateGrowth(t *testing.T) {
	grow(t, 4<<10, 1<<20, templates, checked)
}
