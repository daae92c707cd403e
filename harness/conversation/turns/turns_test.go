package turns_test

import (
	"slices"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/conversation/turns"
)

const (
	// header writes a header before each answer of the model, loose none after a tool's result.
	header = `{% if add_generation_prompt %}<model>{% endif %}`
	loose  = `{% if add_generation_prompt and messages[-1].role != 'tool' %}<model>{% endif %}`
)

// template writes turns, calls as JSON, and a result between the given texts.
func template(before, after, prompt string) string {
	return `{% for t in tools or [] %}<tool>{{ t | tojson }}</tool>{% endfor %}` +
		`{% for m in messages %}{% if m.role == 'tool' %}` + before + `{{ m.content }}` + after +
		`{% elif m.role == 'assistant' %}{% if messages[loop.index0 - 1].role != 'tool' %}<model>` +
		`{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}` +
		`</call>{% endfor %}<end>{% else %}<{{ m.role }}>{{ m.content }}<end>{% endif %}` +
		`{% endfor %}` + prompt
}

func TestAnchors(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"a header after every turn", template("<result>", "</result>", header), nil},
		{"none after a result", template("<result>", "</result>", loose), []string{"</result>"}},
		{"a bracket after a result", template("(", ")", loose), nil},
		{"nothing after a result", template("<result>", "", loose), nil},
	} {
		e, err := engine.Compile(t.Context(), engine.Source{Text: test.text}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := turns.Anchors(e); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, expected %q", test.name, got, test.want)
		}
	}
}
