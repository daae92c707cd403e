package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/hub/advisory"
	"github.com/goassay/assay/harness/hub/manifest"
)

// tainted is text that a stranger writes into any input: escapes that colour and move, marks that
// reverse text, characters that nobody sees, and orders to runners of CI jobs.
const tainted = "a\x1b[31mb\u202ec\u2066d\u200be\u0085f\n::error::owned\n  " +
	"::stop-commands::x\n##[error]g\rh\x7f"

// ours are the orders that a report in the form for GitHub gives itself.
var ours = regexp.MustCompile(`(?m)^::(error|warning|notice|group|endgroup)( [a-zA-Z]+=[^\n]*)?::`)

// TestTaint gives every command hostile text wherever a stranger may write one. Nothing of it moves
// a cursor, hides text or gives orders.
func TestTaint(t *testing.T) {
	for _, e := range exposures(t, tainted) {
		stdout, stderr := e.run(t)
		if !e.data {
			holdVisible(t, e.args, stdout)
		}
		holdVisible(t, e.args, stderr)
		for _, file := range e.written {
			if text, err := os.ReadFile(file); err != nil {
				t.Errorf("%q: %v", e.args, err)
			} else {
				holdVisible(t, e.args, string(text))
			}
		}
	}
}

// TestExcerpts gives every command names, keys, ids and messages of 300 KiB wherever a stranger may
// write one: a report shows an excerpt of them. A report has up to 16 KiB of each finding.
func TestExcerpts(t *testing.T) {
	for _, e := range exposures(t, strings.Repeat("long", 75<<10)) {
		stdout, stderr := e.run(t)
		if n := len(stdout); n > 200<<10 && !e.data && !e.message {
			t.Errorf("%.80q prints %d bytes: %.200q", e.args, n, stdout)
		}
		if n := len(stderr); n > 20<<10 {
			t.Errorf("%.80q says %d bytes: %.200q", e.args, n, stderr)
		}
	}
}

// exposure is a command line with a stranger's text in its input.
type exposure struct {
	args    []string
	stdin   string
	data    bool     // the output is data for programs, which is the text itself
	message bool     // the output holds texts of the request or the output in full, made visible
	written []string // reports that it writes to files
	server  string   // which stands for the Hub
	home    string
}

// run runs it; a command that would serve until it is interrupted is interrupted.
func (e *exposure) run(t *testing.T) (stdout, stderr string) {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	if e.args[0] == "serve" || e.args[0] == "page" {
		ctx, stop = context.WithTimeout(ctx, time.Second)
		defer stop()
	}
	var out, errs bytes.Buffer
	environment := map[string]string{"HF_ENDPOINT": e.server, "HF_HOME": e.home,
		"HF_HUB_DOWNLOAD_TIMEOUT": "2"}
	c := &call{stdin: strings.NewReader(e.stdin), stdout: &out, stderr: &errs, ctx: ctx,
		getenv: func(name string) string { return environment[name] }}
	c.main(e.args)
	return out.String(), errs.String()
}

