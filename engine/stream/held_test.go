package stream_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
)

// TestHeld follows an answer with a call: which bytes are held when, and why. Held bytes are in no
// delta, and none is held once the answer has ended.
func TestHeld(t *testing.T) {
	const text = `{{ tools|tojson if tools }}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	tm, err := engine.Compile(t.Context(), engine.Source{Name: "t", Text: text}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var r chat.Request
	if err := r.UnmarshalJSON([]byte(`{"messages": [{"role": "user", "content": "Hi"}],
		"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}]}`)); err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(r, engine.PrepareOptions{Insist: true})
	if err != nil {
		t.Fatal(err)
	}
	p := plan.NewParser()
	for _, c := range []struct {
		piece string
		n     int
		why   string
	}{
		{"Look", 0, ""},
		{"  ", 2, "white space"},
		{"<tool", 7, "a marker"},
		{"box>", 0, ""},
		{`<tool_call>{"na`, 15, ""},
		{`me": "f", "arguments": {"a": "x`, 0, ""},
	} {
		p.Write([]byte(c.piece))
		if n, why := p.Held(); n != c.n || !strings.HasPrefix(why, c.why) {
			t.Errorf("after %q: %d bytes held, %q; want %d, %s", c.piece, n, why, c.n, c.why)
		}
	}
	p.Close(chat.FinishLength)
	if n, why := p.Held(); n != 0 || why != "" {
		t.Errorf("at the end %d bytes are held: %s", n, why)
	}
}
