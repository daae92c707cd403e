package analysis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/internal/analysis"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// TestPrefill asks where the model's turn begins, of templates that write their generation prompt
// in different ways.
func TestPrefill(t *testing.T) {
	const (
		turns = `{% for m in messages %}{% if m.role == 'tool' %}<|result|>{{ m.content }}<|/result|>{% else %}<|{{ m.role }}|>{{ m.content or '' }}` +
			`{% for c in m.tool_calls or [] %}<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</call>{% endfor %}<|end|>{% endif %}{% endfor %}`
		question = `{"role": "user", "content": "Is <|assistant|> a word?"}`
		result   = question + `, {"role": "assistant", "content": null, "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {}}}]}, ` +
			`{"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "<|assistant|>"}`
	)
	for _, tt := range []struct {
		name, template, messages string
		want, fails              string
	}{
		{"nothing follows the header", turns + `{% if add_generation_prompt %}<|assistant|>{% endif %}`, question, "", ""},
		{"reasoning is opened", turns + `{% if add_generation_prompt %}<|assistant|><think>{% endif %}`, question, "<think>", ""},
		{"the turn goes on after a result", turns + `{% if add_generation_prompt and messages[-1].role != 'tool' %}<|assistant|>{% endif %}`, result, "", ""},
		{"and opens reasoning there alone", turns + `{% if add_generation_prompt %}{{ '<think>' if messages[-1].role == 'tool' else '<|assistant|>' }}{% endif %}`, result, "<think>", ""},
		{"the prompt is written unasked", turns + `{% if messages[-1].role != 'assistant' %}<|assistant|><think>{% endif %}`, question, "<think>", ""},
		{"an end is written in its place", turns + `{% if add_generation_prompt %}<|assistant|><think>{% else %}<|over|>{% endif %}`, question, "<think>", ""},
		{"the place is not known", turns + `{% if add_generation_prompt %}{{ '<|other|>' if 'word' in messages[-1].content else '<|assistant|>' }}{% endif %}`, question, "",
			`the generation prompt is "<|other|>", expected the header "<|assistant|>" in it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ct, err := chattemplate.Compile(t.Context(), source.New("template.jinja", tt.template),
				"", "", nil)
			if err != nil {
				t.Fatal(source.Detail(err))
			}
			o, err := observe.New(ct)
			if err != nil {
				t.Fatal(source.Detail(err))
			}
			messages, err := ordered.ParseString("[" + tt.messages + "]")
			if err != nil {
				t.Fatal(err)
			}
			in := caps.Of(o).Fit(chat.Request{Messages: messages.Items()}).Input
			prompt, err := ct.Render(in)
			if err != nil {
				t.Fatal(source.Detail(err))
			}
			got, err := analysis.Analyze(o, analysis.Options{}).
				Prefill(ct, in, prompt, "")
			switch {
			case tt.fails == "" && (err != nil || got != tt.want):
				t.Errorf("the prompt %q has the prefill %q, %v, want %q", prompt, got, err, tt.want)
			case tt.fails != "" &&
				(!errors.Is(err, analysis.ErrTurn) || !strings.Contains(err.Error(), tt.fails)):
				t.Errorf("the prompt %q has the prefill %q, %v, "+
					"want the error %q", prompt, got, err, tt.fails)
			}
		})
	}
}
