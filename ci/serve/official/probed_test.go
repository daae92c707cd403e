package official

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
	"github.com/goassay/assay/harness/serve/live"
	client "github.com/goassay/assay/harness/serve/openai"
	"github.com/goassay/assay/harness/testkit/double/livetest"
)

// recorder keeps the answers of a server.
type recorder struct {
	to *httptest.Server

	mu      sync.Mutex
	answers []recorded
}

type recorded struct {
	protocol wire.Protocol
	stream   bool
	text     string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	again, err := http.NewRequestWithContext(q.Context(), q.Method, r.to.URL+q.URL.Path,
		bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	a, err := http.DefaultClient.Do(again)
	if err != nil {
		return // the client has gone
	}
	defer a.Body.Close()
	w.Header().Set("Content-Type", a.Header.Get("Content-Type"))
	w.WriteHeader(a.StatusCode)
	text, _ := io.ReadAll(a.Body)
	w.Write(text)
	for _, p := range wire.All {
		if q.URL.Path == p.Path() && a.StatusCode == http.StatusOK {
			r.mu.Lock()
			r.answers = append(r.answers, recorded{p,
				strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream"), string(text)})
			r.mu.Unlock()
		}
	}
}

// ServeHTTP sends an answer again, whatever is asked.
func (a recorded) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if a.stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	io.WriteString(w, a.text)
}

// read is the answer as package wire reads it.
func (a recorded) read(t *testing.T) wire.Answer {
	t.Helper()
	if !a.stream {
		v, err := ordered.ParseString(a.text)
		if err != nil {
			t.Fatal(err)
		}
		return a.protocol.Read(v)
	}
	r := a.protocol.Reader()
	for event := range strings.SplitSeq(strings.TrimSpace(a.text), "\n\n") {
		name, data, ok := strings.Cut(event, "\ndata: ")
		if !ok {
			name, data = "", strings.TrimPrefix(event, "data: ")
		}
		if data == "[DONE]" {
			r.Mark()
			continue
		}
		v, err := ordered.ParseString(data)
		if err != nil {
			t.Fatal(err)
		}
		r.Event(strings.TrimPrefix(name, "event: "), v)
	}
	return r.End()
}

// TestProbed puts the battery of assay probe to a server that is right, and lets the official
// clients read every answer again: with their accumulators they come to the message that this
// project's readers have.
func TestProbed(t *testing.T) {
	text, err := corpus.FS.ReadFile("qwen3/template.jinja")
	if err != nil {
		t.Fatal(err)
	}
	tm, err := engine.Compile(t.Context(), engine.Source{Name: "qwen3", Text: string(text),
		EOS: "<|im_end|>"}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{to: livetest.New(tm, livetest.Options{})}
	defer r.to.Close()
	front := httptest.NewServer(r)
	defer front.Close()
	c, err := client.New(front.URL, "", client.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := &live.Server{Client: c, Model: livetest.Model, Template: tm, Max: 5000, MaxFree: 500}
	if _, err := v.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, a := range r.answers {
		if seen[a.text]++; seen[a.text] > 1 {
			continue
		}
		own := a.read(t)
		if len(own.Faults) > 0 {
			t.Errorf("%s: %v", a.protocol.Name(), own.Faults)
		}
		want := fmt.Sprintf("%q", own.Message.Content)
		for i, call := range own.Message.ToolCalls {
			if own.Custom[i] && a.protocol == wire.ChatCompletions && a.stream {
				want = "" // the accumulator knows calls of functions only
				break
			}
			want += fmt.Sprintf(" %s(%s)", call.Name, compact(call.Arguments))
		}
		server := httptest.NewServer(a)
		got, err := official(t, a, server.URL)
		server.Close()
		if err != nil || want != "" && got != want {
			t.Errorf("%s, streamed %t: %v\ngot  %s\nwant %s\n%s", a.protocol.Name(), a.stream, err,
				got, want, a.text)
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d answers were read", len(seen))
	}
	t.Logf("%d answers", len(seen))
}

func compact(arguments string) string {
	v, err := ordered.ParseString(arguments)
	if err != nil {
		return arguments
	}
	return string(v.Append(nil, ordered.Compact))
}

// official reads an answer with the official client of its protocol.
func official(t *testing.T, a recorded, url string) (string, error) {
	switch a.protocol {
	case wire.ChatCompletions:
		return officialCompletion(t, a, url)
	case wire.Responses:
		return officialResponse(t, a, url)
	}
	return officialMessage(t, a, url)
}

func officialCompletion(t *testing.T, a recorded, url string) (string, error) {
	c := openAI(url)
	p := openai.ChatCompletionNewParams{Model: livetest.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}}
	var m openai.ChatCompletionMessage
	if a.stream {
		s := c.Chat.Completions.NewStreaming(t.Context(), p)
		var acc openai.ChatCompletionAccumulator
		for s.Next() {
			if !acc.AddChunk(s.Current()) {
				return "", fmt.Errorf("the accumulator refuses %s", s.Current().RawJSON())
			}
		}
		if err := s.Err(); err != nil {
			return "", err
		}
		m = acc.Choices[0].Message
	} else {
		whole, err := c.Chat.Completions.New(t.Context(), p)
		if err != nil {
			return "", err
		}
		m = whole.Choices[0].Message
	}
	text := fmt.Sprintf("%q", m.Content)
	for _, call := range m.ToolCalls {
		if call.Type == "custom" {
			text += fmt.Sprintf(" %s(%s)", call.Custom.Name, compact(call.Custom.Input))
		} else {
			text += fmt.Sprintf(" %s(%s)", call.Function.Name, compact(call.Function.Arguments))
		}
	}
	return text, nil
}

func officialResponse(t *testing.T, a recorded, url string) (string, error) {
	c := openAI(url)
	p := responses.ResponseNewParams{Model: livetest.Model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("x")}}
	var r *responses.Response
	if a.stream {
		s := c.Responses.NewStreaming(t.Context(), p)
		for s.Next() {
			switch e := s.Current(); e.Type {
			case "response.completed", "response.incomplete":
				r = &e.Response
			}
		}
		if err := s.Err(); err != nil || r == nil {
			return "", fmt.Errorf("no response: %v", err)
		}
	} else {
		var err error
		if r, err = c.Responses.New(t.Context(), p); err != nil {
			return "", err
		}
	}
	text := fmt.Sprintf("%q", r.OutputText())
	for _, item := range r.Output {
		switch item.Type {
		case "function_call":
			call := item.AsFunctionCall()
			text += fmt.Sprintf(" %s(%s)", call.Name, compact(call.Arguments))
		case "custom_tool_call":
			call := item.AsCustomToolCall()
			text += fmt.Sprintf(" %s(%s)", call.Name, compact(call.Input))
		}
	}
	return text, nil
}

func officialMessage(t *testing.T, a recorded, url string) (string, error) {
	c := anthropic.NewClient(anthropicoption.WithBaseURL(url),
		anthropicoption.WithAPIKey("sk-test"), anthropicoption.WithMaxRetries(0))
	p := anthropic.MessageNewParams{Model: livetest.Model, MaxTokens: 16,
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock("x"))}}
	m := new(anthropic.Message)
	if a.stream {
		s := c.Messages.NewStreaming(t.Context(), p)
		for s.Next() {
			if err := m.Accumulate(s.Current()); err != nil {
				return "", err
			}
		}
		if err := s.Err(); err != nil {
			return "", err
		}
	} else {
		var err error
		if m, err = c.Messages.New(t.Context(), p); err != nil {
			return "", err
		}
	}
	said, calls := "", ""
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			said += b.Text
		case "tool_use":
			calls += fmt.Sprintf(" %s(%s)", b.Name, compact(string(b.Input)))
		}
	}
	return fmt.Sprintf("%q%s", said, calls), nil
}
