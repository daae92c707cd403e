package diff_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/diff"
)

// edit is one change of a template of the corpus, and the worst class that it must get.
type edit struct {
	name, family, old, new string
	class                  rule.Severity
}

// invisible is the class of an edit that nobody can see.
const invisible = rule.Severity(255)

// The edits of the gate's mutation test, 33 that somebody can see and 8 that nobody can. They are
// made to our own templates.
var edits = []edit{
	{"call opener dropped", "hermes", `'<tool_call>\n{"name": "' +`, `'{"name": "' +`, rule.Error},
	{"call closer dropped", "hermes", `'}\n</tool_call>'`, `'}'`, rule.Error},
	{"name field renamed", "hermes", `\n{"name": "' + function`, `\n{"tool": "' + function`, rule.Error},
	{"arguments field renamed", "hermes", `function.name + '", "arguments": '`, `function.name + '", "parameters": '`, rule.Error},
	{"null printed", "hermes", `(message.content or '')`, `(message.content | string)`, rule.Error},
	{"line feed between calls lost", "hermes", `'\n' if message.content or not loop.first`, `'\n' if message.content`, rule.Error},
	{"line feed of the generation prompt lost", "hermes", "{{- '<|im_start|>assistant\\n' }}\n{%- endif %}", "{{- '<|im_start|>assistant' }}\n{%- endif %}", rule.Error},
	{"line feed of the generation prompt doubled", "hermes", "{{- '<|im_start|>assistant\\n' }}\n{%- endif %}", "{{- '<|im_start|>assistant\\n\\n' }}\n{%- endif %}", rule.Error},
	{"generation prompt dropped", "hermes", `if add_generation_prompt`, `if false`, rule.Error},
	{"tools not described without a system message", "hermes", `if tools or system`, `if system`, rule.Error},
	{"tool result dropped", "hermes", `'\n<tool_response>\n' + message.content`, `'\n<tool_response>\n'`, rule.Error},
	{"instruction reworded", "hermes", `These functions are available`, `You can call these functions`, rule.Warning},
	{"a lone sign in an argument spelled otherwise", "hermes", `else function.arguments | tojson }}`, `else function.arguments | tojson | replace('one <', 'one &lt;') }}`, rule.Error},
	{"id before arguments", "mistral-nemo", `{"name": "' + call.function.name + '", "arguments": ' }}`, `{"id": "' + id_of(call.id) + '", "name": "' + call.function.name + '", "arguments": ' }}`, rule.Error},
	{"comma after the last call", "mistral-nemo", `', ' if not loop.last`, `', '`, rule.Error},
	{"section marker renamed", "mistral-nemo", `'[TOOL_CALLS]['`, `'[CALLS]['`, rule.Error},
	{"end of an answer dropped", "mistral-nemo", `(message.content or '') + eos_token`, `(message.content or '')`, rule.Error},
	{"BOS doubled", "mistral-nemo", `{{- bos_token }}`, `{{- bos_token + bos_token }}`, rule.Error},
	{"tools dropped", "mistral-nemo", `question.index and tools`, `question.index and false`, rule.Error},
	{"only the first call written", "mistral-nemo", `for call in message.tool_calls %}`, `for call in message.tool_calls[:1] %}`, rule.Error},
	{"system text dropped", "mistral-nemo", `system + '\n\n' if system and`, `'' if system and`, rule.Error},
	{"reasoning marker renamed", "qwen3", `'<think>\n' + reasoning`, `'<thinking>\n' + reasoning`, rule.Error},
	{"reasoning not closed when thinking is off", "qwen3", `{{- '<think>\n\n</think>\n\n' }}`, `{{- '' }}`, rule.Error},
	{"reasoning dropped", "qwen3", `loop.index0 > question.index and (reasoning or loop.last)`, `false`, rule.Error},
	{"reasoning kept for ever", "qwen3", `loop.index0 > question.index and (reasoning or loop.last)`, `reasoning or loop.last`, rule.Warning},
	{"system message refused", "qwen3", `{%- set question =`, `{%- if system %}{{ raise_exception('no system message') }}{% endif %}{%- set question =`, rule.Error},
	{"line feed before a closer lost", "qwen3-coder", `'\n</parameter>\n' }}`, `'</parameter>\n' }}`, rule.Error},
	{"parameter tag renamed", "qwen3-coder", `'<parameter=' + key`, `'<param=' + key`, rule.Error},
	{"strings quoted", "qwen3-coder", `else value | string`, `else value | tojson`, rule.Error},
	{"separator renamed", "deepseek-v3.1", `<｜tool▁sep｜>`, `<｜sep｜>`, rule.Error},
	{"reasoning always opened", "deepseek-v3.1", `('<think>' if thinking else '<think></think>')`, `'<think>'`, rule.Error},
	{"wrapper of content dropped", "command-r7b", `'<|START_RESPONSE|>' + (message.content or '') + '<|END_RESPONSE|>'`, `(message.content or '')`, rule.Error},
	{"arguments encoded twice", "command-r7b", `call.function.arguments if call.function.arguments is string else call.function.arguments | tojson`, `call.function.arguments | tojson`, rule.Error},
	{"tools reduced to their names", "command-r7b", `tool.function | tojson`, `tool.function.name`, rule.Error},

	{"reasoning kept, and empty in older answers", "qwen3", `loop.index0 > question.index and (reasoning or loop.last)`, `true`, rule.Warning},

	{"comment added", "hermes", `{%- for message in turns %}`, `{#- every turn -#}{%- for message in turns %}`, invisible},
	{"comment removed", "hermes", `{#- Results that follow each other share one turn. #}`, ``, invisible},
	{"white space inside tags", "mistral-nemo", `{{- ']' + eos_token }}`, `{{-   ']'+eos_token   }}`, invisible},
	{"variable renamed", "mistral-nemo", `question`, `asked`, invisible},
	{"list renamed", "qwen3", `turns`, `rest`, invisible},
	{"quotes changed", "qwen3-coder", `message.role == 'assistant'`, `message.role == "assistant"`, invisible},
	{"condition turned around", "deepseek-v3.1", `'<think>' if thinking else '<think></think>'`, `'<think></think>' if not thinking else '<think>'`, invisible},
	{"strings joined otherwise", "command-r7b", `tool.function | tojson + '\n'`, `(tool.function | tojson) ~ '\n'`, invisible},
}

