package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/harness/testkit/command"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// flood writes to a connection until the client has had enough, at most so many bytes.
func flood(w io.Writer, before, piece string, most int) {
	if _, err := io.WriteString(w, before); err != nil {
		return
	}
	many := strings.Repeat(piece, max(1, (1<<20)/len(piece)))
	for sent := 0; sent < most; sent += len(many) {
		if _, err := io.WriteString(w, many); err != nil {
			return
		}
	}
}

const (
	endless = 8 << 30
	ok      = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
	asJSON  = ok + "Content-Type: application/json\r\n\r\n"
	asEvent = ok + "Content-Type: text/event-stream\r\n\r\n"
	taint   = "\x1b[2J\r::error::owned\n::error::owned\n\u202eowned\x9b31m"
)

// answers are the wrong answers of a server to any request, as bytes of a connection.
var answers = []struct {
	name string
	send func(w io.Writer)
}{
	{"endless status line", func(w io.Writer) { flood(w, "HTTP/1.1 200 ", "O", endless) }},
	{"status line of a megabyte", func(w io.Writer) {
		flood(w, "HTTP/1.1 200 ", "::error::owned ", 1<<20)
		io.WriteString(w, "\r\n\r\n{}")
	}},
	{"no HTTP", func(w io.Writer) { io.WriteString(w, taint) }},
	{"broken header", func(w io.Writer) { io.WriteString(w, ok+taint+"\r\n\r\n") }},
	{"endless header", func(w io.Writer) { flood(w, ok+"X: ", "x", endless) }},
	{"endless headers", func(w io.Writer) { flood(w, ok, "A:\r\n", endless) }},
	{"endless early hints", func(w io.Writer) {
		flood(w, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", endless)
	}},
	{"endless body", func(w io.Writer) { flood(w, asJSON, "x", endless) }},
	{"endless drops", func(w io.Writer) {
		io.WriteString(w, asJSON)
		for sent := 0; sent < endless; sent++ {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
		}
	}},
	{"endless white space", func(w io.Writer) { flood(w, asJSON, " ", endless) }},
	{"endless brackets", func(w io.Writer) { flood(w, asJSON, "[", endless) }},
	{"brackets", func(w io.Writer) { flood(w, asJSON, "[", 14<<20) }},
	{"braces", func(w io.Writer) { flood(w, asJSON, `{"a":`, 14<<20) }},
	{"many numbers", func(w io.Writer) { flood(w, asJSON+"[", "0,", 14<<20); io.WriteString(w, "0]") }},
	{"very many numbers", func(w io.Writer) {
		flood(w, asJSON+"[", "0,", 60<<20)
		io.WriteString(w, "0]")
	}},
	{"many models", func(w io.Writer) {
		flood(w, asJSON+`{"object":"list","data":[`, `{},`, 14<<20)
		io.WriteString(w, "{}]}")
	}},
	{"very many models", func(w io.Writer) {
		flood(w, asJSON+`{"object":"list","data":[`, `{},`, 60<<20)
		io.WriteString(w, "{}]}")
	}},
	{"many objects", func(w io.Writer) { flood(w, asJSON+"[", "{},", 14<<20); io.WriteString(w, "{}]") }},
	{"many files", func(w io.Writer) {
		flood(w, asJSON+`{"sha":"`+strings.Repeat("a", 40)+`","siblings":[`, "{},", 14<<20)
		io.WriteString(w, `{}]}`)
	}},
	{"giant name", func(w io.Writer) {
		flood(w, asJSON+`{"data":[{"id":"`, `\u001b`, 60<<20)
		io.WriteString(w, `"}]}`)
	}},
	{"tainted name", func(w io.Writer) {
		io.WriteString(w, asJSON+`{"data":[{"id":"`+`\u001b[2J\n::error::owned\r::error::owned`+`"}],`+
			`"error":{"message":"\u001b[2J\n::error::owned"}}`)
	}},
	{"tainted error", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 400 "+`::error::owned`+"\r\nConnection: close\r\n"+
			"X-Error-Message: \x1b[2J ::error::owned\r\nX-Error-Code: \x1b[2J\r\n\r\n"+
			`{"error":{"message":"\u001b[2J\n::error::owned"}}`)
	}},
	{"long length", func(w io.Writer) {
		io.WriteString(w, ok+"Content-Length: 9223372036854775807\r\n\r\n{}")
	}},
	{"length that is no number", func(w io.Writer) {
		io.WriteString(w, ok+"Content-Length: -1\r\n\r\n{}")
	}},
	{"two lengths", func(w io.Writer) {
		io.WriteString(w, ok+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ")
	}},
	{"bytes after the answer", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"+
			"Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n::error::owned\x1b[2J")
	}},
	{"chunk of great length", func(w io.Writer) {
		flood(w, ok+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "x", endless)
	}},
	{"endless extension of a chunk", func(w io.Writer) {
		flood(w, ok+"Transfer-Encoding: chunked\r\n\r\n1;", "x", endless)
	}},
	{"endless chunks of a byte", func(w io.Writer) {
		flood(w, ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", endless)
	}},
	{"endless trailers", func(w io.Writer) {
		flood(w, ok+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "A: b\r\n", endless)
	}},
	{"redirects without an end", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: x\r\n\r\n")
	}},
	{"redirect to nowhere", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://\x1b[2J/\r\n\r\n")
	}},
	{"redirect to a giant place", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /"+
			strings.Repeat("x", 200<<10)+"\r\n\r\n")
	}},
	{"wait of a year", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 429 Busy\r\nConnection: close\r\nRetry-After: 31536000\r\n\r\n{}")
	}},
	{"wait of an age", func(w io.Writer) {
		io.WriteString(w, "HTTP/1.1 503 Busy\r\nConnection: close\r\n"+
			"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n{}")
	}},
	{"compressed bomb", func(w io.Writer) {
		io.WriteString(w, ok+"Content-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n")
		z := gzip.NewWriter(w)
		flood(z, "", " ", endless)
	}},
	{"compressed nothing", func(w io.Writer) {
		io.WriteString(w, ok+"Content-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n")
		var header bytes.Buffer
		gzip.NewWriter(&header).Flush()
		w.Write(header.Bytes()[:10])
		flood(w, "", "\x00\x00\x00\xff\xff", endless) // empty blocks
	}},
	{"endless drops of events", func(w io.Writer) {
		io.WriteString(w, asEvent)
		for sent := 0; sent < endless; sent++ {
			if _, err := io.WriteString(w, ":\n"); err != nil {
				return
			}
		}
	}},
	{"endless line", func(w io.Writer) { flood(w, asEvent+"data: ", "x", endless) }},
	{"endless comments", func(w io.Writer) { flood(w, asEvent, ": \n\n", endless) }},
	{"endless data of an event", func(w io.Writer) { flood(w, asEvent, "data:\n", endless) }},
	{"event of many lines", func(w io.Writer) {
		flood(w, asEvent+"data: [\n", "data: 0,0,0,0,0,0,0,0,0,0,0,0,0,\n", 60<<20)
		io.WriteString(w, "data: 0]\n\n")
	}},
	{"endless events", func(w io.Writer) { flood(w, asEvent, "data: {}\n\n", endless) }},
	{"endless names of events", func(w io.Writer) { flood(w, asEvent, "event: x\n", endless) }},
	{"tainted events", func(w io.Writer) {
		io.WriteString(w, asEvent+"event: \x1b[2J\ndata: {\"error\":\"\\u001b[2J\\n::error::owned\"}\n\n"+taint)
	}},
}

