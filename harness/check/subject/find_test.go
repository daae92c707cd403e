package subject_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/check/subject"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := subject.Find(dir); !errors.Is(err, subject.ErrNoTemplate) ||
		!strings.Contains(err.Error(), "looked for *.jinja") {
		t.Errorf("an empty folder: %v", err)
	}
	for _, name := range []string{
		"a.jinja", "z.txt", "other.json", "deep/er/b.jinja", ".git/c.jinja", "node_modules/d.jinja",
		"model/tokenizer_config.json", "model/chat_template.jinja", "model/additional_chat_templates/rag.jinja", "model/extra.jinja",
		"quantised [1]/m.gguf", "processor/chat_template.json", "empty/config.json",
		"program/config.json",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		text := "{}"
		if name == "empty/config.json" {
			text = `{"model_type": "llama"}`
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found, err := subject.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	relative := func(names []string) string {
		var all []string
		for _, name := range names {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, filepath.ToSlash(rel))
		}
		return strings.Join(all, " ")
	}
	if got, want := relative(found.Templates), "a.jinja deep/er/b.jinja model/extra.jinja"; got != want {
		t.Errorf("templates %q, want %q", got, want)
	}
	slices.Sort(found.Models)
	if got, want := relative(found.Models), "empty model processor quantised [1]"; got != want {
		t.Errorf("models %q, want %q", got, want)
	}
	found.Models = found.Models[:1]
	if got, want := found.String(), "3 templates ("+strings.Join(found.Templates, ", ")+
		") and 1 model folder ("+filepath.Join(dir, "empty")+")"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"model/tokenizer_config.json": "model", "model/special_tokens_map.json": "model",
		"model/additional_chat_templates/rag.jinja": "model",
		"quantised [1]/other.GGUF":                  "quantised [1]",
		"empty/config.json":                         "empty", "model/preprocessor_config.json": "model",
		"model/extra.jinja": "", "a.jinja": "", "program/config.json": "", "z.txt": "",
		"deep/tokenizer_config.json": "", "deep/additional_chat_templates/b.jinja": "",
	} {
		got, ok := subject.ModelOf(filepath.Join(dir, name))
		if ok != (want != "") || ok && got != filepath.Join(dir, want) {
			t.Errorf("the model of %s: %q %t, want %q", name, got, ok, want)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Logf("no links here: %v", err) // on Windows they need a privilege
	} else if found, err := subject.Find(link); err != nil || len(found.Templates) != 3 ||
		!slices.Contains(found.Templates, filepath.Join(link, "a.jinja")) {
		t.Errorf("a link to the folder: %v, %v", found, err)
	}
	if _, err := subject.Find(filepath.Join(dir, "nope")); err == nil {
		t.Error("a folder that is not there was read")
	}
}
