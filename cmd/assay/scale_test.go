package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInterrupted demands that a run which is interrupted says how far it came and how to go on, with a status of its own.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	vectors := filepath.Join(t.TempDir(), "v.jsonl")
	line := `{"kind": "grammar", "id": "ID", "grammar": "root ::= \"a\"", "accept": ["a"], "reject": []}` + "\n"
	text := strings.ReplaceAll(line, "ID", "a") + strings.ReplaceAll(line, "ID", "b") + strings.ReplaceAll(line, "ID", "c")
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
		run := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, ctx: ctx}
		if status := run.main(c.args); status != exitInterrupted || errs.String() != c.want || out.String() != "0 passed, 0 failed\n" {
			t.Errorf("%q: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}
