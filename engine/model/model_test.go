package model_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/caps"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
)

// Templates that describe tools and replay calls, only describe tools, and do neither.
const (
	bothTemplate = `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}` +
		`{% for c in m.tool_calls or [] %}<call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</call>{% endfor %}<|end|>{% endfor %}` +
		`{% if add_generation_prompt %}<|assistant|>{% endif %}`
	halfTemplate  = `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}`
	plainTemplate = `{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}`
)

func TestJudge(t *testing.T) {
	named := func(name, text string) gguf.Template { return gguf.Template{Name: name, Text: text} }
	tests := []struct {
		name      string
		templates []gguf.Template
		judged    string // "-": none
		want      error  // the error that the rejection wraps; nil: accepted
		reason    string
	}{
		{"none", nil, "-", model.ErrNoTemplate, "no chat template"},
		{"both", []gguf.Template{named("", bothTemplate)}, "default", nil, ""},
		{"half", []gguf.Template{named("", halfTemplate)}, "default", caps.ErrToolsUnsupported, "supports_tool_calls=false"},
		{"plain", []gguf.Template{named("", plainTemplate)}, "default", caps.ErrToolsUnsupported, "supports_tools=false, supports_tool_calls=false"},
		{"variant", []gguf.Template{named("", plainTemplate), named("tool_use", bothTemplate)}, "tool_use", nil, ""},
		{"variant alone", []gguf.Template{named("tool_use", bothTemplate)}, "tool_use", nil, ""},
		{"worse variant", []gguf.Template{named("", bothTemplate), named("tool_use", plainTemplate)}, "tool_use", caps.ErrToolsUnsupported, ""},
		{"other name", []gguf.Template{named("rag", bothTemplate)}, "-", model.ErrNoTemplate, "only rag"},
		{"empty", []gguf.Template{named("", " \n")}, "default", model.ErrNoTemplate, "it is empty"},
		{"syntax", []gguf.Template{named("", "{% for %}")}, "default", nil, "default:1:"},
		{"UTF-8", []gguf.Template{named("", bothTemplate+"\xff")}, "default", nil, "not valid UTF-8"},
		{"huge", []gguf.Template{named("", bothTemplate+strings.Repeat(" ", 4<<20))}, "default", nil, "expected at most 4194304"},
		{"refuses all", []gguf.Template{named("", "{{ raise_exception('no') }}")}, "default", nil, "cannot be used"},
	}
	for _, test := range tests {
		m := model.Judge(t.Context(), &gguf.Info{Templates: test.templates},
			engine.Options{Now: func() time.Time { return time.Time{} }})
		judged := "-"
		if m.Judged != nil {
			judged = m.Judged.Title()
		}
		accepted := test.want == nil && test.reason == ""
		if judged != test.judged || m.SupportsTools() != accepted {
			t.Errorf("%s: judged %s, accepted %v: %v", test.name, judged, m.SupportsTools(),
				m.Rejection)
			continue
		}
		if !accepted && (test.want != nil && !errors.Is(m.Rejection, test.want) ||
			!strings.Contains(m.Rejection.Error(), test.reason)) {
			t.Errorf("%s: rejected as "+
				"%v, want %v, %q", test.name, m.Rejection, test.want, test.reason)
		}
		if !ordered.Valid(m.Value().String()) {
			t.Errorf("%s: not JSON: %s", test.name, m.Value())
		}
	}
}

// TestModelText prints texts of files: they cannot drive a terminal, and are JSON whatever their
// bytes are.
func TestModelText(t *testing.T) {
	m := model.Judge(t.Context(), &gguf.Info{
		Architecture: "a\x1b[2J", Name: "n\xff\nname: forged", BOS: gguf.Token{ID: 1, Text: "\x1b"},
		EOS:       gguf.Token{ID: -1},
		Templates: []gguf.Template{{Name: "x\x07", Text: "{{\x1b"}}, Problems: []string{"p\r"},
	}, engine.Options{Now: func() time.Time { return time.Time{} }})
	text := m.String()
	if strings.ContainsAny(text, "\x1b\x07\r") || strings.Count(text, "\nname: ") != 1 || !strings.Contains(text, `architecture: a\x1b[2J`) {
		t.Errorf("%q", text)
	}
	if v := m.Value(); !ordered.Valid(v.String()) ||
		v.At("name").Text() != "n\uFFFD\nname: forged" {
		t.Errorf("%s", v)
	}
}
