package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/pipenet"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// shaped demands that a body is an error of the protocol of a path.
func shaped(t *testing.T, name, path, body string) {
	t.Helper()
	var v struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Error.Type == "" ||
		v.Error.Message == "" || (path == "/v1/messages") != (v.Type == "error") {
		t.Errorf("%s: %s is no error of its protocol: %s", name, path, body)
	}
}

// upstreams are back ends that do wrong, with the status that clients get in one piece.
var upstreams = []struct {
	name   string
	status int
	handle http.HandlerFunc
}{
	{"an error", 400, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error": {"message": "context too small"}}`)
	}},
	{"a server error", 502, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
	{"overloaded", 503, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
	{"a redirect elsewhere", 502, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://198.51.100.1/", http.StatusTemporaryRedirect)
	}},
	{"one piece", 502, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices": [{"text": "Hello"}]}`)
	}},
	{"a page", 502, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>gateway</html>\n")
	}},
	{"broken events", 502, events("data: {\"choices\": [{\"text\": \"He\"}]}\n\ndata: {'choices'}\n\n")},
	{"no object", 502, events("data: 3\n\n")},
	{"an error in the stream", 502, events("data: {\"error\": {\"message\": \"out of memory\"}}\n\n")},
	{"no end", 502, events("data: {\"choices\": [{\"text\": \"He\"}]}\n\n")},
	{"an end without a reason", 502, events("data: {\"choices\": [{\"text\": \"He\"}]}\n\ndata: [DONE]\n\n")},
	{"an unknown reason", 502, events("data: {\"choices\": [{\"text\": \"He\", \"finish_reason\": \"abort\"}]}\n\n")},
	{"breaks off", 502, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "data: {\"choices\": [{\"te")
	}},
	{"a length that is too short", 502, func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+
			"Connection: close\r\nContent-Length: 3\r\n\r\n"+
			"data: {\"choices\": [{\"text\": \"He\", \"finish_reason\": \"stop\"}]}\n\n")
	}},
	{"broken chunks", 502, func(w http.ResponseWriter, _ *http.Request) {
		raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n6\r\ndata: \r\nzz\r\n")
	}},
	{"no HTTP", 503, func(w http.ResponseWriter, _ *http.Request) { raw(w, "hello\r\n\r\n") }},
	{"a header without an end", 504, func(w http.ResponseWriter, r *http.Request) {
		c := raw(w, "HTTP/1.1 200 OK\r\n")
		for range 200 {
			if _, err := io.WriteString(c, "X: 1\r\n"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}},
	{"a giant line", 502, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	}},
	{"giant headers", 503, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 2000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<10))
		}
		w.WriteHeader(200)
	}},
	{"silent", 504, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{"silent in the middle", 504, func(w http.ResponseWriter, r *http.Request) {
		events("data: {\"choices\": [{\"text\": \"He\"}]}\n\n")(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}},
	{"endless comments", 502, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(": \n\n", 1000)); err != nil {
				return
			}
		}
	}},
	{"slow without an end", 504, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			io.WriteString(w, "data: {\"choices\": [{\"text\": \"\"}]}\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}},
}

// raw answers by bytes that need be no HTTP. The connection ends with the test.
func raw(w http.ResponseWriter, text string) net.Conn {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(c, text)
	time.AfterFunc(time.Minute, func() { c.Close() })
	return c
}

func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
	}
}

// TestHostileUpstreams has back ends do wrong: in seconds the client has an error in
// the shape of its protocol, as a refusal or at the end of the stream.
func TestHostileUpstreams(t *testing.T) {
	for _, u := range upstreams {
		t.Run(strings.ReplaceAll(u.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { hostileUpstream(t, u.status, u.handle) })
		})
	}
}

