package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/serve/provider"
	"github.com/goassay/assay/harness/serve/provider/dataset"
	"github.com/goassay/assay/harness/testkit/double/pipenet"
	"github.com/goassay/assay/harness/testkit/double/providertest"
)

// clock is a clock on which waiting takes no time.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.sleeps = append(c.sleeps, d)
	return ctx.Err()
}

// asking is a run of a test.
type asking struct {
	handler  http.Handler
	lines    string // the data set; "": generated
	n        int
	repeats  int
	send     provider.Send
	key      string
	tries    int
	at       int // once
	budget   provider.Budget
	template string
	log      string // "": a new one
	clock    *clock
	late     bool // in a bubble, where the limit of silence is that of a fake clock
}

// generated returns the lines of n requests.
func generated(t *testing.T, n int) string {
	t.Helper()
	g, err := dataset.NewGenerator(corpus.FS, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for range n {
		b.Write(append(g.Next().Line(), '\n'))
	}
	return b.String()
}

func body(v ordered.Value, stream bool) ordered.Value {
	return v.With("model", ordered.Str("m")).With("stream", ordered.Boolean(stream))
}

// run asks, and returns the outcomes and the text of the log.
func (a *asking) run(t *testing.T) (*provider.Table, string, error) {
	t.Helper()
	start := httptest.NewServer
	if a.late {
		start = pipenet.NewServer
	}
	server := start(a.handler)
	defer server.Close()
	if a.lines == "" {
		a.lines = generated(t, a.n)
	}
	if a.log == "" {
		a.log = filepath.Join(t.TempDir(), "log.jsonl")
	}
	if a.send == "" {
		a.send = provider.Batch
	}
	if a.clock == nil {
		a.clock = &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	}
	client, err := provider.NewClient(server.URL, a.key, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	h := provider.Header{Version: "v", Root: "http://provider", Model: "m", Dataset: "d",
		Requests: a.n, Repeats: max(1, a.repeats), Send: a.send}
	log, table, err := provider.OpenLog(a.log, h, a.clock.Now)
	if err != nil {
		return nil, "", err
	}
	r := &provider.Run{Client: client, Explain: explainer(t, a.template), Clock: a.clock,
		Random: func() float64 { return 0.5 }, Concurrency: max(1, a.at), Tries: max(1, a.tries),
		Budget: a.budget, Body: body}
	asked := r.Ask(t.Context(), log, table, func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(a.lines)), nil
	})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatal(err)
	}
	read, err := provider.ReadTable(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Outcomes {
		if table.Outcomes[i] != read.Outcomes[i] {
			t.Errorf("the outcome %+v is read back as %+v", table.Outcomes[i], read.Outcomes[i])
		}
	}
	if read.Spent != table.Spent || read.Again != table.Again {
		t.Errorf("spent %+v, read back as %+v", table.Spent, read.Spent)
	}
	return read, string(text), asked
}

func explainer(t *testing.T, family string) *provider.Explainer {
	t.Helper()
	if family == "" {
		return provider.NewExplainer(nil, corpus.FS)
	}
	text, err := os.ReadFile("../../../corpus/" + family + "/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	template, err := engine.Compile(t.Context(), engine.Source{Name: family, Text: string(text),
		BOS: subject.BOS, EOS: subject.EOS}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return provider.NewExplainer(template, corpus.FS)
}

func TestRun(t *testing.T) {
	a := &asking{handler: providertest.New(providertest.Options{Schema: 0.2}), n: 50, at: 4,
		repeats: 2, send: provider.Either}
	table, text, err := a.run(t)
	if err != nil || table.Missing() != 0 || table.Spent.Requests != 200 {
		t.Fatalf("%d are missing, %+v, %v\n%s", table.Missing(), table.Spent, err, text)
	}
	before := text
	if _, text, err := a.run(t); err != nil || text != before {
		t.Errorf("a run of which everything is there asks again: %v", err)
	}
}

