package openai_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/pipenet"
)

// serve starts a server on loopback and returns a client of it.
func serve(t *testing.T, l openai.Limits, handler http.HandlerFunc) *openai.Client {
	t.Helper()
	return client(t, l, httptest.NewServer(handler))
}

// serveLate starts a server in a bubble, where the limits of time are those of a fake clock.
func serveLate(t *testing.T, handler http.HandlerFunc) *openai.Client {
	t.Helper()
	return client(t, openai.Limits{Body: 1 << 40, Lines: 1 << 40}, pipenet.NewServer(handler))
}

func client(t *testing.T, l openai.Limits, server *httptest.Server) *openai.Client {
	t.Helper()
	t.Cleanup(server.Close)
	c, err := openai.New(server.URL+"/v1/", "sk-secret", l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// events sends a stream's text, in pieces where it has a bar.
func events(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for piece := range strings.SplitSeq(text, "|") {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}
}

func TestStream(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		events     int
		done       bool
		late       int
		err        error
	}{
		{"plain", "data: {}\n\ndata: {\"a\": 1}\n\ndata: [DONE]\n\n", 2, true, 0, nil},
		{"line ends", "data: {}\r\n\r\ndata: {}\r\rdata:{}\n\r\ndata: [DONE]\r\n\r\n", 3, true, 0, nil},
		{"pieces", "da|ta: {\"a|\": 1}\r|\n\r|\ndata: [DO|NE]\n|\n", 1, true, 0, nil},
		{"comments and other fields", ": ping\n\nevent: message\nid: 3\nretry: 5\ndata: {}\n\n:\n\ndata: [DONE]\n\n", 1, true, 0, nil},
		{"data in lines", "data: {\"a\":\ndata: 1}\n\ndata: [DONE]\n\n", 1, true, 0, nil},
		{"no end", "data: {}\n\n", 1, false, 0, nil},
		{"empty", "", 0, false, 0, nil},
		{"late", "data: [DONE]\n\ndata: {}\n\ndata: x\n\n", 0, true, 2, nil},
		{"within an event", "data: {}\n\ndata: {\"a", 1, false, 0, openai.ErrTruncated},
		{"before the empty line", "data: {}\n\ndata: [DONE]\n", 1, false, 0, openai.ErrTruncated},
		{"no JSON", "data: {}\n\ndata: {'a'}\n\n", 1, false, 0, openai.ErrEvent},
		{"no object", "data: \"a\"\n\n", 0, false, 0, openai.ErrEvent},
		{"no field", "data: {}\n\n{\"error\": {\"message\": \"x\"}}\n\n", 1, false, 0, openai.ErrEvent},
		{"named events", "event: error\ndata: {}\n\n", 1, false, 0, nil},
		{"giant line", "data: {}\n\ndata: " + strings.Repeat("x", 5000), 1, false, 0, openai.ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, openai.Limits{Line: 4096}, events(tt.text))
			s, a, err := c.Stream(t.Context(), "/v1/chat/completions", []byte("{}"))
			if err != nil || a != nil {
				t.Fatal(a, err)
			}
			if len(s.Events) != tt.events || s.Done != tt.done || s.Late != tt.late ||
				!errors.Is(s.Err, tt.err) || s.Type != openai.EventStream {
				t.Errorf("%d events, done %t, %d late, %v", len(s.Events), s.Done, s.Late, s.Err)
			}
		})
	}
}

// TestEndless bounds the memory that a server can make its client keep.
func TestEndless(t *testing.T) {
	c := serve(t, openai.Limits{Body: 1 << 16}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", openai.EventStream)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: {}\n\n"); err != nil {
				return
			}
		}
	})
	s, _, err := c.Stream(t.Context(), "/v1/chat/completions", nil)
	if err != nil || !errors.Is(s.Err, openai.ErrTooLarge) {
		t.Error(err, s)
	}
	if _, err := c.Post(t.Context(), "/v1/completions", nil); !errors.Is(err, openai.ErrTooLarge) {
		t.Error(err)
	}
}