func hostileUpstream(t *testing.T, answered int, handle http.HandlerFunc) {
	up := &servetest.Upstream{Dialect: "vllm"}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/completions" {
			io.Copy(io.Discard, r.Body)
			handle(w, r)
			return
		}
		up.ServeHTTP(w, r)
	})
	url := startLate(t, handler, nil, openai.Limits{Silence: 700 * time.Millisecond,
		Total: 2 * time.Second, Line: 1 << 16, Body: 1 << 20})
	for _, p := range wire.All {
		begun := time.Now()
		status, text := post(t, url+p.Path(), fmt.Sprintf(requests[p.Path()], ""))
		want := answered
		if want == 503 && p == wire.Messages {
			want = 529
		}
		if status != want {
			t.Errorf("%s: status %d, want %d: %s", p.Name(), status, want, text)
		}
		shaped(t, p.Name(), p.Path(), text)
		status, text = post(t, url+p.Path(), fmt.Sprintf(requests[p.Path()], `, "stream": true`))
		if status != 200 {
			shaped(t, p.Name(), p.Path(), text)
		} else if last := lastEvent(text); p == wire.Responses {
			if !strings.Contains(last, `"type":"response.failed"`) {
				t.Errorf("%s: the stream ends with %s", p.Name(), last)
			}
		} else {
			shaped(t, p.Name(), p.Path(), last)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s: it took %s", p.Name(), took)
		}
	}
}

// lastEvent returns the data of a stream's last event.
func lastEvent(text string) string {
	at := strings.LastIndex(text, "data: ")
	return strings.TrimSpace(text[max(at, 0)+len("data: "):])
}

// TestEndlessUpstream has a back end that keeps to no limit: the answer ends at the request's.
func TestEndlessUpstream(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm"}
	url := start(t, "qwen3", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			up.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: {\"choices\": [{\"text\": \"word \"}]}\n\n"); err != nil {
				return
			}
		}
	}), nil, openai.Limits{})
	for _, extra := range []string{"", `, "stream": true`} {
		status, text := post(t, url+"/v1/messages", fmt.Sprintf(requests["/v1/messages"], extra))
		if status != 200 || !strings.Contains(text, `"stop_reason":"max_tokens"`) {
			t.Errorf("%d %.300s", status, text)
		}
	}
}

// TestHostileClients has clients do wrong: each gets an error or loses its connection, in time, and
// the server goes on.
func TestHostileClients(t *testing.T) {
	const head = "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, send, want string // want "": the connection ends, with an error or without
		slowly           bool
	}{
		{"too long", head + "Content-Length: 100000\r\n\r\n" + strings.Repeat(" ", 100000), "413 ", false},
		{"longer than it says", head + "Content-Length: 2\r\n\r\n{}garbage", "400 ", false},
		{"shorter than it says", head + "Content-Length: 500\r\n\r\n{}", "504 ", false},
		{"no length", head + "\r\n", "400 ", false},
		{"a negative length", head + "Content-Length: -1\r\n\r\n", "400 ", false},
		{"two lengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400 ", false},
		{"broken chunks", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400 ", false},
		{"endless chunks", head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 100), "413 ", false},
		{"giant headers", head + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", "431 ", false},
		{"no HTTP", "hello\r\n\r\n", "400 ", false},
		{"no JSON", head + "Content-Length: 5\r\n\r\n{'a'}", "400 ", false},
		{"deep JSON", head + "Content-Length: 50000\r\n\r\n" + strings.Repeat("[", 50000), "400 ", false},
		{"a slow header", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 500), "", true},
		{"a slow body", head + "Content-Length: 500\r\n\r\n" + strings.Repeat(" ", 500), "504 ", true},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hostileClient(t, tt.name, tt.send, tt.want, tt.slowly)
			})
		})
	}
}

// hostileClient is in a bubble, which ends with no goroutine left.
func hostileClient(t *testing.T, name, send, want string, slowly bool) {
	address := startLate(t, &servetest.Upstream{Dialect: "vllm", Write: agent(t)},
		func(o *serve.Options) {
			o.Limits = serve.Limits{Body: 1 << 16, Read: 300 * time.Millisecond}
		}, openai.Limits{})
	c, err := pipenet.Dial(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Hour))
	go func() {
		if !slowly {
			io.WriteString(c, send)
			return
		}
		at := strings.Index(send, "\r\n\r\n") + 1 // of a body, the header comes at once
		io.WriteString(c, send[:at])
		for _, b := range []byte(send[at:]) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if want != "" && !strings.HasPrefix(r.Status, want) {
			t.Errorf("%s %s", r.Status, body)
		}
		if r.Header.Get("Content-Type") == "application/json" {
			shaped(t, name, "/v1/messages", string(body))
		}
	} else if nerr, ok := err.(net.Error); ok && nerr.Timeout() || want != "" {
		t.Error(err)
	}
	status, text := post(t, address+"/v1/messages", fmt.Sprintf(requests["/v1/messages"], ""))
	if status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

