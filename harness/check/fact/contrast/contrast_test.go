package contrast_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/fact/contrast"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
)

// body writes messages, and reasoning where a condition holds.
const body = `{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' QUESTION %}{% set ns.last = loop.index0 %}{% endif %}
{%- endfor %}
{%- for m in messages %}<|{{ m.role }}|>
{%- if m.reasoning_content and CONDITION %}<think>{{ m.reasoning_content }}</think>{% endif %}
{%- if m.content is string %}{{ m.content }}
{%- else %}{% for part in m.content or [] %}{{ part.text if part.type == 'text' }}{% endfor %}
{%- endif %}
{%- for call in m.tool_calls or [] %}<call>{{ call.function | tojson }}</call>{% endfor %}<|end|>
{% endfor %}`

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		question, condition string
		stage               contrast.Stage
		lost                string // the conversation in which it is lost; "": in none
	}{
		{"", "true", contrast.Running, ""},
		{"", "false", contrast.Running, ""},
		{"", "loop.index0 > ns.last", contrast.Running, ""},
		{"", "loop.index0 > ns.last", contrast.Older, ""},
		{"", "loop.index0 > ns.last + 1", contrast.Running, "user, assistant with reasoning and one call, tool"},
		{"", "m.content is not none", contrast.Running, "user, assistant with reasoning and one call, tool"},
		{"", "m.tool_calls | length < 2", contrast.Running,
			"user, assistant with reasoning and 2 calls, tool, tool"},
		{"and m.content is string", "ns.last >= 0 and loop.index0 > ns.last", contrast.Running,
			"user with content in parts, assistant with reasoning and one call, tool"},
		{"", "loop.index0 > ns.last or loop.index0 == 1", contrast.Older,
			"user, assistant with reasoning and one call, tool, assistant with reasoning, user"},
	} {
		text := strings.NewReplacer("QUESTION", test.question, "CONDITION", test.condition).
			Replace(body)
		s := probe.New(subject.New("template", text), probe.Options{}, nil)
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		got := ""
		if _, lost, ok := contrast.All.Of(s).Split(test.stage); ok {
			got = lost.Name()
		}
		if got != test.lost {
			t.Errorf("%s, %s: lost in %q, want %q", test.condition, test.stage, got, test.lost)
		}
	}
}

func TestPair(t *testing.T) {
	for condition, want := range map[string]bool{
		"loop.index0 < ns.last": true,
		"loop.index0 > ns.last": false,
		"true":                  false,
	} {
		text := strings.NewReplacer("QUESTION", "", "CONDITION", condition).Replace(body)
		s := probe.New(subject.New("template", text), probe.Options{}, nil)
		_, _, got := contrast.All.Of(s).Pair(contrast.Older, contrast.Running)
		if got != want {
			t.Errorf("%s: a pair is %v, want %v", condition, got, want)
		}
	}
}
