package round_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/fact/round"
	"github.com/goassay/assay/harness/check/subject"
)

func compile(t *testing.T, text string) *chattemplate.Template {
	t.Helper()
	tm, err := subject.New("test", text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return tm.ChatTemplate()
}

const healthy = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" +
	"{% for c in m.tool_calls or [] %}<call {{ loop.index }}>{{ c.function.arguments.spot }}" +
	"{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"

// TestFaults has templates with one fault each that only comes out in a later round.
func TestFaults(t *testing.T) {
	t.Run("a state that is not set back", func(t *testing.T) {
		found := round.Find(compile(t, "{% set ns = namespace(first=true) %}"+
			"{% for m in messages %}{% if m.role != 'assistant' or ns.first %}<|{{ m.role }}|>"+
			"{% endif %}{% if m.role == 'assistant' %}{% set ns.first = false %}{% endif %}"+
			"{{ m.content }}<|end|>{% endfor %}"))
		if len(found) == 0 || found[0].First != "<|end|><|assistant|>" ||
			found[0].Second != "<|end|>" {
			t.Errorf("got %+v", found)
		}
	})
	for _, test := range []struct{ name, text, in, first, second string }{
		{"a break between documents that misses the first", "{% for d in documents or [] %}" +
			"{{ d.title }}: {{ d.text }}{% if loop.index > 1 %} {% endif %}{% endfor %}" +
			"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", "documents",
			"", " "},
		{"reasoning of the last call alone", "{% for m in messages %}<|{{ m.role }}|>" +
			"{% if m.reasoning_content and loop.index + 2 > messages | length %}" +
			"<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}" +
			"{% for c in m.tool_calls or [] %}{{ c.function.arguments.spot }}{% endfor %}" +
			"{% endfor %}", "tool calls with reasoning_content and tool messages in turn", "<|assistant|>",
			"<|assistant|><think>The third borders a desert.</think>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := round.Find(compile(t, test.text))
			if !slices.ContainsFunc(found, func(d round.Difference) bool {
				return d.In == test.in && d.First == test.first && d.Second == test.second
			}) {
				t.Errorf("got %+v", found)
			}
		})
	}
	t.Run("no header after a result", func(t *testing.T) {
		m, ok := round.Unprompted(compile(t, "{% for m in messages %}<|{{ m.role }}|>"+
			"{{ m.content }}<|end|>{% endfor %}{% if messages[-1].role == 'user' %}<|assistant|>"+
			"{% endif %}"))
		if !ok || m.Header != "<|end|><|assistant|>" {
			t.Errorf("got %+v, %t", m, ok)
		}
	})
	t.Run("a header after a result in an open turn", func(t *testing.T) {
		const open = "{% set ns = namespace(open=false) %}{% for m in messages %}" +
			"{% if m.role != 'tool' and not ns.open %}<|{{ m.role }}|>{% endif %}" +
			"{% set ns.open = m.role == 'tool' or m.tool_calls is defined %}{{ m.content }}" +
			"{% for c in m.tool_calls or [] %}<call>{{ c.function.arguments.spot }}{% endfor %}" +
			"{% if not ns.open %}<|end|>{% endif %}{% endfor %}{% if WHERE %}<|assistant|>" +
			"<think></think>{% endif %}"
		for where, want := range map[string]string{"add_generation_prompt": "<|assistant|>",
			"add_generation_prompt and not ns.open": ""} {
			m, ok := round.Overprompted(compile(t, strings.Replace(open, "WHERE", where, 1)))
			if ok != (want != "") || ok && m.Header != want {
				t.Errorf("%s: got %+v, %t", where, m, ok)
			}
		}
	})
	t.Run("an escape", func(t *testing.T) {
		if m, ok := round.Escaped(compile(t, "{% for m in messages %}<|{{ m.role }}|>\\n"+
			"{{ m.content }}{% endfor %}")); !ok {
			t.Errorf("got %+v", m)
		}
	})
	t.Run("results by their order", func(t *testing.T) {
		m, ok := round.Attribute(compile(t, "{% set ns = namespace(i=0) %}{% for m in messages %}"+
			"{% if m.tool_calls %}{% set ns.calls = m.tool_calls %}{% for c in m.tool_calls %}"+
			"{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}"+
			"{% elif m.role == 'tool' %}<{{ ns.calls[ns.i].function.name }}>{{ m.content }}"+
			"{% set ns.i = ns.i + 1 %}{% else %}{{ m.content }}{% endif %}{% endfor %}"))
		if !ok || m.Name != "list_ferries" {
			t.Errorf("got %+v, %t", m, ok)
		}
	})
}

// TestHealthy has a template without a fault.
func TestHealthy(t *testing.T) {
	tm := compile(t, healthy)
	if found := round.Find(tm); len(found) > 0 {
		t.Errorf("Find: %+v", found)
	}
	if m, ok := round.Unprompted(tm); ok {
		t.Errorf("Unprompted: %+v", m)
	}
	if m, ok := round.Escaped(tm); ok {
		t.Errorf("Escaped: %+v", m)
	}
	if m, ok := round.Attribute(tm); ok {
		t.Errorf("Attribute: %+v", m)
	}
}
