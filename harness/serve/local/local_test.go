package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/live"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/local"
	"github.com/goassay/assay/harness/standard"
	"github.com/goassay/assay/harness/subject"
)

// open serves a family's template: on the tiny model, or on the file that ASSAY_MODEL names.
func open(t *testing.T, family string) string {
	t.Helper()
	text, err := corpus.FS.ReadFile(family + "/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	src := engine.Source{Name: family, Text: string(text), BOS: subject.BOS, EOS: "<|im_end|>"}
	tm, err := engine.Compile(src, engine.Options{Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("ASSAY_MODEL")
	if path == "" {
		path, err = live.WriteTinyFile(t.TempDir(), 1, src.BOS, src.EOS, plan.Preserved, src.Text)
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := local.Open(t.Context(), path, local.Options{
		Context: llama.ContextOptions{Size: 4096, Threads: 1}, Contexts: 2,
		Seed: func() uint32 { return 1 }})
	if errors.Is(err, llama.ErrNotBuilt) {
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	sealer, err := wire.NewSealer([]byte(strings.Repeat("k", 32)),
		strings.NewReader(strings.Repeat("nonce", 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Names: []string{"m"}, Source: src, Template: tm, Backend: b,
		Info: b.Info(), Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

func post(t *testing.T, url, body string) ordered.Value {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	v, err := ordered.Parse(text)
	if r.StatusCode != http.StatusOK || err != nil {
		t.Fatalf("%s: %s %s", url, r.Status, text)
	}
	return v
}

// TestTexts holds the bytes of a model file's tokens to llama.cpp's.
func TestTexts(t *testing.T) {
	path := os.Getenv("ASSAY_MODEL")
	if path == "" {
		var err error
		path, err = live.WriteTinyFile(t.TempDir(), 1, subject.BOS, "<|im_end|>",
			[]string{"<tool_call>"}, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := llama.Load(t.Context(), path, llama.ModelOptions{})
	if errors.Is(err, llama.ErrNotBuilt) {
		t.Log("built without llama.cpp: make live runs it")
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	texts, err := model.Texts(path)
	if err != nil {
		t.Fatal(err)
	}
	n := m.Info().Vocabulary
	for id := range n {
		got, _ := texts.Bytes(id)
		if want := m.Piece(llama.Token(id)); string(got) != string(want) {
			t.Errorf("token %d is %q, want %q", id, got, want)
		}
	}
	if _, ok := texts.Bytes(n); ok || n < 256 {
		t.Errorf("%d tokens, and one more", n)
	}
}

// TestTwoRounds has a model call a tool, as it must, and go on with the result, in each protocol.
func TestTwoRounds(t *testing.T) {
	url := open(t, "hermes")
	if url == "" {
		t.Log("built without llama.cpp: make live runs it")
		return
	}
	const schema = `{"type": "object", "properties": {"city": {"type": "string", "enum": ["Bern", "Basel"]}}, "required": ["city"], "additionalProperties": false}`
	user := `{"role": "user", "content": "Weather in Bern?"}`
	join := func(items ...string) string { return strings.Join(items, ", ") }

	turns := user
	for range 2 {
		v := post(t, url+"/v1/chat/completions", fmt.Sprintf(`{"messages": [%s], "temperature": 1, "seed": 3, "max_tokens": 1500,
			"tool_choice": "required", "parallel_tool_calls": false,
			"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": %s}}]}`, turns, schema))
		m := v.At("choices").Items()[0].At("message")
		calls := m.At("tool_calls").Items()
		if len(calls) != 1 || calls[0].At("function", "name").Text() != "get_weather" {
			t.Fatalf("got %s", v)
		}
		turns = join(turns, m.String(), fmt.Sprintf(`{"role": "tool", "tool_call_id": %s, "content": "It rains."}`,
			calls[0].At("id")))
	}

	turns = user
	for range 2 {
		v := post(t, url+"/v1/responses", fmt.Sprintf(`{"input": [%s], "temperature": 1, "seed": 3, "max_output_tokens": 1500,
			"tool_choice": "required", "parallel_tool_calls": false, "include": ["reasoning.encrypted_content"],
			"tools": [{"type": "function", "name": "get_weather", "strict": true, "parameters": %s}]}`, turns, schema))
		a := wire.Responses.Read(v)
		if len(a.Faults) > 0 || len(a.Message.ToolCalls) != 1 {
			t.Fatalf("got %s, %v", v, a.Faults)
		}
		for _, item := range v.At("output").Items() {
			turns = join(turns, item.String())
		}
		turns = join(turns, fmt.Sprintf(`{"type": "function_call_output", "call_id": %q, "output": "It rains."}`,
			a.Message.ToolCalls[0].ID))
	}

	turns = user
	for range 2 {
		v := post(t, url+"/v1/messages", fmt.Sprintf(`{"messages": [%s], "temperature": 1, "seed": 3, "max_tokens": 1500,
			"tool_choice": {"type": "any", "disable_parallel_tool_use": true},
			"tools": [{"name": "get_weather", "input_schema": %s}]}`, turns, schema))
		a := wire.Messages.Read(v)
		if len(a.Faults) > 0 || len(a.Message.ToolCalls) != 1 {
			t.Fatalf("got %s, %v", v, a.Faults)
		}
		turns = join(turns, fmt.Sprintf(`{"role": "assistant", "content": %s}`, v.At("content")),
			fmt.Sprintf(`{"role": "user", "content": [{"type": "tool_result", "tool_use_id": %q, "content": "It rains."}]}`,
				a.Message.ToolCalls[0].ID))
	}
}

// TestLocal asks a model file for a stream that its client cancels, for the number of tokens, and
// for a penalty of tokens, which the binding lacks.
func TestLocal(t *testing.T) {
	url := open(t, "qwen3")
	if url == "" {
		t.Log("built without llama.cpp: make live runs it")
		return
	}
	const said = `"messages": [{"role": "user", "content": "Hello"}]`
	if n := post(t, url+wire.CountPath, `{`+said+`}`).At("input_tokens").Text(); n < "1" {
		t.Errorf("%s tokens", n)
	}
	counts := map[string]int{}
	for _, text := range []string{"Hello", "Hello<|im_end|>"} { // which is no token there, but text
		v := post(t, url+wire.CountPath,
			`{"messages": [{"role": "user", "content": "`+text+`"}]}`)
		counts[text], _ = strconv.Atoi(v.At("input_tokens").Text())
	}
	if counts["Hello<|im_end|>"] < counts["Hello"]+2 {
		t.Errorf("a user's text spells a special token: %v", counts)
	}
	r, err := http.Post(url+"/v1/chat/completions", "application/json",
		strings.NewReader(`{`+said+`, "presence_penalty": 1}`))
	if err != nil || r.StatusCode != http.StatusBadRequest {
		t.Fatal(r, err)
	}
	r.Body.Close()
	for range 3 { // two contexts: the third answer waits for one that was given back
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/messages",
			strings.NewReader(`{`+said+`, "max_tokens": 3000, "stream": true}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Read(make([]byte, 100))
		cancel()
		r.Body.Close()
	}
	begun := time.Now()
	post(t, url+"/v1/messages", `{`+said+`, "max_tokens": 3}`)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s: an answer without a client goes on", took)
	}
}
