package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// tooLong is what an upstream says of a prompt, and private what it says of itself.
const (
	tooLong = "This model's maximum context length is 10 tokens; the prompt has \"12\"."
	private = "cannot read /srv/models/secret.gguf on 10.1.2.3"
)

// faulty is an upstream that fails with the status that a prompt asks for, as in "fault-500".
func faulty(up http.Handler) http.Handler {
	asks := regexp.MustCompile(`fault-([0-9]+)`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := asks.FindSubmatch(body)
		if m == nil {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			up.ServeHTTP(w, r)
			return
		}
		status, _ := strconv.Atoi(string(m[1]))
		text := private
		if status == 400 {
			text = tooLong
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error": {"message": %q, "type": "x"}}`, text)
	})
}

// faultyServer starts a server before such an upstream.
func faultyServer(t *testing.T) string {
	up := &servetest.Upstream{Dialect: "vllm", Write: func(string) string { return "Hi." }}
	return start(t, "qwen3", faulty(up),
		func(o *serve.Options) { o.Keys = []string{"sk-test"} }, openai.Limits{})
}

// asked puts a body to a protocol's path and returns the status and the error.
func asked(t *testing.T, url string, p wire.Protocol, body string) (int, ordered.Value) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+p.Path(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-test")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	v, err := ordered.Parse(text)
	if err != nil {
		t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
	}
	return answer.StatusCode, v.At("error")
}

// bodies are requests of the protocols with a text and a tool's parameters.
var bodies = map[wire.Protocol]string{
	wire.ChatCompletions: `{"model": "scripted", "messages": [{"role": "user", "content": %q}],
		"tools": [{"type": "function", "function": {"name": "f", "parameters": %s}}]}`,
	wire.Responses: `{"model": "scripted", "input": %q,
		"tools": [{"type": "function", "name": "f", "parameters": %s}]}`,
	wire.Messages: `{"model": "scripted", "max_tokens": 9,
		"messages": [{"role": "user", "content": %q}], "tools": [{"name": "f", "input_schema": %s}]}`,
}

// TestUpstreamFaults has an upstream refuse a prompt that is too long, and fail: the client has the
// words for the one, and nothing of the operator's for the other.
func TestUpstreamFaults(t *testing.T) {
	url := faultyServer(t)
	for p, body := range bodies {
		status, e := asked(t, url, p, fmt.Sprintf(body, "fault-400", `{"type": "object"}`))
		want, code := tooLong, wire.ContextLength
		if p == wire.Messages {
			want, code = "prompt is too long: "+tooLong, ""
		}
		if status != 400 || e.At("message").Text() != want || e.At("code").Text() != code {
			t.Errorf("%s: a prompt that is too long: %d %s", p.Name(), status, e)
		}
		for _, fault := range []string{"401", "500", "503"} {
			status, e := asked(t, url, p, fmt.Sprintf(body, "fault-"+fault, `{"type": "object"}`))
			if text := e.String(); status < 500 || strings.Contains(text, "/srv") ||
				strings.Contains(text, "10.1.2.3") {
				t.Errorf("%s: status %s: %d %s", p.Name(), fault, status, text)
			}
		}
	}
}

// TestNoSchema refuses schemas that are none, in the words of the request.
func TestNoSchema(t *testing.T) {
	url := faultyServer(t)
	const text = `unknown type "strnig", read as any; the types are string, number, integer, boolean, null, array and object`
	for p, place := range map[wire.Protocol]string{
		wire.ChatCompletions: "tools[0].function.parameters",
		wire.Responses:       "tools[0].parameters", wire.Messages: "tools[0].input_schema"} {
		for schema, want := range map[string]string{
			`{"type": "object", "properties": {"a": {"type": "strnig"}}}`: ".properties.a.type: " + text,
			`{"type": "object", "properties": {"a": {"type": 3}}}`:        `.properties.a.type: expected the name of a type or a list of names, found 3`,
		} {
			status, e := asked(t, url, p, fmt.Sprintf(bodies[p], "Hi.", schema))
			if status != 400 || e.At("message").Text() != place+want {
				t.Errorf("%s: %s: %d %s, want %s", p.Name(), schema, status, e, place+want)
			}
		}
	}
}

// TestErrorClasses has the official Python clients and litellm raise the error that docs/servers.md
// names for each fault, by the interpreter that ASSAY_PYTHON names.
func TestErrorClasses(t *testing.T) {
	python := os.Getenv("ASSAY_PYTHON")
	if python == "" {
		t.Log("ASSAY_PYTHON is not set: the Python clients are left out")
		return
	}
	out, err := exec.Command(python, "../../ci/serve/errors.py", faultyServer(t)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
