package account_test

import (
	"testing"

	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
)

// entries are those of a template that writes a start, turns, and an argument a line.
func entries(start, argument string) []account.Entry {
	s := probe.New(subject.New("test", start+"{% for m in messages %}<|{{ m.role }}|>"+
		"{{ m.content if m.content is string else '' }}{% for c in m.tool_calls or [] %}\n"+
		"<call>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"+argument+
		"{% endfor %}</call>{% endfor %}<|end|>{% endfor %}"), probe.Options{}, nil)
	return account.Entries.Of(s)
}

// TestJoints has arguments with and without something between them.
func TestJoints(t *testing.T) {
	for _, test := range []struct{ argument, before, after string }{
		{" {{ k }}={{ v }};", "", ""},
		{" {{ k }}={{ v | tojson }}", "", ""},
		{" {{ k }}={{ v }}r", "the argument of a tool call", "a letter of the template"},
		{" {{ k }}={{ v | tojson }}r", "the argument of a tool call", "a letter of the template"},
		{" {{ k }}{{ v }}", "the argument of a tool call", "the next one"},
		{"{{ k }}={{ v }}", "the name of a tool call", "the argument of a tool call"},
	} {
		before, after := "", ""
		for _, e := range entries("", test.argument) {
			for _, j := range e.Joints() {
				if before == "" {
					before, after = j.Before, j.After
				}
			}
		}
		if before != test.before || after != test.after {
			t.Errorf("%s: %q runs into %q, want %q into %q", test.argument, before, after,
				test.before, test.after)
		}
	}
}

// TestStarts has starts of prompts with and without a fault.
func TestStarts(t *testing.T) {
	const system = "{% if messages[0].role == 'system' %}"
	for _, test := range []struct {
		start          string
		blank, missing bool
	}{
		{"<|begin|>", false, false},
		{"\n<|begin|>", true, false},
		{"\n{{ 'Human' }}", false, false},
		{"    {{ 'Human' }}", true, false},
		{system + "<|begin|>{% endif %}", false, true},
		{system + "<|begin|>Be kind.{% endif %}", false, false},
	} {
		all := entries(test.start, "")
		_, blank := account.BlankStart(all)
		_, missing := account.StartMissing(all)
		if blank != test.blank || missing != test.missing {
			t.Errorf("%q: blank %t, missing %t", test.start, blank, missing)
		}
	}
}
