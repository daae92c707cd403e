package analysis_test

import (
	"strings"
	"testing"
)

// blocks writes answers whose content is text or an object; OBJECT stands for the condition of the
// latter and LIST for its blocks.
const blocks = `{%- for m in messages %}{% if m.role == 'assistant' %}<|bot|>` +
	`{% if m.content is string %}{{ m.content }}{% elif OBJECT %}{% for b in LIST %}` +
	`{% if b.sort == 'musing' %}<|hm|>{{ b.body }}{% elif b.sort == 'speech' %}{{ '<|so|>' if not loop.first }}{{ b.body }}` +
	`{% elif b.sort == 'picture' %}<|picture|>{% else %}{{ raise_exception('no such block') }}{% endif %}{% endfor %}{% endif %}<|end|>` +
	`{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|bot|>{% endif %}`

// TestBlocks checks that reasoning is found where it stands in a block of an object alone, by the
// trace; and only where markers tell it from content, and nothing else is a candidate.
func TestBlocks(t *testing.T) {
	const found = `"<|hm|>" "<|so|>"`
	for _, tt := range []struct{ name, template, want string }{
		{"in an object", strings.NewReplacer("OBJECT", "m.content is mapping and 'pieces' in m.content",
			"LIST", "m.content.pieces").Replace(blocks), found},
		{"in an object of which nothing is asked first", strings.NewReplacer("OBJECT", "true",
			"LIST", "m.content.pieces").Replace(blocks), found},
		{"in a list, as typed parts of other kinds are", strings.NewReplacer("OBJECT", "true",
			"LIST", "m.content").Replace(blocks), `"" ""`},
		{"no markers", strings.NewReplacer("OBJECT", "true", "LIST", "m.content.pieces",
			"<|hm|>", "", "<|so|>", "").Replace(blocks), `"" ""`},
		{"no close", strings.NewReplacer("OBJECT", "true", "LIST", "m.content.pieces",
			"<|so|>", "").Replace(blocks), `"" ""`},
		{"two kinds of text between markers", strings.NewReplacer("OBJECT", "true",
			"LIST", "m.content.pieces", "<|picture|>", "<|picture|>{{ b.title }}<|shown|>").
			Replace(blocks), `"" ""`},
	} {
		r := analyze(t, tt.template).Format.Reasoning
		if got := r.Open.String() + " " + r.Close.String(); got != tt.want {
			t.Errorf("%s: reasoning between %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTurnIsNoBlock checks that the end of a turn and the start of the next one are not taken for
// an empty block of reasoning, where a macro writes the openers.
func TestTurnIsNoBlock(t *testing.T) {
	const turns = `{% for m in messages %}{{ open(m.role) }}{{ m.content }}<|turn_end|>{% endfor %}` +
		`{% if add_generation_prompt %}{{ open('assistant') }}{% endif %}`
	for name, opener := range map[string]string{
		"a variable in place of the role": `<|turn_start|>{{ who }}`,
		"an end before each start":        `<|turn_end|><|turn_start|>{{ role }}`,
		"the usual":                       `<|turn_start|>{{ role }}`,
	} {
		template := `{% macro open(role) %}` + opener + "\n" + `{% endmacro %}` + turns
		if r := analyze(t, template).Format.Reasoning; r.Open.Text+r.Close.Text != "" {
			t.Errorf("%s: reasoning between %q and %q, want none", name, r.Open.Text, r.Close.Text)
		}
	}
}
