package fix_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/edit/fix"
)

// sound is a template without a fault that is mended; the cases below change a line of it.
const sound = `{%- if tools %}
{{- '<|im_start|>system\nTools:\n' }}
{%- for tool in tools %}
{{- tool|tojson + '\n' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\n' }}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments|tojson }}
{{- '}</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
`

const (
	printTurn       = `{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}`
	printParts      = `{%- if message.content is string %}{{- message.content }}{% else %}{% for p in message.content %}{{- p.text }}{% endfor %}{% endif %}`
	printPicture    = `{{- '<|im_start|>' + message.role + '\n' }}{%- if message.content is string %}{{- message.content }}{% else %}{% for p in message.content %}{%- if `
	printPictureEnd = `%}{{- '<image>' }}{% elif p.type == 'text' %}{{- p.text }}{% else %}{{- raise_exception('an unknown part') }}{% endif %}{% endfor %}{% endif %}{{- '<|im_end|>\n' }}`
	printTool       = `{{- tool|tojson + '\n' }}`
	printText       = `{{- message.content or '' }}`
	printCall       = `{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' }}
` + printArgs + `
{{- '}</tool_call>' }}
{%- endfor %}`
	printArgs = `{{- call.function.arguments if call.function.arguments is string else call.function.arguments|tojson }}`
)