// wrong is a server whose answers to some requests are wrong, and whose others are those of a
// server that is well.
func wrong(t *testing.T, well http.Handler, path *regexp.Regexp, send func(io.Writer)) (url string,
	met *atomic.Int32) {
	met = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !path.MatchString(r.URL.Path) {
			well.ServeHTTP(w, r)
			return
		}
		met.Add(1)
		io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		send(c)
		if tcp, is := c.(*net.TCPConn); is {
			tcp.CloseWrite()
		}
		time.Sleep(20 * time.Millisecond)
	}))
	t.Cleanup(s.Close)
	return s.URL, met
}

// spent is the cost of a run of the program.
type spent struct {
	status   int
	out      string
	took     time.Duration // of the processor
	wall     time.Duration
	resident int64 // bytes
}

// spend runs the program. Where use is set it is called with the output, and the program ends when
// it returns.
func spend(t *testing.T, program string, use func(out *servetest.Printed), env []string,
	args ...string) spent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + cmd.Dir, "PATH=/nowhere", "NO_COLOR=1"}, env...)
	var out servetest.Printed
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if use != nil {
		use(&out)
		cmd.Process.Signal(syscall.SIGTERM)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return spent{cmd.ProcessState.ExitCode(), out.String(),
		cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begun),
		usage.Maxrss << 10}
}

// interrupted is the exit status after a signal.
const interrupted = 130

