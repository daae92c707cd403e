package vector_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/foreign/vector"
)

// verifier returns one whose only template is the marked one, for a model.
func verifier(model string) *vector.Verifier {
	return &vector.Verifier{Templates: vector.NewTemplates(fstest.MapFS{
		"m.jinja":    {Data: []byte(marked)},
		"models.txt": {Data: []byte("m.jinja\n\t" + model + "\n")}})}
}

// runFile verifies a file of a name.
func runFile(t *testing.T, v *vector.Verifier, name, text string) map[string]rule.Result {
	t.Helper()
	if _, err := vector.Check(name, strings.NewReader(text),
		func(*vector.Vector) bool { return true }); err != nil {
		t.Fatal(err)
	}
	results := map[string]rule.Result{}
	in := vector.NewReader(name, strings.NewReader(text))
	if err := v.Run(t.Context(), in.Next, func(r rule.Result) { results[r.Name] = r }); err != nil {
		t.Fatal(err)
	}
	return results
}

// dynamoBatch has cases of every form: a text and chunks, readings of Dynamo alone and of others
// beside it, aliases, a case that the family does not have.
const dynamoBatch = `
family: tags
model_label: Tags 1
mode: batch
cases:
  PARSER.batch.1:
    description: one call after a word
    model_text: 'Well. <call>{"name": "f", "arguments": {"n": 1}}</call>'
    tools:
    - &tool
      name: f
      parameters: {type: object, properties: {n: {type: integer}}}
    expected:
      dynamo: &read
        calls:
        - name: f
          arguments: {n: 1}
        normal_text: 'Well.'
      vllm: *read
  PARSER.stream.1:
    chunks:
    - delta_text: '<ca'
    - delta_text: 'll>{"name": "f", "arguments": {"n": 2}}</call>'
      finish_reason: tool_calls
    tools: [*tool]
    expected:
      dynamo_v2:
        calls: [{name: f, arguments: {n: 2}}]
        normal_text: ''
  PARSER.batch.2:
    model_text: '<call>{"name": "f", "arguments": {"n": 3}}</call>'
    tools: [*tool]
    expected:
      dynamo:
        calls: [{name: f, arguments: {n: 4}}]
        normal_text: ''
  PARSER.batch.3:
    model_text: '<think>Hm.</think>Hello <call>{"name": "f", "arguments": {"n": 1}}</call>'
    tools: [*tool]
    expected:
      dynamo:
        calls: [{name: f, arguments: {n: 1}}]
        normal_text: '<think>Hm.</think>Hello'
  REASONING.batch.1:
    model_text: '<think>Hm.</think>Hello'
    expected:
      dynamo:
        reasoning_text: Hm.
        normal_text: Hello
  PARSER.batch.9:
    description: a form that the family does not have
    reason: it has no such marker
`

// dynamoUnified has the form with a request and events.
const dynamoUnified = `
input_document: {family: tags, mode: unified}
golden_document: {family: tags}
cases:
  all:
    request:
      input: '<think>Hm.</think>Hello<call>{"name": "f", "arguments": {"n": 1}}</call>'
      init: {starting_state: None}
      finish_reason: stop
      tools: [{name: f, parameters: {type: object, properties: {n: {type: integer}}}}]
    golden:
      assembled:
      - {kind: reasoning, text: Hm.}
      - {kind: text, text: Hello}
      - {kind: tool_call, name: f, arguments: {n: 1}}
  open:
    request:
      input: 'Hm.</think>Hello'
      init: {starting_state: Reasoning}
      tools: []
    golden:
      assembled: [{kind: reasoning, text: Hm.}, {kind: text, text: Hello}]
`