// TestMend breaks the sound template in one place, and wants the patch that an author would write.
func TestMend(t *testing.T) {
	for _, c := range []struct {
		name         string
		line, broken string // the line in the sound template, and in the broken one
		want         string // the line after the patch; "" where there is none
		kind         fix.Kind
		left         string // a part of the reason why nothing is done
		refuse       bool
		parts        bool   // answers are written in parts, too
		only         string // the rule whose findings are mended; "": all
	}{
		{name: "sound"},
		{name: "null content printed", line: printText, broken: `{{- message.content }}`,
			want: `{{- message.content or '' }}`, kind: fix.NullContent},
		{name: "null content crashes", line: printText, broken: `{{- 'A: ' + message.content }}`,
			want: `{{- 'A: ' + (message.content or '') }}`, kind: fix.NullContent},
		{name: "null content searched", line: printText, broken: `{%- if 'x' in message['content'] %}{{- message['content'] }}{% else %}{{- message['content'] }}{% endif %}`,
			want: `{%- if 'x' in (message['content'] or '') %}{{- message['content'] }}{% else %}{{- message['content'] or '' }}{% endif %}`, kind: fix.NullContent},
		{name: "null content of a variable", line: printText, broken: `{%- set text = message.content %}{{- text.split('</think>')[-1] }}`,
			want: `{%- set text = message.content or '' %}{{- text.split('</think>')[-1] }}`, kind: fix.NullContent},
		{name: "null content in parts", line: printText,
			broken: `{%- if message.content is string %}{{- message.content }}{% else %}{% for p in message.content %}{{- p.text }}{% endfor %}{% endif %}`,
			want:   `{%- if message.content is string %}{{- message.content }}{% else %}{% for p in message.content or [] %}{{- p.text }}{% endfor %}{% endif %}`, kind: fix.NullContent, only: "A012"},
		{name: "no description", line: printTool, broken: `{{- tool.function.name + ': ' + tool.function.description + '\n' + tool.function.parameters|tojson }}`,
			kind: fix.BareTools, want: `{{- tool.function.name + ': ' + (tool.function.description or '') + '\n' + (tool.function.parameters or {'type': 'object', 'properties': {}})|tojson }}`},
		{name: "no parameters, and empty ones", line: printTool,
			broken: `{%- if tool.function.parameters is mapping and not tool.function.parameters %}{{- '!' }}{%- endif %}{{- tool.function.parameters|tojson }}`, kind: fix.BareTools,
			want: `{%- if tool.function.parameters is mapping and not tool.function.parameters %}{{- '!' }}{%- endif %}{{- ({'type': 'object', 'properties': {}} if tool.function.parameters is undefined else tool.function.parameters)|tojson }}`},
		{name: "no parameters", line: printTool,
			broken: `{{- tool.function.name }}{%- for name, p in tool.function.parameters.properties.items() %}{{- name + (p.description or '') }}{%- endfor %}`,
			kind:   fix.BareTools,
			want:   `{{- tool.function.name }}{%- for name, p in (tool.function.parameters or {'type': 'object', 'properties': {}}).properties.items() %}{{- name + (p.description or '') }}{%- endfor %}`},
		{name: "no parameters beside empty ones", line: printTool,
			broken: emptyTest + `{{- tool.function.parameters|tojson }}`, kind: fix.BareTools,
			want: emptyTest + `{{- ({'type': 'object', 'properties': {}} if tool.function.parameters is undefined else tool.function.parameters)|tojson }}`},
		{name: "arguments encoded twice beside a word", line: printArgs,
			broken: `{%- if call.function.arguments == 'none' %}-{% endif %}{{- call.function.arguments|tojson }}`,
			want:   `{%- if call.function.arguments == 'none' %}-{% endif %}` + printArgs, kind: fix.TextArguments},
		{name: "arguments encoded twice", line: printArgs, broken: `{{- call.function.arguments|tojson }}`,
			want: printArgs, kind: fix.TextArguments},
		{name: "arguments encoded twice in a sum", line: printArgs, broken: `{{- '' ~ call['function']['arguments'] | tojson(indent=none) }}`,
			want: `{{- '' ~ (call['function']['arguments'] if call['function']['arguments'] is string else call['function']['arguments'] | tojson(indent=none)) }}`, kind: fix.TextArguments},
		{name: "a call written as a whole", line: printCall, kind: fix.TextArguments,
			broken: `{%- set out = call.function|tojson %}{{- out }}{%- endfor %}`,
			want:   `{%- set out = '{"name": ' ~ call.function.name|tojson ~ ', "arguments": ' ~ call.function.arguments ~ '}' if call.function.arguments is string else call.function|tojson %}{{- out }}{%- endfor %}`},
		{name: "arguments as text alone", line: printArgs, broken: `{{- '' + call.function.arguments }}`,
			want: `{{- '' + (call.function.arguments if call.function.arguments is string else call.function.arguments|tojson) }}`, kind: fix.ObjectArguments},
		{name: "arguments as Python writes them", line: printArgs, broken: `{{- call.function.arguments }}`,
			want: `{{- call.function.arguments if call.function.arguments is string else call.function.arguments|tojson }}`, kind: fix.ObjectArguments},
		{name: "calls that are null", line: printText, kind: fix.NoCalls,
			broken: `{%- if message.tool_calls is defined and message.tool_calls is not none %}{{- '(' + (message.content or '') + ')' }}{% else %}{{- message.content or '' }}{% endif %}`,
			want:   `{%- if message.tool_calls and message.tool_calls is not none %}{{- '(' + (message.content or '') + ')' }}{% else %}{{- message.content or '' }}{% endif %}`},
		{name: "calls that are there", line: printText, kind: fix.NoCalls,
			broken: `{%- if 'tool_calls' not in message %}{{- message.content or '' }}{% endif %}`,
			want:   `{%- if not message.tool_calls %}{{- message.content or '' }}{% endif %}`},
		{name: "a developer that nobody hears", kind: fix.Developer,
			line:   `{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}`,
			broken: `{%- if message.role == 'system' %}{{- '<|im_start|>system\n' + message.content + '<|im_end|>\n' }}{% elif message.role != 'developer' %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}`,
			want:   `{%- if message.role in ['system', 'developer'] %}{{- '<|im_start|>system\n' + message.content + '<|im_end|>\n' }}{% elif message.role != 'developer' %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}`},
		{name: "parts printed", line: printTurn, kind: fix.Parts, parts: true,
			broken: `{{- '<|im_start|>' + message.role + '\n' }}{{- message.content }}{{- '<|im_end|>\n' }}`,
			want:   `{{- '<|im_start|>' + message.role + '\n' }}` + printParts + `{{- '<|im_end|>\n' }}`},
		{name: "parts printed that nothing joins", line: printTurn, kind: fix.Parts, parts: true,
			broken: `{{- '<|im_start|>' + message.role + '\n' + message.content|string + '<|im_end|>\n' }}`,
			want:   `{{- '<|im_start|>' + message.role + '\n' + (message.content if message.content is string else message.content|map(attribute='text')|join)|string + '<|im_end|>\n' }}`},
		{name: "parts printed, and joined elsewhere", line: printTurn, kind: fix.Parts, parts: true,
			broken: `{{- '<|im_start|>' + message.role + '\n' }}{%- if message.role == 'user' %}` + printParts + `{% else %}{{- message.content }}{% endif %}{{- '<|im_end|>\n' }}`,
			want:   `{{- '<|im_start|>' + message.role + '\n' }}{%- if message.role == 'user' %}` + printParts + `{% else %}` + printParts + `{% endif %}{{- '<|im_end|>\n' }}`},
		{name: "the first part alone", line: printTurn, kind: fix.Parts, parts: true,
			broken: `{%- if message.content is string %}{%- set text = message.content %}{% else %}{%- set text = message.content[0]['text'] %}{% endif %}{{- '<|im_start|>' + message.role + '\n' + text + '<|im_end|>\n' }}`,
			want:   `{%- if message.content is string %}{%- set text = message.content %}{% else %}{%- set text = message.content|map(attribute='text')|join %}{% endif %}{{- '<|im_start|>' + message.role + '\n' + text + '<|im_end|>\n' }}`},
		{name: "parts joined in vain", line: printTurn, kind: fix.Parts, parts: true,
			broken: `{%- set text = message.content %}{%- if text is not string %}{%- set text = '' %}{%- for p in message.content %}{%- if p.type == 'text' %}{%- set text = text + p.text %}{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_start|>' + message.role + '\n' + text + '<|im_end|>\n' }}`,
			want:   `{%- set text = message.content %}{%- if text is not string %}{%- set text = '' %}{%- set kept = namespace(text=text) %}{%- for p in message.content %}{%- if p.type == 'text' %}{%- set kept.text = kept.text + p.text %}{%- endif %}{%- endfor %}{%- set text = kept.text %}{%- endif %}{{- '<|im_start|>' + message.role + '\n' + text + '<|im_end|>\n' }}`},
		{name: "reasoning that is null", line: printText, kind: fix.NullMembers,
			broken: `{%- if message.thinking is defined %}{{- '<think>' + message.thinking + '</think>' }}{% endif %}{{- message.content or '' }}`,
			want:   `{%- if message.thinking is defined and message.thinking is not none %}{{- '<think>' + message.thinking + '</think>' }}{% endif %}{{- message.content or '' }}`},
		{name: "a picture of another name", line: printTurn, kind: fix.Pictures, parts: true,
			broken: printPicture + `p.type == 'image' ` + printPictureEnd,
			want:   printPicture + `p.type in ['image', 'image_url'] ` + printPictureEnd},
		{name: "true as Python writes it", line: printArgs, kind: fix.PythonArguments, only: "A128",
			broken: `{%- for key, value in call.function.arguments.items() %}{{- '<' + key + '>' + value|string }}{%- endfor %}`,
			want:   `{%- for key, value in call.function.arguments.items() %}{{- '<' + key + '>' + (value if value is string else value|tojson) }}{%- endfor %}`},
		{name: "a developer among those that are sought", line: printTurn, kind: fix.Developer,
			broken: `{%- if message.role == 'system' %}{{- '<|im_start|>system\n' + message.content + '<|im_end|>\n' }}{% elif messages|selectattr('role', 'equalto', 'system')|list and message.role != 'developer' or message.role == 'tool' or message.role == 'user' %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}`,
			want:   `{%- if message.role in ['system', 'developer'] %}{{- '<|im_start|>system\n' + message.content + '<|im_end|>\n' }}{% elif messages|selectattr('role', 'equalto', 'system')|list and message.role != 'developer' or message.role == 'tool' or message.role == 'user' %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}`},
		{name: "tools as Python writes them", line: printTool, broken: `{{- tool|string + '\n' }}`,
			want: printTool, kind: fix.PythonValues},
		{name: "types in one word", line: printTool,
			broken: `{{- tool|tojson }}{%- for name, p in ((tool.function.parameters or {}).properties or {}).items() %}{{- name + ': ' + p.type }}{%- endfor %}`,
			kind:   fix.Unions,
			want:   `{{- tool|tojson }}{%- for name, p in ((tool.function.parameters or {}).properties or {}).items() %}{{- name + ': ' + (p.type if p.type is string else p.type|join(' | ')) }}{%- endfor %}`},
		{name: "types by a macro that goes through text", line: printTool,
			broken: typeMacro + `{% elif p.type is iterable %}` + typeMacroEnd,
			kind:   fix.Unions,
			want:   typeMacro + `{% elif p.type is iterable and p.type is not string %}` + typeMacroEnd},
		{name: "an object is needed", line: printArgs,
			broken: `{%- for key, value in call.function.arguments.items() %}{{- '<' + key + '>' + (value if value is string else value|tojson) }}{%- endfor %}`,
			kind:   fix.TextArguments, left: "--refuse adds a refusal in words"},
		{name: "an object is needed, and said so", line: printArgs, refuse: true,
			broken: `{%- for key, value in call.function.arguments.items() %}{{- '<' + key + '>' + (value if value is string else value|tojson) }}{%- endfor %}`,
			kind:   fix.Refused,
			want: `{%- if call.function.arguments is string %}
    {{- raise_exception('The arguments of a tool call must be an object, not a text: read the JSON first.') }}
{%- endif %}
{%- for key, value in call.function.arguments.items() %}{{- '<' + key + '>' + (value if value is string else value|tojson) }}{%- endfor %}`},
		{name: "a filter of another name", line: printTool, broken: `{{- tool|to_json + '\n' }}`, want: printTool, kind: fix.UnknownName},
		{name: "a filter that is a method", line: printText, broken: `{{- (message.content or '')|split('</think>')|last }}`,
			want: `{{- (message.content or '').split('</think>')|last }}`, kind: fix.UnknownName},
		{name: "a test of another name", line: printText, broken: `{{- message.content if message.content is not null else '' }}`,
			want: `{{- message.content if message.content is not none else '' }}`, kind: fix.UnknownName},
		{name: "a function of Python", line: printTool, broken: `{{- json.dumps(tool) + '\n' }}`, want: printToolBack, kind: fix.UnknownName},
		{name: "a filter that nothing is like", line: printArgs, broken: `{{- call.function.arguments|from_yaml }}`,
			kind: fix.UnknownName, left: `"from_yaml" is not in the language`},
	} {
		t.Run(c.name, func(t *testing.T) {
			sound := sound
			if c.parts {
				sound = strings.Replace(sound, printText, `{%- if message.content %}`+printParts+`{% endif %}`, 1)
			}
			broken, want := sound, sound
			if c.line != "" {
				broken = strings.Replace(sound, c.line, c.broken, 1)
			}
			if c.want != "" {
				want = strings.Replace(sound, c.line, c.want, 1)
			} else {
				want = broken
			}
			o := fix.Options{Refuse: c.refuse}
			if c.only != "" {
				o.Only = []string{c.only}
			}
			m := fix.Mend(t.Context(), subject.New("t.jinja", broken), o, check.Options{})
			if m.Text != want {
				t.Errorf("mended to another text:\n%s\nwant %s", m.Diff(), c.want)
			}
			if c.want != "" && (len(m.Patches) != 1 || m.Patches[0].Kind != c.kind) {
				t.Errorf("patches %+v, want one of %s", m.Patches, c.kind)
			}
			switch {
			case c.left == "" && len(m.Left) > 0:
				t.Errorf("left: %+v", m.Left)
			case c.left != "" && (len(m.Left) == 0 || !strings.Contains(m.Left[0].Reason, c.left)):
				t.Errorf("left %+v, want %q", m.Left, c.left)
			}
		})
	}
}

