package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// assay runs a command line in this process.
func assay(stdin string, args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	c := &call{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }}
	status = c.main(args)
	return out.String(), errs.String(), status
}

// withoutJSON are the commands whose output has a form of its own; of engines run, pipe, dataset,
// manifest and survey it is JSON lines, page has none.
var withoutJSON = []string{"help", "version", "completion", "man", "emit", "engines run", "pipe",
	"lsp", "page", "serve", "manifest", "survey", "dataset"}

// TestConventions holds every command to the common rules: a group, flags in categories, --json or
// a --format json, help, and status 2 for wrong usage.
func TestConventions(t *testing.T) {
	root := new(call).tree()
	var walk func(parent *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			testConventions(t, cmd)
			walk(cmd)
		}
	}
	walk(root)
	for _, g := range groups {
		if !slices.ContainsFunc(root.Commands(),
			func(cmd *cobra.Command) bool { return cmd.GroupID == g.id }) {
			t.Errorf("the group %q has no command", g.title)
		}
	}
	for _, args := range [][]string{{"help", "frob"}, {"help", "check", "diff"}, {"version", "x"},
		{"frob"}, {}, {"export"}, {"export", "frob"}} {
		if out, errs, status := assay("", args...); status != exitUsage || out != "" || errs == "" {
			t.Errorf("%v ends with %d, prints %q and %q", args, status, out, errs)
		}
	}
}

func testConventions(t *testing.T, cmd *cobra.Command) {
	words := strings.Fields(cmd.CommandPath())[1:]
	name := strings.Join(words, " ")
	if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") ||
		cmd.Short == strings.ToUpper(cmd.Short[:1])+cmd.Short[1:] {
		t.Errorf("%s has no help, or not in the usual form: %q", name, cmd.Short)
	}
	if !cmd.Parent().HasParent() && cmd.GroupID == "" {
		t.Errorf("%s is in no group", name)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" || strings.HasSuffix(f.Usage, ".") || categoryOf(f) == "" {
			t.Errorf("%s: the flag %s, of the category %q, is "+
				"described by %q", name, f.Name, categoryOf(f), f.Usage)
		}
		if placeholder, _ := pflag.UnquoteUsage(f); placeholder == f.Value.Type() &&
			len(placeholder) > 5 {
			t.Errorf("%s: the flag %s has no placeholder", name, f.Name)
		}
	})
	for _, args := range [][]string{append([]string{"help"}, words...), append(words, "-h"),
		append(words, "--help")} {
		if out, errs, status := assay("", args...); status != exitOK ||
			!strings.HasPrefix(out, "usage: assay "+name) || errs != "" {
			t.Errorf("%v ends with %d: %s", args, status, errs)
		}
	}
	if cmd.HasSubCommands() {
		return
	}
	wrong := [][]string{{"--frobnicate"}, {"a", "b", "c", "--no-such-flag=1"}}
	if !slices.Contains(withoutJSON, name) {
		json, format := cmd.Flags().Lookup("json"), cmd.Flags().Lookup("format")
		if format != nil && format.Value.Type() == "string" {
			format = nil // a file to read, as of parse
		}
		if (json == nil) == (format == nil) {
			t.Errorf("%s has not one of --json and --format", name)
		}
		if format != nil {
			wrong = append(wrong, []string{"--format=perhaps"})
		} else {
			wrong = append(wrong, []string{"--json=perhaps"})
		}
	}
	for _, args := range wrong {
		out, errs, status := assay("", append(words, args...)...)
		if status != exitUsage || out != "" ||
			!strings.Contains(errs, "`assay help "+name+"` shows the usage") {
			t.Errorf("%v %v ends with %d, prints %q and %q", words, args, status, out, errs)
		}
	}
}

// TestHelpWidth wraps every text of help.
func TestHelpWidth(t *testing.T) {
	for _, columns := range []int{60, 80, 100} {
		for _, name := range append(names(new(call).tree()), "") {
			args := strings.Fields("help " + name)
			var out bytes.Buffer
			c := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &out,
				getenv: func(variable string) string {
					return map[string]string{"COLUMNS": strconv.Itoa(columns)}[variable]
				}}
			if c.main(args); out.Len() == 0 {
				t.Errorf("help %s prints nothing", name)
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > columns &&
					strings.Contains(strings.TrimSpace(line), " ") &&
					!strings.HasPrefix(line, "usage:") {
					t.Errorf("help %s in %d columns has a line of %d: %s", name, columns, n, line)
				}
			}
		}
	}
}

// TestCompletion writes the scripts of all shells, and completes the words that they would ask for.
func TestCompletion(t *testing.T) {
	for _, shell := range shellNames() {
		if out, errs, status := assay("", "completion", shell); status != exitOK || errs != "" ||
			!strings.Contains(out, "__complete") {
			t.Errorf("completion %s ends with %d: %s", shell, status, errs)
		}
	}
	for _, test := range []struct{ line, want string }{
		{"che", "check"},
		{"check --un", "--untrusted"},
		{"check --fallback ", "hermes"},
		{"parse --tolerance stray", "stray-closers=off"},
		{"serve --incomplete d", "drop"},
		{"explain null-content", "null-content-printed"},
		{"live --family qwen3", "qwen3"},
		{"completion z", "zsh"},
	} {
		args := append([]string{"__complete"}, strings.Split(test.line, " ")...)
		if out, _, status := assay("", args...); status != exitOK ||
			!strings.Contains(out, test.want) {
			t.Errorf("%q completes to\n%s", test.line, out)
		}
	}
}

