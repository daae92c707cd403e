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

// TestExcerpts gives every command names, keys, ids and messages of 300 KiB where a stranger may
// write one: a report shows an excerpt of them. A report has up to 16 KiB of each finding.
func TestExcerpts(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("long", 75<<10)
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const hermes = "../../corpus/hermes/template.jinja"
	raises := write("raises.jinja", "{{ raise_exception('"+long+"') }}")
	unknown := write("unknown.jinja", "{% "+long+" %}")
	filter := write("filter.jinja", "{{ messages|"+long+" }}")
	key := write("key.jinja", "{{ messages[0]['"+long+"'].x }}")
	name := write("config.json", `{"chat_template": [{"name": "`+long+`", "template": 5}]}`)
	tool := write("tool.json", `{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": {"name": "`+long+`", "parameters": {"type": "`+long+`"}}}]}`)
	role := write("role.json", `{"messages": [{"role": "`+long+`", "content": 5}]}`)
	format := write("format.json", `{"`+long+`": 1}`)
	odd := write("odd.json", `{"version": "`+long+`"}`)
	digits := write("digits.json", strings.Repeat("9", len(long)))
	output := write("output.txt", "<tool_call>\n{\"name\": \""+long+"\", \"arguments\": {}}\n</tool_call>")
	tokens := write("tokens.jsonl", `{"id": 1, "`+long+`": "Hi"}`+"\n")
	vocabulary := write("tokenizer.json", `{"added_tokens": [{"id": "`+long+`"}]}`)
	vectors := write("v.jsonl", `{"kind": "`+long+`", "id": "a"}`+"\n")
	failing := write("f.jsonl", `{"kind": "schema", "id": "`+long+`", "schema": {"type": "string"}, "accept": ["`+long+`"], "reject": []}`+"\n")
	junk := write("report.json", `{"command": "`+long+`", "results": [{"suite": "`+long+`", "name": "`+long+`", "status": "failed", "severity": "error", "text": "`+long+`"}]}`)
	model := write("model.gguf", "GGUF"+long)
	for _, c := range []struct {
		stdin string
		args  []string
	}{
		{"", []string{"check", raises}}, {"", []string{"check", "--format", "json", unknown}},
		{"", []string{"check", "--format", "github", filter}},
		{"", []string{"check", "--format", "brief", key}},
		{"", []string{"check", "--format", "sarif", raises}},
		{"", []string{"check", name}}, {"", []string{"check", "--format", "junit", unknown}},
		{"", []string{"analyze", raises}}, {"", []string{"caps", "--explain", key}},
		{"", []string{"render", raises}}, {"", []string{"render", filter}},
		{"", []string{"coverage", raises}}, {"", []string{"diff", hermes, raises}},
		{"", []string{"fix", unknown}}, {"", []string{"train", raises}},
		{"", []string{"emit", "response-template", unknown}}, {"", []string{"templates", name}},
		{"", []string{"grammar", "--request", role, hermes}},
		{"", []string{"program", "--request", digits, hermes}},
		{"", []string{"parse", "--request", digits, hermes}},
		{"x", []string{"parse", "--format", format}}, {"x", []string{"parse", "--format", odd}},
		{"", []string{"parse", "--output", output, "--format", digits}},
		{"", []string{"parse", "--tokens", tokens, "--tokenizer", vocabulary, hermes}},
		{"", []string{"render", "--tokenizer", vocabulary, hermes}},
		{"", []string{"verify", vectors}}, {"", []string{"verify", failing}},
		{"", []string{"verify", "--format", "json", failing}},
		{"", []string{"report", junk}}, {"", []string{"report", digits}},
		{"", []string{"inspect", "--json", model}}, {"", []string{"inspect", "hf:" + long}},
		{"", []string{"retemplate", "--template", unknown, "-o", filepath.Join(dir, "o"), model}},
		{`{"op": "` + long + `"}`, []string{"pipe"}},
		{`{"` + long + `": 1}`, []string{"pipe"}},
		{`{"op": "check", "template": {"text": "{% ` + long + ` %}"}}`, []string{"pipe"}},
		{`{"op": "render", "template": {"text": "{{ raise_exception('` + long + `') }}"}, ` +
			`"request": {"messages": []}}`, []string{"pipe"}},
		{"", []string{"run", "--run", long}}, {"", []string{"explain", long}},
		{"", []string{"check", "--only", long, hermes}}, {"", []string{long}},
		{"", []string{"new", "--family", long, hermes}},
		{"", []string{"engines", "pick", "--adapter", "echo " + long, hermes}},
		{"", []string{"engines", "run", "echo " + long[:100<<10]}},
		{"", []string{"grammar", "--request", tool, hermes}},
	} {
		stdout, stderr, _ := assay(c.stdin, c.args...)
		line := strings.ReplaceAll(strings.Join(c.args, " "), dir+"/", "")
		if n := len(stdout); n > 200<<10 && c.args[0] != "grammar" { // whose rules have the name
			t.Errorf("%.80q prints %d bytes: %.200q", line, n, stdout)
		}
		if n := len(stderr); n > 20<<10 {
			t.Errorf("%.80q says %d bytes: %.200q", line, n, stderr)
		}
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
