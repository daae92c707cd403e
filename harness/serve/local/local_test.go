package local_test

import (
	"context"
	"errors"
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
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/llama"
	"github.com/goassay/assay/engine/model/tokenizer"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/serve"
	"github.com/goassay/assay/harness/serve/live"
	"github.com/goassay/assay/harness/serve/local"
	"github.com/goassay/assay/harness/serve/openai"
)

// turnEnd ends a turn of most families here, and of SmolLM2.
const turnEnd = "<|im_end|>"

// open serves a family's template: on the tiny model, or on the file that ASSAY_MODEL names. It
// returns "" where the program was built without llama.cpp.
func open(t *testing.T, family, eos string, markers ...string) string {
	t.Helper()
	src, tm, b := load(t, family, eos, markers...)
	if b == nil {
		return ""
	}
	sealer, err := wire.NewSealer([]byte(strings.Repeat("k", 32)),
		strings.NewReader(strings.Repeat("nonce", 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Names: []string{"m"}, Source: src, Template: tm, Backend: b,
		Info: b.Info(), Sealer: sealer, Now: subject.Now})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// load loads the model and compiles a family's template with its vocabulary. The tiny model has
// the markers as tokens, all of the format's where none are given. The back end is nil where the
// program was built without llama.cpp.
func load(t *testing.T, family, eos string,
	markers ...string) (engine.Source, *engine.Template, *local.Backend) {
	t.Helper()
	text, err := corpus.FS.ReadFile(family + "/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	src := engine.Source{Name: family, Text: string(text), BOS: subject.BOS, EOS: subject.EOS}
	path := os.Getenv("ASSAY_MODEL")
	if path == "" {
		tm, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := tm.Prepare(standard.ToolRequest(), engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if markers == nil {
			markers = plan.Preserved
		}
		path, err = live.WriteTinyFile(t.TempDir(), 1, src.BOS, eos, markers, src.Text)
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := tokenizer.Vocabulary(path)
	if err != nil {
		t.Fatal(err)
	}
	tm, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now, Vocabulary: v,
		Segments: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.Context(), path, v, local.Options{
		Context: llama.ContextOptions{Size: 1 << 14, Threads: 1}, Contexts: 2,
		Seed: func() uint32 { return 1 }})
	if errors.Is(err, llama.ErrNotBuilt) {
		return src, tm, nil
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return src, tm, b
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
	texts, err := tokenizer.Texts(path)
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

// TestTwoRounds has a model call a tool, as it must, and go on with the result, in each protocol,
// in one piece and streamed.
func TestTwoRounds(t *testing.T) {
	url := open(t, "hermes", turnEnd)
	if url == "" {
		t.Log("built without llama.cpp: make live runs it")
		return
	}
	client, err := openai.New(url, "", openai.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	request, err := ordered.ParseString(`{"messages": [{"role": "user", "content": "Weather in Bern?"}],
		"temperature": 1, "max_tokens": 1500, "tool_choice": "required", "parallel_tool_calls": false,
		"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
		"properties": {"city": {"type": "string", "enum": ["Bern", "Basel"]}}, "required": ["city"],
		"additionalProperties": false}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range wire.All {
		for _, stream := range []bool{false, true} {
			body, err := p.Ask(request)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				a := answer(t, client, p, body, stream)
				m := a.Message
				if len(a.Faults) > 0 || a.Finish != chat.FinishToolCalls ||
					len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "get_weather" {
					t.Fatalf("%s, streamed %t, round %d: %+v", p.Name(), stream, round, a)
				}
				body = p.Follow(body, &a, []wire.Result{{ID: m.ToolCalls[0].ID,
					Name: "get_weather", Text: "It rains."}})
			}
		}
	}
}

// answer asks for an answer.
func answer(t *testing.T, c *openai.Client, p wire.Protocol, body ordered.Value,
	stream bool) wire.Answer {
	t.Helper()
	if stream {
		body = body.With("stream", ordered.Boolean(true))
	}
	events, whole, err := c.Stream(t.Context(), p.Path(), body.Append(nil, ordered.Compact))
	if err != nil {
		t.Fatal(err)
	}
	if whole != nil {
		if stream || !whole.OK() {
			t.Fatal(whole.Fault())
		}
		return p.Read(whole.JSON)
	}
	r := p.Reader()
	for _, e := range events.Events {
		r.Event(e.Name, e.Data)
	}
	if events.Done {
		r.Mark()
	}
	return r.End()
}

// TestLocal asks a model file for a stream that its client cancels, for the number of tokens, and
// for a penalty of tokens, which the binding lacks.
func TestLocal(t *testing.T) {
	url := open(t, "qwen3", turnEnd)
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
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s: an answer without a client goes on", took)
	}
}

// TestByTokens has the random model answer by a grammar. Where the grammar waits for nothing, or
// for a token, the markers of the answer are the vocabulary's tokens, and the answer is read by
// them; where it waits for a pattern, the answer is text.
func TestByTokens(t *testing.T) {
	for _, c := range []struct {
		family string
		mode   chat.ChoiceMode
		byID   bool
	}{
		{"hermes", chat.ChoiceRequired, true},
		{"hermes", chat.ChoiceAuto, true},
		{"qwen3", chat.ChoiceNone, true},
		{"qwen3.5", chat.ChoiceAuto, false},
	} {
		_, tm, b := load(t, c.family, turnEnd)
		if b == nil {
			t.Log("built without llama.cpp: make live runs it")
			return
		}
		r := standard.ToolRequest()
		r.ToolChoice.Mode = c.mode
		plan, err := tm.Prepare(r, engine.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		opened := false
		parser := plan.NewParser()
		_, err = b.Generate(t.Context(), serve.Job{Prompt: plan.Prompt, Output: plan.Output,
			Constrain: c.mode != chat.ChoiceNone, Max: 3000}, func(p serve.Piece) error {
			if p.Text == nil {
				return nil
			}
			if p.ByID != c.byID {
				t.Fatalf("%s: a piece is read by its id: %t", c.family, p.ByID)
			}
			opened = opened || string(p.Text) == "<tool_call>"
			if p.ByID {
				parser.WriteTokens([]engine.Token{{ID: p.ID, Text: p.Text}})
			} else {
				parser.Write(p.Text)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", c.family, err)
		}
		parser.Close(chat.FinishStop)
		if calls := parser.Message().ToolCalls; c.mode == chat.ChoiceRequired &&
			(len(calls) == 0 || !opened) {
			t.Errorf("%s: a token %t, calls %v", c.family, opened, calls)
		}
	}
}