// TestMan writes a page for every command.
func TestMan(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1767225600")
	dir := t.TempDir()
	if _, errs, status := assay("", "man", dir); status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, name := range append(names(new(call).tree()), "export cases") {
		page, err := os.ReadFile(filepath.Join(dir,
			"assay-"+strings.ReplaceAll(name, " ", "-")+".1"))
		if err != nil || !bytes.Contains(page, []byte("Jan 2026")) || !bytes.Contains(page, []byte(`\fB--help\fP`)) {
			t.Errorf("%s: %v\n%.500s", name, err, page)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "assay-run.1"))
	if err != nil || !bytes.Contains(page, []byte("<family>/template.jinja")) {
		t.Errorf("text that Markdown would swallow is missing: %v\n%s", err, page)
	}
}

// TestWrongUsage checks that errors of usage are in words for people.
func TestWrongUsage(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"chek", `there is no command "chek"; did you mean check?; ` + "`assay help` lists the commands"},
		{"help chek", `there is no command "chek"; did you mean check?`},
		{"export promts", `assay export: there is no command "promts"; did you mean prompts?`},
		{"check", "assay check: takes at least one template, found none; `assay help check` shows the usage"},
		{"diff a", "takes two revisions, found one argument"},
		{"version x y", `takes no arguments, found "x y"`},
		{"check --shrad 1/2 x", "there is no flag --shrad; did you mean --shard?"},
		{"caps -json x", "there is no flag -json; did you mean --json?"},
		{"check --json x", "there is no flag --json; did you mean --format json?"},
		{"check --format jsno x", `--format: expected one of long, short, brief, json, sarif, junit, github, found "jsno"`},
		{"check --base", "--base needs a value, COMMIT"},
		{"check --shard 3/2 x", `--shard: expected I/N with 1 <= I <= N, found "3/2"`},
		{"caps --json=perhaps x", `--json takes true or false, found "perhaps"`},
		{"check --limit steps=x y", `--limit: expected a number up to`},
		{"check --fallback hermse x", "did you mean hermes?"},
		{"parse --tolerance stray-closer=off x", "did you mean stray-closers?"},
		{"grammar --tolerance stray-closers x", "expected NAME=on or NAME=off"},
		{"live --gpu-layers many x", `--gpu-layers takes a whole number, found "many"`},
		{"live --tiny x.gguf", "--tiny takes no model file"},
		{"live", "takes a model file, or --tiny"},
		{"live --family all --template x y", "--family and --template exclude each other"},
		{"live --tiny --record x", "--record needs --date"},
		{"live --tiny --date 2026-01-01", "--date is for the cases of --record"},
		{"probe --timeout soon http://127.0.0.1:1", `--timeout takes a time such as 30s or 5m, found "soon"`},
		{"completion tcsh", `there is no completion for "tcsh"; there are bash, zsh, fish, powershell`},
	} {
		out, errs, status := assay("", strings.Fields(test.line)...)
		if status != exitUsage || out != "" || !strings.Contains(errs, test.want) ||
			strings.Count(errs, "\n") != 1 {
			t.Errorf("assay %s ends with %d, prints %q and says\n%s", test.line, status, out, errs)
		}
	}
}

// TestJSON reads the output of commands with --json or --format json; those that need a model or
// the network have scripts of their own.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	const template = "../../corpus/hermes/template.jinja"
	// parse says whose tools it takes where none are given
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", template},
		{"diff", template, template},
		{"render", template}, {"render", "--renderer", "gonja", template}, {"caps", template}, {"analyze", "--explain", "--verify", template},
		{"program", template}, {"grammar", template}, {"parse", "--tools", tools, template},
		{"explain", "A012"}, {"explain", "D004"}, {"explain", "S014"}, {"explain", "V009"}, {"explain", "all"},
		{"new", "--corpus", dir, "--family", "mine", template}, {"export", "cases", dir}, {"export", "prompts", dir}, {"run", dir},
	} {
		flag := []string{"--json"}
		if slices.Contains([]string{"check", "diff", "run"}, args[0]) {
			flag = []string{"--format", "json"}
		}
		out, errs, status := assay("Hello", append(args, flag...)...)
		if !json.Valid([]byte(out)) || status != exitOK || errs != "" {
			t.Errorf("%v ends with %d, says %q and prints\n%.500s", args, status, errs, out)
		}
	}
	if _, _, status := assay("", "new", "--json", "--corpus", dir, "--family", "mine",
		filepath.FromSlash(template)); status != exitUsage {
		t.Errorf("a family that exists: status %d", status)
	}
}
