package editor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/editor"
)

// client is a client of the library, over pipes.
type client struct {
	t     testing.TB
	conn  *jsonrpc2.Conn
	ended chan error // what Serve returned
	mu    sync.Mutex
	shown map[string][]published // by URI, in their order
	asked []string               // the methods that the server called
	news  chan struct{}
}

type published struct {
	URI         string
	Version     int
	Diagnostics []found
	at          time.Time
}

type found struct {
	Range    span
	Severity int
	Code     string
	Message  string
	Related  []struct {
		Location struct{ Range span }
	} `json:"relatedInformation"`
}

type (
	place struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	span struct {
		Start place `json:"start"`
		End   place `json:"end"`
	}
	object = map[string]any
)

type pipes struct {
	io.Reader
	io.WriteCloser
}

// connect starts a server and a client of it.
func connect(t testing.TB, o editor.Options) *client {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	c := &client{t: t, ended: make(chan error, 1), shown: map[string][]published{},
		news: make(chan struct{}, 1)}
	go func() {
		err := editor.Serve(context.Background(), toServer, fromServer, o)
		fromServer.Close()
		c.ended <- err
	}()
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(
		pipes{toClient, fromClient}, jsonrpc2.VSCodeObjectCodec{}), c)
	t.Cleanup(func() { c.conn.Close() })
	c.call("initialize", object{"capabilities": object{
		"window":    object{"showDocument": object{"support": true}},
		"workspace": object{"didChangeWatchedFiles": object{"dynamicRegistration": true}}}}, nil)
	c.notify("initialized", object{})
	return c
}

// Handle takes what the server sends.
func (c *client) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method == "textDocument/publishDiagnostics" {
		p := published{at: time.Now()}
		if err := json.Unmarshal(*r.Params, &p); err != nil {
			c.t.Error(err)
		}
		c.shown[p.URI] = append(c.shown[p.URI], p)
	} else if !r.Notif {
		c.asked = append(c.asked, r.Method+string(*r.Params))
		go conn.Reply(ctx, r.ID, nil)
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.conn.Call(c.t.Context(), method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(c.t.Context(), method, params); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) open(uri, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", object{"textDocument": object{"uri": uri, "version": 1,
		"languageId": "jinja", "text": text}})
}

// edit changes a document to a version.
func (c *client) edit(uri string, version int, changes ...object) {
	c.t.Helper()
	c.notify("textDocument/didChange", object{"textDocument": object{"uri": uri,
		"version": version}, "contentChanges": changes})
}

// wait returns the first diagnostics of a document that are as wanted.
func (c *client) wait(uri string, wanted func(published) bool) published {
	c.t.Helper()
	deadline := time.After(4 * time.Minute)
	for {
		c.mu.Lock()
		for _, p := range c.shown[uri] {
			if wanted(p) {
				c.mu.Unlock()
				return p
			}
		}
		c.mu.Unlock()
		select {
		case <-c.news:
		case <-deadline:
			c.t.Fatalf("%s: it never came; shown: %+v", uri, c.shown[uri])
		}
	}
}

// leave ends the server, and returns how that went.
func (c *client) leave() error {
	c.t.Helper()
	c.call("shutdown", nil, nil)
	c.notify("exit", nil)
	return <-c.ended
}

func at(line, from, to int) span { return span{place{line, from}, place{line, to}} }

func has(code string) func(published) bool {
	return func(p published) bool {
		return slices.ContainsFunc(p.Diagnostics, func(d found) bool { return d.Code == code })
	}
}

func version(n int) func(published) bool {
	return func(p published) bool { return p.Version == n }
}

// the finding with a code.
func (p published) of(code string) found {
	i := slices.IndexFunc(p.Diagnostics, func(d found) bool { return d.Code == code })
	if i < 0 {
		return found{}
	}
	return p.Diagnostics[i]
}

// joins joins two texts, which fails for content that is null.
const joins = `{%- for message in messages %}
{{- '<|' + message.role + '|>' + message.content }}
{%- for call in message.tool_calls or [] %}<call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments if call.function.arguments is string else call.function.arguments|tojson }}}</call>{% endfor %}<|end|>
{%- endfor %}
{%- if tools %}{{ tools|tojson }}{% endif %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
`

