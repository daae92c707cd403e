package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// listen has a server serve a listener of its own, before an upstream, and returns its address and
// its handler.
func listen(t *testing.T, up http.Handler, l serve.Limits, log io.Writer) (string, http.Handler) {
	t.Helper()
	src, tm := compile(t, "qwen3")
	s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
		Backend: backend(t, up), Limits: l, Log: slog.New(slog.NewJSONHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, at, 100*time.Millisecond) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return at.Addr().String(), s.Handler()
}

func says(text string) http.Handler {
	return &servetest.Upstream{Dialect: "vllm", Write: func(string) string { return text }}
}

const hello = `{"max_tokens": 99, "messages": [{"role": "user", "content": "x"}]}`

// TestConnections opens many connections that send nothing, or a header that never ends: those that
// ask are answered, and no more are open than there may be.
func TestConnections(t *testing.T) {
	const most = 64
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	address, handler := listen(t, says("Hello"), serve.Limits{Conns: most}, io.Discard)
	for i := range 10 * most {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nX: ")
		}
		if i%most == 0 {
			r, err := client.Post("http://"+address+"/v1/messages", "application/json",
				strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			if r.Body.Close(); r.StatusCode != 200 {
				t.Fatal(r.Status)
			}
		}
	}
	if g := gauges(t, handler); g["assay_connections"] > most+1 ||
		g["assay_connections_closed_total"] < 8*most || g["assay_connections_limit"] != most {
		t.Errorf("connections: %v", g)
	}
}

// TestHeaders has connections send headers of many short lines that never end. Their memory is
// charged for, those for which there is no room are closed, and others are answered afterwards.
func TestHeaders(t *testing.T) {
	address, handler := listen(t, says("Hello"), serve.Limits{Memory: 1, Body: 4 << 20},
		io.Discard)
	var header strings.Builder
	for i := 0; header.Len() < 15<<10; i++ {
		fmt.Fprintf(&header, "%x:\n", i)
	}
	base := inUse()
	var held []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"+header.String())
		held = append(held, c)
	}
	value := func(name string) float64 { return gauges(t, handler)[name] }
	for deadline := time.Now().Add(time.Minute); value("assay_memory_refused_total") == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no header is refused")
		}
		time.Sleep(time.Millisecond)
	}
	g := gauges(t, handler)
	took := inUse() - base
	t.Logf("%.1f MiB for headers, charged for %.1f", took/(1<<20), g["assay_held_bytes"]/(1<<20))
	if took > g["assay_held_bytes_limit"]+100*64<<10 {
		t.Errorf("the headers take %.1f MiB", took/(1<<20))
	}
	for _, c := range held {
		c.Close()
	}
	for deadline := time.Now().Add(time.Minute); value("assay_held_bytes") > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the headers are still held")
		}
		time.Sleep(time.Millisecond)
	}
	if status, text := post(t, "http://"+address+"/v1/messages", hello); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}

