package check_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/testkit/share"
)

// kinds are ways to write calls that no template of the corpus has. EACH ... DONE is a loop over
// the calls, ARGS ... END one over the arguments, VALUE a string as it is or anything else as JSON.
var kinds = []struct{ name, calls string }{
	{"lines of key and value", `EACH{{ "<call>\nname: " ~ f.name }}ARGS{{ "\n" ~ k ~ ": " }}VALUEEND{{ "\n</call>" }}DONE`},
	{"lines of key and JSON", `EACH{{ "<call>\nname: " ~ f.name }}ARGS{{ "\n" ~ k ~ ": " ~ v|tojson }}END{{ "\n</call>" }}DONE`},
	{"a list of key and value", `EACH{{ "[call] " ~ f.name ~ "\n" }}ARGS- {{ k }}: VALUE{{ "\n" }}END[/call]DONE`},
	{"assignments in sections", `EACH{{ "[[call]]\nname = \"" ~ f.name ~ "\"\n" }}ARGS{{ k }} = {{ v|tojson }}{{ "\n" }}ENDDONE`},
	{"attributes", `EACH<invoke name="{{ f.name }}"ARGS {{ k }}="VALUE"END/>DONE`},
	{"attributes of a tag named after the function", `EACH<{{ f.name }}ARGS {{ k }}="VALUE"END/>DONE`},
	{"tags named after function and arguments", `EACH<{{ f.name }}>ARGS{{ "\n" }}<{{ k }}>VALUE</{{ k }}>END{{ "\n" }}</{{ f.name }}>DONE`},
	{"such tags in another", `EACH{{ "<tool_use>\n" }}<{{ f.name }}>ARGS{{ "\n" }}<{{ k }}>VALUE</{{ k }}>END{{ "\n" }}</{{ f.name }}>{{ "\n</tool_use>" }}DONE`},
	{"arguments before the name in an object", `EACH<call>{"arguments": {{ f.arguments|tojson }}, "name": "{{ f.name }}"}</call>DONE`},
	{"a fence of its own", "EACH{{ \"```tool_call\\n\" }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments|tojson }}}{{ \"\\n```\" }}DONE"},
	{"a fence of JSON", "EACH{{ \"```json\\n\" }}{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments|tojson }}}{{ \"\\n```\\n\" }}DONE"},
	{"function calls with an object", `<run>EACH{{ f.name }}({{ f.arguments|tojson }});DONE</run>`},
	{"function calls in backticks", "EACH`{{ f.name }}({{ f.arguments|tojson }})`DONE"},
	{"words before name and arguments", `EACH{{ "Action: " ~ f.name ~ "\nAction Input: " ~ f.arguments|tojson ~ "\n" }}DONE`},
	{"a colon between", `EACH<|call|>{{ f.name }}:{{ f.arguments|tojson }}<|/call|>DONE`},
	{"a space between", `EACH<|call|>{{ f.name }} {{ f.arguments|tojson }}<|/call|>DONE`},
	{"nothing that closes", `EACH<|call|>{{ f.name }}{{ "\n" }}{{ f.arguments|tojson }}DONE`},
	{"bars and arrows", `EACH[[{{ f.name }}ARGS | {{ k }} => {{ v|tojson }}END]]DONE`},
	{"pairs in an array", `<|calls|>[{% for c in m.tool_calls %}["{{ c.function.name }}", {{ c.function.arguments|tojson }}]{{ ", " if not loop.last }}{% endfor %}]<|/calls|>`},
	{"an id as an attribute", `EACH<call id="{{ c.id }}" fn="{{ f.name }}">{{ f.arguments|tojson }}</call>DONE`},
	{"an id in the closing tag", `EACH<call fn="{{ f.name }}">{{ f.arguments|tojson }}</call id={{ c.id }}>DONE`},
	{"an id after the arguments, white space before it", `EACH[FUNC]{{ f.name }}{{ f.arguments|tojson }}[CALL_ID]{{ "\n" ~ c.id }}DONE`},
	{"an id before the name, white space after it", `EACH[CALL_ID]{{ c.id ~ " " }}[FUNC]{{ f.name }}{{ f.arguments|tojson }}DONE`},
	{"numbered tags", `{% for c in m.tool_calls %}<call{{ loop.index }}>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call{{ loop.index }}>{% endfor %}`},
	{"Python's repr", `EACH<call>{'name': '{{ f.name }}', 'arguments': {{ f.arguments }}}</call>DONE`},
	{"the message's own list", `<calls>{{ m.tool_calls|tojson }}</calls>`},
	{"the call as it came", `EACH<call>{{ c|tojson }}</call>DONE`},
	{"indented JSON", `EACH<call>{{ f|tojson(indent=2) }}</call>DONE`},
	{"lines of JSON", `<calls>{% for c in m.tool_calls %}{{ "\n" ~ c.function|tojson }}{% endfor %}{{ "\n" }}</calls>`},
	{"keyword arguments", `<|tool|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}{{ ", " if not loop.last }}{% endfor %}){{ ", " if not loop.last }}{% endfor %}]<|/tool|>`},
	{"keyword arguments between quotes", `<|tool|>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}="VALUE"{{ ", " if not loop.last }}{% endfor %}){{ ", " if not loop.last }}{% endfor %}]<|/tool|>`},
	{"calls with semicolons", `<|tool|>{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}{{ ", " if not loop.last }}{% endfor %}){{ "; " if not loop.last }}{% endfor %}<|/tool|>`},
	{"arguments with types", `EACH<use tool="{{ f.name }}">ARGS<arg name="{{ k }}" type="{{ "string" if v is string else "json" }}">VALUE</arg>END</use>DONE`},
	{"arguments in a section", `EACH<call>{{ f.name }}<args>ARGS<k>{{ k }}</k><v>VALUE</v>END</args></call>DONE`},
	{"everything escaped", `EACH<call name="{{ f.name }}">ARGS<arg name="{{ k }}">{{ (v if v is string else v|tojson)|e }}</arg>END</call>DONE`},
	{"a space between key and value", `EACH(call {{ f.name }}ARGS :{{ k }} {{ v|tojson }}END)DONE`},
	{"a line break between key and value", `EACH<|call|>{{ f.name }}ARGS<|arg|>{{ k }}{{ "\n" }}VALUE<|/arg|>END<|/call|>DONE`},
	{"arguments that the next one ends", `EACH<|call|>{{ f.name }}ARGS<|arg|>{{ k }} VALUEEND<|/call|>DONE`},
	{"a dict with values in JSON", `{% for c in m.tool_calls %}{{ "\nawait functions." ~ c.function.name }}({{ "{" }}{% for k, v in c.function.arguments.items() %}{{ k }}: {{ v|tojson }}{{ ", " if not loop.last }}{% endfor %}});DONE`},
	{"a word before the name", `EACH{{ "\nCALL " ~ f.name }}({{ f.arguments|tojson }})DONE`},
	{"a list of objects of key and value in an object", `EACH<call>{"name": "{{ f.name }}", "parameters": [{% for k, v in f.arguments.items() %}{"key": "{{ k }}", "value": {{ v|tojson }}}{{ ", " if not loop.last }}{% endfor %}]}</call>DONE`},
	{"a marker before the first call and another before the next", `EACH{{ "<|tools|>" if loop.first else "<|next|>" }}{{ f.name }} {{ f.arguments|tojson }}DONE`},
	{"the number of calls and the length of the arguments", `{% for c in m.tool_calls %}<call {{ loop.index }} of {{ m.tool_calls|length }}>{{ c.function.name }} {{ c.function.arguments|tojson|length }} {{ c.function.arguments|tojson }}</call>{% endfor %}`},
	{"the length of the arguments in an object", `EACH<call>{"size": {{ f.arguments|tojson|length }}, "name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}, "as": "{{ f.arguments|tojson|length }}"}</call>DONE`},
	{"strings in CDATA sections", `EACH<{{ f.name }}>ARGS<{{ k }}>{% if v is string %}<![CDATA[{{ v }}]]>{% else %}{{ v|tojson }}{% endif %}</{{ k }}>END</{{ f.name }}>DONE`},
	{"strings in CDATA sections of elements with names", `EACH<call fn="{{ f.name }}">ARGS<arg name="{{ k }}">{% if v is string %}<![CDATA[{{ v }}]]>{% else %}{{ v|tojson }}{% endif %}</arg>END</call>DONE`},
	{"all values in CDATA sections", `EACH<call fn="{{ f.name }}">ARGS<arg name="{{ k }}"><![CDATA[VALUE]]></arg>END</call>DONE`},
	{"values that one marker opens and closes", `EACH<call>{{ f.name }}{{ "{" }}ARGS{{ k }}:<q>VALUE<q>{{ "," if not loop.last }}END{{ "}" }}</call>DONE`},
	{"names in ids alone", `EACH<|call|>{{ c.id }}<|args|>{{ f.arguments|tojson }}<|/call|>DONE`},
	{"a prefix before the name", `EACH<|tool_call|>functions.{{ f.name }}<|args|>{{ f.arguments|tojson }}<|end_call|>DONE`},
}

