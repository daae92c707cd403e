package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/format"
)

// TestReasoningIsEvidenced checks that markers of reasoning rest on evidence: on text that is
// written, on text that the template takes out of content, or on the shape of a tag. Text that
// merely heads an answer opens nothing.
func TestReasoningIsEvidenced(t *testing.T) {
	const turn = `{%- for m in messages %}<|{{ m.role }}|>{{ CONTENT }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>PROMPT{% endif %}`
	cut := func(open, close string) string {
		return `{%- macro rest(t) %}{% set ns = namespace(r='') %}{% for p in t.split('` + close + `') %}{% set ns.r = ns.r + p.split('` + open + `')[0] %}{% endfor %}{{ ns.r }}{% endmacro %}`
	}
	for _, tt := range []struct{ name, template, want string }{
		{"a header that answers with calls lack",
			`{%- if tools %}{{ tools|tojson }}{% endif %}{%- for m in messages %}{% if m.role == 'assistant' %}{% if m.content %}<|bot|>{{ '\n' ~ m.content }}{% endif %}` +
				`{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}<|end|>{% else %}<|{{ m.role }}|>{{ '\n' ~ m.content }}<|end|>{% endif %}{% endfor %}` +
				`{% if add_generation_prompt %}<|bot|>{{ '\n' }}{% endif %}`,
			`header: "<|bot|>\n" reasoning.mode: none`},
		{"a marker of the prompt whose shape has no counterpart",
			strings.NewReplacer("CONTENT", "m.content", "PROMPT", "<|score|>").Replace(turn),
			`header: "<|assistant|>" reasoning.mode: none`},
		{"a tag of the prompt",
			strings.NewReplacer("CONTENT", "m.content", "PROMPT", "<mull>").Replace(turn),
			`header: "<|assistant|>" reasoning.mode: forced_open reasoning.open: "<mull>" reasoning.close: "</mull>"`},
		{"markers between which text is taken out of content",
			cut("⟦m|", "|m⟧") + strings.NewReplacer("CONTENT", "rest(m.content)", "PROMPT", "").
				Replace(turn),
			`header: "<|assistant|>" reasoning.mode: tagged reasoning.open: "⟦m|" reasoning.close: "|m⟧"`},
		{"such markers with a word that the prompt writes",
			cut("<m|", "|m>") + strings.NewReplacer("CONTENT", "rest(m.content)", "PROMPT", `{% if not mull %}<m|why{{ '\n' }}|m>{% endif %}`).
				Replace(turn),
			`header: "<|assistant|>" reasoning.mode: forced_closed reasoning.open: "<m|why\n" reasoning.close: "|m>"`},
		{"a flag that changes the end of the user's turn",
			`{%- for m in messages %}{% if m.role == 'assistant' %}<bot>{{ m.content }}</s>{% else %}{{ m.content }} /{{ 'off' if mull is false else 'on' }} {% endif %}{% endfor %}{% if add_generation_prompt %}<bot>{% if mull is false %}<mull></mull>{% else %}<mull>{% endif %}{% endif %}`,
			`header: "<bot>" reasoning.mode: forced_closed reasoning.open: "<mull>" reasoning.close: "</mull>"`},
	} {
		a := analyze(t, tt.template)
		var got []string
		for line := range strings.Lines(a.Format.String()) {
			if strings.HasPrefix(line, "header") ||
				strings.HasPrefix(line, "reasoning.") &&
					!strings.HasPrefix(line, "reasoning.trim") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s\n%v", tt.name, got, tt.want, a.Evidence)
		}
	}
}

