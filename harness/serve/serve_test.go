package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/serve/upstream"
	"github.com/goassay/assay/harness/testkit/double/pipenet"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

const bos = "<s>"

func compile(t testing.TB, family string) (engine.Source, *engine.Template) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "corpus", family, "template.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	src := engine.Source{Name: family, Text: string(text), BOS: bos, EOS: "<|im_end|>"}
	tm, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	return src, tm
}

// start starts a server of a family's template before an upstream, and returns its address.
func start(t testing.TB, family string, up http.Handler, change func(*serve.Options),
	l openai.Limits) string {
	t.Helper()
	return startOn(t, httptest.NewUnstartedServer, family, up, change, l)
}

// startLate is start in a bubble, where the limits of time are those of a fake clock.
func startLate(t testing.TB, up http.Handler, change func(*serve.Options), l openai.Limits) string {
	t.Helper()
	// A bubble must not end before its goroutines, and some sleep before they see that all is over.
	t.Cleanup(func() { time.Sleep(5 * time.Minute) })
	return startOn(t, pipenet.NewUnstartedServer, "qwen3", up, change, l)
}

func startOn(t testing.TB, unstarted func(http.Handler) *httptest.Server, family string,
	up http.Handler, change func(*serve.Options), l openai.Limits) string {
	t.Helper()
	back := unstarted(up)
	back.Start()
	t.Cleanup(back.Close)
	client, err := openai.New(back.URL, "", l)
	if err != nil {
		t.Fatal(err)
	}
	return frontOn(t, unstarted, family, client, change)
}