func TestDynamo(t *testing.T) {
	v := verifier("dynamo/tags")
	for _, tt := range []struct {
		text   string
		wrongs map[string]string // by id; "" where the case passes
	}{
		{dynamoBatch, map[string]string{"tags/PARSER.batch.1": "", "tags/PARSER.stream.1": "",
			"tags/PARSER.batch.2": "tool_calls[0].arguments", "tags/PARSER.batch.3": "",
			"tags/REASONING.batch.1": ""}},
		{dynamoUnified, map[string]string{"tags/all": "", "tags/open": ""}},
	} {
		got := runFile(t, v, "cases.yaml", tt.text)
		if len(got) != len(tt.wrongs) {
			t.Errorf("%d results, want %d: %v", len(got), len(tt.wrongs), got)
		}
		for id, wrong := range tt.wrongs {
			r, ok := got[id]
			if !ok || (r.Status == rule.Passed) != (wrong == "") ||
				!strings.Contains(r.Text, wrong) {
				t.Errorf("%s: %+v, want %q", id, r, wrong)
			}
		}
	}
}

// TestDynamoFaults reads files that are no fixtures.
func TestDynamoFaults(t *testing.T) {
	bomb := "family: x\ncases:\n  a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for i := range 8 {
		bomb += "  " + string(rune('b'+i)) + ": &" + string(rune('b'+i)) + " [" +
			strings.Repeat("*"+string(rune('a'+i))+",", 9) + "1]\n"
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no YAML", "a: [", "f.yaml"},
		{"a list", "- a\n", `expected an object with "family" and "cases"`},
		{"no cases", "family: x\n", `expected an object with "family" and "cases"`},
		{"a tool without a name", "family: x\ncases:\n  a:\n    model_text: t\n    tools: [{}]\n" +
			"    expected: {dynamo: {calls: []}}\n", "f.yaml:3:1: a: a tool has no name"},
		{"aliases of aliases", bomb, "more than 1048576 values"},
	} {
		_, err := vector.NewReader("f.yaml", strings.NewReader(tt.text)).Next()
		if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func FuzzDynamo(f *testing.F) {
	f.Add(dynamoBatch)
	f.Add(dynamoUnified)
	f.Fuzz(func(t *testing.T, text string) {
		in := vector.NewReader("f.yaml", strings.NewReader(text))
		for {
			if _, err := in.Next(); err != nil {
				return
			}
		}
	})
}

// TestK2 runs lines of K2 Vendor Verifier: a sample, results that are right, that have another
// verdict on their calls, and that have no answer.
func TestK2(t *testing.T) {
	const body = `{"model": "org/m", "messages": [{"role": "user", "content": "Do."}], "tools": [` +
		fixtureTool + `]}`
	result := func(index, message, valid string) string {
		return `{"data_index": ` + index + `, "request": ` + body + `, "response": {"choices": ` +
			`[{"message": ` + message + `, "finish_reason": "tool_calls"}]}, ` +
			`"tool_calls_valid": ` + valid + "}\n"
	}
	call := func(arguments string) string {
		return `{"role": "assistant", "content": "Well.", "tool_calls": [{"id": "functions.f:0", ` +
			`"type": "function", "function": {"name": "f", "arguments": "` + arguments + `"}}]}`
	}
	got := runFile(t, verifier("org/m"), "k2.jsonl", body+"\n"+
		result("2", call(`{\"n\": 1}`), "true")+
		result("3", call(`{\"n\": \"x\"}`), "true")+
		result("4", call(`{\"n\": \"x\"}`), "false")+
		result("5", call(`{\"n\": 1}`), "false")+
		`{"data_index": 6, "request": `+body+`, "response": {"error": "busy"}, `+
		`"status": "failed"}`+"\n"+
		strings.Replace(body, `"model": "org/m", `, "", 1)+"\n")
	for id, wrong := range map[string]string{
		"k2/line 1": "", "k2/2": "", "k2/3": "tool_calls_valid is true: f: ", "k2/4": "",
		"k2/5":      "tool_calls_valid is false, and every call keeps its function's schema",
		"k2/6":      "",
		"k2/line 7": "the request names no model",
	} {
		r, ok := got[id]
		if !ok || (r.Status == rule.Passed) != (wrong == "") || !strings.Contains(r.Text, wrong) {
			t.Errorf("%s: %+v, want %q", id, r, wrong)
		}
	}
}