// A macro that spells types, cut at the test that a list of them passes.
const (
	typeMacro    = `{%- macro kind(p) %}{% if p.type in ['string', 'integer'] %}{{ p.type }}`
	emptyTest    = `{%- if tool.function.parameters is mapping and not tool.function.parameters %}{{- 'none: ' }}{% endif %}`
	typeMacroEnd = `{% for t in p.type %}{{ kind({'type': t}) }}{% if not loop.last %}|{% endif %}{% endfor %}{% else %}any{% endif %}{% endmacro %}{{- tool|tojson }}{%- for name, p in ((tool.function.parameters or {}).properties or {}).items() %}{{- name + ': ' + kind(p) }}{%- endfor %}`
)

const printToolBack = `{{- (tool|tojson) + '\n' }}`

// TestOpenTurns has templates that leave a turn open in some places: where a user speaks after a
// tool's result, and where the tools end the system's own turn. The patch ends it there. A prompt
// that was right stays as it was, byte for byte, and so does a template without the fault.
func TestOpenTurns(t *testing.T) {
	const tracked = `{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<result>' + message.content + '</result>' }}
    {%- else %}
        {%- if message.role != 'assistant' or loop.first or loop.previtem.role != 'tool' %}
            {{- '<|turn>' + message.role + '\n' }}
        {%- endif %}
        {{- message.content or '' }}
        {%- for call in message.tool_calls or [] %}
            {{- '<call>' + {'name': call.function.name, 'arguments': call.function.arguments}|tojson + '</call>' }}
        {%- endfor %}
        {%- if not message.tool_calls %}
            {{- '<turn|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}
    {{- '<|turn>assistant\n' }}
{%- endif %}
`
	for _, c := range []struct{ name, text, want string }{
		{"a user after a result", tracked, "messages[loop.index0 - 1].role == 'tool' %}"},
		{"the list of tools", strings.Replace(sound, `{{- '<|im_end|>\n' }}
{%- endif %}
{%- for message`, `{%- endif %}
{%- for message`, 1), "loop.first and tools"},
		{"no fault", sound, ""},
	} {
		src := subject.New("test.jinja", c.text)
		m := fix.Mend(t.Context(), src, fix.Options{Only: []string{"A058"}}, check.Options{})
		if c.want == "" {
			if m.Text != c.text || m.Left != nil {
				t.Errorf("%s: %v\n%s", c.name, m.Left, m.Text)
			}
			continue
		}
		if len(m.Patches) != 1 || m.Left != nil || m.Patches[0].Kind != fix.OpenTurn ||
			!slices.Equal(m.Patches[0].Rules(), []string{"A058"}) ||
			!strings.Contains(m.Text, c.want) {
			t.Errorf("%s: %+v\n%v", c.name, m.Patches, m.Left)
			continue
		}
		keepsGood(t, c.name, c.text, m.Text)
	}
}