// TestOtherRun demands that a log is not gone on with by another run.
func TestOtherRun(t *testing.T) {
	a := &asking{handler: providertest.New(providertest.Options{}), n: 3}
	if _, _, err := a.run(t); err != nil {
		t.Fatal(err)
	}
	a.repeats = 2
	if _, _, err := a.run(t); err == nil ||
		!strings.Contains(err.Error(), `it is of another run: --repeats was "1" and is "2"`) {
		t.Error(err)
	}
	precious := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(precious, []byte("my notes\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a.log = precious
	if _, _, err := a.run(t); err == nil {
		t.Error("a file that is no log is written to")
	}
	if text, err := os.ReadFile(precious); string(text) != "my notes\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestTorn demands that a run goes on wherever a log ends.
func TestTorn(t *testing.T) {
	fake := providertest.New(providertest.Options{})
	a := &asking{handler: fake, n: 3}
	_, text, err := a.run(t)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(text); cut += 11 {
		name := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(name, []byte(text[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		again := &asking{handler: fake, n: 3, log: name}
		table, after, err := again.run(t)
		if err != nil || table.Missing() != 0 || table.InFlight != 0 ||
			strings.Count(after, `"what":"answer"`) != 3 || table.Again > 1 {
			t.Fatalf("cut at byte %d: %v\n%s", cut, err, after)
		}
	}
}

func TestRetries(t *testing.T) {
	times := 0
	good := providertest.New(providertest.Options{})
	clock := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a := &asking{n: 1, tries: 6, clock: clock, handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			switch times++; times {
			case 1:
				w.WriteHeader(http.StatusBadGateway)
			case 2:
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusTooManyRequests)
			case 3:
				w.Header().Set("Retry-After", clock.Now().Add(90*time.Second).
					Format(http.TimeFormat))
				w.WriteHeader(http.StatusServiceUnavailable)
			case 4:
				w.Header().Set("Retry-After", "999999")
				w.WriteHeader(http.StatusTooManyRequests)
			default:
				good.ServeHTTP(w, r)
			}
		})}
	table, text, err := a.run(t)
	if err != nil || table.Outcomes[0].Tries != 5 || table.Spent.Requests != 5 {
		t.Fatalf("%v\n%s", err, text)
	}
	// half of 1, 2, 4 and 8 seconds, and the time that was asked for, up to ten minutes; a date has
	// no half seconds
	if got := fmt.Sprint(clock.sleeps); got != "[500ms 8s 1m31.5s 10m4s]" {
		t.Error(got)
	}
}

// TestBudgets demands that no budget is exceeded, and that a run goes on where more is given.
func TestBudgets(t *testing.T) {
	fake := providertest.New(providertest.Options{Busy: 0.3})
	log := filepath.Join(t.TempDir(), "log.jsonl")
	for _, c := range []struct {
		budget provider.Budget
		spent  func(provider.Spent) float64
		most   float64
	}{
		{provider.Budget{Requests: 9}, func(s provider.Spent) float64 { return float64(s.Requests) }, 9},
		{provider.Budget{Tokens: 2000}, func(s provider.Spent) float64 {
			return float64(s.Prompt + s.Completion)
		}, 2000},
		{provider.Budget{Money: 0.5, PromptPrice: 10, CompletionPrice: 100},
			func(s provider.Spent) float64 {
				return float64(s.Prompt)*10e-6 + float64(s.Completion)*100e-6
			}, 0.5},
	} {
		a := &asking{handler: fake, n: 400, budget: c.budget, log: log, tries: 5, at: 3}
		table, _, err := a.run(t)
		if spent := c.spent(table.Spent); !errors.Is(err, provider.ErrBudget) || spent > c.most ||
			spent < c.most*0.7 {
			t.Errorf("%+v: spent %g, %v", c.budget, spent, err)
		}
	}
}

// TestBlindBudget demands that no requests are sent beside the first while the cost of an answer
// is not known, and that a run ends where it cannot be known.
func TestBlindBudget(t *testing.T) {
	budget := provider.Budget{Money: 1e-6, PromptPrice: 10, CompletionPrice: 100}
	a := &asking{handler: providertest.New(providertest.Options{Delay: time.Millisecond}), n: 400,
		budget: budget, at: 8}
	table, _, err := a.run(t)
	if !errors.Is(err, provider.ErrBudget) || table.Spent.Requests != 1 {
		t.Errorf("%d requests of a budget that the first one overran, %v", table.Spent.Requests, err)
	}
	a = &asking{handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id": "1", "object": "chat.completion", "created": 1, "model": "m",
			"choices": [{"index": 0, "message": {"role": "assistant", "content": "a"},
			"finish_reason": "stop"}]}`)
	}), n: 400, budget: provider.Budget{Tokens: 1 << 40}, at: 8}
	table, _, err = a.run(t)
	if !errors.Is(err, provider.ErrBudget) || table.Spent.Requests != 1 {
		t.Errorf("%d requests of a provider that counts no tokens, %v", table.Spent.Requests, err)
	}
}

// TestSilent demands that a run ends where the provider answers nobody, and that none of that
// counts, however many requests are under way by then.
func TestSilent(t *testing.T) {
	for n, at := range map[int]int{5: 3, 100: 3, 101: 60} {
		server := providertest.New(providertest.Options{Key: "key-two"})
		var come atomic.Int32
		all := make(chan struct{})
		a := &asking{n: n, at: at, key: "key-one", handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				if come.Add(1) == int32(at) {
					close(all)
				}
				<-all // so many fail together
				server.ServeHTTP(w, r)
			})}
		table, text, err := a.run(t)
		if !errors.Is(err, provider.ErrSilent) || table.Missing() != n ||
			!strings.Contains(err.Error(), "the key is wrong") && n > 20 {
			t.Fatalf("%d missing, %v\n%s", table.Missing(), err, text)
		}
		a.key = "key-two"
		if table, _, err = a.run(t); err != nil || table.Missing() != 0 {
			t.Errorf("%d missing, %v", table.Missing(), err)
		}
	}
}

// TestRefused demands that requests which a provider cannot bear are results, however many of them
// stand beside each other.
func TestRefused(t *testing.T) {
	same := strings.Repeat(`{"messages":[{"role":"user","content":"PING"}]}`+"\n", 30)
	for name, c := range map[string]struct {
		status int
		lines  string
	}{"all": {http.StatusBadRequest, ""}, "one": {http.StatusInternalServerError, same +
		`{"messages":[{"role":"user","content":"Hello."}]}` + "\n"}} {
		a := &asking{n: 31, lines: c.lines, handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				if strings.Contains(string(text), "Hello.") {
					io.WriteString(w, `{"choices":[{"message":{"content":"a"}}]}`)
					return
				}
				http.Error(w, "no", c.status)
			})}
		table, _, err := a.run(t)
		want := map[string]error{"all": provider.ErrUnanswered}[name]
		if !errors.Is(err, want) || table.Missing() != 0 {
			t.Errorf("%s: %d missing, %v", name, table.Missing(), err)
		}
	}
}

// TestUpstreams demands of every hostile answer that it ends as an error of its request, within
// limits, and that the key is in no log.
func TestUpstreams(t *testing.T) {
	const key = "sk-secret-0123456789"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s came to another host, with the key %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	type write = func(http.ResponseWriter, *http.Request)
	text := func(s string) write {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, s)
		}
	}
	events := func(s string) write {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, s)
		}
	}
	endless := func(head, more string) write {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, head)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, more); err != nil {
					return
				}
			}
		}
	}
	const chunk = `data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}` + "\n\n"
	long := strings.Repeat("a", 1<<16)
	for name, c := range map[string]struct {
		send provider.Send
		do   write
		want string
	}{
		"redirect": {provider.Batch, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "it redirects, which is not followed"},
		"echo": {provider.Batch, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"error":{"message":"no: `+r.Header.Get("Authorization")+`"}}`)
		}, `HTTP status 403: \"no: Bearer [API key]`},
		"no JSON":         {provider.Batch, text("<html>"), "is no JSON"},
		"another JSON":    {provider.Batch, text(`{"a":1}`), "choices"},
		"deep":            {provider.Batch, text(strings.Repeat("[", 1<<20)), "the body"},
		"number for text": {provider.Batch, text(`{"choices":[{"message":{"content":1}}]}`), "content"},
		"endless body": {provider.Batch, endless(`{"a":"`, long),
			"sends too much"},
		"silence": {provider.Batch, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // else the server does not see the client go
			<-r.Context().Done()
		}, "is silent"},
		"hung up": {provider.Batch, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, "breaks off"},
		"one piece for a stream": {provider.Stream, text(`{"choices":[]}`),
			"a stream was asked for"},
		"endless line": {provider.Stream, endless("data: ", long), "sends too much"},
		"endless events": {provider.Stream, endless("", fmt.Sprintf(chunk, long)),
			"sends too much"},
		"no end": {provider.Stream, events(fmt.Sprintf(chunk, "a")), "no chunk of the stream has a finish reason"},
		"error":  {provider.Stream, events(`data: {"error":{"message":"x"}}` + "\n\n"), "the stream has an error"},
		"gap in calls": {provider.Stream, events(`data: {"choices":[{"index":0,"delta":{` +
			`"tool_calls":[{"index":7,"function":{"name":"a","arguments":"{}"}}]}}]}` + "\n\n"),
			"goes on with call 7"},
		"no event": {provider.Stream, events("nonsense\n\n"), "is no event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := func(t *testing.T) { upstream(t, key, c.send, c.do, c.want, name == "silence") }
			if name == "silence" {
				synctest.Test(t, test)
			} else {
				test(t)
			}
		})
	}
}

