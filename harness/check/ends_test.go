package check_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
)

// TestEnds finds faults at the ends of prompts and in their headers which the examples of the rules
// do not have: each is one edit of a sound template.
func TestEnds(t *testing.T) {
	const (
		end  = "{% endfor %}<|end|>\n{% endif %}\n{%- endfor %}"
		asks = "{%- if add_generation_prompt %}"
	)
	for _, test := range []struct{ rule, old, new, text string }{
		{"A017", "{{- bos_token }}", "{{- bos_token }}<|begin|>", "the start token once more"},
		{"A142", end, strings.Replace(end, "<|end|>",
			"{% if not (loop.last and message.role == 'assistant') %}<|end|>{% endif %}", 1),
			"the prompt opens the next one"},
		{"A167", asks, "{%- if add_generation_prompt and messages[-1].role != 'system' %}",
			"after a system message"},
		{"A124", "reasoning_content", "reasoning", "where it comes as reasoning_content"},
	} {
		text := strings.ReplaceAll(chat, test.old, test.new)
		if text == chat {
			t.Fatalf("%s: the edit changes nothing", test.rule)
		}
		found := ""
		for _, res := range check.Template(subject.New("test.jinja", text), check.Options{}) {
			if res.Rule == test.rule {
				found += res.Text
			}
		}
		if !strings.Contains(found, test.text) {
			t.Errorf("%s: want %q, found %q", test.rule, test.text, found)
		}
	}
}