func classOf(results []rule.Result) (worst rule.Severity, evidence string) {
	worst = invisible
	for _, res := range results {
		if res.Status != rule.Passed && (worst == invisible || res.Severity > worst) {
			worst, evidence = res.Severity, res.Rule+" "+res.Name+": "+res.Text
		}
	}
	return worst, evidence
}

func TestEdits(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			was, err := loaded.Text(e.family)
			if err != nil {
				t.Fatal(err)
			}
			is := strings.ReplaceAll(was, e.old, e.new)
			if is == was {
				t.Fatalf("%q is not in the template of %s", e.old, e.family)
			}
			results := diff.Compare(subject.New("was", was), subject.New("is", is),
				cases(t, loaded, e.family))
			for _, res := range results {
				// a request fitted for a lost capability may give the old prompt
				if res.Status != rule.Passed && res.Severity != rule.Note && res.Place.Line == 0 &&
					res.Rule != "D002" {
					t.Errorf("%s %s: the change has no place", res.Rule, res.Text)
				}
			}
			got, evidence := classOf(results)
			if got != e.class {
				t.Errorf("class %s, want %s\n%s", class(got), class(e.class), evidence)
			}
		})
	}
}

// TestMends asks that an edit which ends a fault may change what the fault had changed: frames,
// and the format of answers.
func TestMends(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		switch e.name {
		case "generation prompt dropped", "call closer dropped":
		default:
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			healthy, err := loaded.Text(e.family)
			if err != nil {
				t.Fatal(err)
			}
			faulty := strings.ReplaceAll(healthy, e.old, e.new)
			got, evidence := classOf(diff.Compare(subject.New("was", faulty),
				subject.New("is", healthy), nil))
			if got > rule.Warning {
				t.Errorf("class %s\n%s", class(got), evidence)
			}
		})
	}
}

// TestUnserved asks that what the old revision refuses or loses is no reference: the new one may
// refuse it in its own words, and frame it as it likes.
func TestUnserved(t *testing.T) {
	const turns = `{%- for m in messages %}{%- if m.role == 'user' %}<u>{{ m.content }}</u>
{%- elif m.role == 'assistant' %}<a>{{ m.content or '' }}CALLS</a>{%- endif %}{%- endfor %}` +
		`{%- if add_generation_prompt %}<a>{%- endif %}`
	const calls = `{%- for c in m.tool_calls or [] %}{%- if c.function.arguments is string %}
{{- raise_exception('parse the arguments first') }}{%- endif %}
{{- '<call>' + c.function.name + (c.function.arguments | tojson) + '</call>' }}{%- endfor %}`
	for calls, want := range map[string]rule.Severity{calls: rule.Warning,
		strings.Replace(calls, "for c in m.tool_calls or []", "for c in [1]", 1): rule.Error} {
		got, evidence := classOf(diff.Compare(
			subject.New("was", strings.Replace(turns, "CALLS", "", 1)),
			subject.New("is", strings.Replace(turns, "CALLS", calls, 1)), nil))
		if got != want {
			t.Errorf("class %s, want %s\n%s", class(got), class(want), evidence)
		}
	}
}

func class(s rule.Severity) string {
	if s == invisible {
		return "none"
	}
	return diff.Class(s)
}

func cases(t *testing.T, loaded *families.Corpus, family string) []families.Case {
	f, ok := loaded.Family(family)
	if !ok {
		t.Fatalf("no family %s", family)
	}
	var all []families.Case
	for _, file := range f.Cases {
		read, err := script.Read(fs.FS(loaded.FS), file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, read...)
	}
	return all
}
