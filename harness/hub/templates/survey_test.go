package templates_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/diff"
	"github.com/goassay/assay/harness/hub/templates"
)

func of(t *testing.T, files ...string) *templates.Survey {
	t.Helper()
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	folder, err := modeldir.Read(fsys, modeldir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return templates.Of(subject.NewModel("dir", "dir", folder))
}

func config(template string) string {
	return `{"bos_token": "<s>", "eos_token": "</s>", "chat_template": ` + ordered.Str(template).String() + `}`
}

// TestClasses: each class of difference, on edits of one of the corpus's templates.
func TestClasses(t *testing.T) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	base, err := loaded.Text("hermes")
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) string {
		text := strings.Replace(base, old, new, 1)
		if text == base {
			t.Fatalf("%q is not in the template", old)
		}
		return text
	}
	for _, c := range []struct{ class, text, line string }{
		{diff.Identical, base, ""},
		{diff.WhiteSpace, base + "\n", ""},
		{diff.Unseen, "{# a comment #}" + base, ""},
		{"risky", replaced("These functions are available", "You can call these functions"), "risky D008 prompt-changed: "},
		{"breaking", replaced(`'}\n</tool_call>'`, `'}'`), "breaking D004 format-changed: "},
		{"breaking", "{% for %}", "breaking D001 no-longer-compiles: "},
	} {
		s := of(t, modeldir.JinjaFile, base, modeldir.TokenizerConfig, config(c.text))
		if len(s.Differences) != 1 || s.Differences[0].Class != c.class ||
			s.Differences[0].From != 0 || s.Differences[0].To != 1 {
			t.Errorf("%s: %+v", c.class, s.Differences)
			continue
		}
		if lines := strings.Join(s.Differences[0].Lines(), "\n"); !strings.Contains(lines,
			c.line) || c.line == "" && lines != "" {
			t.Errorf("%s: %s", c.class, lines)
		}
		if !ordered.Valid(s.Value().String()) || !strings.Contains(s.Value().String(), `"class": "`+c.class+`"`) {
			t.Errorf("%s: %s", c.class, s.Value())
		}
		disagree := func(res rule.Result) bool { return res.Rule == "A050" }
		if observable := c.line != ""; observable != slices.ContainsFunc(s.Findings, disagree) {
			t.Errorf("%s:\n%s", c.class, s)
		}
	}
	if s := of(t, modeldir.JinjaFile, base, modeldir.TokenizerConfig,
		config("{% for %}")); !strings.Contains(s.String(), "gate: fail: dir/tokenizer_config.json#chat_template:1:") {
		t.Errorf("no place:\n%s", s)
	}
	// The broken one as the one to compare with: the difference is seen from the other side.
	s := of(t, modeldir.JinjaFile, "{% for %}", modeldir.TokenizerConfig, config(base))
	if len(s.Differences) != 1 || s.Differences[0].Class != "breaking" {
		t.Errorf("%+v", s.Differences)
	}
	if s = of(t, modeldir.JinjaFile, "{% for %}", modeldir.TokenizerConfig,
		config("{% if %}")); s.Differences[0].Class != diff.Broken {
		t.Errorf("%+v", s.Differences)
	}
}

// TestHostile checks that names and texts of files cannot drive a terminal, and are JSON all the
// same.
func TestHostile(t *testing.T) {
	s := of(t, modeldir.AdditionalDir+"/\x1b[2J.jinja", "{{\x1b", modeldir.TokenizerConfig,
		`{"bos_token": "\u001b", "chat_template": [{"name": "x\u0007\ntemplate: forged", "template": "{{ \u001b"}, {"name": "x", "template": "\ud800"}]}`)
	if text := s.String(); strings.ContainsAny(text, "\x1b\x07\r") ||
		strings.Contains(text, "\ntemplate: forged") {
		t.Errorf("%q", text)
	}
	if !ordered.Valid(s.Value().String()) {
		t.Errorf("%s", s.Value())
	}
}