// chatWith asks a server that starts for answers in every protocol, in one piece and as a stream,
// three at once.
func chatWith(t *testing.T, out *servetest.Printed) {
	var at string
	for deadline := time.Now().Add(hang); at == ""; time.Sleep(5 * time.Millisecond) {
		if at = out.Address(); at == "" && time.Now().After(deadline) {
			t.Fatal(out.String())
		}
	}
	for path, body := range map[string]string{
		"/v1/chat/completions": `"messages":[{"role":"user","content":"Hello."}]`,
		"/v1/messages":         `"max_tokens":9,"messages":[{"role":"user","content":"Hello."}]`,
		"/v1/responses":        `"input":"Hello."`,
	} {
		for _, stream := range []string{"false", "true"} {
			var clients sync.WaitGroup
			for range 3 {
				clients.Go(func() {
					r, err := http.Post(at+path, "application/json", strings.NewReader(
						`{"model":"m","stream":`+stream+","+body+"}"))
					if err != nil {
						t.Error(err)
						return
					}
					defer r.Body.Close()
					text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
					if err != nil || len(text) > 64<<10 ||
						strings.ContainsAny(string(text), "\x1b\u009b") ||
						stream == "false" && r.StatusCode < 400 {
						t.Errorf("%s: status %d, %d bytes, %v: %.300q", path, r.StatusCode, len(text),
							err, text)
					}
				})
			}
			clients.Wait()
		}
	}
}