// TestLines bounds the lines of a stream, whatever they say.
func TestLines(t *testing.T) {
	for line, events := range map[string]int{"data: {}\n\n": 50, ":\n\n": 0, "\n": 0} {
		c := serve(t, openai.Limits{Lines: 100}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", openai.EventStream)
			io.WriteString(w, strings.Repeat(line, 101))
		})
		s, _, err := c.Stream(t.Context(), "/v1/chat/completions", nil)
		if err != nil || !errors.Is(s.Err, openai.ErrTooLarge) || len(s.Events) != events {
			t.Errorf("%q: %v, %d events, %v", line, err, len(s.Events), s.Err)
		}
	}
}

// TestAll bounds the bytes of all answers of a server together.
func TestAll(t *testing.T) {
	c := serve(t, openai.Limits{Body: 4096, All: 10_000}, func(w http.ResponseWriter,
		_ *http.Request) {
		io.WriteString(w, strings.Repeat(" ", 4000)+"{}")
	})
	for i := range 4 {
		_, err := c.Get(t.Context(), "/v1/models")
		if errors.Is(err, openai.ErrTooLarge) != (i > 1) {
			t.Errorf("answer %d: %v", i+1, err)
		}
	}
}

// TestLargeEvents has more streams with large events than are read at once.
func TestLargeEvents(t *testing.T) {
	const streams = 20
	c := serve(t, openai.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", openai.EventStream)
		long := `data: {"a":"` + strings.Repeat("x", 50_000) + `"}` + "\n\n"
		io.WriteString(w, long+"data: {}\n\n"+long)
	})
	var reading, most, ended atomic.Int32
	seen := make(chan struct{}, streams)
	more := make(chan struct{})
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			events, _, err := c.Events(t.Context(), "/v1/chat/completions", nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer events.Close()
			if _, err := events.Next(); err != nil {
				t.Error(err)
			}
			now := reading.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			seen <- struct{}{}
			<-more
			reading.Add(-1)
			for range 2 {
				if _, err := events.Next(); err != nil {
					t.Error(err)
				}
			}
			ended.Add(1)
		})
	}
	for range 8 {
		<-seen
	}
	time.Sleep(100 * time.Millisecond) // in which one more would come
	close(more)
	all.Wait()
	if most.Load() > 8 || ended.Load() != streams {
		t.Errorf("%d large events at once, %d streams came to their end", most.Load(), ended.Load())
	}
}

// TestDrops bounds the work of reading an answer that comes byte by byte.
func TestDrops(t *testing.T) {
	c := serve(t, openai.Limits{Body: 10_000}, func(w http.ResponseWriter, _ *http.Request) {
		for range 1000 {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) // else they come together
		}
	})
	if _, err := c.Get(t.Context(), "/v1/models"); !errors.Is(err, openai.ErrTooLarge) {
		t.Error(err)
	}
}

// TestLongEvent bounds an event whose lines are short.
func TestLongEvent(t *testing.T) {
	for lines, want := range map[int]error{37: nil, 40: openai.ErrTooLarge} {
		c := serve(t, openai.Limits{Line: 1000}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", openai.EventStream)
			io.WriteString(w, "data: {}\n"+strings.Repeat("data:          \n", lines)+"\n")
		})
		s, _, err := c.Stream(t.Context(), "/v1/chat/completions", nil)
		if err != nil || !errors.Is(s.Err, want) {
			t.Errorf("%d lines: %v, %v", lines, err, s.Err)
		}
	}
}

// TestCompressed has an answer that a client could unfold: it comes as it is.
func TestCompressed(t *testing.T) {
	c := serve(t, openai.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("it asks for %s", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(make([]byte, 1<<20))
		z.Close()
	})
	if a, err := c.Get(t.Context(), "/v1/models"); err != nil || len(a.Body) > 1<<14 {
		t.Error(len(a.Body), err)
	}
}

// TestSilence checks that the client ends a request that the server does not.
func TestSilence(t *testing.T) { synctest.Test(t, testSilence) }

