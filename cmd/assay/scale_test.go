package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupted demands that a run which is interrupted describes how far it came and how to go
// on, with a status of its own.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	vectors := filepath.Join(t.TempDir(), "v.jsonl")
	line := `{"kind": "grammar", "id": "ID", "grammar": "root ::= \"a\"", "accept": ["a"], "reject": []}` + "\n"
	text := strings.ReplaceAll(line, "ID", "a") + strings.ReplaceAll(line, "ID", "b") +
		strings.ReplaceAll(line, "ID", "c")
	if err := os.WriteFile(vectors, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"verify", "--from", "1", vectors}, "--from 1 goes on\ninterrupted: 0 of 2 vectors were done\n"},
		{[]string{"check", "../../corpus/hermes/template.jinja"}, "interrupted: 0 of 1 templates were done\n"},
	} {
		var out, errs strings.Builder
		run := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, base: ctx}
		if status := run.main(c.args); status != exitInterrupted || errs.String() != c.want ||
			out.String() != "0 passed, 0 failed\n" {
			t.Errorf("%q: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}

// linked returns the program: the test binary, under the name with which it runs as the program.
func linked(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "assay")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestSignals interrupts runs that would take minutes, as a terminal does, and demands that they
// end at once, with a report of the work done.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	dir := t.TempDir()
	program := linked(t, dir)
	template, err := os.ReadFile("../../corpus/hermes/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var vectors strings.Builder
	for i := range n {
		family := fmt.Sprintf("corpus/f%d/", i)
		write(family+"template.jinja", string(template))
		write(family+"case.txtar", fmt.Sprintf("template f%d\ncaps tools tool_calls parallel object_arguments\n", i))
		fmt.Fprintf(&vectors, `{"kind": "grammar", "id": "%d", "grammar": "root ::= [a-z]*", "accept": ["%s"], "reject": []}`+"\n", i, strings.Repeat("a", 50_000))
	}
	one := write("one.jinja", string(template))
	slow := write("slow.jinja", "{% for m in messages %}{{ m.content }}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endfor %}")
	for _, c := range []struct {
		args   []string
		signal syscall.Signal
		want   string
	}{
		{[]string{"run", filepath.Join(dir, "corpus")}, syscall.SIGTERM, `(?s)passed, 0 failed.*interrupted: \d+ of 2000 templates were done\n$`},
		{append([]string{"check"}, slices.Repeat([]string{one}, n)...), syscall.SIGINT, `(?s)(passed, 0 failed|no errors).*interrupted: \d+ of 2000 templates were done\n$`},
		{[]string{"check", "--limit", "steps=2147483647", "--limit", "total=2147483647", slow}, syscall.SIGTERM, `interrupted: 0 of 1 templates were done\n$`},
		{[]string{"verify", write("v.jsonl", vectors.String())}, syscall.SIGINT, `(?s)passed, 0 failed.*--from \d+ goes on\ninterrupted: \d+ of 2000 vectors were done\n$`},
	} {
		for wait := 250 * time.Millisecond; ; wait *= 2 { // until it had begun when the signal came
			cmd := exec.Command(program, c.args...)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatalf("%s ended before the signal: %v\n%s", c.args[0], err, out.String())
			}
			cmd.Wait()
			if cmd.ProcessState.ExitCode() < 0 && wait < time.Minute {
				continue
			}
			if got := cmd.ProcessState.ExitCode(); got != exitInterrupted ||
				!regexp.MustCompile(c.want).MatchString(out.String()) {
				t.Errorf("%s after %v: status %d, "+
					"want %d and %s\n%s", c.args[0], c.signal, got, exitInterrupted, c.want,
					out.String())
			}
			break
		}
	}
}
