package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/emit"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	reached "github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/edit/train"
	"github.com/goassay/assay/harness/report"
	"github.com/goassay/assay/harness/serve/pipe"
)

// untrusted are the limits of `assay check --untrusted`, except for the one on the source: the
// largest templates are a little longer.
var untrusted = engine.Limits{
	Render:     jinja.Limits{Steps: 200_000, OutputBytes: 1 << 20, Depth: 100},
	TotalSteps: 2_000_000, // each of 4 microseconds at most (package jinja)
	Output:     vm.Limits{Held: 1 << 18, Depth: 2_000, Rereads: 16},
}

// conversation is a template with calls around which an attacker may write any text.
func conversation(open, close, answer string) string {
	return strings.NewReplacer("OPEN", open, "CLOSE", close, "ANSWER", answer).
		Replace(`{%- if tools %}[tools]{{ tools|tojson }}[/tools]{% endif %}
{%- for m in messages %}{{- '<|' ~ m.role ~ '|>' }}
{%- if m.role == 'assistant' %}{{- m.content or '' }}ANSWER
{%- for c in m.tool_calls or [] %}OPEN{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}CLOSE{% endfor %}
{%- else %}{{ m.content }}{% endif %}<|end|>{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}`)
}

// around puts a generator's text into a template with calls, in the place of KEY.
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
var templateGenerators = []generator{
	{"branches", around("answer", times("{% if m.content == 'xxxxxxx%d' %}a{% endif %}"))},
	{"literals in content",
		around("answer", times("{% if '<x%d>' in (m.content or '') %}{% endif %}"))},
	{"literals that split",
		around("answer", times("{% set _ = (m.content or '').split('</x%d>') %}"))},
	{"literals that are stripped",
		around("answer", times("{% set _ = (m.content or '').strip('[x%d]') %}"))},
	{"literals of a variable",
		around("answer", times("{% if reasoning_effort == 'x%d' %}%d{% endif %}"))},
	{"literals of thinking",
		around("answer", times("{% if enable_thinking == 'x%d' %}%d{% endif %}"))},
	{"values that content is one of", oneOf("m.content")},
	{"values that a role is one of", oneOf("m.role")},
	{"values that a variable is one of", oneOf("reasoning_effort")},
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
	{"markers in calls and in the instructions", func(n int) string {
		markers := times("<x%d>")(n / 2)
		return "{%- if tools %}" + markers + "{% endif %}" +
			conversation("<call>"+markers, "</call>", "")
	}},
	{"markers of nothing in calls", func(n int) string {
		markers := times("<x%d></x%d>")(n)
		return conversation("<call>", markers+"</call>", "")
	}},
	{"texts that are values", around("answer",
		times("{{ m.field%d and 'Say the word for number %d at once' }}"))},
	{"texts in a list", around("first", between("{{ [", "'Say the word for number %d at once', ", "''][number] }}"))},
	{"texts in variables", around("first",
		times("{% set v%d = 'word %d ' %}{{ v%d[:number or 0] }}"))},
	{"texts that are handed on", around("first", between("{% set v = 'a word' %}", "{% set v = v ~ 'word %d' %}", "{{ v[:number or 0] }}"))},
	{"words at a place", around("answer",
		times("{% if loop.index == %d %}\nSay the word for number %d at once\n{% endif %}"))},
	{"one value again and again", around("answer", times("{{ m.content }}"))},
	{"one value and a marker", around("answer", times("{{ m.content }}<x>"))},
	{"names again and again", around("open", times("{{ c.function.name }}"))},
	{"roles again and again", around("answer", times("{{ m.role }}"))},
	{"reasoning again and again",
		around("answer", times("<think>{{ m.reasoning_content }}</think>"))},
	{"arguments again and again", around("open", times("{{ c.function.arguments|tojson }}"))},
	{"tools again and again", around("first", times("{{ tools|tojson if tools }}"))},
	{"macros", around("first", times("{% macro m%d() %}{{ m%d }}{% endmacro %}"))},
	{"calls of a macro",
		around(
			"first",
			between("{% macro f(x) %}{{ x }}{% endmacro %}", "{{ f('%d') }}", ""),
		)},
	{"assignments", around("first", times("{% set v%d = 1 %}"))},
	{"namespaces", around("first", times("{% set v%d = namespace(a=1) %}"))},
	{"loops", around("first", times("{% for x in messages %}{{ x.role }}{% endfor %}"))},
	{"loop over much", around("first", repeated("{% if x%d %}{% endif %}"))},
	{"loop that prints much", around("answer", repeated("{{ m.content[:0] }}"))},
	{"loop that asks much", around("first", between("{% for i in range(100000) if [", "a%d, ", "0] %}{% endfor %}"))},
	{"macro with many defaults", around("first", func(n int) string {
		return "{% macro f(" + strings.TrimSuffix(times("p%d=x|d(1), ")(n), ", ") +
			") %}{% endmacro %}{% for i in range(100000) %}{{ f() }}{% endfor %}"
	})},
	{"branches in a loop", around("first", repeated("{% if i == %d %}{{ i }}{% endif %}"))},
	{"integers", around("first", times("{{ %d * 999999999999 }}"))},
	{"long integer", around("first", between("{{ 1", "0", " }}"))},
	{"one letter", around("answer", times("x"))},
	{"one letter in front", around("first", times("x"))},
	{"one letter in the opening", around("open", times("x"))},
	{"one letter in the closing", around("close", times("x"))},
	{"brackets", around("answer", times("<"))},
	{"brackets in the opening", around("open", times("<"))},
	{"brackets in the closing", around("close", times("<|"))},
	{"white space", around("answer", between("", " ", "."))},
	{"white space in the opening", around("open", between(".", " \n", "."))},
	{"long marker", around("answer", between("<", "x", ">"))},
	{"long marker in the opening", around("open", between("<", "x", ">"))},
	{"long marker in the closing", around("close", between("</", "x_", ">"))},
	{"long text", around("first", between("{{ '", "x", "' }}"))},
	{"long list", around("first", between("{% set l = [", "%d, ", "] %}"))},
	{"long dict", around("first", between("{% set l = {", "'k%d': %d, ", "} %}"))},
	{"long name", around("first", between("{% set ", "x", " = 1 %}"))},
	{"comments", around("first", times("{# a comment %d #}"))},
	{"suppressions", around("first", times("{# assay:ignore A%d because #}"))},
	{"depth", around("first", func(n int) string {
		return strings.Repeat("{% if 1 %}", min(n/20, 190)) +
			strings.Repeat("{% endif %}", min(n/20, 190)) + times("{% if 1 %}{% if 1 %}x{% endif %}{% endif %}")(n)
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

// oneOf looks for the value of an expression in a list.
func oneOf(value string) func(int) string {
	return func(n int) string {
		return "{% set l = [" + times("'x%d', ")(n) + "''] %}" +
			conversation("<call>", "</call>", "{% if "+value+" in l %}a{% endif %}")
	}
}

// repeated puts copies of a piece into a loop.
func repeated(piece string) func(int) string {
	return func(n int) string {
		return "{% for i in range(100000) %}" + times(piece)(n) + "{% endfor %}"
	}
}

// prompts are templates whose generation prompt grows, and whose turns are not kept.
var prompts = []generator{
	{"prompts and places", dropping(times("{% if add_generation_prompt %}<x%d>{% endif %}"),
		times("{{ m.content }}"))},
	{"operands of a prompt", dropping(between("{% if add_generation_prompt %}", "{{ a%d }}", "{% endif %}"), times("{{ m.content }}"))},
	{"branches of a prompt", dropping(between("{% if add_generation_prompt %}{% if a %}{% else %}{% if b %}b", "{% elif a == %d %}c", "{% endif %}{% endif %}{% endif %}"), times("{{ m.content }}"))},
	{"conditions that drop", dropping(func(int) string { return "" },
		times("{% if not loop.last and m.role == 'r%d' %}a{% endif %}"))},
}

// dropping returns a template that drops the content of answers that are not the last message, with
// half of the text in its generation prompt and half in its answers.
func dropping(prompt, answer func(int) string) func(int) string {
	return func(n int) string {
		return "{% for m in messages %}{{ '<|' ~ m.role ~ '|>' }}{% if m.role == 'assistant' %}" +
			"{{ m.content if loop.last }}{% if m.role == 'none' %}" + answer(n/2) +
			"{% endif %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}" +
			"{% if add_generation_prompt %}<|assistant|><t>{% endif %}" + prompt(n/2)
	}
}

// source returns a template as --untrusted reads it.
func source(text string) subject.Source {
	return subject.New("t.jinja", text).Limited(context.Background(), untrusted)
}

// checked runs all checks as --untrusted does, and writes every report.
func checked(text string) error {
	r := &report.Report{
		Results: check.Template(source(text), check.Options{Accepted: new([]string)}),
	}
	var limited error
	for _, res := range r.Results {
		if res.Rule == "A056" && res.Status != rule.Passed ||
			res.Rule == "A001" && res.Status != rule.Passed {
			limited = fmt.Errorf("%w: %s", errLimit, res.Text)
		}
	}
	return errors.Join(limited, written(r))
}

// written writes a report in every form, and bounds its size.
func written(r *report.Report) error { return writtenWithin(r, maxReports) }

func writtenWithin(r *report.Report, most int) error {
	var b bytes.Buffer
	for _, err := range []error{r.Text(&b, report.TextOptions{}), r.Brief(&b, report.TextOptions{}),
		r.JUnit(&b), r.SARIF(&b), r.HTML(&b),
		r.JSON(&b), r.Annotations(&b, rule.Note), r.Summary(&b, rule.Note, 0)} {
		if err != nil {
			return err
		}
	}
	if b.Len() > most {
		return fmt.Errorf("the reports have %d bytes", b.Len())
	}
	return nil
}

// compiled compiles a template and runs one stage of its analysis.
func compiled(stage func(t *engine.Template) error) func(text string) error {
	return func(text string) error {
		t, err := source(text).Compile()
		if err == nil {
			err = errors.Join(stage(t), t.Exhausted())
		}
		return limited(err)
	}
}

func analysed(t *engine.Template) error {
	if n := len(t.Analysis().Format.String()); n > maxReports {
		return fmt.Errorf("a format of %d bytes", n)
	}
	return nil
}

// mended looks for patches of a template, and proves them.
func mended(text string) error {
	m := fix.Mend(context.Background(), source(text), fix.Options{Limits: untrusted},
		check.Options{})
	n := 0
	for _, p := range m.Patches {
		n += len(p.After)
	}
	if n > 64*len(text)+1<<20 {
		return fmt.Errorf("patches of %d bytes", n)
	}
	if errors.Is(m.Unjudged, engine.ErrExhausted) {
		return fmt.Errorf("%w: %w", errLimit, m.Unjudged)
	}
	return nil
}

// trained looks for the facts of a template that matter for training, and places the tags.
func trained(text string) error {
	r, err := train.Look(source(text), nil, 1)
	if err != nil {
		return limited(err)
	}
	n := len(r.String()) + len(r.Value().String())
	if n > 64*len(text)+1<<20 {
		return fmt.Errorf("a report of %d bytes", n)
	}
	return nil // a template that gets no tags is refused as it has to be
}

// keptTurns looks for a patch that keeps earlier turns.
func keptTurns(text string) error {
	kept, err := train.Keep(source(text), 1)
	switch {
	case errors.Is(err, engine.ErrExhausted):
		return limited(err)
	case err == nil && len(kept.Mended.Text) > 64*len(text)+1<<20:
		return fmt.Errorf("a patch of %d bytes", len(kept.Mended.Text))
	}
	return nil // most templates have nothing to be mended
}

// explored looks for conversations that reach a template's branches, and lists these.
func explored(t *engine.Template) error {
	x := reached.Explore(t.ChatTemplate(), reached.Usual(), t.Caps().Needs.Bound,
		reached.UsualRenders, nil)
	if n := len(x.String()) + len(x.Value().String()); n > maxReports {
		return fmt.Errorf("a listing of %d bytes", n)
	}
	return nil
}

// viewed makes the page of a template.
func viewed(text string) error {
	src := source(text)
	o := check.Options{Accepted: new([]string)}
	s := pipe.New(context.Background(), pipe.Options{Check: o, Limits: untrusted, Tight: untrusted})
	view, err := s.View(src, check.Template(src, o))
	if err == nil {
		var page bytes.Buffer
		if err = view.HTML(&page); err == nil && page.Len() > 4*maxReports {
			err = fmt.Errorf("a page of %d bytes", page.Len())
		}
	}
	return errors.Join(err, unusable(src))
}

// emitted writes the format of a template as others read it.
func emitted(t *engine.Template) error {
	v, err := emit.ResponseTemplate(t.Analysis().Format)
	if err == nil && len(v.String()) > maxReports {
		return fmt.Errorf("a response template of %d bytes", len(v.String()))
	}
	return nil // a format that it cannot describe is none of its faults
}

// unusable is why a template does not compile, or that its limits were met.
func unusable(src subject.Source) error {
	t, err := src.Compile()
	if err == nil {
		err = t.Exhausted()
	}
	return limited(err)
}

// revised compares a template with itself and a word more.
func revised(text string) error {
	both := subject.Limited(context.Background(), []subject.Source{subject.New("was.jinja", text),
		subject.New("is.jinja", text+"word")}, untrusted)
	is := both[1]
	err := written(&report.Report{Results: diff.Compare(both[0], is, nil)})
	return errors.Join(err, unusable(is))
}