// TestAnswerIsEvidenced checks that reasoning which a prompt opens ends where a past answer is cut,
// though only answers before the last one are, and though the opener has another counterpart; and
// that the answer between two such markers stands between them.
func TestAnswerIsEvidenced(t *testing.T) {
	const turns = `{%- for m in messages %}<|{{ m.role }}|>{% set ns = namespace(c=m.content) %}` +
		`{% if m.role == 'assistant' and not loop.last %}CUT{% endif %}{{ ns.c }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|><weigh>{% endif %}`
	for _, tt := range []struct{ name, cut, want string }{
		{"one marker", `{% set ns.c = ns.c.split('</mull>')[-1] %}`, `"<weigh>" "</mull>" plain ""`},
		{"the answer between two", `{% set parts = ns.c.split('<say>\n') %}{% if parts|length > 1 and '\n</say>' in parts[-1] %}` +
			`{% set ns.c = parts[-1].split('\n</say>')[0] %}{% else %}{% set ns.c = ns.c.split('</mull>')[-1] %}{% endif %}`,
			`"<weigh>" "<say>\n" wrapped_with_reasoning "\n</say>"`},
	} {
		f := analyze(t, strings.Replace(turns, "CUT", tt.cut, 1)).Format
		got := strings.Join([]string{f.Reasoning.Open.String(), f.Reasoning.Close.String(),
			f.Content.Mode.String(), f.Content.Close.String()}, " ")
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCallsAreFound checks that calls are found wherever a template writes them: before a following
// message alone, or with a name in the id alone; and that a probe which fails for a reason of its
// own is no sign that there are none.
func TestCallsAreFound(t *testing.T) {
	const turn = `{%- if tools %}[tools]{{ tools|tojson }}{% endif %}{%- for m in messages %}{% if m.role == 'assistant' %}[bot]{{ m.content or '' }}CALLS[end]{% else %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{% endif %}`
	for _, tt := range []struct{ name, calls, want, unread string }{
		{"followed", `{% if not loop.last %}{% for c in m.tool_calls or [] %}<c>{{ c.function|tojson }}</c>{% endfor %}{% endif %}`,
			`end: "[end]" calls: json_native per_call_start: "<c>" per_call_end: "</c>" object: name=name, arguments=args`, ""},
		{"named by their ids", `{% for c in m.tool_calls or [] %}<c>{{ c.id }}<a>{{ c.function.arguments|tojson }}</c>{% endfor %}`,
			`end: "[end]" calls: tag_with_json per_call_start: "<c>" per_call_end: "</c>" head: {id: "functions." {name} ":" {index from 0}} "<a>" args: json codec: json`, ""},
		{"named by their ids, and followed", `{% if not loop.last %}{% for c in m.tool_calls or [] %}<c>{{ c.id }}<a>{{ c.function.arguments|tojson }}</c>{% endfor %}{% endif %}`,
			`end: "[end]" calls: tag_with_json per_call_start: "<c>" per_call_end: "</c>" head: {id: "functions." {name} ":" {index from 0}} "<a>" args: json codec: json`, ""},
		{"escaped where arguments are objects", `{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}{% set a = a if a is string else a|tojson|safe %}{{ '<c>{"name": "' + c.function.name + '", "arguments": ' + a + '}' }}{% endfor %}`,
			`end: "[end]" calls: json_native per_call_start: "<c>" object: name=name, arguments=args`, ""},
		{"with values that one marker opens and closes", `{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}{ {%- for k, v in c.function.arguments.items() %}{{ k }}:<q>{{ v }}<q>{{ "," if not loop.last }}{% endfor %}}</c>{% endfor %}`,
			`end: "[end]" calls: tag_with_tagged head: "<c>" {name} "{" args: tagged arg: {key} ":<q>" {value} "<q>" arg_separator: "," codec: str tail: "}</c>"`, ""},
		{"whose name and arguments are beside their function", `{% for c in m.tool_calls or [] %}<c>{{ {'name': c.name, 'arguments': c.arguments}|tojson }}</c>{% endfor %}`,
			`end: "[end]" calls: json_native per_call_start: "<c>" per_call_end: "</c>" object: name=name, arguments=args`, ""},
		{"in brackets without commas", `{% if m.tool_calls %}<c>[{% for c in m.tool_calls %}{{ c.function|tojson }}{% endfor %}]</c>{% endif %}`,
			`end: "[end]" calls: json_native section_start: "<c>[" section_end: "]</c>" object: name=name, arguments=args`, ""},
		{"an unknown filter", `{% for c in m.tool_calls or [] %}<c>{% if c %}{{ c.function|yaml }}{% endif %}</c>{% endfor %}`,
			`end: "[end]"`, "No filter named 'yaml' found."},
	} {
		a := analyze(t, strings.Replace(turn, "CALLS", tt.calls, 1))
		_, calls, _ := strings.Cut(a.Format.String(), "\nend:")
		calls = strings.ReplaceAll("end:"+calls, "reasoning.mode: none\ncontent.mode: plain\n", "")
		if got := strings.Replace(strings.Join(strings.Fields(calls), " "), ` end: "</s>"`, "", 1); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
		if !strings.HasSuffix(a.Unread, tt.unread) || (a.Unread == "") != (tt.unread == "") {
			t.Errorf("%s: calls cannot be read since %q, want %q", tt.name, a.Unread, tt.unread)
		}
	}
}

// TestAnswersElsewhere has templates whose answers stand where no user's message leads: in a prompt
// without one, beside tools alone, nowhere.
func TestAnswersElsewhere(t *testing.T) {
	const judge = `{% if tools %}{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}{% for c in m.tool_calls or [] %}<c>{{ c.function|tojson }}</c>{% endfor %}[over]{% endfor %}` +
		`{% else %}[user]Judge: {% for m in messages %}{{ '(' ~ m.role ~ ') ' ~ m.content ~ '\n' }}{% endfor %}[over]{% endif %}{% if add_generation_prompt %}[assistant]{% endif %}`
	for _, tt := range []struct{ name, template, want string }{
		{"no user's message", `[user]{% for m in messages %}{% if m.role == 'assistant' %}[bot]{{ m.content }}[over]{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{% endif %}`,
			`header: "[bot]" end: "[over]"`},
		{"answers beside tools", judge,
			`header: "[assistant]" end: "[over]" calls: json_native per_call_start: "<c>" per_call_end: "</c>" object: name=name, arguments=args`},
		{"no answers", `[user]Is this right?{% for m in messages %}{{ ' ' ~ m.content }}{% endfor %} Say yes or no.[over]{% if add_generation_prompt %}[bot]{{ '<mull>' if mull }}{% endif %}`,
			`header: "[bot]" reasoning.mode: forced_open reasoning.open: "<mull>" reasoning.close: "</mull>"`},
		{"no answers, and a prompt that is written unasked", `[user]Rate it.{% for m in messages %}{{ '\n' ~ m.role ~ ': ' ~ m.content ~ '\n' }}{% endfor %}Is the last {{ messages[-1].role }} message safe? Say yes or no.[over][bot]`,
			``},
		{"calls after an answer's end", `{% for m in messages %}{% if m.content %}{{ '[' ~ m.role ~ ']' ~ m.content ~ '[over]' }}{% endif %}` +
			`{% if m.tool_calls %}<calls>{{ m.tool_calls|tojson }}</calls>{% endif %}{% endfor %}{{ '[assistant]' if add_generation_prompt }}`,
			`header: "[assistant]" end: "[over]" calls: array of json_native section_start: "<calls>" section_end: "</calls>" object: id=id, type="function", function.name=name, function.arguments=args`},
	} {
		got := strings.NewReplacer("reasoning.mode: none\n", "", "content.mode: plain\n", "",
			"end: \"</s>\"\n", "").Replace(analyze(t, tt.template).Format.String())
		if got := strings.Join(strings.Fields(got), " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestEnds sees where turns end, and which of the markers after calls close them.
func TestEnds(t *testing.T) {
	const turn = `{%- if tools %}[tools]{{ tools|tojson }}{% endif %}{%- for m in messages %}{% if m.role == 'assistant' %}[bot]{{ m.content or '' }}` +
		`{% if m.tool_calls %}CALLS{% else %}<|end|>{% endif %}{% else %}[{{ m.role }}]{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{% endif %}`
	const list = `{% for c in m.tool_calls %}{{ {c.function.name: c.function.arguments}|tojson }}{{ ', ' if not loop.last }}{% endfor %}`
	for _, tt := range []struct{ name, template, want string }{
		{"a marker of its own after calls", strings.Replace(turn, "CALLS", `<|ask|>[`+list+`]<|asked|>`, 1),
			`header: "[bot]" end: "<|end|>" end: "<|asked|>" calls: array of json_native section_start: "<|ask|>" object: name is key, =args`},
		{"the mirror of the opener of calls", strings.Replace(turn, "CALLS", `<ask>[`+list+`]</ask>`, 1),
			`header: "[bot]" end: "<|end|>" calls: array of json_native section_start: "<ask>" section_end: "</ask>" object: name is key, =args`},
		{"a section that several calls alone close, and an end that no other turn has",
			`{%- if tools %}[tools]{{ tools|tojson }}{% endif %}{%- for m in messages %}{% if m.role == 'assistant' %}[bot]{{ m.content or '' }}{% for c in m.tool_calls or [] %}` +
				`{{ '<calls>' if loop.first }}<call>{{ c.function|tojson }}</call>{{ '</calls><over>' if not loop.first }}{% endfor %}{% else %}[{{ m.role }}]{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}[bot]{% endif %}`,
			`header: "[bot]" end: "<over>" calls: json_native section_start: "<calls>" section_end: "</calls>" section_end.after: several calls per_call_start: "<call>" per_call_end: "</call>" object: name=name, arguments=args`},
		{"a prompt that is written unasked, and begins as a question does",
			`Help.{% for m in messages %}{{ '\n### ' ~ ('Task' if m.role == 'user' else 'Reply') ~ ':\n' ~ m.content }}{% if m.role == 'assistant' %}|END|{% endif %}{% endfor %}{{ '\n### Reply:\n' }}`,
			`header: "\n### Reply:\n" end: "|END|"`},
	} {
		got := strings.NewReplacer("reasoning.mode: none\ncontent.mode: plain\n", "", "end: \"</s>\"\n", "").
			Replace(analyze(t, tt.template).Format.String())
		if got := strings.Join(strings.Fields(got), " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestFlagAmongMany finds the one variable of many that does something, whatever its name and
// place.
func TestFlagAmongMany(t *testing.T) {
	for _, flag := range []string{"a_mull", "mm_mull", "zz_mull"} {
		var others strings.Builder
		for i := range 40 {
			fmt.Fprintf(&others, "{%% set x = variable_%d %%}", i)
		}
		a := analyze(t, others.String()+strings.ReplaceAll(`{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning and FLAG %}[mull]{{ m.reasoning }}[/mull]{% endif %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% if FLAG %}[mull]{% endif %}{% endif %}`, "FLAG", flag))
		if r := a.Format.Reasoning; r.Open.Text != "[mull]" || r.Close.Text != "[/mull]" ||
			r.Mode != format.ReasoningForcedOpen {
			t.Errorf("%s: reasoning %v, mode %v", flag, r.Pair, r.Mode)
		}
	}
}

// TestCodecByAllValues checks that quotes which the template writes around strings are no codec,
// and that a word for one value alone decides none.
func TestCodecByAllValues(t *testing.T) {
	const turn = `{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}{% for c in m.tool_calls or [] %}<c>{{ c.function.name }}OPEN{% for k, v in c.function.arguments.items() %}ENTRY{% endfor %}SHUT</c>{% endfor %}[end]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`
	for _, tt := range []struct{ open, entry, shut, want string }{
		{"(", `{{ k }}={{ '"' ~ v ~ '"' if v is string else v|tojson }}{{ ", " if not loop.last }}`, ")", "json"},
		{"(", `{{ k }}={{ '"' ~ v ~ '"' if v is string else v }}{{ ", " if not loop.last }}`, ")", "python"},
		{"(", `{{ k }}={{ v|tojson }}{{ ", " if not loop.last }}`, ")", "json"},
		{"", `<k>{{ k }}</k><v>{{ v if v is string or v is none else v|tojson }}</v>`, "", "raw"},
		{"", `<k>{{ k }}</k><v>{{ v }}</v>`, "", "str"},
		{"", `<k>{{ k }}</k><v>{{ 'true' if v is true else 'false' if v is false else v if v is string or v is none else v|tojson }}</v>`, "", "raw"},
	} {
		a := analyze(t, strings.NewReplacer("OPEN", tt.open, "ENTRY", tt.entry, "SHUT", tt.shut).
			Replace(turn))
		if len(a.Format.Calls) != 1 || a.Format.Calls[0].Body.Codec.Style.String() != tt.want {
			t.Errorf("%s: want codec %s, got\n%s", tt.entry, tt.want, a.Format)
		}
	}
}
