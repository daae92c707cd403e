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
		// it has no bound on all renders together
		"serve",
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
	name := filepath.Join(t.TempDir(), "large.jinja")
	if err := os.WriteFile(name, []byte(strings.Repeat("x", maxUntrusted+1)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check"}, {"fix"}, {"coverage"}, {"diff", name}, {"render"},
		{"caps"}, {"analyze"}, {"program"}, {"grammar"}, {"parse"}, {"page"}, {"train"},
		{"emit", "format"}, {"new", "--family", "x", "--corpus", t.TempDir()}} {
		args = append(args, "--untrusted", name)
		_, stderr, status := assay("", args...)
		if status != exitUsage || !strings.Contains(stderr, "that --untrusted allows") {
			t.Errorf("%q: status %d: %s", args, status, stderr)
		}
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