func upstream(t *testing.T, key string, send provider.Send, do http.HandlerFunc, want string,
	late bool) {
	times := 0
	good := providertest.New(providertest.Options{})
	a := &asking{n: 2, send: send, key: key, late: late, handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if times++; times == 1 { // the other one shows that somebody is there
				good.ServeHTTP(w, r)
				return
			}
			do(w, r)
		}), lines: generated(t, 2)}
	// a stream is asked for as one
	table, log, err := a.run(t)
	if err != nil || table.Outcomes[1].State != provider.Failed ||
		!strings.Contains(log, want) || strings.Contains(log, key) {
		t.Errorf("%v, expected %q\n%.2000s", err, want, log)
	}
}

// TestTokens demands that a count of tokens which is not the data set's is found without a
// reference, in both places at which streams have it.
func TestTokens(t *testing.T) {
	const line = `{"id":"k","request":{"messages":[{"role":"user","content":"a"}]},` +
		`"expected_prompt_tokens":12}` + "\n"
	for count, want := range map[int]string{12: provider.VerdictExact, 13: provider.VerdictWrong} {
		a := &asking{n: 1, lines: line, send: provider.Stream, handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"b"},`+
					`"finish_reason":"stop","usage":{"prompt_tokens":%d}}]}`+
					"\n\ndata: [DONE]\n\n", count)
			})}
		table, _, err := a.run(t)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := provider.Compare(table, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			if l := &lines[i]; l.ID == "V018" && l.Verdict != want {
				t.Errorf("%d tokens: %+v", count, l)
			}
		}
		r := &provider.Result{Table: table, Lines: lines}
		if report := r.Report("v"); report.OK() != (count == 12) {
			t.Errorf("%d tokens: %+v", count, report.Results)
		}
	}
}

// TestResults compares with the results of another verifier, whose answers are judged here.
func TestResults(t *testing.T) {
	const n = 60
	lines := generated(t, n)
	a := &asking{n: n, lines: lines, handler: providertest.New(providertest.Options{Schema: 0.9})}
	own, _, err := a.run(t)
	if err != nil {
		t.Fatal(err)
	}
	fake := providertest.New(providertest.Options{Seed: 5})
	var results []string
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		w := httptest.NewRecorder()
		fake.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions",
			strings.NewReader(line)))
		results = append([]string{fmt.Sprintf(`{"data_index":%d,"request":%s,"response":%s,`+
			`"status":"success","finish_reason":"stop","hash":"x"}`, i+1, line, w.Body)}, results...)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(lines)), nil }
	e := explainer(t, "")
	ref, err := e.ReadReference(strings.NewReader(strings.Join(results, "\n")), own, open)
	if err != nil {
		t.Fatal(err)
	}
	if ref.Missing() != 0 {
		t.Errorf("%d results are missing", ref.Missing())
	}
	compared, err := provider.Compare(own, ref, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range compared {
		if l := &compared[i]; l.Name == "arguments" && l.Verdict != provider.VerdictWorse ||
			l.Name == "functions" && l.Broken() {
			t.Errorf("%s: %s", l.Name, l.Verdict)
		}
	}
	results[0] = strings.ReplaceAll(results[0], `"data_index":60`, `"data_index":59`)
	_, err = e.ReadReference(strings.NewReader(results[0]+"\n"), own, open)
	if err == nil || !strings.Contains(err.Error(), "it is of another data set") {
		t.Error(err)
	}
}

// TestAgainst demands that calls which only one side makes are explained, from the log.
func TestAgainst(t *testing.T) {
	const ask = `{"id":"%d","messages":[{"role":"user","content":"Question %d"}],"tools":[{"type":` +
		`"function","function":{"name":"look","parameters":{"type":"object"}}}]}` + "\n"
	lines := ""
	for i := range 4 {
		lines += fmt.Sprintf(ask, i, i)
	}
	const plain = `{"content":"Seen."}`
	const call = `{"tool_calls":[{"function":{"name":"look","arguments":"{}"}}]}`
	answer := func(by ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			for i, message := range by {
				if strings.Contains(string(text), fmt.Sprintf("Question %d", i)) {
					fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":%s}]}`, message)
				}
			}
		}
	}
	ref, _, err := (&asking{n: 4, lines: lines, handler: answer(call, call, plain, plain)}).run(t)
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{n: 4, lines: lines, template: "hermes", handler: answer(plain,
		`{"content":"<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>"}`, call,
		plain)}
	own, log, err := a.run(t)
	if err != nil {
		t.Fatal(err)
	}
	err = explainer(t, "hermes").Against(strings.NewReader(log), own, ref,
		func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(lines)), nil })
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]string]int{{provider.MissReference, provider.CauseUnknown}: 1,
		{provider.MissReference, provider.CauseParser}:    1,
		{provider.MissNoReference, provider.CauseUnknown}: 1,
		{provider.MissLeak, provider.CauseParser}:         1}
	if !maps.Equal(own.Misses.Counts, want) {
		t.Errorf("%v, expected %v\n%+v", own.Misses.Counts, want, own.Misses.Examples)
	}
}

