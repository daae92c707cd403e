package variant_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goassay/assay/harness/check/fact/variant"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
)

// judged lists the faults of a template, each as its kind, its spelling and its views.
func judged(t *testing.T, text string) []string {
	t.Helper()
	tm, err := subject.New("test", text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range variant.Judge(tm.ChatTemplate()) {
		all = append(all, fmt.Sprintf("%s: %s: %s", f.Kind, f.In.Name, view.Names(f.Views)))
	}
	return all
}

// TestJudge has templates with one fault each, and the finding that shows it.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       string
	}{
		{"calls are counted without a look whether there are some",
			"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if 'tool_calls' in m %}" +
				"{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% endif %}" +
				"<|end|>{% endfor %}",
			`crashed: an assistant message with "tool_calls": null: transformers before 5.23`},
		{"an answer with an empty list of calls is no answer",
			"{% for m in messages %}<|{{ m.role }}|>{% if m.tool_calls is defined %}" +
				"{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% else %}" +
				"{{ m.content }}{% endif %}<|end|>{% endfor %}",
			`lost: an assistant message with "tool_calls": []: transformers, SGLang and mlx-lm`},
		{"the list of messages is changed",
			"{% if messages[0].role == 'system' %}{% set s = messages.pop(0) %}{{ s.content }}" +
				"{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}",
			"crashed: a system, a user, an assistant and a user message: transformers, " +
				"vLLM, SGLang and mlx-lm"},
		{"the first part of the instructions",
			"{% for m in messages %}<|{{ m.role }}|>{% if m.content is string %}{{ m.content }}" +
				"{% else %}{{ m.content[0].text }}{% endif %}<|end|>{% endfor %}",
			"lost: a system message in two parts: transformers and llama.cpp"},
		{"tools of the first message alone",
			"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if loop.first and m.tools %}" +
				"{{ m.tools | tojson }}{% endif %}<|end|>{% endfor %}",
			"lost: tools of a system message between the turns: transformers, SGLang and mlx-lm"},
		{"documents in place of instructions",
			"{% for m in messages %}<|{{ m.role }}|>{{ m.content if m.role != 'system' or " +
				"not documents }}<|end|>{% endfor %}" +
				"{% for d in documents or [] %}{{ d.text }}{% endfor %}",
			"lost: a document beside a system message: transformers and vLLM"},
		{"an end that depends on tools",
			"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if tools or loop.last %}" +
				"<|end|>{% endif %}{% endfor %}",
			"changed: tools that nobody calls: every engine"},
		{"the first answer's reasoning", "{% for m in messages %}<|{{ m.role }}|>" +
			"{% set c = m.content %}{% if '</think>' in c and loop.index < 3 %}" +
			"{% set c = c.split('</think>')[0] %}{% endif %}{{ c }}<|end|>{% endfor %}" +
			"{% for m in messages if m.reasoning_content %}{% endfor %}",
			"lost: the first of two assistant messages with its reasoning between <think> tags in the " +
				"content: every engine"},
		{"tags of its own that are looked for and not split at", "{% for m in messages %}" +
			"<|{{ m.role }}|>{% set c = m.content %}{% if '</thinking>' in c %}" +
			"{{ '<thinking>' + c.split('</think>')[0] + '</thinking>' + c }}{% else %}" +
			"{% if m.reasoning_content %}{{ '<thinking>' + m.reasoning_content + '</thinking>' }}" +
			"{% endif %}{{ c }}{% endif %}<|end|>{% endfor %}",
			"doubled: an assistant message with its reasoning between <thinking> tags in the content: " +
				"every engine"},
		{"a cut after the closing tag that is too short", "{% for m in messages %}" +
			"<|{{ m.role }}|>{% set c = m.content %}{% if '</think>' in c %}" +
			"{{ c.split('</think')[-1] }}{% else %}{{ c }}{% endif %}<|end|>{% endfor %}",
			"doubled: an assistant message with its reasoning between <think> tags in the content: " +
				"every engine"},
		{"reasoning that ends with the start of a tag", "{% for m in messages %}" +
			"<|{{ m.role }}|>{% set c = m.content %}{% set r = m.reasoning_content %}" +
			"{% if '</think>' in c %}{% set r = c.split('/think>')[0].split('<think>')[-1] %}" +
			"{% set c = c.split('</think>')[-1] %}{% endif %}{% if r %}" +
			"<think>{{ r }}</think>{% endif %}{{ c }}<|end|>{% endfor %}",
			"doubled: an assistant message with its reasoning between <think> tags in the content: " +
				"every engine"},
		{"the required parameters of the whole call", "{% for t in tools or [] %}" +
			"{% set p = t.function.parameters %}{% for name, v in p.properties.items() %}" +
			"{{ name }}: {{ v.type }}{% if name in p.required %}!{% endif %}" +
			"{{ v.description }}{% for inner, w in (v.properties or {}).items() %}{{ inner }}: " +
			"{{ w.type }}{% if inner in p.required %}!{% endif %}{% endfor %}{% endfor %}" +
			"{% endfor %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}",
			"ignored: the list of required members of an object: every engine"},
	} {
		if got := judged(t, test.text); !slices.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestHealthy has a template without a fault.
func TestHealthy(t *testing.T) {
	got := judged(t, "{% for m in messages %}<|{{ m.role }}|>{% if m.content is string %}"+
		"{{ m.content }}{% else %}{% for p in m.content or [] %}{{ p.text }}\n{% endfor %}"+
		"{% endif %}{% for c in m.tool_calls or [] %}{{ c.function.name }}"+
		"{{ c.function.arguments | tojson }}{% endfor %}<|end|>{% endfor %}")
	if len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
}