// TestStalledClient has a client that takes nothing: its request ends.
func TestStalledClient(t *testing.T) { synctest.Test(t, testStalledClient) }

func testStalledClient(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm",
		Write: func(string) string { return strings.Repeat("word ", 1<<20) }}
	address := startLate(t, up, func(o *serve.Options) {
		o.Limits = serve.Limits{Write: 300 * time.Millisecond}
	}, openai.Limits{})
	c, err := pipenet.Dial(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const body = `{"stream": true, "max_tokens": 9999999, "messages": [{"role": "user", "content": "x"}]}`
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	for deadline := time.Now().Add(time.Minute); up.Cancelled.Load() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the upstream goes on")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// holding answers when it is told to.
type holding struct {
	speaker
	taken, release chan struct{}
}

func (h *holding) Generate(_ context.Context, _ serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	h.taken <- struct{}{}
	<-h.release
	return serve.Result{}, take(serve.Piece{Text: []byte("Hello")})
}

// mostHeld is how many bytes a request of one long text may take for a byte of its body while it is
// answered: the text, the prompt, and the room in which they grew.
const mostHeld = 4

// TestManyLargeBodies fills the room for bodies with four of 15 MB. Others are refused in the shape
// of their protocol, whatever their size, and take no memory; where the four are answered, there is
// room again.
func TestManyLargeBodies(t *testing.T) {
	src, tm := compile(t, "qwen3")
	back := &holding{taken: make(chan struct{}), release: make(chan struct{})}
	const form = `{"max_tokens": 9, "messages": [{"role": "user", "content": "%s"}]}`
	large := fmt.Sprintf(form, strings.Repeat("word ", 3<<20))
	small := fmt.Sprintf(form, strings.Repeat("word ", 1<<16))
	s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
		Backend: back, Limits: serve.Limits{Memory: 2 * int64(4*4*len(large)+1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	defer server.CloseClientConnections() // refused bodies that are still being sent
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask := func(body string) (*http.Response, error) {
		r, err := http.Post(server.URL+"/v1/chat/completions", "application/json",
			strings.NewReader(body))
		if err == nil {
			r.Body.Close()
		}
		return r, err
	}
	before := heap()
	answered := make(chan error)
	hold := func() {
		go func() {
			r, err := ask(large)
			if err == nil && r.StatusCode != 200 {
				err = errors.New(r.Status)
			}
			answered <- err
		}()
		select {
		case <-back.taken:
		case err := <-answered:
			t.Fatalf("a body for which there is room: %v", err)
		}
	}
	for range 4 {
		hold()
	}
	for path := range requests {
		body := small
		if path == "/v1/responses" {
			body = fmt.Sprintf(`{"input": "%s"}`, strings.Repeat("word ", 1<<16))
		}
		r, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 429 || r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, Retry-After %q", path, r.Status, r.Header.Get("Retry-After"))
		}
		shaped(t, "no room", path, string(text))
	}
	var wave sync.WaitGroup
	for range 8 {
		wave.Go(func() { // a connection that ends while the body is sent is a refusal too
			if r, err := ask(large); err == nil && r.StatusCode != 429 {
				t.Errorf("a body for which there is no room: %s", r.Status)
			}
		})
	}
	wave.Wait()
	per := float64(heap()-before) / float64(4*len(large))
	t.Logf("%.1f bytes for a byte of the bodies", per)
	if per > mostHeld {
		t.Errorf("%.1f bytes for a byte of the bodies; expected at most %d", per, mostHeld)
	}
	for range 4 {
		back.release <- struct{}{}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	hold()
	back.release <- struct{}{}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