func testSilence(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/started" {
			w.Header().Set("Content-Type", openai.EventStream)
			io.WriteString(w, "data: {}\n\n")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
	c := serveLate(t, hang)
	if _, err := c.Get(t.Context(), "/v1/models"); !errors.Is(err, openai.ErrSilent) {
		t.Error(err)
	}
	s, _, err := c.Stream(t.Context(), "/v1/started", nil)
	if err != nil || !errors.Is(s.Err, openai.ErrSilent) || len(s.Events) != 1 {
		t.Error(err, s)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller is gone")
	cancel(gone)
	if _, err := c.Get(ctx, "/v1/models"); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestSlow ends a stream that keeps alive and says nothing.
func TestSlow(t *testing.T) { synctest.Test(t, testSlow) }

func testSlow(t *testing.T) {
	c := serveLate(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", openai.EventStream)
		for r.Context().Err() == nil {
			io.WriteString(w, ": ping\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(3 * time.Second)
		}
	})
	if s, _, err := c.Stream(t.Context(), "/v1/chat/completions", nil); err != nil ||
		!errors.Is(s.Err, openai.ErrSlow) {
		t.Error(err, s)
	}
}

// TestBroken closes the connection within an answer.
func TestBroken(t *testing.T) {
	c := serve(t, openai.Limits{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "{")
	})
	if _, err := c.Post(t.Context(), "/v1/completions", nil); !errors.Is(err, openai.ErrTruncated) {
		t.Error(err)
	}
}

func TestAnswers(t *testing.T) {
	c := serve(t, openai.Limits{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/moved":
			http.Redirect(w, r, "/v1/models", http.StatusTemporaryRedirect)
		case "/v1/text":
			io.WriteString(w, "no JSON")
		default:
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": {"message": "%s is wrong"}}`, r.Header.Get("Authorization"))
		}
	})
	a, err := c.Post(t.Context(), "/v1/chat/completions", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `HTTP status 401: "Bearer [API key] is wrong"`; a.OK() || a.Fault() != want || strings.Contains(a.Body, "secret") {
		t.Errorf("%s, want %s", a.Fault(), want)
	}
	if s, a, err := c.Stream(t.Context(), "/v1/chat/completions", nil); s != nil || err != nil ||
		a.Status != http.StatusUnauthorized {
		t.Error(s, a, err)
	}
	if a, err := c.Get(t.Context(), "/v1/moved"); err != nil ||
		a.Status != http.StatusTemporaryRedirect {
		t.Error(a, err)
	}
	if a, err := c.Get(t.Context(), "/v1/text"); err != nil || a.Err == nil || !a.JSON.IsNull() {
		t.Error(a, err)
	}
}

// TestIdle asks a server that has closed the connection meanwhile: the client asks again on a fresh
// one, and the server hears each request once.
func TestIdle(t *testing.T) {
	heard := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heard++
		io.WriteString(w, "{}")
	}))
	defer server.Close()
	c, err := openai.New(server.URL, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if a, err := c.Post(t.Context(), "/v1/completions", []byte("{}")); err != nil || !a.OK() {
			t.Fatal(a, err)
		}
		server.CloseClientConnections()
	}
	if heard != 5 {
		t.Errorf("%d requests were heard", heard)
	}
}

func TestNew(t *testing.T) {
	for address, root := range map[string]string{
		"http://127.0.0.1:8080":          "http://127.0.0.1:8080",
		"http://127.0.0.1:8080/v1":       "http://127.0.0.1:8080",
		"https://example.com/models/v1/": "https://example.com/models",
		"https://example.com/?key=x#y":   "https://example.com",
		"127.0.0.1:8080":                 "",
		"ftp://example.com":              "",
		"http://":                        "",
		"https://me:secret@example.com":  "",
	} {
		c, err := openai.New(address, "", openai.Limits{})
		switch {
		case root == "" && err == nil:
			t.Errorf("%s is taken", address)
		case root == "" && strings.Contains(err.Error(), "secret"):
			t.Error(err)
		case root != "" && (err != nil || c.Root() != root):
			t.Errorf("%s: %v, %v, want %s", address, c, err, root)
		}
	}
}

// FuzzStream reads any bytes as a stream.
func FuzzStream(f *testing.F) {
	f.Add("data: {}\n\ndata: [DONE]\n\n")
	f.Add(": x\r\rdata: {\"a\": [1]}\r\n\r\nevent: error\n")
	var text string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		events(text)(w, r)
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, in string) {
		text = strings.ReplaceAll(in, "|", "")
		c, err := openai.New(server.URL, "", openai.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := c.Stream(t.Context(), "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Err == nil && strings.Count(text, "data") < len(s.Events) {
			t.Errorf("%d events of %q", len(s.Events), text)
		}
	})
}
