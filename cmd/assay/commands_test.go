package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// assay runs a command line in this process.
func assay(stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	c := &call{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
	status = c.main(args)
	return out.String(), errs.String(), status
}

// TestConventions holds every command to what they have in common: --json, help, and status 2 for wrong usage.
func TestConventions(t *testing.T) {
	for i := range commands {
		cmd := &commands[i]
		flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		cmd.setup(flags)
		if flags.Lookup("json") == nil {
			t.Errorf("%s has no --json", cmd.name)
		}
		if cmd.long == "" || cmd.short == "" || strings.HasSuffix(cmd.short, ".") || strings.HasPrefix(cmd.args, " ") {
			t.Errorf("%s has no help, or not in the usual form: %q, %q", cmd.name, cmd.short, cmd.long)
		}
		flags.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: the flag %s is described by %q", cmd.name, f.Name, f.Usage)
			}
		})
		for _, args := range [][]string{{"help", cmd.name}, {cmd.name, "-h"}, {cmd.name, "--help"}} {
			if out, errs, status := assay("", args...); status != exitOK || !strings.HasPrefix(out, "usage: assay "+cmd.name) || errs != "" {
				t.Errorf("%v ends with %d: %s", args, status, errs)
			}
		}
		for _, args := range [][]string{{cmd.name, "--frobnicate"}, {cmd.name, "a", "b", "c", "--no-such-flag=1"}, {cmd.name, "--json=perhaps"}} {
			out, errs, status := assay("", args...)
			if status != exitUsage || out != "" || !strings.Contains(errs, "`assay help "+cmd.name+"` shows the usage") {
				t.Errorf("%v ends with %d, prints %q and %q", args, status, out, errs)
			}
		}
	}
	for _, args := range [][]string{{"help", "frob"}, {"help", "check", "diff"}, {"version", "x"}, {"frob"}, {}} {
		if out, errs, status := assay("", args...); status != exitUsage || out != "" || errs == "" {
			t.Errorf("%v ends with %d, prints %q and %q", args, status, out, errs)
		}
	}
}

// TestJSON reads what commands print with --json; those that need a model or the network have scripts of their own.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	const template = "../../corpus/hermes/template.jinja"
	tools := filepath.Join(t.TempDir(), "tools.json") // parse says whose tools it takes where none are given
	if err := os.WriteFile(tools, []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", template},
		{"diff", template, template},
		{"render", template}, {"render", "--renderer", "gonja", template}, {"caps", template}, {"analyze", "--explain", "--verify", template},
		{"program", template}, {"grammar", template}, {"parse", "--tools", tools, template},
		{"explain", "A012"}, {"explain", "D004"}, {"explain", "S014"}, {"explain", "all"},
		{"new", "--corpus", dir, "--family", "mine", template}, {"export", dir}, {"export", "--prompts", dir}, {"run", dir},
	} {
		out, errs, status := assay("Hello", append(args, "--json")...)
		if !json.Valid([]byte(out)) || status != exitOK || errs != "" {
			t.Errorf("%v ends with %d, says %q and prints\n%.500s", args, status, errs, out)
		}
	}
	if _, _, status := assay("", "new", "--json", "--corpus", dir, "--family", "mine", filepath.FromSlash(template)); status != exitUsage {
		t.Errorf("a family that exists: status %d", status)
	}
}
