package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
	"github.com/goassay/assay/harness/testkit/double/livetest"
)

// runProbe runs assay probe with a key in the environment.
func runProbe(args ...string) (status int, stdout, stderr string) {
	var out, err strings.Builder
	c := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &err,
		getenv: func(name string) string {
			if name == keyVariable {
				return "sk-secret"
			}
			return ""
		}}
	status = c.main(append([]string{"probe"}, args...))
	return status, out.String(), err.String()
}

func serveFamily(t *testing.T, family string, o livetest.Options) string {
	t.Helper()
	text, err := corpus.FS.ReadFile(family + "/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	tm, err := subject.New(family, string(text)).Compile()
	if err != nil {
		t.Fatal(err)
	}
	if o.Source == "own" {
		o.Source = string(text)
	}
	server := livetest.New(tm, o)
	t.Cleanup(server.Close)
	return server.URL
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "qwen3.jinja")
	text, err := corpus.FS.ReadFile("qwen3/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(template, text, 0o600); err != nil {
		t.Fatal(err)
	}
	right := serveFamily(t, "qwen3", livetest.Options{Source: "own", Raw: true})
	old := serveFamily(t, "qwen3", livetest.Options{Source: "own",
		Only: []wire.Protocol{wire.ChatCompletions}})
	silent := serveFamily(t, "qwen3", livetest.Options{})
	wrong := serveFamily(t, "qwen3",
		livetest.Options{Source: "own", Alter: func(r *livetest.Reply) { r.Tail = "" }})
	toolless := serveFamily(t, "plain", livetest.Options{Source: "own"})
	key := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		w.Write([]byte("the key " + r.Header.Get("Authorization") + " is wrong"))
	}))
	t.Cleanup(key.Close)
	junit := filepath.Join(dir, "report.xml")
	for _, tt := range []struct {
		name           string
		args           []string
		status         int
		stdout, stderr string // parts
	}{
		{"right", []string{right, "--raw", "--junit", junit}, exitOK, " passed, 0 failed", ""},
		{"right, below /v1", []string{right + "/v1", "--model", "other", "-v"}, exitOK, "other: ok[S014]: content/stream-agrees", ""},
		{"without a template", []string{silent}, exitOK, " passed, 0 failed", "markers of every known format are looked for"},
		{"one protocol", []string{right, "--protocol", "messages", "-v"}, exitOK, "fake: ok[S034]: stop/stops-obeyed", ""},
		{"an unknown protocol", []string{right, "--protocol", "grpc"}, exitUsage, "", "--protocol: expected one of chat-completions, responses, messages, found \"grpc\""},
		{"a server of one protocol", []string{old}, exitOK, " passed, 0 failed", "the server has no /v1/messages: the protocol is left out"},
		{"with a template of ours", []string{silent, "--template", template}, exitOK, " passed, 0 failed", ""},
		{"raw without a template", []string{silent, "--raw"}, exitUsage, "", "--raw needs the template"},
		{"without tools", []string{toolless}, exitOK, " passed, 0 failed", "requests with tools are left out"},
		{"wrong", []string{wrong}, exitFailed, "fake: error[S005]: content/stream-ends: chat completions: the stream ends without [DONE] (35 times)", ""},
		{"as JSON", []string{wrong, "--format", "json"}, exitFailed, `"rule": "S005"`, ""},
		{"nobody there", []string{"http://127.0.0.1:1"}, exitUsage, "", "assay probe: nothing listens at http://127.0.0.1:1: connection refused; is the server running?"},
		{"a wrong key", []string{key.URL}, exitUsage, "", `lists no model: HTTP status 401 with the body "the key Bearer [API key] is wrong"`},
		{"a wrong key, for a model that is named", []string{key.URL, "--model", "m"}, exitFailed, `HTTP status 401 with the body "the key Bearer [API key] is wrong"`, ""},
		{"two", []string{right, wrong}, exitUsage, "", "takes the address of a server, found 2 arguments"},
		{"no address", []string{"127.0.0.1:8080"}, exitUsage, "", "expected one such as http://127.0.0.1:8080"},
		{"no time", []string{right, "--timeout", "0s"}, exitUsage, "", "--timeout must be positive"},
		{"extra", []string{right, "--extra", `{"max_tokens": 1}`}, exitOK, " passed, 0 failed", ""},
		{"extra of a wrong kind", []string{right, "--extra", "[]"}, exitUsage, "", "--extra: expected an object, found []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, stdout, stderr := runProbe(tt.args...)
			if status != tt.status || !strings.Contains(stdout, tt.stdout) ||
				!strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			if strings.Contains(stdout+stderr, "secret") {
				t.Error("the key is shown")
			}
		})
	}
	report, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(report), `name="required/call-valid"`) {
		t.Errorf("%v\n%s", err, report)
	}
}

// TestProbeKey sends the key, and nothing to a server that is redirected to.
func TestProbeKey(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		got = append(got, "other")
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if r.URL.Path == "/v1/models" {
			w.Write(ordered.ObjectOf(ordered.Member{Key: "data",
				Value: ordered.ArrayOf(ordered.ObjectOf(
					ordered.Member{Key: "id", Value: ordered.Str("m")}))}).
				Append(nil, ordered.Compact))
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	status, stdout, _ := runProbe(server.URL)
	if status != exitFailed || !strings.Contains(stdout, "HTTP status 307") || len(got) < 3 ||
		got[1] != "Bearer sk-secret" {
		t.Errorf("status %d, %q\n%s", status, got, stdout)
	}
	for _, g := range got {
		if g == "other" {
			t.Error("a redirect was followed")
		}
	}
}

// TestProbeHub reads the template of the repository that the server names as its model.
func TestProbeHub(t *testing.T) {
	h := fakehub.New()
	t.Cleanup(h.Close)
	text, err := corpus.FS.ReadFile("qwen3/" + families.OwnTemplate)
	if err != nil {
		t.Fatal(err)
	}
	h.Repo("owner/model").Put("chat_template.jinja", text)
	url := serveFamily(t, "qwen3", livetest.Options{Raw: true})
	env := map[string]string{"HF_ENDPOINT": h.URL(), "HF_HOME": t.TempDir()}
	for _, tt := range []struct {
		model  string
		status int
		part   string
	}{
		{"owner/model", exitOK, " passed, 0 failed"},
		{"owner/other", exitUsage, "--hub: "},
		{"no repository", exitUsage, "--hub: "},
	} {
		var out, err strings.Builder
		c := &call{stdin: strings.NewReader(""), stdout: &out, stderr: &err,
			getenv: func(name string) string { return env[name] }}
		status := c.main([]string{"probe", url, "--hub", "--raw", "--model", tt.model,
			"--protocol", "chat-completions"})
		if status != tt.status || !strings.Contains(out.String()+err.String(), tt.part) {
			t.Errorf("%s: status %d\n%s%s", tt.model, status, out.String(), err.String())
		}
	}
}
