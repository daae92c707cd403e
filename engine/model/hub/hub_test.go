package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/hub"
	"github.com/goassay/assay/harness/testkit/double/fakehub"
)

const secret = "hf_SecretSecretSecret"

// fixture is a Hub, a cache and a clock that does not wait.
type fixture struct {
	*fakehub.Hub
	t     *testing.T
	cache string
	mu    sync.Mutex
	waits []time.Duration
}

func start(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{Hub: fakehub.New(), t: t, cache: filepath.Join(t.TempDir(), "hub")}
	t.Cleanup(f.Close)
	return f
}

// client makes a client; change may change its settings.
func (f *fixture) client(change func(*hub.Config)) *hub.Client {
	f.t.Helper()
	config := hub.Config{
		Endpoint: f.URL(), Cache: f.cache, Retries: 2, Idle: time.Minute,
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Sleep: func(_ context.Context, d time.Duration) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.waits = append(f.waits, d)
			return nil
		},
	}
	if change != nil {
		change(&config)
	}
	c, err := hub.New(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// model returns a model file with a vocabulary of so many tokens, and data of so many bytes.
func model(t testing.TB, template string, tokens, data int) []byte {
	t.Helper()
	words := make([]string, max(tokens, 3))
	for i := range words {
		words[i] = fmt.Sprintf("token%06d", i)
	}
	data -= data % 4
	pairs := []gguf.Pair{
		{Key: "general.architecture", Value: gguf.Text("llama")},
		{Key: "tokenizer.ggml.tokens", Value: gguf.Texts(words...)},
		{Key: "tokenizer.ggml.bos_token_id", Value: gguf.Of(uint32(1))},
		{Key: "tokenizer.chat_template", Value: gguf.Text(template)},
	}
	bytesOf := make([]byte, data)
	for i := range bytesOf {
		bytesOf[i] = byte(i * 7 / 3)
	}
	tensor := gguf.Content{Tensor: gguf.Tensor{Name: "w", Dims: []uint64{uint64(data / 4)},
		Type: gguf.F32}, Data: bytes.NewReader(bytesOf)}
	var b bytes.Buffer
	if err := gguf.Create(&b, nil, pairs, []gguf.Content{tensor}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (f *fixture) repo(c *hub.Client, id, revision string) *hub.Repo {
	f.t.Helper()
	r, err := c.Repo(context.Background(), id, revision)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// wantError checks an error's kind and that its text has all of the parts.
func wantError(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("%v: not of kind %q", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

func TestRepoListsAtACommit(t *testing.T) {
	f := start(t)
	first := f.Repo("o/m").Put("a b/x#1.gguf", model(t, "x", 0, 64))
	f.Repo("o/m").Put("config.json", []byte("{}"))
	f.Repo("o/m").Tag("refs/pr/1")
	c := f.client(nil)
	old := f.repo(c, "o/m", first)
	if len(old.Files) != 1 || old.Commit != first {
		t.Errorf("at the first commit: %+v", old)
	}
	r := f.repo(c, "o/m", "refs/pr/1")
	f.Repo("o/m").Put("config.json", []byte(`{"moved": true}`))
	config, ok := r.Find("config.json")
	if !ok || config.Size != 2 || len(config.Blob) != 40 {
		t.Errorf("config.json: %+v", config)
	}
	text, err := c.ReadFile(t.Context(), r, config, 100)
	if err != nil || string(text) != "{}" {
		t.Errorf("read %q, %v after the branch moved", text, err)
	}
	weights, _ := r.Find("a b/x#1.gguf")
	if text, err := c.ReadFile(t.Context(), r, weights, 1<<20); err != nil ||
		int64(len(text)) != weights.Size {
		t.Errorf("read %d bytes, %v", len(text), err)
	}
	_, err = c.ReadFile(t.Context(), r, config, 1)
	wantError(t, err, nil, "o/m: config.json: 2 bytes, expected at most 1")
}

func TestOpenReadsTheHeaderByRanges(t *testing.T) {
	f := start(t)
	data := model(t, "the template", 150_000, 20<<20)
	f.Repo("o/m").Put("m.gguf", data)
	c := f.client(nil)
	r := f.repo(c, "o/m", "")
	file, _ := r.Find("m.gguf")
	reader, err := c.Open(t.Context(), r, file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	g, err := gguf.Open(reader, reader.Size())
	if err != nil {
		t.Fatal(err)
	}
	info, err := g.Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.Templates[0].Text != "the template" || info.BOS.Text != "token000001" {
		t.Errorf("read %+v", info)
	}
	if extra := reader.BytesRead() - g.Data; extra < 0 || extra >= 1<<20 {
		t.Errorf("%d bytes read beyond a header of %d", extra, g.Data)
	}
	t.Logf("header %d bytes, read %d", g.Data, reader.BytesRead())
	requests := f.Requests()
	hubs := 0
	for _, q := range requests[1:] {
		if q.Host == "hub" {
			hubs++
		}
	}
	if hubs != 1 || len(requests) > 12 {
		t.Errorf("%d requests, %d of them to the Hub for the file", len(requests), hubs)
	}
}

func TestOpenWhereRangesAreIgnored(t *testing.T) {
	f := start(t)
	f.Repo("o/m").Put("m.gguf", model(t, "the template", 10_000, 20<<20))
	f.Fault(fakehub.Fault{Kind: fakehub.NoRanges})
	f.Fault(fakehub.Fault{Kind: fakehub.Truncate, At: 100_000, Times: 1, On: "storage"})
	c := f.client(nil)
	r := f.repo(c, "o/m", "")
	reader, err := c.Open(t.Context(), r, r.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	g, err := gguf.Open(reader, reader.Size())
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Sequential() || reader.BytesRead() > g.Data+1<<20 {
		t.Errorf("sequential %v, %d bytes "+
			"for a header of %d", reader.Sequential(), reader.BytesRead(), g.Data)
	}
}