// TestServers puts wrong answers of a server to the commands that ask one, and holds their cost,
// output and exit status to bounds: make hostile.
func TestServers(t *testing.T) {
	if !*whole {
		t.Skip("make hostile runs it")
	}
	program := command.Path(t)
	chosen := regexp.MustCompile(*only)
	hub := fakehub.New()
	t.Cleanup(hub.Close)
	var model bytes.Buffer
	if err := gguf.Create(&model, nil, []gguf.Pair{{Key: "general.architecture",
		Value: gguf.Text("llama")}}, nil); err != nil {
		t.Fatal(err)
	}
	hub.Repo("a/b").Put("m.gguf", model.Bytes())
	hub.Repo("a/b").Put("tokenizer_config.json", []byte(`{"chat_template":"{{ messages[0].content }}"}`))
	at, err := url.Parse(hub.URL())
	if err != nil {
		t.Fatal(err)
	}
	wellHub := httputil.NewSingleHostReverseProxy(at)
	nothing := regexp.MustCompile("")
	wellServer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
		default:
			http.NotFound(w, r)
		}
	})
	data := filepath.Join(t.TempDir(), "data.jsonl")
	requests, err := exec.Command(program, "dataset", "--requests", "40").Output()
	if err == nil {
		err = os.WriteFile(data, requests, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := t.TempDir()
	list := exec.Command(program, "hub", "list", "--out", listed)
	list.Env = append(os.Environ(), hubEnv(hub.URL())...)
	if out, err := list.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	manifest, err := os.ReadFile(filepath.Join(listed, "repositories.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	folders := t.TempDir()
	fetching := func(string) []string { // it writes beside its manifest
		folder, err := os.MkdirTemp(folders, "")
		file := filepath.Join(folder, "repositories.jsonl")
		if err := errors.Join(err, os.WriteFile(file, manifest, 0o666)); err != nil {
			t.Fatal(err)
		}
		return []string{"hub", "fetch", "--retries", "0", file}
	}
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/models" {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"object":"list","data":[{"id":"a/b"}]}`)
	}))
	t.Cleanup(named.Close)
	template, err := filepath.Abs("../../../corpus/qwen3/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	doors := []struct {
		name string
		well http.Handler
		path *regexp.Regexp
		env  func(url string) []string
		args func(url string) []string
		use  func(*testing.T, *servetest.Printed)
		fine bool // the command may go on without the wrong answer
	}{
		{name: "probe", well: wellServer, path: nothing, args: func(url string) []string {
			return []string{"probe", "--untrusted", "--timeout", "2s", url}
		}},
		{name: "probe answers", well: wellServer, path: regexp.MustCompile("completions$|responses$|messages$"), args: func(url string) []string {
			return []string{"probe", "--untrusted", "--timeout", "2s", url}
		}},
		{name: "provider", well: wellServer, path: nothing, args: func(url string) []string {
			return []string{"provider", "--untrusted", "--timeout", "2s", "--tries", "1",
				"--dataset", data, "--log", "log", url}
		}},
		{name: "provider answers", well: wellServer, path: regexp.MustCompile("completions$"), args: func(url string) []string {
			return []string{"provider", "--untrusted", "--timeout", "2s", "--tries", "1",
				"--send", "both", "--dataset", data, "--log", "log", url}
		}},
		{name: "serve", well: wellServer, path: nothing, args: func(url string) []string {
			return []string{"serve", "--listen", "127.0.0.1:0",
				"--upstream-timeout", "2s", "--upstream", url}
		}},
		{name: "pull", well: wellHub, path: nothing, env: hubEnv, args: func(string) []string {
			return []string{"pull", "--untrusted", "--retries", "0", "a/b"}
		}},
		{name: "pull content", well: wellHub, path: regexp.MustCompile("resolve"), env: hubEnv, args: func(string) []string {
			return []string{"pull", "--untrusted", "--retries", "0", "a/b"}
		}},
		{name: "inspect", well: wellHub, path: nothing, env: hubEnv, args: func(string) []string {
			return []string{"inspect", "--untrusted", "--retries", "0", "hf:a/b"}
		}},
		{name: "inspect content", well: wellHub, path: regexp.MustCompile("resolve"), env: hubEnv, args: func(string) []string {
			return []string{"inspect", "--untrusted", "--retries", "0", "hf:a/b"}
		}},
		{name: "check content", well: wellHub, path: regexp.MustCompile("resolve"), env: hubEnv, args: func(string) []string {
			return []string{"check", "--untrusted", "--retries", "0", "hf:a/b"}
		}},
		{name: "hub list", well: wellHub, path: nothing, env: hubEnv, args: func(string) []string {
			return []string{"hub", "list", "--retries", "0", "--out", "folder"}
		}},
		{name: "hub fetch", well: wellHub, path: nothing, env: hubEnv, args: fetching, fine: true},
		{name: "hub fetch content", well: wellHub, path: regexp.MustCompile("resolve"), env: hubEnv,
			args: fetching, fine: true},
		{name: "probe hub", well: wellHub, path: nothing, env: hubEnv, args: func(string) []string {
			return []string{"probe", "--hub", "--untrusted", "--timeout", "2s", named.URL}
		}},
		{name: "serving", well: wellServer, path: regexp.MustCompile("completions$"),
			args: func(url string) []string {
				return []string{"serve", "--listen", "127.0.0.1:0", "--template", template,
					"--model", "m", "--upstream-timeout", "2s", "--upstream", url}
			}, use: chatWith},
	}
	for _, door := range doors {
		for _, a := range answers {
			if !chosen.MatchString(door.name + ": " + a.name) {
				continue
			}
			t.Run(door.name+"/"+a.name, func(t *testing.T) {
				at, met := wrong(t, door.well, door.path, a.send)
				var env []string
				if door.env != nil {
					env = door.env(at)
				}
				var use func(*servetest.Printed)
				if door.use != nil {
					use = func(out *servetest.Printed) { door.use(t, out) }
				}
				s := spend(t, program, use, env, door.args(at)...)
				if met.Load() == 0 {
					t.Error("nobody asked for the wrong answer")
				}
				first, _, _ := strings.Cut(s.out, "\n")
				t.Logf("status %d, %6d ms of %6d, %4d MiB, %d bytes of output: %.200q", s.status, s.took.Milliseconds(),
					s.wall.Milliseconds(), s.resident>>20, len(s.out), first)
				if !utf8.ValidString(s.out) || strings.ContainsAny(s.out, "\x1b\u009b\u202e\r") ||
					strings.Contains("\n"+s.out, "\n::") {
					t.Errorf("tainted: %.500q", s.out)
				}
				wanted := s.status > 0 && s.status <= 3 || s.status == 0 && door.fine
				if door.use != nil {
					wanted = s.status == interrupted
				}
				if strings.Contains(s.out, "goroutine ") || !wanted {
					t.Errorf("status %d: %.2000s", s.status, s.out)
				}
				if strings.Contains(s.out, "nsolicited") {
					t.Errorf("log of net/http: %.400s", s.out)
				}
				if s.took > maxTime || s.resident > maxMemory || len(s.out) > 64<<10 {
					t.Errorf("%v of the processor, %d MiB, %d bytes of output", s.took, s.resident>>20, len(s.out))
				}
			})
		}
	}
}

func hubEnv(url string) []string {
	return []string{"HF_ENDPOINT=" + url, "HF_HUB_DOWNLOAD_TIMEOUT=2"}
}
