package reduce

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
)

func value(t *testing.T, text string) ordered.Value {
	t.Helper()
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWithout(t *testing.T) {
	var got []string
	for v := range without(value(t, `{"a": [1, {"b": 2}], "c": 3}`)) {
		got = append(got, v.String())
	}
	want := []string{`{"c": 3}`, `{"a": [1, {"b": 2}]}`, `{"a": [{"b": 2}], "c": 3}`, `{"a": [1], "c": 3}`, `{"a": [1, {}], "c": 3}`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}

func TestReduce(t *testing.T) {
	template, err := subject.New("t", `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`).Compile()
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Template: template, Request: value(t, `{"messages": [{"role": "user", "content": "x"}]}`), Output: "fine"}
	if _, _, err := c.Reduce(); !errors.Is(err, ErrHolds) {
		t.Errorf("a case that holds: %v", err)
	}
	c.Request = value(t, `{}`)
	if _, _, err := c.Reduce(); err == nil {
		t.Error("a request without messages can be reduced")
	}
}

// faulty is the engine's parser with a fault put into its input.
type faulty struct {
	split.Parser
	fault func(chunk []byte) []byte
}

func (f faulty) Write(chunk []byte) []chat.Delta { return f.Parser.Write(f.fault(chunk)) }

const hermes = `{%- if tools %}<|system|>{{ tools | tojson }}<|end|>
{% endif %}
{%- for message in messages %}<|{{ message.role }}|>
{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</call>{% endfor %}<|end|>
{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% endif %}`

const longRequest = `{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Where?"},
 {"role": "user", "content": "Oslo and Bergen"}], "temperature": 0.5, "parallel_tool_calls": true, "tools": [
 {"type": "function", "function": {"name": "weather", "description": "Now", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
 {"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}}}]}`

const longOutput = `<think>They ask for two places.</think>I look for both of them.<call>{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}</call>` +
	`<call>{"name": "weather", "arguments": {"city": "Bergen!", "days": 2}}</call>`

func longMessage() chat.Message {
	call := func(args string) chat.ToolCall {
		return chat.ToolCall{Name: "weather", Arguments: args, Complete: true}
	}
	return chat.Message{Reasoning: "They ask for two places.", Content: "I look for both of them.",
		ToolCalls: []chat.ToolCall{call(`{"city": "Oslo", "days": 3}`), call(`{"city": "Bergen!", "days": 2}`)}}
}

// TestInjectedFaults puts a fault into the parser, or into its expectation, and looks at the rest
// of a long case.
func TestInjectedFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func([]byte) []byte
		want  func(*Want)
		kind  string
		left  string // the output at the end
	}{
		{"a chunk loses an exclamation mark at its start", func(chunk []byte) []byte { return bytes.TrimPrefix(chunk, []byte("!")) }, nil, "split", `<call>{"name":"weather","arguments":"!"}`},
		{"a byte makes it panic", func(chunk []byte) []byte {
			if bytes.ContainsRune(chunk, '!') {
				panic("an exclamation mark")
			}
			return chunk
		}, nil, "panic", "!"},
		{"an exclamation mark is lost everywhere", func(chunk []byte) []byte { return bytes.ReplaceAll(chunk, []byte("!"), nil) }, nil, "arguments lost", `<call>{"name":"weather","arguments":{"":"!"}}`},
		{"a letter becomes another", func(chunk []byte) []byte { return bytes.ReplaceAll(chunk, []byte("f"), []byte("v")) }, nil, "reasoning_content changed", "<think>f"},
		{"the end of reasoning is expected in the content", nil, func(w *Want) {
			w.Message.Reasoning, w.Message.Content = "They ask", " for two places."+
				w.Message.Content
		}, "reasoning_content added", "<think>."},
		{"the second call is not expected", nil, func(w *Want) { w.Message.ToolCalls = w.Message.ToolCalls[:1] }, "tool_calls added", `<call>{"name":"weather","arguments":{"":"","":3}}`},
		{"another number is expected", nil, func(w *Want) { w.Message.ToolCalls[1].Arguments = `{"city": "Bergen!", "days": 4}` }, "arguments changed", `<call>{"name":"weather","arguments":{"":2}}`},
		{"another reason is expected", nil, func(w *Want) { w.Finish = chat.FinishStop }, "finish", `<call>{"name":"weather"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, err := subject.New("t.jinja", hermes).Compile()
			if err != nil {
				t.Fatal(err)
			}
			big := Case{Template: template, Request: value(t, longRequest), Output: longOutput,
				Want: &Want{Message: longMessage()}}
			if c.want != nil {
				c.want(big.Want)
			}
			if c.fault != nil {
				big.NewParser = func(p *engine.Plan) split.Parser {
					return faulty{p.NewParser(),
						c.fault}
				}
			}
			small, failure, err := big.Reduce()
			if err != nil || failure.Kind != c.kind {
				t.Fatalf("%v: %+v", err, failure)
			}
			// a better engine may leave a little less, or more
			if len(small.Output) > len(c.left)+12 || len(small.Request.String()) > 90 {
				t.Errorf("the rest is %q, want %q, "+
					"of the request %s", small.Output, c.left, small.Request)
			}
			text, err := small.Script(failure)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(text)
			// of which nobody knows the message
			if failed := runs(t, text); failed == (c.fault != nil) && c.kind != "panic" {
				t.Errorf("run without the fault in the parser, the script fails: %t", failed)
			}
		})
	}
}

// runs runs a script in a corpus of its own, with the engine as it is.
func runs(t *testing.T, text string) (failed bool) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"template.jinja": hermes, "small.txtar": text} {
		if err := os.WriteFile(filepath.Join(dir, "mine", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := families.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded, Dir: dir}
	v := suite.Variants()[0]
	src, err := suite.Source(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	results, err := suite.Results(t.Context(), v, src, false)
	if err != nil {
		t.Fatal(err)
	}
	if failed = results[0].Status == rule.Failed; failed {
		t.Log(results[0].Text)
	}
	return failed
}

// TestScriptHeaders refuses texts that cannot stand in an archive.
func TestScriptHeaders(t *testing.T) {
	template, err := subject.New("t.jinja", hermes).Compile()
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Template: template, Request: value(t, longRequest), Output: "a\n-- b --\nc"}
	if _, err := c.Script(Failure{Kind: "split", Text: "x"}); err == nil ||
		!strings.Contains(err.Error(), "output.txt") {
		t.Errorf("an output with a header: %v", err)
	}
}
