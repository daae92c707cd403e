package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGate runs ci/gate.sh in a repository with two templates: one commit, then edits.
func TestGate(t *testing.T) {
	gate, err := filepath.Abs("gate.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, int) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	good := readFile(t, "../corpus/hermes/template.jinja")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		if out, code := run("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...); code != 0 {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	write("one.jinja", good)
	write("two.jinja", good)
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "base")
	for _, step := range []struct {
		name, text string // of one.jinja
		args       []string
		code       int
		want       string
	}{
		{"all templates", good, nil, 0, "check one.jinja two.jinja"},
		{"no template changed", good, []string{"--base", "HEAD", "--only-changed"}, 0, "no template to judge"},
		{"an edit that nobody sees", "{#- a comment -#}\n" + good, []string{"--base", "HEAD", "--only-changed"}, 0, "== diff one.jinja"},
		{"an edit that breaks", strings.ReplaceAll(good, "</tool_call>", "</call>"), []string{"--base", "HEAD", "--only-changed"}, 1, "breaking: "},
		{"a template that is broken", good + "{% if", []string{"--base", "HEAD", "--only-changed"}, 1, "does-not-compile"},
		{"wrong usage", good, []string{"--frob"}, 2, "unknown argument --frob"},
		{"nothing to compare with", good, []string{"--only-changed"}, 2, "needs --base"},
	} {
		write("one.jinja", step.text)
		if out, code := run("bash", append([]string{gate}, step.args...)...); code != step.code || !strings.Contains(out, step.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s", step.name, code, step.code, step.want, out)
		}
	}
}
