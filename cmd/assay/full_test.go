package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// full is an output that has no room left.
type full struct{}

var errFull = errors.New("no space left on device")

// Write implements [io.Writer].
func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFullOutput runs commands whose output cannot be written: each fails, whatever it prints, so
// that nobody takes half a result for one.
func TestFullOutput(t *testing.T) {
	const hermes = "../../corpus/hermes/template.jinja"
	vectors := filepath.Join(t.TempDir(), "vectors.jsonl")
	const vector = `{"kind": "jinja", "id": "text", "template": "a", "vars": {}, "want": "a"}`
	if err := os.WriteFile(vectors, []byte(vector), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := [][]string{
		{"version"}, {"help"}, {"--help"}, {"help", "check"}, {"completion", "bash"}, {"man", "check"}, {"explain", "A001"}, {"explain"},
		{"analyze", hermes}, {"analyze", "--explain", "--verify", hermes}, {"caps", hermes}, {"caps", "--json", hermes}, {"check", hermes},
		{"check", "--format", "json", hermes}, {"check", "--format", "github", hermes}, {"coverage", hermes}, {"diff", hermes, hermes},
		{"emit", "response-template", hermes}, {"program", hermes}, {"grammar", hermes}, {"render", hermes}, {"parse", hermes},
		{"run", "--run", "hermes", "../../corpus"}, {"verify", vectors}, {"fix", hermes},
	}
	var walk func(parent *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			runs = append(runs, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
			walk(cmd)
		}
	}
	walk(new(call).tree())
	for _, args := range runs {
		var errs bytes.Buffer
		c := &call{stdin: strings.NewReader("hello"), stdout: full{}, stderr: &errs,
			getenv: func(string) string { return "" }}
		if status := c.main(args); status == exitOK {
			t.Errorf("%v ends well, and says %q", args, errs.String())
		}
	}
}