// TestVendorsOpenTurns mends the turns that vendors' templates leave open. Some hang on more than
// the roles of the messages around them, so that the patch notes whether a turn is open.
func TestVendorsOpenTurns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASSAY_VENDOR"), "*.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, file := range files {
		src, err := subject.Open(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		turns, err := check.TurnsOf(src, check.Options{})
		if err != nil || !turns.Open() {
			continue
		}
		m := fix.Mend(t.Context(), src, fix.Options{Only: []string{"A058"}}, check.Options{})
		if len(m.Patches) != 1 || m.Left != nil {
			continue
		}
		keepsGood(t, filepath.Base(file), src.Text, m.Text)
		if strings.Contains(m.Text, "turns.open") {
			counted++
		}
	}
	if len(files) > 0 && counted == 0 {
		t.Error("no template was mended that needs to be counted")
	}
}

// keepsGood renders conversations that no patch was made with, with both templates: the second may
// only have the end of a turn more, and where no turn is left open nothing changes.
func keepsGood(t *testing.T, name, was, is string) {
	t.Helper()
	before, err1 := check.TurnsOf(subject.New("was.jinja", was), check.Options{})
	after, err2 := check.TurnsOf(subject.New("is.jinja", is), check.Options{})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	mended := 0
	for _, c := range conversation.New(7).Conversations {
		in := c.Input(nil)
		text, places, err := before.Unclosed(in)
		if err != nil {
			continue
		}
		for _, p := range slices.Backward(places) {
			text = text[:p.At] + p.End + text[p.At:]
		}
		got, left, err := after.Unclosed(in)
		if err != nil || got != text || len(left) > 0 {
			t.Errorf("%s: %s: %v\n got %q\nwant %q", name, c.Name, err, got, text)
		}
		mended += len(places)
	}
	if mended == 0 {
		t.Errorf("%s: no conversation has the fault", name)
	}
}

