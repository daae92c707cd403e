package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestUntrustedEverywhere demands that every command with limits has the tight profile, in the same
// words, and names those that have none.
func TestUntrustedEverywhere(t *testing.T) {
	without := []string{
		// no template is rendered, or only own ones
		"dataset", "hub fetch", "hub list", "manifest", "report", "explain", "help", "version",
		"completion", "man", "engines run", "engines judge", "engines faults",
	}
	var walk func(prefix string, list []*command)
	walk = func(prefix string, list []*command) {
		for _, cmd := range list {
			name := prefix + cmd.name
			if walk(name+" ", cmd.within); cmd.within != nil {
				continue
			}
			help, _, _ := assay("", append([]string{"help"}, strings.Fields(name)...)...)
			limited := strings.Contains(help, "--limit NAME")
			tight := strings.Contains(help, "--untrusted ")
			if limited != tight || !limited && !slices.Contains(without, name) {
				t.Errorf("%s: --limit %t, --untrusted %t", name, limited, tight)
			}
		}
	}
	walk("", commands)
}

// TestUntrustedSize gives a template beyond the size of the tight profile to the commands.
func TestUntrustedSize(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	large := strings.Repeat("x", untrusted.Source+1)
	name := write("large.jinja", large)
	write("chat_template.jinja", large)
	vectors := write("v.jsonl", `{"id": "a", "kind": "jinja", "template": "`+large+
		`", "vars": {}, "want": "x"}`)
	line := `{"op": "check", "untrusted": true, "template": {"text": "` + large + `"}}` + "\n"
	for _, args := range [][]string{{"check", name}, {"check", dir}, {"fix", name},
		{"coverage", name}, {"diff", name, name}, {"render", name}, {"caps", name},
		{"analyze", name}, {"program", name}, {"grammar", name}, {"parse", name}, {"train", name},
		{"train", "--keep", name}, {"emit", "format", name}, {"templates", dir},
		{"new", "--family", "x", "--corpus", t.TempDir(), name}, {"verify", vectors}, {"pipe"}} {
		stdout, stderr, _ := assay(line, append(args, "--untrusted")...)
		if want := "more than the 1048576 that the limit source allows"; !strings.Contains(
			stdout+stderr, want) {
			t.Errorf("%.200q: %.500s%.500s, want %s", args, stdout, stderr, want)
		}
	}
	stdout, stderr, status := assay("", "run", "--run", "hermes", "--limit", "source=1K")
	if want := "more than the 1024 that the limit source allows"; status != exitFailed ||
		!strings.Contains(stdout, want) {
		t.Errorf("assay run: status %d, %.500s%s, want %s", status, stdout, stderr, want)
	}
}

// TestTotals holds each command that looks at templates to a bound on all renders together. Only
// vectors have none: a file of them holds as many templates as it likes.
func TestTotals(t *testing.T) {
	seen := 0
	var visit func(list []*command)
	visit = func(list []*command) {
		for _, c := range list {
			visit(c.within)
			if c.setup == nil {
				continue
			}
			flags := &flagSet{FlagSet: pflag.NewFlagSet(c.name, pflag.ContinueOnError),
				command: new(cobra.Command)}
			if c.setup(flags); flags.limits == nil {
				continue
			}
			seen++
			if bound := flags.limits.TotalSteps > 0; bound == (c.name == "verify") {
				t.Errorf("assay %s: %d steps for all renders of a template together", c.name,
					flags.limits.TotalSteps)
			}
		}
	}
	visit(commands)
	if seen < 10 {
		t.Errorf("%d commands have limits", seen)
	}
}
