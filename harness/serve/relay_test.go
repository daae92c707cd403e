package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goassay/assay/harness/openai"
	"github.com/goassay/assay/harness/serve/servetest"
)

// upstreamVariable makes this test's program an upstream of its own, so that the processor time of
// the relay can be told from that of the two ends.
const upstreamVariable = "ASSAY_TEST_UPSTREAM"

// serverVariable makes it the relay, before the upstream at this address.
const serverVariable = "ASSAY_TEST_RELAY"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(upstreamVariable) != "":
		pause, err := time.ParseDuration(os.Getenv(upstreamVariable))
		if err != nil {
			panic(err)
		}
		s := httptest.NewServer(&servetest.Upstream{Dialect: "vllm", Pause: pause,
			Write: func(string) string { return strings.Repeat("word", 3*relayTokens/4) }})
		fmt.Println(s.URL)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case os.Getenv(serverVariable) != "":
		relay()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// relayTokens is how many tokens an answer of the benchmark has.
const relayTokens = 120

// relay serves until its input ends, and then prints its processor time and its memory.
func relay() {
	var t testing.B
	back, err := openai.New(os.Getenv(serverVariable), "", openai.Limits{})
	if err != nil {
		panic(err)
	}
	url := front(&t, "qwen3", back, nil)
	fmt.Println(url)
	line := bufio.NewScanner(os.Stdin)
	for line.Scan() {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Println(u.Utime.Nano(), u.Stime.Nano(), m.HeapAlloc)
	}
}

// process is this program in another role.
type process struct {
	in  io.WriteCloser
	out *bufio.Reader
	url string
}

func spawn(b *testing.B, variable, value string) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+value)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	p := &process{in: in, out: bufio.NewReader(out)}
	p.url = p.line(b)
	return p
}

func (p *process) line(b *testing.B) string {
	b.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// cost asks a relay for its processor time in nanoseconds, its own and the kernel's, and its heap
// in bytes.
func (p *process) cost(b *testing.B) (own, kernel, heap int64) {
	b.Helper()
	io.WriteString(p.in, "\n")
	if _, err := fmt.Sscan(p.line(b), &own, &kernel, &heap); err != nil {
		b.Fatal(err)
	}
	return own, kernel, heap
}

// BenchmarkRelay streams answers of 30 tokens a second through the relay, one at a time and 200 at
// once, each from a process of its own, and reports the processor time of the relay for a token,
// the part of it that is the kernel's, and the time until the first token with the relay and
// without it. At one stream every token wakes the process up, which costs more than the token.
func BenchmarkRelay(b *testing.B) {
	for _, streams := range []int{1, 200} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			up := spawn(b, upstreamVariable, "33ms")
			r := spawn(b, serverVariable, up.url)
			direct := func() time.Duration {
				return stream(b, up.url+"/v1/completions", `{"prompt": "x", "max_tokens": 1}`)
			}
			through := func() time.Duration {
				return stream(b, r.url+"/v1/chat/completions", `{"stream": true,
					"messages": [{"role": "user", "content": "x"}]}`)
			}
			through()
			own0, kernel0, _ := r.cost(b)
			var with, without []time.Duration
			for b.Loop() {
				with = append(with, atOnce(streams, through)...)
				without = append(without, atOnce(streams, direct)...)
			}
			own, kernel, heap := r.cost(b)
			tokens := len(with) * relayTokens
			b.ReportMetric(float64(own-own0+kernel-kernel0)/float64(tokens)/1e3, "relay-µs/token")
			b.ReportMetric(float64(kernel-kernel0)/float64(tokens)/1e3, "kernel-µs/token")
			b.ReportMetric(float64(median(with)-median(without))/1e6, "first-ms-added")
			b.ReportMetric(float64(heap)/1e6, "relay-MB")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func atOnce(n int, do func() time.Duration) []time.Duration {
	took := make([]time.Duration, n)
	var wait sync.WaitGroup
	for i := range took {
		wait.Go(func() {
			time.Sleep(time.Duration(i) * 33 * time.Millisecond / time.Duration(n))
			took[i] = do()
		})
	}
	wait.Wait()
	return took
}

// stream reads an answer to its end and returns the time until the first event with text.
func stream(b *testing.B, url, body string) time.Duration {
	begun := time.Now()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return 0
	}
	defer r.Body.Close()
	var first time.Duration
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if first == 0 && (strings.Contains(lines.Text(), `"content":"w`) ||
			strings.Contains(lines.Text(), `"text":"w`)) {
			first = time.Since(begun)
		}
	}
	return first
}
