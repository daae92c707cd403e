package vector_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/foreign/vector"
)

// marked is a template of our own with calls, whose prompt opens reasoning where thinking is on.
const marked = `{% for t in tools %}{{ t.function.name }} {% endfor %}{% for m in messages %}{% if m.role == "user" %}<u>{{ m.content }}</u>{% else %}<a>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content or "" }}{% for c in m.tool_calls or [] %}<call>{"name": {{ c.function.name | tojson }}, "arguments": {{ c.function.arguments | tojson }}}</call>{% endfor %}</a>{% endif %}{% endfor %}{% if add_generation_prompt %}<a>{% if enable_thinking %}<think>{% endif %}{% endif %}`

const fixtureTool = `{"type": "function", "function": {"name": "f", "description": "A function.", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}}`

// fixture is a record with the members that matter here.
func fixture(id, output, rest string) string {
	return fmt.Sprintf(`{"id": %q, "family": "x", "models": ["Owner/Some-Model"], "spec_version": "0.1", "tools": [%s], "raw_output": %q, %s}`+"\n", id, fixtureTool, output, rest)
}

// TestFixtures runs records of CanIToolCall's specification. Calls that broke off count neither for
// nor against an output.
func TestFixtures(t *testing.T) {
	const message = `"tags": ["x-a"], "expected": {"content": %s, "reasoning_content": %s, "tool_calls": [%s]}`
	const call = `{"name": "f", "arguments": {"n": 1.0}}`
	expect := func(content, reasoning,
		calls string) string {
		return fmt.Sprintf(message, content, reasoning, calls)
	}
	const broken = `"tags": [%s], "expected_error": {"reason": "it broke off", "accept": ["%s"]}`
	for _, c := range []struct{ name, line, wrong string }{
		{"content", fixture("x/a", "Hello\n", expect(`"Hello"`, "null", "")), ""},
		{"a call, the number in another spelling", fixture("x/a", `Hm.<call>{"name": "f", "arguments": {"n": 1}}</call>`, expect(`"Hm."`, "null", call)), ""},
		{"the prompt opens reasoning", fixture("x/a", "Why not</think>Hello", `"generation_prompt": "<a><think>", `+expect(`"Hello"`, `"Why not"`, "")), ""},
		{"thinking is on", fixture("x/a", "Why not</think>Hello", `"thinking": true, `+expect(`"Hello"`, `"Why not"`, "")), ""},
		{"content differs", fixture("x/a", "Hello", expect(`"Bye"`, "null", "")), "content\nwant \"Bye\"\ngot  \"Hello\""},
		{"a call is missing", fixture("x/a", "Hello", expect(`"Hello"`, "null", call)), "0 complete tool calls, want 1"},
		{"arguments differ", fixture("x/a", `<call>{"name": "f", "arguments": {"n": "1"}}</call>`, expect("null", "null", call)), "tool_calls[0].arguments"},
		{"cut off in a call", fixture("x/a", `<call>{"name": "f", "arguments": {"n"`, fmt.Sprintf(broken, `"truncated"`, "no_tool_calls")), ""},
		{"a complete call where none may be", fixture("x/a", `<call>{"name": "f", "arguments": {"n": 1}}</call>`, fmt.Sprintf(broken, "", "no_tool_calls")), "1 complete tool calls, want none (it broke off)"},
		{"text is passed on", fixture("x/a", "call f", fmt.Sprintf(broken, "", "content_passthrough")), ""},
		{"text is not passed on", fixture("x/a", "<think>call f</think>", fmt.Sprintf(broken, "", "content_passthrough")), "not passed on"},
		{"a later version", strings.Replace(fixture("x/a", "", expect("null", "null", "")), `"0.1"`, `"1.0"`, 1), `has the version "1.0"`},
		{"an unknown model", strings.Replace(fixture("x/a", "", expect("null", "null", "")), "Owner/", "Nobody-", 1), "has the template of Nobody-Some-Model"},
	} {
		folder := fstest.MapFS{"owner-some-model.jinja": {Data: []byte(marked)}}
		v := &vector.Verifier{Templates: vector.NewTemplates(folder)}
		got := run(t, v, c.line)[0]
		switch {
		case c.wrong == "" && got.Status != rule.Passed:
			t.Errorf("%s: %s", c.name, got.Text)
		case c.wrong != "" && !strings.Contains(got.Text, c.wrong):
			t.Errorf("%s: got %q, want %q", c.name, got.Text, c.wrong)
		}
	}
}

// TestFixtureTemplate finds a fixture's template among folders: by its digest before its models, by
// a list before names of files, and in the first folder that has it.
func TestFixtureTemplate(t *testing.T) {
	other := strings.ReplaceAll(marked, "call>", "tool>")
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	line := fixture("x/a", `<call>{"name": "f", "arguments": {"n": 1}}</call>`, `"tags": [], "expected": {"content": null, "reasoning_content": null, "tool_calls": [{"name": "f", "arguments": {"n": 1}}]}`)
	const digest = `"provenance": {"template_sha256": "239c5b2e1971d8a71ff7ee06012389f0e91040adca4e83d7aea2b80be9dbe1e3"}, `
	for _, c := range []struct {
		name    string
		folders []fstest.MapFS
		line    string
	}{
		{"the repository's name", []fstest.MapFS{{"Some-Model.jinja": file(marked)}}, line},
		{"the first folder", []fstest.MapFS{{}, {"owner-some-model.jinja": file(marked)}, {"some-model.jinja": file(other)}}, line},
		{"a list", []fstest.MapFS{{"models.txt": file("a.jinja\n\tOwner/Some-Model\n")}, {"a.jinja": file(marked), "some-model.jinja": file(other)}}, line},
		{"the digest, without the line feed at the end", []fstest.MapFS{{"some-model.jinja": file(other), "sub/b.jinja": file(marked + "\n")}}, strings.Replace(line, `"models"`, digest+`"models"`, 1)},
	} {
		var folders []fs.FS
		for _, f := range c.folders {
			folders = append(folders, f)
		}
		v := &vector.Verifier{Templates: vector.NewTemplates(folders...)}
		if got := run(t, v, c.line)[0]; got.Status != rule.Passed {
			t.Errorf("%s: %s", c.name, got.Text)
		}
	}
}