// exposures are the command lines of all commands, each with the text wherever their input may have
// one. A command that is not listed is a failure.
func exposures(t *testing.T, text string) (all []exposure) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	in := func(object string) string { // JSON with the text in place of TEXT
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(object, "TEXT", string(quoted[1:len(quoted)-1]))
	}
	const hermes = "../../corpus/hermes/template.jinja"
	own, err := os.ReadFile(hermes)
	if err != nil {
		t.Fatal(err)
	}
	good := write("good.jinja", string(own))
	quoted := strings.NewReplacer("\n", `\n`, "\r", `\r`, "\x1b", `\x1b`, "\x7f", `\x7f`).Replace(text)
	short := text[:min(len(text), 1<<10)] // of prompts, which many rules look at
	loop := "{% for m in messages %}<|" + short + "|>{{ m.content }}{{ '" +
		quoted[:min(len(quoted), 1<<10)] + "' }}<|end|>{% endfor %}"
	named := "n\x1b[31m\u202e\n::error::owned.jinja"
	templates := []string{
		write("loop.jinja", loop),
		write(named, loop+"{{ bos_token }}{{ bos_token }}"),
		write("broken.jinja", loop+"{% if '"+quoted+"' %}{% wrong %}"),
		write("unknown.jinja", "{% "+strings.ReplaceAll(text, "\n", "")+" %}"),
		write("filter.jinja", "{{ messages|"+regexp.MustCompile(`\W`).ReplaceAllString(text, "")+" }}"),
		write("raises.jinja", "{{ raise_exception('"+quoted+"') }}"),
		write("fails.jinja", "{{ messages['"+quoted+"'].x }}"),
		write("calls/template.jinja", string(own)+"{{ '"+quoted[:min(len(quoted), 1<<10)]+"' }}"),
		write("config/tokenizer_config.json", in(`{"chat_template": [{"name": "TEXT", "template": `+
			strconv.Quote(loop)+`}]}`)),
		write("other/tokenizer_config.json", in(`{"chat_template": [{"name": "TEXT", "template": 5}]}`)),
	}
	tools := in(`[{"type": "function", "function": {"name": "TEXT", "description": "TEXT", ` +
		`"parameters": {"type": "object", "properties": {"TEXT": {"type": "TEXT", "$ref": "#/TEXT"}}}}}]`)
	requests := []string{
		write("tool.json", in(`{"messages": [{"role": "user", "content": "TEXT"}], "TEXT": 1, "tools": `+tools+`}`)),
		write("role.json", in(`{"messages": [{"role": "TEXT", "content": 5}]}`)),
		write("said.json", in(`{"messages": [{"role": "TEXT", "content": "TEXT"}], "tool_choice": "TEXT"}`)),
		write("digits.json", strings.Repeat("9", len(text))),
	}
	output := write("output.txt", "<tool_call>\n"+in(`{"name": "TEXT", "arguments": {"TEXT": "TEXT"}}`)+
		"\n</tool_call>"+text+"<|im_end|>\n"+text)
	formats := []string{write("format.json", in(`{"TEXT": 1}`)),
		write("version.json", in(`{"version": "TEXT"}`)), requests[3]}
	tokens := write("tokens.jsonl", in(`{"id": 1, "TEXT": "Hi"}`)+"\n")
	vocabulary := write("tokenizer.json", in(`{"added_tokens": [{"id": "TEXT"}]}`))
	vectors := []string{write("v.jsonl", in(`{"kind": "TEXT", "id": "a"}`)+"\n"),
		write("f.jsonl", in(`{"kind": "schema", "id": "TEXT", "schema": {"type": "string"}, `+
			`"accept": ["TEXT"], "reject": []}`)+"\n"),
		write("j.jsonl", in(`{"kind": "jinja", "id": "TEXT", "template": "{{ TEXT }}", "vars": {}, `+
			`"want": "TEXT"}`)+"\n")}
	reports := []string{write("report.json", in(`{"command": "TEXT", "results": [{"suite": "TEXT", `+
		`"name": "TEXT", "status": "failed", "severity": "error", "text": "TEXT"}]}`)), requests[3],
		write("survey.json", in(`{"shard": "TEXT", "entries": "TEXT"}`))}
	results := []string{tokens, write("results.jsonl", in(`{"engine": "TEXT", "version": "TEXT", `+
		`"family": "TEXT", "case": "TEXT", "kind": "TEXT", "text": "TEXT", "verdict": "fault"}`)+"\n")}
	list := write("manifest.jsonl", in(`{"what": "template", "where": "TEXT", "digest": "`+
		manifest.Digest(loop)+`", "file": "TEXT"}`)+"\n")
	repositories := write("repositories.jsonl", in(`{"what": "repository", "where": "a/b", `+
		`"revision": "TEXT", "files": ["TEXT"]}`)+"\n")
	asked := write("asked.jsonl", in(`{"messages": [{"role": "TEXT", "content": "TEXT"}]}`)+"\n")
	digests := advisory.DigestsOf(loop)
	records := filepath.Dir(write("records/x_ASSAY-1.json", in(`{"id": "x_ASSAY-1", "summary": "TEXT", `+
		`"details": "TEXT", "affected": [{"ranges": [{"type": "GIT", "repo": "TEXT", "events": [{}]}]}], `+
		`"references": [{"type": "TEXT", "url": "TEXT"}], "database_specific": {"text": {"sha256": "`+
		digests.Exact+`", "canonical_sha256": "`+digests.Canonical+`"}, "rule": "TEXT", "severity": `+
		`"error", "engines": ["TEXT"], "excerpt": {"faulty": "TEXT", "fixed": "TEXT"}, `+
		`"witnesses": [{"variables": {}, "faulty_sha256": "TEXT"}]}}`)))
	script := strings.ReplaceAll("-- in.txt --\n"+text, "\r", "")
	write("corpus/f/template.jinja", loop)
	write("corpus/f/case.txtar", "# "+strings.ReplaceAll(quoted, "'", "")+"\ntemplate f\n"+
		strings.ReplaceAll(quoted, " ", "_")+" x\n"+script)
	cases := filepath.Join(dir, "corpus")
	model, headless := filepath.Join(dir, "model.gguf"), write("headless.gguf", "GGUF"+text)
	f, err := os.Create(model)
	if err == nil {
		tensor := gguf.Content{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{4, 2}, Type: gguf.F32},
			Data: strings.NewReader("thirty-two bytes of tensor data!")}
		err = errors.Join(gguf.Create(f, nil, []gguf.Pair{
			{Key: "general.architecture", Value: gguf.Text(text)},
			{Key: "general.name", Value: gguf.Text(text)},
			{Key: "tokenizer.chat_template", Value: gguf.Text(loop)},
			{Key: "tokenizer.chat_template.tool_use", Value: gguf.Text(string(own))},
		}, []gguf.Content{tensor}), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	var asHub http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) { // and as any server
		w.Header().Set("X-Error-Message", strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' { // net/http refuses it
				return -1
			}
			return r
		}, text[:min(len(text), 4<<10)]))
		if strings.Contains(r.URL.Path, "/refused/") {
			w.WriteHeader(http.StatusBadRequest)
		}
		w.Write([]byte(in(`{"error": {"message": "TEXT", "type": "TEXT"}, "data": [{"id": "TEXT"}], ` +
			`"sha": "` + strings.Repeat("0", 40) + `", "id": "TEXT", "siblings": [{"rfilename": "TEXT"}], "model": "TEXT", ` +
			`"chat_template": "{{ TEXT }}", "default_generation_settings": {"n_ctx": "TEXT"}, ` +
			`"choices": [{"message": {"role": "TEXT", "content": "TEXT", "tool_calls": ` +
			`[{"id": "TEXT", "function": {"name": "TEXT", "arguments": "TEXT"}}]}, "finish_reason": "TEXT"}]}`)))
	}
	server := httptest.NewServer(asHub)
	t.Cleanup(server.Close)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path += "/refused/"
		asHub(w, r)
	}))
	t.Cleanup(refusing.Close)
	adapter := "echo " + text[:min(len(text), 100<<10)]

	runs := map[string][]exposure{}
	add := func(e exposure) {
		cmd, _, err := new(call).tree().Find(e.args)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "assay ")
		e.server, e.home = server.URL, filepath.Join(dir, "home")
		runs[name] = append(runs[name], e)
	}
	run := func(args ...string) { add(exposure{args: args}) }
	for i, template := range templates {
		forms := []string{"long", "short", "brief", "github", "junit", "sarif", "json"}
		if i > 2 { // their texts take the same ways
			forms = forms[i%len(forms):][:1]
		}
		for _, form := range forms {
			run("check", "-v", "--format", form, template)
		}
		run("analyze", "--explain", "--verify", template)
		run("caps", "--explain", template)
		run("coverage", template)
		run("audit", template)
		add(exposure{args: []string{"fix", template}, data: true})
		add(exposure{args: []string{"train", template}, data: true})
		run("fix", "--json", template)
		run("diff", template, templates[0])
		if filepath.Ext(template) == ".json" {
			run("templates", filepath.Dir(template))
		}
		add(exposure{args: []string{"render", template}, data: true})
		add(exposure{args: []string{"program", template}, data: true})
		add(exposure{args: []string{"emit", "format", template}, data: true})
		add(exposure{args: []string{"emit", "response-template", template}, data: true})
		add(exposure{args: []string{"parse", template}, stdin: text, message: true})
		add(exposure{args: []string{"parse", "--stream", template}, stdin: text, message: true})
		run("verify", template)
		run("retemplate", "--template", template, "-o",
			filepath.Join(dir, "o"+strconv.Itoa(i)), model)
		run("engines", "pick", "--adapter", adapter, template)
		run("new", "--corpus", filepath.Join(dir, "new"+strconv.Itoa(i)), "--family", "f", template)
		run("manifest", template)
	}
	for _, request := range requests {
		for _, name := range []string{"render", "program", "grammar"} {
			add(exposure{args: []string{name, "--request", request, good}, data: true})
		}
		add(exposure{args: []string{"parse", "--request", request, good}, stdin: text,
			message: true})
		add(exposure{args: []string{"parse", "--tools", request, good}, stdin: text,
			message: true})
	}
	for _, format := range formats {
		run("parse", "--output", output, "--format", format)
	}
	for _, vector := range vectors {
		run("verify", vector)
		run("verify", "--format", "json", vector)
		run("verify", "--format", "github", vector)
	}
	for _, report := range reports {
		run("report", report)
		run("report", "--merge", report)
	}
	for _, file := range []string{model, headless} {
		run("inspect", file)
		add(exposure{args: []string{"inspect", "--json", file}, data: true})
		run("check", file)
		run("templates", file)
		run("serve", file)
		run("live", "--family", "hermes", file)
	}
	for _, line := range []string{`{"op": "TEXT"}`, `{"TEXT": 1}`,
		`{"op": "check", "template": {"text": "{% TEXT %}", "name": "TEXT"}}`,
		`{"op": "render", "template": {"text": "{{ raise_exception('TEXT') }}"}, "request": {"messages": []}}`,
		`{"op": "grammar", "template": {"text": "x"}, "tolerances": {"TEXT": true}, "incomplete": "TEXT"}`,
		`{"op": "grammar", "template": {"text": "x"}, "insist": true, "request": {"messages": [], "tools": TEXT}}`} {
		add(exposure{args: []string{"pipe"}, stdin: in(line), message: true})
	}
	add(exposure{args: []string{"lsp"}, stdin: "Content-Length: " + text + "\r\n\r\n{}"})
	for _, message := range []string{`{"jsonrpc": "2.0", "id": 1, "method": "TEXT"}`,
		`{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": ` +
			`{"uri": "file:///TEXT.jinja", "text": "{% TEXT"}}}`} {
		message = in(message)
		add(exposure{args: []string{"lsp"}, data: true,
			stdin: fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)})
	}
	for _, name := range []string{"explain", "help", "completion", "live", "man"} {
		run(name, text)
	}
	for _, flag := range []string{"--select", "--fallback", "--limit", "--client", "--" + text} {
		run("check", flag, text, hermes)
	}
	for _, flag := range []string{"--tolerance", "--incomplete", "--fallback"} {
		run("parse", flag, text, hermes)
	}
	page, junit, sarif := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.xml"),
		filepath.Join(dir, "r.sarif")
	add(exposure{args: append([]string{"check", "--html", page, "--junit", junit, "--sarif", sarif},
		templates[:3]...), written: []string{page, junit, sarif}})
	edit := filepath.Join(dir, "d.html")
	add(exposure{args: []string{"diff", "--html", edit, templates[0], templates[1]},
		written: []string{edit}})
	add(exposure{args: []string{"grammar", good, "--tools", requests[0]}, data: true})
	add(exposure{args: []string{"completion", "bash"}, data: true})
	add(exposure{args: []string{"render", "--spans", "--request", requests[0], good},
		message: true})
	run("render", "--tokenizer", vocabulary, hermes)
	run("parse", "--tokens", tokens, "--tokenizer", vocabulary, hermes)
	run("parse", "--output", output, "--tools", write("t.json", tools), "--json", hermes)
	run("inspect", "hf:"+text)
	run("inspect", "hf:a/b")
	run("templates", "hf:a/b")
	run("audit", "hf:a/b")
	run("audit", text)
	run("audit", "--records", text, hermes)
	run("audit", "--records", records, templates[0])
	for _, form := range []string{"json", "osv", "sarif"} { // with the records' texts in full
		add(exposure{args: []string{"audit", "--records", records, "--format", form, templates[0]},
			message: true})
	}
	run("pull", "hf:a/b")
	run("pull", "hf:"+text)
	run("run", "--run", text)
	run("run", cases)
	run("run", "-v", "--format", "github", cases)
	add(exposure{args: []string{"export", "cases", cases}, data: true})
	add(exposure{args: []string{"export", "prompts", cases}, data: true})
	run("new", "--family", text, hermes)
	run("engines", "run", adapter)
	run("engines", "judge", "--run", "hermes", "--turns", "1", adapter)
	for _, file := range results {
		run("engines", "faults", file)
		run("engines", "faults", "--json", file)
	}
	run("manifest", filepath.Join(dir, "none"))
	run("survey", list)
	run("survey", requests[3])
	run("hub", "list", "--out", filepath.Join(dir, "list"))
	run("hub", "fetch", repositories)
	run("dataset", "--requests", "1", "--seed", text)
	run("version", text)
	run("page", "--no-browser", "--listen", text)
	run(text)
	for _, url := range []string{server.URL, refusing.URL} {
		run("probe", url)
		run("audit", url)
		run("serve", "--upstream", url, "--listen", "127.0.0.1:0")
		run("provider", url, "--dataset", asked, "--log", filepath.Join(dir, "log.jsonl"),
			"--model", "m", "--tries", "1")
	}
	var walk func(parent *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			name := strings.TrimPrefix(cmd.CommandPath(), "assay ")
			if len(runs[name]) == 0 && !cmd.Hidden && !cmd.HasSubCommands() && !slices.Contains(
				[]string{"completion zsh", "completion fish", "completion powershell"}, name) {
				t.Errorf("assay %s is not listed", name)
			}
			walk(cmd)
		}
	}
	walk(new(call).tree())
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		all = append(all, runs[name]...)
	}
	return all
}

// holdVisible demands that a text shows all that is in it. JSON has control characters as escapes,
// and other text to the byte: it is data for programs. A page is no log, which a runner would obey.
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
	page := strings.HasPrefix(strings.ToLower(text), "<!doctype html>")
	for line := range strings.Lines(text) {
		if json || page {
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
