package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// tainted is text that a stranger writes into any input: escapes that colour and move, marks that
// reverse text, characters that nobody sees, and orders to runners of CI jobs.
const tainted = "a\x1b[31mb\u202ec\u2066d\u200be\u0085f\n::error::owned\n  ::stop-commands::x\n##[error]g\rh\x7f"

// ours are the orders that a report in the form for GitHub gives itself.
var ours = regexp.MustCompile(`(?m)^::(error|warning|notice|group|endgroup)( [a-zA-Z]+=[^\n]*)?::`)

// TestTaint gives every command and report hostile text, in templates, in names of files, in
// outputs and in requests. Nothing of it moves a cursor, hides text or gives orders.
func TestTaint(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	quoted := strings.NewReplacer("\n", `\n`, "\r", `\r`, "\x1b", `\x1b`, "\x7f", `\x7f`).Replace(tainted)
	loop := "{% for m in messages %}<|" + tainted + "|>{{ m.content }}{{ '" + quoted +
		"' }}<|end|>{% endfor %}"
	name := "n\x1b[31m\u202e\n::error::owned.jinja"
	templates := []string{
		write("plain.jinja", loop),
		write(name, loop+"{{ bos_token }}{{ bos_token }}"),
		write("broken.jinja", loop+"{% if '"+quoted+"' %}{% wrong %}"),
		write("raises.jinja", "{{ raise_exception('"+quoted+"') }}"),
		write("fails.jinja", "{{ messages['"+quoted+"'].x }}"),
		write("config/tokenizer_config.json", `{"chat_template": [{"name": "t\u001b[31m\n::error::x", "template": "`+
			strings.NewReplacer("\n", `\n`, "\r", `\r`, "\x1b", `\u001b`).Replace(loop)+`"}]}`),
	}
	var runs [][]string
	for _, text := range templates {
		for _, form := range []string{"long", "short", "brief", "github", "junit", "sarif",
			"json"} {
			runs = append(runs, []string{"check", "-v", "--format", form, text})
		}
		runs = append(runs, []string{"analyze", "--explain", "--verify", text},
			[]string{"caps", "--explain", text}, []string{"coverage", text},
			[]string{"diff", templates[0], text}, []string{"grammar", text, tainted},
			[]string{"explain", tainted}, []string{tainted},
			[]string{"check", "--" + tainted, text}, []string{"check", "--only", tainted, text},
			[]string{"templates", filepath.Dir(text)},
			[]string{"parse", text}, []string{"parse", "--stream", "--explain", text},
			[]string{"verify", text})
	}
	for _, args := range runs {
		stdout, stderr, _ := assay(tainted, args...)
		holdVisible(t, args, stdout)
		holdVisible(t, args, stderr)
	}
	page, junit, sarif := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.xml"),
		filepath.Join(dir, "r.sarif")
	assay("", append([]string{"check", "--html", page, "--junit", junit, "--sarif", sarif},
		templates...)...)
	for _, file := range []string{page, junit, sarif} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		holdVisible(t, []string{file}, string(text))
	}
}

// holdVisible demands that a text shows all that is in it. JSON has control characters as escapes,
// and other text to the byte: it is data for programs.
func holdVisible(t *testing.T, args []string, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q prints bytes that are no UTF-8", args)
	}
	json := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
	for _, bad := range []string{"\x1b", "\r", "\x7f", "\u202e", "\u2066", "\u200b", "\u0085"} {
		if at := strings.Index(text, bad); at >= 0 && !(json && bad > "\x7e") {
			t.Errorf("%q prints %q: %q", args, bad, text[max(0, at-60):at+20])
		}
	}
	for line := range strings.Lines(text) {
		if json {
			break
		}
		start := strings.TrimLeft(line, " \t")
		if strings.Contains(line, "##[") ||
			strings.HasPrefix(start, "::") && !ours.MatchString(line) ||
			strings.HasPrefix(start, "::error::owned") {
			t.Errorf("%q prints an order: %q", args, line)
		}
	}
}