// TestEnd compares whole runs: a provider that is as the reference is not blamed, and of one with a
// fault each measure that the fault touches is.
func TestEnd(t *testing.T) {
	ask := func(o providertest.Options) *provider.Table {
		o.Schema += 0.02
		a := &asking{handler: providertest.New(o), n: 600, at: 4, send: provider.Either, tries: 9}
		table, _, err := a.run(t)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	ref := ask(providertest.Options{Seed: 1})
	for name, c := range map[string]struct {
		o    providertest.Options
		want string
	}{
		"clean":     {providertest.Options{}, ""},
		"schema":    {providertest.Options{Schema: 0.08}, "arguments"},
		"silent":    {providertest.Options{Silent: 0.1}, "calls"},
		"unknown":   {providertest.Options{Unknown: 0.1}, "functions"},
		"empty":     {providertest.Options{Empty: 0.1}, "substance"},
		"leak":      {providertest.Options{Leak: 0.3}, "no-leak"},
		"reasoning": {providertest.Options{Thoughtless: 0.2}, "reasoning"},
		"busy":      {providertest.Options{Busy: 0.1}, "first-try"},
		"broken":    {providertest.Options{Broken: 0.05}, "answered"},
		"tokens":    {providertest.Options{Tokens: 3}, "prompt-tokens"},
		"stream":    {providertest.Options{StreamBad: 0.2}, "stream-gap"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Seed = 2
			own := ask(c.o)
			lines, err := provider.Compare(own, ref, 1)
			if err != nil {
				t.Fatal(err)
			}
			var broken []string
			for i := range lines {
				if lines[i].Broken() {
					broken = append(broken, lines[i].Name)
				}
			}
			got := " " + strings.Join(broken, " ") + " "
			if c.want == "" && len(broken) > 0 || !strings.Contains(got, c.want) {
				t.Errorf("%q is held broken, expected %q", broken, c.want)
			}
			var out strings.Builder
			r := &provider.Result{Table: own, Ref: ref, Lines: lines}
			if err := errors.Join(r.Text(&out), r.JSONLines(io.Discard)); err != nil {
				t.Error(err)
			}
			report := r.Report("v")
			if report.OK() != (len(broken) == 0 || name == "busy" && len(broken) == 1) {
				t.Errorf("the report is OK %v, with %q", report.OK(), broken)
			}
		})
	}
}
