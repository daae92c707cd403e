package check_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// TestResponseTemplate checks model folders that ship a response_template.
func TestResponseTemplate(t *testing.T) {
	template, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const (
		open  = `{"version": 1, "start_anchor": "<|im_start|>assistant\n", "fields": {`
		calls = `"tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": true,
			"content": "json", "transform": {"type": "function", "function":
			{"name": "{content.name}", "arguments": "{content.arguments}"}}}`
		content = `"content": {"repeats": true, "join": ""}`
	)
	for _, test := range []struct{ about, object, rule, says string }{
		{"none", "null", "", ""},
		{"right", open + calls + ", " + content + "}}", "", ""},
		{"calls are not read", open + content + "}}", "A109", "content is"},
		{"another closer", open + strings.Replace(calls, "</tool_call>", "</call>", 1) + ", " +
			content + "}}", "A109", "it fails"},
		{"a pattern of Python alone", open +
			`"content": {"close_pattern": "(?P<a>x)++"}}}`, "A108", "possessive"},
		{"another version", `{"version": 2}`, "A108", "knows version 1"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			modeldir.JinjaFile:       string(template),
			modeldir.TokenizerConfig: `{"response_template": ` + test.object + `}`,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		m, err := subject.OpenModel(dir)
		if err != nil {
			t.Fatal(err)
		}
		broken, text := "", ""
		for _, res := range check.ModelOnly(m, check.Options{}) {
			if res.Status != rule.Passed && (res.Rule == "A108" || res.Rule == "A109") {
				broken, text = broken+res.Rule, text+res.Text
			}
		}
		if broken != test.rule || !strings.Contains(text, test.says) {
			t.Errorf("%s: %q, want %s with %q\n%s", test.about, broken, test.rule, test.says, text)
		}
	}
}
