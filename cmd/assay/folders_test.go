//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesInFolders gives commands folders with pipes, links to pipes and files that are too
// large, in the places where they look for files: none of them waits or fills the memory.
func TestPipesInFolders(t *testing.T) {
	own, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	template := string(own)
	const pipe, link, sparse = "a pipe", "a link to a pipe", "8 GiB"
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string // DIR is the folder
		want  string
	}{
		{"configuration of a folder below", map[string]string{"t.jinja": template,
			"sub/config.json": pipe}, []string{"check", "DIR"}, ""},
		{"template that is a link", map[string]string{"x.jinja": link}, []string{"check", "DIR"},
			"no chat template"},
		{"template that is a link, to fix", map[string]string{"x.jinja": link},
			[]string{"fix", "DIR"}, "no chat template"},
		{"model file", map[string]string{"a.gguf": pipe}, []string{"check", "DIR"},
			"not a regular file"},
		{"model file beside a template", map[string]string{"chat_template.jinja": template,
			"a.gguf": link}, []string{"check", "DIR"}, ""},
		{"file of a tokeniser", map[string]string{"chat_template.jinja": template,
			"tokenizer.json": pipe, "tokenizer_config.json": link}, []string{"check", "DIR"},
			"not a regular file"},
		{"model files to list", map[string]string{"a.gguf": pipe},
			[]string{"manifest", "--models", "DIR"}, "not a regular file"},
		{"vectors", map[string]string{"a.jsonl": pipe}, []string{"verify", "DIR"},
			"not a regular file"},
		{"vectors that are a link", map[string]string{"a.yaml": link}, []string{"verify", "DIR"},
			"not a regular file"},
		{"templates of vectors", map[string]string{"t/a.jinja": pipe,
			"v.jsonl": `{"id": "v", "kind": "caps", "template": "a.jinja", "want": {}}`},
			[]string{"verify", "--templates", "DIR/t", "DIR/v.jsonl"}, "not a regular file"},
		{"results", map[string]string{"a.jsonl": pipe}, []string{"report", "--merge", "DIR"},
			"not a regular file"},
		{"script", map[string]string{"f/template.jinja": template, "f/x.txtar": pipe},
			[]string{"run", "DIR"}, "neither a file nor a folder"},
		{"script that is large", map[string]string{"f/template.jinja": template,
			"f/x.txtar": sparse}, []string{"run", "DIR"}, "more than 64 MiB"},
		{"folder for a page", map[string]string{"chat_template.jinja": template,
			"tokenizer.json": pipe}, []string{"report", "DIR", "--html", "DIR/page.html"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			aim := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(aim, 0o666); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				name = filepath.Join(dir, name)
				err := os.MkdirAll(filepath.Dir(name), 0o777)
				if err == nil {
					switch text {
					case pipe:
						err = syscall.Mkfifo(name, 0o666)
					case link:
						err = os.Symlink(aim, name)
					case sparse:
						if err = os.WriteFile(name, nil, 0o666); err == nil {
							err = os.Truncate(name, 8<<30)
						}
					default:
						err = os.WriteFile(name, []byte(text), 0o666)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			args := strings.Split(strings.ReplaceAll(strings.Join(c.args, "\x00"), "DIR", dir),
				"\x00")
			var stdout, stderr string
			done := make(chan bool)
			go func() {
				defer close(done)
				stdout, stderr, _ = assay("", args...)
			}()
			select {
			case <-done:
			case <-time.After(2 * time.Minute):
				t.Fatal("it waits")
			}
			if !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("want %q:\n%s%s", c.want, stdout, stderr)
			}
		})
	}
}

// endless is standard input that never ends.
type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'y'
	}
	return len(p), nil
}

// TestEndlessInput gives commands an output and files that never end.
func TestEndlessInput(t *testing.T) {
	const template = "../../corpus/hermes/template.jinja"
	for _, args := range [][]string{
		{"parse", template},
		{"parse", template, "--output", "/dev/zero"},
		{"check", template, "--baseline", "/dev/zero"},
		{"check", template, "--config", "/dev/zero"},
		{"check", "-"}, {"render", "--request", "-", template}, {"report", "-"},
	} {
		var stderr strings.Builder
		c := &call{stdin: endless{}, stdout: new(strings.Builder), stderr: &stderr,
			getenv: func(string) string { return "" }}
		if status := c.main(args); status != exitUsage {
			t.Errorf("%q: status %d: %s", args, status, stderr.String())
		}
	}
}

// TestNamesOfOthers searches a folder with names that mean something else on the command line: a
// model on the Hub, an object in a bucket, a flag, standard input, one template of several.
func TestNamesOfOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"hf:owner/model.jinja", "hf:owner/repo/chat_template.jinja",
		"s3:/bucket/x.jinja", "--help.jinja", "-.jinja", "t.jinja#default.jinja"} {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, []byte("{% if"), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("HF_ENDPOINT", "http://127.0.0.1:9")
	stdout, stderr, status := assay("", "check", "--format", "brief", "--select", "A001", ".")
	if n := strings.Count(stdout, "A001"); status != exitFailed || n != 6 ||
		strings.Contains(stderr, "127.0.0.1") {
		t.Errorf("status %d, %d of 6 fail:\n%s%s", status, n, stdout, stderr)
	}
}
