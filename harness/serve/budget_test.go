package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/testkit/double/servetest"
	"github.com/goassay/assay/harness/testkit/measure/heap"
)

// gauges returns the values of a server's metrics without labels.
func gauges(t testing.TB, h http.Handler) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	values := map[string]float64{}
	for line := range strings.Lines(w.Body.String()) {
		var name string
		var value float64
		if n, _ := fmt.Sscanf(line, "%s %g", &name, &value); n == 2 {
			values[name] = value
		}
	}
	return values
}

// inUse is the memory that is in use, in bytes, once the garbage has been collected.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// weighing answers after a look at the memory that its request takes.
type weighing struct {
	speaker
	look func()
}

func (w *weighing) Generate(_ context.Context, _ serve.Job,
	take func(serve.Piece) error) (serve.Result, error) {
	w.look()
	return serve.Result{}, take(serve.Piece{Text: []byte("Hello")})
}

func (*weighing) Constrains() bool { return true }

// TestMemoryOfRequests holds the memory that a request takes to the one that it is charged for,
// while it is read and prepared and while it is answered, for every shape that takes much for its
// bytes.
func TestMemoryOfRequests(t *testing.T) {
	src, tm := compile(t, "qwen3")
	back := new(weighing)
	s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
		Backend: back})
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Handler()
	server := httptest.NewServer(handler)
	defer server.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // little garbage is counted
	ask := func(shape servetest.Shape, size int) (status int) {
		r, err := http.Post(server.URL+shape.Path, "application/json", shape.Body(size))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		io.Copy(io.Discard, r.Body)
		return r.StatusCode
	}
	weigh := func(shape servetest.Shape, size int) {
		var reason string
		// Where other work keeps the collector waiting, garbage is counted: once without is enough.
		for range 3 {
			var held, charged float64
			base, worked := inUse(), gauges(t, handler)["assay_worked_bytes_total"]
			back.look = func() {
				held, charged = inUse()-base, gauges(t, handler)["assay_held_bytes"]
			}
			var status int
			peak, _ := heap.Growth(func() { status = ask(shape, size) }, 1<<40, nil)
			most := charged + gauges(t, handler)["assay_worked_bytes_total"] - worked
			if status == http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %d bytes are refused", shape.Name, size)
			}
			// the client and the metrics are in this process as well
			const beside = 512 << 10
			if float64(peak) <= most+beside && held <= charged+beside {
				return
			}
			reason = fmt.Sprintf("%d bytes take %.1f MiB, and %.1f MiB while they are answered; they "+
				"are charged for %.1f and %.1f MiB", size, float64(peak)/(1<<20), held/(1<<20),
				most/(1<<20), charged/(1<<20))
		}
		t.Errorf("%s: %s", shape.Name, reason)
	}
	for _, shape := range servetest.Shapes() {
		weigh(shape, 256<<10)
	}
	for _, shape := range servetest.Tools() {
		weigh(shape, 48<<10)
	}
	if g := gauges(t, handler); g["assay_held_bytes"] != 0 || g["assay_working_bytes"] != 0 {
		t.Errorf("nothing runs, and %v", g)
	}
}

// TestPlansKeepNothing has requests with a long text and a tool of their own: the parsers that are
// kept for other requests do not keep the text.
func TestPlansKeepNothing(t *testing.T) {
	_, url, _ := sized(t, new(speaker), 512<<20)
	text := strings.Repeat("word ", 1<<20)
	base := inUse()
	for i := range 8 {
		body := fmt.Sprintf(`{"messages": [{"role": "user", "content": "%s"}], "tools": [{"type":
			"function", "function": {"name": "f%d", "parameters": {"type": "object", "properties":
			{"a%d": {"enum": ["b%d"], "default": ["c%d"]}}}}}]}`, text, i, i, i, i)
		if status, answer := post(t, url+"/v1/chat/completions", body); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if kept := inUse() - base; kept > 5<<20 {
		t.Errorf("%.1f MiB are kept", kept/(1<<20))
	}
}

// sized starts a server with a bound on its memory.
func sized(t *testing.T, back serve.Backend, memory int64) (http.Handler, string,
	*httptest.Server) {
	t.Helper()
	src, tm := compile(t, "qwen3")
	s, err := serve.New(serve.Options{Names: []string{"scripted"}, Source: src, Template: tm,
		Backend: back, Limits: serve.Limits{Memory: memory}})
	if err != nil {
		t.Fatal(err)
	}
	handler := s.Handler()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return handler, server.URL, server
}

// mostLive is the memory that all requests together may take, in bytes: that of the budget, and the
// parsers that are kept.
const mostLive = 640 << 20

// TestMemoryOfAll has 24 clients send bodies of every shape at once, of sizes up to the limit. It
// demands that the live heap stays below its bound, that no request waits for as long as it may,
// and that the server answers afterwards.
func TestMemoryOfAll(t *testing.T) {
	back := &long{begin: "It is: ", word: strings.Repeat("A word, ", 64), words: 1 << 11,
		quiet: true}
	handler, url, _ := sized(t, back, 0)
	client := &http.Client{Timeout: 5 * time.Minute}
	shapes := append(servetest.Shapes(), servetest.Tools()...)
	jobs := make(chan int)
	var clients sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 24 {
		clients.Go(func() {
			for i := range jobs {
				size := []int{15 << 20, 1 << 20, 200 << 10}[i/len(shapes)]
				shape, begun := shapes[i%len(shapes)], time.Now()
				r, err := client.Post(url+shape.Path, "application/json", shape.Body(size))
				status := 0 // a refusal that ends the connection while the body is sent
				if err == nil {
					io.Copy(io.Discard, r.Body)
					r.Body.Close()
					status = r.StatusCode
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("%s: %d bytes: status %d after %s", shape.Name, size, status, took)
				}
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	done, ended := make(chan struct{}), make(chan struct{})
	var most, held, working float64
	go func() {
		defer close(ended)
		for {
			metrics.Read(samples)
			most = max(most, float64(samples[0].Value.Uint64()))
			g := gauges(t, handler)
			held, working = max(held, g["assay_held_bytes"]), max(working, g["assay_working_bytes"])
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(704 << 20)) // as the command does
	for i := range shapes {
		if jobs <- 2*len(shapes) + i; i%5 == 0 {
			jobs <- i // 15 MiB
			jobs <- len(shapes) + (i+1)%len(shapes)
		}
	}
	close(jobs)
	clients.Wait()
	close(done)
	<-ended
	t.Logf("%.0f MiB live at most, charged for %.0f and %.0f MiB; by status: %v", most/(1<<20),
		held/(1<<20), working/(1<<20), statuses)
	if most > mostLive {
		t.Errorf("%.0f MiB are live", most/(1<<20))
	}
	if statuses[429] == 0 || statuses[413] == 0 || statuses[200] == 0 {
		t.Errorf("by status: %v", statuses)
	}
	if g := gauges(t, handler); g["assay_held_bytes"] != 0 || g["assay_working_bytes"] != 0 ||
		g["assay_memory_refused_total"] == 0 {
		t.Errorf("nothing runs, and %v", g)
	}
	for path, body := range requests {
		if status, text := post(t, url+path, fmt.Sprintf(body, "")); status != 200 {
			t.Errorf("%s afterwards: %d %.200s", path, status, text)
		}
	}
}
