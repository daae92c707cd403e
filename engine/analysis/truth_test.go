package analysis_test

import (
	"strings"
	"testing"
)

// TestReasoningIsEvidenced sees that markers of reasoning rest on something: on what is written, on what the template takes out of content, or on
// the shape of a tag. What merely heads an answer opens nothing.
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
			`header: "<|assistant|>" reasoning.mode: forced_open reasoning.open: "<mull>" reasoning.close: "</mull>" reasoning.basis: mirrored`},
		{"markers between which text is taken out of content",
			cut("⟦m|", "|m⟧") + strings.NewReplacer("CONTENT", "rest(m.content)", "PROMPT", "").Replace(turn),
			`header: "<|assistant|>" reasoning.mode: tagged reasoning.open: "⟦m|" reasoning.close: "|m⟧" reasoning.basis: traced`},
		{"such markers with a word that the prompt writes",
			cut("<m|", "|m>") + strings.NewReplacer("CONTENT", "rest(m.content)", "PROMPT", `{% if not mull %}<m|why{{ '\n' }}|m>{% endif %}`).Replace(turn),
			`header: "<|assistant|>" reasoning.mode: forced_closed reasoning.open: "<m|why\n" reasoning.close: "|m>" reasoning.basis: traced`},
		{"a flag that changes the end of the user's turn",
			`{%- for m in messages %}{% if m.role == 'assistant' %}<bot>{{ m.content }}</s>{% else %}{{ m.content }} /{{ 'off' if mull is false else 'on' }} {% endif %}{% endfor %}{% if add_generation_prompt %}<bot>{% if mull is false %}<mull></mull>{% else %}<mull>{% endif %}{% endif %}`,
			`header: "<bot>" reasoning.mode: forced_closed reasoning.open: "<mull>" reasoning.close: "</mull>"`},
	} {
		a := analyze(t, tt.template)
		var got []string
		for line := range strings.Lines(a.Format.String()) {
			if strings.HasPrefix(line, "header") || strings.HasPrefix(line, "reasoning.") && !strings.HasPrefix(line, "reasoning.trim") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s\n%v", tt.name, got, tt.want, a.Evidence)
		}
	}
}