const kindsFrame = `{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif %}
{%- for m in messages -%}
<|{{ m.role }}|>
{% if m.role == 'assistant' -%}
{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content or '' -}}
{%- if m.tool_calls -%}CALLS{%- endif -%}
{%- else -%}
{{- m.content -}}
{%- endif -%}<|end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{ "\n" }}{%- endif -%}`

// thoughts are ways to write reasoning and content, and ends of generation prompts. CONTENT stands
// for the content.
var thoughts = []struct{ name, turn, prefill string }{
	{"plain after a prompt that ends with a line break", `CONTENT`, `{{ '\n' }}`},
	{"tags on lines of their own", `{% if m.thinking %}{{ '<thinking>\n' ~ m.thinking ~ '\n</thinking>\n\n' }}{% endif %}CONTENT`, ``},
	{"square brackets", `{% if m.reasoning %}[THINK]{{ m.reasoning }}[/THINK]{% endif %}CONTENT`, ``},
	{"words", `{% if m.reasoning_content %}Reasoning: {{ m.reasoning_content }}{{ '\n' }}Answer: {% endif %}CONTENT`, ``},
	{"headings", `{% if m.reasoning_content %}### Thought{{ '\n' ~ m.reasoning_content ~ '\n' }}### Reply{{ '\n' }}{% endif %}CONTENT`, ``},
	{"content in tags", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}<response>CONTENT</response>`, ``},
	{"content in tags after reasoning", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think><answer>CONTENT</answer>{% else %}CONTENT{% endif %}`, ``},
	{"opened by every prompt", `<think>{{ m.reasoning_content or '' }}</think>CONTENT`, `<think>`},
	{"opened or closed by a flag", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if enable_thinking is not defined or enable_thinking %}<think>{% else %}<think></think>{% endif %}`},
	{"closed by a flag", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}`},
	{"written under a flag alone", `{% if m.reasoning_content and thinking %}<|t|>{{ m.reasoning_content }}<|/t|>{% endif %}CONTENT`, `{% if thinking %}<|t|>{% endif %}`},
	{"a level that closes it", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if reasoning_effort == 'none' %}<think></think>{% endif %}`},
	{"a close alone", `{% if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}CONTENT`, ``},
	{"a close alone, opened where there are tools", `{% if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if tools %}<think>{% endif %}`},
	{"a close alone, opened after a result", `{% if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if messages[-1].role == 'tool' %}<think>{% endif %}`},
	{"a close alone, opened by a flag where there are tools", `{% if m.reasoning_content %}{{ m.reasoning_content }}</think>{% endif %}CONTENT`, `{% if tools and enable_thinking %}<think>{% endif %}`},
	{"a turn of its own", `{% if m.reasoning_content %}{{ '<|thought|>\n' ~ m.reasoning_content ~ '<|end|>\n<|assistant|>\n' }}{% endif %}CONTENT`, ``},
	{"a channel of its own", `{% if m.reasoning_content %}<|channel|>analysis<|message|>{{ m.reasoning_content }}<|end|><|assistant|>{% endif %}<|channel|>final<|message|>CONTENT`, ``},
	{"in the last turn alone", `{% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}CONTENT`, ``},
	{"taken out of content", `{% set c = m.content or '' %}{% if '</think>' in c %}{% set c = c.split('</think>')[-1] %}{% endif %}{{ c }}`, `<think>{{ '\n' }}`},
	{"after content", `CONTENT{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}`, ``},
	{"typed parts", `{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}{% if p.type == 'thinking' %}<t>{{ p.thinking }}</t>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}`, ``},
	{"tokens that do not mirror each other", `{% if m.reasoning_content %}<unused6>{{ m.reasoning_content }}<unused7>{% endif %}CONTENT`, ``},
	{"letters beyond ASCII", `{% if m.reasoning_content %}◁think▷{{ m.reasoning_content }}◁/think▷{% endif %}CONTENT`, ``},
	{"closed by the opener of content", `{% if m.reasoning_content %}<|plan|>{{ '\n' ~ m.reasoning_content ~ '\n' }}{% endif %}{% if m.content %}<|say|>{{ '\n' }}CONTENT{{ '\n' }}{% endif %}`, ``},
	{"closed by words that open content", `{% if m.reasoning_content %}Thought: {{ m.reasoning_content }}{{ '\n' }}{% endif %}{% if m.content %}Final Answer: CONTENT{% endif %}`, ``},
	{"an empty block that every prompt opens", `{{ '<think>\n\n</think>\n\n' }}CONTENT`, `{{ '<think>\n' }}`},
	{"a flag between reasoning and content", `{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}<answer>CONTENT</answer>`, `{% if enable_thinking %}<think>{% else %}<answer>{% endif %}`},
}

const thoughtsFrame = `{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif %}
{%- for m in messages -%}
<|{{ m.role }}|>{{ "\n" }}
{%- if m.role == 'assistant' -%}
TURN
{%- for c in m.tool_calls or [] -%}<call>{{ c.function|tojson }}</call>{%- endfor -%}
{%- else -%}
{{- m.content -}}
{%- endif -%}<|end|>{{ "\n" }}
{%- endfor -%}
{%- if add_generation_prompt -%}<|assistant|>{{ "\n" }}PREFILL{%- endif -%}`

// unbounded finds a repetition without a bound in a trigger's pattern, whose literals are escaped:
// an engine that matches by recursion would exhaust its stack on a long text.
var unbounded = regexp.MustCompile(`(^|[^\\])[*+]`)

// probed finds the texts that the analysis puts into the conversations with which it probes a
// template.
var probed = regexp.MustCompile(`(?i)vq`)

// TestUnseenKinds checks templates of kinds that nobody prepared the engine for: their turns are
// read back, their grammar takes them, the grammar's samples are read as calls, and its triggers
// are bounded.
func TestUnseenKinds(t *testing.T) {
	for _, kind := range unseen() {
		if !share.Has(kind.Name, 3) {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			_, findings := broken(t, kind, check.Options{})
			for _, r := range findings {
				// That an engine's own Jinja lacks a filter (A157) says nothing of the reading.
				if r.Status == rule.Failed && r.Rule != "A157" || r.Rule == "A038" {
					t.Errorf("%s: %s", r.Rule, r.Text)
				}
			}
			tm, err := kind.Compile()
			if err != nil {
				t.Fatal(err)
			}
			plan, err := tm.Prepare(standard.Tools().Request, engine.PrepareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, trigger := range plan.Triggers {
				if trigger.Pattern && unbounded.MatchString(trigger.Text) {
					t.Errorf("the trigger %s repeats without a bound", trigger.Text)
				}
			}
		})
	}
}

// TestProbesStayOut checks that nothing of a probe's conversation becomes a part of a format: a
// part that one call has of its own would be demanded of every call.
func TestProbesStayOut(t *testing.T) {
	c, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	var vendor fs.FS
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		vendor = os.DirFS(dir)
	}
	sources := unseen()
	for _, f := range c.Families {
		if f.Own {
			text, err := c.Text(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, subject.New(f.Name, text))
		}
		for _, v := range f.Vendors {
			if vendor != nil {
				text, err := families.ReadVendor(vendor, v)
				if err != nil {
					t.Fatal(err)
				}
				sources = append(sources, subject.New(v.Name, text))
			}
		}
	}
	for _, src := range sources {
		tm, err := src.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if f := tm.Analysis().Format.String(); probed.MatchString(f) {
			t.Errorf("%s: the format has a part of a probe:\n%s", src.Name, f)
		}
	}
}

// unseen returns the templates that the tables make.
func unseen() (sources []subject.Source) {
	add := func(name, text string) { sources = append(sources, subject.New(name, text)) }
	spell := strings.NewReplacer("EACH", "{%- for c in m.tool_calls -%}{%- set f = c.function -%}",
		"LISTED", "{%- for c in m.tool_calls or [] -%}{%- set f = c.function -%}", "DONE", "{%- endfor -%}",
		"ARGS", "{% for k, v in f.arguments.items() %}", "END", "{% endfor %}", "VALUE",
		"{{ v if v is string else v|tojson }}")
	for _, kind := range kinds {
		add("calls/"+kind.name, strings.Replace(kindsFrame, "CALLS", spell.Replace(kind.calls), 1))
	}
	const tools = `{%- if tools %}<|tools|>{{ tools|tojson }}<|end|>{% endif %}`
	behind := strings.Replace(strings.Replace(kindsFrame, tools, "", 1), "{%- if add_gen",
		tools+"{%- if add_gen", 1)
	add("tools after the messages",
		strings.Replace(behind, "CALLS", "{{ m.tool_calls|tojson }}", 1))
	const (
		apart = `{%- if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{{- m.content or '' -}}
{%- if m.tool_calls -%}CALLS{%- endif -%}`
		nested = `{%- if m.reasoning_content or m.tool_calls %}<plan><thought>{{ m.reasoning_content }}</thought>EACH<step tool="{{ f.name }}">{{ f.arguments|tojson }}</step>DONE</plan>{% endif %}{{ m.content or '' }}`
	)
	const inside = `<think>{{ m.reasoning_content or '' }}LISTED<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>DONE</think>{{ m.content or '' }}`
	add("calls inside reasoning", strings.Replace(kindsFrame, apart, spell.Replace(inside), 1))
	add("reasoning and calls in one block",
		strings.Replace(kindsFrame, apart, spell.Replace(nested), 1))
	for _, kind := range thoughts {
		turn := strings.ReplaceAll(kind.turn, "CONTENT", "{{ m.content or '' }}")
		add("reasoning/"+kind.name, strings.NewReplacer("TURN", turn, "PREFILL", kind.prefill).
			Replace(thoughtsFrame))
	}
	return sources
}

// TestChannels has our template of addressed parts in other spellings, as publishers vary theirs:
// all of their outputs are read, and no rule of the analysis or of reading has a finding.
func TestChannels(t *testing.T) {
	text, err := fs.ReadFile(corpus.FS, "gpt-oss/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const head = `'<|start|>assistant to=functions.' + function.name + '<|channel|>commentary json<|message|>'`
	const end = `'<|return|>' if loop.last and not add_generation_prompt else '<|end|>'`
	for name, edit := range map[string][2]string{
		"as it is":                            {"", ""},
		"the recipient after the channel":     {head, `'<|start|>assistant<|channel|>commentary to=functions.' + function.name + ' <|constrain|>json<|message|>'`},
		"a constraint":                        {"commentary json", "commentary <|constrain|>json"},
		"no word for the arguments":           {"commentary json", "commentary"},
		"calls in the channel of reasoning":   {"commentary json", "analysis code"},
		"one end for all answers":             {end, `'<|end|>'`},
		"another one":                         {end, `'<|return|>'`},
		"all reasoning is kept":               {"(loop.index0 > answer.index or loop.last)", "true"},
		"none of the last turn":               {"(loop.index0 > answer.index or loop.last)", "loop.index0 > answer.index"},
		"text beside calls is reasoning":      {"commentary<|message|>' + message.content", "analysis<|message|>' + message.content"},
		"arguments as JSON in a text of JSON": {"function.arguments if function.arguments is string else function.arguments | tojson", "function.arguments | tojson"},
	} {
		changed := strings.Replace(string(text), edit[0], edit[1], 1)
		if edit[0] != "" && changed == string(text) {
			t.Errorf("%s: %q is not in the template", name, edit[0])
		}
		_, findings := broken(t, subject.New("test.jinja", changed),
			check.Options{Only: []string{"A003", "A004", "A005", "A006", "A007", "A034"}})
		for _, r := range findings {
			t.Errorf("%s: %s: %s", name, r.Rule, r.Text)
		}
	}
}