// TestMiscounted has a loop over the messages after the instructions that reads its neighbours in
// the list of all messages. An end of the turn in each hole would give one turn to each result
// after instructions, and to all of them without: no patch may offer that.
func TestMiscounted(t *testing.T) {
	const broken = `{%- if messages[0].role == 'system' %}{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- set rest = messages[1:] %}{%- else %}{%- set rest = messages %}{%- endif %}
{%- for message in rest %}
{%- if message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
{{- '\n<result>' + message.content + '</result>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{%- endif %}
{%- else %}
{{- '<|im_start|>' + message.role + '\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}{{- '<call>' + {'name': call.function.name, 'arguments': call.function.arguments}|tojson + '</call>' }}{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}
`
	want := strings.ReplaceAll(broken, "messages[loop", "rest[loop")
	m := fix.Mend(t.Context(), subject.New("t.jinja", broken),
		fix.Options{Only: []string{"A162"}}, check.Options{})
	if m.Text != want {
		t.Errorf("mended to another text:\n%s", m.Diff())
	}
	m = fix.Mend(t.Context(), subject.New("t.jinja", broken),
		fix.Options{Only: []string{"A058"}, Offered: true}, check.Options{})
	if len(m.Patches) > 0 || len(m.Left) == 0 ||
		!strings.Contains(m.Left[0].Reason, "without instructions") {
		t.Errorf("left %+v, offered\n%s", m.Left, m.Diff())
	}
}

