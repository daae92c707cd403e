package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/harness/testkit/double/servetest"
)

// postMessages sends a server a request with a key, and returns the status of the answer.
func postMessages(t *testing.T, url, key, body string) (status int) {
	t.Helper()
	r, err := http.NewRequest("POST", url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", key)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	return a.StatusCode
}

// largeBodies sends a server bodies of 15 MiB and of 200 KiB, of every third of the shapes that
// take much memory, by eight clients at once. It returns the most memory that the process took
// meanwhile, in bytes: about its resident set.
func largeBodies(t *testing.T, url, key string) (most uint64) {
	t.Helper()
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			metrics.Read(memory)
			most = max(most, memory[0].Value.Uint64()-memory[1].Value.Uint64())
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	shapes := append(servetest.Shapes(), servetest.Tools()...)
	jobs := make(chan int)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for i := range jobs {
				shape := shapes[i%len(shapes)]
				r, err := http.NewRequest("POST", url+shape.Path,
					shape.Body([]int{15 << 20, 200 << 10}[i%2]))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("X-Api-Key", key)
				// a refusal may end the connection while the body is sent
				if a, err := http.DefaultClient.Do(r); err == nil {
					io.Copy(io.Discard, a.Body)
					a.Body.Close()
				}
			}
		})
	}
	for i := range shapes {
		if i%3 == 0 {
			jobs <- i
		}
	}
	close(jobs)
	clients.Wait()
	close(done)
	<-ended
	t.Logf("bodies that take much memory: %d MiB", most>>20)
	return most
}

// TestServe starts the server before a scripted upstream, asks it with a key, and ends it.
func TestServe(t *testing.T) {
	back := httptest.NewServer(&servetest.Upstream{Dialect: "llama-server",
		Write: func(string) string { return "Hello" }})
	defer back.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ctx, stop := context.WithCancel(t.Context())
	var errs servetest.Printed
	c := &call{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs, base: ctx,
		getenv: func(name string) string {
			if name == sealKeyVariable {
				return strings.Repeat("k", 32)
			}
			return ""
		}}
	status := make(chan int, 1)
	go func() {
		status <- c.main([]string{"serve", "--upstream", back.URL, "--listen", "127.0.0.1:0",
			"--template", "../../corpus/qwen3/template.jinja", "--model", "qwen",
			"--keys", write("keys", "sk-one\nsk-two\n"), "--limit", "total=20K"})
	}()
	var url string
	for deadline := time.Now().Add(time.Minute); url == ""; time.Sleep(time.Millisecond) {
		if url = errs.Address(); url == "" && time.Now().After(deadline) {
			t.Fatal(errs.String())
		}
	}
	for key, want := range map[string]int{"sk-two": 200, "sk-three": 401} {
		if got := postMessages(t, url, key, `{"model": "qwen", "max_tokens": 99, `+
			`"messages": [{"role": "user", "content": "x"}]}`); got != want {
			t.Errorf("%s: status %d, want %d", key, got, want)
		}
	}
	// requests take more together than the look at the template may
	long := strings.Repeat(`{"role": "user", "content": "x"},`, 200)
	for range 30 {
		if got := postMessages(t, url, "sk-one", `{"model": "qwen", "max_tokens": 9, `+
			`"messages": [`+strings.TrimSuffix(long, ",")+`]}`); got != 200 {
			t.Fatalf("a long request: status %d", got)
		}
	}
	if most := largeBodies(t, url, "sk-one"); most > 1<<30 {
		t.Errorf("bodies that take much memory: %d MiB; expected at most 1024", most>>20)
	}
	stop()
	if got := <-status; got != exitOK {
		t.Errorf("status %d: %s", got, errs.String())
	}
	for _, tt := range []struct {
		args []string
		want int
		text string
	}{
		{[]string{"serve"}, exitUsage, "needs a model file"},
		{[]string{"serve", "m.gguf", "--upstream", back.URL}, exitUsage, "takes no model file"},
		{[]string{"serve", "--upstream", back.URL}, exitUsage, "name it by --template"},
		{[]string{"serve", "--upstream", back.URL, "--template", write("plain.jinja",
			"{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")},
			exitFailed, "rejected"},
		{[]string{"serve", "--upstream", back.URL, "--template", "../../corpus/qwen3/template.jinja",
			"--limit", "total=2K"}, exitFailed, "all renders of the template together"},
		{[]string{"serve", "--upstream", back.URL, "--template", "../../corpus/qwen3/template.jinja",
			"--limit", "source=1K"}, exitUsage, "the limit source"},
		{[]string{"serve", "--upstream", back.URL, "--template", "../../corpus/qwen3/template.jinja",
			"--dialect", "other"}, exitUsage, `no dialect is named "other"`},
		{[]string{"serve", "--upstream", back.URL, "--seal-key", write("short", "short")}, exitUsage,
			"at least 32"},
	} {
		_, errs, got := assay("", tt.args...)
		if got != tt.want || !strings.Contains(errs, tt.text) {
			t.Errorf("%v: status %d: %s", tt.args, got, errs)
		}
	}
}
