package analysis_test

import (
	"slices"
	"testing"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
)

// TestGrounds describes how fields are known that templates show in different ways.
func TestGrounds(t *testing.T) {
	for _, tt := range []struct {
		name, template, field, comparison string
		basis                             format.Basis
	}{
		{"reasoning is written", framed(thinks, "", ""), "reasoning.open", "R1", format.Observed},
		{"a prompt opens it, and content is split at its end",
			`{% for m in messages %}<|{{ m.role }}|>{{ m.content.split('[/think]')[-1] if m.role == 'assistant' else m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>[think]{% endif %}`,
			"reasoning.close", "R2", format.Traced},
		{"a prompt opens it, and nothing shows its end", framed("", "", "{{ '<think>' if enable_thinking }}"), "reasoning.close", "R2", format.Mirrored},
		{"two calls are refused", framed("", `{%- if m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}<call>{{ m.tool_calls[0].function|tojson }}</call>`, ""), "per_call_start", "T2", format.Assumed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, tt.template)
			i := slices.IndexFunc(a.Grounds(),
				func(g analysis.Ground) bool { return g.Field == tt.field })
			if i < 0 {
				t.Fatalf("nothing gave %s of\n%s", tt.field, a.Format)
			}
			if g := a.Grounds()[i]; g.Comparison != tt.comparison || g.Basis != tt.basis {
				t.Errorf("got %s, want %s %s", g, tt.comparison, tt.basis)
			}
		})
	}
}
