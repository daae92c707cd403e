package answers_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// scraps are what drawn texts are made of: no text of the proof's, and all that may be taken for a
// marker or for JSON.
var scraps = []string{"The bridge", "is open", "see", "Ålborg", "答え", "🙂", "a_b", "3.5", "-1",
	"true", "null", "[", "]", "[1]", "[link](http://x.y/z)", "(", ")", "{", "}", "{}", `{"a": 1}`,
	"<b>", "</b>", "<", ">", "<br/>", "`", "``", "\n```json\n{\"b\": [2]}\n```\n", "\n```\n",
	"\"", "'", "\\", "\\n", "  ", "\t", "\n", "\n\n", "\n- ", "# ", "**", "|", "||", ",", ":", "=",
	"/", "$x$", "%", "&amp;", "call", "name", "f(x=1)", "print('y')", ".", "…", "«q»"}

// drawing draws answers of a model.
type drawing struct{ *rand.Rand }

func (d drawing) text(trim bool) string {
	for {
		var b strings.Builder
		for range 1 + d.IntN(9) {
			b.WriteString(scraps[d.IntN(len(scraps))])
			if d.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		text := b.String()
		if trim {
			text = strings.TrimSpace(text)
		}
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
}

// with draws a text that has a word of its own at one of its ends, so that it is found in a turn.
func (d drawing) with(word string) string {
	if d.IntN(2) == 0 {
		return word + d.text(true)
	}
	return d.text(true) + word
}

func (d drawing) value(depth int) ordered.Value {
	switch n := d.IntN(8); {
	case n < 3:
		return ordered.Str(d.text(false))
	case n == 3:
		return ordered.Int(d.IntN(2000) - 1000)
	case n == 4:
		return ordered.Boolean(d.IntN(2) == 0)
	case n == 5 && depth > 0:
		items := make([]ordered.Value, d.IntN(3))
		for i := range items {
			items[i] = d.value(depth - 1)
		}
		return ordered.ArrayOf(items...)
	case n == 6 && depth > 0:
		var members []ordered.Member
		for i := range d.IntN(3) {
			members = append(members, ordered.MemberOf(fmt.Sprintf("k%d", i), d.value(depth-1)))
		}
		return ordered.ObjectOf(members...)
	}
	return ordered.Str("plain")
}

const drawnTools = `[
	{"type": "function", "function": {"name": "write_note", "description": "Writes.", "parameters": {"type": "object", "properties": {
		"path": {"type": "string"}, "body": {"type": "string"}, "line": {"type": "integer"}, "append": {"type": "boolean"},
		"tags": {"type": "array", "items": {"type": "string"}}, "meta": {"type": "object"}}, "required": ["path"]}}},
	{"type": "function", "function": {"name": "now", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}}]`

// call draws a call of one of the tools.
func (d drawing) call(n int) (c chat.ToolCall, v ordered.Value) {
	c = chat.ToolCall{ID: fmt.Sprintf("drawn%04d", n), Name: "now", Arguments: "{}"}
	if d.IntN(4) > 0 {
		c.Name = "write_note"
		members := []ordered.Member{ordered.MemberOf("path", ordered.Str(d.text(false)))}
		add := func(key string, v ordered.Value) {
			if d.IntN(3) == 0 {
				members = append(members, ordered.MemberOf(key, v))
			}
		}
		add("body", ordered.Str(d.text(false)))
		add("line", ordered.Int(d.IntN(900)-100))
		add("append", ordered.Boolean(d.IntN(2) == 0))
		add("tags", ordered.ArrayOf(ordered.Str(d.text(false)), ordered.Str("b")))
		add("meta", ordered.ObjectOf(ordered.MemberOf("k", d.value(2))))
		c.Arguments = ordered.ObjectOf(members...).String()
	}
	arguments, _ := ordered.ParseString(c.Arguments)
	return c, chat.CallOf(c.ID, c.Name, arguments)
}

// answer draws a message.
func (d drawing) answer(thinks bool) (m chat.Message, v ordered.Value) {
	var calls []ordered.Value
	kind := d.IntN(6)
	if kind < 4 {
		for n := range 1 + kind/3 {
			c, v := d.call(n)
			m.ToolCalls, calls = append(m.ToolCalls, c), append(calls, v)
		}
	}
	if kind > 1 {
		m.Content = d.with("said")
	}
	members := []ordered.Member{}
	if thinks && d.IntN(3) == 0 {
		m.Reasoning = d.with("thought")
		members = append(members, ordered.MemberOf("reasoning_content", ordered.Str(m.Reasoning)))
	}
	if len(calls) > 0 {
		members = append(members, ordered.MemberOf("tool_calls", ordered.ArrayOf(calls...)))
	}
	return m, chat.MessageOf("assistant", ordered.Str(m.Content), members...)
}

// written returns what a template writes of an answer after the prompt for it, less the end of the
// turn; ok is false where it writes another text before it, or none of the answer.
func written(tm *engine.Template, request chat.Request, prompt string,
	answer ordered.Value) (turn string, ok bool) {
	history := request
	history.Messages = append(history.Messages[:1:1], answer)
	history.NoGeneration = true
	past, err := tm.Render(history)
	if err != nil {
		return "", false
	}
	turn, ok = strings.CutPrefix(past.Text, prompt)
	cut := len(turn)
	for _, end := range tm.Analysis().Format.End {
		end = strings.TrimSpace(end)
		if i := strings.LastIndex(turn, end); i >= 0 && end != "" {
			cut = min(cut, i)
		}
	}
	return turn[:cut], ok && turn[:cut] != ""
}

// tells reports whether a turn has all texts of a message: templates drop thoughts of the past,
// text beside calls, further calls.
func tells(turn string, m chat.Message) bool {
	for _, call := range m.ToolCalls {
		_, rest, ok := strings.Cut(turn, call.Name)
		if !ok {
			return false
		}
		turn = turn[:len(turn)-len(rest)-len(call.Name)] + rest
	}
	return strings.Contains(turn, m.Content) && strings.Contains(turn, m.Reasoning)
}

// same reports whether two messages say the same; white space around texts does not count.
func same(a, b chat.Message) bool {
	if strings.TrimSpace(a.Content) != strings.TrimSpace(b.Content) ||
		strings.TrimSpace(a.Reasoning) != strings.TrimSpace(b.Reasoning) ||
		len(a.ToolCalls) != len(b.ToolCalls) {
		return false
	}
	for i, call := range a.ToolCalls {
		x, errX := ordered.ParseString(call.Arguments)
		y, errY := ordered.ParseString(b.ToolCalls[i].Arguments)
		if call.Name != b.ToolCalls[i].Name || errX != nil || errY != nil || !ordered.Equal(x, y) {
			return false
		}
	}
	return true
}

// question is the request for a drawn answer.
func question(t *testing.T, text string) chat.Request {
	t.Helper()
	declared, err := ordered.ParseString(drawnTools)
	if err != nil {
		t.Fatal(err)
	}
	request, err := chat.ParseRequest(ordered.Pairs("messages",
		ordered.ArrayOf(chat.User(text)), "tools", declared))
	if err != nil {
		t.Fatal(err)
	}
	return request
}