// backend is an upstream that a handler answers for.
func backend(t *testing.T, up http.Handler) serve.Backend {
	t.Helper()
	back := httptest.NewServer(up)
	t.Cleanup(back.Close)
	client, err := openai.New(back.URL, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := upstream.Open(t.Context(), client, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// front starts a server before the upstream of a client.
func front(t testing.TB, family string, client *openai.Client,
	change func(*serve.Options)) string {
	t.Helper()
	return frontOn(t, httptest.NewUnstartedServer, family, client, change)
}

func frontOn(t testing.TB, unstarted func(http.Handler) *httptest.Server, family string,
	client *openai.Client, change func(*serve.Options)) string {
	t.Helper()
	backend, err := upstream.Open(context.Background(), client, upstream.Options{BOS: bos})
	if err != nil {
		t.Fatal(err)
	}
	src, tm := compile(t, family)
	sealer, err := wire.NewSealer(bytes.Repeat([]byte("k"), 32), strings.NewReader(
		strings.Repeat("nonce", 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Names: []string{servetest.Model, "alias"}, Source: src, Template: tm,
		Backend: backend, Sealer: sealer, Now: subject.Now}
	if change != nil {
		change(&o)
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := unstarted(s.Handler())
	server.Config.MaxHeaderBytes = 16 << 10
	server.Config.ReadHeaderTimeout = time.Minute
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// post sends a body and returns the status and the answer.
func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// requests ask for the same in each protocol; %s are members of the protocol's own.
var requests = map[string]string{
	"/v1/chat/completions": `{"model": "scripted", "messages": [{"role": "user", "content": "Rain?"}],
		"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
		{"type": "function", "function": {"name": "store_note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}], "max_tokens": 500 %s}`,
	"/v1/responses": `{"model": "scripted", "input": "Rain?",
		"tools": [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
		{"type": "function", "name": "store_note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}], "max_output_tokens": 500 %s}`,
	"/v1/messages": `{"model": "scripted", "messages": [{"role": "user", "content": "Rain?"}],
		"tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
		{"name": "store_note", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}], "max_tokens": 500 %s}`,
}

// agent fails a test where a prompt lacks something.
func agent(t testing.TB) func(string) string { return servetest.Agent(1, t.Errorf) }

// TestDialects puts a request of each protocol through every kind of upstream, in one piece and
// streamed.
func TestDialects(t *testing.T) {
	for _, dialect := range upstream.Dialects()[1:] {
		up := &servetest.Upstream{Dialect: dialect, Write: agent(t)}
		if dialect != "openai" && dialect != "vllm" {
			up.BOS = bos
		}
		url := start(t, "qwen3", up, nil, openai.Limits{})
		for path, body := range requests {
			for _, extra := range []string{"", `, "stream": true`} {
				status, text := post(t, url+path, fmt.Sprintf(body, extra))
				if status != 200 {
					t.Errorf("%s %s%s: %d %s", dialect, path, extra, status, text)
					continue
				}
				for _, part := range []string{"needs a look.", "I look", "get_weather",
					"store_note", "note "} {
					if extra == "" && !strings.Contains(text, part) {
						t.Errorf("%s %s: no %q in %s", dialect, path, part, text)
					}
				}
				for _, marker := range []string{"tool_call>", "<think>", "im_end"} {
					if strings.Contains(text, marker) {
						t.Errorf("%s %s%s: %q leaks: %s", dialect, path, extra, marker, text)
					}
				}
			}
		}
		last := up.Last()
		for name, key := range map[string][]string{"llama-server": {"grammar"},
			"vllm":   {"structured_outputs", "structural_tag"},
			"sglang": {"response_format", "format"}} {
			if has := !last.At(key...).IsNull(); has != (dialect == name) {
				t.Errorf("%s: %s", dialect, last)
			}
		}
		// promises that an upstream without a grammar cannot keep
		if dialect == "ollama" {
			status, text := post(t, url+"/v1/chat/completions",
				fmt.Sprintf(requests["/v1/chat/completions"], `, "tool_choice": "required"`))
			if status != 400 || !strings.Contains(text, "takes no grammar") {
				t.Errorf("%d %s", status, text)
			}
		}
		status, text := post(t, url+wire.CountPath, fmt.Sprintf(requests["/v1/messages"], ""))
		if v, _ := ordered.ParseString(text); status != 200 ||
			v.At("input_tokens").Kind() != ordered.Number || v.At("input_tokens").Text() < "1" {
			t.Errorf("%s: tokens counted: %d %s", dialect, status, text)
		}
	}
}

// TestStops ends answers at the request's stops, and tells which.
func TestStops(t *testing.T) {
	const output = "<think>\nSTOP here?\n</think>\n\nOne ST, two STOP three"
	up := &servetest.Upstream{Dialect: "vllm", Write: func(string) string { return output }}
	url := start(t, "qwen3", up, nil, openai.Limits{})
	status, text := post(t, url+"/v1/messages", `{"max_tokens": 99, "stop_sequences": ["nowhere", "STOP"],
		"messages": [{"role": "user", "content": "x"}]}`)
	v, _ := ordered.ParseString(text)
	if status != 200 || v.At("stop_reason").Text() != "stop_sequence" ||
		v.At("stop_sequence").Text() != "STOP" ||
		v.At("content").Items()[1].At("text").Text() != "One ST, two " {
		t.Errorf("%d %s", status, text)
	}
	status, text = post(t, url+"/v1/chat/completions", `{"stop": "Nowhere", "seed": 7, "stream": true,
		"stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "x"}]}`)
	if status != 200 || !strings.Contains(text, `"content":" three"`) &&
		!strings.Contains(text, `ree"`) || !strings.Contains(text, `"usage":{"prompt_tokens":`) {
		t.Errorf("%d %s", status, text)
	}
	if last := up.Last(); last.At("seed").Text() != "7" {
		t.Errorf("the seed is lost: %s", last)
	}
	// a limit
	status, text = post(t, url+"/v1/messages", `{"max_tokens": 3, "messages": [{"role": "user", "content": "x"}]}`)
	if !strings.Contains(text, `"stop_reason":"max_tokens"`) ||
		!strings.Contains(text, `"output_tokens":3`) {
		t.Errorf("%d %s", status, text)
	}
}

// TestKeys asks with and without a key.
func TestKeys(t *testing.T) {
	url := start(t, "qwen3", &servetest.Upstream{Dialect: "vllm", Write: agent(t)},
		func(o *serve.Options) { o.Keys = []string{"sk-one", "sk-two"} }, openai.Limits{})
	for _, tt := range []struct {
		method, path, header, value string
		status                      int
		want                        string
	}{
		{"GET", "/v1/models", "", "", 401, `{"error":{"message":"the API key is missing or wrong; send it as a bearer token, or as x-api-key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"GET", "/v1/models", "Authorization", "Bearer sk-one", 200, `"object":"list"`},
		{"GET", "/v1/models/alias", "Authorization", "bearer sk-two", 200, `"id":"alias"`},
		{"GET", "/v1/models/other", "Authorization", "bearer sk-two", 404, `"code":"model_not_found"`},
		{"GET", "/v1/models", "X-Api-Key", "sk-two", 200, `"id":"scripted"`},
		{"GET", "/v1/models", "X-Api-Key", "sk-tw", 401, ""},
		{"GET", "/props", "X-Api-Key", "sk-one", 200, `"chat_template":`},
		{"POST", "/v1/messages", "", "", 401, `{"type":"error","error":{"type":"authentication_error",`},
		{"GET", "/v1/messages", "X-Api-Key", "sk-one", 405, `"type":"invalid_request_error"`},
		{"POST", "/v1/embeddings", "X-Api-Key", "sk-one", 404, `"there is no such path"`},
		{"GET", "/health", "", "", 200, "ok"},
		{"GET", "/ready", "", "", 200, "ok"},
		{"GET", "/metrics", "", "", 200, `assay_requests_total{protocol="messages",status="401"} 1`},
	} {
		r, err := http.NewRequest(tt.method, url+tt.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != "" {
			r.Header.Set(tt.header, tt.value)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s %s with %s: %d %s", tt.method, tt.path, tt.value, a.StatusCode, text)
		}
	}
}

// TestOrigins has pages of other sites ask a server on this machine, as a browser does for them.
// Where it has no keys they are refused, also under a name that has come to mean this machine.
func TestOrigins(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm", Write: agent(t)}
	open := start(t, "qwen3", up, nil, openai.Limits{})
	keyed := start(t, "qwen3", up, func(o *serve.Options) { o.Keys = []string{"sk-one"} },
		openai.Limits{})
	const path = "/v1/chat/completions"
	ask := func(url, origin, host, key string) int {
		t.Helper()
		r, err := http.NewRequest("POST", url+path,
			strings.NewReader(fmt.Sprintf(requests[path], "")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "text/plain") // no question of leave goes before it
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		r.Header.Set("X-Api-Key", key)
		if host != "" {
			r.Host = host
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return a.StatusCode
	}
	here := strings.TrimPrefix(open, "http://")
	for _, c := range []struct {
		origin, host string
		want         int
	}{
		{"", "", 200}, {open, "", 200},
		{"https://evil.example", "", 401}, {"null", "", 401}, {"file://", "", 401},
		{"http://evil.example:8000", "evil.example:8000", 421},
		{"http://localhost:3000", "", 401}, {"http://" + here + ".evil.example", "", 401},
		{"http://%zz", "", 401},
	} {
		if got := ask(open, c.origin, c.host, ""); got != c.want {
			t.Errorf("origin %q, host %q: %d, want %d", c.origin, c.host, got, c.want)
		}
	}
	if got := ask(keyed, "https://page.example", "", "sk-one"); got != 200 {
		t.Errorf("a page that has a key: %d", got)
	}
}

// TestHosts asks by names that are the server's and by others, as a browser does for a page whose
// name has come to mean this machine.
func TestHosts(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm", Write: agent(t)}
	open := start(t, "qwen3", up, nil, openai.Limits{})
	named := start(t, "qwen3", up, func(o *serve.Options) {
		o.Hosts, o.Keys = []string{"Gateway.example"}, []string{"sk-one"}
	}, openai.Limits{})
	any := start(t, "qwen3", up, func(o *serve.Options) { o.Hosts = []string{"*"} },
		openai.Limits{})
	for _, c := range []struct {
		url, host string
		want      int
	}{
		{open, "", 200}, {open, "localhost", 200}, {open, "LOCALHOST.:8000", 200},
		{open, "a.localhost", 200}, {open, "[::1]:8000", 200}, {open, "192.0.2.7:8000", 200},
		{open, "evil.example", 421}, {open, "127.0.0.1.evil.example:8000", 421},
		{open, "localhost.evil.example", 421}, {open, "evillocalhost", 421},
		{named, "gateway.example:443", 200}, {named, "GATEWAY.example.", 200},
		{named, "evil.example", 421}, {any, "evil.example", 200},
	} {
		for _, path := range []string{"/health", "/ready", "/metrics", "/v1/models", "/props"} {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST"} {
				r, err := http.NewRequest(method, c.url+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("X-Api-Key", "sk-one")
				r.Host = c.host
				a, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				a.Body.Close()
				if got := a.StatusCode; (got == 421) != (c.want == 421) ||
					method == "GET" && got != c.want {
					t.Errorf("%s %s at %q: %d, want %d", method, path, c.host, got, c.want)
				}
			}
		}
	}
}

// TestCancel has a client go away in mid-stream: the back end hears of it.
func TestCancel(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm", Pause: 5 * time.Millisecond,
		Write: func(string) string { return strings.Repeat("word ", 5000) }}
	url := start(t, "qwen3", up, nil, openai.Limits{})
	n := int64(0)
	for path, body := range requests {
		for _, extra := range []string{"", `, "stream": true`} {
			ctx, cancel := context.WithCancel(context.Background())
			r, err := http.NewRequestWithContext(ctx, "POST", url+path,
				strings.NewReader(strings.Replace(fmt.Sprintf(body, extra), "500", "5000", 1)))
			if err != nil {
				t.Fatal(err)
			}
			begun := n
			go func() {
				for up.Begun.Load() <= begun && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			if a, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}
			cancel()
			n++
			for deadline := time.Now().Add(time.Minute); up.Cancelled.Load() < n; {
				if time.Now().After(deadline) {
					t.Fatalf("%s%s: the upstream goes on", path, extra)
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// TestQueue holds requests to the places and the queue.
func TestQueue(t *testing.T) {
	release := make(chan struct{})
	up := &servetest.Upstream{Dialect: "vllm", Write: func(string) string {
		<-release
		return "ok"
	}}
	url := start(t, "qwen3", up, func(o *serve.Options) {
		o.Limits = serve.Limits{Running: 1, Waiting: 1, Wait: 200 * time.Millisecond}
	}, openai.Limits{})
	const body = `{"max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}`
	status := make(chan int, 3)
	ask := func() {
		go func() {
			r, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(body))
			if err != nil {
				status <- 0
				return
			}
			r.Body.Close()
			status <- r.StatusCode
		}()
	}
	for range 3 {
		ask()
	}
	for range 2 { // one finds the queue full, one waits too long
		if got := <-status; got != 429 {
			t.Errorf("status %d", got)
		}
	}
	close(release)
	if got := <-status; got != 200 {
		t.Errorf("status %d", got)
	}
}

// TestLog keeps texts out of the log unless they are asked for.
func TestLog(t *testing.T) {
	for _, texts := range []bool{false, true} {
		var log bytes.Buffer
		url := start(t, "qwen3", &servetest.Upstream{Dialect: "vllm",
			Write: func(string) string { return "a secret answer" }},
			func(o *serve.Options) {
				o.Log, o.LogText = slog.New(slog.NewJSONHandler(&log, nil)), texts
			}, openai.Limits{})
		post(t, url+"/v1/messages", `{"max_tokens": 99, "messages": [{"role": "user", "content": "a secret question"}]}`)
		post(t, url+"/v1/messages", `{"max_tokens": 99, "messages": [{"role": "secret", "content": "x"}]}`)
		post(t, url+"/v1/messages", `{"secret`)
		if !strings.Contains(log.String(), `"status":200`) ||
			!strings.Contains(log.String(), `"status":400`) {
			t.Errorf("log: %s", log.String())
		}
		if got := strings.Contains(log.String(), "secret"); got != texts {
			t.Errorf("texts in the log: %t, wanted %t: %s", got, texts, log.String())
		}
	}
}

// TestShutdown stops a server: the request that runs comes to its end, and one that takes too long
// ends with its protocol's error.
func TestShutdown(t *testing.T) {
	for _, long := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		up := &servetest.Upstream{Dialect: "vllm", Pause: 20 * time.Millisecond,
			Write: func(string) string {
				stop() // within the request
				return strings.Repeat("word ", 20+400*b2i(long))
			}}
		src, tm := compile(t, "qwen3")
		s, err := serve.New(serve.Options{Names: []string{"m"}, Source: src, Template: tm,
			Backend: backend(t, up)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		grace := time.Minute
		if long {
			grace = 100 * time.Millisecond
		}
		go func() { done <- s.Serve(ctx, l, grace) }()
		_, text := post(t, "http://"+l.Addr().String()+"/v1/messages",
			`{"stream": true, "max_tokens": 9999, "messages": [{"role": "user", "content": "x"}]}`)
		want := "message_stop"
		if long {
			want = "the server is stopping"
		}
		if !strings.Contains(text, want) {
			t.Errorf("long %t: %s", long, text)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestAlive lets a model be slow: clients hear of it by events that mean nothing, also before the
// upstream has begun, and read the same answer.
func TestAlive(t *testing.T) {
	up := &servetest.Upstream{Dialect: "llama-server", Write: agent(t), Pause: 2 * time.Millisecond}
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/completions" {
			time.Sleep(200 * time.Millisecond)
		}
		up.ServeHTTP(w, r)
	})
	url := start(t, "qwen3", slow, func(o *serve.Options) {
		o.Limits.Alive = 5 * time.Millisecond
	}, openai.Limits{})
	client, err := openai.New(url, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range wire.All {
		body := fmt.Sprintf(requests[p.Path()], `, "stream": true`)
		_, text := post(t, url+p.Path(), body)
		mark := ": keep-alive\n\n"
		if p == wire.Messages {
			mark = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
		}
		if n := strings.Count(text, mark); n < 3 || !strings.HasPrefix(text, mark) {
			t.Errorf("%s: %d events while nothing comes: %s", p.Name(), n, text)
		}
		st, _, err := client.Stream(t.Context(), p.Path(), []byte(body))
		if err != nil || st == nil {
			t.Fatal(st, err)
		}
		r := p.Reader()
		for _, e := range st.Events {
			r.Event(e.Name, e.Data)
		}
		if st.Done {
			r.Mark()
		}
		if a := r.End(); len(a.Faults) > 0 || !a.Whole || len(a.Message.ToolCalls) != 2 {
			t.Errorf("%s: %+v", p.Name(), a)
		}
	}
	// an error that comes afterwards is an event
	broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/completions" {
			time.Sleep(200 * time.Millisecond)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		up.ServeHTTP(w, r)
	})
	url = start(t, "qwen3", broken, func(o *serve.Options) {
		o.Limits.Alive = 5 * time.Millisecond
	}, openai.Limits{})
	for _, p := range wire.All {
		status, text := post(t, url+p.Path(), fmt.Sprintf(requests[p.Path()], `, "stream": true`))
		if status != http.StatusOK || !strings.Contains(text, "the upstream") {
			t.Errorf("%s: %d %s", p.Name(), status, text)
		}
	}
}
