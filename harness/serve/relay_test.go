package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
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

	"github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/servetest"
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

// load is a number of clients, each of which asks for answers one after the other.
type load struct {
	streams int
	answers int // of each client
	tokens  int // of an answer
}

// pause is the time between two tokens of an answer: 30 tokens a second.
const pause = 33 * time.Millisecond

// BenchmarkRelay streams answers of 30 tokens a second through the relay, to one client and to 200,
// with tools and without, from an upstream in a process of its own. It reports the processor time
// of the relay for a token, the part of it that is the kernel's, and the time by which the first
// token comes later than from the upstream itself, asked for the same prompt by the same clients:
// the differences of the medians and of the ninetieth percentiles.
//
// Clients begin at times drawn from the time of an answer, so that as many requests begin in a
// second as do where so many streams come and go. burst-ms-added is the difference of the medians
// where all requests come within the time of a token, 6,000 a second: the time until so many
// requests are worked off on two cores, by clients, relay and upstream together.
//
// At one stream every token wakes the process up, which costs more than the token.
func BenchmarkRelay(b *testing.B) {
	for _, tools := range []int{0, 10} {
		for _, l := range []load{{1, 10, 30}, {200, 2, relayTokens}} {
			b.Run(fmt.Sprintf("tools=%d/streams=%d", tools, l.streams), func(b *testing.B) {
				benchmarkRelay(b, tools, l)
			})
		}
	}
}

func benchmarkRelay(b *testing.B, tools int, l load) {
	up := spawn(b, upstreamVariable, pause.String())
	r := spawn(b, serverVariable, up.url)
	asked := relayRequest(tools, l.tokens)
	relayed := asRelayed(b, asked)
	direct := func() time.Duration { return stream(b, up.url+"/v1/completions", relayed) }
	through := func() time.Duration { return stream(b, r.url+"/v1/chat/completions", asked) }
	through()
	own0, kernel0, _ := r.cost(b)
	var with, without, withBurst, withoutBurst []time.Duration
	for b.Loop() {
		with = append(with, l.spread(through)...)
		without = append(without, l.spread(direct)...)
		if l.streams > 1 {
			withBurst = append(withBurst, l.burst(through)...)
			withoutBurst = append(withoutBurst, l.burst(direct)...)
		}
	}
	own, kernel, heap := r.cost(b)
	tokens := (len(with) + len(withBurst)) * l.tokens
	b.ReportMetric(float64(own-own0+kernel-kernel0)/float64(tokens)/1e3, "relay-µs/token")
	b.ReportMetric(float64(kernel-kernel0)/float64(tokens)/1e3, "kernel-µs/token")
	b.ReportMetric(added(with, without, 0.5), "first-ms-added")
	b.ReportMetric(added(with, without, 0.9), "first-ms-added-p90")
	if l.streams > 1 {
		b.ReportMetric(added(withBurst, withoutBurst, 0.5), "burst-ms-added")
	}
	b.ReportMetric(float64(heap)/1e6, "relay-MB")
}

// added is the difference of two quantiles, in milliseconds.
func added(with, without []time.Duration, q float64) float64 {
	at := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[int(q*float64(len(d)))]
	}
	return float64(at(with)-at(without)) / 1e6
}

// relayRequest is a request with a number of tools.
func relayRequest(tools, tokens int) string {
	list := ""
	for i := range tools {
		list += fmt.Sprintf(`, {"type": "function", "function": {"name": "look_up_%d",
			"description": "Looks something up in a register.", "parameters": {"type": "object",
			"properties": {"name": {"type": "string", "description": "What to look for."},
			"kind": {"enum": ["person", "place", "thing"]}, "limit": {"type": "integer"}},
			"required": ["name"]}}}`, i)
	}
	if list != "" {
		list = `"tools": [` + list[2:] + `], `
	}
	return fmt.Sprintf(`{"stream": true, %s"max_tokens": %d,
		"messages": [{"role": "user", "content": "x"}]}`, list, tokens)
}

// asRelayed returns the request that a relay makes of a request.
func asRelayed(b *testing.B, request string) string {
	up := &servetest.Upstream{Dialect: "vllm", Write: func(string) string { return "word" }}
	s := httptest.NewServer(up)
	defer s.Close()
	back, err := openai.New(s.URL, "", openai.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	stream(b, front(b, "qwen3", back, nil)+"/v1/chat/completions", request)
	return up.Last().String()
}

// spread has each client begin at a time that is drawn from the time of an answer.
func (l load) spread(do func() time.Duration) []time.Duration {
	rng := rand.New(rand.NewPCG(1, 2))
	answer := pause * time.Duration(l.tokens)
	return l.run(l.answers, do, func(int) time.Duration {
		return time.Duration(rng.Int64N(int64(answer)))
	})
}

// burst has all clients begin within the time of a token, and ask once.
func (l load) burst(do func() time.Duration) []time.Duration {
	return l.run(1, do, func(i int) time.Duration {
		return time.Duration(i) * pause / time.Duration(l.streams)
	})
}

func (l load) run(answers int, do func() time.Duration, begin func(int) time.Duration,
) []time.Duration {
	took := make([]time.Duration, l.streams*answers)
	var wait sync.WaitGroup
	for i := range l.streams {
		after := begin(i)
		wait.Go(func() {
			time.Sleep(after)
			for n := range answers {
				took[i*answers+n] = do()
			}
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