// TestMendsItsOwn breaks the sound template in two places of which rule A066 may find both: each
// finding is of the patch that mends it.
func TestMendsItsOwn(t *testing.T) {
	broken := strings.NewReplacer(printText, `{{- 'A: ' + message.content }}`, printTool,
		`{{- tool.function.name + ': ' + tool.function.description }}`).Replace(sound)
	src := subject.New("t.jinja", broken)
	m := fix.Mend(t.Context(), src, fix.Options{}, check.Options{})
	about := map[fix.Kind]string{fix.NullContent: "content", fix.BareTools: "description"}
	for _, p := range m.Patches {
		shown := slices.ContainsFunc(p.Gone, func(g fix.Gone) bool {
			return strings.Contains(g.Text, about[p.Kind])
		})
		for kind, word := range about {
			if !shown || kind != p.Kind && slices.ContainsFunc(p.Gone, func(g fix.Gone) bool {
				return strings.Contains(g.Text, word)
			}) {
				t.Errorf("the patch for %s mends %v", p.Kind, p.Gone)
			}
		}
	}
	if len(m.Patches) != len(about) {
		t.Errorf("patches %+v, want %d", m.Patches, len(about))
	}
}

// TestSteps makes the patched text of the steps in a file, where the template stands as a string
// with escapes of every sort.
func TestSteps(t *testing.T) {
	broken := strings.Replace(sound, printText, `{{- "ü" + message.content }}`, 1)
	m := fix.Mend(t.Context(), subject.New("t.jinja", broken), fix.Options{}, check.Options{})
	if len(m.Patches) == 0 {
		t.Fatal("no patch")
	}
	spell := strings.NewReplacer("\n", `\n`, `"`, `\"`, `\`, `\\`, "ü", `\u00fc`, "<", `\u003c`, "/", `\/`)
	file := func(text string) string {
		return `{"a": [1.50,2],` + "\n\t" + `"chat_template" : "` + spell.Replace(text) + `" ,  "z": "\u00e9" }` + "\n"
	}
	got, err := m.Into(file(broken))
	if err != nil {
		t.Fatal(err)
	}
	// The patch writes its text in JSON's plainest form.
	want := strings.Replace(file(m.Text), `\u003c/x`, `</x`, 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := m.Into(`{"chat_template": "another"}`); err == nil {
		t.Error("a file without the template was written")
	}
}

// textAlone are the corpus' templates that take arguments as text alone, as the vendors' do.
var textAlone = []string{"deepseek-r1-distill-llama", "functionary-3.2"}

// leftOpen are those that leave a turn open, as the vendors' do.
var leftOpen = []string{"command-r-plus"}

// asVendors are the faults that they have with the vendors' templates: they know no developer and
// no parts, and write true as Python does.
var asVendors = []fix.Kind{fix.Developer, fix.Parts, fix.PythonArguments}

// TestCorpus mends the corpus' own templates, which leave nothing else to mend.
func TestCorpus(t *testing.T) {
	all, err := subject.Find("../../../corpus")
	if err != nil || len(all.Templates) == 0 {
		t.Fatal(all, err)
	}
	for _, name := range all.Templates {
		src, err := subject.Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		family := filepath.Base(filepath.Dir(name))
		for _, p := range fix.Mend(t.Context(), src, fix.Options{}, check.Options{}).Patches {
			if p.Kind == fix.ObjectArguments && slices.Contains(textAlone, family) ||
				p.Kind == fix.OpenTurn && slices.Contains(leftOpen, family) ||
				slices.Contains(asVendors, p.Kind) {
				continue
			}
			t.Errorf("%s: %s: %v\n%s", name, p.Kind, p.Gone, p.Diff(name))
		}
	}
}

// TestNameInDiff checks that a file's name adds no line to a diff, whatever it is.
func TestNameInDiff(t *testing.T) {
	p := fix.Patch{Before: "a\n", After: "b\n"}
	for name, want := range map[string]string{
		"a b.jinja":           "a b.jinja",
		"a\n+++ /etc/x\t\x1b": `"a\n+++ /etc/x\011\033"`,
		"q\"\\é":              `"q\"\\\303\251"`,
	} {
		want = "--- " + want + "\n+++ " + want + "\n@@ -1,1 +1,1 @@\n-a\n+b\n"
		if got := p.Diff(name); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", name, got, want)
		}
	}
}