// TestTricks sends bytes that proxies and servers read in different ways: each gets one answer at
// most that is no refusal, and the log has one line for it, of JSON.
func TestTricks(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	address, _ := listen(t, says("Hello"), serve.Limits{Read: time.Minute},
		writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}))
	head := func(path string) string { return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" }
	length := fmt.Sprintf("Content-Length: %d\r\n", len(hello))
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hello), hello)
	const lines = `{"model": "a\r\nX: y", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}`
	const second = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, tt := range []struct{ name, send, want string }{
		{"two equal lengths", head("/v1/messages") + length + length + "\r\n" + hello, "200"},
		{"two lengths", head("/v1/messages") + length + "Content-Length: 3\r\n\r\n" + hello, "400"},
		{"a length and chunks", head("/v1/messages") + length + "Transfer-Encoding: chunked\r\n\r\n" +
			chunk + second, "200"},
		{"unknown encoding", head("/v1/messages") + "Transfer-Encoding: chunked, gzip\r\n\r\n" + chunk, "501"},
		{"encoding with a tab", head("/v1/messages") + "Transfer-Encoding:\tchunked\r\n\r\n" + chunk, "200"},
		{"space before the colon", head("/v1/messages") + "Content-Length : 5\r\n\r\n" + hello, "400"},
		{"a folded header", head("/v1/messages") + "X: a\r\n b\r\n" + length + "\r\n" + hello, "200"},
		{"huge extension of a chunk", head("/v1/messages") + "Transfer-Encoding: chunked\r\n\r\n1;" +
			strings.Repeat("x", 1<<16) + "\r\n{\r\n", "400"},
		{"endless trailers", head("/v1/messages") + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.TrimSuffix(chunk, "\r\n") + strings.Repeat("X: y\r\n", 1<<14), ""},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"},
		{"HTTP/0.9", "GET /v1/models\r\n\r\n", "400"},
		{"no host", "POST /v1/messages HTTP/1.1\r\n" + length + "\r\n" + hello, "400"},
		{"two hosts", head("/v1/messages") + "Host: y\r\n" + length + "\r\n" + hello, "400"},
		{"a huge query", head("/v1/messages?"+strings.Repeat("a=b&", 1<<14)) + length + "\r\n" + hello, "431"},
		{"a query", head("/v1/messages?a=%00%0d%0a") + length + "\r\n" + hello, "200"},
		{"two slashes", head("//v1/messages") + length + "\r\n" + hello, "307"},
		{"dots", head("/health/../v1/messages") + length + "\r\n" + hello, "307"},
		{"escaped dots", head("/health/%2e%2e/v1/messages") + length + "\r\n" + hello, "404"},
		{"an escaped slash", head("/v1%2fmessages") + length + "\r\n" + hello, "404"},
		{"a path with a line", head("/v1/messages%0d%0aX:%20y") + length + "\r\n" + hello, "404"},
		{"an absolute path", head("http://localhost/v1/messages") + length + "\r\n" + hello, "200"},
		{"another host", head("http://y/v1/messages") + length + "\r\n" + hello, "421"},
		{"another method", "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"a model with a line", head("/v1/messages") + fmt.Sprintf("Content-Length: %d\r\n\r\n",
			len(lines)) + lines, "404"},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(time.Minute))
			go io.WriteString(c, tt.send)
			in := bufio.NewReader(c)
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				if tt.want != "" {
					t.Fatal(err)
				}
				return
			}
			body, _ := io.ReadAll(r.Body)
			if tt.want != "" && !strings.HasPrefix(r.Status, tt.want) {
				t.Errorf("%s %.200s", r.Status, body)
			}
			if r.Header.Get("X") != "" {
				t.Error("the request has made a header")
			}
			if strings.HasSuffix(tt.send, second) {
				if next, err := http.ReadResponse(in, nil); err == nil {
					t.Errorf("a second answer: %s", next.Status)
				}
			}
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for line := range strings.Lines(log.String()) {
		if !strings.HasPrefix(line, `{"time":`) || !strings.HasSuffix(line, "}\n") ||
			len(line) > 1000 {
			t.Errorf("the log has %.200q", line)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestManyStreams has 1,500 clients at once, of which 64 run and 1,024 wait: the others are
// refused, some go away in the middle, all others are answered whole, and nothing is left.
func TestManyStreams(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm", Pause: time.Millisecond,
		Write: func(string) string { return strings.Repeat("word ", 20) + "end" }}
	address, handler := listen(t, up, serve.Limits{Running: 64, Waiting: 1024, Conns: 2000},
		io.Discard)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}
	defer client.CloseIdleConnections()
	const body = `{"stream": true, "max_tokens": 99, "messages": [{"role": "user", "content": "x"}]}`
	var clients sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	for i := range 1500 {
		clients.Go(func() {
			r, err := client.Post("http://"+address+"/v1/messages", "application/json",
				strings.NewReader(body))
			if err != nil {
				count("lost: " + err.Error())
				return
			}
			defer r.Body.Close()
			if i%7 == 0 {
				count("left")
				return
			}
			text, err := io.ReadAll(r.Body)
			switch {
			case r.StatusCode == 429:
				count("refused")
			case err == nil && bytes.Contains(text, []byte("message_stop")):
				count("whole")
			default:
				count(fmt.Sprint(r.Status, err))
			}
		})
	}
	clients.Wait()
	if t.Log(counts); len(counts) > 3 || counts["whole"] < 64 {
		t.Errorf("by end: %v", counts)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		g := gauges(t, handler)
		if g["assay_held_bytes"] == 0 && g["assay_requests_running"] == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still: %v", g)
		}
	}
}

// TestBytesOfUpstream has the model's text have bytes that are no UTF-8: clients get JSON that is.
func TestBytesOfUpstream(t *testing.T) {
	up := &servetest.Upstream{Dialect: "vllm"}
	address, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/completions" {
			up.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{"a\xff", "\xed\xa0\x80", "\xf0\x9f", "\x98\x80", `\ud800`,
			"\u2028"} {
			fmt.Fprintf(w, "data: {\"choices\": [{\"text\": \"%s\"}]}\n\n", text)
		}
		io.WriteString(w, "data: {\"choices\": [{\"text\": \"\", \"finish_reason\": \"stop\"}]}\n\n")
	}), serve.Limits{}, io.Discard)
	for path, body := range requests {
		for _, extra := range []string{"", `, "stream": true`} {
			status, text := post(t, "http://"+address+path, fmt.Sprintf(body, extra))
			if status != 200 || !utf8.ValidString(text) {
				t.Errorf("%s%s: %d %q", path, extra, status, text)
			}
		}
	}
}
