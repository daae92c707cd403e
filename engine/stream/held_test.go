package stream_test

import (
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/stream"
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

// TestHeldInCalls has calls of which a part is held.
func TestHeldInCalls(t *testing.T) {
	for _, c := range []struct {
		form, prefill, output string
		n                     int
		why                   string
	}{
		{"json array with ids", "", `Hm. [TOOL_CALLS][{"name": "get", "arguments": {"n": 1}`, 50, "a call begins here; its name or its id is still to come"},
		{"json in tag", "", `Hm. <tool_call>`, 12, "a marker or a call may begin here"},
		{"tagged arguments", "", "<function=get>\n<parameter=maybe>\nnull", 5, "a value that is not complete: its type, or where it ends, is open"},
		{"tagged arguments", "", "<function=get>\n<parameter=maybe>", 0, ""},
		{"json in tag", "<think>\n", "", 0, ""},
	} {
		p := stream.NewParser(generate(t, formNamed(t, c.form), usual(c.prefill)))
		p.Write([]byte(c.output))
		if n, why := p.Held(); n != c.n || why != c.why {
			t.Errorf("%q: %d bytes held, %q; want %d, %q", c.output, n, why, c.n, c.why)
		}
	}
}