// TestDiagnostics edits a template in steps, with characters of one and of two UTF-16 units.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	uri := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.jinja"))
	c.open(uri, "{# 🙂é #}{{ x\n"+joins)
	p := c.wait(uri, has("A001"))
	if len(p.Diagnostics) != 1 || p.Diagnostics[0].Severity != 1 {
		t.Errorf("a text that does not compile: %+v", p.Diagnostics)
	}
	c.edit(uri, 2, object{"range": at(0, 9, 13), "text": ""}) // {{ x
	p = c.wait(uri, func(p published) bool { return p.Version == 2 && has("A012")(p) })
	if got := p.of("A012").Range; got.Start.Line != 2 {
		t.Errorf("A012 is at %+v, want line 2", got)
	}
	// a finding of the last look moves with the text before the next one has its answer
	c.edit(uri, 3, object{"range": at(0, 0, 0), "text": "{# a #}\n{# b #}\n"})
	p = c.wait(uri, version(3))
	if got := p.of("A012").Range; got.Start.Line != 4 {
		t.Errorf("after two lines more A012 is at %+v, want line 4", got)
	}
	c.edit(uri, 4, object{"text": "{{ messages[0].content }"})
	p = c.wait(uri, version(4))
	if p.of("A001").Range != at(0, 23, 24) {
		t.Errorf("A whole new text: %+v", p.Diagnostics)
	}
	c.notify("textDocument/didClose", object{"textDocument": object{"uri": uri}})
	c.wait(uri, func(p published) bool { return p.Version == 0 && len(p.Diagnostics) == 0 })
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestStrings finds a fault in a template that a JSON file has as a string, and mends it there.
func TestStrings(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	quoted, err := json.Marshal(joins)
	if err != nil {
		t.Fatal(err)
	}
	text := "{\"bos_token\": \"🙂\",\n \"chat_template\": " +
		strings.ReplaceAll(string(quoted), "message.role", `message.r\u006fle`) + "}\n"
	uri := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "tokenizer_config.json"))
	c.open(uri, text)
	c.wait(uri, has("A012"))
	mended := c.mend(uri, text)
	var config struct {
		Template string `json:"chat_template"`
	}
	if err := json.Unmarshal([]byte(mended), &config); err != nil {
		t.Fatalf("%v\n%s", err, mended)
	}
	if !strings.Contains(mended, `message.r\u006fle`) {
		t.Errorf("the edit touches another place:\n%s", mended)
	}
	renders(t, config.Template)
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestPatches mends a template in place.
func TestPatches(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	uri := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.jinja"))
	c.open(uri, "{# 🙂 #}\n"+joins)
	renders(t, c.mend(uri, "{# 🙂 #}\n"+joins))
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// mend returns a text after the action that mends all.
func (c *client) mend(uri, text string) string {
	c.t.Helper()
	var actions []struct {
		Kind string
		Edit struct {
			DocumentChanges []struct {
				Edits []struct {
					Range   span
					NewText string
				}
			}
		}
	}
	c.call("textDocument/codeAction", object{"textDocument": object{"uri": uri},
		"range": at(0, 0, 0), "context": object{"only": []string{"source.fixAll"}}}, &actions)
	if len(actions) != 1 || actions[0].Kind != "source.fixAll.assay" {
		c.t.Fatalf("the actions are %+v", actions)
	}
	edits := actions[0].Edit.DocumentChanges[0].Edits
	slices.Reverse(edits)
	for _, e := range edits {
		text = text[:index(text, e.Range.Start)] + e.NewText + text[index(text, e.Range.End):]
	}
	return text
}

// index finds a position the slow way.
func index(text string, p place) int {
	off, units := 0, 0
	for ; p.Line > 0; p.Line-- {
		off += strings.IndexByte(text[off:], '\n') + 1
	}
	for i, r := range text[off:] {
		if units == p.Character {
			return off + i
		}
		if units++; r > 0xffff {
			units++
		}
	}
	return len(text)
}

// renders demands that a template renders content that is null.
func renders(t *testing.T, text string) {
	t.Helper()
	src := subject.New("a.jinja", text)
	compiled, err := src.Compile()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	null := chat.MessageOf("assistant", ordered.Value{})
	prompt, err := compiled.ChatTemplate().Render(chattemplate.Input{
		Messages: []ordered.Value{null}})
	if err != nil || strings.Contains(prompt, "None") {
		t.Errorf("%q, %v\n%s", prompt, err, text)
	}
}

// TestHover asks what stands at places, and what may stand there.
func TestHover(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	text, err := os.ReadFile("../../corpus/qwen3/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	uri := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.jinja"))
	c.open(uri, string(text))
	for _, h := range []struct{ before, word, want string }{
		{"", "messages[0].role == 'system'", "`messages`"},
		{"", "add_generation_prompt", "the header of the model's answer"},
		{"| ", "tojson", "filter of Jinja"},
	} {
		i := strings.Index(string(text), h.before+h.word)
		if i < 0 {
			t.Fatalf("the template has no %q", h.before+h.word)
		}
		var answer struct{ Contents struct{ Value string } }
		c.call("textDocument/hover", object{"textDocument": object{"uri": uri},
			"position": positionOf(string(text), i+len(h.before)+1)}, &answer)
		if !strings.Contains(answer.Contents.Value, h.want) {
			t.Errorf("%s: got %q, want %q", h.word, answer.Contents.Value, h.want)
		}
	}
	for _, w := range []struct{ typed, want, not string }{
		{"{{ messages | to", "tojson", "messages"},
		{"{% if tools is def", "defined", "tojson"},
		{"{{ add_", "add_generation_prompt", "tojson"},
		{"{{ messages[0].con", "content", "tojson"},
		{"add_", "", "add_generation_prompt"},
	} {
		c.edit(uri, 2, object{"text": string(text) + w.typed})
		var list struct{ Items []struct{ Label string } }
		c.call("textDocument/completion", object{"textDocument": object{"uri": uri},
			"position": positionOf(string(text)+w.typed, len(text)+len(w.typed))}, &list)
		var labels []string
		for _, item := range list.Items {
			labels = append(labels, item.Label)
		}
		if w.want != "" && !slices.Contains(labels, w.want) || slices.Contains(labels, w.not) {
			t.Errorf("%q: got %v, want %q and not %q", w.typed, labels, w.want, w.not)
		}
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

func positionOf(text string, off int) place {
	line := strings.Count(text[:off], "\n")
	p := place{Line: line}
	for _, r := range text[strings.LastIndexByte(text[:off], '\n')+1 : off] {
		if p.Character++; r > 0xffff {
			p.Character++
		}
	}
	return p
}

// TestRender renders a conversation, and has the client open the prompt.
func TestRender(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	dir := t.TempDir()
	uri := "file://" + filepath.ToSlash(filepath.Join(dir, "a.jinja"))
	c.open(uri, joins)
	var answer struct{ Prompt string }
	render := func(arguments ...any) string {
		c.call("workspace/executeCommand", object{"command": "assay.render",
			"arguments": append([]any{uri}, arguments...)}, &answer)
		return answer.Prompt
	}
	said := func(text string) object {
		return object{"messages": []object{{"role": "user", "content": text}}}
	}
	if got := render(said("Hi")); got != "<|user|>Hi<|end|><|assistant|>" {
		t.Errorf("a request of its own: %q", got)
	}
	request, err := json.Marshal(said("Moin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "conversation.json"), request, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := render(); got != "<|user|>Moin<|end|><|assistant|>" {
		t.Errorf("the request beside the template: %q", got)
	}
	c.mu.Lock()
	if !slices.ContainsFunc(c.asked, func(m string) bool {
		return strings.HasPrefix(m, "window/showDocument") && strings.Contains(m, "a.prompt.txt")
	}) {
		t.Errorf("the server asked for %q", c.asked)
	}
	c.mu.Unlock()
	for _, wrong := range []object{
		{"command": "assay.unknown"}, {"command": "assay.render"},
		{"command": "assay.render", "arguments": []any{"file:///not/open"}},
		{"command": "assay.render", "arguments": []any{uri, "no request"}},
	} {
		if err := c.conn.Call(t.Context(), "workspace/executeCommand", wrong, nil); err == nil {
			t.Errorf("%v was run", wrong)
		}
	}
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestSettings demands that settings of assay.toml count, and that a wrong one is shown where
// it stands, once it is typed.
func TestSettings(t *testing.T) {
	t.Parallel()
	const exclude = `exclude = ["*.jinja"]` // nothing is judged, in no steps
	for _, s := range []struct {
		settings string
		want     func(published) bool
	}{
		{`select = ["A013"]`, func(p published) bool { return !has("A012")(p) }},
		{`ignore = ["A012"]`, func(p published) bool { return len(p.Diagnostics) > 0 && !has("A012")(p) }},
		{exclude, func(p published) bool { return len(p.Diagnostics) == 0 }},
		{`severities = { A012 = "note" }`, func(p published) bool { return p.of("A012").Severity == 4 }},
		{`per-file-ignores = { "a.*" = ["A012"] }`, func(p published) bool { return len(p.Diagnostics) > 0 && !has("A012")(p) }},
		{`baseline = "accepted.toml"`, func(p published) bool { return len(p.Diagnostics) > 0 && !has("A012")(p) }},
		{`base = "main"`, func(p published) bool { return !has("A012")(p) }},
	} {
		t.Run(s.settings, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			uri := "file://" + filepath.ToSlash(filepath.Join(dir, "a.jinja"))
			settings := "file://" + filepath.ToSlash(filepath.Join(dir, "assay.toml"))
			if err := os.WriteFile(filepath.Join(dir, "accepted.toml"),
				[]byte("[\"a.jinja\"]\nA012 = 5\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			c := connect(t, editor.Options{Base: func(commit string) (*editor.Base, error) {
				if commit != "main" {
					return nil, fmt.Errorf("the commit is %s", commit)
				}
				return &editor.Base{
					Read: func(string) ([]byte, error) { return nil, os.ErrNotExist },
					Open: func(is subject.Source) *subject.Source {
						was := subject.New(is.Name, "{# was #}"+is.Text)
						return &was
					}}, nil
			}})
			c.open(settings, "")
			c.open(uri, joins)
			c.wait(uri, func(published) bool { return len(c.shown[uri]) == 2 })
			if !has("A012")(c.shown[uri][1]) {
				t.Fatalf("without settings: %+v", c.shown[uri])
			}
			const before = 2
			c.edit(settings, 2, object{"text": s.settings + "\n"})
			c.wait(uri, func(p published) bool {
				all := c.shown[uri]
				whole := len(all) > before+1 || s.settings == exclude && len(all) > before
				return whole && s.want(all[len(all)-1])
			})
			c.edit(settings, 3, object{"text": "fail-on = \"never\"\nselect = [\"A9\", \"no-rule\"]\n"})
			p := c.wait(settings, func(p published) bool { return len(p.Diagnostics) > 0 })
			if p.Diagnostics[0].Range.Start.Line != 1 {
				t.Errorf("a wrong setting: %+v", p.Diagnostics)
			}
			c.edit(settings, 4, object{"text": "\n"})
			c.wait(settings, func(p published) bool { return len(p.Diagnostics) == 0 })
			if err := c.leave(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestProtocol sends what no client should: each gets an error or none, and the server goes on.
func TestProtocol(t *testing.T) {
	t.Parallel()
	c := connect(t, editor.Options{})
	for _, method := range []string{"textDocument/unknown", "$/unknown", "textDocument/hover",
		"textDocument/completion", "textDocument/codeAction", "workspace/executeCommand"} {
		for _, params := range []any{nil, 1, "text", []int{1}, object{}, object{"textDocument": 1},
			object{"textDocument": object{"uri": "file:///none"}, "position": at(-1, -1, 0).Start,
				"range": at(9, 9, 9)}} {
			var result json.RawMessage
			err := c.conn.Call(t.Context(), method, params, &result)
			if err != nil && !strings.Contains(err.Error(), "jsonrpc2: code") {
				t.Fatalf("%s: %v", method, err)
			}
			if err := c.conn.Notify(t.Context(), method, params); err != nil {
				t.Fatal(err)
			}
		}
	}
	uri := "file:///a.jinja"
	for _, method := range []string{"textDocument/didOpen", "textDocument/didChange",
		"textDocument/didClose", "$/cancelRequest", "workspace/didChangeWatchedFiles"} {
		c.notify(method, 1)
		c.notify(method, object{"textDocument": 1, "id": true, "contentChanges": 3})
	}
	c.open(uri, "{{ a\r\nb\rc")
	for i, r := range []span{at(9, 0, 0), {place{2, 9}, place{0, 0}}, at(-1, -3, 900),
		at(1, 0, 1)} {
		c.edit(uri, i+2, object{"range": r, "text": "\r\n🙂"})
	}
	c.wait(uri, version(5))
	if err := c.leave(); err != nil {
		t.Error(err)
	}
}

// TestEnds ends connections in ways that are out of order.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, e := range []struct{ sent, want string }{
		{"", "without a request for shutdown"},
		{"Content-Length: 2\r\n\r\n{}", ""},
		{"Content-Length: -1\r\n\r\n", "invalid syntax"},
		{"Content-Length: 99\r\n\r\n{\"jsonrpc\"", ""},
		{"Content-Length: 5\r\n\r\n[[[[[", ""},
		{"\x00\xff\r\r\r\n", "line endings"},
		{"GET / HTTP/1.1\r\n\r\n", "no Content-Length"},
		{"Content-Length: 4000000000\r\n\r\n{}", ""},
		{frame(`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}`), ""},
		{frame(`{"jsonrpc":"2.0","method":"exit"}`), "without a request for shutdown"},
		{frame(`{"jsonrpc":"2.0","id":7,"result":null}`), ""},
	} {
		var out strings.Builder
		err := editor.Serve(t.Context(), strings.NewReader(e.sent), &out, editor.Options{})
		if err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%q: got %v, want %q", e.sent, err, e.want)
		}
	}
}

func frame(message string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
}
